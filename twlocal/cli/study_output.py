"""How the commands of the studies show a report: as text, as JSON, or as a page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from twlocal.cli.common import DEFAULT_DATABASE, json_option, lang_option, language, note, out, width

if TYPE_CHECKING:
    from twlocal.study.report import Report

F = TypeVar("F", bound=Callable[..., Any])

_html_option = click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write a page with plots: one file that needs no network.",
)


def output_options(command: F) -> F:
    """Adds --json, --html and --lang; what `show` takes as `as_json`, `html` and `lang`."""
    for option in (lang_option, _html_option, json_option):
        command = option(command)
    return command


def named(database: Path) -> Path | None:
    """A database as the commands to repeat a study name it: None for the one that is taken without a word."""
    return None if database == DEFAULT_DATABASE else database


def show(report: Report, *, as_json: bool, html: Path | None = None, lang: str | None = None) -> None:
    """Print a study's report on standard output, for a person or for machines, and write its page where one is wanted.

    The page is made before anything is printed: where it cannot be drawn, that is all that is said.
    """
    from twlocal.study.report import as_dict, render

    spoken = language(lang)
    page = _page(report, spoken) if html else None
    if as_json:
        out(json.dumps(as_dict(report), ensure_ascii=False, indent=1))
    else:
        out(render(report, width(sys.stdout), sys.stdout.encoding or "utf-8", spoken))
    if html and page is not None:
        from twlocal.whole import whole

        with whole(html) as part:
            part.write_text(page, encoding="utf-8")
        note(f"written: {html}")


def _page(report: Report, lang: str) -> str:
    from twlocal.study.page import page

    return page(report, lang)
