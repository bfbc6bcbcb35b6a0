"""What a command costs before it does anything: start, `runs`, `report`, and finding what is left of a run.

    python scripts/bench_start.py                              a run of 22,021 questions, seven times over
    python scripts/bench_start.py --items 2000 --repeats 3
    python scripts/bench_start.py --python .venv/bin/python    the twlocal that this Python has

A run is made once with the scripted backend of the tests (its answers are a function of the question: thirteen short
texts, as of a model that says little more than a letter), whole, with one answer missing, and with a number before each
answer, so that no two are alike. Commands take turns with a bare `python -c pass`, so that a busy machine slows all of
them alike; the figures are medians. `÷ Python` is how many times a bare start of the interpreter a command takes, in
CPU time.
The look-up (what of the plan is answered, failed or left) is timed inside a process, apart from reading the questions.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import _bench
from _peers import Unavailable, environment, install_checkout, installed_version
from bench_http import turn, write_questions

HERE = Path(__file__).parent
PLUGINS = HERE.parent / "tests" / "plugins"
BARE = "python -c pass"
LOOKUP = """
import sys, time
from pathlib import Path
from twlocal.runs import Runs
from twlocal.store import open_store
path = Path(sys.argv[1])
begun, used = time.perf_counter(), time.process_time()
runs = Runs(open_store(path, create=False), path)
run = runs.get()
done, deaths = runs.done(run.id), runs.deaths(run.id)
left = [key for key in ((no, repeat) for repeat in range(run.repeats) for no in range(run.rows))
        if key not in done and key not in deaths]
