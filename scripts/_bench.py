"""What benchmark scripts share: a command measured from outside, the machine in one line, tables and ratios."""

from __future__ import annotations

import os
import platform
import signal
import statistics
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.02


@dataclass(frozen=True)
class Command:
    """A command to measure: its words, its folder, its whole environment."""

    words: Sequence[str]
    folder: Path
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Measured:
    """One command seen from outside.

    started: `time.monotonic()` just before it was started. wall, cpu: seconds (user and system, with all children that
    it waited for). peak_mb: 10⁶ bytes, the most that the whole process tree held at once where /proc tells (Linux),
    else that its largest process did. killed: it ran past the time allowed. output: the end of what it printed.
    """

    started: float
    wall: float
    cpu: float
    peak_mb: float
    code: int
    output: str
    killed: bool = False


def measure(command: Command, *, timeout: float, log: Path) -> Measured:
    """Run a command to its end, killing it (and its children) after `timeout` seconds. Its output goes to `log`."""
    with log.open("wb") as output:
        started = time.monotonic()
        process = subprocess.Popen(
            command.words,
            cwd=command.folder,
            env=dict(command.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # its own process group, so that it can be killed whole
        )
        watch = _TreeMemory(process.pid)
        killer = threading.Timer(timeout, _kill_group, [process.pid])
        killer.start()
        watch.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            _kill_group(process.pid)
            raise
        finally:
            wall = time.monotonic() - started
            killer.cancel()
            watch.stop()
        process.returncode = os.waitstatus_to_exitcode(status)
    largest = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Measured(
        started=started,
        wall=wall,
        cpu=usage.ru_utime + usage.ru_stime,
        peak_mb=max(largest, watch.peak) / 1e6,
        code=process.returncode,
        output=log.read_bytes()[-4000:].decode("utf-8", "replace"),
        killed=wall >= timeout and process.returncode < 0,
    )


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


class _TreeMemory(threading.Thread):
    """Looks at a process and its descendants every SAMPLE_SECONDS; `peak` is the most bytes resident at once.

    Pages that two processes share count twice; the tools measured here are one process each, but for helpers that live
    for a moment.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self._over = pid, threading.Event()
        self._page = os.sysconf("SC_PAGE_SIZE")
        self.peak = 0

    def run(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            self.peak = max(self.peak, self._resident(self._pid))

    def stop(self) -> None:
        self._over.set()
        self.join()

    def _resident(self, pid: int) -> int:
        try:
            own = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * self._page
            children = [
                child
                for task in Path(f"/proc/{pid}/task").iterdir()
                for child in (task / "children").read_text(encoding="ascii").split()
            ]
        except (OSError, IndexError):  # it has ended, or this is no Linux
            return 0
        return own + sum(self._resident(int(child)) for child in children)


def machine() -> dict[str, str]:
    """What the figures were taken on; the load average says what else was going on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": _processor(),
        "cores": str(cores),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "load average": load(),
    }


def load() -> str:
    """The load averages of 1, 5 and 15 minutes."""
    return " ".join(f"{value:.1f}" for value in os.getloadavg())


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def median(values: Iterable[float]) -> float:
    """The middle value, or the mean of the two in the middle."""
    return statistics.median(values)


def ratio(value: float | None, base: float | None) -> str:
    """`value ÷ base` as text, and a dash where either is missing or the base is 0."""
    return "–" if value is None or not base else f"{value / base:.2f}"


def number(value: float | None, digits: int = 2) -> str:
    """A number as text, and a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns in line: the first to the left, the others to the right. Wide (Chinese) letters count as two."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(_columns(line[at]) for line in lines) for at in range(len(head))]
    return "\n".join(
        "  ".join(
            text + pad if at == 0 else pad + text
            for at, text in enumerate(line)
            for pad in (" " * (widths[at] - _columns(text)),)
        ).rstrip()
        for line in lines
    )


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
