"""Rows of one set that are in another: between the splits of a dataset, or between two datasets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from twlocal.audit.fingerprint import fold, of_item
from twlocal.item import Item


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


def overlap(items: Sequence[Item], others: Iterable[Item]) -> Overlap:
    """What of `items` is in `others`."""
    theirs: dict[str, Item] = {}
    hashes: set[str] = set()
    stems: set[str] = set()
    for other in others:
        theirs.setdefault(of_item(other), other)
        hashes.add(other.content_hash)
        stems.add(fold(other.question))
    same: list[tuple[Item, Item]] = []
    verbatim = alike = 0
    for item in items:
        twin = theirs.get(of_item(item))
        if twin is not None:
            same.append((item, twin))
            verbatim += item.content_hash in hashes
        elif len(stem := fold(item.question)) >= 10 and stem in stems:
            # Shorter ones (下列敘述何者正確) are everybody's.
            alike += 1
    return Overlap(len(items), tuple(same), verbatim, alike)


def between_splits(splits: Mapping[str, Sequence[Item]]) -> dict[tuple[str, str], Overlap]:
    """For each ordered pair of splits (a, b) that share a row: what of `a` is in `b`."""
    found = {(a, b): overlap(splits[a], splits[b]) for a, b in permutations(splits, 2)}
    return {pair: shared for pair, shared in found.items() if shared.same}


def groups_across(splits: Mapping[str, Sequence[Item]]) -> int:
    """How many duplicate groups have members in more than one split."""
    places: defaultdict[str, set[str]] = defaultdict(set)
    for name, items in splits.items():
        for item in items:
            places[of_item(item)].add(name)
    return sum(len(names) > 1 for names in places.values())
