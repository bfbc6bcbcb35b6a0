"""The pure parts of the HTTP benchmark, and its stub server: figures nobody can trust are worse than none."""

from __future__ import annotations

import asyncio
import csv
import json
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import bench_http

    return bench_http


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import _bench

    return _bench


def result(bench: ModuleType, **changed: Any) -> Any:
    plain = {"wall": 2.0, "first": 0.5, "cpu": 1.0, "peak_mb": 100.0, "span": 1.0, "items": 2000, "connections": 32}
    return bench.Result(**{**plain, **changed})


# -- tables and ratios ------------------------------------------------------------------------------------------------


def test_columns_stand_in_line_under_wide_letters(shared: ModuleType) -> None:
    text = shared.table(["", "秒"], [["twlocal", "2.00"], ["題庫", "10.00"]])
    assert text == "            秒\ntwlocal   2.00\n題庫     10.00"


@pytest.mark.parametrize(("value", "base", "shown"), [(6.0, 2.0, "3.00"), (1.0, 0.0, "–"), (1.0, None, "–")])
def test_a_ratio_without_a_base_is_a_dash(shared: ModuleType, value: float, base: float | None, shown: str) -> None:
    assert shared.ratio(value, base) == shown


def test_medians_are_taken_of_each_figure_by_itself(bench: ModuleType) -> None:
    found = bench.median([result(bench, wall=1.0, cpu=9.0), result(bench, wall=5.0, cpu=1.0), result(bench, wall=3.0)])
    assert (found.wall, found.cpu, found.items) == (3.0, 1.0, 2000)


def test_rates_and_cpu_are_by_item(bench: ModuleType) -> None:
    one = result(bench, cpu=1.5, span=0.5, items=1000)
    assert (one.rate, one.cpu_ms) == (2000.0, 1.5)


def test_the_ideal_counts_whole_waves(bench: ModuleType) -> None:
    assert bench.Scenario("500 ms", 0.5, 256, 32).ideal == 4.0
    assert bench.Scenario("500 ms", 0.5, 257, 32).ideal == 4.5
    assert bench.Scenario("instant", 0.0, 256, 32).ideal is None


def test_the_table_compares_with_twlocal_and_with_the_bare_loop(bench: ModuleType) -> None:
    scenario = bench.Scenario("instant server", 0.0, 2000, 32)
    found = {
        "twlocal": result(bench),
        "bare aiohttp": result(bench, wall=1.0, span=0.8),
        "lm-eval": result(bench, wall=9.0, span=2.0),
    }
    rows = {line.split("  ")[0]: line.split() for line in bench.scenario_table(scenario, found).splitlines()[2:]}
    assert rows["lm-eval"][1:3] == ["9.00", "4.50"]
    assert rows["lm-eval"][-3:] == ["1000", "0.40", "32"]
    assert rows["twlocal"][-2] == "0.80"


def test_goals_say_met_and_missed(bench: ModuleType) -> None:
    scenario = bench.Scenario("instant server", 0.0, 2000, 32)
    ours = result(bench, wall=2.0, first=1.2, cpu=1.0, peak_mb=151)
    lines = bench.goals(
        scenario, {"twlocal": ours, "bare aiohttp": result(bench, span=0.85), "x": result(bench, wall=7)}
    )
    assert [line.split()[0] for line in lines] == ["met", "MISSED", "met", "MISSED", "met"]
    assert "3.50 (goal: at least 3)" in lines[0]


def test_goals_of_a_slow_server_are_held_against_the_ideal(bench: ModuleType) -> None:
    scenario = bench.Scenario("500 ms", 0.5, 256, 32)
    fast, slow = (bench.goals(scenario, {"twlocal": result(bench, span=span)}) for span in (4.1, 4.3))
    assert (fast[0].split()[0], slow[0].split()[0]) == ("met", "MISSED")


def test_without_twlocal_there_is_no_ratio_and_no_goal(bench: ModuleType) -> None:
    scenario = bench.Scenario("instant server", 0.0, 2000, 1)
    assert "–" in bench.scenario_table(scenario, {"lm-eval": result(bench)})
    assert bench.goals(scenario, {"lm-eval": result(bench)}) == []


def test_every_tool_begins_a_round_once(bench: ModuleType) -> None:
    names = ["a", "b", "c"]
    rounds = [bench.turn(names, number) for number in range(3)]
    assert {each[0] for each in rounds} == set(names)
    assert all(sorted(each) == names for each in rounds)


# -- what makes a run count --------------------------------------------------------------------------------------------


def measured(shared: ModuleType, code: int = 0) -> Any:
    return shared.Measured(started=0.0, wall=1.0, cpu=1.0, peak_mb=50.0, code=code, output="one\nlast words")


GOOD = {"requests": 5, "answered": 5, "distinct": 5}


