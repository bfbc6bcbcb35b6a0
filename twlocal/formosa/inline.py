"""The text inside one Markdown block: what a reader reads, without what only a page needs. Pure.

Takes the inline tokens of markdown-it; counts what it leaves out under the names of `Counts`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

Counts = Counter[str]

_EMBED = re.compile(r"!\[\[[^\[\]\n]*\]\]")
_WIKILINK = re.compile(r"\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\]")
# Behind the end of a sentence a wikilink points elsewhere: 「…不足百人。[[語言復振運動]]」.
_POINTERS = re.compile(
    r"(?:^|(?<=[。！？!?…」』）)]))[\s→、，·｜|]*(?:\[\[[^\[\]\n]+\]\][\s→、，·｜|]*)+$", re.MULTILINE
)
_UNDEFINED_FOOTNOTE = re.compile(r"[ \t]*\[\^[^\]\n]+\]")
# A bare address ends where Chinese text or its punctuation begins.
_ADDRESS = re.compile(r"(?:https?://|www\.)[!-~]+")
# What CommonMark leaves standing beside full-width punctuation: **「金獎」**得主.
_STRAY = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|(?<![A-Za-z0-9])__(?=\S)|(?<=\S)__(?![A-Za-z0-9])")
_SPACES = re.compile(r"[ \t\u00a0\u3000]+")
_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff\ufe0e\ufe0f\u00ad]")
_HOLLOW = re.compile(r"（[\s，、；;,]*）|\([\s,;]*\)")
_BEFORE_MARK = re.compile(r"[ \t]+(?=[，。、；：？！」』》〉）])")
# Tags whose content is not prose.
_SILENT = frozenset({"script", "style", "iframe", "svg", "figure", "table", "pre", "code", "rt", "rp", "template"})
_BREAKING = frozenset({"br", "p", "div", "li", "summary", "h1", "h2", "h3", "h4", "h5", "h6", "details", "blockquote"})


def flatten(tokens: Sequence[Token], counts: Counts) -> str:
    """The prose of a block's inline tokens. Lines that the writer broke by hand stay lines; others are joined."""
    parts: list[str] = []
    silent: list[str] = []
    for token in tokens:
        if token.type == "html_inline":
            _html_inline(token.content, parts, silent, counts)
        elif silent:
            continue
        elif token.type in ("text", "text_special", "code_inline"):
            parts.append(token.content)
        elif token.type == "softbreak":
            parts.append("\r")
        elif token.type == "hardbreak":
            parts.append("\n")
        elif token.type == "image":
            counts["image"] += 1
        elif token.type == "footnote_ref":
            counts["footnote mark"] += 1
    return tidy("".join(parts), counts)


def tidy(text: str, counts: Counts) -> str:
    """Text without wikilink brackets, addresses, stray emphasis marks, invisible characters and doubled spaces."""
    text, embeds = _EMBED.subn("", text)
    counts["image"] += embeds
    text = text.replace("\r", "\n") if "[[" in text and _only_links(text) else text
    text, pointers = _POINTERS.subn("", text)
    counts["wikilink pointer"] += pointers
    text, links = _WIKILINK.subn(lambda found: (found[2] or found[1]).strip(), text)
    counts["wikilink"] += links
    text, marks = _UNDEFINED_FOOTNOTE.subn("", text)
    counts["footnote mark"] += marks
    text, addresses = _ADDRESS.subn("", text)
    counts["address"] += addresses
    text = _INVISIBLE.sub("", text)
    text = _STRAY.sub("", text)
    text = _HOLLOW.sub("", text)
    lines = (_BEFORE_MARK.sub("", _SPACES.sub(" ", line)).strip() for line in _joined(text).split("\n"))
    return "\n".join(line for line in lines if line)


def html_text(html: str, counts: Counts) -> str:
    """What a reader reads in a block of HTML, a line a block element; comments and embedded players are left out."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    counts["comment"] += reader.comments
    counts["html"] += 1
    return tidy("".join(reader.parts), counts)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.comments = 0
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent.append(tag)
        if tag in _BREAKING:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._silent:
            while self._silent.pop() != tag:
                pass
        if tag in _BREAKING:
            self.parts.append("\n")

    def handle_comment(self, data: str) -> None:
        self.comments += 1

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data.replace("\n", "\r"))


def _html_inline(html: str, parts: list[str], silent: list[str], counts: Counts) -> None:
    if html.startswith("<!--"):
        counts["comment"] += 1
        return
    counts["html"] += 1
    found = re.match(r"<(/?)([A-Za-z][A-Za-z0-9-]*)", html)
    if not found:
        return
    closing, tag = bool(found[1]), found[2].lower()
    if tag in _BREAKING and not silent:
        parts.append("\n")
    if tag not in _SILENT or html.endswith("/>"):
        return
    if not closing:
        silent.append(tag)
    elif tag in silent:
        while silent.pop() != tag:
            pass


def _only_links(text: str) -> bool:
    return not _WIKILINK.sub("", text).strip("\r\n \t、，·｜|→")


def _joined(text: str) -> str:
    # A soft break is a space between words of an alphabet and nothing between Chinese characters.
    if "\r" not in text:
        return text
    joined: list[str] = []
    for line in text.split("\r"):
        line = line.strip(" \t")
        if joined and line and joined[-1] and joined[-1][-1].isascii() and line[0].isascii():
            joined.append(" ")
        joined.append(line)
    return "".join(joined)
