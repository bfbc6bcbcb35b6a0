"""From PDFs to a published benchmark over drawn papers: every stage as it is called, interrupted, damaged, repeated."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import pytest

from twlocal.dataset import load
from twlocal.errors import StoreError, UsageError
from twlocal.exam import parsing, publish
from twlocal.exam.key import parse_key
from twlocal.exam.ledger import ATTEMPTS, Ledger, distinct
from twlocal.exam.listing import discover
from twlocal.exam.model import Paper, Rejection
from twlocal.exam.paper import parse_paper

FOUR = ("甲說", "乙說", "丙說", "丁說")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture
def corpus(draw, shelf, tmp_path):
    """Three papers of two years, with a re-printing, a correction, an English item, a figure and a continuation.

    Drawn once: a PDF holds when it was made, so that a second drawing is another document.
    """
    if (shelf / "papers").exists():
        return Path(shutil.copytree(shelf / "papers", tmp_path / "papers"))
    draw(
        "p100",
        [
            ("契約之成立要件為何？", ("要約", "承諾", "合意", "公示"), "C"),
            ("時效之效力為何者？", FOUR, "A"),
            ("承上題，何者正確？", FOUR, "B"),
        ],
        year=100,
        code="1101",
    )
    draw(
        "p113",
        [
            ("契約之成立要件為何？", ("公示", "合意", "承諾", "要約"), "B"),
            ("占有之效力為何者？", FOUR, "D"),
            ("如下圖所示，何者正確？", FOUR, "D"),
            ("Which of the following is true?", ("one", "two", "three", "four"), "A"),
            ("物權之客體為何者？", FOUR, "A"),
            ("債權之客體為何者？", FOUR, "A"),
        ],
        correction={2: "答Ｂ給分", 5: "答Ａ或Ｃ者均給分", 6: "一律給分"},
    )
    place = draw("broken", [("甲為何？", FOUR, "A"), ("乙為何？", FOUR, "A")], stated=9, code="7777")
    shutil.copytree(place, shelf / "papers")
    return place


@pytest.fixture
def parsed(corpus, shelf, tmp_path):
    """The corpus parsed into exam.db; the same for every test, so it is done once."""
    if not (shelf / "exam.db").exists():
        with Ledger.opened(shelf / "part.db", create=True) as ledger:
            parsing.parse(ledger, discover(corpus))
        (shelf / "part.db").rename(shelf / "exam.db")
    shutil.copy(shelf / "exam.db", tmp_path / "exam.db")


def test_the_whole_way(twlocal, corpus, tmp_path):
    done = twlocal("exam", "parse", corpus, "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert "papers seen / parsed: 3 / 2, with 9 items" in done.stdout
    assert "rejected, incomplete (questions are missing): 1: broken" in done.stdout
    assert "questions: 3" in done.stderr and "papers: 3" in done.stderr
    done = twlocal("exam", "subjects")
    assert "papers: 2; one subject: 2 (100.00%)" in done.stdout
    done = twlocal("exam", "build", "bench", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "papers_seen": 3,
        "papers_parsed": 2,
        "papers_rejected": {"incomplete": 1},
        "raw": 9,
        "folded": 1,
        "filtered": {"several_answers": 1, "everyone_credited": 1, "english": 1, "figure": 1, "continues": 1},
        "published": 3,
        "withdrawn": {},
        "scored": 3,
    }
    bench = tmp_path / "bench"
    rows = [json.loads(line) for line in (bench / "jsonl" / "civil_law.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["id"], row["answer"], row["printings"], row["original_answer"], row["year"]) for row in rows] == [
        ("p100-001", "C", "2", "", "100"),
        ("p100-002", "A", "1", "", "100"),
        ("p113-002", "B", "1", "D", "113"),
    ]
    assert rows[0]["question"] == "契約之成立要件為何？" and rows[0]["C"] == "合意"
    assert (rows[0]["subject"], rows[0]["field"], rows[0]["subject_zh"]) == ("civil_law", "law", "民法")
    assert rows[0]["source"] == "考選部 100年公務人員特種考試警察人員考試試題 民法 第1題"
    data = load(str(bench / "parquet"))
    assert [item.id for item in data.items] == [row["id"] for row in rows]
    manifest = json.loads((bench / "build_manifest.json").read_text(encoding="utf-8"))
    assert manifest["dataset_fingerprint"] == data.fingerprint == load(str(bench / "jsonl")).fingerprint
    done = twlocal("exam", "check", "bench")
    assert done.returncode == 0 and "Scored: 3" in done.stdout
    done = twlocal("exam", "audit", "--json")
    told = json.loads(done.stdout)
    assert (told["rows"], told["duplicate_groups"], told["conflicts"], told["letter_conflicts"]) == (4, 1, 0, 1)


def test_the_accounting_is_derived_again_from_what_is_shipped(twlocal, corpus, parsed, tmp_path):
    twlocal("exam", "build", "bench")
    with (tmp_path / "bench" / "accounting" / "items.csv").open(encoding="utf-8", newline="") as file:
        items = list(csv.DictReader(file))
    with (tmp_path / "bench" / "accounting" / "papers.csv").open(encoding="utf-8", newline="") as file:
        papers = {row["paper"]: row for row in csv.DictReader(file)}
    assert [
        (row["paper"], row["number"], row["fate"], row["detail"]) for row in items if row["fate"] != "published"
    ] == [
        ("p100", "3", "continues", "承上題"),
        ("p113", "1", "folded", "p100-001"),
        ("p113", "3", "figure", "如下圖"),
        ("p113", "4", "english", "6 words"),
        ("p113", "5", "several_answers", "A/C"),
        ("p113", "6", "everyone_credited", "一律給分"),
    ]
    assert (papers["broken"]["state"], papers["broken"]["reason"]) == ("rejected", "incomplete")
    for kind, column in (("Q", "question"), ("A", "answer"), ("M", "correction")):
        data = (corpus / f"p113__{kind}.pdf").read_bytes()
        assert papers["p113"][column] == hashlib.sha256(data).hexdigest()


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_building_twice_gives_identical_bytes(twlocal, corpus, parsed, tmp_path):
    """From another database, another folder and another order of parsing too."""
    twlocal("exam", "build", "one")
    twlocal("exam", "build", "two")
    twlocal("exam", "build", "two")
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for path in sorted(corpus.iterdir(), reverse=True):
        (moved / path.name).write_bytes(path.read_bytes())
    twlocal("exam", "parse", moved, "--db", "other.db", "--jobs", "2")
    twlocal("exam", "build", "three", "--db", "other.db")
    assert tree(tmp_path / "one") == tree(tmp_path / "two") == tree(tmp_path / "three")
    assert not list(tmp_path.glob("*.part")) and not list(tmp_path.glob("*.old"))


def test_disjointness_and_withdrawals(twlocal, parsed, tmp_path):
    (tmp_path / "tmmlu.csv").write_text(
        "question,A,B,C,D,answer\n時效之效力為何者,丁說,丙說。,乙說,甲說,D\n", encoding="utf-8"
    )
    twlocal("exam", "build", "bench")
    done = twlocal("exam", "withdraw", "p100-001", "--reason", "法律已修正", "--by", "tester")
    assert done.returncode == 0, done.stderr
    done = twlocal("exam", "build", "bench", "--disjoint-from", "tmmlu.csv")
    assert done.returncode == 0, done.stderr
    bench = tmp_path / "bench"
    (line,) = (bench / "withdrawn.jsonl").read_text(encoding="utf-8").splitlines()
    told = json.loads(line)
    rows = {item.id: item for item in load(str(bench / "jsonl")).items}
    assert set(rows) == {"p100-001", "p113-002"}, "withdrawn rows stay published; rows of the other dataset go"
    assert told == {
        "ch": rows["p100-001"].content_hash,
        "id": "p100-001",
        "subject": "civil_law",
        "rule": "decision",
        "reason": "法律已修正",
    }
    card = (bench / "README.md").read_text(encoding="utf-8")
    assert "| filtered: in_other_dataset | 1 |" in card and "| Scored | 1 |" in card and "tmmlu.csv (1 rows" in card
    twlocal("exam", "withdraw", told["ch"], "--reason", "仍有效", "--by", "tester", "--keep")
    twlocal("exam", "build", "bench")
    assert (bench / "withdrawn.jsonl").read_text(encoding="utf-8") == ""
    done = twlocal("exam", "withdraw", "p999-001", "--reason", "x", "--by", "y")
    assert (done.returncode, "p999-001 names no published row" in done.stderr) == (2, True)


def test_a_changed_build_is_noticed(twlocal, parsed, tmp_path):
    twlocal("exam", "build", "bench")
    bench = tmp_path / "bench"
    rows = bench / "jsonl" / "civil_law.jsonl"
    rows.write_text(rows.read_text(encoding="utf-8").replace('"answer": "C"', '"answer": "A"'), encoding="utf-8")
    items = bench / "accounting" / "items.csv"
    items.write_text(items.read_text(encoding="utf-8").replace("english", "figure"), encoding="utf-8")
    (bench / "more.txt").write_text("x", encoding="utf-8")
    (bench / "README.md").unlink()
    done = twlocal("exam", "check", "bench")
    assert done.returncode == 1
    for line in (
        "README.md is missing",
        "more.txt is not listed in the manifest",
        "jsonl/civil_law.jsonl is not the file that was built",
        "the manifest says filtered is",
    ):
        assert line in done.stdout


def test_a_folder_of_something_else_is_left_alone(twlocal, parsed, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x", encoding="utf-8")
    done = twlocal("exam", "build", "mine")
    assert (done.returncode, "is there and is no build of twlocal" in done.stderr) == (2, True)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    "words", [("build", "out"), ("subjects",), ("audit",), ("withdraw", "x", "--reason", "r", "--by", "b")]
)
def test_a_stage_before_its_time(twlocal, words):
    done = twlocal("exam", *words)
    assert done.returncode == 2 and "twlocal exam parse DIR" in done.stderr


# -- resuming ---------------------------------------------------------------------------------------------------------


def contents(database):
    """Everything that parsing found out, by names that do not depend on the order in which it did."""
    connection = sqlite3.connect(database)
    try:
        items = connection.execute(
            "SELECT d.sha256, i.number, i.question, i.options, i.flags, i.regions FROM exam_items i "
            "JOIN exam_documents d ON d.id=i.document_id ORDER BY 1, 2"
        ).fetchall()
        papers = connection.execute(
            "SELECT name, state, reasons, year, subject_title FROM exam_papers ORDER BY 1"
        ).fetchall()
        answers = connection.execute("SELECT * FROM exam_answers ORDER BY 1, 2").fetchall()
        documents = connection.execute(
            "SELECT sha256, kind, state, attempts FROM exam_documents ORDER BY 1, 2"
        ).fetchall()
        return items, papers, answers, documents
    finally:
        connection.close()


def test_a_killed_parse_goes_on_to_the_same_database(twlocal, start, draw, tmp_path):
    for k in range(12):
        folder = draw(f"p{k}", [(f"第{k}種契約之要件為何？", FOUR, "ABCD"[k % 4]), ("其效力為何者？", FOUR, "A")])
    twlocal("exam", "parse", folder, "--db", "whole.db")
    process = start("exam", "parse", folder, "--db", "killed.db", "--jobs", "1")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if (tmp_path / "killed.db").exists() and _count(tmp_path / "killed.db"):
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = twlocal("exam", "parse", folder, "--db", "killed.db", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "killed.db") == contents(tmp_path / "whole.db")


def _count(database):
    try:
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        try:
            return connection.execute("SELECT COUNT(*) FROM exam_documents").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error:
        return 0


class Stop(Exception):
    """Stands for whatever ends a build in the middle."""


@pytest.mark.parametrize("phase", ["files", "questions", "keys", "papers"])
def test_interrupted_in_any_phase_it_goes_on(corpus, tmp_path, phase):
    def stop(step):
        if step.what == phase:
            raise Stop

    listed = discover(corpus)
    with Ledger.opened(tmp_path / "a.db", create=True) as ledger:
        with pytest.raises(Stop):
            parsing.parse(ledger, listed, watch=stop)
        steps = []
        parsing.parse(ledger, listed, watch=steps.append)
        again = []
        parsing.parse(ledger, listed, watch=again.append)
    assert {step.what for step in again} == {"files"}, "nothing is left to do"
    with Ledger.opened(tmp_path / "b.db", create=True) as ledger:
        parsing.parse(ledger, listed)
    assert contents(tmp_path / "a.db")[:3] == contents(tmp_path / "b.db")[:3]


def test_what_was_read_comes_back_as_it_was(corpus, tmp_path):
    with Ledger.opened(tmp_path / "a.db", create=True) as ledger:
        parsing.parse(ledger, discover(corpus))
        rows = {row.name: row for row in ledger.papers()}
        wanted = parse_paper(corpus / "p113__Q.pdf")
        found = ledger.paper(rows["p113"].question)
        assert (found.header, found.stated_count, found.flags, found.groups) == (
            wanted.header,
            wanted.stated_count,
            wanted.flags,
            wanted.groups,
        )
        assert [(i.number, i.question, dict(i.options), i.flags) for i in found.items] == [
            (i.number, i.question, dict(i.options), i.flags) for i in wanted.items
        ]
        assert ledger.key(rows["p113"].correction) == parse_key(corpus / "p113__M.pdf")
        assert ledger.paper(rows["broken"].question).rejections == parse_paper(corpus / "broken__Q.pdf").rejections


def test_another_parser_reads_everything_again(corpus, tmp_path, monkeypatch):
    with Ledger.opened(tmp_path / "a.db", create=True) as ledger:
        parsing.parse(ledger, discover(corpus))
        monkeypatch.setattr("twlocal.exam.version.parser", lambda: "another")
        assert ledger.unread("another") == 3 + 4 + 3
        steps = []
        parsing.parse(ledger, discover(corpus), watch=steps.append)
        assert {step.what: step.total for step in steps} == {"files": 3, "questions": 3, "keys": 4, "papers": 3}


def test_a_document_that_many_papers_share_is_read_once(twlocal, draw, tmp_path):
    folder = draw("one", [("甲為何？", FOUR, "A")])
    for kind in "QA":
        (folder / f"two__{kind}.pdf").write_bytes((folder / f"one__{kind}.pdf").read_bytes())
    with Ledger.opened(tmp_path / "a.db", create=True) as ledger:
        steps = []
        parsing.parse(ledger, discover(folder), watch=steps.append)
        assert {step.what: step.total for step in steps} == {"files": 2, "questions": 1, "keys": 1, "papers": 2}
        assert [(row.name, row.state) for row in ledger.papers()] == [("one", "paired"), ("two", "paired")]
        assert [(row.name, row.state, row.reasons) for row in distinct(ledger.papers())] == [
            ("one", "paired", ()),
            ("two", "rejected", (Rejection("same_document", "as one"),)),
        ]
    twlocal("exam", "build", "bench", "--db", "a.db")
    with (tmp_path / "bench" / "accounting" / "papers.csv").open(encoding="utf-8", newline="") as file:
        assert [(row["paper"], row["reason"]) for row in csv.DictReader(file)] == [
            ("one", ""),
            ("two", "same_document"),
        ]
    audited = json.loads(twlocal("exam", "audit", "--db", "a.db", "--json").stdout)
    assert (audited["rows"], audited["duplicate_groups"]) == (1, 0), "a document does not agree with itself"


def test_of_papers_with_one_document_the_corrected_one_stays(draw, tmp_path):
    folder = draw("b", [("甲為何？", FOUR, "A")], correction={1: "答Ｄ給分"})
    for kind in "QA":
        (folder / f"a__{kind}.pdf").write_bytes((folder / f"b__{kind}.pdf").read_bytes())
    with Ledger.opened(tmp_path / "a.db", create=True) as ledger:
        parsing.parse(ledger, discover(folder))
        assert [(row.name, row.state) for row in distinct(ledger.papers())] == [("a", "rejected"), ("b", "paired")]


def test_a_correction_that_arrives_later_changes_the_answers(draw, tmp_path):
    folder = draw("p", [("甲為何？", FOUR, "A"), ("乙為何？", FOUR, "B")], correction={1: "答Ｄ給分"})
    late = (folder / "p__M.pdf").read_bytes()
    (folder / "p__M.pdf").unlink()
    with Ledger.opened(tmp_path / "a.db", create=True) as ledger:
        parsing.parse(ledger, discover(folder))
        assert [one.answer for one in ledger.candidates()] == ["A", "B"]
        (folder / "p__M.pdf").write_bytes(late)
        parsing.parse(ledger, discover(folder))
        assert [(one.answer, one.original) for one in ledger.candidates()] == [("D", "A"), ("B", "B")]


def test_files_that_are_missing_or_not_what_was_listed(draw, tmp_path):
    folder = draw("p", [("甲為何？", FOUR, "A")])
    entries = [
        {"id": "gone", "question": "nothing.pdf", "answer": "p__A.pdf"},
        {"id": "keyless", "question": "p__Q.pdf"},
        {"id": "lost-correction", "question": "p__Q.pdf", "answer": "p__A.pdf", "correction": "m.pdf"},
        {"id": "only-key", "answer": "p__A.pdf"},
        {"id": "other", "question": {"file": "p__Q.pdf", "sha256": "0" * 64}, "answer": "p__A.pdf"},
    ]
    (folder / "manifest.json").write_text(json.dumps(entries), encoding="utf-8")
    with Ledger.opened(tmp_path / "a.db", create=True) as ledger:
        parsing.parse(ledger, discover(folder))
        assert {row.name: row.reasons[0].reason for row in ledger.papers()} == {
            "gone": "missing_file",
            "keyless": "no_key",
            "lost-correction": "missing_file",
            "only-key": "no_question_paper",
            "other": "checksum",
        }
        assert list(ledger.candidates()) == []


def test_what_a_limit_ended_is_tried_again_and_not_for_ever(corpus, tmp_path):
    with Ledger.opened(tmp_path / "a.db", create=True) as ledger:
        ledger.register([(paper, [parsing.look(d) for d in paper.documents]) for paper in discover(corpus)])
        number = ledger.waiting("Q", "v")[0].id
        others = [(one.id, Paper(rejections=(Rejection("no_questions"),))) for one in ledger.waiting("Q", "v")[1:]]
        ledger.store(others, "v")
        for _ in range(ATTEMPTS):
            assert [one.id for one in ledger.waiting("Q", "v")] == [number]
            ledger.store([(number, Rejection("timeout", "no result after 30 s"))], "v")
        assert ledger.waiting("Q", "v") == []
        assert len(ledger.waiting("Q", "w")) == 3


def test_text_that_utf8_cannot_hold_is_stored_readably(tmp_path, corpus):
    with Ledger.opened(tmp_path / "a.db", create=True) as ledger:
        ledger.register([(paper, [parsing.look(d) for d in paper.documents]) for paper in discover(corpus)])
        number = ledger.waiting("Q", "v")[0].id
        item = parse_paper(corpus / "p100__Q.pdf").items[0]
        broken = Paper(items=(type(item)(1, "半個\ud800字", item.options, 1),))
        ledger.store([(number, broken)], "v")
        assert ledger.paper(number).items[0].question == "半個\ufffd字"


def test_a_hostile_pdf_costs_only_itself(twlocal, corpus, tmp_path):
    (corpus / "bad__Q.pdf").write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 20)
    (corpus / "bad__A.pdf").write_bytes(b"")
    done = twlocal("exam", "parse", corpus, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rejected"] == {"damaged": ["bad"], "incomplete": ["broken"]}


def test_a_database_of_something_else(twlocal, corpus, tmp_path):
    (tmp_path / "exam.db").write_bytes(b"not a database at all" * 100)
    done = twlocal("exam", "parse", corpus)
    assert done.returncode == 1 and "damaged or not a SQLite database" in done.stderr
    with pytest.raises(StoreError, match="there is no database"), Ledger.opened(tmp_path / "no.db", create=False):
        pass


def test_a_build_whose_lists_are_damaged(tmp_path):
    with pytest.raises(UsageError, match="no build manifest"):
        publish.check(tmp_path)
    with pytest.raises(UsageError, match="is not a build that can be read"):
        publish.rederived(tmp_path)
