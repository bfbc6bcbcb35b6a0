"""`twlocal report`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import db_option, json_option, lang_option, language, note, out, wants_color, width
from twlocal.plural import counted

if TYPE_CHECKING:
    from twlocal.bundle.stored import Imported, Stored
    from twlocal.runs import RunRow, Runs


@click.command()
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--by", type=click.Choice(["subject"]), help="Add a line for each subject.")
@click.option("--reader", help="Read the responses with another reader (box, lenient, twinkle_box, board_strict, …).")
@click.option(
    "--withdrawn",
    metavar="FILE",
    type=click.Path(exists=True, path_type=Path),
    help="Leave out the rows that this list names: withdrawn.jsonl, its folder, or a file of content hashes.",
)
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page to FILE instead: scores, charts and every item, in one file that needs no network.",
)
@click.option("--private", is_flag=True, help="With --html: leave questions and responses out.")
@json_option
@lang_option
@db_option
def report(name: str | None, **options: Any) -> None:
    """Score RUN (the newest, when none is named) from its stored responses. Nothing is asked again."""
    from twlocal.bundle.stored import opened
    from twlocal.errors import UsageError

    if options["private"] and not options["html"]:
        raise UsageError("--private is about the page that --html writes", hint="--html FILE --private")
    if options["html"] and options["as_json"]:
        raise UsageError("--html writes a page, --json prints data", hint="call it twice")
    with opened(options["database"], create=False, warn=note) as (runs, stored):
        # A run's name goes first: an imported result never has one that is taken.
        result = stored.result(name) if name and not any(row.name == name for row in runs.all()) else None
        if result is not None:
            _show_imported(stored, result, options)
        elif options["html"]:
            _write_page(runs, runs.get(name), options)
        else:
            run = runs.get(name)
            show_report(runs, run, options, withdrawn=_listed_of(runs, run, options))


def _listed_of(runs: Runs, run: RunRow, options: Mapping[str, Any]) -> AbstractSet[str]:
    """The withdrawn rows, with a word where the list is of other data."""
    if not options["withdrawn"]:
        return frozenset()
    from twlocal.plan import withdrawn_by

    listed = _listed(options)
    if listed and not listed & withdrawn_by(run.manifest) and sum(runs.planned(run.id, listed).values()) == run.rows:
        note(f"{options['withdrawn']} names {counted(len(listed), 'row')}, none of them in {run.name}")
    return listed


def _listed(options: Mapping[str, Any]) -> AbstractSet[str]:
    if not options["withdrawn"]:
        return frozenset()
    from twlocal.dataset import withdrawals

    return withdrawals.read(options["withdrawn"]).keys()


def _write_page(runs: Runs, run: RunRow, options: Mapping[str, Any]) -> None:
    from twlocal.report.page import write

    count = write(
        runs,
        run,
        options["html"],
        reader=options["reader"],
        private=options["private"],
        withdrawn=_listed_of(runs, run, options),
        lang=language(options["lang"]),
    )
    note(f"{options['html']}: {run.name}, {counted(count, 'response')}")


def _show_imported(stored: Stored, result: Imported, options: Mapping[str, Any]) -> None:
    import json

    from twlocal.bundle.known import as_dict, known
    from twlocal.bundle.terminal import render
    from twlocal.errors import UsageError

    if options["html"]:
        raise UsageError(
            f"{result.name} was imported, and a page is made from stored responses",
            hint="leave --html out, or import a bundle made with --full",
        )
    if options["reader"]:
        raise UsageError(
            f"{result.name} was imported without responses that could be read again",
            hint="leave --reader out; a bundle made with --full can be read again",
        )
    withdrawn = _listed(options)
    rows = list(stored.rows(result.id))
    if withdrawn and any(row.ch is None for row in rows):
        raise UsageError(
            f"{result.name} does not tell the content hashes of its rows, so none can be left out",
            hint="leave --withdrawn out; twlocal's own bundles tell them",
        )
    left = [row for row in rows if row.ch not in withdrawn]
    if len(left) < len(rows):
        note(f"withdrawn and left out: {len(rows) - len(left):,} of {counted(len(rows), 'row')}")
    found = known(result, left)
    if options["as_json"]:
        out(json.dumps(as_dict(found), ensure_ascii=False, indent=1))
        return
    lang, by_subject = language(options["lang"]), options["by"] == "subject"
    out(render(found, width(sys.stdout), by_subject=by_subject, lang=lang, encoding=sys.stdout.encoding))


def show_report(
    runs: Runs, run: RunRow, options: Mapping[str, Any], *, withdrawn: AbstractSet[str] = frozenset()
) -> None:
    """Print a run's report as the options want it, without the rows whose content hashes are `withdrawn`."""
    import json

    from twlocal.report.build import build
    from twlocal.report.jsonview import as_dict
    from twlocal.report.terminal import render

    view = build(runs, run, reader=options.get("reader"), withdrawn=withdrawn)
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
