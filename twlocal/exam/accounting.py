"""The accounting table (table 1 of the paper), derived from two lists that are shipped with the data. Pure.

    papers   one row a paper: its state and why it was rejected
    items    one row a raw item: its subject and its fate

`of` makes the table from them; a build and anybody who reads its files get the same numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .decide import FILTERS, FOLDED, PUBLISHED, WITHDRAWALS, WITHDRAWN


@dataclass(frozen=True)
class PaperLine:
    """A paper: accepted, or rejected with its first reason."""

    name: str
    reason: str = ""


@dataclass(frozen=True)
class ItemLine:
    """A raw item: its paper, subject ("" where the title led to none), fate, and the rule that withdrew it."""

    paper: str
    subject: str
    fate: str
    rule: str = ""


@dataclass(frozen=True)
class Counts:
    """Items: raw = folded + all that were filtered + published, and published = all that were withdrawn + scored."""

    raw: int
    folded: int
    filtered: Mapping[str, int]
    published: int
    withdrawn: Mapping[str, int]

    @property
    def scored(self) -> int:
        return self.published - sum(self.withdrawn.values())


@dataclass(frozen=True)
class Accounting:
    """`seen` papers, of which `rejected` by reason; the items of all subjects together, and by subject."""

    seen: int
    rejected: Mapping[str, int]
    items: Counts
    subjects: Mapping[str, Counts] = field(default_factory=dict)

    @property
    def parsed(self) -> int:
        return self.seen - sum(self.rejected.values())


def of(papers: Iterable[PaperLine], items: Iterable[ItemLine]) -> Accounting:
    """The table. Raises ValueError on a fate or a rule that there is none of."""
    reasons: Counter[str] = Counter()
    seen = 0
    for paper in papers:
        seen += 1
        if paper.reason:
            reasons[paper.reason] += 1
    tallied: dict[str, Counter[tuple[str, str]]] = {}
    for item in items:
        if item.fate not in (PUBLISHED, WITHDRAWN, FOLDED) and item.fate not in FILTERS:
            raise ValueError(f"{item.paper}: no item can have the fate {item.fate!r}")
        if (item.fate == WITHDRAWN) != (item.rule in WITHDRAWALS):
            raise ValueError(f"{item.paper}: the fate {item.fate} does not go with the rule {item.rule!r}")
        tallied.setdefault(item.subject, Counter())[item.fate, item.rule] += 1
    whole: Counter[tuple[str, str]] = Counter()
    for counter in tallied.values():
        whole.update(counter)
    return Accounting(
        seen,
        dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))),
        _counts(whole),
        {subject: _counts(tallied[subject]) for subject in sorted(tallied)},
    )


def _counts(counter: Counter[tuple[str, str]]) -> Counts:
    fates: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    for (fate, rule), count in counter.items():
        fates[fate] += count
        if fate == WITHDRAWN:
            rules[rule] += count
    return Counts(
        raw=counter.total(),
        folded=fates[FOLDED],
        filtered={name: fates[name] for name in FILTERS if fates[name]},
        published=fates[PUBLISHED] + fates[WITHDRAWN],
        withdrawn={name: rules[name] for name in WITHDRAWALS if rules[name]},
    )


def as_json(counts: Counts) -> dict[str, Any]:
    """Counts as JSON-ready data."""
    return {
        "raw": counts.raw,
        "folded": counts.folded,
        "filtered": dict(counts.filtered),
        "published": counts.published,
        "withdrawn": dict(counts.withdrawn),
        "scored": counts.scored,
    }


def table(found: Accounting) -> list[tuple[str, str]]:
    """The table's rows, as (stage, count)."""
    items = found.items
    rows = [("Papers seen / parsed", f"{found.seen:,} / {found.parsed:,}")]
    rows += [(f"  rejected: {reason}", f"{count:,}") for reason, count in found.rejected.items()]
    rows += [
        ("Raw items extracted", f"{items.raw:,}"),
        ("  folded as re-printings of an earlier item", f"{items.folded:,}"),
    ]
    rows += [(f"  filtered: {name}", f"{count:,}") for name, count in items.filtered.items()]
    rows += [("Published", f"{items.published:,}")]
    rows += [(f"  withdrawn: {name}", f"{count:,}") for name, count in items.withdrawn.items()]
    return [*rows, ("Scored", f"{items.scored:,}")]
