"""Bytes that a model wrote, piece by piece, as text: a token may end in the middle of a character.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

# Control tokens that the readers need to see: thoughts, harmony's channels, GLM's box. All others stay out of the text.
MARKERS = (
    *("<think>", "</think>", "<reasoning>", "</reasoning>", "<reason>", "</reason>", "[THINK]", "[/THINK]"),
    *("<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|constrain|>"),
    *("<|begin_of_box|>", "<|end_of_box|>", "<|begin_of_thought|>", "<|end_of_thought|>"),
    *("<thinking>", "</thinking>", "<thought>", "</thought>", "<seed:think>", "</seed:think>"),
    *("<|START_THINKING|>", "<|END_THINKING|>", "<|channel>", "<channel|>", "<unused94>", "<unused95>"),
    *("◁think▷", "◁/think▷", "<|inner_prefix|>", "<|inner_suffix|>", "<longcat_think>", "</longcat_think>"),
    *("<|think|>", "<|/think|>", "<|content|>", "[BEGIN FINAL RESPONSE]"),
)


def text_of(pieces: Iterable[bytes]) -> str:
    """The text of all `pieces` together, never of each by itself: a Han character may span two or three of them.

    A character cut off by the token limit, or bytes that are no UTF-8, become U+FFFD; nothing before or after is lost.
    """
    return b"".join(pieces).decode("utf-8", errors="replace")
