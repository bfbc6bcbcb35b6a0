"""Memory: what Metal may keep in it, and MLX's cache of freed buffers."""

from __future__ import annotations

from typing import Any

from twlocal.errors import ModelError

MIB = 1 << 20
# Weights above this share of what Metal may hold leave no room for contexts (`twlocal route` says the same).
MOST = 0.85
# MLX keeps freed buffers for reuse, at its default up to nearly all of the memory. A run of 22,000 items must not grow.
_CACHE = 512 * MIB


def working_set(core: Any) -> int | None:
    """Bytes that Metal may keep wired: its default, or iogpu.wired_limit_mb; None where there is no Metal."""
    if not core.metal.is_available():
        return None
    limit = core.device_info().get("max_recommended_working_set_size")
    return int(limit) if limit else None


def check(weights: int, limit: int | None, memory: int | None) -> None:
    """Raise ModelError when `weights` do not fit Metal's `limit`; `memory` is the machine's. All in bytes."""
    if limit is None or weights <= limit * MOST:
        return
    raised = memory * 7 // 8 if memory else 0
    ways = ["a smaller model, or one of fewer bits (marked quantised)"]
    if weights <= raised * MOST:
        ways.insert(0, f"raise the limit until the next restart: sudo sysctl iogpu.wired_limit_mb={raised // MIB}")
    raise ModelError(
        f"the weights take {weights / (1 << 30):.1f} GiB, and Metal may hold {limit / (1 << 30):.1f} GiB here, "
        f"{MOST:.0%} of it for weights",
        hint="; or ".join(ways),
    )


def bound_cache(core: Any, limit: int | None) -> int:
    """Bound MLX's cache of freed buffers; the bound in bytes."""
    bound = min(_CACHE, limit // 8) if limit else _CACHE
    core.set_cache_limit(bound)
    return bound


def token_room(weights: int, limit: int | None, token_bytes: int | None) -> int | None:
    """How many tokens of context fit beside the weights; None where nothing bounds them or nothing tells."""
    if limit is None or not token_bytes:
        return None
    return max(0, int((limit * MOST - weights) // token_bytes))
