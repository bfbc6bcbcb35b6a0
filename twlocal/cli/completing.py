"""What the shell's Tab key offers beside commands and options: names of runs, protocols, benches, models, engines.

Asked for at every press of a key, so nothing here imports an engine, asks a network or makes a file; what cannot be
read offers nothing, because a shell has nowhere to put an error.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]


def run_names(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """The runs of the database that --db named before, else TWLOCAL_DB, else the default; newest first."""
    database = Path(context.params.get("database") or os.environ.get("TWLOCAL_DB") or "twlocal.db")
    taken = context.params.get(param.name or "") or ()
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, timeout=0.2)) as connection:
            rows = connection.execute("SELECT name, model, bench FROM runs WHERE stage='' ORDER BY id DESC").fetchall()
    except (sqlite3.Error, ValueError):
        return []
    return [
        CompletionItem(name, help=f"{model}, {bench}")
        for name, model, bench in rows
        if name.startswith(incomplete) and name not in taken
    ]


def protocol_names(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """The bundled protocols, and files."""
    from twlocal import protocol

    return _with_files(protocol.names(), incomplete)


def bench_names(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """The benches that have names, and files."""
    from twlocal.dataset.benches import benches

    return _with_files(benches(), incomplete)


def model_names(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """The models of the registry by their short names and Hub ids, and files."""
    from twlocal import registry
    from twlocal.errors import TwlocalError

    try:
        models = registry.load(os.environ).models.values()
    except TwlocalError:
        return _with_files((), incomplete)
    return _with_files((name for model in models for name in (*model.aliases, model.id)), incomplete)


def backend_names(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """The backends that are registered, ours and other packages'."""
    from importlib.metadata import entry_points

    found = sorted({point.name for point in entry_points(group="twlocal.backends")})
    return [CompletionItem(name) for name in found if name.startswith(incomplete)]


def reader_names(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """The readers."""
    from twlocal.readers import READERS

    return [CompletionItem(name) for name in READERS if name.startswith(incomplete)]


# What a parameter takes, as its help shows it (an option by its own name where that says it) → what is offered.
_OFFERS: dict[str, Completer] = {
    "RUN": run_names,
    "RUN|QUEUE": run_names,
    "DATASET|RUN": run_names,
    "MODEL": model_names,
    "BENCH": bench_names,
    "DATASET": bench_names,
    "PROTOCOL": protocol_names,
    "--bench": bench_names,
    "--protocol": protocol_names,
    "--backend": backend_names,
    "--reader": reader_names,
}


def offer(param: click.Parameter) -> Completer | None:
    """What is offered for a parameter of a command; None where click's own is enough (choices, files)."""
    if not isinstance(param.type, StringParamType):
        return None
    shown = (param.metavar or param.name or "").upper().replace("...", "").strip("[]")
    return next((_OFFERS[name] for name in (*param.opts, shown) if name in _OFFERS), None)


class _Offered(StringParamType):
    """Text for which something is offered."""

    def __init__(self, completer: Completer) -> None:
        self._completer = completer

    def shell_complete(
        self, context: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[str]]:
        return self._completer(context, param, incomplete)


def complete(command: click.Command) -> None:
    """Give the parameters of a command what is offered for them."""
    for param in command.params:
        found = offer(param)
        if found is not None:
            param.type = _Offered(found)


def _with_files(names: Iterable[str], incomplete: str) -> list[CompletionItem[str]]:
    """The names that begin so, whatever their case; before them a word to the shell that it may be a file."""
    began = incomplete.lower()
    return [
        CompletionItem("", type="file"),
        *(CompletionItem(name) for name in names if name.lower().startswith(began)),
    ]
