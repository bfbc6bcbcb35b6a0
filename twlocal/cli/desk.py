"""What every command shares that asks a model for a stage: its options, and the desk it asks from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from twlocal.cli.common import note
from twlocal.cli.engine_options import engine_options, engine_settings, model_name

if TYPE_CHECKING:
    from twlocal.formosa.asking import Answers, Desk
    from twlocal.formosa.stored import Builds
    from twlocal.plan import Wish
    from twlocal.runs import Runs

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--max-tokens", metavar="N", type=click.IntRange(1), help="New tokens a response may have.  [default: 4096]"
    ),
    click.option(
        "--schema/--no-schema",
        default=True,
        help="Hold the model to a JSON schema where its engine can; not so for one that thinks before it answers.",
    ),
    click.option("--retry-failed", is_flag=True, help="Ask again what was given up because it killed the engine."),
    click.option("--quiet", "-q", is_flag=True, help="No progress."),
)


def asking_options(command: F) -> F:
    """Adds the engine's options, --max-tokens, --schema, --retry-failed and --quiet to a command that asks a model."""
    for option in reversed(_OPTIONS):
        command = option(command)
    wrapped: F = engine_options(command)
    return wrapped


def wish(model: str, options: Mapping[str, Any]) -> Wish:
    """The wish of such a command for one model: who is asked, with which settings and budget."""
    from twlocal.plan import Wish

    return Wish(
        model=model_name(model),
        bench="",
        protocol="",
        backend=options["backend"],
        max_tokens=options["max_tokens"],
        settings=engine_settings(options),
    )


@contextmanager
def stores(database: Path, *, create: bool = False) -> Iterator[tuple[Builds, Runs]]:
    """The builds and the runs of one database, closed afterwards."""
    from twlocal.formosa.stored import Builds
    from twlocal.runs import Runs
    from twlocal.store import open_store

    builds = Builds(db := open_store(database, create=create, warn=note), database)
    try:
        yield builds, Runs(db, database)
    finally:
        builds.close()


@contextmanager
def desk(runs: Runs, options: Mapping[str, Any]) -> Iterator[Desk]:
    """A desk at the command line: with progress on standard error, stopped by Ctrl-C."""
    from twlocal.cli.interrupt import interruptible
    from twlocal.cli.progress import watcher
    from twlocal.evaluate import Surroundings
    from twlocal.formosa.asking import Desk
    from twlocal.runner import Stop

    progress = watcher(sys.stderr, None, quiet=options["quiet"])
    stop = Stop()
    try:
        with interruptible(stop, progress.note):
            yield Desk(runs, options["database"], Surroundings(), stop, progress, options["retry_failed"])
    finally:
        progress.close()


def exit_code(answers: Answers) -> int:
    """What such a command ends with: 0 where everything was answered, 130 interrupted, 1 where some has no answer.

    What is left is told.
    """
    from twlocal.cli.interrupt import EXIT_INTERRUPTED

    if answers.state == "complete" and not answers.left:
        return 0
    note(f"{answers.state}: {answers.left} not answered yet; the same command goes on")
    return EXIT_INTERRUPTED if answers.state == "interrupted" else 1
