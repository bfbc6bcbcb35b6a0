"""`twlocal browse`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from twlocal.cli.common import db_option, lang_option, language, note, out


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 takes a free one.")
@click.option("--open", "opening", is_flag=True, help="Open it in your web browser.")
@click.option("--get", metavar="PATH", help="Print one page or query and end, such as /twlocal/runs_with_scores.json.")
@lang_option
@db_option
def browse(port: int, opening: bool, get: str | None, lang: str | None, database: Path) -> int:
    """Look into the database with Datasette (extra: browse): tables, canned queries, your own SQL.

    It is only read, and can be reached from this machine alone (127.0.0.1). Ctrl-C ends it. The queries know twlocal's
    readers: letter('box', text, reasoning, finish) reads a response as a score does.
    """
    from twlocal.board.browse import browse as show

    more = [*(["--open"] if opening else []), *(["--get", get] if get else [])]

    def tell(address: str) -> None:
        out(address)
        sys.stdout.flush()
        note("open it in your web browser; Ctrl-C ends it")

    return show(database, port=port, more=more, lang=language(lang), tell=tell)
