"""Columns of 0 and 1 → counts, rates and intervals, overall and by subject. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from twlocal.board.cells import ItemSet, Read
from twlocal.tally import Rates


@dataclass(frozen=True)
class Numbers(Rates):
    """Counts of responses as a result's columns tell them, with the rates and intervals of `twlocal.tally`.

    items: distinct questions among the n responses. The other fields are those of `twlocal.tally.Tally`.
    """

    n: int
    items: int
    correct: int
    lenient_correct: int
    boxes: int | None
    parsed: int
    lenient_parsed: int
    truncated: int | None


class Layout:
    """What follows from a set of items alone, made once for all results on it."""

    def __init__(self, items: ItemSet) -> None:
        self.items = items
        self.n = len(items.rows)

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        """Names of the subjects, sorted."""
        return tuple(str(name) for name in self._subjects[0])

    @cached_property
    def _subjects(self) -> tuple[Any, Any]:
        names = np.array([subject for _, _, subject in self.items.rows], dtype=object)
        found: tuple[Any, Any] = np.unique(names.astype(str), return_inverse=True)
        return found

    @cached_property
    def _units(self) -> dict[str, tuple[Hashable, Any, Any]]:
        """By what items can be paired: (which set of units, unit of each item, items of each unit)."""
        found: dict[str, tuple[Hashable, Any, Any]] = {}
        for name, at in (("content", 0), ("stem", 1)):
            keys = [row[at] for row in self.items.rows]
            if keys and all(keys):
                units, inverse, counts = np.unique(np.array(keys), return_inverse=True, return_counts=True)
                same = hashlib.sha256(units.tobytes() + counts.tobytes()).hexdigest()
                found[name] = (same, inverse, counts)
        return found

    def units(self, strict: Any) -> dict[str, tuple[Hashable, Any]]:
        """A result as shares right of each unit (content hash, stem hash), for pairing it with others."""
        value = per_item(strict)
        found: dict[str, tuple[Hashable, Any]] = {}
        for name, (same, inverse, counts) in self._units.items():
            found[name] = (same, np.bincount(inverse, weights=value, minlength=len(counts)) / counts)
        return found

    def overall(self, read: Read) -> Numbers:
        return self._numbers(read, None)[0]

    def by_subject(self, read: Read) -> tuple[tuple[str, Numbers], ...]:
        """Numbers by subject; empty where no item has one."""
        if not self.items.has_subjects:
            return ()
        names, inverse = self._subjects
        return tuple(zip(map(str, names), self._numbers(read, inverse), strict=True))

    def _numbers(self, read: Read, groups: Any) -> list[Numbers]:
        """Numbers of each group of items, or of all of them as one."""
        size = 1 if groups is None else int(groups.max()) + 1

        def total(values: Any) -> list[int]:
            """Sums of a value an item, by group."""
            if groups is None:
                return [int(values.sum())]
            return [int(one) for one in np.bincount(groups, weights=values, minlength=size)]

        def count(column: Any) -> list[int] | list[None]:
            return [None] * size if column is None else total((column == 1).sum(axis=0))

        answered = (read.strict >= 0).sum(axis=0)
        parts = (
            *(total(answered), total(answered > 0), count(read.strict), count(read.lenient), count(read.boxes)),
            *(count(read.parsed), count(read.lenient_parsed), count(read.truncated)),
        )
        return [Numbers(*values) for values in zip(*parts, strict=True)]


def per_item(strict: Any) -> Any:
    """The share of an item's askings that were right, 0 where none was answered."""
    answered = (strict >= 0).sum(axis=0)
    return (strict == 1).sum(axis=0) / np.maximum(answered, 1)
