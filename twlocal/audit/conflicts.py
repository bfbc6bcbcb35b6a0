"""Groups whose keys disagree, each with a proposed class; a person decides (the paper's appendix A, table 5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from twlocal.audit import references
from twlocal.audit.fingerprint import fold
from twlocal.audit.groups import Group, answer_text
from twlocal.item import Item

FIGURE, TYPOGRAPHY, REVISED, VIGNETTE, TRUE = "figure", "typography", "revised", "vignette", "true"
CLASSES = {
    FIGURE: "the stem names a figure, table or passage that the text does not carry",
    TYPOGRAPHY: "the keys differ only in punctuation or the case of words: no conflict",
    REVISED: "the option set was rewritten between printings",
    VIGNETTE: "the stem points at a case told outside the item",
    TRUE: "a stem that stands by itself, with keys that disagree",
}


@dataclass(frozen=True)
class Conflict:
    """Printings that disagree. `key` names the conflict in a table of verdicts; `proposed` is a key of `CLASSES`.

    `counted` says whether the agreement rate counts it. A `typography` one is none, and the printings of a `revised`
    one share the stem and some options, not the fingerprint.
    """

    key: str
    proposed: str
    members: tuple[Item, ...]
    why: str
    counted: bool = True


def conflicts(groups: Iterable[Group], items: Sequence[Item]) -> list[Conflict]:
    """The groups that disagree or differ in typography, then the revised ones among `items`."""
    return [_of(group) for group in groups if not group.agrees_to_the_letter] + _revised(items)


def _of(group: Group) -> Conflict:
    proposed, why = _proposed(group)
    return Conflict(group.fingerprint[:16], proposed, group.members, why, counted=not group.agrees)


def _proposed(group: Group) -> tuple[str, str]:
    if group.agrees:
        return TYPOGRAPHY, "the keyed options differ only in punctuation or case"
    for item in group.members:
        words = (
            references.figure(item.question)
            or references.figure_implied(item.question)
            or references.table(item.question)
        )
        if words:
            return FIGURE, f"the stem says {words}"
        if figures := sorted(set(item.meta.get("flags", "").split()) & {"figure", "drawing", "table"}):
            return FIGURE, f"the page shows a {figures[0]} beside it"
    for item in group.members:
        words = (
            references.vignette(item.question)
            or references.continuation(item.question)
            or references.passage(item.question)
        )
        if words:
            return VIGNETTE, f"the stem says {words}"
    return TRUE, "the same stem and options, other keys"


def _revised(items: Sequence[Item]) -> list[Conflict]:
    """Same stem, two or more options in common, and a printing whose key another one offers and does not key."""
    stems: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        stems[fold(item.question)].append(item)
    found: list[Conflict] = []
    for stem, members in stems.items():
        if len(members) < 2 or len(stem) < 10:
            continue  # 下列敘述何者正確 says nothing about the options
        sets = [frozenset(map(fold, item.options)) for item in members]
        keys = [fold(answer_text(item)) for item in members]
        pair = next(
            (
                (i, j)
                for i in range(len(members))
                for j in range(i + 1, len(members))
                if sets[i] != sets[j]
                and len(sets[i] & sets[j]) >= 2
                and keys[i] != keys[j]
                and (keys[i] in sets[j] or keys[j] in sets[i])
            ),
            None,
        )
        if pair:
            both = tuple(members[k] for k in pair)
            key = min(item.content_hash for item in both)[:16]
            why = f"{len(sets[pair[0]] & sets[pair[1]])} options in common, another key"
            found.append(Conflict(key, REVISED, both, why, counted=False))
    return found
