"""Nodes → how many actors, and what each is given. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twlocal.backends.ray.settings import Settings
from twlocal.cluster import Node
from twlocal.errors import UsageError

_SLACK = 1e-6  # thirds of a GPU


@dataclass(frozen=True, slots=True)
class Layout:
    """actors: how many. cpus, gpus: for each. crowded: whether several may share a node's CPUs."""

    actors: int
    cpus: int
    gpus: float
    crowded: bool


def lay_out(nodes: Sequence[Node], settings: Settings, *, engine_on_gpu: bool) -> Layout:
    """What the settings ask for, and the rest by what is there: an actor a GPU, or an actor a node without GPUs.

    engine_on_gpu: whether the engine computes here at all. Raises UsageError for what the cluster can never give.
    """
    gpus = settings.gpus_per_actor
    if gpus is None:
        gpus = 1.0 if engine_on_gpu and any(node.gpus >= 1 for node in nodes) else 0.0
    usable = [node for node in nodes if node.gpus + _SLACK >= gpus and node.cpus >= 1] if gpus else list(nodes)
    actors = settings.actors
    if actors is None:
        actors = max(1, sum(_times(node.gpus, gpus) for node in usable)) if gpus else max(1, len(usable))
    cpus = settings.cpus_per_actor
    if cpus is None:
        # With a GPU one is enough to feed it; without one the engine computes with all that a node has for it.
        smallest = min((node.cpus for node in usable), default=1.0)
        cpus = 1 if gpus else max(1, int(smallest // -(-actors // max(1, len(usable)))))
    room = sum(_room(node, cpus, gpus) for node in nodes)
    if room < actors:
        raise UsageError(
            f"{actors} {'actors' if actors > 1 else 'actor'} with {_each(cpus, gpus)} each, but the cluster has room "
            f"for {room}: {_has(nodes)}",
            hint="fewer --actors or --gpus-per-actor, or more nodes",
        )
    return Layout(actors, cpus, gpus, crowded=actors > len(usable))


def _room(node: Node, cpus: int, gpus: float) -> int:
    room = _times(node.cpus, cpus)
    return min(room, _times(node.gpus, gpus)) if gpus else room


def _times(whole: float, part: float) -> int:
    """How often `part` fits; a GPU that is shared is shared in itself."""
    if 0 < part < 1:
        return int(whole) * int(1 / part + _SLACK)
    return int(whole / part + _SLACK)


def _each(cpus: int, gpus: float) -> str:
    return f"{gpus:g} GPU and {cpus} CPU" if gpus else f"{cpus} CPU"


def _has(nodes: Sequence[Node]) -> str:
    shown = [f"{node.cpus:g} CPU and {node.gpus:g} GPU" for node in nodes[:4]]
    more = f", and {len(nodes) - 4} more" if len(nodes) > 4 else ""
    return f"{len(nodes)} {'node' if len(nodes) == 1 else 'nodes'} ({'; '.join(shown)}{more})"
