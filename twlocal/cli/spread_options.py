"""The options that spread a run over a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from twlocal.cli.engine_options import engine_settings
from twlocal.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

SPREADER = "ray"
_ENGINE = "engine"
_NAMES = ("ray_address", "actors", "gpus_per_actor")

_OPTIONS = (
    click.option(
        "--ray-address",
        metavar="ADDRESS",
        help="Spread over this Ray cluster: HOST:PORT, or auto.  [default with --backend ray: one on this machine]",
    ),
    click.option(
        "--actors",
        metavar="N",
        type=click.IntRange(1),
        help="ray: engines at work side by side.  [default: one a GPU, else one a node]",
    ),
    click.option(
        "--gpus-per-actor",
        metavar="N",
        type=click.FloatRange(0),
        help="ray: GPUs for each, may be a part of one.  [default: 1 where there are any]",
    ),
)


def spread_options(command: F) -> F:
    """Adds --ray-address, --actors and --gpus-per-actor to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def spread_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """What these options say, {} for nothing."""
    return {name: options[name] for name in _NAMES if options[name] is not None}


def engine_wish(options: Mapping[str, Any]) -> dict[str, Any]:
    """The `backend`, `settings` and `spread` of a Wish that the options stand for. Raises UsageError.

    `--backend ray` leaves the engine to the model, or to `--set engine=NAME`; with another --backend beside options of
    ray, that is the engine that the actors hold.
    """
    from twlocal import backend as backends

    backend, settings, spread = options["backend"], engine_settings(options), spread_settings(options)
    name = backend if backend is not None and backends.spreader(backends.load(backend)) else None
    if name is None and not spread:
        return {"backend": backend, "settings": settings}
    module = backends.load(name or SPREADER)
    spread = {key: settings.pop(key) for key in list(settings) if key in module.SETTINGS} | spread
    engine = spread.pop(_ENGINE, None)
    if name is None and engine is not None:
        raise UsageError(f"--backend {backend} and --set engine={engine} name the engine twice")
    return {
        "backend": engine if name is not None else backend,
        "settings": settings,
        "spread": {"backend": name or SPREADER, **spread},
    }
