"""Reading a quarter of a million questions: twlocal beside pandas and datasets, each in a process of its own.

    python scripts/bench_load.py                                255,854 rows, three times over
    python scripts/bench_load.py --rows 20000 --repeats 1
    python scripts/bench_load.py --python PYTHON                one that has twlocal, pyarrow, pandas and datasets

twlocal reads, validates, hashes, looks for oddities, fingerprints, draws the sample of 150 a subject and numbers the
whole as a plan; the others only read, all columns as text: pandas into a DataFrame, `rows` further into Python
objects, which whoever asks a question needs, datasets into its cache of Arrow files. `work` leaves the imports
out; `CPU` is the whole process. All take turns; the figures are medians.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import _bench
from _peers import Unavailable, environment, install_checkout, installed_version
from bench_http import turn

ROWS = 255_854
SUBJECTS = 1_500
NAMES = ("id", "subject", "question", "A", "B", "C", "D", "answer")
OURS = "twlocal"
_OURS = """
from twlocal import dataset, plan, sample
begin()
loaded = dataset.load(sys.argv[1])
loaded.fingerprint
sample.draw(loaded.items, 150)
plan.plan_order(loaded.items)
end(len(loaded.items))
"""
_WAYS = {
    "csv": {
        OURS: _OURS,
        "pandas": """
import pandas
begin()
read = pandas.read_csv(sys.argv[1], dtype=str, keep_default_na=False)
end(len(read))
""",
        "pandas, rows": """
import pandas
begin()
read = pandas.read_csv(sys.argv[1], dtype=str, keep_default_na=False).to_dict("records")
end(len(read))
""",
        "csv module": """
import csv
begin()
with open(sys.argv[1], encoding="utf-8", newline="") as file:
    read = list(csv.reader(file))
end(len(read) - 1)
""",
        "datasets": """
import datasets
begin()
read = datasets.load_dataset("csv", data_files=sys.argv[1], cache_dir=sys.argv[2], split="train",
                             features=datasets.Features({name: datasets.Value("string") for name in NAMES}))
end(len(read))
""",
    },
    "parquet": {
        OURS: "from pyarrow import parquet" + _OURS,
        "pandas": """
import pandas
begin()
read = pandas.read_parquet(sys.argv[1])
end(len(read))
""",
        "pyarrow, rows": """
from pyarrow import parquet
begin()
read = parquet.read_table(sys.argv[1]).to_pylist()
end(len(read))
""",
        "datasets": """
import datasets
begin()
read = datasets.load_dataset("parquet", data_files=sys.argv[1], cache_dir=sys.argv[2], split="train")
end(len(read))
""",
    },
}
_TIMES = f"""
import sys, time
NAMES = {NAMES!r}
def begin():
    global wall, cpu
    wall, cpu = time.perf_counter(), time.process_time()
def end(rows):
    print("\\nFIGURES", rows, time.perf_counter() - wall, time.process_time() - cpu)
"""
_TO_PARQUET = """
import csv, sys
import pyarrow
from pyarrow import parquet
with open(sys.argv[1], encoding="utf-8", newline="") as file:
    names, *rows = csv.reader(file)
