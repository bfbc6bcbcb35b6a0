"""The backend itself: requests → actors → completions. It runs in the process that Ray calls the driver."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from twlocal import backend as backends
from twlocal import cluster as clusters
from twlocal.backend import ENGINE_DIED, Backend, Completion, Deaths, Decoding, EngineInfo, Request
from twlocal.backends.ray.actor import Actor, Place, Report, size
from twlocal.backends.ray.deal import Deal
from twlocal.backends.ray.layout import Layout, lay_out
from twlocal.backends.ray.settings import Settings, parse
from twlocal.cluster import Cluster
from twlocal.errors import BackendError, ConfigurationError, EngineDied, ModelError, UsageError

# Actors lost without an answer between: then it is the engine or the cluster, and not the requests.
MAX_LOSSES = 20
_CLOSE_SECONDS = 5.0
# What of an engine must be the same in every actor, so that it does not matter which of them answers.
_SAME = ("engine", "version", "quantised", "model", "sent")


def load(model: str, decoding: Decoding, settings: Mapping[str, Any], deaths: Deaths) -> Backend:
    """See `twlocal.backends.ray.supervise`."""
    ours, theirs = parse(settings)
    module = backends.load(ours.engine)
    if backends.spreader(module) is not None:
        raise UsageError(f"an actor cannot hold {ours.engine}, which holds others itself", hint="name an engine")
    if multiprocessing.parent_process() is not None:
        _leave_the_terminal()
    if ours.ray_address is None:
        wanted = (ours.actors or 1) * (ours.cpus_per_actor or 1)
        cluster = clusters.start(cpus=max(_cores(), wanted))
    else:
        cluster = clusters.join(ours.ray_address)
    try:
        layout = lay_out(cluster.nodes(), ours, engine_on_gpu=module.ISOLATE)
        if layout.crowded and not layout.gpus and "threads" in module.SETTINGS:
            # Each would take all cores of the node, and wait for the others.
            theirs.setdefault("threads", layout.cpus)
        return Spread(cluster, layout, ours, (ours.engine, model, decoding, theirs), deaths)
    except BaseException:
        cluster.close()
        raise


@dataclass(eq=False)
class _Held:
    """One actor. doing: what the call that is under way does; "" for none."""

    handle: Any
    doing: str = ""
    place: Place | None = None
    since: float = 0.0


class Spread:
    """Actors in a cluster, each with an engine (see `twlocal.backend.Backend`). start: what each of them opens."""

    def __init__(
        self,
        cluster: Cluster,
        layout: Layout,
        settings: Settings,
        start: tuple[str, str, Decoding, Mapping[str, Any]],
        deaths: Deaths,
    ) -> None:
        self._cluster, self._ray = cluster, cluster.api
        self._layout, self._settings, self._start, self._deaths = layout, settings, start, deaths
        self._files = _files(start[1])
        self._sizes = tuple(map(size, self._files))
        self._remote = self._ray.remote(Actor).options(
            num_cpus=layout.cpus,
            num_gpus=layout.gpus,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )
        self._calls: dict[Any, _Held] = {}  # by the reference that brings the result
        self._losses = 0
        self._closed = False
        self._info: EngineInfo | None = None
        self._actors = [self._new() for _ in range(layout.actors)]
        self._started = False
        self._open_all()
        self._started = True

    def describe(self) -> EngineInfo:
        """The engine that the actors hold; what Ray adds is among its settings."""
        assert self._info is not None  # they have opened
        layout = self._layout
        ray = {
            "version": self._cluster.version,
            "cluster": "local" if self._cluster.local else "joined",
            "actors": layout.actors,
            "cpus_per_actor": layout.cpus,
            "gpus_per_actor": layout.gpus,
            "nodes": len({actor.place.node for actor in self._actors if actor.place}),
        }
        return replace(self._info, settings={**self._info.settings, "ray": ray})

    def generate(self, requests: Iterable[Request]) -> Iterator[Completion]:
        """Answer requests, each actor holding as many as its engine takes (see `twlocal.backend.Backend`)."""
        deal = Deal(requests, prior=self._deaths.prior, limit=self._deaths.limit)
        try:
            while not self._closed:
                self._feed(deal)
                busy = any(actor.doing == "exchange" for actor in self._calls.values())
                if not busy and not deal.waiting:
                    return
                if not self._calls:
                    raise BackendError("no actor is left, and none finds a place in the cluster")
                actor, doing, result = self._next_result()
                if isinstance(result, Exception):
                    yield from self._lost(actor, result, deal)
                elif doing == "exchange":
                    yield from self._reported(actor, result, deal)
                else:
                    self._begun(actor, result)
        finally:
            if any(actor.doing == "exchange" for actor in self._calls.values()):
                self.close()  # stopped in the middle: nothing of it may come later

    def close(self) -> None:
        """End the actors and leave the cluster; one of our own ends. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        with suppress(Exception):
            ends = [actor.handle.close.remote() for actor in self._actors if actor.doing != "exchange"]
            self._ray.wait(ends, num_returns=len(ends), timeout=_CLOSE_SECONDS)
        for actor in self._actors:
            with suppress(Exception):
                self._ray.kill(actor.handle)
        self._cluster.close()

    # -- actors ---------------------------------------------------------------------------------------------------

    def _new(self) -> _Held:
        actor = _Held(self._remote.remote(*self._start, self._files), since=time.monotonic())
        self._call(actor, "place")
        return actor

    def _call(self, actor: _Held, method: str, *arguments: Any) -> None:
        actor.doing = method
        self._calls[getattr(actor.handle, method).remote(*arguments)] = actor

    def _open_all(self) -> None:
        """Wait until every actor has its engine, so that what is wrong is told before the first item."""
        while any(actor.doing for actor in self._actors):
            actor, _, result = self._next_result()
            if isinstance(result, Exception):
                raise self._death(actor, result)
            self._begun(actor, result)

    def _begun(self, actor: _Held, result: Place | Report) -> None:
        if isinstance(result, Place):
            self._placed(actor, result)
        else:
            self._opened(actor, result)

    def _placed(self, actor: _Held, place: Place) -> None:
        actor.place = place
        clusters.same_version({place.node: place.version})
        for path, here, there in zip(self._files, self._sizes, place.sizes, strict=True):
            if here != there:
                raise ModelError(
                    f"{path} is {'not' if there is None else 'another file'} on the node {place.node}",
                    hint="the model must be at the same path on every node: copy it there, or mount one storage on all",
                )
        self._call(actor, "ready")

    def _opened(self, actor: _Held, report: Report) -> None:
        if report.error is not None:
            raise report.error
        info = report.info
        assert info is not None  # an engine that has opened tells what it is
        if self._info is None:
            self._info = info
        for name in _SAME:
            one, other = getattr(self._info, name), getattr(info, name)
            if one != other:
                raise ConfigurationError(
                    f"the engines in the cluster differ in their {name}: {one!r}, and {other!r} on {_node(actor)}",
                    hint="install the same engine on every node",
                )

    def _next_result(self) -> tuple[_Held, str, Any]:
        """What a call brings next, and which: of a lost actor an exception, as a value."""
        placing = [actor for actor in self._calls.values() if actor.doing == "place"]
        wait = None
        # One that is to replace another may wait as long as others answer.
        if placing and (len(placing) == len(self._calls) or not self._started):
            due = min(actor.since for actor in placing) + self._settings.start_seconds
            wait = max(0.0, due - time.monotonic())
        ready, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=wait)
        if not ready:
            raise self._no_place(len(placing))
        actor = self._calls.pop(ready[0])
        doing, actor.doing = actor.doing, ""
        try:
            return actor, doing, self._ray.get(ready[0])
        except self._ray.exceptions.RayTaskError as error:
            raise _task_failure(error, _node(actor)) from error
        except self._ray.exceptions.RayError as error:
            return actor, doing, error

    def _check_nodes(self) -> None:
        if not self._cluster.nodes():
            raise BackendError("no node of the Ray cluster is left", hint="the same command goes on in another one")

    def _no_place(self, late: int) -> ConfigurationError:
        self._check_nodes()
        layout, free = self._layout, self._cluster.free()
        gpus = f"{layout.gpus:g} GPU and " if layout.gpus else ""
        return ConfigurationError(
            f"{late} of {layout.actors} actors found no place within {self._settings.start_seconds} s: each needs "
            f"{gpus}{layout.cpus} CPU, and {free['GPU']:g} GPU and {free['CPU']:g} CPU are free",
            hint="wait until others are done, or use fewer --actors; --set start_seconds=N waits longer",
        )

    def _drop(self, actor: _Held) -> None:
        self._actors.remove(actor)
        # Whatever has become of it, it must not answer any more.
        with suppress(Exception):
            self._ray.kill(actor.handle)

    # -- work -----------------------------------------------------------------------------------------------------

    def _feed(self, deal: Deal) -> None:
        for actor in self._actors:
            if not actor.doing and deal.waiting:
                given, last = deal.take(actor, 1)
                if given:
                    self._call(actor, "exchange", given, last)

    def _reported(self, actor: _Held, report: Report, deal: Deal) -> Iterator[Completion]:
        self._info = report.info or self._info
        for completion in report.completions:
            self._losses = 0
            deal.answered(actor, completion.key)
            yield completion
        if report.error is not None:
            raise report.error
        if report.idle:
            deal.idle(actor)
        given, last = deal.take(actor, report.wanted or int(report.idle))
        if given or not report.idle:
            self._call(actor, "exchange", given, last)

    def _lost(self, actor: _Held, error: Exception, deal: Deal) -> Iterator[Completion]:
        death = self._death(actor, error)
        self._losses += 1
        blame = deal.lost(actor)
        self._drop(actor)
        if blame is not None and blame.given_up:
            yield Completion(blame.request.key, error_kind=ENGINE_DIED, error=death.message, attempts=blame.deaths)
        elif blame is not None:
            self._deaths.tell(blame.request.key, death.message)
        # No EngineDied: this process is alive, and asking it again cannot help.
        if self._losses > MAX_LOSSES:
            raise BackendError(
                f"{self._losses} actors were lost without one answer between; the last time: {death.message}",
                hint=death.hint,
            ) from death
        self._check_nodes()
        self._actors.append(self._new())

    def _death(self, actor: _Held, error: Exception) -> BackendError:
        if failure := clusters.import_failure(error, _node(actor)):
            return failure
        said = self._cluster.last_words(actor.place.pid) if actor.place else ""
        reason = f"its last words: {said}" if said else _reason(error)
        return EngineDied(
            f"the actor on {_node(actor)} ended by itself; {reason}",
            hint="less memory may help: fewer --actors or --slots, a smaller model",
        )


def _reason(error: Exception) -> str:
    """The part of Ray's long message that says why an actor died."""
    text = " ".join(str(error).split())
    for mark in ("The actor died because", "Worker exit detail:", "The actor is dead because"):
        if mark in text:
            return text[text.index(mark) :][:300]
    return f"{type(error).__name__}: {text[:300]}"


def _task_failure(error: Exception, node: str) -> BackendError:
    cause = getattr(error, "cause", None) or error
    return clusters.import_failure(error, node) or BackendError(
        f"an actor on {node} failed: {type(cause).__name__}: {cause}", hint="--debug shows more"
    )


def _node(actor: _Held) -> str:
    return actor.place.node if actor.place else "a node of the cluster"


def _files(model: str) -> tuple[str, ...]:
    """The files that every node must have: the model, or all in its folder."""
    path = Path(model)
    try:
        if path.is_dir():
            return tuple(str(file) for file in sorted(path.iterdir()) if file.is_file())
        return (model,) if path.is_file() else ()
    except OSError:
        return ()


def _leave_the_terminal() -> None:
    """Ray's processes, which end by SIGTERM, are started from here: a signal to our caller's group is not for them."""
    if hasattr(os, "setsid"):
        with suppress(OSError):  # the first of its group already
            os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1
