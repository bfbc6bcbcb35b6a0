"""How long it takes to build a board, to build it again, and to check it.

    python scripts/bench_board.py
    python scripts/bench_board.py --models 50 --exam 2000 --results    # from files in the exchange format

Made-up results of `--models` models on two benches of the real ones' sizes (22,021 questions in 148 subjects, and
1,696) are put into a database, which is not timed. Then, each as a whole command: `board build` into an empty folder;
the same again, with nothing changed; once more with one more model; and `board check`. With --results the results lie
in files as public runners leave them, and `--from` reads them: every build parses every row then. The process must be
one that has twlocal with the extra `board`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sqlite3
import sys
import tempfile
from pathlib import Path

import _bench

GOAL = 20.0  # seconds for 200 models
SUBJECTS = {"exam": 148, "formosa": 12}
_NAMES = ("google/gemma-3-27b-it", "openai/gpt-oss-120b", "twinkle-ai/gemma-3-4B-T1-it", "Qwen/Qwen3-8B")


def name_of(number: int) -> str:
    """A few real names, so that the registry knows something, and made-up ones."""
    return _NAMES[number] if number < len(_NAMES) else f"org{number % 17}/model-{number:03d}"


def items(bench: str, count: int) -> list[tuple[str, str, str]]:
    """Made-up items: content hash, stem hash, subject."""
    return [
        (
            hashlib.sha256(f"{bench} item {number}".encode()).hexdigest(),
            hashlib.sha256(f"{bench} stem {number if number % 40 else 0}".encode()).hexdigest()[:16],
            f"{bench}-subject-{number % SUBJECTS[bench]:03d}",
        )
        for number in range(count)
    ]


def database(path: Path, models: int, sizes: dict[str, int]) -> None:
    """Imported results of all models, made by SQLite itself in a tenth of the time that an import takes."""
    from twlocal.store import open_store

    open_store(path).close()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TEMP TABLE made (bench TEXT, at INTEGER, ch TEXT, qh TEXT, subject TEXT)")
    for bench, count in sizes.items():
        rows = ((bench, at, *row) for at, row in enumerate(items(bench, count)))
        connection.executemany("INSERT INTO made VALUES (?,?,?,?,?)", rows)
    connection.commit()
    for model in range(models):
        add(connection, model, sizes)
    connection.close()


def add(connection: sqlite3.Connection, model: int, sizes: dict[str, int]) -> None:
    """One model's results on every bench."""
    skill = 25 + (model * 37) % 70
    for bench in sizes:
        told = {"engine": "vllm", "engine_version": "0.13", "date": f"2026-{9 + model % 3:02d}-01"}
        provenance = {"provenance": {bench: told}}
        result = connection.execute(
            "INSERT INTO imported_results (name, kind, source, model, bench, protocol, complete, quantised, marks, "
            "provenance, checksum, imported_at) VALUES (?, 'runner', 'made', ?, ?, 'box', 1, 0, '[]', ?, ?, '')",
            [f"{model}-{bench}", name_of(model), bench, json.dumps(provenance), f"{model} {bench}"],
        ).lastrowid
        # right, a box that is read, something that is read leniently: each by its own share of chance
        # MATERIALIZED: else SQLite would roll the dice again wherever the same fact is named.
        connection.execute(
            f"""WITH box AS MATERIALIZED
                  (SELECT *, abs(random()) % 100 < {70 + model % 30} AS boxp FROM made WHERE bench=?),
                  read AS MATERIALIZED (SELECT *, boxp OR abs(random()) % 100 < 60 AS lenp FROM box),
                  marked AS MATERIALIZED (SELECT *, lenp AND abs(random()) % 100 < {skill} AS ok FROM read)
                INSERT INTO imported_rows SELECT ?, at, 0, subject, qh, ch, ok, boxp, lenp, ok AND boxp, ok, boxp, boxp,
                  lenp, 0, NULL FROM marked""",
            [bench, result],
        )
    connection.commit()


def results(folder: Path, first: int, models: int, sizes: dict[str, int]) -> None:
    """Results in the exchange format, as files."""
    made = {bench: items(bench, count) for bench, count in sizes.items()}
    for model in range(first, models):
        chance = random.Random(model)
        place = folder / name_of(model).replace("/", "_")
        place.mkdir(parents=True)
        for bench, rows in made.items():
            with (place / f"{bench}.jsonl").open("w", encoding="utf-8") as file:
                for ch, qh, _ in rows:
                    boxp = chance.random() < 0.9
                    ok = boxp and chance.random() < (25 + (model * 37) % 70) / 100
                    file.write(json.dumps({"qh": qh, "ok": ok, "boxp": boxp, "lenp": boxp, "ch": ch}) + "\n")
        (place / ".done").write_text("", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--exam", type=int, default=22_021, help="rows of the exam bench")
    parser.add_argument("--formosa", type=int, default=1_696, help="rows of the formosa bench")
    parser.add_argument("--results", action="store_true", help="from files in the exchange format, by --from")
    parser.add_argument("--folder", type=Path, help="where to work (a new folder in it, removed afterwards)")
    options = parser.parse_args()
    sizes = {"exam": options.exam, "formosa": options.formosa}
    print("\n".join(f"{name}: {value}" for name, value in _bench.machine().items()))
    print(f"{options.models} models, {sum(sizes.values()) * options.models:,} rows\n")
    with tempfile.TemporaryDirectory(prefix="bench-board-", dir=options.folder) as made:
        folder = Path(made)
        source = ["--from", "results"] if options.results else ["--db", "board.db"]
        if options.results:
            results(folder / "results", 0, options.models, sizes)
        else:
            database(folder / "board.db", options.models, sizes)
        rows = []

        def timed(what: str, *words: str) -> None:
            command = _bench.Command([sys.executable, "-m", "twlocal", "board", *words], folder, dict(os.environ))
            found = _bench.measure(command, timeout=1800, log=folder / "log")
            if found.code:
                raise SystemExit(found.output)
            rows.append([what, f"{found.wall:.1f}", f"{found.cpu:.1f}", f"{found.peak_mb:.0f}"])
            print(found.output.strip())

        timed("build", "build", "site", *source)
        timed("build, nothing changed", "build", "site", *source)
        if options.results:
            results(folder / "results", options.models, options.models + 1, sizes)
        else:
            connection = sqlite3.connect(folder / "board.db")
            connection.execute("CREATE TEMP TABLE made (bench TEXT, at INTEGER, ch TEXT, qh TEXT, subject TEXT)")
            for bench, count in sizes.items():
                lines = ((bench, at, *row) for at, row in enumerate(items(bench, count)))
                connection.executemany("INSERT INTO made VALUES (?,?,?,?,?)", lines)
            add(connection, options.models, sizes)
            connection.close()
        timed("build, one model more", "build", "site", *source)
        timed("check", "check", "site")
        size = sum(path.stat().st_size for path in (folder / "site").rglob("*") if path.is_file())
    print("\n" + _bench.table(["what", "wall s", "CPU s", "peak MB"], rows))
    print(f"site: {size / 1e6:.0f} MB; goal: build in {GOAL:.0f} s at 200 models")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
