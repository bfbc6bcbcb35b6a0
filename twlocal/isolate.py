"""An engine in a process of its own, so that its death is an error and not ours.

The child pulls requests over a pipe as it has room, and sends completions as they finish; the parent therefore always
knows what was in flight. When the child dies, its requests are given to a new child, one at a time: whichever is alone
in flight at a death is to blame for it, and after `max_deaths` of them it is passed over.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.process
import multiprocessing.reduction
import multiprocessing.util
import os
import signal
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, BinaryIO, cast

from twlocal import backend as backends
from twlocal.backend import ENGINE_DIED, Backend, Completion, Deaths, Decoding, EngineInfo, Request
from twlocal.errors import EngineDied

MAX_DEATHS = 3
# Deaths without an answer between them, whoever is to blame: then it is the engine, and not the requests.
MAX_RESTARTS = 20
# With the same words of its own every time, for more than one request, and before there was one answer: so many are
# enough, for each restart loads the model again.
MAX_ALIKE = 4
_LAST_WORDS = 2000
_SIGILL, _SIGBUS = 4, getattr(signal, "SIGBUS", 7)
# Deaths that less memory does not prevent.
_WAYS_OUT = {
    _SIGILL: "the engine was built for a newer processor than this: build it here "
    "(pip install --force-reinstall --no-binary llama-cpp-python llama-cpp-python), or take another engine",
    _SIGBUS: "a model's file may have been cut or its disk have gone, or shared memory is full "
    "(in a container --shm-size=16g): fetch the file again, and look at df",
}
_DEAF_TO = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Isolated:
    """A Backend whose engine lives in a child process.

    prior: how often each request's key has already been alone in flight at a death, in earlier sittings.
    on_death: called with (key, message) for every death that one request is to blame for, so that it can be stored.
    close_seconds: how long the child may take to close its engine by itself, where it owns more than its own memory.
    """

    def __init__(
        self,
        name: str,
        model: str,
        decoding: Decoding,
        settings: Mapping[str, Any],
        *,
        prior: Mapping[str, int] | None = None,
        on_death: Callable[[str, str], None] = lambda key, message: None,
        max_deaths: int = MAX_DEATHS,
        max_restarts: int = MAX_RESTARTS,
        close_seconds: float = 0.0,
    ) -> None:
        self._start = (name, model, decoding, dict(settings))
        self._close_seconds = close_seconds
        self._deaths = dict(prior or {})
        self._on_death = on_death
        self._max_deaths, self._max_restarts = max_deaths, max_restarts
        self._closed = threading.Event()
        self._generating = False
        self._child: _Child | None = None
        self._info = self._fresh().info

    def describe(self) -> EngineInfo:
        return self._info

    def close(self) -> None:
        """Stop at once, from any thread: a pending `generate` ends."""
        self._closed.set()
        if self._child is not None:
            if not self._generating:
                self._child.dispose(self._close_seconds)
            else:
                self._child.kill()

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        source = iter(requests)
        suspects: deque[Request] = deque()
        restarts = 0
        faults = _Faults()
        self._generating = True
        try:
            while not self._closed.is_set():
                # Suspects go one at a time, so that the next death has one cause.
                alone = [suspects.popleft()] if suspects else None
                in_flight: dict[str, Request] = {}
                try:
                    for completion in self._live(iter(alone) if alone else source, in_flight):
                        restarts = 0
                        faults.answered = faults.answered or not completion.error_kind
                        yield completion
                except EngineDied as death:
                    if self._closed.is_set():
                        return
                    faults.add(death.message if self._child is not None and self._child.alive else "", in_flight)
                    if self._child is not None:
                        self._child.kill()  # one that told of its engine's death itself goes as well
                    restarts += 1
                    if faults.hopeless:
                        raise
                    if alone and not in_flight:
                        suspects.extend(alone)  # it died before it was asked
                    elif len(in_flight) == 1:
                        (request,) = in_flight.values()
                        if self._blame(request, death):
                            suspects.append(request)
                        else:
                            yield self._poisoned(request, death)
                    else:
                        suspects.extend(in_flight.values())
                    if restarts > self._max_restarts:
                        raise EngineDied(
                            f"the engine died {restarts} times without one answer between; the last time: "
                            f"{death.message}",
                            hint=death.hint,
                        ) from death
                    continue
                if alone is None:
                    return
        finally:
            self._generating = False
            if self._child is not None:
                self._child.dispose(self._close_seconds)

    def _live(self, source: Iterator[Request], in_flight: dict[str, Request]) -> Iterator[Completion]:
        child = self._child if self._child is not None and self._child.alive else self._fresh()
        child.send(("generate",))
        while True:
            kind, value = child.receive()
            if kind == "pull":
                request = next(source, None)
                if request is not None:
                    in_flight[request.key] = request
                child.send(("request", request))
            elif kind == "done":
                in_flight.pop(value.key, None)
                yield value
            elif kind == "info":
                self._info = value
            elif kind == "died":  # of a process that the engine looks after
                key, message = value
                self._deaths[key] = self._deaths.get(key, 0) + 1
                self._on_death(key, message)
            elif kind == "error":
                raise value
            else:  # "end"
                return

    def _fresh(self) -> _Child:
        if self._child is not None:
            self._child.dispose()
        self._child = _Child(self._start, self._deaths, self._max_deaths)
        self._info = self._child.info
        return self._child

    def _blame(self, request: Request, death: EngineDied) -> bool:
        """Count a death against a request; whether it may be tried again."""
        self._deaths[request.key] = self._deaths.get(request.key, 0) + 1
        if self._deaths[request.key] >= self._max_deaths:
            return False
        self._on_death(request.key, death.message)
        return True

    def _poisoned(self, request: Request, death: EngineDied) -> Completion:
        return Completion(
            key=request.key, error_kind=ENGINE_DIED, error=death.message, attempts=self._deaths[request.key]
        )


@dataclass
class _Faults:
    """Faults that an engine has told of with the same words, one after the other, and which requests they struck."""

    answered: bool = False
    words: str = ""
    count: int = 0
    struck: set[str] = field(default_factory=set)

    def add(self, words: str, keys: Iterable[str]) -> None:
        """Count a fault; without words it is a process that died without one, which memory may have made."""
        if words != self.words:
            self.words, self.count, self.struck = words, 0, set()
        self.count += bool(words)
        self.struck |= set(keys)

    @property
    def hopeless(self) -> bool:
        """Whether it is the engine, and no request."""
        return not self.answered and self.count >= MAX_ALIKE and len(self.struck) > 1


class _Child:
    """The child process and its pipe. Receiving from a dead child raises EngineDied with its last words."""

    def __init__(
        self, start: tuple[str, str, Decoding, dict[str, Any]], deaths: Mapping[str, int], max_deaths: int
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._words = _scratch()
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_child_main,
            args=(theirs, start, _Descriptor(self._words.fileno()), dict(deaths), max_deaths),
            # A daemon could have no children, which is what several cards that share a model are.
            daemon=False,
        )
        # At exit multiprocessing waits for its children: this one is killed before that.
        multiprocessing.util.Finalize(self, _killed, args=(self._process,), exitpriority=0)
        with _interrupts_blocked():
            self._process.start()
        theirs.close()
        self.alive = True
        try:
            kind, value = self.receive()
            if kind == "error":
                raise value
        except BaseException:
            self.dispose()
            raise
        self.info: EngineInfo = value

    def send(self, message: tuple[Any, ...]) -> None:
        try:
            self._pipe.send(message)
        except OSError:
            raise self._death() from None

    def receive(self) -> tuple[str, Any]:
        try:
            kind, *rest = self._pipe.recv()
        except (EOFError, OSError):
            raise self._death() from None
        return kind, rest[0] if rest else None

    def kill(self) -> None:
        """End the process and its own children, from any thread; whoever waits for it hears of its death."""
        self.alive = False
        _end_group(self._process)
        with suppress(ValueError, OSError):
            self._process.kill()

    def dispose(self, seconds: float = 0.0) -> None:
        """End the process and give its pipe and files back; only where nobody waits for it.

        With `seconds` it hears of its end by the closed pipe, and has so long to close its engine.
        """
        if self.alive and seconds:
            self._pipe.close()
            self._process.join(timeout=seconds)
        self.kill()
        self._process.join(timeout=10)
        self._pipe.close()
        self._words.close()

    def _death(self) -> EngineDied:
        self.alive = False
        _end_group(self._process)
        self._process.join(timeout=10)
        code = self._process.exitcode
        how = f"exit code {code}"
        if code is not None and code < 0:
            with suppress(ValueError):
                how = signal.Signals(-code).name
        if code == -9:
            how += " (the system kills the largest process when memory runs out)"
        self._words.seek(0, os.SEEK_END)
        self._words.seek(max(0, self._words.tell() - _LAST_WORDS))
        last = self._words.read().decode("utf-8", "replace").strip().splitlines()
        said = f"; its last words: {last[-1]}" if last else ""
        return EngineDied(
            f"the engine's process ended by itself: {how}{said}",
            hint=_WAYS_OUT.get(-(code or 0), "less memory may help: fewer --slots, a smaller model"),
        )


def _killed(process: multiprocessing.process.BaseProcess) -> None:
    _end_group(process)
    with suppress(ValueError, OSError, AttributeError):  # closed, gone, or never begun
        process.kill()


def _end_group(process: multiprocessing.process.BaseProcess) -> None:
    """Kill what a child has started (an engine's workers may outlive it, and hold the cards), and the child with it.

    Only as long as the child has not been waited for: until then nobody else can have its number.
    """
    if not hasattr(os, "killpg"):
        return
    with suppress(ValueError, OSError, AttributeError):
        popen = getattr(process, "_popen", None)
        if popen is not None and popen.returncode is None:
            os.killpg(popen.pid, signal.SIGKILL)


def _scratch() -> BinaryIO:
    """A file without a name, so that nothing of it is left however we end; nothing is kept where no file can be had."""
    try:
        return cast(BinaryIO, tempfile.TemporaryFile())
    except OSError:
        return Path(os.devnull).open("w+b")


class _Descriptor:
    """A file descriptor on its way into a child that is being started."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[object, ...]:
        if sys.platform == "win32":
            return (_Descriptor, (-1,))
        return (_arrived, (multiprocessing.reduction.DupFd(self._number),))

    def take_over(self, *standard: int) -> None:
        """Let the standard streams of these numbers go there too."""
        if self._number >= 0:
            for number in standard:
                os.dup2(self._number, number)


def _arrived(descriptor: Any) -> _Descriptor:
    return _Descriptor(descriptor.detach())


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start a child deaf to what a terminal or a time limit sends to the whole group: the parent decides what stops."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _DEAF_TO)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _child_main(
    pipe: Connection,
    start: tuple[str, str, Decoding, dict[str, Any]],
    words: _Descriptor,
    prior: Mapping[str, int],
    max_deaths: int,
) -> None:
    for number in _DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # so that it can be ended with all that it starts
    threading.Thread(target=_die_with_parent, daemon=True).start()
    # What native code prints must not end up between our own lines, but must not be lost either.
    words.take_over(1, 2)
    try:
        engine = _open(*start, Deaths(prior, max_deaths, lambda key, message: pipe.send(("died", (key, message)))))
    except BaseException as error:
        pipe.send(("error", backends.failure(error, answering=False)))
        return
    pipe.send(("ready", engine.describe()))
    with suppress(EOFError, OSError):
        while pipe.recv()[0] == "generate":
            _serve(pipe, engine)
    engine.close()


def _serve(pipe: Connection, engine: Backend) -> None:
    info = engine.describe()
    try:
        for completion in engine.generate(_pulled(pipe)):
            now = engine.describe()
            if now != info:
                info = now
                pipe.send(("info", info))
            pipe.send(("done", completion))
    except OSError:
        raise
    except BaseException as error:
        pipe.send(("error", backends.failure(error, answering=True)))
    else:
        pipe.send(("end",))


def _pulled(pipe: Connection) -> Iterator[Request]:
    while True:
        pipe.send(("pull",))
        _, request = pipe.recv()
        if request is None:
            return
        yield request


def _open(name: str, model: str, decoding: Decoding, settings: dict[str, Any], deaths: Deaths) -> Backend:
    module = backends.load(name)
    if spreader := backends.spreader(module):
        return spreader.supervise(model, decoding, settings, deaths)
    return module.open(model, decoding, settings)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(1)
