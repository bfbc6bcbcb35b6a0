"""Mainland vocabulary written in Traditional characters: where it stands in a text, and how sure that is. Pure.

A hit is the longest term at its place. It is no hit where an exception of the term covers it (神經網絡, 少數組織,
質量守恆, 博客來: another word, or a word across the border of two), nor where the term is *mentioned*, not used:
「軟件」 in quotes, （軟體／軟件）, or what a text says that the mainland calls it (軟體，大陸稱軟件). Strict terms
reject an item, review terms are shown to a person.
Which is which is measured on native text (`measure.py`), and the shipped list is `lexicon.toml`.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from twlocal.errors import DatasetError

STRICT = "strict"
REVIEW = "review"
DROPPED = "dropped"

_MENTION_BEFORE = "「『“\"'（(／/"
_MENTION_BEHIND = "」』”\"'）)／/"
# Whose word it is, said right before the term or right behind it; over folded text, whose commas are ASCII.
_WHOSE = r"(?:大陸|中國|對岸|陸方|港澳|香港|簡體中文)"
_CALLED = re.compile(rf"{_WHOSE}[^,。;!?\n]{{0,6}}(?:稱|叫|譯|寫作|說成|用語|用詞|慣用|說法|名稱)[^,。;!?\n]{{0,4}}\Z")
_CALLS_IT = re.compile(rf"[^,。;!?\n]{{0,4}}{_WHOSE}[^,。;!?\n]{{0,3}}(?:用語|用詞|說法|譯名|稱呼|習稱)")
_AROUND = 16  # characters in which that is said


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the mainland, what Taiwan says instead, and the longer strings in which it is another word."""

    text: str
    taiwan: str
    level: str
    exceptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A term used in a text, at (start, end) in characters."""

    term: Term
    start: int
    end: int


class Lexicon:
    """Terms ready to be looked for. Terms of the level `dropped` are known but never looked for."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self.terms = tuple(sorted(terms, key=lambda term: term.text))
        self._by_first: dict[str, list[tuple[str, Term]]] = defaultdict(list)
        self._exceptions: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for term in self.terms:
            word = fold(term.text)
            if term.level != DROPPED:
                self._by_first[word[0]].append((word, term))
            for phrase in map(fold, term.exceptions):
                self._exceptions[phrase[0]].append((phrase, word))
        for found in self._by_first.values():
            found.sort(key=lambda entry: -len(entry[0]))

    @property
    def sha256(self) -> str:
        """Over everything that could change a finding."""
        lines = (f"{term.text}\t{term.level}\t{' '.join(sorted(term.exceptions))}\n" for term in self.terms)
        return hashlib.sha256("".join(lines).encode("utf-8")).hexdigest()

    def find(self, text: str) -> list[Hit]:
        """The terms used in the text, from left to right, longest first, not overlapping. Linear in the text."""
        folded = fold(text)
        covers = self._covers(folded)
        hits: list[Hit] = []
        at = 0
        while at < len(folded):
            for word, term in self._by_first.get(folded[at], ()):
                if folded.startswith(word, at):
                    end = at + len(word)
                    if not _is_covered(covers.get(word, ()), at, end) and not is_mention(folded, at, end):
                        hits.append(Hit(term, at, end))
                    at = end - 1
                    break
            at += 1
        return hits

    def _covers(self, folded: str) -> dict[str, list[tuple[int, int]]]:
        covers: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for at, char in enumerate(folded):
            for phrase, word in self._exceptions.get(char, ()):
                if folded.startswith(phrase, at):
                    covers[word].append((at, at + len(phrase)))
        return covers


def _is_covered(spans: Iterable[tuple[int, int]], start: int, end: int) -> bool:
    return any(first <= start and end <= behind for first, behind in spans)


def is_mention(text: str, start: int, end: int) -> bool:
    """Whether the term at (start, end) is spoken of and not used: alone in quotes, brackets or between slashes, or said
    to be the mainland's word."""
    if start > 0 and end < len(text) and text[start - 1] in _MENTION_BEFORE and text[end] in _MENTION_BEHIND:
        return True
    return bool(
        _CALLED.search(text[max(0, start - _AROUND) : start])
        or _CALLS_IT.match(text[end : min(len(text), end + _AROUND)])
    )


def fold(text: str) -> str:
    """A text of the same length in which width, case and 臺/台 make no difference."""
    return "".join(map(_folded, text))


@cache
def _folded(char: str) -> str:
    if char == "臺":
        return "台"
    plain = unicodedata.normalize("NFKC", char).lower()
    return plain if len(plain) == 1 else char


def parse(text: str, place: str) -> Lexicon:
    """A lexicon from TOML as `measure.write` writes it. Raises DatasetError where it does not hold together."""
    import tomllib

    try:
        table = tomllib.loads(text)
        terms = [
            Term(row["term"], row.get("taiwan", ""), level, tuple(row.get("except", ())))
            for level in (STRICT, REVIEW, DROPPED)
            for row in table.get(level, ())
        ]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{place} is not a lexicon ({error})", hint="twlocal formosa lexicon writes one") from error
    if not terms or not all(isinstance(term.text, str) and term.text for term in terms):
        raise DatasetError(f"{place} holds no terms", hint="twlocal formosa lexicon writes a lexicon")
    return Lexicon(terms)


@cache
def shipped() -> Lexicon:
    """The lexicon that comes with twlocal."""
    return parse(files(__package__).joinpath("lexicon.toml").read_text(encoding="utf-8"), "lexicon.toml")
