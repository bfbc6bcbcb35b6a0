"""Does a model fit: weights against memory, cards against head counts, context against a run. Pure arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from twlocal.hardware import GIB, Gpu

# Share of a group's memory that the weights may take, as the CUDA runner had it: above OK little is left for keys and
# values, above TIGHT the engine does not start.
OK_SHARE = 0.70
TIGHT_SHARE = 0.85
# vLLM's own default share of a card; what the weights leave of it holds keys and values.
VLLM_SHARE = 0.90
# What vLLM's process takes of a card before it looks how much is free, and what a desktop may take meanwhile: this
# share of the card, and at most so many bytes.
_ASIDE, _ASIDE_MOST = 0.04, GIB
# Contexts are rounded up to whole blocks of keys and values; vLLM's are 16 tokens on a card.
BLOCK = 16
# What the runners kept for a prompt before its length was measured: 8,192 - 4,096 and 20,480 - 16,384 tokens.
PROMPT_RESERVE = 4096
DEFAULT_MAX_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class Fit:
    """A group of `size` cards (1 for unified memory or RAM) and the share of its memory that the weights take."""

    size: int
    share: float
    memory: int

    @property
    def ok(self) -> bool:
        """Whether there is room to spare."""
        return self.share <= OK_SHARE

    @property
    def fits(self) -> bool:
        """Whether it starts at all."""
        return self.share <= TIGHT_SHARE


def into(weights: int, memory: int, size: int = 1) -> Fit:
    """Weights (bytes) in a group of `size` cards with `memory` bytes each."""
    return Fit(size, weights / (memory * size), memory * size)


def parallel_sizes(heads: Mapping[str, int], cards: int) -> list[int]:
    """Tensor-parallel sizes up to `cards` dividing every head count, smallest first; powers of two without counts."""
    if not heads:
        return [size for size in (1, 2, 4, 8, 16) if size <= cards]
    return [size for size in range(1, cards + 1) if all(count % size == 0 for count in heads.values())]


def groups(gpus: Sequence[Gpu]) -> list[list[Gpu]]:
    """Cards that can work as one group: of the same name and memory; the group with the most memory first."""
    kinds: dict[tuple[str, int | None], list[Gpu]] = {}
    for gpu in gpus:
        kinds.setdefault((gpu.name, gpu.memory), []).append(gpu)
    return sorted(kinds.values(), key=lambda kind: -(kind[0].memory or 0) * len(kind))


def is_idle(gpu: Gpu) -> bool:
    """Whether as much of a card is free as vLLM takes by default; true where the driver does not tell."""
    share = free_share([gpu])
    return share is None or share >= VLLM_SHARE


def free_share(group: Sequence[Gpu]) -> float | None:
    """The share of each card that is free for vLLM, in whole per cent; None where a driver does not tell."""
    shares = []
    for gpu in group:
        if gpu.free is None or not gpu.memory:
            return None
        aside = min(_ASIDE * gpu.memory, _ASIDE_MOST)
        shares.append(math.floor(100 * (gpu.free - aside) / gpu.memory) / 100)
    return min(shares, default=None)


def smallest(weights: int, memory: int, sizes: Sequence[int]) -> Fit | None:
    """The smallest size with room to spare; where none has it, the largest that fits at all; else None.

    With little room the engine works, but on few answers at once: a further card is worth more than it costs.
    """
    fits = [into(weights, memory, size) for size in sizes]
    return next((one for one in fits if one.ok), None) or next((one for one in reversed(fits) if one.fits), None)


def context(longest_prompt: int | None, max_tokens: int, native: int | None) -> tuple[int, int]:
    """Tokens of context to ask for, and how many the run would like: the longest prompt and the budget, in blocks.

    Never the model's full context, whose keys and values need not fit. The first is capped by the native context.
    """
    wanted = -(-((PROMPT_RESERVE if longest_prompt is None else longest_prompt) + max_tokens) // BLOCK) * BLOCK
    return (wanted if native is None else min(wanted, native)), wanted


def kv_tokens(fit: Fit, weights: int, kv_bytes: int, share: float = VLLM_SHARE) -> int:
    """Tokens whose keys and values fit beside the weights: an upper bound, since activations take some too."""
    return max(0, int((fit.memory * share - weights) // kv_bytes))
