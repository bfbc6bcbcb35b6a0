"""Responses committed a second: twlocal's store, and a whole run, beside SQLite alone with the same durability.

    python scripts/bench_store.py
    python scripts/bench_store.py --rows 20000 --folder /path/on/the/disk/that/counts

`SQLite alone` inserts the same rows into the same table with the standard library's module: write-ahead log,
synchronous=FULL, one transaction for every 64 rows, nothing else. `one a commit` does so for every row: what it would
cost to commit each answer by itself. `twlocal add` is what a run calls for each batch. `a run` is the whole path from
an instant scripted engine in a thread to the disk, its progress included. All take turns in one process, on one
disk; the figures are medians. The process must be one that has twlocal.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import _bench
from bench_http import turn, write_questions

HERE = Path(__file__).parent
PLUGINS = HERE.parent / "tests" / "plugins"
BATCH = 64
TEXT = "經過推理，答案是 \\boxed{A}。" * 20  # some 340 characters, as a short response has
SQLITE, SINGLY, ADD, RUN = "SQLite alone", "SQLite alone, one a commit", "twlocal add", "a run of twlocal"
GOAL = 0.5  # of SQLite alone, while running


@dataclass(frozen=True)
class Figure:
    """Rows stored, and the seconds and CPU seconds that it took."""

    rows: int
    wall: float
    cpu: float

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.wall


@contextmanager
def timed(rows: int, into: list[Figure]) -> Iterator[None]:
    """Measure the block as so many rows stored."""
    begun, used = time.perf_counter(), time.process_time()
    yield
    into.append(Figure(rows, time.perf_counter() - begun, time.process_time() - used))


def sqlite_alone(path: Path, count: int, batch: int, into: list[Figure]) -> None:
    """The rows of `responses`, by the standard library alone."""
    prepared(path, count).close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    insert = f"INSERT INTO responses VALUES ({','.join('?' * 16)})"
    with timed(count, into):
        for start in range(0, count, batch):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                insert,
                [
                    (1, no, 0, 1, "ABCD", TEXT, "", "stop", 100, 5, None, 0.01, None, 1, "[]", "2026-01-01T00:00:00Z")
                    for no in range(start, min(start + batch, count))
                ],
            )
            connection.execute("COMMIT")
    connection.close()


def twlocal_add(path: Path, count: int, into: list[Figure]) -> None:
    """The same through the call that a run makes for each batch."""
    from twlocal.backend import Completion
    from twlocal.responses import Answered

    runs = prepared(path, count)
    with timed(count, into):
        for start in range(0, count, BATCH):
            runs.add(
                1,
                1,
                [
                    Answered(
                        no,
                        0,
                        "ABCD",
                        Completion(
                            f"{no}.0", TEXT, finish="stop", prompt_tokens=100, completion_tokens=5, latency=0.01
                        ),
                        "2026-01-01T00:00:00Z",
                    )
                    for no in range(start, min(start + BATCH, count))
                ],
            )
    runs.close()


class Clock:
    """A run's watcher that takes the time from when the engine is open and the plan is written to the last answer."""

    def __init__(self, progress: Any, count: int, into: list[Figure]) -> None:
        self._progress, self._block, self._left = progress, timed(count, into), count

    def started(self, *given: Any) -> None:
        self._progress.started(*given)
        self._block.__enter__()

    def stored(self, records: Sequence[Any], failures: Sequence[Any]) -> None:
        self._progress.stored(records, failures)
        self._left -= len(records)
        if not self._left:
            self._block.__exit__(None, None, None)

    def note(self, message: str) -> None:
        self._progress.note(message)


def whole_run(path: Path, count: int, into: list[Figure]) -> None:
    """A run with the scripted backend of the tests, from its first request to its last commit."""
    from twlocal import evaluate, runner
    from twlocal.cli.progress import Lines
    from twlocal.plan import Wish
    from twlocal.runs import Runs
    from twlocal.store import open_store

    runs = Runs(open_store(path), path)
    questions, model = path.with_name(f"questions-{count}.csv"), path.with_name("model.gguf")
    model.write_bytes(b"the scripted backend does not read it")
    wish = Wish(str(model), str(questions), "box", backend="scripted", settings={"say": TEXT})
    around = evaluate.Surroundings()
    made = evaluate.prepare(wish, runs, around)
    with path.with_name("progress.log").open("w", encoding="utf-8") as log:
        evaluate.run(made, runs, path, around, stop=runner.Stop(), watcher=Clock(Lines(log, "box"), count, into))
    if runs.get().answered != count:
        raise SystemExit(f"the run stored {runs.get().answered} of {count} answers")
    runs.close()


