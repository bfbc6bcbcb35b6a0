"""Reported faults of whole jobs, each driven through the command line (P2-3 and P2-7: the engine's side) or the store.

Every input is written out here, and read again from the shared file where that is at hand.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from twlocal import protocol, runner
from twlocal.backend import Completion, EngineInfo, Request
from twlocal.dataset import load
from twlocal.decode import text_of
from twlocal.errors import SchemaTooNew, StoreBusy, StoreFull
from twlocal.item import Item
from twlocal.judge import judge
from twlocal.models import Model
from twlocal.plan import Plan, Wish, make, plan_order
from twlocal.readers import read
from twlocal.record import Record
from twlocal.report.table import table
from twlocal.responses import Answered
from twlocal.runs import Runs
from twlocal.store import migrations, open_store

Call = Callable[..., "subprocess.CompletedProcess[str]"]
Start = Callable[..., "subprocess.Popen[str]"]
Given = Callable[[str], Any]

OPTIONS = {"A": "甲", "B": "乙", "C": "丙", "D": "丁"}
HERE: dict[str, Any] = {
    "P2-7": {"byte_chunks_hex": ["e7ad94e6a188", "efbc", "9a5c626f7865647b427d", "e887"], "finish_reason": "length"},
    "P3-2": {"steps": ["run temperature=0 max_tokens=64, stop after 5 of 10", "resume with max_tokens=2048"]},
    "P3-4": {"steps": ["run 1 finishes 40 of 50", "run 2 crashes after 2 more", "run 3"]},
    "P3-6": {
        "rows": [
            {"subject": "民法", "id": "0", "question": "甲題"},
            {"subject": "刑法", "id": "0", "question": "乙題"},
        ]
    },
    "P4-2": {"rows": "100 rows 民法 followed by 100 rows 刑法 followed by 100 rows 會計", "n": 30},
    "P4-4": {
        "variants": [
            "original",
            "rows reversed",
            "CRLF line ends + UTF-8 BOM",
            "same rows split into two files",
            "JSON key order changed",
        ],
        "n": 12,
    },
    "P6-1": {"bytes": "EF BB BF + 'question,A,B,C,D,answer\\r\\n\"1+1=?\",1,2,3,4,B\\r\\n'"},
    "P6-7": {
        "row": {
            "id": "q1",
            "subject": "甲",
            "question": "x",
            "A": "同文",
            "B": "乙",
            "C": "同文",
            "D": "丁",
            "answer": "A",
        },
        "shuffle": True,
    },
    "P6-9": {
        "row": {"id": "x1", "subject": "刑法", "explanation": "故選 C", "question": "q", **OPTIONS, "answer": "C"}
    },
    "P9-8": {
        "outputs": [
            {"content": "\n\n<think>先試 \\boxed{A}，再看 B", "finish": "length"},
            {"content": "讓我想想，先假設 \\boxed{A} 成立，那麼", "finish": "length"},
        ]
    },
    "P11-1": {"steps": ["process 1 holds BEGIN IMMEDIATE for 8 s", "process 2 wants to save an item"]},
    "P11-3": {"fake": "SQLITE_FULL on commit of item 12 (e.g. PRAGMA max_page_count or tiny tmpfs)"},
    "P11-5": {
        "db": "schema v1 without column 'finish_reason', 10 finished items; variant: another connection holds an "
        "exclusive lock during opening; variant: user_version 99"
    },
    "P12-1": {"rows": [["model", "分數"], ["台灣通用模型（Ａ）", "81.0"], ["qwen", "9.5"]]},
    "P12-3": {
        "env": {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        "cmds": ["run with Chinese subject names", "a dataset path 資料/題庫.jsonl"],
    },
    "P12-5": {"cmd": "twlocal run … > log.txt 2>&1 with 200 items"},
}


@pytest.fixture(params=["written here", "given"])
def given(request: pytest.FixtureRequest) -> Given:
    """A case's input by its id."""
    if request.param == "written here":
        return HERE.__getitem__
    path: Path = request.getfixturevalue("shared") / "cases" / "given.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    cases = {row["id"]: row["input"] for row in rows}
    return cases.__getitem__


def test_what_is_written_here_is_what_was_given(shared: Path) -> None:
    lines = (shared / "cases" / "given.jsonl").read_text(encoding="utf-8").splitlines()
    cases = {row["id"]: row["input"] for row in map(json.loads, lines)}
    assert {case: cases[case] for case in HERE} == HERE


