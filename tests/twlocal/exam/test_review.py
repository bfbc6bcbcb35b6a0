"""The review: what is shown in which order, who may ask, and what becomes of decisions."""

from __future__ import annotations

import asyncio
import html
import io
import json
import re
import shutil
import signal
import urllib.parse
import urllib.request
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, FormData
from aiohttp.test_utils import TestServer

from twlocal.exam import parsing
from twlocal.exam.ledger import Ledger
from twlocal.exam.listing import discover
from twlocal.exam.review import serve as serving
from twlocal.exam.review.decided import Decided, Overtaken
from twlocal.exam.review.desk import Desk, state
from twlocal.exam.review.sight import Document, Job, Seen, Sight, Unseen, look

FOUR = ("甲說", "乙說", "丙說", "丁說")
STEM = '<script>alert("占有")</script>之效力為何者？'
NOW = "2026-11-30T00:00:00+00:00"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture
def built(draw, shelf, tmp_path, twlocal):
    """A build of two papers in tmp_path; item 3 of the second has a picture beside it. Made once, then copied."""
    if not (shelf / "exam.db").exists():
        draw("a100", [("契約之成立要件為何？", FOUR, "C"), ("時效之效力為何者？", FOUR, "A")], year=100, code="1101")
        items = [(STEM, FOUR, "D"), ("物權之客體為何者？", FOUR, "B"), ("箭號所指為何者？", FOUR, "A")]
        place = draw("b113", items, correction={2: "答Ａ給分"}, pictures={3: (60, 40)})
        with Ledger.opened(shelf / "part.db", create=True) as ledger:
            shutil.copytree(place, shelf / "papers")
            parsing.parse(ledger, discover(shelf / "papers"))
        done = twlocal("exam", "build", "bench", "--db", shelf / "part.db")
        assert done.returncode == 0, done.stderr
        (shelf / "part.db").rename(shelf / "exam.db")
    shutil.copy(shelf / "exam.db", tmp_path / "exam.db")
    return tmp_path / "exam.db"


@pytest.fixture
def ledger(built):
    with Ledger.opened(built, create=False) as opened:
        yield opened


class Asking:
    """A browser's part, for one review."""

    def __init__(self, session: ClientSession, base: str) -> None:
        self.session, self.base = session, base
        self.token = ""

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        async with self.session.get(self.base + path, headers=headers) as reply:
            text = await reply.text()
        if found := re.search(r'name="token" value="([^"]+)"', text):
            self.token = found[1]
        return reply.status, text

    async def post(self, path: str, headers: dict[str, str] | None = None, **fields: str) -> tuple[int, str]:
        data = FormData({"token": self.token} | fields)
        async with self.session.post(self.base + path, data=data, headers=headers, allow_redirects=False) as reply:
            return reply.status, reply.headers.get("Location") or await reply.text()


@asynccontextmanager
async def reviewed(ledger, by="tester"):
    sight = Sight()
    review = serving.Review(ledger, by=by, now=lambda: NOW, lang="en", sight=sight)
    try:
        async with TestServer(review.app()) as server, ClientSession() as session:
            yield Asking(session, f"http://127.0.0.1:{server.port}")
    finally:
        sight.close()


def test_flagged_items_come_first(ledger):
    desk = Desk(ledger)
    assert [entry.id for entry in desk.entries()] == ["b113-003", "a100-001", "a100-002", "b113-001", "b113-002"]
    flagged = desk.entry("b113-003")
    assert (flagged.flags, flagged.rule, flagged.flagged) == (("figure",), "figure_on_page", True)
    assert [(entry.id, now) for entry, now in desk.chosen("todo")] == [("b113-003", "by_rule")]
    assert desk.counts() == {"todo": 1, "flagged": 1, "all": 5, "withdrawn": 1, "kept": 0}
    assert desk.subjects() == ["civil_law"] and not desk.chosen("all", "tax_law")
    sheet = desk.sheet(desk.entry("b113-002"))
    assert (sheet.answer, sheet.original, sheet.note) == ("A", "B", "答Ａ給分")
    assert [one.kind for one in sheet.documents] == ["Q", "A", "M"]


