"""A run as it is being worked on, seen from another process: counts, speed, running score, alarms, last answers.

Only answers that came since the last look are read, so that watching a run of 22,000 items costs no more than a short
one. Reads the store and nothing else.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime

from twlocal.alarms import Alarm, Evidence, find
from twlocal.judge import judge
from twlocal.runs import RunRow, Runs
from twlocal.tally import Counts, Tally

# Answers whose times make the speed, and how many of the last ones are shown.
_TIMED = 200
LAST = 5
RUNNING, COMPLETE, STOPPED = "running", "complete", "stopped"


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the last answers. letter: what was read of it, "" for nothing. text: the response, whole."""

    no: int
    subject: str
    letter: str
    right: bool
    text: str


@dataclass(frozen=True)
class Seen:
    """A run at one look.

    state: running, complete, or stopped (neither). done, of: answers stored and planned; failed: rows without one.
    rate: answers a second of late, None before there are two. left: seconds to the end at that rate. tally: of the
    answers so far, under the protocol's reader. last: the newest first.
    """

    run: RunRow
    state: str
    done: int
    of: int
    failed: int
    rate: float | None
    left: float | None
    tally: Tally
    alarms: tuple[Alarm, ...]
    last: tuple[Answer, ...]


class Watched:
    """A run being watched."""

    def __init__(self, runs: Runs, run: RunRow) -> None:
        self._runs, self._run = runs, run
        self._reader = run.manifest["protocol"]["reader"]
        self._decoding = run.manifest["decoding"]
        self._planned = runs.planned(run.id)
        self._counts = {name: Counts() for name in self._planned}
        self._evidence = Evidence()
        self._times: deque[datetime] = deque(maxlen=_TIMED)
        self._last: deque[Answer] = deque(maxlen=LAST)
        self._place = 0

    def look(self, *, busy: bool, now: datetime) -> Seen:
        """Read what came since the last look. busy: whether a process works on the run."""
        for place, at, record in self._runs.newer(self._run.id, self._place):
            judged = judge(record, self._reader)
            self._counts[record.subject].add(record, judged)
            self._evidence.add(record, judged)
            self._times.append(datetime.fromisoformat(at))
            letter = judged.box.letter or ""
            self._last.appendleft(Answer(record.no, record.subject, letter, judged.correct, record.text))
            self._place = place
        repeats = self._run.repeats
        subjects = {name: self._counts[name].tally(count * repeats) for name, count in self._planned.items()}
        tally = sum(subjects.values(), Tally())
        decoding = self._decoding
        alarms = find(
            self._evidence,
            tally,
            subjects,
            max_tokens=decoding["max_tokens"],
            temperature=decoding["temperature"],
        )
        state = COMPLETE if tally.complete else RUNNING if busy else STOPPED
        rate = self._rate(now) if state == RUNNING else None
        left = (tally.planned - tally.n) / rate if rate else None
        failed = sum(self._runs.failures(self._run.id).values())
        return Seen(self._run, state, tally.n, tally.planned, failed, rate, left, tally, alarms, tuple(self._last))

    def _rate(self, now: datetime) -> float | None:
        """Answers a second: of the last ones in this sitting, up to now, so that a standstill shows."""
        sittings = self._runs.sittings(self._run.id)
        begun = datetime.fromisoformat(sittings[-1].started_at) if sittings else None
        times = [at for at in self._times if begun is None or at >= begun]
        if not times or begun is None:
            return None
        whole = len(times) < _TIMED
        first = begun if whole else times[0]
        span = (now.astimezone(UTC) - first).total_seconds()
        return (len(times) - (0 if whole else 1)) / span if span > 0 else None