parquet.write_table(pyarrow.table({name: [row[at] for row in rows] for at, name in enumerate(names)}), sys.argv[2])
"""


@dataclass(frozen=True)
class Figure:
    """work, work_cpu: seconds and CPU seconds of the reading alone. wall, cpu, peak_mb: of the whole process."""

    work: float
    work_cpu: float
    wall: float
    cpu: float
    peak_mb: float


def write_questions(path: Path, count: int) -> None:
    """A CSV of `count` questions of about 150 Chinese characters each, always the same ones."""
    chance = random.Random(1)
    letters = [chr(point) for point in range(0x4E00, 0x4E00 + 3000)]

    def text(least: int, most: int) -> str:
        return "".join(chance.choices(letters, k=chance.randint(least, most)))

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(NAMES)
        for n in range(count):
            options = [text(3, 20) for _ in range(4)]
            stem = f"下列關於{text(20, 80)}的敘述，何者正確？"
            writer.writerow((n, f"科目{n % SUBJECTS}", stem, *options, "ABCD"[n % 4]))


def measure(python: str, code: str, file: Path, rows: int, folder: Path) -> Figure:
    """One reading in a process of its own. Raises Unavailable where it fails or reads another number of rows."""
    with tempfile.TemporaryDirectory(prefix="cache-", dir=folder) as cache:
        ours = {name: value for name, value in environment().items() if not name.startswith("PYTHON")}
        words = [python, "-c", _TIMES + code, str(file), cache]
        command = _bench.Command(words, folder, {**ours, "PYTHONUTF8": "1"})
        seen = _bench.measure(command, timeout=600, log=folder / "output.log")
    told = figures(seen.output)
    if seen.code != 0 or told is None:
        raise Unavailable((seen.output.strip().splitlines() or ["no reason given"])[-1])
    if told[0] != rows:
        raise Unavailable(f"it read {told[0]} rows of {rows}")
    return Figure(told[1], told[2], seen.wall, seen.cpu, seen.peak_mb)


def figures(output: str) -> tuple[int, float, float] | None:
    """Rows, seconds and CPU seconds out of what a reading printed, or None."""
    line = next((line for line in reversed(output.splitlines()) if line.startswith("FIGURES ")), "")
    parts = line.split()
    return (int(parts[1]), float(parts[2]), float(parts[3])) if len(parts) == 4 else None


def medians(seen: Sequence[Figure]) -> Figure:
    """The median of each figure by itself."""
    return Figure(
        *(_bench.median(getattr(one, name) for one in seen) for name in ("work", "work_cpu", "wall", "cpu", "peak_mb"))
    )


def rows(found: Mapping[str, Figure]) -> list[list[str]]:
    """The lines of a table; ratios are of twlocal's CPU time to the tool's (above 1: twlocal is slower)."""
    ours = found.get(OURS)
    return [
        [
            name,
            _bench.number(figure.work),
            _bench.number(figure.work_cpu),
            _bench.ratio(ours.work_cpu if ours else None, figure.work_cpu),
            _bench.number(figure.cpu),
            _bench.ratio(ours.cpu if ours else None, figure.cpu),
            _bench.number(figure.peak_mb, 0),
        ]
        for name, figure in found.items()
    ]


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    made.add_argument("--rows", type=int, default=ROWS, help=f"questions in the files (default: {ROWS})")
    made.add_argument("--repeats", type=int, default=3, help="how often each is run (default: 3)")
    made.add_argument("--formats", nargs="+", choices=list(_WAYS), default=list(_WAYS), help="default: both")
    made.add_argument("--peers-dir", type=Path, default=cache / "twlocal-bench-peers", help="for the installation")
    made.add_argument("--python", help="one that has everything (default: an environment is made)")
    made.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return made


def main() -> None:
    """Make the files, measure, print."""
    wish = parser().parse_args()
    try:
        python = (
            str(Path(wish.python).absolute())
            if wish.python
            else install_checkout(wish.peers_dir, "readers", ["pyarrow", "pandas", "datasets"])
        )
    except Unavailable as error:
        raise SystemExit(f"{error}\n(--python names one that has everything already)") from error
    machine, out = _bench.machine(), {}
    seen: dict[str, dict[str, list[Figure]]] = {form: {name: [] for name in _WAYS[form]} for form in wish.formats}
    with tempfile.TemporaryDirectory(prefix="bench-load-") as made:
        folder = Path(made)
        write_questions(folder / "questions.csv", wish.rows)
        convert = [python, "-c", _TO_PARQUET, str(folder / "questions.csv"), str(folder / "questions.parquet")]
        subprocess.run(convert, check=True)
        for number in range(wish.repeats):
            for form in wish.formats:
                for name in turn(list(_WAYS[form]), number):
                    if (form, name) in out:
                        continue
                    try:
                        file = folder / f"questions.{form}"
                        seen[form][name].append(measure(python, _WAYS[form][name], file, wish.rows, folder))
                    except Unavailable as error:
                        out[form, name] = f"{form}, {name}: {error}"
    tables = {form: rows({name: medians(each) for name, each in found.items() if each}) for form, found in seen.items()}
    versions = {name: str(installed_version(python, name)) for name in ("twlocal", "pandas", "pyarrow", "datasets")}
    about = {**machine, "load average after": _bench.load(), **versions}
    if wish.json:
        print(json.dumps({"machine": about, "tables": tables, "left_out": list(out.values())}, ensure_ascii=False))
        return
    print("; ".join(f"{name}: {value}" for name, value in about.items()))
    print(f"median of {wish.repeats}, in turn; {wish.rows} questions")
    for form, table in tables.items():
        head = [form, "work s", "work CPU s", "twlocal ÷ it", "CPU s", "twlocal ÷ it", "MB"]
        print(f"\n{_bench.table(head, table)}")
    for line in out.values():
        print(f"\nnot measured: {line}")


if __name__ == "__main__":
    main()
