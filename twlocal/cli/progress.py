"""Progress on standard error: a tqdm bar on a terminal, a plain line every so often elsewhere."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Never, TextIO, cast

from twlocal.cli.common import columns
from twlocal.report.table import visible
from twlocal.score import Running

if TYPE_CHECKING:
    from tqdm import tqdm

    from twlocal.backend import Completion
    from twlocal.record import Record
    from twlocal.runs import RunRow

FIRST_LINE_SECONDS, LINE_SECONDS = 1.0, 15.0


class Progress:
    """Counts and tells. `stored` is called after each commit, so that what is shown is safe on disk."""

    def __init__(self, stream: TextIO, reader: str | None) -> None:
        self._stream = stream
        self._running = Running(reader) if reader else None  # None: these answers have no score
        self._done = self._total = self._failed = self._at_start = 0

    def started(self, run: RunRow, done: int, total: int) -> None:
        self._done = self._at_start = done
        self._total = total
        left = total - done
        if done and left:
            self.note(f"{run.name}: {done} of {total} answered before, {left} to go")
        elif left:
            self.note(f"{run.name}: {total} to answer")
        else:
            self.note(f"{run.name}: all {total} answered before")

    def stored(self, records: list[Record], failures: list[Completion]) -> None:
        if self._running is not None:
            for record in records:
                self._running.add(record)
        self._done += len(records)
        self._failed += len(failures)
        for failure in failures[:1]:
            self._first_failure(failure)
        self._show(len(records))

    def note(self, message: str) -> None:
        self._stream.write(visible(message) + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Take the bar away; called however the run ended."""

    def _first_failure(self, failure: Completion) -> None:
        if self._failed <= 3:
            self.note(f"no answer for item {failure.key.partition('.')[0]}: {failure.error}")

    def _show(self, more: int) -> None:
        """Tell of `more` answers stored; a quiet run tells nothing."""

    def _rates(self) -> str:
        failed = f", {self._failed} failed" if self._failed else ""
        if self._running is None or not self._running.n:
            return failed.removeprefix(", ")
        # Of this sitting's answers only, and so with their number: after going on, it is not the score of the run.
        right = f"{self._running.accuracy:.1%} of {self._running.n:,} right"
        return f"{right}, {self._running.box_rate:.1%} boxed{failed}"


class Bar(Progress):
    """A tqdm bar with the rate, the time left, running accuracy and box rate."""

    def __init__(self, stream: TextIO, reader: str | None) -> None:
        super().__init__(stream, reader)
        self._bar: tqdm[Never] | None = None

    def started(self, run: RunRow, done: int, total: int) -> None:
        from tqdm import tqdm

        super().started(run, done, total)
        if done < total:
            # ASCII where the console cannot draw blocks; smoothing low, for items differ a lot in length.
            ascii_only = (self._stream.encoding or "").lower().replace("-", "") not in ("utf8", "utf16")
            known = columns(self._stream) is not None  # a terminal that does not say would get no bar at all
            self._bar = tqdm(
                total=total,
                initial=done,
                unit="item",
                file=self._stream,
                ascii=ascii_only,
                smoothing=0.05,
                dynamic_ncols=known,
                ncols=None if known else 80,
                nrows=None if known else 24,
            )

    def note(self, message: str) -> None:
        if self._bar is None:
            super().note(message)
        else:
            self._bar.write(visible(message), file=self._stream)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _show(self, more: int) -> None:
        if self._bar is not None:
            self._bar.set_postfix_str(self._rates(), refresh=False)
            self._bar.update(more)


class Lines(Progress):
    """Plain lines, for a log: no carriage return, no colour; after a second, then ever more rarely, and at the end."""

    def __init__(self, stream: TextIO, reader: str | None) -> None:
        super().__init__(stream, reader)
        self._started_at = self._told_at = time.monotonic()
        self._pause = FIRST_LINE_SECONDS

    def _show(self, more: int) -> None:
        now = time.monotonic()
        if now - self._told_at < self._pause and self._done < self._total:
            return
        self._told_at = now
        self._pause = min(self._pause * 2, LINE_SECONDS)
        rate = (self._done - self._at_start) / max(now - self._started_at, 1e-9)
        left = f", {_duration((self._total - self._done) / rate)} left" if rate and self._done < self._total else ""
        rates = f", {rates}" if (rates := self._rates()) else ""
        self.note(f"{self._done}/{self._total} answered, {rate:.2f} items/s{left}{rates}")


class Silent(Progress):
    """Nothing but notes that matter: failures and waits."""

    def started(self, run: RunRow, done: int, total: int) -> None:
        return


def watcher(stream: TextIO, reader: str | None, *, quiet: bool) -> Progress:
    """The kind of progress that fits the stream it is written to. Losing that stream does not stop the work."""
    patient = cast("TextIO", _Patient(stream))
    if quiet:
        return Silent(patient, reader)
    return Bar(patient, reader) if stream.isatty() else Lines(patient, reader)


class _Patient:
    """A stream whose reader may go away (`2>&1 | head`, a closed terminal): what it cannot say it leaves out."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
