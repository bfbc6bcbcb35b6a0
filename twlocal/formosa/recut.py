"""Cutting a band again from what was frozen: the sidecar holds what each model got right. Pure, but for reading files.

Section 6.3 of the paper: "the difficulty sidecar is published per item so the band can be re-cut against a newer pool
without regenerating the benchmark".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twlocal.errors import DatasetError, UsageError
from twlocal.formosa.band import Member
from twlocal.formosa.curate import FORMAT, Candidate

MANIFEST, DIFFICULTY = "curation.json", "difficulty.jsonl"
_MEASURED = ("run", "model", "full", "on_band", "generator")


@dataclass(frozen=True)
class Sidecar:
    """A frozen band read back: its candidates, and every model that was measured on them."""

    manifest: Mapping[str, Any]
    candidates: tuple[Candidate, ...]
    members: tuple[Member, ...]
    scored: tuple[Member, ...]

    def named(self, names: Sequence[str] | None) -> list[Member]:
        """Models of the sidecar by run or model name, of the pool or scored; None: its pool. Raises UsageError."""
        if names is None:
            return list(self.members)
        found = []
        for name in names:
            hits = [one for one in (*self.members, *self.scored) if name in (one.name, one.model)]
            if len(hits) != 1:
                known = ", ".join(one.name for one in (*self.members, *self.scored))
                raise UsageError(f"{name!r} is not one model of the sidecar", hint=f"it holds: {known}")
            found.append(hits[0])
        return found


def read(folder: Path) -> Sidecar:
    """A frozen band in a folder, as `formosa curate -o` writes it. Raises DatasetError.

    The sidecar must be the one that its manifest was frozen with.
    """
    manifest_text, difficulty = (_text(folder / name) for name in (MANIFEST, DIFFICULTY))
    return parse(manifest_text, difficulty, str(folder))


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"cannot read {path} ({error})", hint=f"twlocal formosa curate -o FOLDER writes {MANIFEST} and {DIFFICULTY}"
        ) from error


def parse(manifest_text: str, difficulty: str, name: str) -> Sidecar:
    """A frozen band from its two texts; `name` is for messages. Raises DatasetError."""
    try:
        manifest = json.loads(manifest_text)
        if manifest["format"] != FORMAT:
            raise DatasetError(
                f"{name}: a curation of the format {manifest['format']!r}, and this twlocal reads {FORMAT}"
            )
        frozen = manifest["difficulty"]["sha256"]
        groups = [[_told(one) for one in listed] for listed in (manifest["pool"]["members"], manifest["scored"])]
        if hashlib.sha256(difficulty.encode("utf-8")).hexdigest() != frozen:
            raise DatasetError(
                f"{name}: {DIFFICULTY} is not the one that {MANIFEST} was frozen with",
                hint="take both files from the same place, unchanged",
            )
        rows = [json.loads(line) for line in difficulty.split("\n") if line.strip()]
        members, scored = (
            tuple(
                Member(run, model, {row["content_hash"]: bool(row["right"][run]) for row in rows}, about)
                for run, model, about in group
            )
            for group in groups
        )
        candidates = tuple(Candidate(row["content_hash"], row.get("window", ""), row.get("source", "")) for row in rows)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{name} is no curation ({error!r})", hint="twlocal formosa curate writes one") from error
    return Sidecar(manifest, candidates, members, scored)


def _told(one: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    about = {what: value for what, value in one.items() if what not in _MEASURED}
    return one["run"], one["model"], about