def test_a_build_by_another_process_is_seen(ledger, built, twlocal):
    desk = Desk(ledger)
    assert len(desk.entries()) == 5
    assert twlocal("exam", "withdraw", "a100-002", "--reason", "法律已修正", "--by", "else").returncode == 0
    assert state(desk.entry("a100-002"), desk.decided.of(desk.entry("a100-002").content_hash)) == "withdrawn"
    assert twlocal("exam", "build", "bench").returncode == 0
    assert [entry.id for entry in desk.entries()][:2] == ["a100-002", "b113-003"]


def test_decisions_go_to_the_withdrawal_list_and_can_be_taken_back(ledger, tmp_path, twlocal):
    async def walk():
        async with reviewed(ledger) as browser:
            await browser.get("/item/a100-001?show=all")
            form = {"item": "a100-001", "seen": "0", "show": "all", "subject": ""}
            status, said = await browser.post("/decide", action="withdraw", reason="   ", **form)
            assert status == 400 and "A withdrawal needs a reason" in said
            status, place = await browser.post("/decide", action="withdraw", reason=" 缺 <圖> ", **form)
            assert status == 303 and place.startswith("/item/a100-002?show=all&done=")
            _, page = await browser.get(place)
            assert "缺 &lt;圖&gt;" in page and "Undo" in page
            accept = {"item": "b113-003", "seen": "0", "show": "todo", "subject": ""}
            status, place = await browser.post("/decide", action="keep", reason="typed and not meant", **accept)
            assert status == 303 and place.startswith("/?show=todo&done="), "nothing is left to do"
            number = Decided(ledger).of(Desk(ledger).entry("a100-002").content_hash)
            assert number is None
            await browser.post("/decide", action="withdraw", reason="誤會", item="a100-002", seen="0", show="all")
            hashed = Desk(ledger).entry("a100-002").content_hash
            undone = Decided(ledger).of(hashed)
            status, place = await browser.post("/undo", decision=str(undone.id), show="all")
            assert (status, place) == (303, "/item/a100-002?show=all")
            assert Decided(ledger).of(hashed) is None

    asyncio.run(walk())
    assert {one.reason for one in Decided(ledger).holding().values()} == {"缺 <圖>", ""}
    assert twlocal("exam", "build", "bench").returncode == 0
    listed = [json.loads(line) for line in (tmp_path / "bench" / "withdrawn.jsonl").read_text("utf-8").splitlines()]
    assert [(row["id"], row["rule"], row["reason"]) for row in listed] == [("a100-001", "decision", "缺 <圖>")]
    assert [entry.id for entry, _ in Desk(ledger).chosen("kept")] == ["b113-003"], "accepted against the rule"


def test_two_tabs_do_not_overwrite_each_other(ledger):
    async def walk():
        async with reviewed(ledger) as browser:
            await browser.get("/item/b113-003")
            form = {"item": "b113-003", "seen": "0"}
            assert (await browser.post("/decide", action="keep", **form))[0] == 303
            status, said = await browser.post("/decide", action="withdraw", reason="圖", **form)
            assert status == 409 and "decided elsewhere meanwhile" in said and "accepted" in said
            first = Decided(ledger).of(Desk(ledger).entry("b113-003").content_hash)
            assert first.action == "keep", "nothing was noted"
            again = {"item": "b113-003", "seen": str(first.id)}
            assert (await browser.post("/decide", action="withdraw", reason="圖", **again))[0] == 303
            status, said = await browser.post("/undo", decision=str(first.id))
            assert status == 409 and "another one does" in said

    asyncio.run(walk())


