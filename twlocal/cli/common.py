"""What several commands share: the database option, streams, languages."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

if TYPE_CHECKING:
    from twlocal.runs import Runs

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_DATABASE = Path("twlocal.db")
db_option = click.option(
    "--db",
    "database",
    type=click.Path(dir_okay=False, path_type=Path),
    default=DEFAULT_DATABASE,
    show_default=True,
    envvar="TWLOCAL_DB",
    show_envvar=True,
    help="The database that holds every response.",
)
lang_option = click.option(
    "--lang",
    type=click.Choice(["zh-TW", "en"]),
    envvar="TWLOCAL_LANG",
    show_envvar=True,
    default=None,
    help="Language of the report; the default follows the locale.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines on standard output.")


class Stages(click.Group):
    """A group whose help gives each command's first sentence whole, where click would cut it at the end of the line."""

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        known = ((name, self.get_command(context, name)) for name in self.list_commands(context))
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit=1000)) for name, command in known if command])


@contextmanager
def opened(database: Path, *, create: bool) -> Iterator[Runs]:
    """The runs of a database, closed afterwards."""
    from twlocal.runs import Runs
    from twlocal.store import open_store

    runs = Runs(open_store(database, create=create, warn=note), database)
    try:
        yield runs
    finally:
        runs.close()


def program() -> str:
    """How to type a command that calls us again: by our name where the shell finds it, else as we were called."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m twlocal"
    found = shutil.which("twlocal")
    if found and Path(found).resolve() == called.resolve():
        return "twlocal"
    return shlex.quote(str(called))


def note(message: str) -> None:
    """A line to the person, on standard error, where progress goes."""
    from twlocal.report.table import visible

    # Nobody may be there to hear it (`2>&1 | head`, a terminal that was closed): no reason to stop the work.
    with suppress(OSError):
        click.echo(visible(message), err=True)


def language(given: str | None) -> str:
    """The language of a report: as asked, else Chinese where the locale is Chinese, else English."""
    if given:
        return given
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "zh-TW" if locale.lower().startswith("zh") else "en"


def wants_color(stream: TextIO) -> bool:
    """Colour only on a terminal, and never with NO_COLOR (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns(stream: TextIO) -> int | None:
    """Columns of the terminal behind a stream; None where there is none, or where it does not say."""
    try:
        return (os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0) or None
    except OSError:
        return None


def width(stream: TextIO) -> int:
    """Columns that a report may fill: at most 120, for longer lines are hard to read, and 80 where nobody says."""
    return min(columns(stream) or 80, 120)


def out(text: str) -> None:
    """Results go to standard output, and only they."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