print(len(left), time.perf_counter() - begun, time.process_time() - used)
runs.close()
"""


@dataclass(frozen=True)
class Step:
    """Something to measure. goal: wall seconds on a normal core, None where there is none. fresh: needs its own copy
    of the unfinished run, because it finishes it."""

    name: str
    words: Sequence[str]
    goal: float | None = None
    fresh: bool = False


@dataclass(frozen=True)
class Figure:
    """Seconds of a command seen from outside, and the most memory it held (10⁶ bytes)."""

    wall: float
    cpu: float
    peak_mb: float


def steps(python: str, items: int) -> list[Step]:
    """What is measured, in the order of the table."""
    command = [python, "-m", "twlocal"]
    return [
        Step(BARE, [python, "-c", "pass"]),
        Step("twlocal --help", [*command, "--help"], 0.15),
        Step("twlocal runs", [*command, "runs", "--db", "whole.db"], 0.25),
        Step(f"twlocal report, {items} responses", [*command, "report", "--db", "whole.db"], 1.0),
        Step("the same, no two of them alike", [*command, "report", "--db", "unlike.db"], 1.0),
        Step("twlocal resume, one left", [*command, "resume", "--db", "left.db", "--quiet"], fresh=True),
        Step("look-up of what is left", [python, "-c", LOOKUP, "unfinished.db"], 0.3),
    ]


def prepare(python: str, folder: Path, items: int) -> None:
    """Make whole.db (everything answered), unlike.db (no two answers alike) and unfinished.db (one is missing)."""
    write_questions(folder / "questions.csv", items)
    (folder / "model.gguf").write_bytes(b"the scripted backend does not read it")
    words = [python, "-m", "twlocal", "run", "model.gguf", "--backend", "scripted", "--bench", "questions.csv", "-q"]
    for name, more in (("whole.db", []), ("unfinished.db", ["--set", f"refuse_after={items - 1}"])):
        done = subprocess.run(
            [*words, "--db", name, *more],
            cwd=folder,
            env=surroundings(),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode != (1 if more else 0):
            raise SystemExit(f"the run to measure could not be made:\n{done.stderr[-2000:]}")
    shutil.copy(folder / "whole.db", folder / "unlike.db")
    connection = sqlite3.connect(folder / "unlike.db", isolation_level=None)
    connection.execute("UPDATE responses SET text='第 '||no||' 題：'||text")
    connection.close()


def surroundings() -> dict[str, str]:
    """The environment of every command: with the scripted backend, and with compiled modules kept, as for any user."""
    ours = {name: value for name, value in environment().items() if not name.startswith(("TWLOCAL", "PYTHON"))}
    return {**ours, "PYTHONPATH": str(PLUGINS), "PYTHONUTF8": "1"}


def measure(step: Step, folder: Path) -> Figure:
    """One run of one step; the look-up tells its own times. Raises SystemExit where it fails."""
    if step.fresh:
        shutil.copy(folder / "unfinished.db", folder / "left.db")
    log = folder / "output.log"
    seen = _bench.measure(_bench.Command(step.words, folder, surroundings()), timeout=300, log=log)
    if seen.code != 0:
        raise SystemExit(f"{step.name} ended with code {seen.code}:\n{seen.output}")
    if LOOKUP in step.words:
        left, wall, cpu = seen.output.split()
        if int(left) != 1:
            raise SystemExit(f"{step.name} found {left} left where one is")
        return Figure(float(wall), float(cpu), seen.peak_mb)
    return Figure(seen.wall, seen.cpu, seen.peak_mb)


def medians(figures: Sequence[Figure]) -> Figure:
    """The median of each figure by itself."""
    return Figure(
        _bench.median(one.wall for one in figures),
        _bench.median(one.cpu for one in figures),
        _bench.median(one.peak_mb for one in figures),
    )


def rows(plan: Sequence[Step], found: Mapping[str, Figure]) -> list[list[str]]:
    """The lines of the table."""
    bare = found[BARE].cpu
    lines = []
    for step in plan:
        figure = found[step.name]
        # A busy machine stretches wall time; CPU time is what the command itself takes.
        met = "" if step.goal is None else "met" if figure.cpu <= step.goal and figure.wall <= step.goal else "MISSED"
        lines.append(
            [
                step.name,
                _bench.number(figure.wall, 3),
                _bench.number(figure.cpu, 3),
                _bench.ratio(figure.cpu, bare),
                _bench.number(figure.peak_mb, 0),
                _bench.number(step.goal),
                met,
            ]
        )
    return lines


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    made.add_argument("--items", type=int, default=22021, help="questions of the run (default: 22021)")
    made.add_argument("--repeats", type=int, default=7, help="how often each is run (default: 7)")
    made.add_argument(
        "--peers-dir", type=Path, default=cache / "twlocal-bench-peers", help="where twlocal is installed"
    )
    made.add_argument("--python", help="measure the twlocal that this Python has (default: install the checkout)")
    made.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return made


def main() -> None:
    """Make the runs, measure, print."""
    wish = parser().parse_args()
    try:
        python = str(Path(wish.python).absolute()) if wish.python else install_checkout(wish.peers_dir)
    except Unavailable as error:
        raise SystemExit(f"twlocal: {error}\n(--python measures one that is installed already)") from error
    plan, machine = steps(python, wish.items), _bench.machine()
    figures: dict[str, list[Figure]] = {step.name: [] for step in plan}
    with tempfile.TemporaryDirectory(prefix="bench-start-") as name:
        folder = Path(name)
        prepare(python, folder, wish.items)
        by_name = {step.name: step for step in plan}
        for number in range(-1, wish.repeats):  # the first round only warms the disk's cache up
            for step in turn(list(by_name), number):
                figure = measure(by_name[step], folder)
                if number >= 0:
                    figures[step].append(figure)
    found = {name: medians(seen) for name, seen in figures.items()}
    about = {**machine, "load average after": _bench.load(), "twlocal": str(installed_version(python, "twlocal"))}
    if wish.json:
        print(json.dumps({"machine": about, "items": wish.items, "rows": rows(plan, found)}, ensure_ascii=False))
        return
    print("; ".join(f"{name}: {value}" for name, value in about.items()))
    print(f"median of {wish.repeats}, commands in turn\n")
    print(_bench.table(["", "wall s", "CPU s", "÷ Python", "MB", "goal s", ""], rows(plan, found)))


if __name__ == "__main__":
    main()