def test_undo_brings_back_the_decision_before(ledger):
    decided = Decided(ledger)
    first = decided.decide("c" * 64, "withdraw", "圖", "甲", NOW)
    second = decided.decide("c" * 64, "keep", "", "乙", NOW, seen=first)
    with pytest.raises(Overtaken):
        decided.undo(first, NOW)
    assert decided.of("c" * 64).id == second and decided.one(first), "a refused undo changes nothing"
    assert decided.undo(second, NOW) == "c" * 64
    assert (decided.of("c" * 64).id, ledger.decisions()["c" * 64].action) == (first, "withdraw")
    with pytest.raises(Overtaken):
        decided.undo(second, NOW)
    with pytest.raises(Overtaken):
        decided.decide("c" * 64, "keep", "", "乙", NOW, seen=second)
    assert decided.of("c" * 64).id == first


def test_other_sites_and_other_names_are_refused(ledger):
    async def walk():
        async with reviewed(ledger) as browser:
            for host in ("evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80", ""):
                assert (await browser.get("/", Host=host))[0] in (400, 403), host
            assert (await browser.get("/", Host="localhost:" + browser.base.rsplit(":", 1)[1]))[0] == 200
            await browser.get("/item/b113-003")
            form = {"item": "b113-003", "seen": "0", "action": "keep"}
            for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
                            {"Origin": browser.base.replace("127.0.0.1", "localhost")}):  # fmt: skip
                assert (await browser.post("/decide", headers=headers, **form))[0] == 403, headers
            for token in ("", "x" * 43, "密碼"):
                status, said = await browser.post("/decide", token=token, **form)
                assert status == 403 and "reload it" in said
            assert not Decided(ledger).holding()
            own = {"Origin": browser.base, "Sec-Fetch-Site": "same-origin"}
            assert (await browser.post("/decide", headers=own, **form))[0] == 303
            assert (await browser.get("/decide"))[0] == 405
            async with browser.session.get(browser.base + "/") as reply:
                assert reply.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
                assert (reply.headers["Cache-Control"], reply.headers["X-Content-Type-Options"]) == (
                    "no-store", "nosniff",
                )  # fmt: skip

    asyncio.run(walk())


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/item/none-001", 404), ("/item/..%2f..%2fetc%2fpasswd", 404), ("/picture/999/1.png", 404),
        ("/picture/1/0.png", 404), ("/picture/1/99.png", 404), ("/picture/99999999999999999999/1.png", 404),
        ("/?show=nothing&page=-4&subject=%3Cb%3E", 200), ("/?page=99999&done=77", 200), ("/?done=" + "9" * 40, 200),
    ],
)  # fmt: skip
def test_odd_addresses(ledger, path, status):
    async def walk():
        async with reviewed(ledger) as browser:
            assert (await browser.get(path))[0] == status

    asyncio.run(walk())


def test_odd_forms_change_nothing(ledger):
    async def walk():
        async with reviewed(ledger) as browser:
            await browser.get("/item/b113-003")
            form = {"item": "b113-003", "seen": "0", "action": "keep"}
            for odd in (
                {"item": "none"},
                {"action": "drop"},
                {"action": ""},
                {"seen": "-1"},
                {"seen": "²"},
                {"seen": ""},
            ):
                assert (await browser.post("/decide", **(form | odd)))[0] == 400, odd
            assert (await browser.post("/decide", **(form | {"seen": "8"})))[0] == 409
            for number in ("", "x", "²", "9" * 30):
                assert (await browser.post("/undo", decision=number))[0] == 400
            assert (await browser.post("/undo", decision="9"))[0] == 409

    asyncio.run(walk())
    assert not Decided(ledger).holding()


