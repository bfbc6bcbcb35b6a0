"""Bytes that a model wrote, piece by piece, as text: a token may end in the middle of a character.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable


def text_of(pieces: Iterable[bytes]) -> str:
    """The text of all `pieces` together, never of each by itself: a Han character may span two or three of them.

    A character cut off by the token limit, or bytes that are no UTF-8, become U+FFFD; nothing before or after is lost.
    """
    return b"".join(pieces).decode("utf-8", errors="replace")
