"""What the commands of `twlocal exam` share: the build's database, opened and closed, and files read as text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from twlocal.cli.common import note
from twlocal.errors import UsageError

if TYPE_CHECKING:
    from twlocal.exam.ledger import Ledger

build_db = click.option(
    "--db",
    "database",
    type=click.Path(dir_okay=False, path_type=Path),
    default="exam.db",
    show_default=True,
    envvar="TWLOCAL_EXAM_DB",
    show_envvar=True,
    help="The build's database: the accounting of every stage.",
)


@contextmanager
def opened_ledger(database: Path, *, create: bool) -> Iterator[Ledger]:
    """The ledger of a build, closed afterwards. Raises UsageError where there is none and none is to be made."""
    from twlocal.exam.ledger import Ledger

    if not create and not database.is_file():
        raise UsageError(
            f"there is no database at {database}", hint="twlocal exam parse DIR makes one; --db names another"
        )
    with Ledger.opened(database, create=create, warn=note) as ledger:
        yield ledger


def text_of(path: Path) -> str:
    """A file as UTF-8 text. Raises UsageError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
