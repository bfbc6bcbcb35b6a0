"""What models said for a build, as the stages that asked them read it: drafts or faults, verdicts, calibrations.

The tables are told by db/migrations/0006_asking.sql. The responses themselves are kept in runs (`twlocal.runs`): all of
this but calibrations could be made again from them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from twlocal.formosa.drafting import Generated
from twlocal.formosa.drafts import Draft
from twlocal.formosa.judging import Verdict
from twlocal.formosa.tables import Tables, as_json
from twlocal.store import storable

if TYPE_CHECKING:
    from twlocal.formosa.asking import Asker
    from twlocal.formosa.stored import Build


@dataclass(frozen=True, slots=True)
class AskerRow:
    """Who drafted or judged for a build. asker: its key; name: for people; identity: what the key is made of."""

    stage: str
    asker: str
    name: str
    identity: Mapping[str, Any]


class Asked(Tables):
    """Askers of a build and what came of their responses."""

    def add_asker(self, build: Build, who: Asker) -> None:
        """Remember who was asked for the build."""
        with self._writing() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO formosa_askers VALUES (?, ?, ?, ?, ?)",
                (build.id, who.stage, who.key, who.name, as_json(who.identity)),
            )

    def askers(self, build: Build, stage: str) -> list[AskerRow]:
        """Who was asked for the build in `stage` (draft, judge), by name."""
        rows = self._rows(
            "SELECT stage, asker, name, identity FROM formosa_askers WHERE build_id = ? AND stage = ? "
            "ORDER BY name, asker",
            (build.id, stage),
        )
        return [AskerRow(row[0], row[1], row[2], json.loads(row[3])) for row in rows]

    def put_generated(self, build: Build, source: str, found: Iterable[tuple[str, Generated]]) -> None:
        """Store (prompt's hash, what was made of it) of one generator, all at once.

        A generator has one draft a window. One that reads otherwise than before replaces it, and what later stages
        made of it goes.
        """
        with self._writing() as connection:
            for prompt, made in found:
                connection.execute(
                    "INSERT OR REPLACE INTO formosa_generated VALUES (?, ?, ?, ?, ?, ?)",
                    (build.id, source, made.window, prompt, made.fault, storable(made.detail)),
                )
                place = (build.id, made.window, source)
                row = connection.execute(
                    "SELECT id, question, a, b, c, d, answer FROM formosa_drafts "
                    "WHERE build_id = ? AND window_hash = ? AND source = ? AND no = 0",
                    place,
                ).fetchone()
                words = _words(made.draft) if made.draft else None
                if row and row[1:] == words:
                    continue
                if row:
                    for table in ("formosa_verdicts", "formosa_items", "formosa_screened"):
                        connection.execute(f"DELETE FROM {table} WHERE draft_id = ?", (row[0],))
                    connection.execute("DELETE FROM formosa_drafts WHERE id = ?", (row[0],))
                if words:
                    connection.execute(
                        "INSERT INTO formosa_drafts (build_id, window_hash, source, no, question, a, b, c, d, answer) "
                        "VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?)",
                        (*place, *words),
                    )

    def faults(self, build: Build) -> list[tuple[str, str, str, str]]:
        """(source, window, fault, detail) of every response, by source and window. Without a fault it is a draft."""
        return [
            (row[0], row[1], row[2], row[3])
            for row in self._rows(
                "SELECT source, window_hash, fault, detail FROM formosa_generated WHERE build_id = ? "
                "ORDER BY source, window_hash",
                (build.id,),
            )
        ]

    def put_verdicts(self, judge: str, found: Iterable[tuple[int, str, str, Verdict]]) -> None:
        """Store (draft id, the item's content hash, prompt's hash, verdict) of the judge with this key, all at once."""
        with self._writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO formosa_verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        draft_id,
                        judge,
                        content_hash,
                        prompt,
                        _number(said.supported),
                        _number(said.single_answer),
                        storable(said.reason),
                        said.fault,
                    )
                    for draft_id, content_hash, prompt, said in found
                ],
            )

    def verdicts(self, build: Build, judge: str) -> dict[int, Verdict]:
        """What the judge with this key says of the build's items as they are now, by draft id."""
        rows = self._rows(
            "SELECT v.draft_id, v.supported, v.single_answer, v.reason, v.fault FROM formosa_verdicts AS v "
            "JOIN formosa_drafts AS d ON d.id = v.draft_id "
            "JOIN formosa_items AS i ON i.draft_id = v.draft_id AND i.content_hash = v.content_hash "
            "WHERE d.build_id = ? AND v.judge = ?",
            (build.id, judge),
        )
        return {row[0]: Verdict(_truth(row[1]), _truth(row[2]), row[3], row[4]) for row in rows}

    def add_calibration(self, build: Build, judge: str, *, made: str, passed: bool, report: Mapping[str, Any]) -> None:
        """Store a calibration of the judge with this key. `made` is UTC, ISO 8601."""
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO formosa_calibrations (judge, build_id, made, passed, report) VALUES (?, ?, ?, ?, ?)",
                (judge, build.id, made, int(passed), as_json(report)),
            )

    def calibration(self, judge: str) -> bool | None:
        """Whether the judge with this key passed its last calibration, on whichever build; None where it has none."""
        rows = self._rows("SELECT passed FROM formosa_calibrations WHERE judge = ? ORDER BY id DESC LIMIT 1", (judge,))
        return bool(rows[0][0]) if rows else None

    def calibration_report(self, judge: str) -> dict[str, Any] | None:
        """What the judge's last calibration found; None where it has none."""
        rows = self._rows("SELECT report FROM formosa_calibrations WHERE judge = ? ORDER BY id DESC LIMIT 1", (judge,))
        return dict(json.loads(rows[0][0])) if rows else None


def _words(draft: Draft) -> tuple[str, ...]:
    return tuple(map(storable, (draft.question, *draft.options, draft.answer)))


def _number(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _truth(value: int | None) -> bool | None:
    return None if value is None else bool(value)
