"""An audit of one dataset as a value: what `twlocal audit` prints and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twlocal.audit.conflicts import TRUE, Conflict, conflicts
from twlocal.audit.groups import Agreement, Group, agreement, answer_text, duplicate_groups
from twlocal.audit.overlap import Overlap, between_splits, groups_across, overlap
from twlocal.audit.verdicts import Verdict, tally
from twlocal.item import Item
from twlocal.plural import counted


@dataclass(frozen=True)
class Audit:
    """`splits` has an entry for each ordered pair of splits that share a row; `against` for each other dataset."""

    rows: int
    groups: tuple[Group, ...]
    agreement: Agreement
    conflicts: tuple[Conflict, ...]
    verdicts: Mapping[str, Verdict]
    splits: Mapping[tuple[str, str], Overlap]
    across: int
    against: Mapping[str, Overlap]

    @property
    def grouped(self) -> int:
        """How many rows are in a duplicate group."""
        return sum(len(group.members) for group in self.groups)

    @property
    def attributed(self) -> Agreement | None:
        """The agreement when only conflicts that a person found true are counted; None while some are undecided."""
        counted = [one for one in self.conflicts if one.counted]
        given = [self.verdicts.get(one.key, Verdict("")).verdict for one in counted]
        return Agreement(len(self.groups), given.count(TRUE)) if all(given) else None


def audit(
    splits: Mapping[str, Sequence[Item]],
    *,
    against: Mapping[str, Sequence[Item]] | None = None,
    verdicts: Mapping[str, Verdict] | None = None,
) -> Audit:
    """Audits the items of a dataset, given by split (one nameless split when it has none)."""
    items = [item for part in splits.values() for item in part]
    groups = duplicate_groups(items)
    return Audit(
        rows=len(items),
        groups=tuple(groups),
        agreement=agreement(groups),
        conflicts=tuple(conflicts(groups, items)),
        verdicts=verdicts or {},
        splits=between_splits(splits),
        across=groups_across(splits),
        against={name: overlap(items, others) for name, others in (against or {}).items()},
    )


def as_json(found: Audit) -> dict[str, Any]:
    """The audit as JSON-ready data; it holds the questions of conflicts."""
    interval = found.agreement.interval
    attributed = found.attributed
    return {
        "rows": found.rows,
        "duplicate_groups": len(found.groups),
        "rows_in_groups": found.grouped,
        "reordered_groups": sum(group.reordered for group in found.groups),
        "letter_conflicts": sum(group.letters_differ for group in found.groups),
        "conflicts": found.agreement.conflicts,
        "agreement": found.agreement.rate,
        "agreement_95": [interval.low, interval.high],
        "attributed_agreement": attributed.rate if attributed else None,
        "verdicts": tally(found.conflicts, found.verdicts),
        "conflict_list": [_conflict(one, found.verdicts) for one in found.conflicts],
        "groups_across_splits": found.across,
        "splits": [
            {"rows_of": a, "also_in": b, "rows": shared.rows, **_shared(shared)}
            for (a, b), shared in found.splits.items()
        ],
        "against": {name: {"rows": shared.rows, **_shared(shared)} for name, shared in found.against.items()},
    }


def _shared(shared: Overlap) -> dict[str, int]:
    return {"same": len(shared.same), "verbatim": shared.verbatim, "same_stem_only": shared.stems}


def _conflict(one: Conflict, verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    given = verdicts.get(one.key, Verdict(one.key))
    printings = [
        {
            "subject": item.subject,
            "id": item.id,
            "ch": item.content_hash,
            "answer": item.answer,
            "text": answer_text(item),
        }
        | ({"year": item.meta["year"]} if "year" in item.meta else {})
        for item in one.members
    ]
    return {
        "conflict": one.key,
        "proposed": one.proposed,
        "why": one.why,
        "counted": one.counted,
        "verdict": given.verdict or None,
        "note": given.note,
        "question": one.members[0].question,
        "printings": printings,
    }


def told(found: Audit) -> list[str]:
    """The audit in sentences, one a line."""
    reordered = sum(group.reordered for group in found.groups)
    if not found.groups:
        lines = [f"{counted(found.rows, 'row')}, no question twice"]
    else:
        among = f"{found.grouped:,} in {counted(len(found.groups), 'group')} of the same question"
        lines = [f"{counted(found.rows, 'row')}, {among} ({reordered:,} with the options in another order)"]
    rate = found.agreement.rate
    if rate is not None:
        low, high = found.agreement.interval.low, found.agreement.interval.high
        lines.append(
            f"keys agree by the text of the answer in {rate:.4%} of the groups (Wilson 95%: {low:.4%} to {high:.4%}): "
            f"{counted(found.agreement.conflicts, 'conflict')}; by the letter it would be "
            f"{sum(group.letters_differ for group in found.groups):,}"
        )
        noise = found.agreement.noise
        lines.append(f"noise floor: {1 - rate:.4%} ({noise.low:.4%} to {noise.high:.4%})")
        if found.agreement.conflicts and (attributed := found.attributed) and attributed.rate is not None:
            lines.append(f"by the verdicts, true conflicts: {attributed.conflicts:,}; {attributed.rate:.4%} agree")
    if listed := len(found.conflicts) - found.agreement.conflicts:
        lines.append(f"listed beside them, and not counted: {listed:,} (typography, or option sets that were revised)")
    if found.conflicts:
        by_class = ", ".join(f"{name} {n:,}" for name, n in tally(found.conflicts, found.verdicts).items())
        lines.append(f"everything listed, by verdict: {by_class}")
    if found.across:
        lines.append(f"duplicate groups that span splits: {found.across:,}")
    for (a, b), shared in found.splits.items():
        lines.append(
            f"of {counted(shared.rows, 'row')} of {a or '(no split)'}, {len(shared.same):,} also in "
            f"{b or '(no split)'}, {shared.verbatim:,} of them verbatim"
        )
    for name, shared in found.against.items():
        lines.append(
            f"of {counted(shared.rows, 'row')}, {len(shared.same):,} also in {name}, {shared.verbatim:,} of them "
            f"verbatim; {shared.stems:,} more with the same stem only"
        )
    return lines
