"""Stage `curate`: a difficulty band, frozen with everything it was chosen by (section 4.2 of the paper). Pure.

What is frozen are two texts, the same bytes for the same choice: a manifest (the pool, its revisions, the band, the
date, hashes) and a sidecar with every item's difficulty, in the band or not, so that the band can be cut again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from twlocal.formosa.advantage import Advantage, as_dict, same_model
from twlocal.formosa.band import Member, Score, band, passes, span

FORMAT = 1  # raised when a field of the manifest or the sidecar changes its meaning or goes


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item that may be chosen. window: hash of what it was written from. source: who drafted it. Both may be ""."""

    content_hash: str
    window: str = ""
    source: str = ""


@dataclass(frozen=True)
class Choice:
    """What a band is cut by. at_most: of the members. base: what is told of the candidates (a build, a judge, a file).

    scored: models outside the pool that are measured on the band. generators: who drafted, as models are named.
    """

    name: str
    pool: str
    day: date
    at_most: int
    reader: str
    members: Sequence[Member]
    scored: Sequence[Member] = ()
    generators: Sequence[str] = ()
    base: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Frozen:
    """A band as it is frozen. chosen: content hashes, in order. manifest and difficulty: the texts of the two files."""

    name: str
    chosen: tuple[str, ...]
    manifest: str
    difficulty: str


def freeze(candidates: Sequence[Candidate], choice: Choice, advantages: Sequence[Advantage] = ()) -> Frozen:
    """Cut the band and write its manifest and sidecar.

    Raises ValueError where the band is none, or holds no item.
    """
    by_hash = {one.content_hash: one for one in candidates}
    items = sorted(by_hash)
    chosen = band(items, choice.members, choice.at_most)
    if not chosen:
        raise ValueError(f"every item is passed by more than {choice.at_most} of the {len(choice.members)} models")
    difficulty = "".join(_line(_row(by_hash[item], choice)) for item in items)
    manifest = _manifest(items, chosen, choice, advantages, difficulty)
    text = json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    return Frozen(choice.name, tuple(chosen), text, difficulty)


def _row(one: Candidate, choice: Choice) -> dict[str, Any]:
    passed = passes(one.content_hash, choice.members)
    told = {"window": one.window, "source": one.source}
    return {
        "id": one.content_hash[:16],
        "content_hash": one.content_hash,
        **{name: value for name, value in told.items() if value},
        "passes": passed,
        "of": len(choice.members),
        "in_band": passed <= choice.at_most,
        "right": {member.name: int(member.right[one.content_hash]) for member in (*choice.members, *choice.scored)},
    }


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _manifest(
    items: Sequence[str],
    chosen: Sequence[str],
    choice: Choice,
    advantages: Sequence[Advantage],
    difficulty: str,
) -> dict[str, Any]:
    scores = span(chosen, choice.members)
    return {
        "format": FORMAT,
        "name": choice.name,
        "date": choice.day.isoformat(),
        "reader": choice.reader,
        "band": {"at_most": choice.at_most, "of": len(choice.members)},
        "pool": {
            "name": choice.pool,
            "members": [_member(one, items, chosen, choice.generators) for one in choice.members],
        },
        "scored": [_member(one, items, chosen, choice.generators) for one in choice.scored],
        "items": {"n": len(items), "sha256": digest(items), **(choice.base or {})},
        "chosen": {"n": len(chosen), "sha256": digest(chosen)},
        "scores": {"low": scores.low, "median": scores.median, "mean": scores.mean, "high": scores.high},
        "generators": {"names": list(choice.generators), "measured": [as_dict(one) for one in advantages]},
        "difficulty": {"sha256": hashlib.sha256(difficulty.encode("utf-8")).hexdigest()},
    }


def _member(one: Member, items: Sequence[str], chosen: Sequence[str], generators: Iterable[str]) -> dict[str, Any]:
    return {
        "run": one.name,
        "model": one.model,
        **one.about,
        "full": score_dict(one.score(items)),
        "on_band": score_dict(one.score(chosen)),
        # Its score carries a self-advantage: it wrote the items.
        "generator": any(same_model(one.model, name) for name in generators),
    }


def digest(items: Iterable[str]) -> str:
    """sha256 (hex) of which items these are, whatever their order: their content hashes, sorted, a line each."""
    return hashlib.sha256("\n".join(sorted(items)).encode("ascii")).hexdigest()


def score_dict(score: Score) -> dict[str, Any]:
    """A score as JSON-able data, with Wilson's 95% interval."""
    return {
        "k": score.k,
        "n": score.n,
        "accuracy": score.share,
        "interval": [score.interval.low, score.interval.high],
    }
