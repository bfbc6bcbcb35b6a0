"""Where a Chinese sentence ends. Pure.

Two questions that differ. A *block* ends a sentence when its last mark, behind closing quotes and brackets, is a full
stop, a question mark, an exclamation mark or an ellipsis. *Inside* a block a sentence surely ends only behind such a
mark outside all quotes and brackets: 「真的嗎？」他問。 goes on after its question mark.
"""

from __future__ import annotations

_ENDS = "。！？!?…⋯｡"
_CLOSERS = "」』》〉）】〕］｝)]}”’\"'"
_OPENERS = {"「": "」", "『": "』", "《": "》", "〈": "〉", "（": "）", "【": "】", "〔": "〕", "(": ")", "“": "”"}
_CLOSING = {closer: opener for opener, closer in _OPENERS.items()}


def ends_sentence(text: str) -> bool:
    """Whether the text stops at the end of a sentence. English full stops count behind a word."""
    bare = text.rstrip().rstrip(_CLOSERS).rstrip()
    if not bare:
        return False
    return bare[-1] in _ENDS or (bare[-1] == "." and len(bare) > 1 and bare[-2].isalpha())


def ends_inside(text: str) -> list[int]:
    """Offsets (in characters) behind every sentence that surely ends inside the text, its own end left out.

    A run of marks (⋯⋯, ！？) and the closers behind it belong to the sentence; an unbalanced closer is passed over, and
    an opener that never closes ends with its line.
    """
    found: list[int] = []
    stack: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char in _OPENERS:
            stack.append(char)
        elif char in _CLOSING:
            if _CLOSING[char] in stack:
                while stack.pop() != _CLOSING[char]:
                    pass
        elif char == "\n":
            stack.clear()
        elif char in _ENDS and not stack:
            while at + 1 < len(text) and text[at + 1] in _ENDS:
                at += 1
            # An ellipsis may stand in the middle of a sentence.
            if text[at] not in "…⋯" and at + 1 < len(text) and text[at + 1] not in _CLOSERS:
                found.append(at + 1)
        at += 1
    return found
