"""For how many tokens the engine is started, and when it must be started again for more. Pure.

vLLM is told `max_model_len` before it sees a prompt, and refuses to start where keys and values of one such sequence do
not fit. Memory is not reserved by it: they are kept in blocks, as answers need them. So the engine starts for what the
route measured, or for the budget and a prompt longer than nearly all are, shrunk to what fits the memory; where a
prompt needs more, what is being answered finishes, and it starts once again for twice the prompts it has seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twlocal import fit


def first(budget: int, *, told: int | None, limit: int | None, switch: int = 0) -> int:
    """Tokens to start for. told: by the user or the route; limit: most that prompt and answer may take together.

    switch: above this many tokens the model rotates positions otherwise (LongRoPE), 0 for nearly all: above it from the
    start, so that no answer depends on which prompts came before.
    """
    wanted, _ = fit.context(None, budget, None)
    wanted = max(told if told is not None else wanted, switch + 1 if switch else 0)
    return wanted if limit is None else min(wanted, limit)


def grown(need: int, budget: int, *, limit: int | None) -> int:
    """Tokens to start for, now that a prompt and its answer (`need`, with `budget` for the answer) take more."""
    wanted, _ = fit.context(2 * (need - budget), budget, None)
    wanted = max(wanted, need)
    return wanted if limit is None else min(wanted, limit)


def switch(text: Mapping[str, Any]) -> int:
    """The context above which a configuration's text model rotates positions otherwise; 0 for nearly all."""
    for name in ("rope_parameters", "rope_scaling"):
        rope = text.get(name)
        if isinstance(rope, Mapping) and rope.get("rope_type", rope.get("type")) == "longrope":
            original = rope.get("original_max_position_embeddings", text.get("original_max_position_embeddings"))
            if isinstance(original, int):
                return original
    return 0
