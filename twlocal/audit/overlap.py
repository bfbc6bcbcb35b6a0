"""Rows of one set that are in another: between the splits of a dataset, or between two datasets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from twlocal.audit.fingerprint import fold, of_item
from twlocal.item import Item

_TELLING = 10  # characters: shorter stems (下列敘述何者正確) are everybody's


@dataclass(frozen=True)
class Overlap:
    """Which of `rows` items are in the other set.

    `same` are pairs (item, its twin) with one fingerprint; `verbatim` counts those that agree to the letter, order and
    key included; `stems` counts further items that share only their stem (ten characters or more) with the other set.
    """

    rows: int
    same: tuple[tuple[Item, Item], ...]
    verbatim: int
    stems: int


class _Index:
    """Items with what they are compared by, made once."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.items = list(items)
        self.marks = [of_item(item) for item in self.items]
        self.stems = [fold(item.question) for item in self.items]
        self.by_mark = dict(zip(reversed(self.marks), reversed(self.items), strict=True))  # the first of each
        self.hashes = {item.content_hash for item in self.items}
        self.all_stems = set(self.stems)


def overlap(items: Iterable[Item], others: Iterable[Item]) -> Overlap:
    """What of `items` is in `others`."""
    return _overlap(_Index(items), _Index(others))


def _overlap(ours: _Index, theirs: _Index) -> Overlap:
    same: list[tuple[Item, Item]] = []
    verbatim = alike = 0
    for item, mark, stem in zip(ours.items, ours.marks, ours.stems, strict=True):
        twin = theirs.by_mark.get(mark)
        if twin is not None:
            same.append((item, twin))
            verbatim += item.content_hash in theirs.hashes
        elif len(stem) >= _TELLING and stem in theirs.all_stems:
            alike += 1
    return Overlap(len(ours.items), tuple(same), verbatim, alike)


def between_splits(splits: Mapping[str, Sequence[Item]]) -> dict[tuple[str, str], Overlap]:
    """For each ordered pair of splits (a, b) that share a row: what of `a` is in `b`."""
    if len(splits) < 2:
        return {}
    indexed = {name: _Index(items) for name, items in splits.items()}
    found = {(a, b): _overlap(indexed[a], indexed[b]) for a, b in permutations(splits, 2)}
    return {pair: shared for pair, shared in found.items() if shared.same}


def groups_across(splits: Mapping[str, Sequence[Item]]) -> int:
    """How many duplicate groups have members in more than one split."""
    if len(splits) < 2:
        return 0
    places: defaultdict[str, set[str]] = defaultdict(set)
    for name, items in splits.items():
        for item in items:
            places[of_item(item)].add(name)
    return sum(len(names) > 1 for names in places.values())
