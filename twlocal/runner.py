"""Running a plan: find what is left, ask, store each answer as it comes, stop cleanly.

The engine works in a thread of its own and hands completions over a queue; this thread is the one writer. It lets
answers gather for a moment, so that a fast engine is not slowed down by a commit an answer, and commits what has come:
an answer waits for at most `GATHER_SECONDS` and one commit of at most `BATCH` answers.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, TypeVar

from twlocal.alarms import early_stop
from twlocal.backend import CUT, ENGINE_DIED, TOO_LONG, Backend, Completion, Request
from twlocal.errors import EngineDied, RunError, StoreBusy, TwlocalError
from twlocal.isolate import MAX_DEATHS
from twlocal.plan import Plan
from twlocal.plural import counted
from twlocal.record import Record
from twlocal.responses import Answered
from twlocal.runs import Key, RunRow, Runs
from twlocal.served import another

BATCH = 64
GATHER_SECONDS = 0.02
# Answers that may wait to be stored before nothing more is asked, and how often it is looked whether they have become
# fewer: an engine that is faster than the disk would fill the memory with what is lost when the process is killed.
AHEAD = 32 * BATCH
AHEAD_SECONDS = 0.02
_LOOKS = 2  # how often, meanwhile, it is seen whether a whole batch has come already
# Long enough for an answer in flight to end, short enough that nobody presses Ctrl-C a second time by then.
GRACE_SECONDS = 8.0
# So many rows without one answer are a fault of the set-up, not of the rows.
_HOPELESS = 24
_HOPELESS_TOO_LONG = 4
# How long to go on trying to write to a locked database before giving up with answers in hand, and for how long at a
# time: while SQLite waits, no Ctrl-C is heard.
_LOCK_PATIENCE = 600.0
_LOCK_SLICE = 0.2
# An engine that hangs says nothing, and looks like one that thinks: after so long it is told, then ever more rarely.
SILENCE_SECONDS = 600.0
_WATCHED = 8  # the first answers, looked at for a model that says nothing


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a sitting ended: complete, incomplete (rows failed), or interrupted."""

    state: str
    run: RunRow
    asked: int
    seconds: float


class Watcher(Protocol):
    """What hears of progress; the command line's bar, or nothing."""

    def started(self, run: RunRow, done: int, total: int) -> None: ...
    def stored(self, records: list[Record], failures: list[Completion]) -> None: ...
    def note(self, message: str) -> None: ...


class Stop:
    """Asks a run to stop: nothing new is asked, and what is in flight may end within GRACE_SECONDS.

    `loading`: the engine is being opened. Nothing is in flight then, so whoever asks to stop may end that at once, by
    a KeyboardInterrupt in the main thread.
    """

    def __init__(self) -> None:
        self.requested = threading.Event()
        self.loading = False

    def request(self) -> None:
        self.requested.set()


@dataclass(frozen=True)
class Here:
    """What a run needs from its surroundings, so that tests can give others: the clock and the name of this process."""

    pid: int
    host: str
    machine: Mapping[str, Any]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


T = TypeVar("T")
OpenBackend = Callable[[Mapping[str, int], Callable[[str, str], None]], Backend]
"""Opens the engine, given how often each request's key was alone in flight at a death, and whom to tell of more."""


def run(runs: Runs, plan: Plan, open_backend: OpenBackend, *, here: Here, stop: Stop, watcher: Watcher) -> Outcome:
    """Answer what is left of a plan.

    The caller holds the run's lock. A run is written only once its engine has opened: a wrong address or a broken file
    leaves nothing behind. Raises TwlocalError where the run had to stop; what was stored stays, and the same call goes
    on from there.
    """
    begun = runs.find(plan.key)
    done = runs.done(begun.id) if begun else set()
    deaths = runs.deaths(begun.id) if begun else {}
    pending = [
        key
        for key in ((item.no, repeat) for repeat in range(plan.wish.repeats) for item in plan.rows)
        if key not in done and deaths.get(key, 0) < MAX_DEATHS
    ]
    started = time.monotonic()
    if begun is None or pending:
        sitting = _Sitting(runs, plan, here, stop, watcher)
        sitting.open(open_backend, deaths)
        sitting.work(pending, len(done))
    else:
        watcher.started(begun, len(done), begun.planned)
    after = runs.get(key=plan.key)
    if after.complete and after.completed_at is None:
        runs.mark_complete(after.id, at=_stamp(here.now()))
        after = runs.get(key=plan.key)
    state = "complete" if after.complete else "interrupted" if stop.requested.is_set() else "incomplete"
    return Outcome(state, after, len(pending), time.monotonic() - started)


