"""`twlocal exam review`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from twlocal.cli.common import lang_option, language, note, out
from twlocal.cli.exam_options import build_db, opened_ledger
from twlocal.errors import UsageError


@click.command()
@click.option("--by", "who", required=True, help="Whose decisions they are.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 takes a free one.")
@click.option("--open", "opening", is_flag=True, help="Open the page in your web browser.")
@lang_option
@build_db
def review(who: str, port: int, opening: bool, lang: str | None, database: Path) -> None:
    """Look at the items of the last build in your browser, each beside the page it was read from, flagged ones first.

    Accept an item, or withdraw it with a reason, as `exam withdraw` does; the next build lists it in withdrawn.jsonl.
    Every decision is written at once, and can be taken back. The page can be reached from this machine alone. Ctrl-C
    ends it.
    """
    import asyncio
    import webbrowser

    from twlocal.exam import extra

    if not who.strip():
        raise UsageError("--by is empty", hint="name whoever decides")
    extra.needed()  # told before a page is asked for
    from twlocal.exam.review.serve import serve

    with opened_ledger(database, create=False) as ledger:
        if not ledger.fates():
            raise UsageError("nothing is built in this database yet", hint="twlocal exam build OUT")

        def say(address: str) -> None:
            out(address)
            note("open it in your web browser; Ctrl-C ends it")
            if opening and not webbrowser.open(address):
                note("no web browser could be opened: open the address yourself")

        def now() -> str:
            return datetime.now(UTC).isoformat(timespec="seconds")

        asyncio.run(serve(ledger, by=who.strip(), now=now, port=port, lang=language(lang), say=say))
    note("ended; twlocal exam build OUT applies what was decided")
