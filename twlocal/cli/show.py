"""`twlocal show`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from twlocal.cli.common import columns, db_option, json_option, lang_option, language, opened, out


@click.command()
@click.argument("name", metavar="RUN")
@click.argument("item", metavar="ITEM")
@click.option("--prompt", "whole_prompt", is_flag=True, help="Print the whole chat, system prompt and examples too.")
@json_option
@lang_option
@db_option
def show(name: str, item: str, whole_prompt: bool, as_json: bool, lang: str | None, database: Path) -> None:
    """One ITEM of RUN: what was asked, what came back, what each reader read in it, and why.

    ITEM is its number in the run, its id (or subject/id), or the beginning of its content hash.
    """
    import json

    from twlocal.report.item_view import item_view, render

    with opened(database, create=False) as runs:
        run = runs.get(name)
        view = item_view(runs, run, runs.find_row(run.id, item))
    if as_json:
        out(json.dumps(view, ensure_ascii=False, indent=1))
    else:
        page = render(view, whole_prompt=whole_prompt, lang=language(lang), width=columns(sys.stdout))
        out(page.rstrip("\n"))