def test_the_page_shows_the_item_with_its_parts_and_nothing_of_it_as_markup(ledger):
    async def walk():
        async with reviewed(ledger) as browser:
            status, page = await browser.get("/item/b113-001?show=all")
            assert status == 200
            assert html.escape(STEM).replace("&#x27;", "'").replace("&quot;", "&#34;") in page
            assert "<script>alert" not in page
            parts = re.findall(r'data-part="(\w+)"><rect x="([\d.]+)" y="([\d.]+)"', page)
            assert [kind for kind, _, _ in parts] == ["number", "stem", "A", "B", "C", "D", "key", "key"]
            assert float(parts[0][1]) == pytest.approx(40.7, abs=1) and float(parts[5][1]) == pytest.approx(439, abs=1)
            (picture, _) = re.findall(r'<img src="(/picture/[^"]+)', page)[:2]
            async with browser.session.get(browser.base + html.unescape(picture)) as reply:
                assert reply.content_type == "image/png" and "immutable" in reply.headers["Cache-Control"]
                data = await reply.read()
            from PIL import Image

            assert Image.open(io.BytesIO(data)).size == (1200, 1699)

    asyncio.run(walk())


def test_a_file_that_changed_is_said_not_drawn(ledger, built, shelf, tmp_path):
    key, paper = (shelf / "papers" / f"a100__{kind}.pdf" for kind in "AQ")
    for path in (key, paper):
        shutil.copy(path, tmp_path)
    try:
        key.unlink()
        paper.write_bytes(b"%PDF-1.4 another")

        async def walk():
            async with reviewed(ledger) as browser:
                status, page = await browser.get("/item/a100-001")
                assert status == 200 and "the file is not there" in page and "not the one that was read" in page
                assert "<img" not in page and "契約之成立要件" in page

        asyncio.run(walk())
    finally:
        for path in (key, paper):
            shutil.copy(tmp_path / path.name, path)


