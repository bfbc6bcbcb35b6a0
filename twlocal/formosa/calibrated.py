"""Stage `calibrate`: planted and clean items to a judge, and what is stored of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twlocal.errors import DatasetError, UsageError
from twlocal.formosa import judging
from twlocal.formosa.asking import Answers, Asker, Desk, ask
from twlocal.formosa.calibrate import Calibration, Thresholds, as_dict, calibration, from_dict
from twlocal.formosa.plant import VERSION, Case, Good
from twlocal.formosa.tables import Tables

if TYPE_CHECKING:
    from twlocal.formosa.stored import Build, Builds


@dataclass(frozen=True)
class Stored:
    """A stored calibration. judge: its asker's key. about: what was shown, and the command that repeats it."""

    judge: str
    made: str
    found: Calibration
    thresholds: Thresholds
    about: Mapping[str, Any]


class Calibrations(Tables):
    """The calibrations in a database (see db/migrations/0006_asking.sql)."""

    @classmethod
    def beside(cls, tables: Tables) -> Calibrations:
        """The calibrations in the database of other tables, open as long as they are."""
        return cls(tables._db, tables._path)

    def newest(self, build: Build) -> list[Stored]:
        """The last calibration of each judge on this build, by the judge's name."""
        rows = self._rows(
            "SELECT judge, made, report FROM formosa_calibrations WHERE id IN "
            "(SELECT max(id) FROM formosa_calibrations WHERE build_id = ? GROUP BY judge)",
            (build.id,),
        )
        found = [Stored(judge, made, *from_dict(report), report["about"]) for judge, made, report in map(_read, rows)]
        return sorted(found, key=lambda one: (one.found.judge, one.judge))


def _read(row: tuple[Any, ...]) -> tuple[str, str, dict[str, Any]]:
    return row[0], row[1], json.loads(row[2])


def goods(builds: Builds, build: Build, listed: Collection[str] | None = None) -> list[Good]:
    """The build's items with their windows, or those of them whose content hash begins with one that is listed.

    Raises UsageError where there are none.
    """
    texts = {window.hash: window.text for window in builds.windows(build)}
    items = [(item, texts[stored.draft.window]) for stored, _, item in builds.items(build)]
    if not items:
        raise UsageError(f"{build.name} has no items yet", hint="twlocal formosa screen and permute make them")
    found = [
        Good(item, window)
        for item, window in items
        if listed is None or any(item.content_hash.startswith(one) for one in listed)
    ]
    if not found:
        raise UsageError(
            f"none of the {len(listed or ())} listed items is in {build.name}",
            hint="rows of `twlocal formosa permute -o` that a person found to be good",
        )
    return found


def read_listed(path: Path) -> frozenset[str]:
    """The ids (or content hashes) in a JSONL file such as `formosa permute -o` writes. Raises DatasetError."""
    try:
        # Never splitlines(): U+2028, U+2029 and U+0085 are legal inside a JSON string.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"cannot read {path} ({error})", hint="rows of `twlocal formosa permute -o`") from error
    found = set()
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                row = json.loads(line)
                found.add(str(row.get("content_hash") or row["id"]).lower())
            except (ValueError, KeyError, AttributeError) as error:
                raise DatasetError(
                    f"{path}:{number} names no item", hint='one JSON object a line with "id", the item\'s'
                ) from error
    if short := next((one for one in found if len(one) < 16), None):
        raise DatasetError(f"{path}: {short!r} is no id of an item", hint="16 digits of its content hash")
    return frozenset(found)


def show(who: Asker, cases: Sequence[Case], desk: Desk) -> tuple[Answers, Calibration | None]:
    """Ask a judge about every case that it has not judged yet; its calibration once all are.

    Raises TwlocalError where asking had to stop; what was stored stays.
    """
    texts = {case.name: _text(who, case) for case in cases}
    answers = ask(who, texts.values(), desk)
    if answers.left:
        return answers, None
    verdicts: dict[str, bool | None] = {}
    for name, text in texts.items():
        record = answers.of(text)
        said = judging.verdict(record) if record is not None else None
        verdicts[name] = None if said is None or said.fault else said.approves
    return answers, calibration(who.name, cases, verdicts)


def _text(who: Asker, case: Case) -> str:
    item = case.item
    return judging.question(who.prompt, case.window, item.question, item.options, item.answer)


def about(cases: Sequence[Case], seed: str, command: str) -> dict[str, Any]:
    """What was shown, as it is stored with a calibration."""
    kinds = Counter(case.kind for case in cases)
    variants = Counter(f"{case.kind}: {case.variant}" for case in cases if case.variant)
    return {
        "planting": VERSION,
        "seed": seed,
        "cases": dict(sorted(kinds.items())),
        "variants": dict(sorted(variants.items())),
        "command": command,
    }


def store(
    builds: Builds,
    build: Build,
    who: Asker,
    found: Calibration,
    thresholds: Thresholds,
    told: Mapping[str, Any],
    *,
    now: str,
) -> bool:
    """Store a judge's calibration, and return whether it passed. The same one a second time is not stored again."""
    report = as_dict(found, thresholds) | {"about": dict(told)}
    builds.add_asker(build, who)
    if builds.calibration_report(who.key) != json.loads(json.dumps(report)):
        builds.add_calibration(build, who.key, made=now, passed=report["passed"], report=report)
    return bool(report["passed"])
