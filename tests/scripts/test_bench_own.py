"""The pure parts of the benchmarks of start, load, storing, memory: figures nobody can trust are worse than none."""

from __future__ import annotations

import csv
import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch):
    """A script as a module."""
    monkeypatch.syspath_prepend(str(SCRIPTS))

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    return load


# -- start ------------------------------------------------------------------------------------------------------------


def test_start_a_goal_is_missed_by_either_time(script):
    start = script("bench_start")
    plan = [start.Step(start.BARE, ["x"]), start.Step("a", ["x"], 1.0), start.Step("b", ["x"], 1.0)]
    figure = start.Figure
    found = {start.BARE: figure(0.1, 0.05, 9), "a": figure(0.9, 0.5, 30.4), "b": figure(1.2, 0.5, 30)}
    rows = start.rows(plan, found)
    assert rows[0] == [start.BARE, "0.100", "0.050", "1.00", "9", "–", ""]
    assert rows[1] == ["a", "0.900", "0.500", "10.00", "30", "1.00", "met"]
    assert rows[2][-1] == "MISSED"


def test_start_medians_are_taken_of_each_figure_by_itself(script):
    start = script("bench_start")
    figures = [start.Figure(1.0, 9.0, 5), start.Figure(5.0, 1.0, 6), start.Figure(3.0, 2.0, 7)]
    assert start.medians(figures) == start.Figure(3.0, 2.0, 6)


def test_start_commands_run_without_what_would_change_their_start(script, monkeypatch):
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "TWLOCAL_DB", "OPENAI_API_KEY", "https_proxy"):
        monkeypatch.setenv(name, "1")
    start = script("bench_start")
    kept = start.surroundings()
    assert kept["PYTHONPATH"] == str(start.PLUGINS) and start.PLUGINS.is_dir()
    assert not {"PYTHONDONTWRITEBYTECODE", "TWLOCAL_DB", "OPENAI_API_KEY", "https_proxy"} & set(kept)


# -- loading ----------------------------------------------------------------------------------------------------------


def test_load_questions_are_always_the_same_and_can_be_loaded(script, tmp_path):
    from twlocal import dataset

    bench = script("bench_load")
    for name in ("one", "two"):
        bench.write_questions(tmp_path / f"{name}.csv", 30)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    with (tmp_path / "one.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["question"] for row in rows}) == 30 and tuple(rows[0]) == bench.NAMES
    assert len(dataset.load(str(tmp_path / "one.csv")).items) == 30


def test_load_ratios_are_of_our_cpu_time_to_theirs(script):
    bench = script("bench_load")
    ours, theirs = bench.Figure(1.0, 0.9, 2.0, 1.5, 50.0), bench.Figure(4.0, 0.3, 5.0, 3.0, 200.0)
    rows = bench.rows({bench.OURS: ours, "pandas": theirs})
    assert rows[1] == ["pandas", "4.00", "0.30", "3.00", "3.00", "0.50", "200"]
    assert bench.rows({"pandas": theirs})[0][3] == "–"


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("Generating train split\n\nFIGURES 20 1.5 0.5\n", (20, 1.5, 0.5)),
        ("no module named pandas\n", None),
        ("FIGURES 20\n", None),
    ],
)
def test_load_figures_are_read_from_the_line_that_tells_them(script, output, found):
    assert script("bench_load").figures(output) == found


# -- storing ----------------------------------------------------------------------------------------------------------


def test_store_all_ways_store_every_row(script, tmp_path, monkeypatch):
    store = script("bench_store")
    monkeypatch.syspath_prepend(str(store.PLUGINS))
    figures: list[object] = []
    store.sqlite_alone(tmp_path / "alone.db", 70, store.BATCH, figures)
    store.twlocal_add(tmp_path / "add.db", 70, figures)
    store.write_questions(tmp_path / "questions-70.csv", 70)
    store.whole_run(tmp_path / "run.db", 70, figures)
    assert [figure.rows for figure in figures] == [70, 70, 70] and all(figure.wall > 0 for figure in figures)
    from sqlite_utils import Database

    for name in ("alone.db", "add.db", "run.db"):
        db = Database(tmp_path / name)
        assert db.execute("SELECT count(*), count(DISTINCT no), min(text) FROM responses").fetchone() == (
            *(70, 70, store.TEXT),
        )
        db.close()


def test_store_goals_are_shares_of_sqlite_alone(script):
    store = script("bench_store")
    found = {
        store.SQLITE: store.Figure(100, 1.0, 1.0),
        store.SINGLY: store.Figure(100, 9.0, 1.0),
        store.ADD: store.Figure(100, 2.0, 1.0),
        store.RUN: store.Figure(100, 4.0, 3.0),
    }
    assert [line[:6].strip() for line in store.goals(found)] == ["met", "MISSED"]
    assert store.rows(found)[3] == [store.RUN, "25", "0.25", "40000", "30000"]


# -- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_is_noted_at_each_step_of_a_run(script, tmp_path, monkeypatch):
    memory = script("bench_memory")
    monkeypatch.syspath_prepend(str(script("bench_store").PLUGINS))
    script("bench_load").write_questions(tmp_path / "questions.csv", 30)
    seen = memory.run(tmp_path, 30)
    steps = [step for step, _, _ in seen]
    assert steps[:3] == ["begun", "questions read, run planned", "plan written"] and steps[-1] == "100% answered"
    assert all(0 < held <= 1.01 * most for _, held, most in seen)


def test_memory_is_little_and_flat_or_missed(script):
    memory = script("bench_memory")
    seen = [("begun", 30.0, 30.0), ("10% answered", 200.0, 250.0), ("100% answered", 240.0, 250.0)]
    assert [line[:6].strip() for line in memory.goals(seen)] == ["met", "MISSED"]
    seen[-1] = ("100% answered", 210.0, 310.0)
    assert [line[:6].strip() for line in memory.goals(seen)] == ["MISSED", "met"]
