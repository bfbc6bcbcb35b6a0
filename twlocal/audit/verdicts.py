"""The table in which a person writes what each conflict is: CSV, so that any spreadsheet opens it.

The machine fills in everything but `verdict`, `by` and `note`; what a person wrote is never changed or dropped.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from twlocal.audit.conflicts import CLASSES, Conflict
from twlocal.audit.groups import answer_text
from twlocal.errors import DatasetError

_COLUMNS = ("conflict", "proposed", "verdict", "by", "note", "why", "subject", "question", "keys")


@dataclass(frozen=True)
class Verdict:
    """What a person wrote about the conflict `key`. `verdict` is a key of `CLASSES`, or empty while undecided."""

    key: str
    verdict: str = ""
    by: str = ""
    note: str = ""
    row: tuple[str, ...] = ()


def parse(text: str, name: str) -> dict[str, Verdict]:
    """The verdicts of a table by conflict; `name` is for errors. Raises DatasetError with the line."""
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    missing = [column for column in ("conflict", "verdict") if column not in (reader.fieldnames or ())]
    if missing:
        raise DatasetError(f"{name} is not a table of verdicts: no column {', '.join(missing)}")
    found: dict[str, Verdict] = {}
    for row in reader:
        cells = {column: (row.get(column) or "").strip() for column in _COLUMNS}
        verdict = cells["verdict"].lower()
        if verdict and verdict not in CLASSES:
            raise DatasetError(
                f"{name}:{reader.line_num}: {verdict!r} is no verdict", hint=f"one of {', '.join(CLASSES)}, or empty"
            )
        if cells["conflict"] in found:
            raise DatasetError(f"{name}:{reader.line_num}: the conflict {cells['conflict']} is there twice")
        found[cells["conflict"]] = Verdict(
            cells["conflict"], verdict, cells["by"], cells["note"], tuple(cells[column] for column in _COLUMNS)
        )
    return found


def render(conflicts: Sequence[Conflict], verdicts: Mapping[str, Verdict]) -> str:
    """The table of all conflicts with what is already decided; decided ones that have gone stay at the end."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for conflict in conflicts:
        given = verdicts.get(conflict.key, Verdict(conflict.key))
        first = conflict.members[0]
        keys = " / ".join(f"{_when(item)}{item.answer} ({answer_text(item)})" for item in conflict.members)
        decided = (conflict.key, conflict.proposed, given.verdict, given.by, given.note, conflict.why)
        writer.writerow([*decided, first.subject, first.question, keys])
    known = {conflict.key for conflict in conflicts}
    writer.writerows(given.row for key, given in verdicts.items() if key not in known and given.verdict)
    return text.getvalue()


def _when(item: object) -> str:
    meta = getattr(item, "meta", {})
    label = meta.get("year") or getattr(item, "id", "")
    return f"{label}: " if label else ""


def tally(conflicts: Sequence[Conflict], verdicts: Mapping[str, Verdict]) -> dict[str, int]:
    """How many conflicts are of each class, by verdict; `undecided` counts those without one."""
    counts = Counter(
        (verdicts[conflict.key].verdict if conflict.key in verdicts else "") or "undecided" for conflict in conflicts
    )
    return {name: counts[name] for name in (*CLASSES, "undecided") if counts[name]}
