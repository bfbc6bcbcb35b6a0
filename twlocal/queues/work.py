"""Working a queue off: fetch, start, wait, store what came of it, stop.

Items of one model on one engine share a *lane*: they run one after another, and its weights are fetched once, before
its first item. Lanes on graphics cards run side by side as far as the cards go, any other lane alone. One fetch is
under way at a time, also while something runs, as long as the disk has room for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Protocol

from twlocal import hub_models
from twlocal.errors import StoreError
from twlocal.hardware import Gpu
from twlocal.placing import DISK_RESERVE, Placed
from twlocal.plan import Wish
from twlocal.queues import cards, weights
from twlocal.queues.forecast import Forecast
from twlocal.queues.reason import Reason
from twlocal.queues.state import FAILED, FETCHING, OK, RUNNING, SKIPPED, WAITING, Queues
from twlocal.queues.words import words as words_of

TICK_SECONDS = 0.2
# Between the two signals that end an item at once: the first one must have been heard.
_PRESS_SECONDS = 0.5
_LAST_WORDS = 6000
# How often it is written down how far a fetch is.
_FETCH_SECONDS = 3.0
# How long an item whose queue was killed may still be storing what it has in flight.
_ORPHAN_SECONDS = 20.0
DONE, INTERRUPTED = "done", "interrupted"


class Screen(Protocol):
    """Where a queue tells what it does."""

    def note(self, line: str) -> None:
        """A line that stays."""
        ...

    def tick(self) -> None:
        """Called several times a second while the queue waits."""
        ...


class Stop:
    """Asks a queue to stop: once, after what is running; twice, at once."""

    def __init__(self) -> None:
        self.pressed = 0

    def press(self) -> None:
        self.pressed += 1


@dataclass
class Lane:
    """The items of one model on one engine, in order. size: cards that it takes, 0: the machine to itself."""

    placed: Placed
    items: list[Forecast]
    size: int
    fetched: bool
    cards: tuple[Gpu, ...] = ()
    running: Child | None = None
    at: int = 0

    @property
    def left(self) -> bool:
        return self.at < len(self.items)


@dataclass
class Child:
    """A process of the queue and what it says."""

    process: subprocess.Popen[bytes]
    said: IO[bytes]
    item: Forecast | None = None
    closed: bool = field(default=False)

    def end_at_once(self, *, then: Callable[[float], None] = time.sleep) -> None:
        """Two interrupts: what was stored stays, and nothing is waited for."""
        for _ in range(2):
            if self.process.poll() is None:
                with contextlib.suppress(OSError):
                    self.process.send_signal(signal.SIGINT)
                then(_PRESS_SECONDS)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def last_words(self) -> str:
        """The end of what it wrote to standard error."""
        self.said.seek(0, os.SEEK_END)
        self.said.seek(max(0, self.said.tell() - _LAST_WORDS))
        return self.said.read().decode("utf-8", "replace")

    def close(self) -> None:
        """Give its pipe and file back."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.said.close()


@dataclass(frozen=True)
class Surroundings:
    """The database, whether a call's run is being worked on right now, the clock, and how a process is started."""

    database: Path
    environ: Mapping[str, str]
    busy: Callable[[Wish], bool]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    command: Sequence[str] = (sys.executable, "-m", "twlocal.queues.child")


