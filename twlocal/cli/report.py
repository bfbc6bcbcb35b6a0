"""`twlocal report`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import db_option, json_option, lang_option, language, opened, out, wants_color, width

if TYPE_CHECKING:
    from twlocal.runs import RunRow, Runs


@click.command()
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--by", type=click.Choice(["subject"]), help="Add a line a subject.")
@click.option("--reader", help="Read the responses with another reader (box, lenient, twinkle_box, board_strict, …).")
@json_option
@lang_option
@db_option
def report(name: str | None, **options: Any) -> None:
    """Score RUN (the newest, when none is named) from its stored responses. Nothing is asked again."""
    with opened(options["database"], create=False) as runs:
        show_report(runs, runs.get(name), options)


def show_report(runs: Runs, run: RunRow, options: Mapping[str, Any]) -> None:
    """Print a run's report as the options want it."""
    import json

    from twlocal.report.build import build
    from twlocal.report.jsonview import as_dict
    from twlocal.report.terminal import render

    view = build(runs, run, reader=options.get("reader"))
    if options["as_json"]:
        out(json.dumps(as_dict(view), ensure_ascii=False, indent=1))
        return
    out(
        render(
            view,
            width(sys.stdout),
            color=wants_color(sys.stdout),
            by_subject=options.get("by") == "subject",
            lang=language(options["lang"]),
            encoding=sys.stdout.encoding,
        )
    )
