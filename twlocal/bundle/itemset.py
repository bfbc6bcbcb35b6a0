"""Whether the rows of a run are those that a dataset gives under the run's sample. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from twlocal import sample
from twlocal.item import Item


@dataclass(frozen=True)
class Comparison:
    """missing: rows that the dataset gives and the run lacks. extra: rows of the run that the dataset does not give.

    withdrawn: rows of the run that are listed as withdrawn; they are in neither of the others. Content hashes, sorted.
    """

    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        return not self.missing and not self.extra

    def __str__(self) -> str:
        parts = [
            f"{len(hashes):,} {what} (content hashes {', '.join(one[:12] for one in hashes[:3])}"
            f"{', …' if len(hashes) > 3 else ''})"
            for hashes, what in ((self.missing, "missing"), (self.extra, "that it does not hold"))
            if hashes
        ]
        return "; ".join(parts) or "the same rows"


def compare(
    rows: Counter[str], items: Sequence[Item], drawn_as: Mapping[str, Any], withdrawn: AbstractSet[str] = frozenset()
) -> Comparison:
    """Compare a run's content hashes, each with its number of rows, with what `items` give.

    drawn_as: the `sample` of the run's manifest (per_subject, limit, ids). Rows picked by a manifest of ids need only
    be there; otherwise the sample is drawn again. Subjects only decide the draw: renaming a file changes no row.
    """
    gone = Counter({ch: n for ch, n in rows.items() if ch in withdrawn})
    left = rows - gone
    available = Counter(item.content_hash for item in items)
    if drawn_as["ids"]:
        return Comparison((), _listed(left - available), _listed(gone))
    drawn = sample.limit(sample.draw(items, drawn_as["per_subject"]), drawn_as["limit"])
    wanted = Counter(item.content_hash for item in drawn if item.content_hash not in withdrawn)
    return Comparison(_listed(wanted - left), _listed(left - wanted), _listed(gone))


def _listed(counted: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(counted.elements()))
