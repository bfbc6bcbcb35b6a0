"""Printings of one question, and whether their keys agree: by the answer's text, never by its letter.

Option order varies between printings, and comparing letters manufactures conflicts (322 in TMMLU+, of which exactly
one was real: the paper's section 3.2).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from twlocal.audit.fingerprint import fold, of_item, plain
from twlocal.item import LABELS, Item
from twlocal.stats import Interval, wilson

_END = re.compile(r"[。.,;:、]+$")


def answer_text(item: Item) -> str:
    """The text of the keyed option."""
    return item.options[LABELS.index(item.answer)]


@dataclass(frozen=True)
class Group:
    """Two or more printings of one question, in the order in which they were given."""

    fingerprint: str
    members: tuple[Item, ...]

    @cached_property
    def agrees(self) -> bool:
        """Whether all keys say the same, typography aside."""
        return len({fold(answer_text(item)) for item in self.members}) == 1

    @cached_property
    def agrees_to_the_letter(self) -> bool:
        """Whether they do with their punctuation; width, white space and a full stop at the end say nothing."""
        return len({_END.sub("", plain(answer_text(item))) for item in self.members}) == 1

    @cached_property
    def reordered(self) -> bool:
        """Whether the options stand in another order somewhere."""
        return len({tuple(map(fold, item.options)) for item in self.members}) > 1

    @cached_property
    def letters_differ(self) -> bool:
        """Whether a comparison of letters would call it a conflict."""
        return len({item.answer for item in self.members}) > 1


@dataclass(frozen=True)
class Agreement:
    """How many of `groups` agree. `interval` is Wilson's, at 95%."""

    groups: int
    conflicts: int

    @property
    def rate(self) -> float | None:
        """The share that agrees, 0–1; None without a group."""
        return (self.groups - self.conflicts) / self.groups if self.groups else None

    @property
    def interval(self) -> Interval:
        return wilson(self.groups - self.conflicts, self.groups)

    @property
    def noise(self) -> Interval:
        """The noise floor: the interval of the share that disagrees."""
        return wilson(self.conflicts, self.groups)


def duplicate_groups(items: Iterable[Item]) -> list[Group]:
    """The groups of two or more items with one fingerprint, in the order of their first members."""
    found: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        found[of_item(item)].append(item)
    return [Group(key, tuple(members)) for key, members in found.items() if len(members) > 1]


def agreement(groups: Iterable[Group]) -> Agreement:
    """Counts the groups whose keys agree and those whose keys do not."""
    verdicts = [group.agrees for group in groups]
    return Agreement(len(verdicts), verdicts.count(False))
