"""How many bytes of a text each of its tokens brought: packed for the store, and the text of the first tokens. Pure."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

_LARGEST = 0xFFFF  # bytes of a token


def pack(text: str, sizes: Sequence[int]) -> bytes | None:
    """Sizes in UTF-8 bytes as the store keeps them; None where they are not those of `text`, or there are none.

    They are not where a response holds bytes that are no UTF-8, or a token cut in the middle of a character.
    """
    if not sizes or max(sizes) > _LARGEST or sum(sizes) != len(text.encode("utf-8", errors="replace")):
        return None
    return zlib.compress(struct.pack(f"<{len(sizes)}H", *sizes))


def unpack(packed: bytes) -> tuple[int, ...]:
    """What `pack` packed."""
    raw = zlib.decompress(packed)
    return struct.unpack(f"<{len(raw) // 2}H", raw)


def first(text: str, sizes: Sequence[int], tokens: int) -> str:
    """The text of the first `tokens` tokens, exactly as an engine that stops there gives it.

    A character that the last of them begins and does not end is U+FFFD (see `twlocal.decode`).
    """
    return text.encode("utf-8")[: sum(sizes[:tokens])].decode("utf-8", errors="replace")
