"""What differs between the apparatus of two runs: model, protocol, decoding, engine, questions. Pure.

A comparison says something about one thing only where everything else was held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MISSING = "not told"  # in place of a value
_SHORT = 60  # characters of a value


@dataclass(frozen=True)
class Apparatus:
    """A run's apparatus by part, each part's values by name. What is not known is left out."""

    parts: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that two runs do not share. part: model, dataset, sample, protocol, prompt, decoding, engine, …"""

    part: str
    name: str
    first: str
    second: str


def of_run(manifest: Mapping[str, Any], engines: Sequence[Mapping[str, Any]], *, backend: str, bench: str) -> Apparatus:
    """The apparatus of a run as stored.

    engines: the `engine_info` of each of its sittings. What a name does not tell (weights behind a file name, the text
    behind a protocol's name) is told by hashes.
    """
    identity = manifest["identity"]
    protocol, decoding = manifest["protocol"], manifest["decoding"]
    last = engines[-1] if engines else {}
    return Apparatus(
        {
            "model": {
                "id": identity["model"]["id"],
                "revision": identity["model"]["revision"],
                "weights": _hash(identity["model"]["fingerprint"]),
            },
            "dataset": {
                "name": bench,
                "revision": manifest["bench"]["revision"],
                "fingerprint": _hash(identity["dataset"]["fingerprint"]),
            },
            "sample": {"rows": manifest["sample"]["rows"], "hash": _hash(identity["sample"])},
            "protocol": {
                "name": protocol["name"],
                "body": protocol["body"],
                "examples": len(protocol.get("examples", ())),
                "option shuffle": protocol["shuffle"],
                "reader": protocol["reader"],
            },
            "prompt": {"system prompt sha256": _hash(protocol["system_sha256"])},
            "decoding": {**decoding, **_sent(engines, decoding)},
            "repeats": {"a question": manifest["repeats"]},
            "engine": {
                "backend": backend,
                "engine": last.get("engine"),
                "version": ", ".join(dict.fromkeys(str(one.get("version", "?")) for one in engines)) or None,
                "quantised": last.get("quantised"),
                **{f"setting {name}": value for name, value in identity.get("settings", {}).items()},
            },
        }
    )


def _sent(engines: Sequence[Mapping[str, Any]], decoding: Mapping[str, Any]) -> dict[str, Any]:
    """Decoding values that the engine was really given, where they are other ones or more than the protocol's."""
    sent = engines[-1].get("sent", {}) if engines else {}
    return {f"sent {name}": value for name, value in sent.items() if decoding.get(name) != value}


def _hash(value: Any) -> str | None:
    return str(value)[:16] if value else None


def differences(first: Apparatus, second: Apparatus) -> tuple[Difference, ...]:
    """Every value that the two do not share, part by part."""
    found = []
    for part in dict.fromkeys([*first.parts, *second.parts]):
        one, other = first.parts.get(part, {}), second.parts.get(part, {})
        for name in dict.fromkeys([*one, *other]):
            before, after = one.get(name), other.get(name)
            if before != after:
                found.append(Difference(part, name, _said(before), _said(after)))
    return tuple(found)


def held(first: Apparatus, second: Apparatus) -> tuple[str, ...]:
    """The parts that the two share entirely, as far as it is told."""
    changed = {one.part for one in differences(first, second)}
    return tuple(part for part in first.parts if part not in changed and part in second.parts)


def _said(value: Any) -> str:
    if value is None or value == "":
        return MISSING
    text = str(value).replace("\n", "\\n")
    return text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."
