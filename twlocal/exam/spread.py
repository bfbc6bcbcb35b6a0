"""Parsing on the nodes of a Ray cluster: papers travel as bytes, so that no storage need be shared, results come back.

On its node every paper is read as `limits` reads it here: in a process of its own, under a time and a memory limit.
"""

from __future__ import annotations

import socket
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from twlocal import cluster as clusters
from twlocal.cluster import Cluster
from twlocal.errors import BackendError, ConfigurationError, TwlocalError

from . import extra, limits, version
from .limits import Limits, Outcome
from .model import Rejection

T = TypeVar("T")
_CHUNK = 32  # papers a task: starting a reader costs as much as reading two or three
_AHEAD = 2  # tasks on their way, for each that is at work
_RETRIES = 2  # of a task whose node is lost


class Spread:
    """`limits.run_all` over a cluster. Closed, it leaves the cluster."""

    def __init__(self, address: str) -> None:
        """Joins the cluster at `address`; raises what `twlocal.cluster.join` raises."""
        self._cluster: Cluster = clusters.join(address)

    def __enter__(self) -> Spread:
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.close()

    @property
    def jobs(self) -> int:
        """How many papers the cluster can read at once: one a CPU."""
        return max(1, int(sum(node.cpus for node in self._cluster.nodes())))

    def run_all(
        self, paths: Iterable[Path], parse: Callable[[Path], T], *, jobs: int = 1, limits: Limits | None = None
    ) -> Iterator[Outcome[T]]:
        """As `limits.run_all`, with `jobs` tasks at a time.

        Raises ConfigurationError for a node that does not have what this machine has, BackendError where a part of the
        cluster was lost once too often.
        """
        ray = self._cluster.api
        task = ray.remote(_read).options(num_cpus=1, max_retries=_RETRIES)
        waiting = deque(_chunks([Path(path) for path in paths], jobs))
        running: dict[Any, list[Path]] = {}
        try:
            while waiting or running:
                while waiting and len(running) < _AHEAD * jobs:
                    chunk = waiting.popleft()
                    papers, gone = _papers(chunk)
                    yield from gone
                    if papers:
                        reference = task.remote([paper for _, *paper in papers], parse, limits or Limits())
                        running[reference] = [path for path, *_ in papers]
                if running:
                    (reference,), _ = ray.wait(list(running), num_returns=1)
                    found = _checked(ray, reference)
                    for path, (value, rejection) in zip(running.pop(reference), found, strict=True):
                        yield Outcome(path, value, rejection)
        finally:
            for reference in running:
                with suppress(Exception):
                    ray.cancel(reference, force=True)


def _chunks(paths: Sequence[Path], jobs: int) -> Iterator[Sequence[Path]]:
    """Parts that are small enough for every job to have several."""
    size = max(1, min(_CHUNK, len(paths) // (2 * _AHEAD * jobs)))
    for start in range(0, len(paths), size):
        yield paths[start : start + size]


def _papers(paths: Sequence[Path]) -> tuple[list[tuple[Path, str, bytes]], list[Outcome[Any]]]:
    """Path, name and content of each; and what cannot be read any more."""
    papers, gone = [], []
    for path in paths:
        try:
            papers.append((path, path.name, path.read_bytes()))
        except OSError as error:
            # As a reader here would say it of a file that has gone.
            gone.append(Outcome[Any](path, rejection=Rejection("crashed", f"{type(error).__name__}: {error}")))
    return papers, gone


def _checked(ray: Any, reference: Any) -> list[tuple[Any, Rejection | None]]:
    try:
        node, parser, found = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = getattr(error, "cause", None)
        if failure := clusters.import_failure(error, "a node of the cluster"):
            raise failure from error
        if isinstance(cause, TwlocalError):
            raise ConfigurationError(f"on a node of the cluster: {cause.message}", hint=cause.hint) from error
        raise BackendError(f"a task failed on a node of the cluster: {cause or error}") from error
    except ray.exceptions.RayError as error:
        raise BackendError(
            f"a part of the cluster was lost more than {_RETRIES} times: {type(error).__name__}",
            hint="what was read is stored; the same command goes on",
        ) from error
    if parser != version.parser():
        raise ConfigurationError(
            f"the parser on {node} is not the one on this machine", hint="install the same twlocal on every node"
        )
    return list(found)


def _read(
    papers: Sequence[tuple[str, bytes]], parse: Callable[[Path], Any], bounds: Limits
) -> tuple[str, str, list[tuple[Any, Rejection | None]]]:
    """On a node: its name, its parser, and what became of each paper."""
    extra.needed()  # what is missing here is not a fault of the papers
    with tempfile.TemporaryDirectory(prefix="twlocal-exam-") as folder, _bare_main():
        paths = []
        for number, (name, content) in enumerate(papers):
            place = Path(folder, str(number))
            place.mkdir()
            paths.append(place / name)
            paths[-1].write_bytes(content)
        found = {outcome.path: outcome for outcome in limits.run_all(paths, parse, limits=bounds)}
    return socket.gethostname(), version.parser(), [(found[path].value, found[path].rejection) for path in paths]


@contextmanager
def _bare_main() -> Iterator[None]:
    """Keep spawned readers from loading what Ray's worker was started from, which takes a second and their memory."""
    main = sys.modules["__main__"]
    kept = main.__dict__.pop("__file__", None)
    try:
        yield
    finally:
        if kept is not None:
            main.__dict__["__file__"] = kept
