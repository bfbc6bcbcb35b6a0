"""What MkDocs calls while it builds the site: the commands' help as Markdown for mkdocs-click; slips of the theme."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import click
from mkdocs.plugins import event_priority

from twlocal.cli import main


def _markdown(text: str) -> str:
    r"""A help text whose `\b` paragraphs, which click leaves as they are, become blocks of code."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        "\n".join(("```text", *paragraph.splitlines()[1:], "```")) if paragraph.startswith("\b") else paragraph
        for paragraph in paragraphs
    )


def _documented(command: click.Command, context: click.Context) -> click.Command:
    """The command with its help and what stands below its options as one text; a group with all of its commands."""
    command.help = "\n\n".join(_markdown(text) for text in (command.help, command.epilog) if text)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            _documented(inner, click.Context(inner, info_name=name, parent=context))
    return command


# mkdocs-click takes it by this name; MkDocs knows this file by its path alone.
twlocal = _documented(main, click.Context(main, info_name="twlocal"))
sys.modules["site_hooks"] = sys.modules[__name__]


# A line that ends in a Chinese character, or in full-width punctuation, goes on in the next one without a space; the
# next line must be text, not a list's or a table's.
_CHINESE = r"\u3000-\u303f\u3400-\u9fff\uff00-\uffef"
_FULL_WIDTH = r"\u3000-\u303f\uff00-\uffef"
_BROKEN = re.compile(rf"(?<=[{_CHINESE}])\n *(?=[{_CHINESE}])|(?<=[{_FULL_WIDTH}])\n *(?=[\[`A-Za-z0-9]|\*\*)")
_FENCED = re.compile(r"^( *```.*?^ *```$)", re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Take away the line breaks inside Chinese sentences, which a browser would show as spaces."""
    parts = _FENCED.split(markdown)
    return "".join(part if number % 2 else _BROKEN.sub("", part) for number, part in enumerate(parts))


_ALTERNATE = re.compile(r"<link rel=\"?alternate\"?[^>]*>\n?")
# Where a page says its scripts find the site's root, and what is one folder less up.
_ROOT = re.compile(r'"base": "\.\.(?:/(?=\.))?')
_DIALOG = 'class="md-search" data-md-component="search" role="dialog"'


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    """Two things that the theme gets wrong here, and an index of its own for what is searched from an English page.

    For each language that a <link> names, its script asks for a sitemap of that language, which there is none of, and
    from disk there is none at all; the links at the top of each page name the languages too. And its search is a dialog
    without a name.
    """
    english = config.theme["language"] == "en"
    name = "Search" if english else "搜尋"
    if english:
        output = _ROOT.sub(lambda found: '"base": "' if found[0].endswith("/") else '"base": ".', output, count=1)
    return _ALTERNATE.sub("", output).replace(_DIALOG, f'{_DIALOG} aria-label="{name}"')


@event_priority(-200)
def on_post_build(*, config: Any) -> None:
    """Divide the index of both languages, which is written by then, so that each finds its own pages alone."""
    whole = Path(config.site_dir, "search", "search_index.json")
    if not whole.is_file():
        return
    index = json.loads(whole.read_text(encoding="utf-8"))
    english = [entry for entry in index["docs"] if entry["location"].startswith("en/")]
    chinese = [entry for entry in index["docs"] if not entry["location"].startswith("en/")]
    away = [entry | {"location": entry["location"].removeprefix("en/")} for entry in english]
    for folder, entries in ((whole.parent, chinese), (Path(config.site_dir, "en", "search"), away)):
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(index | {"docs": entries}, ensure_ascii=False, separators=(",", ":"))
        (folder / "search_index.json").write_text(text, encoding="utf-8")
        (folder / "search_index.js").write_text(f"var __index = {text}", encoding="utf-8")
