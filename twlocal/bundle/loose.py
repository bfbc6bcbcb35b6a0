"""Somebody's results without a bundle around them: what can be checked of a public runner's folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from twlocal.bundle import exchange, runner
from twlocal.bundle.strict import Malformed
from twlocal.bundle.verify import Finding
from twlocal.item import Item
from twlocal.plural import counted


@dataclass(frozen=True)
class Loose:
    """One row file: its place, its numbers, and how many rows repeat the stem hash of an earlier one."""

    name: str
    n: int
    ok: int
    repeated: int


def check(folder: Path, items: Sequence[Item] | None = None) -> tuple[list[Finding], list[Loose]]:
    """Check every row file below `folder`: the rows, the markers, and with `items` whether the stems are theirs.

    Stems repeat, so a row is not known by its hash: that as many rows have it as the dataset has is all that can be
    told, unless they bring content hashes.
    """
    findings: list[Finding] = []
    found = []
    for path in runner.files(folder):
        name = path.relative_to(folder).as_posix()
        rows = []
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                try:
                    rows.append(exchange.from_line(line))
                except Malformed as error:
                    findings.append(Finding(f"{name}:{number}", str(error)))
        if not runner.is_done(path):
            findings.append(Finding(name, "has no .done marker: it may be incomplete"))
        whole = bool(rows) and all(row.ch for row in rows)
        if items is not None:
            findings += _items(name, rows, items, whole)
        repeated = len(rows) - len({(row.qh, row.ch) for row in rows})
        if whole and repeated:
            findings.append(
                Finding(name, f"{counted(repeated, 'row repeats', 'rows repeat')} the content hash of another")
            )
        found.append(Loose(name, len(rows), sum(row.ok for row in rows), repeated))
    return findings, found


def _items(name: str, rows: Sequence[exchange.BoardRow], items: Sequence[Item], whole: bool) -> list[Finding]:
    here = Counter(str(row.ch) if whole else row.qh for row in rows)
    wanted = Counter(item.content_hash if whole else item.stem_hash[:16] for item in items)
    missing, extra = (wanted - here).total(), (here - wanted).total()
    what = "content hashes" if whole else "stem hashes"
    told = [
        (missing, counted(missing, "row is missing", "rows are missing")),
        (extra, counted(extra, "row is not the dataset's", "rows are not the dataset's")),
    ]
    return [Finding(name, f"{said}, by {what}") for count, said in told if count]
