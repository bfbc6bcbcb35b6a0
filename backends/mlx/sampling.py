"""Log-probabilities → token, as mlx-lm's sampler objects. Nothing of the model's own defaults, and no penalties."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from twlocal.backend import Decoding
from twlocal.backends.mlx.library import Library

# An array of one row of log-probabilities a sequence → an array of one token id a sequence.
Sampler = Callable[[Any], Any]


def greedy(library: Library) -> Sampler:
    """The likeliest token; one sampler for all requests, so that a batch is sampled in one call."""
    argmax = library.core.argmax
    return lambda logprobs: argmax(logprobs, axis=-1)


def nucleus(library: Library, decoding: Decoding, *, seed: int, key: str) -> Sampler:
    """A sampler for one request: its random numbers depend on `seed` and the request's `key` alone.

    mlx-lm's own draws from one generator for all requests, so that a text would depend on its neighbours, and cuts the
    nucleus before the temperature is applied; here it comes after, as with vLLM and transformers.
    """
    core, temperature, top_p = library.core, decoding.temperature, decoding.top_p
    digest = hashlib.sha256(f"{seed}\x1f{key}".encode()).digest()
    state = core.random.key(int.from_bytes(digest[:8], "big"))

    def sample(logprobs: Any) -> Any:
        nonlocal state
        scaled = logprobs.astype(core.float32) * (1 / temperature)
        scaled = scaled - core.logsumexp(scaled, axis=-1, keepdims=True)
        if top_p < 1:
            scaled = library.apply_top_p(scaled, top_p)
        state, now = core.random.split(state)
        return core.random.categorical(scaled, key=now)

    return sample
