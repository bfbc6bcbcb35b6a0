"""Parsing in child processes, under a time and a memory limit for each paper.

A damaged or hostile PDF can make any PDF library hang, eat the memory or die in native code. A worker process parses
many papers, one after the other; when a paper goes over its limit the worker is killed, the paper is rejected with the
reason (`timeout`, `memory`, `crashed`), and a fresh worker takes the next one.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Generic, TypeVar

from .model import Rejection

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """`seconds` of wall time a paper, `megabytes` of address space that a worker may take for its papers.

    Memory is not limited on macOS and Windows.
    """

    seconds: float = 30.0
    megabytes: int = 2048


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What became of one file: `value`, or the `rejection` that says why there is none."""

    path: Path
    value: T | None = None
    rejection: Rejection | None = None


def run_all(
    paths: Iterable[Path], parse: Callable[[Path], T], *, jobs: int = 1, limits: Limits | None = None
) -> Iterator[Outcome[T]]:
    """Runs `parse` on every path in `jobs` worker processes; yields outcomes as they finish, in any order.

    `parse` must be importable (a module's function), because workers are spawned. An `OSError` or any other exception
    of `parse` becomes a rejection with the reason `crashed`; nothing that a file contains stops the run. Closing the
    iterator stops the workers.
    """
    limits = limits or Limits()
    waiting: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[Outcome[T] | None] = queue.SimpleQueue()
    for path in paths:
        waiting.put(Path(path))
    jobs = max(1, jobs)
    for _ in range(jobs):
        waiting.put(None)
    workers = [Worker(parse, limits) for _ in range(jobs)]
    threads = [threading.Thread(target=_drive, args=(worker, waiting, done), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        running = jobs
        while running:
            outcome = done.get()
            if outcome is None:
                running -= 1
            else:
                yield outcome
    finally:
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.get_nowait()
        for _ in range(jobs):
            waiting.put(None)
        for worker in workers:
            worker.end()
        for thread in threads:
            thread.join()


def _drive(worker: Worker, waiting: queue.SimpleQueue[Any], done: queue.SimpleQueue[Any]) -> None:
    while (path := waiting.get()) is not None:
        done.put(Outcome(path, *worker.run(path)))
    worker.stop()
    done.put(None)


class Worker:
    """One child process that does jobs (papers to parse) one by one; started when first needed, and after each death.

    All of it belongs to one thread, but for `end`, which may be called from any.
    """

    def __init__(self, parse: Callable[[Any], Any], limits: Limits) -> None:
        self._parse = parse
        self._limits = limits
        self._process: Any = None
        self._pipe: Connection | None = None
        self._ended = False
        self._lock = threading.Lock()

    def run(self, job: Any) -> tuple[Any, Rejection | None]:
        """What came of a job: its value, or None and the reason why there is none."""
        pipe = self._start()
        if pipe is None:
            return None, Rejection("crashed", "the run was stopped")
        try:
            pipe.send(job)
            if not pipe.poll(self._limits.seconds):
                self.stop()
                return None, Rejection("timeout", f"no result after {self._limits.seconds:g} s")
            kind, value = pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            code = self._process.exitcode
            self.stop()
            return None, Rejection("crashed", f"the parsing process ended with code {code}")
        if kind == "value":
            return value, None
        if kind == "memory":
            self.stop()  # what is left of its memory is not to be trusted
        return None, Rejection(kind, value)

    def _start(self) -> Connection | None:
        with self._lock:
            if self._ended:
                return None
            if self._pipe is None:
                # Spawned, not forked: a fork of a threaded parent may inherit a lock that nobody will release.
                context = multiprocessing.get_context("spawn")
                self._pipe, theirs = context.Pipe()
                arguments = (theirs, self._parse, self._limits.megabytes)
                self._process = context.Process(target=_serve, args=arguments, daemon=True)
                self._process.start()
                theirs.close()
            return self._pipe

    def end(self) -> None:
        """Kills the process, so that its thread comes back from waiting, and lets no other start."""
        with self._lock:
            self._ended = True
            if self._process is not None:
                self._process.kill()

    def stop(self) -> None:
        """Ends the process and frees what belongs to it."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._process.join()
                self._process.close()
            if self._pipe is not None:
                self._pipe.close()
            self._process = self._pipe = None


def _serve(pipe: Connection, parse: Callable[[Any], Any], megabytes: int) -> None:
    _limit_memory(megabytes)
    while True:
        try:
            job = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer = ("value", parse(job))
        except MemoryError:
            answer = ("memory", f"more than {megabytes} MB")
        except Exception as error:  # whatever a file provokes belongs to that file
            answer = ("crashed", f"{type(error).__name__}: {error}")
        pipe.send(answer)


def _limit_memory(megabytes: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    size = _taken() + megabytes * 1024 * 1024
    with contextlib.suppress(ValueError, OSError):  # macOS refuses RLIMIT_AS
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _taken() -> int:
    """Bytes of address space that this process has before its first paper: numpy reserves some for every core."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:  # no Linux
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
