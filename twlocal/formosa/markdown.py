"""An article's Markdown → blocks of prose, each with its place in the file. Pure; the parser is markdown-it.

Left out, and counted by name: front matter, references and further reading, footnotes, tables, images and their
captions, code, comments, embedded HTML. Flattened into prose: links, wikilinks, emphasis, quotes, callouts, lists,
text in HTML. Headings are not prose; each block knows the one it stands under.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from twlocal.errors import EngineMissing
from twlocal.formosa.inline import Counts, flatten, html_text
from twlocal.formosa.sections import callout, is_label, left_out, opens_left_out, without_label

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LINE = re.compile(r"\r\n|\r|\n")
_QUIET_BLOCKS = {"fence": "code", "code_block": "code", "hr": "rule"}
_LISTS = ("bullet_list_open", "ordered_list_open")
_DROPPED_REGIONS = {
    "table_open": ("table_close", "table"),
    "footnote_block_open": ("footnote_block_close", "footnotes"),
    "footnote_reference_open": ("footnote_reference_close", "footnote"),
}


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph, list item or quoted paragraph as prose.

    `start` and `end` are offsets in characters of the file's text and hold its whole lines; `section` is the heading
    it stands under, "" before the first.
    """

    text: str
    start: int
    end: int
    section: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """An article read: its front matter as written, its blocks in order, and how much of what was left out."""

    front: str
    blocks: tuple[Block, ...]
    dropped: Counts = field(default_factory=Counter)


@cache
def parser() -> MarkdownIt:
    """The CommonMark parser with tables, footnotes and front matter. Raises EngineMissing without the extra."""
    try:
        from markdown_it import MarkdownIt
        from mdit_py_plugins.footnote import footnote_plugin
        from mdit_py_plugins.front_matter import front_matter_plugin
    except ImportError as error:
        raise EngineMissing(
            "reading Markdown needs markdown-it-py, which is not installed", hint="pip install 'twlocal[formosa]'"
        ) from error
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).use(front_matter_plugin).use(footnote_plugin)


def read(text: str) -> Page:
    """Read one article. `text` is the file's, line ends and byte order mark included."""
    # The parser knows no byte order mark; front matter would not be seen behind one.
    marked = text.startswith("\ufeff")
    tokens = parser().parse(text[1:] if marked else text)
    return _Walk(_line_starts(text, 1 if marked else 0), tokens).page()


def front_matter(text: str) -> str:
    """The front matter alone, without its `---` lines; "" where there is none. Reads no further than it."""
    found = re.match(r"\ufeff?---[ \t]*(?:\r\n|\r|\n)(.*?)(?:\r\n|\r|\n)---[ \t]*(?:\r\n|\r|\n|$)", text, re.DOTALL)
    return found[1] if found else ""


def _line_starts(text: str, first: int) -> list[int]:
    starts = [first, *(found.end() for found in _LINE.finditer(text, first))]
    # A last line without a line end: lines are looked up one past the last.
    return [*starts, len(text)]


class _Walk:
    """One pass over the block tokens. State lives here and nowhere else."""

    def __init__(self, starts: list[int], tokens: list[Token]) -> None:
        self._starts = starts
        self._tokens = tokens
        self._blocks: list[Block] = []
        self._dropped: Counts = Counter()
        self._front = ""
        self._section = ""
        # The level of the heading whose section is left out, 0 when none is.
        self._skipping = 0
        # The paragraph before was 「延伸閱讀：」: the list behind it goes with it.
        self._list_goes = False
        # The block before was an image or a player: a paragraph all in italics is its caption.
        self._pictured = False

    def page(self) -> Page:
        at = 0
        while at < len(self._tokens):
            at = self._step(at)
        return Page(self._front, tuple(self._blocks), +self._dropped)

    def _step(self, at: int) -> int:
        token = self._tokens[at]
        if token.type in _DROPPED_REGIONS:
            close, name = _DROPPED_REGIONS[token.type]
            self._dropped[name] += 1
            self._pictured = False
            return self._behind(at, close)
        if token.type == "front_matter":
            self._front = token.content
            self._dropped["front matter"] += 1
        elif token.type == "heading_open":
            self._heading(token, self._tokens[at + 1])
            return at + 3
        elif token.type in _QUIET_BLOCKS:
            self._dropped[_QUIET_BLOCKS[token.type]] += 1
            self._pictured = self._list_goes = False
        elif token.type in _LISTS and self._list_goes:
            self._list_goes = False
            return self._behind(at, token.type.replace("open", "close"))
        elif token.type == "blockquote_open" and self._pointing_callout(at):
            self._dropped["left-out section"] += 1
            return self._behind(at, "blockquote_close")
        elif token.type == "html_block":
            self._html(token)
        elif token.type == "paragraph_open":
            self._paragraph(token, self._tokens[at + 1])
            return at + 3
        return at + 1

    def _behind(self, at: int, close: str) -> int:
        level = self._tokens[at].level
        while self._tokens[at].type != close or self._tokens[at].level != level:
            at += 1
        return at + 1

    def _heading(self, token: Token, inline: Token) -> None:
        level = int(token.tag[1])
        title = flatten(inline.children or [], Counter())
        self._pictured = self._list_goes = False
        if self._skipping and level > self._skipping:
            return
        self._skipping = level if left_out(title) else 0
        if self._skipping:
            self._dropped["left-out section"] += 1
            return
        self._dropped["heading"] += 1
        self._section = "" if is_label(title) else title

    def _pointing_callout(self, at: int) -> bool:
        first = next((token for token in self._tokens[at:] if token.type == "inline"), None)
        title = callout(first.content.split("\n", 1)[0]) if first else None
        return title is not None and left_out(title[1])

    def _html(self, token: Token) -> None:
        if self._skipping:
            return
        text = html_text(token.content, self._dropped)
        self._pictured = not text and "<!--" not in token.content
        if text:
            self._add(token, text)

    def _paragraph(self, token: Token, inline: Token) -> None:
        if self._skipping:
            return
        children = list(inline.children or [])
        pictures = any(child.type == "image" for child in children)
        if (pictures or self._pictured) and _all_italic(children):
            self._dropped["caption"] += 1
            self._dropped["image"] += sum(child.type == "image" for child in children)
            self._pictured = False
            return
        if callout(inline.content.split("\n", 1)[0]):
            self._dropped["callout mark"] += 1
            children = _behind_first_line(children)
        text = flatten(children, self._dropped)
        self._pictured = pictures and not text
        self._list_goes = opens_left_out(text)
        if self._list_goes:
            self._dropped["left-out section"] += 1
            return
        self._add(token, without_label(text))

    def _add(self, token: Token, text: str) -> None:
        if not text or token.map is None:
            return
        first, behind = token.map
        self._blocks.append(Block(text, self._starts[first], self._starts[behind], self._section))


def _all_italic(children: list[Token]) -> bool:
    words = [child for child in children if child.type not in ("image", "softbreak", "hardbreak")]
    words = [child for child in words if child.type != "text" or child.content.strip()]
    return (
        len(words) > 2
        and words[0].type == "em_open"
        and words[-1].type == "em_close"
        and all(child.type != "em_close" or child.level != words[0].level for child in words[:-1])
    )


def _behind_first_line(children: list[Token]) -> list[Token]:
    for at, child in enumerate(children):
        if child.type in ("softbreak", "hardbreak"):
            return children[at + 1 :]
    return []
