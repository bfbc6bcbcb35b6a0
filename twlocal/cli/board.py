"""`twlocal board`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import Stages, json_option, note, out
from twlocal.errors import UsageError
from twlocal.plural import counted

if TYPE_CHECKING:
    from twlocal.board.build import Built

_SHOWN = 10
_folder = click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))


@click.group(cls=Stages)
def board() -> None:
    """A leaderboard as a static site: every number follows from the rows that it ships."""


@board.command()
@_folder
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="PATH",
    type=click.Path(exists=True, path_type=Path),
    help="A bundle, or a folder of results that `import` takes. Several times, for several.",
)
@click.option(
    "--db",
    "database",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="TWLOCAL_DB",
    show_envvar=True,
    help="Show what is complete in this database.  [default: twlocal.db, unless --from is given]",
)
@click.option(
    "--reader",
    type=click.Choice(["auto", "box", "board"]),
    default="auto",
    show_default=True,
    help="Rank by twlocal's own strict reading (box) or by the exchange format's (board). "
    "auto takes box where any result tells it.",
)
@click.option(
    "--settings", "own", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Your board.toml."
)
@click.option("--reason", default="", help="Why a published number changes or disappears. It is published too.")
@click.option("--date", "day", default="", metavar="YYYY-MM-DD", help="The day of this publication, for the history.")
@click.option("--allow-quantised", is_flag=True, help="Show quantised models too, marked and without a rank.")
@click.option("--allow-unpublishable", is_flag=True, help="Show other protocols' results, marked and without a rank.")
@click.option("--allow-deviations", is_flag=True, help="Show runs that did not decode as asked, without a rank.")
@json_option
def build(folder: Path, **options: Any) -> None:
    """Build the site in DIR, or bring it up to date: only what changed is written.

    The same results always give the same bytes, and no clock is asked. What changed on the board is added to its
    history; a number that was published changes or goes only with --reason and --date.
    """
    import json
    import os

    from twlocal import paired, registry

    paired.stats("board")  # told before anything is read: numpy comes with scipy
    from twlocal.board import build as builder
    from twlocal.board.gather import Allowed

    database, sources = options["database"], options["sources"]
    marks = {"quantised": "quantised", "unpublishable": "protocol", "deviations": "deviations"}
    wish = builder.Wish(
        database=database if database is not None or sources else Path("twlocal.db"),
        sources=sources,
        reader=options["reader"],
        own=options["own"],
        allowed=Allowed(frozenset(mark for name, mark in marks.items() if options[f"allow_{name}"])),
        reason=options["reason"],
        day=options["day"],
    )
    built = builder.build(folder, wish, registry.load(os.environ))
    out(json.dumps(_as_dict(built), ensure_ascii=False, indent=1) if options["as_json"] else _told(folder, built))
    for kind, rows in (("left out", built.left_out), ("superseded", built.superseded)):
        for name, why in rows[:_SHOWN]:
            note(f"{kind}: {name}: {why if kind == 'left out' else f'{why} counts'}")
        if len(rows) > _SHOWN:
            note(f"{kind}: and {len(rows) - _SHOWN:,} more (--json lists them)")


def _told(folder: Path, built: Built) -> str:
    board, written = built.board, built.written
    benches = ", ".join(
        f"{bench.name}: {counted(len(bench.entries), 'result')}, {len(bench.ranked)} ranked" for bench in board.benches
    )
    kept, removed = len(written.kept), len(written.removed)
    lines = [
        f"{folder}: {counted(len(board.site.models), 'model')} ({benches}), read with {board.site.reader}",
        f"{counted(len(written.written), 'file')} written, {kept:,} unchanged, {removed:,} removed",
    ]
    if built.added:
        last = built.entries[-1]
        lines.append(f"history: entry {last.no}, {counted(len(last.changes), 'change')}")
    return "\n".join(lines)


def _as_dict(built: Built) -> dict[str, Any]:
    return {
        "reader": built.board.site.reader,
        "models": len(built.board.site.models),
        "benches": {
            bench.name: {"results": len(bench.entries), "ranked": len(bench.ranked)} for bench in built.board.benches
        },
        "written": list(built.written.written),
        "unchanged": len(built.written.kept),
        "removed": list(built.written.removed),
        "history": len(built.entries),
        "left_out": [{"name": name, "why": why} for name, why in built.left_out],
        "superseded": [{"name": name, "by": other} for name, other in built.superseded],
    }


@board.command()
@_folder
@json_option
def check(folder: Path, as_json: bool) -> int:
    """Refuse a site that states what its rows do not give.

    Every number, rank, page, JSON and CSV is made again from the rows that DIR ships, and so is the last state of its
    history. Ends with 1, naming each file, when anything differs.
    """
    import json

    from twlocal import paired

    paired.stats("board")
    from twlocal.board.check import check as look

    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", hint="DIR is the folder that `twlocal board build` wrote")
    findings = look(folder)
    if as_json:
        out(json.dumps([{"where": one.where, "what": one.what} for one in findings], ensure_ascii=False, indent=1))
    elif findings:
        out("\n".join(map(str, findings)))
    else:
        out(f"{folder}: every number, page and file follows from its rows")
    if findings:
        note(f"{counted(len(findings), 'finding')}: {folder} is not to be published")
    return 1 if findings else 0


@board.command()
@_folder
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 takes a free one.")
def serve(folder: Path, port: int) -> None:
    """Show the site in DIR on this machine (127.0.0.1). Ctrl-C ends it."""
    from twlocal.board.serve import serve as show

    show(folder, port, out_now)


def out_now(text: str) -> None:
    """A line that is there at once, for whoever waits for it through a pipe."""
    import sys

    out(text)
    sys.stdout.flush()
