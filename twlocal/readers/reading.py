"""What a reader found, and how to say it in words."""

from __future__ import annotations

from typing import NamedTuple

ORDINAL = "ordinal"
UNCLOSED_BOX = "unclosed_box"


class Reading(NamedTuple):
    """A letter read from a response, or the reason why there is none.

    letter: the position label as shown to the model, upper case, or None. why: name of the rule that read it, or of the
    reason that nothing was read (the keys of `WHY`). span: the place it was read from, as indices into the text given
    (into the reasoning field when `reasoning_only` is among the flags). flags: what was odd, the final text's included.
    """

    letter: str | None
    why: str
    span: tuple[int, int] | None = None
    flags: tuple[str, ...] = ()


WHY = {
    "box": "the first \\boxed{{}} that holds one option letter says {letter}",
    "ordinal": "the first \\boxed{{}} that holds one option holds an ordinal (甲乙丙丁), which stands for {letter}",
    "box_decorated": "a box holds {letter} with something around it",
    "statement": "the last explicit statement of the answer names {letter}",
    "verdict": "{letter} is the only option called correct",
    "leading_letter": "the reply opens with the bare letter {letter}",
    "marked_answer": "a marked answer names {letter}",
    "lone_letter": "{letter} is the first letter that stands alone",
    "pattern": "Twinkle Eval's patterns find {letter}",
    "empty": "there is no text to read",
    "no_final_text": "there is no final text: the response never got past its thinking",
    "no_box": "there is no \\boxed{{}} in the final text",
    "box_empty": "the box is empty",
    "box_not_a_letter": "no box holds just one option letter",
    "box_outside_labels": "the box holds a letter that is no option of this item",
    "box_several": "a box names several options",
    "statement_several": "the last statement of the answer names several options",
    "statement_outside_labels": "the last statement of the answer names a letter that is no option of this item",
    "statement_withdrawn": "the stated answer is taken back afterwards",
    "no_statement": "there is no box, no statement of the answer and no bare letter",
    "no_pattern": "none of Twinkle Eval's patterns match",
    "no_letter": "no option letter is found",
}
_FLAGS = {
    "unclosed_thinking": "a thought is opened and never closed",
    "no_final_channel": "the response has no final channel",
    "reasoning_only": "the content was empty, so the reasoning field was read",
    "control_character": "the text holds a control character, as damaged escaping leaves behind",
    ORDINAL: "甲乙丙丁 was taken by position",
    UNCLOSED_BOX: "the box's closing brace is missing",
}


def explain(reading: Reading) -> str:
    """One plain sentence on how a reading came about."""
    said = WHY[reading.why].format(letter=reading.letter)
    notes = [_FLAGS.get(flag, flag) for flag in reading.flags]
    return said[0].upper() + said[1:] + (f" ({'; '.join(notes)})." if notes else ".")
