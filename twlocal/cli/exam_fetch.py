"""`twlocal exam fetch`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import json_option, note, out
from twlocal.cli.exam_options import build_db, opened_ledger, text_of
from twlocal.errors import UsageError
from twlocal.plural import counted

if TYPE_CHECKING:
    from twlocal.exam import fetching


@click.command()
@click.argument("pages", metavar="PAGE...", nargs=-1, required=True)
@click.option(
    "--output", "-o", "folder", required=True, type=click.Path(file_okay=False, path_type=Path), help="Where to."
)
@click.option(
    "--base",
    default="https://wwwq.moex.gov.tw/exam/wFrmExamQandASearch.aspx",
    show_default=True,
    help="The address of pages that are given as files.",
)
@click.option("--interval", type=click.FloatRange(0), default=1.0, show_default=True, help="Seconds between requests.")
@click.option(
    "--timeout", type=click.FloatRange(1), default=60.0, show_default=True, help="Seconds to wait for an answer."
)
@build_db
@json_option
def fetch(
    pages: tuple[str, ...],
    folder: Path,
    base: str,
    interval: float,
    timeout: float,
    database: Path,
    as_json: bool,
) -> int:
    """Download the documents that the Ministry's search pages list, slowly, each once, and write DIR/manifest.json.

    PAGE is the address of a search page, or a file in which it was saved. What was fetched before is not asked for
    again; what failed is, by the same command.
    """
    from time import sleep

    from twlocal.exam import catalogue, fetching

    get = fetching.over_http(timeout)
    listed = [link for page in pages for link in catalogue.links(*_page(page, base, get))]
    papers = catalogue.wanted(listed)
    if not papers:
        raise UsageError("these pages list no document", hint="save the page after its search has been made")
    total = sum(len(paper.documents) for paper in papers)
    note(f"{counted(len(listed), 'link')} to {counted(total, 'document')} of {counted(len(papers), 'paper')}")

    def tell(one: fetching.Fetched) -> None:
        if one.state == "failed":
            note(f"{one.path}: {one.reason} ({one.url})")

    with opened_ledger(database, create=True) as ledger:
        found = fetching.fetch(papers, folder, ledger, get, sleep=sleep, interval=interval, watch=tell)
    entries = catalogue.manifest(papers, {url: one.sha256 for url, one in found.items() if one.sha256})
    text = json.dumps({"papers": entries}, ensure_ascii=False, indent=1) + "\n"
    part = folder / "manifest.json.part"
    part.write_text(text, encoding="utf-8", newline="\n")
    part.replace(folder / "manifest.json")
    states = {state: sum(one.state == state for one in found.values()) for state in ("done", "there", "failed")}
    told = {"papers": len(papers), "documents": total, **states}
    out(
        json.dumps(told, ensure_ascii=False, indent=1)
        if as_json
        else f"fetched {states['done']:,}, there before {states['there']:,}, failed {states['failed']:,} of {total:,}"
    )
    if states["failed"]:
        note("the same command tries what failed again")
    return 1 if states["failed"] else 0


def _page(page: str, base: str, get: Callable[[str], Any]) -> tuple[str, str]:
    """A search page and its address."""
    if "://" not in page:
        return text_of(Path(page)), base
    reply = get(page)
    if reply.status != 200:
        raise UsageError(f"{page} cannot be read: {reply.error or f'HTTP {reply.status}'}")
    return reply.body.decode("utf-8", "replace"), page
