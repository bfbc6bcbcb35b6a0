"""How many bytes of a text each of its tokens brought: packed for the store, and the text of the first tokens. Pure."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

_LARGEST = 0xFFFF  # bytes of a token
_CUT = "\ufffd"


def pack(text: str, sizes: Sequence[int]) -> bytes | None:
    """Sizes in UTF-8 bytes as the store keeps them; None where they are not those of `text`, or there are none.

    They are not where a response holds bytes that are no UTF-8, but for a last character that the budget cut.
    """
    if not sizes or max(sizes) > _LARGEST or not _fits(text, sum(sizes)):
        return None
    return zlib.compress(struct.pack(f"<{len(sizes)}H", *sizes))


def _fits(text: str, written: int) -> bool:
    size = len(text.encode("utf-8", errors="replace"))
    if written == size:
        return True
    # U+FFFD for one to three bytes of a character. Another one before it may stand for bytes of any number.
    cut = text.endswith(_CUT) and _CUT not in text[:-1]
    return cut and 0 < written - (size - len(_CUT.encode())) <= len(_CUT.encode())


def unpack(packed: bytes) -> tuple[int, ...]:
    """What `pack` packed."""
    raw = zlib.decompress(packed)
    return struct.unpack(f"<{len(raw) // 2}H", raw)


def first(text: str, sizes: Sequence[int], tokens: int) -> str:
    """The text of the first `tokens` tokens, exactly as an engine that stops there gives it.

    A character that the last of them begins and does not end is U+FFFD (see `twlocal.decode`).
    """
    return text.encode("utf-8")[: sum(sizes[:tokens])].decode("utf-8", errors="replace")
