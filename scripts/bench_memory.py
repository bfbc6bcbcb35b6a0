"""Memory of a run over the whole corpus: what the process holds while 253,674 questions are planned and answered.

    python scripts/bench_memory.py
    python scripts/bench_memory.py --items 20000

The questions are those of `bench_load.py`, about 150 Chinese characters each; the engine is the scripted one of the
tests, which answers at once and holds nothing, so that what is seen is twlocal's own. Resident memory is read at each
step (10⁶ bytes); `peak` is the most until then. The process must be one that has twlocal. Linux only.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import _bench

HERE = Path(__file__).parent
ITEMS = 253_674
GOAL = 300  # MB at most
FLAT = 1.1  # times what it holds once a tenth is answered, at most, when all are
_WRITE = "import sys; from pathlib import Path; import bench_load; bench_load.write_questions(Path(sys.argv[1]), {})"


def now() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


class Steps:
    """A run's watcher that notes the memory at each tenth of the answers."""

    def __init__(self, progress: Any, items: int) -> None:
        self._progress, self._items, self._done = progress, items, 0
        self.seen: list[tuple[str, float, float]] = []

    def note_memory(self, step: str) -> None:
        """Note what is held now, and at most so far."""
        self.seen.append((step, now(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6))

    def started(self, *given: Any) -> None:
        self._progress.started(*given)
        self.note_memory("plan written")

    def stored(self, records: Sequence[Any], failures: Sequence[Any]) -> None:
        self._progress.stored(records, failures)
        before, self._done = self._done, self._done + len(records)
        tenth = 10 * self._done // self._items
        if tenth > 10 * before // self._items:
            self.note_memory(f"{tenth}0% answered")

    def note(self, message: str) -> None:
        self._progress.note(message)


def run(folder: Path, items: int) -> list[tuple[str, float, float]]:
    """A whole run in this process; (step, MB held, most MB so far) for each step."""
    from twlocal import evaluate, runner
    from twlocal.cli.progress import Lines
    from twlocal.plan import Wish
    from twlocal.runs import Runs
    from twlocal.store import open_store

    path, model = folder / "runs.db", folder / "model.gguf"
    model.write_bytes(b"the scripted backend does not read it")
    runs = Runs(open_store(path), path)
    with (folder / "progress.log").open("w", encoding="utf-8") as log:
        steps = Steps(Lines(log, "box"), items)
        steps.note_memory("begun")
        around = evaluate.Surroundings()
        wish = Wish(str(model), str(folder / "questions.csv"), "box", backend="scripted")
        made = evaluate.prepare(wish, runs, around)
        steps.note_memory("questions read, run planned")
        evaluate.run(made, runs, path, around, stop=runner.Stop(), watcher=steps)
    if runs.get().answered != items:
        raise SystemExit(f"the run stored {runs.get().answered} of {items} answers")
    runs.close()
    return steps.seen


def goals(seen: Sequence[tuple[str, float, float]]) -> list[str]:
    """Whether the most held is little enough, and whether it stays what it was at the first tenth, as lines."""
    held = {step: memory for step, memory, _ in seen}
    peak, growth = seen[-1][2], held["100% answered"] / held["10% answered"]
    return [
        f"{'met   ' if peak <= GOAL else 'MISSED'}  peak: {peak:.0f} MB (goal: at most {GOAL} MB)",
        f"{'met   ' if growth <= FLAT else 'MISSED'}  all ÷ a tenth answered: {growth:.2f} (goal: at most {FLAT:g})",
    ]


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--items", type=int, default=ITEMS, help=f"questions of the run (default: {ITEMS})")
    made.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return made


def main() -> None:
    """Measure and print."""
    wish = parser().parse_args()
    sys.path.insert(0, str(HERE.parent / "tests" / "plugins"))
    with tempfile.TemporaryDirectory(prefix="bench-memory-") as name:
        folder = Path(name)
        # Apart, so that what writing takes is not in this process's peak.
        words = [sys.executable, "-c", _WRITE.format(wish.items), str(folder / "questions.csv")]
        subprocess.run(words, cwd=HERE, check=True)
        seen = run(folder, wish.items)
    rows = [[step, _bench.number(memory, 0), _bench.number(most, 0)] for step, memory, most in seen]
    about = {**_bench.machine(), "twlocal": version("twlocal")}
    if wish.json:
        print(
            json.dumps({"machine": about, "items": wish.items, "rows": rows, "goals": goals(seen)}, ensure_ascii=False)
        )
        return
    print("; ".join(f"{name}: {value}" for name, value in about.items()))
    print(f"{wish.items} questions\n")
    print(_bench.table(["", "MB", "peak"], rows))
    print("\n".join(goals(seen)))


if __name__ == "__main__":
    main()