def document(path: Path, kind: str = "Q") -> Document:
    import hashlib

    return Document(1, kind, path, hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.mark.parametrize(("turned", "rotate"), [(0, 0), (0, 90), (90, 0), (180, 0), (270, 0), (270, 270)])
def test_the_picture_is_upright_and_the_parts_lie_on_its_ink(sheet, tmp_path, turned, rotate):
    """Text that runs along another side, and pages with /Rotate: what is drawn on the picture is where the print is."""
    from PIL import Image

    made = sheet((842.0, 595.0) if turned in (90, 270) else (595.0, 842.0))
    if rotate:
        made._rotate[0] = rotate
    if turned:
        made.turned(turned)
    # What `turned` draws upright is a page of A4 whatever its sides.
    made.text(48, 100, "※本試題共1題，每題2分").text(40, 200, "1").text(60, 200, "甲乙丙丁為何？")
    for k, mark in enumerate("ⒶⒷⒸⒹ"):
        made.text(60, 218 + 18 * k, mark + "承諾合意")
    path = tmp_path / "paper.pdf"
    path.write_bytes(made.bytes())
    seen = look(Job(document(path)))
    assert isinstance(seen, Seen), seen
    picture = Image.open(io.BytesIO(look(Job(document(path), 1)))).convert("L")
    width, height = seen.sizes[0]
    assert picture.size[0] / picture.size[1] == pytest.approx(width / height, rel=0.01)
    scale = picture.size[0] / width
    parts = seen.outline.parts[1]
    assert [part.kind for part in parts] == ["number", "stem", "A", "B", "C", "D"]
    dark = 0
    for part in parts:
        r = part.region
        inside = picture.crop([round(edge * scale) for edge in (r.x0, r.top, r.x1, r.bottom)])
        ink = sum(inside.histogram()[:128])
        # The font's glyphs are boxes: most of a line of them is ink.
        assert ink > 0.4 * inside.size[0] * inside.size[1], part
        dark += ink
    whole = sum(picture.histogram()[:128])
    assert dark > 0.5 * whole


def test_a_page_without_end_is_drawn_small(sheet, tmp_path):
    path = tmp_path / "long.pdf"
    path.write_bytes(sheet((100.0, 14000.0)).text(10, 50, "1甲").bytes())
    from PIL import Image

    assert max(Image.open(io.BytesIO(look(Job(document(path), 1)))).size) <= 4000


def test_what_cannot_be_read_is_said(tmp_path):
    path = tmp_path / "broken.pdf"
    path.write_bytes(b"%PDF-1.4\nno more")
    found = look(Job(document(path)))
    assert isinstance(found, Unseen) and found.reason == "damaged"


def test_pictures_are_kept_within_bounds(monkeypatch):
    """Nothing grows without end, and what was looked at last is kept."""
    from twlocal.exam.review import sight as module

    monkeypatch.setattr(module, "_MEMORY", 1000)
    monkeypatch.setattr(module, "_OUTLINES", 2)
    asked = []

    class Worker:
        def __init__(self, *_):
            return

        def run(self, job):
            asked.append((job.document.id, job.page))
            return (b"x" * 400 if job.page else Seen(None, ()), None)

        def end(self):
            return

        stop = end

    monkeypatch.setattr(module, "Worker", Worker)

    async def walk():
        sight = Sight()
        papers = [Document(k, "Q", Path("x"), f"{k}") for k in range(4)]
        for paper in (papers[0], papers[1], papers[0], papers[2], papers[0], papers[1]):
            await sight.picture(paper, 1)
        assert asked == [(0, 1), (1, 1), (2, 1), (1, 1)]
        asked.clear()
        for k in (0, 1, 2, 0):
            await sight.outline(papers[k])
        assert [one for one, _ in asked] == [0, 1, 2, 0]
        sight.close()

    asyncio.run(walk())


def address_of(process):
    line = process.stdout.readline().strip()
    assert line.startswith("http://127.0.0.1:"), process.communicate()
    return line


def send(address, path, **fields):
    with urllib.request.urlopen(f"{address}item/b113-003", timeout=60) as reply:
        token = re.search(r'name="token" value="([^"]+)"', reply.read().decode())[1]
    data = urllib.parse.urlencode({"token": token, **fields}).encode()
    with urllib.request.urlopen(address + path, data, timeout=60) as reply:
        return reply.read().decode()


def test_killed_and_started_again_nothing_is_lost(built, start, tmp_path):
    first = start("exam", "review", "--by", "甲", env={"TWLOCAL_LANG": "en"})
    address = address_of(first)
    send(address, "decide", item="b113-003", seen="0", action="withdraw", reason="題目需要圖片")
    first.kill()
    first.wait(timeout=20)
    second = start("exam", "review", "--by", "乙", env={"TWLOCAL_LANG": "zh-TW"})
    address = address_of(second)
    with urllib.request.urlopen(f"{address}item/b113-003", timeout=60) as reply:
        page = reply.read().decode()
    assert "題目需要圖片" in page and 'data-lang="zh-TW"' in page
    second.send_signal(signal.SIGINT)
    _, said = second.communicate(timeout=30)
    assert second.returncode == 0 and "applies what was decided" in said


def test_it_needs_a_build_and_a_name(twlocal, built, tmp_path):
    done = twlocal("exam", "review", "--by", " ")
    assert (done.returncode, "--by is empty" in done.stderr) == (2, True)
    with Ledger.opened(tmp_path / "new.db", create=True):
        pass
    done = twlocal("exam", "review", "--by", "x", "--db", "new.db")
    assert (done.returncode, "nothing is built in this database yet" in done.stderr) == (2, True)
    assert twlocal("exam", "review", "--by", "x", "--db", "missing.db").returncode == 2


def test_doubts_are_told_in_words_in_the_list_and_once_beside_the_item(ledger):
    async def walk():
        async with reviewed(ledger) as browser:
            _, listed = await browser.get("/?show=todo")
            _, item = await browser.get("/item/b113-003")
            return listed, item

    listed, item = asyncio.run(walk())
    for said in ("題目旁有圖或表格", "旁邊有圖片", "an image stands beside it"):
        assert said in listed and said in item
    assert "figure_on_page" not in listed and ">figure<" not in listed + item
    assert ">item<" in listed, "one item, not 1 items"
