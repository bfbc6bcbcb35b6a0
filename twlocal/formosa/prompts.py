"""The prompts of the stages that ask a model: `prompts/formosa/*.toml` and their texts, as data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from twlocal.backend import Decoding
from twlocal.item import clean
from twlocal.protocol import Protocol


@dataclass(frozen=True)
class Prompt:
    """A prompt: what is said to the model, and the form in which its answer is wanted.

    protocol: system prompt and decoding, with the user message as its only text. body: the user message with named
    places. schema: a JSON schema, for engines that hold a model to one.
    """

    name: str
    protocol: Protocol
    body: str
    schema: Mapping[str, Any]

    def text(self, **values: str) -> str:
        """The user message. One pass over the body, so that braces in a value are text."""
        return clean(self.body.format_map(values))


def load(name: str) -> Prompt:
    """The bundled prompt `name`: `draft` or `judge`."""
    folder = files("twlocal.prompts").joinpath("formosa")
    data = tomllib.loads(folder.joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    protocol = Protocol(
        name=f"formosa-{name}",
        title=data["title"],
        system=folder.joinpath(data["system"]).read_text(encoding="utf-8"),
        body="{question}",
        decoding=Decoding(**data["decoding"]),
        shuffle=False,
        publishable=False,
    )
    return Prompt(name, protocol, data["body"], data["schema"])
