"""The printings of a build as items of an audit. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from twlocal.item import Item

from .decide import ELSEWHERE, FOLDED, PUBLISHED, WITHDRAWN
from .filters import Candidate


def printings(candidates: Iterable[Candidate], fates: Mapping[tuple[str, int], tuple[str, str, str]]) -> list[Item]:
    """The items that passed the filters of a build, folded ones included, with year and flags for the classes.

    `fates` maps (paper, number) to (subject, fate, content hash).
    """
    items: list[Item] = []
    for one in candidates:
        subject, fate, _ = fates.get((one.paper, one.number), ("", "", ""))
        if fate in (PUBLISHED, WITHDRAWN, FOLDED, ELSEWHERE) and one.answer is not None:
            meta = {"year": "" if one.year is None else str(one.year), "flags": " ".join(one.flags)}
            items.append(Item(one.question, one.texts, one.answer, subject, f"{one.paper}-{one.number:03d}", meta))
    return items