class Work:
    """One queue being worked off."""

    def __init__(
        self,
        queue_id: int,
        forecasts: Iterable[Forecast],
        queues: Queues,
        around: Surroundings,
        *,
        screen: Screen,
        stop: Stop,
        reclaim: bool = False,
        lang: str = "en",
    ) -> None:
        self._lang = lang
        self._id, self._queues, self._around = queue_id, queues, around
        self._screen, self._stop, self._reclaim = screen, stop, reclaim
        self._fetching: tuple[Lane, Child] | None = None
        self._told_fetch = 0.0
        ended = {item.no for item in queues.items(queue_id) if item.state == OK}
        todo = [one for one in forecasts if one.entry.no not in ended]
        for one in todo:
            if one.placed is None:
                why = one.skip.stored() if one.skip else ""
                self._change(one, state=SKIPPED, reason=why, ended_at=self._now())
        self._lanes = _lanes(one for one in todo if one.placed is not None)
        self._machine = next((lane.placed.machine for lane in self._lanes if lane.placed.machine), None)
        self._file = _file_of(around.database)

    def run(self) -> str:
        """Work until nothing is left, or until stopped; returns DONE or INTERRUPTED."""
        try:
            while not self._over():
                self._reap()
                if self._stop.pressed > 1:
                    break
                if not self._stop.pressed:
                    self._fetch_next()
                    self._start_what_fits()
                elif self._fetching is not None:
                    self._end_fetch()  # it goes on from where it is the next time
                self._tell_fetch()
                self._screen.tick()
                time.sleep(TICK_SECONDS)
        finally:
            self._end_all()
        outcome = INTERRUPTED if any(lane.left for lane in self._lanes) else DONE
        self._queues.end(self._id, outcome, at=self._now())
        return outcome

    def _over(self) -> bool:
        if any(lane.running for lane in self._lanes):
            return False
        return bool(self._stop.pressed and self._fetching is None) or not any(lane.left for lane in self._lanes)

    # ── starting ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _fetch_next(self) -> None:
        """Begin the next fetch, if none is under way and the disk has room for it beside what is there."""
        if self._fetching is not None:
            return
        lane = next((lane for lane in self._lanes if lane.left and not lane.fetched), None)
        if lane is None or lane.placed.repository is None:
            return
        held = lane.placed.repository
        missing = hub_models.absent(held, lane.placed.names)
        if not missing:
            lane.fetched = True
            return
        size, free = held.bytes_of(missing), hub_models.free_bytes()
        busy = any(other.running or (other.left and other.fetched) for other in self._lanes)
        if busy and size is not None and free is not None and size + DISK_RESERVE > free:
            return  # what runs now may give its room back; where nothing runs, the fetch says what is missing
        self._queues.will_fetch(self._id, held.name, held.commit, missing, at=self._now())
        first = lane.items[lane.at]
        self._change(first, state=FETCHING, engine=lane.placed.backend, begun_at=self._now())
        key = "fetches_of" if size else "fetches"
        self._note(key, model=first.entry.model, repository=held.name, size=_gib(size))
        words = ["fetch", lane.placed.backend, *first.entry.words]
        self._fetching = (lane, self._spawn(words, {}, first))

    def _tell_fetch(self) -> None:
        """Write down how far the fetch is, for whoever watches."""
        if self._fetching is None or time.monotonic() - self._told_fetch < _FETCH_SECONDS:
            return
        self._told_fetch = time.monotonic()
        lane = self._fetching[0]
        held, names = lane.placed.repository, lane.placed.names
        if held is not None:
            told = f"{_gib(hub_models.here_bytes(held, names))} / {_gib(held.bytes_of(names))}"
            self._change(lane.items[lane.at], reason=told)

    def _start_what_fits(self) -> None:
        """Start lanes in order; the first that has its weights and no room keeps those behind it waiting."""
        for lane in self._lanes:
            if not lane.left or lane.running or not lane.fetched:
                continue
            if not lane.cards and not self._room(lane):
                return
            self._start(lane)

    def _room(self, lane: Lane) -> bool:
        """Whether the lane can start now; it then has its cards."""
        others = [other for other in self._lanes if other is not lane and other.running]
        if not lane.size:
            return not others
        if any(not other.size for other in others) or self._machine is None:
            return False
        taken = {gpu.index for other in self._lanes for gpu in other.cards}
        free = [gpu for gpu in self._machine.gpus if gpu.index not in taken]
        lane.cards = cards.assign(lane.placed, lane.size, free)
        return bool(lane.cards)

    def _start(self, lane: Lane) -> None:
        one = lane.items[lane.at]
        self._wait_for_orphan(one)
        # The process of an item would make a new file of that name, and this queue call its answers stored.
        if _file_of(self._around.database) != self._file:
            raise StoreError(
                f"{self._around.database} was taken away or replaced while the queue ran",
                hint="put it back, and the same command goes on",
            )
        seen = cards.visible(lane.cards)
        environ = {"CUDA_VISIBLE_DEVICES": seen, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"} if seen else {}
        words = [*one.entry.words, "--db", str(self._around.database.absolute()), "--json", "--quiet"]
        try:
            lane.running = self._spawn(words, environ, one)
        except OSError as error:  # no memory for it, too many processes, a setting too long for a command line
            lane.at += 1
            self._finish(one, FAILED, _why("not_begun", problem=str(error.strerror)))
            if not lane.left:
                lane.cards = ()
                self._give_back(lane)
            return
        self._change(
            one,
            state=RUNNING,
            engine=lane.placed.backend,
            cards=seen,
            pid=lane.running.process.pid,
            planned=one.answers,
            begun_at=self._now(),
            ended_at=None,
            reason="",
        )
        on = lane.placed.backend
        if seen:
            on = words_of(self._lang)["begun_on_cards"].format(engine=on, cards=seen)
        self._note("begun", **_named(one), on=on)

    def _wait_for_orphan(self, one: Forecast) -> None:
        """Where an item of a queue that was killed is still storing its last answers: let it end."""
        end = time.monotonic() + _ORPHAN_SECONDS
        while self._around.busy(one.wish) and time.monotonic() < end and not self._stop.pressed:
            self._screen.tick()
            time.sleep(TICK_SECONDS)

    def _spawn(self, words: Sequence[str], environ: Mapping[str, str], item: Forecast) -> Child:
        said = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        try:
            process = subprocess.Popen(
                [*self._around.command, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=said,
                env={**self._around.environ, **environ},
                start_new_session=True,  # a terminal's Ctrl-C is the queue's to hear
            )
        except OSError:
            said.close()
            raise
        return Child(process, said, item)

    # ── ending ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _reap(self) -> None:
        if self._fetching is not None and self._fetching[1].process.poll() is not None:
            self._fetch_ended()
        for lane in self._lanes:
            if lane.running is not None and lane.running.process.poll() is not None:
                self._item_ended(lane, lane.running)

    def _fetch_ended(self) -> None:
        assert self._fetching is not None
        lane, child = self._fetching
        self._fetching = None
        code, words = child.process.returncode, child.last_words()
        child.close()
        if code == 0:
            lane.fetched = True
            self._change(lane.items[lane.at], state=WAITING, reason="")
            return
        reason = reason_of(code, words)
        for one in lane.items[lane.at :]:
            self._finish(one, FAILED, _why("not_fetched", problem=reason))
        lane.at = len(lane.items)
        self._give_back(lane)

    def _item_ended(self, lane: Lane, child: Child) -> None:
        one = lane.items[lane.at]
        code, words = child.process.returncode, child.last_words()
        child.close()
        lane.running = None
        if code != 0 and self._stop.pressed > 1:
            return  # it was ended: it waits for the next time
        lane.at += 1
        if code == 0:
            self._finish(one, OK, Reason(""))
        else:
            self._finish(one, FAILED, reason_of(code, words))
        if not lane.left:
            lane.cards = ()
            self._give_back(lane)

    def _finish(self, one: Forecast, state: str, reason: Reason) -> None:
        self._change(one, state=state, reason=reason.stored(), pid=None, ended_at=self._now())
        key = "finished" if state == OK else "finished_badly"
        self._note(key, **_named(one), state=words_of(self._lang)[state], reason=reason.said(self._lang))

    def _note(self, key: str, **facts: object) -> None:
        """A line that stays, in the queue's language."""
        self._screen.note(words_of(self._lang)[key].format(**facts))

    def _give_back(self, lane: Lane) -> None:
        """With --reclaim, the room of weights that nothing in the queue needs any more."""
        held = lane.placed.repository
        if not self._reclaim or held is None:
            return
        if any(other.left and other.placed.repository == held for other in self._lanes):
            return
        files = self._queues.fetched(self._id).get((held.name, held.commit))
        if files:
            freed = weights.reclaim(held.name, held.commit, files)
            self._queues.reclaimed(self._id, held.name, held.commit, at=self._now())
            self._note("given_back", repository=held.name, size=_gib(freed))

    def _end_fetch(self) -> None:
        assert self._fetching is not None
        lane, child = self._fetching
        self._fetching = None
        child.end_at_once()
        child.close()
        self._change(lane.items[lane.at], state=WAITING, reason="")

    def _end_all(self) -> None:
        """However the loop ended, nothing of it goes on alone."""
        if self._fetching is not None:
            self._end_fetch()
        for lane in self._lanes:
            if lane.running is not None:
                lane.running.end_at_once()
                lane.running.close()
                lane.running = None

    def _change(self, one: Forecast, **facts: Any) -> None:
        self._queues.change(self._id, one.entry.no, at=self._now(), **facts)

    def _now(self) -> str:
        return self._around.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _file_of(path: Path) -> tuple[int, int] | None:
    with contextlib.suppress(OSError):
        told = path.stat()
        return told.st_dev, told.st_ino
    return None


def _lanes(forecasts: Iterable[Forecast]) -> list[Lane]:
    lanes: dict[str, Lane] = {}
    for one in forecasts:
        placed = one.placed
        assert placed is not None
        told = [placed.backend, placed.model, one.wish.model, dict(one.wish.settings)]
        key = json.dumps(told, ensure_ascii=False, sort_keys=True)
        if key not in lanes:
            # What spreads over a cluster takes what cards it is given there.
            size = 0 if one.wish.spread else cards.needed(placed)
            lanes[key] = Lane(placed, [], size, fetched=placed.repository is None or placed.absent == 0)
        lanes[key].items.append(one)
    return list(lanes.values())


def _named(one: Forecast) -> dict[str, object]:
    return {"no": one.entry.no + 1, "model": one.entry.model, "bench": one.entry.bench}


def _why(key: str, **facts: object) -> Reason:
    """A reason in both languages; facts that are reasons themselves are said in each."""
    texts = {
        lang: words_of(lang)[key].format(
            **{name: fact.said(lang) if isinstance(fact, Reason) else fact for name, fact in facts.items()}
        )
        for lang in ("en", "zh-TW")
    }
    return Reason(texts["en"], texts["zh-TW"])


def reason_of(code: int, said: str) -> Reason:
    """Why a process ended with this code, by its last words on standard error."""
    lines = [line.rstrip() for line in said.splitlines() if line.strip()]
    told = next((at for at in reversed(range(len(lines))) if lines[at].startswith("twlocal: ")), None)
    if told is None:
        told = next((at for at in reversed(range(len(lines))) if lines[at].startswith(_UNFINISHED)), None)
    words = " ".join(_with_hint(line.strip()) for line in lines[told:]) if told is not None else ""
    if code < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            why = _why("ended_by_memory" if name == "SIGKILL" else "ended_by", name=name)
            last = _why("last_words", words=lines[-1]) if lines else Reason("")
            return Reason(why.en + last.en, why.zh + last.zh)
    told_by_it = words.removeprefix("twlocal: ") or (lines[-1] if lines else "")
    return Reason(told_by_it) if told_by_it else _why("ended_with", code=code)


def _with_hint(line: str) -> str:
    return f"({line.removeprefix('→ ')})" if line.startswith("→ ") else line


_UNFINISHED = ("incomplete: ", "interrupted: ")


def _gib(size: int | None) -> str:
    return "?" if size is None else f"{size / (1 << 30):,.1f} GiB"
