"""Logits → token. Nothing of the model's own defaults, and no penalties. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

Pick = Callable[[Any], int]


def greedy(logits: Any) -> int:
    """The token with the highest logit; of equal ones the lowest id. `logits`: float32, one a vocabulary entry."""
    return int(logits.argmax())


def sampler(temperature: float, top_p: float, *, seed: int, key: str) -> Pick:
    """How to pick a request's tokens: greedily at temperature 0, else from the nucleus of mass `top_p`.

    The random numbers depend on `seed` and the request's `key` alone, never on what else is being generated. The
    temperature is applied before the nucleus is cut, as vLLM and transformers do.
    """
    if temperature <= 0:
        return greedy
    digest = hashlib.sha256(f"{seed}\x1f{key}".encode()).digest()
    random = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))

    def pick(logits: Any) -> int:
        scaled = logits.astype(np.float64) / temperature
        weights = np.exp(scaled - scaled.max())
        order = np.argsort(-weights, kind="stable")
        mass = np.cumsum(weights[order])
        # The smallest set whose mass reaches top_p: never empty.
        kept = int(np.searchsorted(mass, top_p * mass[-1])) + 1
        mass = mass[:kept]
        place = int(np.searchsorted(mass, random.random() * mass[-1], side="right"))
        return int(order[min(place, len(mass) - 1)])

    return pick
