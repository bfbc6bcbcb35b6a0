"""`--stop-at-box`: whether an answer in the making already holds what the strict reader will read. Pure.

The strict reader takes the first readable box of the final text, so what follows a closed one changes its reading only
where the model opens another thought or channel afterwards. It is another apparatus all the same: such a run is marked,
and `twlocal study stop-at-box` says what it saves and what it changes.
"""

from __future__ import annotations

from twlocal.readers import box, final_text
from twlocal.readers.final import UNCLOSED_THINKING

FLAG = "stopped_at_box"


def enough(text: str, opened: str = "") -> bool:
    """Whether `text` may end here: its final text, outside of any open thought, holds a box that `box` reads.

    opened: the tag of a thought that the prompt itself left open (see `readers.final.opened_thought`), which the text
    then begins inside of.
    """
    if "\\boxed" not in text:
        return False
    final = final_text(opened + text)
    return UNCLOSED_THINKING not in final.flags and box(final).letter is not None


def stop(text: str, opened: str = "") -> int | None:
    """Index after the closing brace at which generation of `text` would have stopped; None where it would not have."""
    at = text.find("\\boxed")
    while at >= 0:
        end = text.find("}", at)
        if end < 0:
            return None
        if enough(text[: end + 1], opened):
            return end + 1
        at = text.find("\\boxed", at + 1)
    return None
