"""One `generate()`: workers on an event loop in a thread of its own, and the queues between them and the caller.

The caller's thread pulls from the caller's iterator (which may belong to that thread, as SQLite connections do) and
puts requests into a deque; workers, one a connection, take them from there. Completions go back in blocks. No task is
made per request, nobody is woken who is not idle, and the caller's thread is not woken for every answer: at some
thousand requests a second, threads that take turns are most of what this module could spend.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import re
import threading
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from twlocal.backend import CUT, FINISH_FILTER, FINISH_UNKNOWN, SERVER, TOO_LONG, TRANSPORT, Completion, Request
from twlocal.backends.http import explain, limits
from twlocal.backends.http.adapt import Body
from twlocal.backends.http.address import Address
from twlocal.backends.http.errors import Kind, Verdict, shorten
from twlocal.backends.http.exchange import Wire
from twlocal.backends.http.parse import within
from twlocal.backends.http.retry import LONGEST_WAIT, Throttle, backoff, come_back
from twlocal.backends.http.settings import Redactor, Settings
from twlocal.errors import BackendError, ConfigurationError

ALIKE_STOPS = 3  # so many refusals alike before the first answer: it is not the items
FAILED_STOPS = 5  # so many items in a row without an answer: it is not the items either
TIMEOUT_RETRIES = 2  # each costs the whole timeout
LAG = 0.005  # seconds for which an answer may wait for others before the caller's thread is woken for them


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Time and chance. clock: seconds, monotonic. now: Unix time. random: [0, 1). sleep: waits for seconds."""

    clock: Callable[[], float]
    now: Callable[[], float]
    random: Callable[[], float]
    sleep: Callable[[float], Awaitable[Any]]


