"""What lives in an actor's process: an engine in a thread of its own, fed by calls that bring requests, take answers.

The engine's requests come from a buffer; a call of `exchange` fills it and comes back as soon as there is an answer, or
room for more. So one call is under way for each actor, whatever the engine does, and none of them waits for the other.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twlocal import __version__
from twlocal import backend as backends
from twlocal.backend import Backend, Completion, Decoding, EngineInfo, Request
from twlocal.backends.ray.supply import Supply


@dataclass(frozen=True, slots=True)
class Place:
    """Where an actor is: node, process, twlocal's version, and the sizes of the model's files there (None: no file)."""

    node: str
    pid: int
    version: str
    sizes: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What a call brings back.

    completions: those that were not told yet. wanted: how many requests the engine would take. idle: it has answered
    all that it was given. info: what runs, where that has changed. error: the engine failed, and is not to be asked.
    """

    completions: tuple[Completion, ...] = ()
    wanted: int = 0
    idle: bool = False
    info: EngineInfo | None = None
    error: Exception | None = None


class Actor:
    """An engine that is opened at once, in the background. `files` are looked at by `place`."""

    def __init__(
        self, engine: str, model: str, decoding: Decoding, settings: Mapping[str, Any], files: Sequence[str] = ()
    ) -> None:
        self._start = (engine, model, decoding, settings)
        self._files = files
        self._changed = threading.Condition()
        self._supply = Supply()
        self._buffer: deque[Request] = deque()
        self._done: list[Completion] = []
        self._last = False  # nothing comes after what is in the buffer
        self._starving = self._working = False
        self._engine: Backend | None = None
        self._info: EngineInfo | None = None
        self._untold: EngineInfo | None = None
        self._error: Exception | None = None
        threading.Thread(target=self._work, name="twlocal-engine", daemon=True).start()

    def place(self) -> Place:
        """Answers at once, while the engine still opens."""
        return Place(socket.gethostname(), os.getpid(), __version__, tuple(map(size, self._files)))

    def ready(self) -> Report:
        """Comes back when the engine is open, or has failed to."""
        with self._changed:
            self._changed.wait_for(lambda: self._info is not None or self._error is not None)
            return Report(info=self._info, error=self._error)

    def exchange(self, given: Sequence[Request], last: bool) -> Report:
        """Take requests, wait until there is something to tell, and tell it. last: none comes after these."""
        with self._changed:
            self._buffer.extend(given)
            self._last = last
            self._changed.notify_all()
            self._changed.wait_for(self._has_news)
            done, self._done = tuple(self._done), []
            info, self._untold = self._untold, None
            return Report(done, 0 if self._last else self._wanted(), self._idle, info, self._error)

    def close(self) -> None:
        """Stop the engine."""
        if self._engine is not None:
            self._engine.close()

    @property
    def _idle(self) -> bool:
        return not self._working and not self._buffer and not self._done

    def _wanted(self) -> int:
        # One that has not woken yet starves no more once something lies there.
        return self._supply.wanted(len(self._buffer), starving=self._starving and not self._buffer)

    def _has_news(self) -> bool:
        if self._done or self._error is not None or self._idle:
            return True
        return not self._last and self._wanted() > 0

    # -- the engine's thread --------------------------------------------------------------------------------------

    def _work(self) -> None:
        name, model, decoding, settings = self._start
        try:
            engine = self._engine = backends.load(name).open(model, decoding, settings)
            with self._changed:
                self._info = engine.describe()
                self._changed.notify_all()
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: bool(self._buffer))
                    self._working = True
                for completion in engine.generate(self._source()):
                    self._finished(completion, engine.describe())
                with self._changed:
                    self._working = False
                    self._supply.ended()
                    self._changed.notify_all()
        except BaseException as error:
            with self._changed:
                self._error = backends.failure(error, answering=self._info is not None)
                self._changed.notify_all()

    def _source(self) -> Iterator[Request]:
        while (request := self._next()) is not None:
            yield request

    def _next(self) -> Request | None:
        with self._changed:
            if not self._buffer and not self._last:
                self._starving = True
                self._supply.starved()
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._buffer or self._last)
                self._starving = False
            if not self._buffer:
                return None
            request = self._buffer.popleft()
            self._supply.pulled()
            if self._wanted():
                self._changed.notify_all()
            return request

    def _finished(self, completion: Completion, info: EngineInfo) -> None:
        with self._changed:
            self._done.append(completion)
            self._supply.finished(time.monotonic())
            if info != self._info:
                self._info = self._untold = info
            self._changed.notify_all()


def size(path: str) -> int | None:
    """Bytes of a file, None where there is none."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return None
