"""The page of a run: the right numbers, every item, nothing private, nothing that a model wrote as markup."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from twlocal.backend import Completion
from twlocal.errors import UsageError
from twlocal.html.page import asset
from twlocal.item import Item, shown_letter
from twlocal.judge import judge
from twlocal.protocol import load
from twlocal.record import Record
from twlocal.report import item_blocks, page
from twlocal.report.build import build
from twlocal.report.lengths import bins

HOSTILE = "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'>\u2028<!--"


def item(number: int, subject: str = "民法") -> Item:
    return Item(
        f"第{number}題：何者正確？",
        (f"甲{number}", f"乙{number}", "丙", "丁"),
        "ABCD"[number % 4],
        subject,
        f"q{number}",
    )


def says(one: Item, right: bool, **more: Any) -> Completion:
    key = shown_letter(one.answer, load("box").order(one))
    letter = key if right else next(label for label in "ABCD" if label != key)
    return Completion("", f"想一想。\n\\boxed{{{letter}}}", finish="stop", completion_tokens=12, **more)


def unpacked(html: str, kind: str) -> list[Any]:
    found = re.findall(rf'<script type="text/plain" id="block-{kind}\d*">([^<]*)</script>', html)
    return [row for text in found for row in json.loads(gzip.decompress(base64.b64decode(text)))]


@pytest.fixture(autouse=True)
def _undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts are tested by themselves, in the browser, and by the command below; here they would only take time."""
    monkeypatch.setattr(page.charts, "svg", lambda *_, **__: Markup("<svg></svg>"))


@pytest.fixture
def written(stored_run: Callable[..., Any], tmp_path: Path) -> Callable[..., str]:
    def write(items: list[Item], completions: list[Any], *, stored_private: bool = False, **how: Any) -> str:
        runs, run = stored_run(items, completions, private=stored_private)
        target = tmp_path / "報告.html"
        page.write(runs, run, target, **how)
        return target.read_text(encoding="utf-8")

    return write


def mixed() -> tuple[list[Item], list[Completion]]:
    items = [item(number, "民法" if number < 6 else "稅法") for number in range(10)]
    completions = [says(one, right=number % 3 != 0) for number, one in enumerate(items)]
    completions[9] = Completion("", "說到一半", finish="length", completion_tokens=4096)
    return items, completions


def test_the_numbers_are_those_of_the_score(written: Callable[..., str], stored_run: Callable[..., Any]) -> None:
    items, completions = mixed()
    html = written(items, completions)
    runs, run = stored_run(items, completions, name="again")
    score = build(runs, run).score
    assert (score.overall.n, score.overall.correct) == (10, 6)
    assert "<b>60.0%</b><small>95% CI 31.3–83.2</small>" in html
    assert "<b>90.0%</b>" in html  # boxes
    table = html[html.index('id="subject-table"') : html.index("</table>")]
    cells = [re.findall(r'data-value="([^"]*)"', row) for row in table.split("<tr>")[2:]]
    assert cells == [
        [
            str(one.n),
            str(one.accuracy),
            str(one.lenient_accuracy),
            str(one.box_rate),
            str(one.parse_rate),
            str(one.truncated),
        ]
        for _, one in score.subjects
    ]


def test_every_item_is_there_with_what_was_read_and_why(written: Callable[..., str]) -> None:
    items, completions = mixed()
    html = written(items, completions)
    rows, asked, answers = (unpacked(html, kind) for kind in "iqr")
    assert len(rows) == len(asked) == len(answers) == 10
    by_id = {row[3]: at for at, row in enumerate(rows)}
    sentences = unpacked(html, "sentences")
    for number, (one, done) in enumerate(zip(items, completions, strict=True)):
        at = by_id[one.id]
        row, (text, _, thought, strict, _, _) = rows[at], answers[at]
        assert one.question in asked[at] and all(option in asked[at] for option in one.options)
        assert text == done.text and thought == 0
        assert bool(row[12] & item_blocks.CORRECT) == (number % 3 != 0 and number != 9)
        if number == 9:
            assert row[12] & item_blocks.TRUNCATED and strict is None
            assert sentences[row[10]] == ["最終答覆裡沒有 \\boxed{}。", "There is no \\boxed{} in the final text."]
        else:
            assert text[slice(*strict)] == f"\\boxed{{{row[8]}}}"


