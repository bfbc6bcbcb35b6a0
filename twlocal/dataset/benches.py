"""The sources that have names of their own (`data/benches.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType


@dataclass(frozen=True)
class Bench:
    """A named source: a file beside benches.toml, or `hf://…`. `max_tokens` is the default limit of new tokens.

    A `private` bench is read in memory only; nothing of it is written to the Hub's cache.
    """

    name: str
    source: str
    max_tokens: int
    title: str
    private: bool = False


@cache
def benches() -> Mapping[str, Bench]:
    """The bundled benches by name."""
    table = tomllib.loads(files("twlocal.data").joinpath("benches.toml").read_text(encoding="utf-8"))
    return MappingProxyType({name: Bench(name, **entry) for name, entry in table.items()})


def bench(name: str) -> Bench | None:
    """The bundled bench of that name, or None."""
    return benches().get(name)