@dataclass(slots=True)
class State:
    """What is learnt of a server, for the backend's life. Written on the loop's thread only."""

    body: Body
    proven: Body | None = None  # the last body that was answered
    answered: int = 0
    in_a_row: int = 0  # items without an answer since the last one with
    refusals: Counter[str] = field(default_factory=Counter)
    served_as: set[str] = field(default_factory=set)
    first_served: str = ""
    lowest: int = 0  # least requests at once that the server's 429s brought us to


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that does not change while requests are asked."""

    address: Address
    settings: Settings
    headers: dict[str, str] = field(repr=False)
    proxy: str | None = field(repr=False)
    key_source: str
    listed: tuple[str, ...]
    redact: Redactor
    around: Surroundings

    def session(self, connections: int) -> aiohttp.ClientSession:
        """A session of its own. Called on a running loop."""
        return aiohttp.ClientSession(
            # Servers drop idle connections after some 5 s (uvicorn): ours go first, or a request meets a closed one.
            connector=aiohttp.TCPConnector(limit=connections, keepalive_timeout=4.0),
            timeout=aiohttp.ClientTimeout(total=self.settings.timeout, sock_connect=self.settings.connect_timeout),
            headers=self.headers,
            cookie_jar=aiohttp.DummyCookieJar(),
        )


class Sitting:
    """Answers the requests of one iterator."""

    def __init__(self, plan: Plan, state: State) -> None:
        self._plan, self._state = plan, state
        self._todo: deque[Request] = deque()
        self._out: queue.SimpleQueue[list[Completion] | Exception] = queue.SimpleQueue()
        self._block: list[Completion] = []  # what goes into `_out` next
        self._lag: asyncio.TimerHandle | None = None
        # A quarter of what is pulled ahead of those in flight: the workers hardly run dry while a block is fetched.
        self._enough = max(1, plan.settings.concurrency // 4)
        self._ended = False
        self._nudged = False
        self._idle = 0
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="twlocal-http", daemon=True)

    # The caller's side.

    def completions(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """Completions as they come. At most `concurrency` requests are pulled ahead of those in flight."""
        source, ahead, waiting = iter(requests), 2 * self._plan.settings.concurrency, 0
        try:
            while True:
                while waiting < ahead and not self._ended:
                    request = next(source, None)
                    if request is None:
                        self._ended = True
                        self._nudge()
                    else:
                        waiting += 1
                        self._todo.append(request)
                        self._start_or_nudge()
                if not waiting:
                    return
                block = self._out.get()
                if isinstance(block, Exception):
                    raise block
                for got in block:
                    waiting -= 1
                    yield got
        finally:
            self._stop()

    def _start_or_nudge(self) -> None:
        if self._thread.ident is None:
            self._thread.start()
        elif self._idle and not self._nudged:
            self._nudge()

    def _nudge(self) -> None:
        self._nudged = True
        with contextlib.suppress(RuntimeError):  # the loop is closed already: the error is in the queue
            self._loop.call_soon_threadsafe(self._wake_all)

    def _stop(self) -> None:
        """Cancel what is in flight, close the connections, join the thread."""
        if self._thread.ident is None:
            self._loop.close()
            return
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._cancel)
        self._thread.join(10)

    # The loop's side.

    def _run(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        try:
            self._task = loop.create_task(self._work())
            with contextlib.suppress(asyncio.CancelledError):
                loop.run_until_complete(self._task)
        except Exception as error:  # whatever it is, the caller is waiting for it, but first for what was answered
            self._hand_over()
            self._out.put(error)
        finally:
            self._hand_over()
            # Not waiting for the executor's threads: a name that does not resolve can hold one for a minute.
            loop.run_until_complete(loop.shutdown_asyncgens())
            asyncio.set_event_loop(None)
            loop.close()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _wake_all(self) -> None:
        self._nudged = False  # before anybody looks: what is appended from here on nudges again
        self._wake.set()

    def _came(self, completion: Completion) -> None:
        self._block.append(completion)
        if len(self._block) >= self._enough:
            self._hand_over()
        elif self._lag is None:
            self._lag = self._loop.call_later(LAG, self._hand_over)

    def _hand_over(self) -> None:
        if self._lag is not None:
            self._lag.cancel()
            self._lag = None
        if self._block:
            self._out.put(self._block)
            self._block = []

    async def _work(self) -> None:
        plan, around = self._plan, self._plan.around
        self._throttle = Throttle(plan.settings.concurrency, around.clock, around.sleep, around.random)
        async with plan.session(plan.settings.concurrency) as session:
            self._wire = Wire(session, plan.address.url("chat/completions"), plan.proxy, around.now)
            workers = [asyncio.ensure_future(self._worker()) for _ in range(plan.settings.concurrency)]
            try:
                done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
                for worker in done:
                    worker.result()
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

    async def _worker(self) -> None:
        while (request := await self._next()) is not None:
            completion = await self._answer(request)
            self._came(completion)
            if completion.error_kind in (TRANSPORT, SERVER, CUT) and self._state.in_a_row >= FAILED_STOPS:
                raise BackendError(
                    f"{self._plan.address.base} gave no answer to {self._state.in_a_row} items in a row;"
                    f" the last time: {completion.error}",
                    hint="see to the server, then run the same command: what was answered is kept",
                )

    async def _next(self) -> Request | None:
        while True:
            if self._todo:
                return self._todo.popleft()
            if self._ended:
                return None
            self._idle += 1
            try:
                # Looked at again after `_idle` is up: from then on the caller's thread wakes us.
                if not self._todo and not self._ended:
                    self._wake.clear()
                    await self._wake.wait()
            finally:
                self._idle -= 1

    async def _answer(self, request: Request) -> Completion:
        plan, state, around = self._plan, self._state, self._plan.around
        asked, failed, partial = 0, Counter[Kind](), ""
        while True:
            await self._throttle.enter()
            body, sent_at = state.body, around.clock()
            try:
                verdict = await self._wire.ask(body.render(request))
            finally:
                self._throttle.leave()
            asked += 1
            latency = around.clock() - sent_at
            kind, answer = verdict.kind, verdict.answer
            if kind is Kind.ANSWER and answer is not None:
                answer = within(answer, request.max_tokens)
                self._throttle.went_well()
                others = self._went_well(body, answer.served_as)
                return Completion(
                    key=request.key,
                    text=answer.text,
                    reasoning=answer.reasoning,
                    finish=answer.finish,
                    prompt_tokens=answer.prompt_tokens,
                    completion_tokens=answer.completion_tokens,
                    reasoning_tokens=answer.reasoning_tokens,
                    latency=latency,
                    attempts=asked,
                    flags=(*answer.flags, *body.flags, *others),
                )
            if kind is Kind.FATAL:
                raise explain.configuration(plan.address, self._redacted(verdict), plan.key_source, plan.listed)
            message = self._words(verdict)
            if kind is Kind.FILTERED:
                self._went_well(body, "")
                flags = ("content_filter", *body.flags)
                return Completion(request.key, finish=FINISH_FILTER, latency=latency, attempts=asked, flags=flags)
            if kind is Kind.TOO_LONG:
                return _failed(request, TOO_LONG, limits.explained(message), asked)
            if kind is Kind.REJECTED:
                if self._adapted(body, verdict):
                    continue
                self._refused(message)
                state.in_a_row += 1  # what every item is refused for is not the items' own, also after answers
                return _failed(request, SERVER, message, asked)
            failed[_group(kind)] += 1
            partial = answer.text if answer is not None else partial
            self._slow_down(verdict, sent_at, message)
            if failed[_group(kind)] > self._tries(kind):
                state.in_a_row += 1
                return _failed(request, _error_kind(kind, partial), message, asked, partial)
            await around.sleep(self._delay(verdict, failed.total()))

    def _went_well(self, body: Body, served_as: str) -> tuple[str, ...]:
        """Flags: whether another model answered than the first time, as behind a load balancer."""
        state = self._state
        state.answered += 1
        state.in_a_row = 0
        state.proven = body
        state.first_served = state.first_served or served_as
        if served_as and len(state.served_as) < 8:
            state.served_as.add(served_as)
        return ("another_model",) if served_as and served_as != state.first_served else ()

    def _adapted(self, body: Body, verdict: Verdict) -> bool:
        """Whether to send again: the server refuses a parameter that can be changed, or that somebody just changed."""
        state, trouble = self._state, verdict.trouble
        if trouble is None or state.proven is body:
            return False
        name = body.refused(trouble)
        if name is None:
            return False
        if state.body is not body and not state.body.same(body, name):
            return True
        changed = state.body.adapt(trouble)
        if changed is None:
            return False
        state.body = changed
        return True

    def _refused(self, message: str) -> None:
        if self._state.answered:
            return
        # Numbers and identifiers differ from item to item.
        alike = re.sub(r"\S*\d\S*", "#", message)
        self._state.refusals[alike] += 1
        if self._state.refusals[alike] >= ALIKE_STOPS:
            raise ConfigurationError(
                f"{self._plan.address.base} refuses every request: {message}",
                hint="change the setting or the model that it names; nothing was answered so far",
            )

    def _slow_down(self, verdict: Verdict, sent_at: float, message: str) -> None:
        plan, wait = self._plan, verdict.wait
        if verdict.kind is Kind.THROTTLED:
            self._throttle.too_many(sent_at)
            self._state.lowest = min(self._state.lowest, self._throttle.lowest)
        if wait is None:
            return
        if wait > LONGEST_WAIT:
            raise ConfigurationError(
                f"{plan.address.base} asks to wait {come_back(wait, plan.around.now())}: {message}",
                hint="run the same command then: what was answered is kept",
            )
        self._throttle.pause(wait)

    def _delay(self, verdict: Verdict, tries: int) -> float:
        random = self._plan.around.random
        if not verdict.wait:
            return backoff(tries, random, throttled=verdict.kind is Kind.THROTTLED and verdict.wait is None)
        asked = verdict.wait + random() * min(1.0, verdict.wait / 10)
        # A server that says "one second" over and over does not mean it.
        return asked if tries <= 3 else max(asked, backoff(tries - 3, random, throttled=True))

    def _tries(self, kind: Kind) -> int:
        retries = self._plan.settings.retries
        if kind is Kind.TIMEOUT:
            return min(retries, TIMEOUT_RETRIES)
        # Limits are counted by the minute: being told to slow down is no failure of the item.
        return 2 * retries if kind is Kind.THROTTLED else retries

    def _words(self, verdict: Verdict) -> str:
        number = f"{verdict.status}: " if verdict.status not in (0, 200) else ""
        return self._plan.redact(number + shorten(verdict.message))

    def _redacted(self, verdict: Verdict) -> Verdict:
        return Verdict(verdict.kind, self._plan.redact(verdict.message), verdict.status, verdict.trouble)


def _group(kind: Kind) -> Kind:
    """Failures that are counted together."""
    return kind if kind in (Kind.THROTTLED, Kind.TIMEOUT) else Kind.TRANSPORT


def _error_kind(kind: Kind, partial: str) -> str:
    if kind is Kind.CUT or (kind is Kind.TIMEOUT and partial):
        return CUT
    return SERVER if kind in (Kind.RETRY, Kind.THROTTLED) else TRANSPORT


def _failed(request: Request, kind: str, message: str, asked: int, partial: str = "") -> Completion:
    return Completion(request.key, text=partial, finish=FINISH_UNKNOWN, attempts=asked, error_kind=kind, error=message)