def test_a_private_page_has_no_question_and_no_response(written: Callable[..., str]) -> None:
    items = [item(number) for number in range(40)]
    loop = Completion("", "機密作答" * 900, finish="length", completion_tokens=4096)
    html = written(items, [loop] * 40, private=True)
    assert "loops" in html  # the alarm is there, and its example is not
    everything = html + json.dumps([unpacked(html, kind) for kind in ("i", "q", "r", "sentences")], ensure_ascii=False)
    assert "機密" not in everything and "何者正確" not in everything and "甲1" not in everything
    assert load("box").system[:20] not in everything
    assert len(unpacked(html, "i")) == 40


def test_an_open_page_does_have_the_example_of_an_alarm(written: Callable[..., str]) -> None:
    loop = Completion("", "機密作答" * 900, finish="length", completion_tokens=4096)
    assert "機密作答" in written([item(number) for number in range(40)], [loop] * 40)


def test_a_run_that_kept_no_words_still_has_its_responses(written: Callable[..., str]) -> None:
    one = item(1)
    html = written([one], [says(one, right=True)], stored_private=True)
    assert unpacked(html, "q") == [None]
    assert unpacked(html, "r")[0][0].startswith("想一想")


def test_what_a_model_or_a_dataset_says_is_never_markup(written: Callable[..., str]) -> None:
    one = Item(HOSTILE, (HOSTILE + "1", "乙", "丙", "丁"), "A", HOSTILE, HOSTILE)
    html = written([one], [Completion("", HOSTILE, HOSTILE, finish="stop")])
    assert "window.hit" in json.dumps(unpacked(html, "r"))
    assert "<script>window.hit" not in html and "<img src=x" not in html
    assert len(re.findall("<script", html)) == len(re.findall("</script>", html))


def test_places_are_counted_as_a_browser_counts(written: Callable[..., str]) -> None:
    one = item(1)
    text = "𠮷𠮷<think>想𠮷</think>答：\\boxed{A}"
    _, _, thought, strict, _, only = unpacked(written([one], [Completion("", text, finish="stop")]), "r")[0]
    units = text.encode("utf-16-le")
    assert units[2 * strict[0] : 2 * strict[1]].decode("utf-16-le") == "\\boxed{A}"
    assert units[2 * thought :].decode("utf-16-le").startswith("答")
    assert not only


def test_a_reading_in_the_reasoning_field_says_so(written: Callable[..., str]) -> None:
    done = Completion("", "", "於是 \\boxed{B}", finish="stop")
    _, reasoning, _, strict, _, only = unpacked(written([item(1)], [done]), "r")[0]
    assert only and reasoning[slice(*strict)] == "\\boxed{B}"


def test_an_unfinished_run_says_so_and_one_without_answers_has_no_score(written: Callable[..., str]) -> None:
    one, other = item(1), item(2)
    html = written([one, other], [says(one, right=True), None])
    assert "未完成 1／2：1 題尚未作答" in html and "INCOMPLETE 1 of 2: 1 to come" in html


def test_nothing_is_answered_yet(written: Callable[..., str]) -> None:
    html = written([item(1)], [None])
    assert "還沒有分數" in html and 'class="score"' not in html


def test_withdrawn_rows_are_left_out(written: Callable[..., str]) -> None:
    one, other = item(1), item(2)
    html = written([one, other], [says(one, True), says(other, False)], withdrawn={other.content_hash})
    assert [row[3] for row in unpacked(html, "i")] == ["q1"]
    assert "<b>100.0%</b>" in html


