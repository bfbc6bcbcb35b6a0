"""The stage `exam subjects`: how many titles the rules know, and which ones they do not. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from twlocal.errors import UsageError

from .subjects import Match, Rules


@dataclass(frozen=True)
class Title:
    """A title, how many papers carry it, and what it examines."""

    title: str
    papers: int
    match: Match


@dataclass(frozen=True)
class Coverage:
    """Papers whose titles lead to exactly one subject, to a stated exclusion (by name), or to nothing."""

    titles: tuple[Title, ...]

    @property
    def papers(self) -> int:
        return sum(one.papers for one in self.titles)

    @property
    def matched(self) -> int:
        return sum(one.papers for one in self.titles if one.match.subject)

    @property
    def excluded(self) -> Mapping[str, int]:
        names: dict[str, int] = {}
        for one in self.titles:
            if one.match.exclusion:
                names[one.match.exclusion] = names.get(one.match.exclusion, 0) + one.papers
        return dict(sorted(names.items()))

    @property
    def unknown(self) -> tuple[Title, ...]:
        """Titles that no rule knows, the most frequent first."""
        return tuple(
            sorted((one for one in self.titles if one.match.unknown), key=lambda one: (-one.papers, one.title))
        )


def coverage(counts: Mapping[str, int], rules: Rules, *, keyed: bool) -> Coverage:
    """What the rules make of titles; `keyed` says that all these papers have an answer key."""
    return Coverage(tuple(Title(title, n, rules.match(title, keyed=keyed)) for title, n in sorted(counts.items())))


def read_titles(text: str, name: str) -> dict[str, int]:
    """Titles with their frequencies from a CSV with the columns subject_title and catalog_rows (default 1 each)."""
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    if "subject_title" not in (reader.fieldnames or ()):
        raise UsageError(f"{name} has no column subject_title")
    counts: dict[str, int] = {}
    for row in reader:
        number = (row.get("catalog_rows") or "1").strip()
        if not (number.isascii() and number.isdigit()):
            raise UsageError(f"{name}:{reader.line_num}: catalog_rows is {number!r}, not a number")
        counts[row["subject_title"] or ""] = counts.get(row["subject_title"] or "", 0) + int(number)
    return counts


def counted(titles: Iterable[str]) -> dict[str, int]:
    """How often each title occurs."""
    counts: dict[str, int] = {}
    for title in titles:
        counts[title] = counts.get(title, 0) + 1
    return counts