def prepared(path: Path, count: int) -> Any:
    """A store with one run of `count` items and one sitting, nothing answered."""
    from twlocal.runs import Runs
    from twlocal.store import open_store

    db = open_store(path)
    connection = db.conn
    with db.atomic():
        connection.execute(
            "INSERT INTO runs (id, key, name, model, backend, bench, protocol, repeats, private, wish, manifest, "
            "created_at) "
            "VALUES (1,'k','n','m','b','x','p',1,0,'{}','{}','2026-01-01T00:00:00Z')"
        )
        connection.execute("INSERT INTO sittings VALUES (1,1,'2026','2026',NULL,NULL,'',1,'h','e','1','{}','{}')")
        connection.executemany(
            "INSERT INTO items VALUES (?,?,NULL,NULL,NULL,NULL,NULL)",
            ((f"{no:064}", f"{no:064}") for no in range(count)),
        )
        connection.executemany(
            "INSERT INTO run_items VALUES (1,?,?,'s',0,'','A')", ((no, f"{no:064}") for no in range(count))
        )
    return Runs(db, path)


def rows(found: Mapping[str, Figure]) -> list[list[str]]:
    """The lines of the table; ratios are to SQLite alone."""
    base = found[SQLITE]
    return [
        [
            name,
            _bench.number(figure.rate, 0),
            _bench.ratio(figure.rate, base.rate),
            _bench.number(1e6 * figure.wall / figure.rows, 0),
            _bench.number(1e6 * figure.cpu / figure.rows, 0),
        ]
        for name, figure in found.items()
    ]


def goals(found: Mapping[str, Figure]) -> list[str]:
    """Whether what is committed a second is at least GOAL of what SQLite alone commits, as lines."""
    lines = []
    for name in (ADD, RUN):
        share = found[name].rate / found[SQLITE].rate
        met = "met   " if share >= GOAL else "MISSED"
        lines.append(f"{met}  {name} ÷ {SQLITE}: {share:.2f} (goal: at least {GOAL:g})")
    return lines


def median(figures: Sequence[Figure]) -> Figure:
    """The median of each figure by itself."""
    return Figure(
        figures[0].rows, _bench.median(one.wall for one in figures), _bench.median(one.cpu for one in figures)
    )


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--rows", type=int, default=10000, help="responses (default: 10000)")
    made.add_argument("--repeats", type=int, default=5, help="how often each is run (default: 5)")
    made.add_argument("--folder", type=Path, help="where the databases are made (default: the system's temporary one)")
    made.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return made


def main() -> None:
    """Measure and print."""
    wish = parser().parse_args()
    sys.path.insert(0, str(PLUGINS))
    few = min(wish.rows, 1000)
    ways: dict[str, Callable[[Path, list[Figure]], None]] = {
        SQLITE: lambda path, into: sqlite_alone(path, wish.rows, BATCH, into),
        SINGLY: lambda path, into: sqlite_alone(path, few, 1, into),
        ADD: lambda path, into: twlocal_add(path, wish.rows, into),
        RUN: lambda path, into: whole_run(path, wish.rows, into),
    }
    figures: dict[str, list[Figure]] = {name: [] for name in ways}
    machine = _bench.machine()
    with tempfile.TemporaryDirectory(prefix="bench-store-", dir=wish.folder) as name:
        folder = Path(name)
        write_questions(folder / f"questions-{wish.rows}.csv", wish.rows)
        for number in range(wish.repeats):
            for way in turn(list(ways), number):
                path = folder / f"{number}-{list(ways).index(way)}.db"
                ways[way](path, figures[way])
                for leftover in folder.glob(f"{path.name}*"):
                    if leftover.is_file():
                        leftover.unlink()
    found = {name: median(seen) for name, seen in figures.items()}
    about = {
        **machine,
        "load average after": _bench.load(),
        "SQLite": sqlite3.sqlite_version,
        "twlocal": version("twlocal"),
    }
    if wish.json:
        print(json.dumps({"machine": about, "rows": rows(found), "goals": goals(found)}, ensure_ascii=False))
        return
    print("; ".join(f"{name}: {value}" for name, value in about.items()))
    print(f"median of {wish.repeats}, in turn; {wish.rows} responses of {len(TEXT)} characters, {BATCH} a commit\n")
    print(_bench.table(["", "rows/s", "÷ SQLite", "µs/row", "CPU µs/row"], rows(found)))
    print("\n".join(goals(found)))


if __name__ == "__main__":
    main()
