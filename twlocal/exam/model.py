"""What parsed question papers and keys are: frozen data, each item with its doubts, each file with its rejections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .groups import Group
from .notes import Note

# Why a paper is refused as a whole. Papers are refused, never approximated (section 3.1).
REJECTIONS: Mapping[str, str] = {
    "encrypted": "the file wants a password",
    "damaged": "the file cannot be read",
    "rotated": "the text runs askew",
    "no_text_layer": "a page is a picture without text",
    "essay_only": "the paper has no multiple-choice part",
    "no_questions": "no question was found",
    "incomplete": "questions are missing",
    "count_mismatch": "there are more questions than the paper states",
    "missing_option_text": "option text is missing from the text layer",
    "image_markers": "option marks are images that could not be assigned",
    "timeout": "parsing took longer than the limit",
    "memory": "parsing took more memory than the limit",
    "crashed": "the parsing process died",
}


@dataclass(frozen=True)
class Rejection:
    """One reason for which a paper is refused: a key of `REJECTIONS`, and what was seen."""

    reason: str
    detail: str = ""


class Region(NamedTuple):
    """A rectangle on a page (from 1), in points from the upper left."""

    page: int
    x0: float
    top: float
    x1: float
    bottom: float


@dataclass(frozen=True)
class PaperItem:
    """One item as printed. `options` maps A–D to text, in that order.

    `flags` are doubts that a person may want to look at; `excluded` are reasons for which the item cannot be used.
    `group` is the first and last item of the passage it belongs to, `continues` the item it goes on from.
    """

    number: int
    question: str
    options: Mapping[str, str]
    page: int
    flags: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    group: tuple[int, int] | None = None
    continues: int | None = None
    regions: tuple[Region, ...] = ()


@dataclass(frozen=True)
class Header:
    """A paper's own description. `year` is Minguo; `codes` are those that may stand on its key, the likeliest first."""

    title: str = ""
    year: int | None = None
    fields: dict[str, str] = field(default_factory=dict)
    codes: tuple[str, ...] = ()
    stated_counts: tuple[int, ...] = ()


@dataclass(frozen=True)
class Paper:
    """A question paper. Its items are only to be used when `accepted`, and then those without `excluded`.

    `stated_count` is None when the paper states none. `flags` are doubts about the paper as a whole.
    """

    header: Header = field(default_factory=Header)
    stated_count: int | None = None
    items: tuple[PaperItem, ...] = ()
    groups: tuple[Group, ...] = ()
    pages: int = 0
    flags: tuple[str, ...] = ()
    rejections: tuple[Rejection, ...] = ()

    @property
    def accepted(self) -> bool:
        return not self.rejections

    @property
    def usable(self) -> tuple[PaperItem, ...]:
        """The items of an accepted paper that nothing speaks against."""
        return tuple(item for item in self.items if not item.excluded) if self.accepted else ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Everything that a person should know, one sentence each: rejections, paper flags, excluded items."""
        lines = [f"{r.reason}: {r.detail or REJECTIONS.get(r.reason, '')}" for r in self.rejections]
        lines += list(self.flags)
        lines += [
            f"question {item.number} is excluded: {', '.join(item.excluded)}" for item in self.items if item.excluded
        ]
        return tuple(lines)


@dataclass(frozen=True)
class Key:
    """An answer key as printed. `cells` maps item numbers to `A`–`E` or `#`; `notes` explain the `#`.

    `kind` is `answer` or `correction` (測驗題標準答案更正). `code` is the 試題代號, None when the key carries none.
    A key with `rejections` is not to be used.
    """

    kind: str = "answer"
    cells: dict[int, str] = field(default_factory=dict)
    notes: dict[int, Note] = field(default_factory=dict)
    stated_count: int | None = None
    code: str | None = None
    subject: str = ""
    remarks: str = ""
    rejections: tuple[Rejection, ...] = ()

    @property
    def accepted(self) -> bool:
        return not self.rejections