def test_the_same_run_gives_the_same_bytes(stored_run: Callable[..., Any], tmp_path: Path) -> None:
    runs, run = stored_run(*mixed())
    for name in ("one.html", "two.html"):
        page.write(runs, run, tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_blocks_are_small_and_whole(written: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_blocks, "ROWS", 4)
    items, completions = mixed()
    html = written(items, completions)
    assert len(re.findall('id="block-i', html)) == 3
    assert sorted(row[0] for row in unpacked(html, "i")) == list(range(10))
    assert '"blocks":3' in html


def test_a_page_that_fails_leaves_what_was_there(
    stored_run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, run = stored_run(*mixed())
    target = tmp_path / "r.html"
    target.write_text("before", encoding="utf-8")

    def broken(*_: Any, **__: Any) -> Any:
        yield "half"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(page, "stream", broken)
    with pytest.raises(Exception, match="No space left"):
        page.write(runs, run, target)
    assert target.read_text(encoding="utf-8") == "before"
    assert sorted(path.name for path in tmp_path.iterdir() if "html" in path.name) == ["r.html"]


def test_a_place_that_cannot_be_written_to_is_named(stored_run: Callable[..., Any], tmp_path: Path) -> None:
    runs, run = stored_run(*mixed())
    with pytest.raises(UsageError, match="missing"):
        page.write(runs, run, tmp_path / "missing" / "r.html")


def test_without_the_extra_nothing_is_read_or_written(
    stored_run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, run = stored_run(*mixed())
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr(page, "build", lambda *_, **__: pytest.fail("read the run first"))
    with pytest.raises(UsageError, match=r"twlocal\[html\]"):
        page.write(runs, run, tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_bins_have_one_round_width_and_lose_nothing() -> None:
    found = bins({(0, "a"): 1, (49, "a"): 2, (50, "b"): 3, (1199, "b"): 4}, ["a", "b"])
    assert [(one.low, one.high) for one in found][:2] == [(0, 50), (50, 100)]
    assert found[0].counts == (3, 0) and found[1].counts == (0, 3) and found[-1].counts == (0, 4)
    assert len(found) == 24
    assert bins({}, ["a"]) == []


def test_the_command_writes_a_page(
    twlocal: Callable[..., Any], model_file: Path, questions: Path, tmp_path: Path
) -> None:
    twlocal("run", model_file, "--bench", questions, "--backend", "scripted", "--limit", "8")
    done = twlocal("report", "--html", "r.html", "--private")
    assert done.returncode == 0, done.stderr
    assert "8 responses" in done.stderr and done.stdout == ""
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert str(tmp_path) not in html and questions.name in html  # a page is sent around
    assert 'data-lang="en"' in html and html.count('<svg xmlns="http://www.w3.org/2000/svg" class="chart"') == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--private"], "--html"), (["--html", "r.html", "--json"], "call it twice")],
)
def test_wrong_calls_name_the_way_out(twlocal: Callable[..., Any], words: list[str], said: str) -> None:
    done = twlocal("report", *words)
    assert done.returncode == 2 and said in done.stderr


def test_a_run_that_goes_on_meanwhile_is_one_moment(
    stored_run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = item(1), item(2)
    runs, run = stored_run([one, other], [says(one, True), None])
    scored = page.build

    def meanwhile(*arguments: Any, **how: Any) -> Any:
        view = scored(*arguments, **how)
        with sqlite3.connect(tmp_path / "run.db") as another:
            columns = [row[1] for row in another.execute("PRAGMA table_info(responses)")]
            new = ", ".join("1 - no" if name == "no" else name for name in columns)
            another.execute(f"INSERT INTO responses SELECT {new} FROM responses")
        another.close()
        return view

    monkeypatch.setattr(page, "build", meanwhile)
    assert page.write(runs, run, tmp_path / "r.html") == 1
    monkeypatch.undo()
    assert page.write(runs, run, tmp_path / "r.html") == 2


def test_a_device_is_written_to(stored_run: Callable[..., Any]) -> None:
    runs, run = stored_run(*mixed())
    assert page.write(runs, run, Path("/dev/null")) == 10


def test_the_page_and_its_script_agree_on_the_columns() -> None:
    script = asset("blocks.js", "twlocal.report")
    columns, bits = (
        re.findall(r'"(\w+)"', re.search(rf"const {name} = \[(.*?)\]", script, re.S)[1]) for name in ("COLUMNS", "BITS")
    )  # type: ignore[index]
    one = item(1)
    order = load("box").order(one)
    record = Record(
        7, 1, "民法", "q1", "c" * 64, "s" * 64, one.answer, order, "\\boxed{A}", "想", "stop", 3, 4, 5, "h", ("f",)
    )
    row = dict(
        zip(columns, item_blocks._row(record, judge(record), 2, one.question, item_blocks.Gathered()), strict=False)
    )
    assert len(row) == len(columns) - 2 and columns[-2:] == ["BLOCK", "AT"]
    assert (row["NO"], row["REPEAT"], row["SUBJECT"], row["ID"], row["KEY"]) == (7, 1, 2, "q1", one.answer)
    assert (row["ORDER"], row["KEY_SHOWN"], row["LETTER"], row["LENIENT"]) == (
        order,
        shown_letter(one.answer, order),
        "A",
        "A",
    )
    assert (row["PROMPT_TOKENS"], row["TOKENS"], row["REASONING_TOKENS"], row["FLAGS"]) == (3, 4, 5, "f")
    assert (row["FINISH"], row["HASH"], row["EXCERPT"]) == ("stop", "c" * 16, one.question)
    names = ("CORRECT", "READ", "LENIENT", "LENIENT_READ", "TRUNCATED", "LOOP", "FLAGGED")
    assert bits == ["LENIENT_CORRECT" if name == "LENIENT" else name for name in names]
    assert [getattr(item_blocks, name) for name in names] == [1 << at for at in range(7)]
