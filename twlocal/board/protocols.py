"""Protocols as a board publishes them: the full text of what was sent, and the hashes that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from twlocal import protocol as protocols
from twlocal.backend import Decoding
from twlocal.errors import ProtocolError
from twlocal.protocol import Example, Protocol


def published(protocol: Protocol) -> dict[str, Any]:
    """A protocol as plain data: everything that its hash covers, and what it is called in both languages."""
    said = asdict(protocol)
    del said["own_budget"]
    return said | {"sha256": protocol.sha256, "system_sha256": protocol.system_sha256}


def again(said: Mapping[str, Any]) -> Protocol:
    """The protocol that published data describe. Raises KeyError or TypeError where they describe none."""
    examples = (Example(one["question"], tuple(one["options"]), one["reply"]) for one in said["examples"])
    return Protocol(
        name=said["name"],
        title=said["title"],
        system=said["system"],
        body=said["body"],
        decoding=Decoding(**said["decoding"]),
        reader=said["reader"],
        shuffle=said["shuffle"],
        publishable=said["publishable"],
        why_not=said["why_not"],
        examples=tuple(examples),
        title_zh=said["title_zh"],
        why_not_zh=said["why_not_zh"],
    )


def contradictions(sha256: str, said: Mapping[str, Any]) -> list[str]:
    """Where published data of a protocol do not give the hashes that they state."""
    try:
        made = again(said)
        found = {"sha256": made.sha256, "system_sha256": made.system_sha256}
    except (KeyError, TypeError, ValueError) as error:
        return [f"does not hold together ({type(error).__name__}: {error})"]
    told = [
        f"states the {name} {said[name]}, and its text gives {one}" for name, one in found.items() if said[name] != one
    ]
    if said["sha256"] != sha256:
        told.append("stands under another hash than its own")
    return told


def bundled(name: str, sha256: str, max_tokens: int | None) -> Protocol | None:
    """The protocol that ships here under that name, if it is the one of that hash; None where its text is not known."""
    try:
        found = protocols.load(name).with_budget(max_tokens) if name and not name.endswith(".toml") else None
    except ProtocolError:
        return None
    return found if found is not None and found.sha256 == sha256 else None
