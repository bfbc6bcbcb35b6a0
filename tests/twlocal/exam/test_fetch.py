"""From a search page to files: what the platform's pages look like, and servers that behave as servers do."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from twlocal.exam import catalogue
from twlocal.exam.catalogue import links, wanted
from twlocal.exam.fetching import TRIES, Reply, fetch
from twlocal.exam.ledger import Ledger
from twlocal.exam.listing import discover

PDF = b"%PDF-1.4\nbody\n%%EOF\n"
BASE = "https://exam.example/exam/wFrmExamQandASearch.aspx"


def box(ids, text):
    full = "ctl00_holderContent_chk_" + "_".join(ids)
    return f'<input id="{full}" type="checkbox" name="ctl00$x" /><label for="{full}">{text}</label>'


def link(kind, exam, category, subject, number="1", text="試題"):
    address = f"wHandExamQandA_File.ashx?t={kind}&amp;code={exam}&amp;c={category}&amp;s={subject}&amp;q={number}"
    return f'<a href="{address}" target="_blank" class="exam-question-ans">{text}</a>'


PAGE = f"""<!DOCTYPE html><html><body><form method="post" action="./wFrmExamQandASearch.aspx" id="aspnetForm">
<input type="hidden" name="__VIEWSTATE" value="/wEPDwUK=" />
<table><tr><td>{box(("100030", "101"), "醫師 ")}</td></tr>
<tr><td>{box(("100030", "101", "0101"), "醫學㈠（包括<br/>解剖學）")}</td>
<td>{link("Q", "100030", "101", "0101")}{link("M", "100030", "101", "0101", text="更正答案")}</td></tr>
<tr><td>{box(("100030", "102"), "中醫師")}</td></tr>
<tr><td>{box(("100030", "101", "0901"), "國文&#65288;作文&#65289;")}</td>
<td>{link("Q", "100030", "101", "0901")}</td></tr>
<tr><td>{box(("100030", "102", "0901"), "國文（作文）")}</td>
<td>{link("Q", "100030", "102", "0901")}{link("S", "100030", "102", "0901", text="答案")}</td></tr>
<tr><td>{box(("100030", "103", "0101"), "另一科目")}</td><td>{link("Q", "100030", "103", "0101")}</td></tr>
</table><a href="wHandExamQandA_File.ashx?t=Q&code=100030">broken</a><a href="other.aspx?t=Q">other</a>
<a href="file:///etc/wHandExamQandA_File.ashx?t=Q&code=1&c=1&s=1&q=1">evil</a></form></body></html>"""


def test_a_search_page():
    found = links(PAGE, BASE)
    assert len(found) == 6
    assert found[0].url == "https://exam.example/exam/wHandExamQandA_File.ashx?t=Q&code=100030&c=101&s=0101&q=1"
    assert (found[0].title, found[0].category_title, found[1].kind) == ("醫學㈠（包括解剖學）", "醫師", "M")


def test_a_document_that_categories_share_is_one():
    papers = {paper.name: paper for paper in wanted(links(PAGE, BASE))}
    assert set(papers) == {"100030_101_0101", "100030_103_0101", "100030_0901"}, "one code for two titles: two papers"
    shared = papers["100030_0901"]
    assert (sorted(shared.documents), shared.year, shared.title) == (["A", "Q"], 100, "國文（作文）")
    assert shared.categories == ("醫師", "中醫師")


def test_without_titles_nothing_is_taken_for_the_same():
    page = link("Q", "100030", "101", "0901") + link("Q", "100030", "102", "0901")
    assert [paper.name for paper in wanted(links(page, BASE))] == ["100030_101_0901", "100030_102_0901"]
    assert links("<html>nothing</html>", BASE) == [] and wanted([]) == []


class Network:
    """Answers in memory: for each address a list of replies, the last one for ever."""

    def __init__(self, replies=None):
        self.replies = replies or {}
        self.asked = []

    def __call__(self, url):
        self.asked.append(url)
        waiting = self.replies.get(url, [Reply(200, PDF)])
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]


@pytest.fixture
def papers():
    return wanted(links(PAGE, BASE))


def run(papers, tmp_path, network, **more):
    slept = []
    with Ledger.opened(tmp_path / "exam.db", create=True) as ledger:
        found = fetch(papers, tmp_path / "papers", ledger, network, sleep=slept.append, **more)
    return found, slept


def test_each_document_once_with_a_pause_between(papers, tmp_path):
    network = Network()
    found, slept = run(papers, tmp_path, network, interval=1.5)
    assert len(network.asked) == len(set(network.asked)) == len(found) == 5
    assert slept == [1.5] * 4
    assert sorted(path.name for path in (tmp_path / "papers").iterdir()) == [
        "100030_0901__A.pdf",
        "100030_0901__Q.pdf",
        "100030_101_0101__M.pdf",
        "100030_101_0101__Q.pdf",
        "100030_103_0101__Q.pdf",
    ]


def test_what_is_there_is_not_asked_for_again(papers, tmp_path):
    run(papers, tmp_path, Network())
    (tmp_path / "papers" / "100030_0901__Q.pdf").write_bytes(b"damaged")
    (tmp_path / "papers" / "100030_0901__A.pdf").unlink()
    network = Network()
    found, slept = run(papers, tmp_path, network)
    assert len(network.asked) == 2 and slept == [1.0]
    assert sorted(one.state for one in found.values()) == ["done", "done", "there", "there", "there"]


def test_busy_servers_are_asked_again_as_they_wish(papers, tmp_path):
    urls = [url for paper in papers for url in paper.documents.values()]
    busy = {
        urls[0]: [Reply(503, wait=7.0), Reply(200, PDF)],
        urls[1]: [Reply(0, error="connection reset"), Reply(500), Reply(200, PDF)],
        urls[2]: [Reply(429, wait=99999.0)],
    }
    found, slept = run(papers, tmp_path, Network(busy), interval=1.0)
    assert [found[url].state for url in urls] == ["done", "done", "failed", "done", "done"]
    assert (found[urls[2]].reason, found[urls[2]].attempts) == ("HTTP 429", TRIES)
    assert slept == [7.0, 1.0, 2.0, 4.0, 1.0, 300.0, 300.0, 300.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("reply", "reason", "times"),
    [
        (Reply(404), "HTTP 404", 1),
        (Reply(200, b"<html>\xe6\x9f\xa5\xe7\x84\xa1\xe8\xb3\x87\xe6\x96\x99</html>"), "not a PDF", 1),
        (Reply(200, PDF[:-8]), "cut off", 1),
        (Reply(0, error="timed out"), "no answer: timed out", TRIES),
    ],
)
def test_what_failed_is_said_and_tried_by_the_next_call(papers, tmp_path, reply, reason, times):
    url = papers[0].documents["Q"]
    network = Network({url: [reply]})
    found, _ = run(papers, tmp_path, network)
    assert (found[url].state, found[url].reason) == ("failed", reason)
    assert network.asked.count(url) == times and sum(one.state == "done" for one in found.values()) == 4
    assert not list((tmp_path / "papers").glob("*.part"))
    again = Network()
    run(papers, tmp_path, again)
    assert again.asked == [url]


@pytest.fixture
def server():
    """The platform on this machine: a search page, documents, one of them missing and one busy at first."""
    state = {"asked": [], "busy": 1}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            state["asked"].append(self.path)
            if "Search" in self.path:
                self.reply(200, PAGE.encode())
            elif "c=103" in self.path:
                self.reply(404, b"gone")
            elif "s=0901" in self.path and state["busy"]:
                state["busy"] -= 1
                self.reply(503, b"busy", ("Retry-After", "0"))
            else:
                self.reply(200, PDF)

        def reply(self, status, body, *headers):
            self.send_response(status)
            for name, value in (*headers, ("Content-Length", str(len(body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    state["url"] = f"http://127.0.0.1:{made.server_address[1]}/exam/"
    yield state
    made.shutdown()
    thread.join()
    made.server_close()


def test_the_command_against_a_server(twlocal, server, tmp_path):
    page = server["url"] + "wFrmExamQandASearch.aspx?y=2011"
    done = twlocal("exam", "fetch", page, "-o", "papers", "--interval", "0", env={"NO_PROXY": "127.0.0.1"})
    assert done.returncode == 1, "something failed"
    assert "6 links to 5 documents of 3 papers" in done.stderr
    assert "fetched 4, there before 0, failed 1 of 5" in done.stdout
    assert "100030_103_0101__Q.pdf: HTTP 404" in done.stderr
    entries = {paper.name: paper for paper in discover(tmp_path / "papers")}
    assert (entries["100030_0901"].subject, entries["100030_0901"].year) == ("國文（作文）", 100)
    assert {document.kind for document in entries["100030_0901"].documents if document.sha256} == {"Q", "A"}
    before = len(server["asked"])
    saved = tmp_path / "page.html"
    saved.write_text(PAGE, encoding="utf-8")
    base = server["url"] + "wFrmExamQandASearch.aspx"
    words = ("exam", "fetch", saved, "-o", "papers", "--interval", "0", "--base", base, "--json")
    done = twlocal(*words, env={"NO_PROXY": "127.0.0.1"})
    assert json.loads(done.stdout) == {"papers": 3, "documents": 5, "done": 0, "there": 4, "failed": 1}
    assert len(server["asked"]) == before + 1, "only what failed is asked for again"


def test_a_paper_that_could_not_be_fetched_is_rejected_as_that(twlocal, server, tmp_path):
    page = server["url"] + "wFrmExamQandASearch.aspx?y=2011"
    env = {"NO_PROXY": "127.0.0.1"}
    twlocal("exam", "fetch", page, "-o", "papers", "--interval", "0", "--db", "exam.db", env=env)
    twlocal("exam", "parse", "papers", "--jobs", "1", "--db", "exam.db")
    with Ledger.opened(tmp_path / "exam.db", create=False) as ledger:
        reasons = {row.name: row.reasons[0].reason for row in ledger.papers()}
    assert reasons["100030_103_0101"] == "download_failed"
    assert list(reasons.values()).count("download_failed") == 1


def test_a_page_that_lists_nothing(twlocal, server, tmp_path):
    (tmp_path / "page.html").write_text("<html></html>", encoding="utf-8")
    done = twlocal("exam", "fetch", "page.html", "-o", "papers")
    assert (done.returncode, "these pages list no document" in done.stderr) == (2, True)
    done = twlocal("exam", "fetch", server["url"] + "q?c=103", "-o", "papers", env={"NO_PROXY": "127.0.0.1"})
    assert done.returncode == 2 and "cannot be read: Not Found" in done.stderr
    assert catalogue.file_name("a", "Q") == "a__Q.pdf"