class _Sitting:
    def __init__(self, runs: Runs, plan: Plan, here: Here, stop: Stop, watcher: Watcher) -> None:
        self._runs, self._plan = runs, plan
        self._here, self._stop, self._watcher = here, stop, watcher
        self._queue: queue.SimpleQueue[Completion | BaseException | None] = queue.SimpleQueue()
        self._over = threading.Event()  # nobody stores what is answered any more
        self._orders: dict[str, str] = {}  # of what was asked and not stored, by the request's key
        self._answers = 0
        self._earlier: list[Mapping[str, Any]] = []  # what earlier sittings' engines told of the model
        self._failed_in_a_row: list[Completion] = []
        self._first: list[Record] = []
        self._watching = True
        self._deadline: float | None = None  # for what is in flight, once the run is to stop
        self._last = ""

    def open(self, open_backend: OpenBackend, deaths: Mapping[Key, int]) -> None:
        """Open the engine, then write the plan if it is new, then the sitting."""
        prior = {_name(key): count for key, count in deaths.items()}
        self._stop.loading = True
        try:
            self._backend = open_backend(prior, self._died)
        finally:
            self._stop.loading = False
        try:
            self._runs.wait_for_others(_LOCK_SLICE)
            self._row = self._patiently(lambda: self._runs.ensure(self._plan, at=self._now()))
            self._earlier = self._runs.told_of_model(self._row.id)
            self._check_model()
            here = self._here
            self._id = self._patiently(
                lambda: self._runs.begin_sitting(
                    self._row.id, self._backend.describe(), here.machine, pid=here.pid, host=here.host, at=self._now()
                )
            )
        except BaseException:
            self._backend.close()
            raise

    def _check_model(self) -> None:
        """Raise RunError where the engine tells of another model than in earlier sittings."""
        if self._earlier and (how := another(self._earlier, self._backend.describe().model)):
            raise RunError(
                f"the model is not the one that this run began with: {how}",
                hint="serve that one again (or give the --context of before), or begin another run with --db FILE",
            )

    def work(self, pending: list[Key], done: int) -> None:
        """Ask and store, where `done` answers are there already; however it ends, the sitting's end is written."""
        outcome, note = "failed", ""
        try:
            self._watcher.started(self._row, done, self._row.planned)
            self._pump(pending)
            outcome = "interrupted" if self._stop.requested.is_set() else "ended"
        except TwlocalError as error:
            outcome, note = "stopped", error.message
            raise
        except KeyboardInterrupt:
            outcome = "interrupted"
            raise
        finally:
            self._backend.close()
            self._end(outcome, note)

    def _end(self, outcome: str, note: str) -> None:
        try:
            end = partial(self._runs.end_sitting, self._id, outcome, note, self._backend.describe(), at=self._now())
            self._patiently(end)
            self._runs.wait_for_others()
        except TwlocalError as error:
            # What stopped the run (a full disk, say) may stop this line too; the answers matter more.
            self._watcher.note(f"the end of this sitting could not be written: {error.message}")

    def _died(self, key: str, error: str) -> None:
        self._queue.put(Completion(key=key, error_kind=ENGINE_DIED, error=error))

    # -- the engine's thread --------------------------------------------------------------------------------------

    def _pump(self, pending: list[Key]) -> None:
        engine = threading.Thread(target=self._ask, args=(pending,), name="twlocal-engine", daemon=True)
        engine.start()
        try:
            self._write()
        finally:
            self._over.set()
        engine.join(timeout=1)

    def _ask(self, pending: list[Key]) -> None:
        try:
            for completion in self._backend.generate(self._requests(pending)):
                self._queue.put(completion)
        except BaseException as error:
            self._queue.put(error)
        else:
            self._queue.put(None)

    def _requests(self, pending: list[Key]) -> Iterator[Request]:
        rows, protocol = self._plan.rows, self._plan.protocol  # a row's number is its place
        for key in pending:
            while self._queue.qsize() > AHEAD and not self._over.wait(AHEAD_SECONDS):
                pass
            if self._stop.requested.is_set() or self._over.is_set():
                return
            item, name = rows[key[0]].item, _name(key)
            order = protocol.order(item, key[1])
            self._orders[name] = order
            yield Request(name, protocol.messages(item, order), protocol.decoding.max_tokens)

    # -- this thread: the writer ----------------------------------------------------------------------------------

    def _write(self) -> None:
        heard, patience = time.monotonic(), SILENCE_SECONDS
        while True:
            batch, ending = self._gather()
            silent = time.monotonic() - heard
            if batch:
                heard, patience = time.monotonic(), SILENCE_SECONDS
            elif silent > patience:
                self._watcher.note(
                    f"no answer for {silent / 60:.0f} minutes, {len(self._orders)} in the making; Ctrl-C stops, and "
                    "the same command goes on with what is left"
                )
                patience *= 2
            if batch:
                self._store(batch)
                self._judge()
            if isinstance(ending, TwlocalError):
                raise ending
            if isinstance(ending, BaseException):
                raise EngineDied(
                    f"the engine failed: {type(ending).__name__}: {ending}", hint="--debug shows more"
                ) from ending
            if ending is _END:
                return
            if self._time_is_up():
                self._backend.close()
                return

    def _time_is_up(self) -> bool:
        """Whether the run is to stop and what was in flight has had its time."""
        if not self._stop.requested.is_set():
            return False
        self._deadline = self._deadline or time.monotonic() + GRACE_SECONDS
        return time.monotonic() > self._deadline

    def _gather(self) -> tuple[list[Completion], object]:
        """Everything that has come so far, at most BATCH; waits for the first, and a little for others after it."""
        batch: list[Completion] = []
        try:
            got = self._queue.get(timeout=0.25)
            if isinstance(got, Completion):
                self._settle()
            while True:
                if got is None:
                    return batch, _END
                if isinstance(got, BaseException):
                    return batch, got
                batch.append(got)
                if len(batch) >= BATCH:
                    return batch, None
                got = self._queue.get_nowait()
        except queue.Empty:
            return batch, None

    def _settle(self) -> None:
        """Wait until a batch has come, GATHER_SECONDS are over, nothing else is asked, or the run is to stop.

        Sleeping, not reading the queue: being woken for each answer is what would take the engine's thread its time.
        """
        for _ in range(_LOOKS):
            left = len(self._orders) - 1  # asked and not stored
            if self._queue.qsize() + 1 >= min(BATCH, left) or self._stop.requested.wait(GATHER_SECONDS / _LOOKS):
                return

    def _store(self, batch: list[Completion]) -> None:
        if not self._answers:
            self._check_model()  # only answers tell who gave them
        at = self._now()
        answered, stored, stray = [], set[str](), ""
        for completion in map(_with_text, batch):
            if completion.key not in self._orders or completion.key in stored:
                stray = completion.key
                continue
            if not completion.error_kind:
                stored.add(completion.key)
            answered.append(Answered(*_key(completion.key), self._orders[completion.key], completion, at))
        self._commit(answered)
        records, failures = [], []
        for row in answered:
            if row.completion.error_kind:
                failures.append(row.completion)
            else:
                records.append(self._record(row))
                del self._orders[row.completion.key]
        self._answers += len(records)
        self._failed_in_a_row = [] if records else [*self._failed_in_a_row, *failures][-_HOPELESS:]
        if len(self._first) < _WATCHED:
            self._first.extend(records)
        self._watcher.stored(records, failures)
        if stray:
            raise EngineDied(
                f"the engine answered {stray!r}, which was not asked or was answered before",
                hint=f"the backend {self._plan.backend} mixes its answers up: do not trust those it gave before",
            )

    def _commit(self, answered: list[Answered]) -> None:
        if answered:
            self._patiently(lambda: self._runs.add(self._row.id, self._id, answered), len(answered))

    def _patiently(self, write: Callable[[], T], in_hand: int = 0) -> T:
        """Write to the database, waiting for another process that holds it."""
        patience, told = time.monotonic() + _LOCK_PATIENCE, False
        while True:
            try:
                return write()
            except StoreBusy as error:
                if time.monotonic() > patience or self._time_is_up():
                    raise
                if not told:
                    what = f" with {counted(in_hand, 'answer')} in hand" if in_hand else ""
                    self._watcher.note(f"{error.message}; waiting{what}")
                    told = True

    def _record(self, row: Answered) -> Record:
        item, done = self._plan.rows[row.no].item, row.completion
        return Record(
            no=row.no,
            repeat=row.repeat,
            subject=item.subject,
            item_id=item.id,
            content_hash=item.content_hash,
            stem_hash=item.stem_hash,
            answer=item.answer,
            order=row.order,
            text=done.text,
            reasoning=done.reasoning,
            finish=done.finish,
            prompt_tokens=done.prompt_tokens,
            completion_tokens=done.completion_tokens,
            reasoning_tokens=done.reasoning_tokens,
            prompt_hash=done.prompt_hash,
            flags=done.flags,
        )

    def _judge(self) -> None:
        """Stop a run that can only end badly, and say why, rather than report 0%."""
        # A judge may well say the same of everything: that is for its calibration to tell.
        if self._watching and len(self._first) >= _WATCHED:
            self._watching = False
            if reason := early_stop(self._first, alike=not self._plan.stage):
                raise RunError(reason, hint="twlocal show RUN ITEM shows what came back")
        failed = self._failed_in_a_row
        if self._answers == 0 and len(failed) >= _HOPELESS_TOO_LONG and all(f.error_kind == TOO_LONG for f in failed):
            raise RunError(
                f"no question fits the model's context: {failed[-1].error}",
                hint="a larger context (--context, or what the server was started with), or a lower --max-tokens",
            )
        if len(failed) >= _HOPELESS:
            raise RunError(
                f"{len(failed)} questions in a row got no answer; the last: {failed[-1].error}",
                hint="the same command goes on when that is mended",
            )

    def _now(self) -> str:
        # A clock that is set back must not give a sitting that ends before it began.
        self._last = max(self._last, _stamp(self._here.now()))
        return self._last


_END = object()


def _with_text(completion: Completion) -> Completion:
    """A completion as it is stored. One whose text is none says nothing of the model, and must not cost the others."""
    wrong = [type(text).__name__ for text in (completion.text, completion.reasoning) if type(text) is not str]
    if not wrong:
        return completion
    error = f"the engine gave {wrong[0]} where a text belongs"
    return Completion(completion.key, attempts=completion.attempts, error_kind=CUT, error=error)


def _name(key: Key) -> str:
    return f"{key[0]}.{key[1]}"


def _key(name: str) -> Key:
    no, repeat = name.split(".")
    return int(no), int(repeat)


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