@pytest.mark.parametrize(
    ("code", "seen", "stored", "why"),
    [
        (1, GOOD, 5, "code 1"),
        (0, {**GOOD, "requests": 4, "answered": 4, "distinct": 4}, 5, "4 requests"),
        (0, {**GOOD, "requests": 6, "answered": 6}, 5, "6 requests"),
        (0, {**GOOD, "distinct": 1}, 5, "1 of them different"),
        (0, GOOD, 4, "4 answers"),
    ],
)
def test_a_tool_that_did_not_do_the_work_is_no_measure(
    bench: ModuleType, shared: ModuleType, code: int, seen: dict[str, int], stored: int, why: str
) -> None:
    with pytest.raises(bench.Failed, match=why) as raised:
        bench.checked(measured(shared, code), seen, lambda: stored, 5)
    assert "last words" in str(raised.value)


def test_a_tool_that_ran_out_of_time_is_told_how_far_it_came(bench: ModuleType, shared: ModuleType) -> None:
    late = shared.Measured(0.0, 600.2, 1.0, 50.0, -9, "", killed=True)
    with pytest.raises(bench.Failed, match=r"600 s .* 3 of 5"):
        bench.checked(late, {"requests": 4, "answered": 3, "distinct": 4}, lambda: 5, 5)


def test_a_tool_that_did_the_work_is_a_measure(bench: ModuleType, shared: ModuleType) -> None:
    bench.checked(measured(shared), GOOD, lambda: 5, 5)
    bench.checked(measured(shared), GOOD, lambda: None, 5)


def test_questions_differ_and_are_four_option_items(bench: ModuleType, tmp_path: Path) -> None:
    bench.write_questions(tmp_path / "q.csv", 12)
    with (tmp_path / "q.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["question"] for row in rows}) == 12
    assert all(len({row[letter] for letter in "ABCD"}) == 4 and row["answer"] in "ABCD" for row in rows)


# -- a command seen from outside ---------------------------------------------------------------------------------------


def test_cpu_and_memory_of_children_are_counted(shared: ModuleType, tmp_path: Path) -> None:
    # The child holds 60 MB and works while the parent waits: neither would show in the parent alone.
    work = "import time\nheld = bytearray(60_000_000)\nwhile time.process_time() < 0.25: pass\n"
    parent = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {work!r}], check=True)\nprint('done')"
    command = shared.Command([sys.executable, "-c", parent], tmp_path, {"PATH": "/usr/bin"})
    found = shared.measure(command, timeout=60, log=tmp_path / "log")
    assert (found.code, found.output.strip()) == (0, "done")
    assert found.cpu >= 0.25
    assert found.wall >= found.cpu / 2
    assert found.peak_mb > 60


def test_a_command_that_hangs_is_killed_with_its_children(shared: ModuleType, tmp_path: Path) -> None:
    parent = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    command = shared.Command([sys.executable, "-c", parent], tmp_path, {"PATH": "/usr/bin"})
    began = time.monotonic()
    found = shared.measure(command, timeout=0.5, log=tmp_path / "log")
    assert found.killed
    assert found.code < 0
    assert time.monotonic() - began < 30


# -- the stub server ---------------------------------------------------------------------------------------------------


def post(port: int, content: str) -> dict[str, Any]:
    body = json.dumps({"model": "stub", "messages": [{"role": "user", "content": content}]}).encode("utf-8")
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/chat/completions", data=body)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as reply:
        answer: dict[str, Any] = json.load(reply)
    return answer


def test_the_stub_answers_and_counts(bench: ModuleType) -> None:
    with bench.stub(0.0) as port:
        before = time.monotonic()
        answers = [post(port, content) for content in ("甲", "乙", "乙")]
        seen = bench.stats(port)
    assert all("\\boxed{A}" in answer["choices"][0]["message"]["content"] for answer in answers)
    assert (seen["requests"], seen["answered"], seen["distinct"]) == (3, 3, 2)
    # Its clock is ours: first minus start is what the benchmark reports.
    assert before < seen["first"] < seen["last"] < time.monotonic()


def test_the_stub_delays_requests_side_by_side(bench: ModuleType) -> None:
    with bench.stub(0.2) as port, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: post(port, str(n)), range(8)))
        seen = bench.stats(port)
    assert seen["last"] - seen["first"] >= 0.2
    assert seen["peak_connections"] > 1
    assert seen["last"] - seen["first"] < 8 * 0.2


def test_the_stub_takes_requests_in_pieces_and_in_a_row(bench: ModuleType) -> None:
    import stub_server

    class Wire(asyncio.Transport):
        def __init__(self) -> None:
            super().__init__()
            self.written = b""

        def write(self, data: Any) -> None:
            self.written += data

    server, wire = stub_server.Server(), Wire()
    connection = stub_server.Connection(server)
    connection.connection_made(wire)
    request = b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody"
    for at in range(0, len(request * 2), 5):
        connection.data_received((request * 2)[at : at + 5])
    assert wire.written == server.completion * 2
    assert server.stats.requests == 2


def test_twlocal_and_the_bare_loop_do_the_whole_work(bench: ModuleType, tmp_path: Path) -> None:
    questions = tmp_path / "questions.csv"
    bench.write_questions(questions, 12)
    scenario = bench.Scenario("instant server", 0.0, 12, 4)
    for tool in (bench.Twlocal(sys.executable), bench.Bare(sys.executable)):
        found = bench.run_once(tool, scenario, questions, 100)
        assert 0 < found.first < found.wall
        assert found.connections == 4
