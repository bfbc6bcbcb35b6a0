"""What all prompts share (system prompt and examples), computed once and reused for every item."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from twlocal.backends.mlx.library import Library

STEP = 512  # tokens read at once
# A run has one opening, or a few where protocols differ by subject; each costs a context's memory.
_KEPT = 4


class Prefixes:
    """Caches of the model's state after a prefix. BatchGenerator copies from them and leaves them as they are."""

    def __init__(self, library: Library, network: Any) -> None:
        self._library, self._network = library, network
        self._kept: OrderedDict[tuple[int, ...], list[Any]] = OrderedDict()
        self.tokens = 0  # of the prefix used last

    def cache(self, prefix: Sequence[int]) -> list[Any] | None:
        """The state after `prefix`; None for none. It must not be changed."""
        self.tokens = len(prefix)
        if not prefix:
            return None
        name = tuple(prefix)
        if name in self._kept:
            self._kept.move_to_end(name)
            return self._kept[name]
        core = self._library.core
        cache: list[Any] = self._library.make_prompt_cache(self._network)
        for start in range(0, len(prefix), STEP):
            self._network(core.array([list(prefix[start : start + STEP])]), cache=cache)
            core.eval([layer.state for layer in cache])
        core.clear_cache()
        while len(self._kept) >= _KEPT:
            self._kept.popitem(last=False)
        self._kept[name] = cache
        return cache

    def clear(self) -> None:
        """Forget what was computed."""
        self._kept.clear()

    def close(self) -> None:
        """Let go of the model as well."""
        self.clear()
        self._network = None
