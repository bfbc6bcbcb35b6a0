"""What the user may set, and what of it is the engine's. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from twlocal import cluster
from twlocal import setting_values as values
from twlocal.errors import UsageError

EXTRA = cluster.EXTRA


@dataclass(frozen=True)
class Settings:
    """None means: decided by what the cluster has.

    engine: the backend that each actor holds. actors: how many. gpus_per_actor: GPUs for each, may be a part of one.
    cpus_per_actor: CPUs for each. ray_address: of a cluster that is there; None starts one on this machine.
    start_seconds: how long an actor may wait for its place.
    """

    engine: str
    actors: int | None = None
    gpus_per_actor: float | None = None
    cpus_per_actor: int | None = None
    ray_address: str | None = None
    start_seconds: int = 60


def _share(name: str, value: Any) -> float:
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError):
        number = math.nan
    # Ray's own rule: parts of one GPU, or whole ones.
    if not 0 <= number < math.inf or (number > 1 and number != int(number)):
        raise UsageError(f"the setting {name} takes 0, a part of 1, or a whole number, not {value!r}")
    return number


def _address(name: str, value: Any) -> str:
    return cluster.check_address(str(value))


def _engine(name: str, value: Any) -> str:
    return str(value)


_READERS: Mapping[str, values.Reader] = {
    "engine": _engine,
    "actors": values.whole(1),
    "gpus_per_actor": _share,
    "cpus_per_actor": values.whole(1),
    "ray_address": _address,
    "start_seconds": values.whole(1),
}
NAMES = frozenset(_READERS)


def parse(settings: Mapping[str, Any]) -> tuple[Settings, dict[str, Any]]:
    """Ours, and those that belong to the engine. Raises UsageError, naming the setting."""
    ours = {name: value for name, value in settings.items() if name in NAMES}
    read = values.read("ray", ours, _READERS)
    if "engine" not in read:
        raise UsageError("the setting engine is missing", hint="it names the backend that each actor holds")
    return Settings(**read), {name: value for name, value in settings.items() if name not in NAMES}