@pytest.fixture
def run(model_file: Path, tmp_path: Path) -> Callable[..., list[str]]:
    """The words of a run of `bench` on the scripted backend, in t.db."""

    def words(bench: Path, *more: str) -> list[str]:
        base = ["run", str(model_file), "--bench", str(bench), "--backend", "scripted", "--db", str(tmp_path / "t.db")]
        return [*base, "--lang", "en", "--set", f"log={tmp_path / 'log'}", *more]

    return words


def _asked(folder: Path) -> int:
    log = folder / "log"
    return len(log.read_text(encoding="utf-8").split()) if log.exists() else 0


def _listed(twlocal: Call, folder: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(twlocal("runs", "--db", folder / "t.db", "--json").stdout)
    return listed


def _rows(subjects: Iterable[str]) -> list[dict[str, str]]:
    return [
        {"subject": subject, "question": f"第{number}題？", **OPTIONS, "answer": "ABCD"[number % 4]}
        for number, subject in enumerate(subjects)
    ]


def _written(path: Path, rows: Iterable[Mapping[str, str]]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


# -- 2: engines --------------------------------------------------------------------------------------------------------


def test_p2_7_a_character_cut_at_the_end_costs_only_itself(given: Given) -> None:
    case = given("P2-7")
    text = text_of(bytes.fromhex(chunk) for chunk in case["byte_chunks_hex"])
    assert text.startswith("答案：\\boxed{B}")
    assert read("box", text, "", case["finish_reason"]).letter == "B"


# -- 3: resuming -------------------------------------------------------------------------------------------------------


def test_p3_2_another_budget_is_another_run(
    given: Given, twlocal: Call, run: Callable[..., list[str]], make_questions: Callable[[int], Path], tmp_path: Path
) -> None:
    assert "stop after 5 of 10" in given("P3-2")["steps"][0]
    bench = make_questions(10)
    assert twlocal(*run(bench, "--max-tokens", "64", "--set", "refuse_after=5")).returncode == 1
    assert twlocal("resume", "--db", tmp_path / "t.db", "--max-tokens", "2048").returncode == 2
    assert twlocal(*run(bench, "--max-tokens", "2048")).returncode == 0
    assert _asked(tmp_path) == 5 + 10
    assert [(row["answered"], row["state"]) for row in _listed(twlocal, tmp_path)] == [
        (5, "unfinished"),
        (10, "complete"),
    ]


def _plan(temperature: float = 0.0, settings: Mapping[str, Any] | None = None, answering: str = "seed stop") -> Plan:
    rules = protocol.load("box")
    return make(
        Wish("m.gguf", "demo", "box", settings=settings or {}),
        model=Model("m", "m.gguf", "scripted"),
        backend="scripted",
        answering=answering.split(),
        model_fingerprint="f",
        protocol=replace(rules, decoding=replace(rules.decoding, temperature=temperature)),
        bench={"name": "demo", "fingerprint": "d", "revision": ""},
        drawn=[Item("q", ("1", "2", "3", "4"), "A")],
        machine={},
    )


def test_p3_2_the_key_knows_every_value_and_no_order() -> None:
    assert _plan().key != _plan(temperature=0.1).key
    assert _plan(settings={"seed": 1, "stop": "x"}).key == _plan(settings={"stop": "x", "seed": 1}).key
    assert _plan(settings={"seed": 1}).key != _plan(settings={"seed": 2}).key


def test_p3_4_results_of_every_sitting_count(
    given: Given, twlocal: Call, run: Callable[..., list[str]], make_questions: Callable[[int], Path], tmp_path: Path
) -> None:
    assert given("P3-4")["steps"][:2] == ["run 1 finishes 40 of 50", "run 2 crashes after 2 more"]
    bench = make_questions(50)
    for refuse_after in (40, 2):
        assert twlocal(*run(bench, "--set", f"refuse_after={refuse_after}")).returncode == 1
    assert _listed(twlocal, tmp_path)[0]["answered"] == 42
    asked = _asked(tmp_path)
    assert twlocal(*run(bench)).returncode == 0
    assert _asked(tmp_path) - asked == 8
    assert len(_listed(twlocal, tmp_path)) == 1


def test_p3_6_equal_ids_of_two_subjects(
    given: Given, twlocal: Call, run: Callable[..., list[str]], tmp_path: Path
) -> None:
    rows = [row | OPTIONS | {"answer": "A"} for row in given("P3-6")["rows"]]
    assert twlocal(*run(_written(tmp_path / "同號.jsonl", rows))).returncode == 0
    assert _asked(tmp_path) == 2
    report = json.loads(twlocal("report", "--db", tmp_path / "t.db", "--json").stdout)
    assert report["score"]["n"] == 2


# -- 4: what is drawn --------------------------------------------------------------------------------------------------


def test_p4_2_a_limit_is_spread_over_subjects(
    given: Given, twlocal: Call, run: Callable[..., list[str]], tmp_path: Path
) -> None:
    case = given("P4-2")
    blocks = [part.split() for part in case["rows"].split(" followed by ")]
    bench = _written(tmp_path / "b.jsonl", _rows(name for count, _, name in blocks for _ in range(int(count))))
    assert twlocal(*run(bench, "--limit", str(case["n"]))).returncode == 0
    report = json.loads(twlocal("report", "--db", tmp_path / "t.db", "--json").stdout)
    assert {row["subject"]: row["n"] for row in report["subjects"]} == {name: 10 for _, _, name in blocks}


def test_p4_4_the_same_questions_in_every_variant(
    given: Given, twlocal: Call, run: Callable[..., list[str]], tmp_path: Path
) -> None:
    case = given("P4-4")
    rows = _rows(["民法", "刑法", "會計"][number // 20] for number in range(60))
    crlf = tmp_path / "crlf.jsonl"
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    crlf.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    _written(tmp_path / "two" / "1.jsonl", rows[:25])
    _written(tmp_path / "two" / "2.jsonl", rows[25:])
    benches = [
        _written(tmp_path / "original.jsonl", rows),
        _written(tmp_path / "reversed.jsonl", rows[::-1]),
        crlf,
        tmp_path / "two",
        _written(tmp_path / "keys.jsonl", [dict(reversed(row.items())) for row in rows]),
    ]
    assert len(benches) == len(case["variants"])
    for bench in benches:
        assert twlocal(*run(bench, "--limit", str(case["n"]))).returncode == 0
    assert _asked(tmp_path) == case["n"], "every other variant is the same run, which was done already"
    assert len(_listed(twlocal, tmp_path)) == 1


# -- 6: loading --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quoted", [False, True])
def test_p6_1_excels_bom(given: Given, tmp_path: Path, quoted: bool) -> None:
    said = given("P6-1")["bytes"]
    bom, _, text = said.partition(" + ")
    content = text.strip("'").replace("\\r\\n", "\r\n")
    if quoted:
        content = content.replace("question", '"question"', 1)
    path = tmp_path / "x.csv"
    path.write_bytes(bytes.fromhex(bom) + content.encode())
    (item,) = load(str(path)).items
    assert (item.question, item.options, item.answer) == ("1+1=?", ("1", "2", "3", "4"), "B")


def test_p6_7_the_key_follows_the_place(
    given: Given, twlocal: Call, run: Callable[..., list[str]], tmp_path: Path
) -> None:
    row = given("P6-7")["row"]
    # Eight stems, so that the options are shuffled in several ways.
    bench = _written(tmp_path / "x.jsonl", [row | {"id": f"q{n}", "question": f"x{n}"} for n in range(8)])
    done = twlocal(*run(bench, "--set", f"say={json.dumps(chr(92) + 'boxed{A}')}"))
    assert "two options have the same text: 8" in done.stderr
    out = twlocal("export", "1", "--db", tmp_path / "t.db", "--format", "jsonl").stdout
    orders = set()
    for line in map(json.loads, out.splitlines()):
        orders.add(line["order"])
        assert (line["subject"], line["answer"], line["read"]) == ("甲", "A", "A")
        assert line["correct"] == (line["order"][0] == "A"), "the other 同文 is option C, and wrong"
    assert len(orders) > 2


def test_p6_9_only_question_and_options_are_asked(
    given: Given, twlocal: Call, run: Callable[..., list[str]], tmp_path: Path
) -> None:
    row = given("P6-9")["row"]
    assert twlocal(*run(_written(tmp_path / "x.jsonl", [row]))).returncode == 0
    shown = json.loads(twlocal("show", "1", "x1", "--db", tmp_path / "t.db", "--json").stdout)
    *system, user = shown["answers"][0]["prompt"]
    assert user["content"].splitlines()[0] == "題目：q"
    assert sorted(line[3:] for line in user["content"].splitlines()[1:]) == sorted(OPTIONS.values())
    assert all(word not in str(system) for word in ("故選", "刑法", "x1"))


# -- 9: thinking -------------------------------------------------------------------------------------------------------


def test_p9_8_cut_thinking_is_unread_and_truncated(given: Given) -> None:
    readings = []
    for output in given("P9-8")["outputs"]:
        text, finish = output["content"], output["finish"]
        judged = judge(Record(0, 0, "s", "", "h", "h", "A", "ABCD", text, "", finish, None, None, None, None))
        assert judged.truncated
        readings.append(judged.box.letter)
    assert readings == [None, "A"]


# -- 11: the database --------------------------------------------------------------------------------------------------


def test_p11_1_a_lock_is_waited_for_and_no_answer_is_lost(
    given: Given, twlocal: Call, run: Callable[..., list[str]], make_questions: Callable[[int], Path], tmp_path: Path
) -> None:
    held = 8.0
    assert f"{held:g} s" in given("P11-1")["steps"][0]
    bench = make_questions(4)
    open_store(tmp_path / "t.db").close()
    holder = sqlite3.connect(tmp_path / "t.db", isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    # SQLite's own patience is five seconds; what is held a little longer than that is enough to show the difference.
    release = threading.Timer(5.5, lambda: holder.execute("ROLLBACK"))
    release.start()
    begun = time.monotonic()
    done = twlocal(*run(bench))
    release.join()
    holder.close()
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begun > 5
    assert _asked(tmp_path) == _listed(twlocal, tmp_path)[0]["answered"] == 4


class _Answering:
    """Answers everything; the twelfth answer is too long for the disk."""

    def __init__(self, asked: list[str]) -> None:
        self.asked = asked

    def describe(self) -> EngineInfo:
        return EngineInfo("scripted", "1")

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        for request in requests:
            self.asked.append(request.key)
            long = request.key == "11.0"
            yield Completion(request.key, "長" * (60_000 if long else 1) + "\\boxed{A}", finish="stop")

    def close(self) -> None:
        return


class _Quiet:
    def started(self, run: object, done: int, total: int) -> None:
        return

    def stored(self, records: object, failures: object) -> None:
        return

    def note(self, message: str) -> None:
        return


def test_p11_3_a_full_disk_loses_nothing_that_was_stored(given: Given, tmp_path: Path) -> None:
    assert "item 12" in given("P11-3")["fake"]
    db = open_store(tmp_path / "t.db")
    runs = Runs(db, tmp_path / "t.db")
    items = [Item(f"第{n}題", ("1", "2", "3", "4"), "A") for n in range(20)]
    plan = replace(_plan(), rows=tuple(plan_order(items)))
    here = runner.Here(1, "here", {})

    def go(asked: list[str]) -> runner.Outcome:
        return runner.run(
            runs, plan, lambda prior, died: _Answering(asked), here=here, stop=runner.Stop(), watcher=_Quiet()
        )

    pages = db.conn.execute("PRAGMA page_count").fetchone()[0]
    db.conn.execute(f"PRAGMA max_page_count={pages + 16}")
    first: list[str] = []
    with pytest.raises(StoreFull, match="no room left") as full:
        go(first)
    assert "run the same command again" in (full.value.hint or "")
    row = runs.get(key=plan.key)
    stored = runs.done(row.id)
    assert {(no, 0) for no in range(11)} <= stored
    assert (11, 0) not in stored
    assert not row.complete
    assert all(record.text.endswith("\\boxed{A}") for record in runs.records(row.id)), "no half-written row"
    db.conn.execute("PRAGMA max_page_count=100000")
    second: list[str] = []
    assert go(second).state == "complete"
    assert sorted(second) == sorted({f"{no}.0" for no in range(20)} - {f"{no}.0" for no, _ in stored})
    runs.close()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database of the first schema with ten answers."""
    folder = tmp_path / "first"
    folder.mkdir()
    (folder / "0001_first.sql").write_text(migrations()[0][1], encoding="utf-8")
    path = tmp_path / "old.db"
    runs = Runs(open_store(path, folder=folder), path)
    items = [Item(f"第{n}題", ("1", "2", "3", "4"), "A") for n in range(10)]
    row = runs.ensure(replace(_plan(), rows=tuple(plan_order(items))), at="2026-01-01T00:00:00.000000Z")
    sitting = runs.begin_sitting(row.id, EngineInfo("s", "1"), {}, pid=1, host="h", at=row.created_at)
    answers = [
        Answered(no, 0, "ABCD", Completion(f"{no}.0", "\\boxed{A}", finish="stop"), row.created_at) for no in range(10)
    ]
    runs.add(row.id, sitting, answers)
    runs.close()
    return path


def _raw(path: Path, sql: str) -> Any:
    connection = sqlite3.connect(path)
    try:
        found = connection.execute(sql).fetchone()
        connection.commit()
        return found and found[0]
    finally:
        connection.close()


def test_p11_5_an_old_schema_is_upgraded_and_keeps_its_answers(given: Given, old: Path, twlocal: Call) -> None:
    assert "10 finished items" in given("P11-5")["db"]
    assert _raw(old, "PRAGMA user_version") == 1
    listed = json.loads(twlocal("runs", "--db", old, "--json").stdout)
    assert [row["answered"] for row in listed] == [10]
    assert _raw(old, "PRAGMA user_version") == len(migrations())


def test_p11_5_a_lock_while_it_is_upgraded(old: Path) -> None:
    holder = sqlite3.connect(old, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreBusy, match="locked"):
        open_store(old, timeout=0.1)
    holder.execute("ROLLBACK")
    assert holder.execute("PRAGMA user_version").fetchone()[0] == 1
    holder.close()


def test_p11_5_a_newer_schema_is_left_alone(old: Path, twlocal: Call) -> None:
    _raw(old, "PRAGMA user_version=99")
    before = old.read_bytes()
    with pytest.raises(SchemaTooNew):
        open_store(old)
    refused = twlocal("runs", "--db", old)
    assert refused.returncode == 1
    assert "schema 99" in refused.stderr
    assert old.read_bytes() == before


# -- 12: what is shown -------------------------------------------------------------------------------------------------


def test_p12_1_rows_of_chinese_and_latin_names_line_up(given: Given) -> None:
    header, *rows = given("P12-1")["rows"]
    widths = {
        sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
        for line in table(rows, header, align="lr")
    }
    assert len(widths) == 1


def test_p12_3_the_c_locale_without_pythons_rescue(
    given: Given, twlocal: Call, run: Callable[..., list[str]], tmp_path: Path
) -> None:
    env = given("P12-3")["env"]
    _written(tmp_path / "資料" / "題庫.jsonl", _rows(["民法", "刑法"] * 2))
    done = twlocal(*run(Path("資料/題庫.jsonl")), env=env)
    assert done.returncode == 0, done.stderr
    assert twlocal("report", "--db", "t.db", "--by", "subject", env=env).returncode == 0
    assert twlocal("export", "1", "--db", "t.db", "-o", "資料/出.jsonl", env=env).returncode == 0
    written = (tmp_path / "資料" / "出.jsonl").read_text(encoding="utf-8")
    assert {json.loads(line)["subject"] for line in written.splitlines()} == {"民法", "刑法"}
    absent = twlocal(*run(Path("資料/沒有.jsonl")), env=env)
    assert absent.returncode == 2
    assert "Traceback" not in absent.stderr


def test_p12_5_a_log_holds_plain_lines(
    given: Given, run: Callable[..., list[str]], make_questions: Callable[[int], Path], tmp_path: Path
) -> None:
    assert "200 items" in given("P12-5")["cmd"]
    words = [sys.executable, "-m", "twlocal", *run(make_questions(200), "--set", "delay=0.015")]
    env = {"PYTHONPATH": str(Path(__file__).parents[2] / "plugins"), "LC_ALL": "C.UTF-8"}
    with (tmp_path / "log.txt").open("wb") as log:
        done = subprocess.run(words, stdout=log, stderr=subprocess.STDOUT, check=False, env=env)
    text = (tmp_path / "log.txt").read_bytes()
    assert done.returncode == 0, text.decode()
    assert b"\r" not in text
    assert b"\x1b" not in text
    told = [line for line in text.decode().splitlines() if "/200 answered" in line]
    assert 2 <= len(told) <= 8, "every so often, not every item"
    assert told[-1].startswith("200/200")
