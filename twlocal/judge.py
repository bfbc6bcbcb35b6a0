"""One stored response, judged: what each reader reads in it, whether that is right, and what was odd about it.

Pure: a function of the record alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from twlocal import readers
from twlocal.backend import FINISH_LENGTH
from twlocal.item import LABELS, source_letter
from twlocal.loops import is_loop
from twlocal.readers import Reading
from twlocal.record import Record

PUBLISHED = "box"  # the reader of every published score
_LONG = 2_000  # characters; a shorter response that ended by itself and was read is not worth a search for loops


class Judged(NamedTuple):
    """A record under its readers. Letters inside the readings are as shown to the model, not as in the source.

    box: what the score's reader reads (`box` unless another was asked for). lenient: what the lenient one reads.
    correct, correct_lenient: the option so named is the keyed one. wrote_box: it wrote a `\\boxed{}` at all.
    truncated: the budget ended it. loop: it ends in a degenerate repetition. final: it has a final text.
    thought: it has thinking, in its text or in a field apart. flags: the record's own, the text's and the reading's.
    """

    box: Reading
    lenient: Reading
    correct: bool
    correct_lenient: bool
    wrote_box: bool
    truncated: bool
    loop: bool
    final: bool
    thought: bool
    flags: tuple[str, ...]


def judge(record: Record, reader: str = PUBLISHED) -> Judged:
    """Judge one record with the named reader, and the lenient one beside it. Raises what `readers.read` raises."""
    text, finish = record.text, record.finish
    final = readers.final_text(text, record.reasoning, finish)
    if reader == PUBLISHED:
        box = lenient = readers.box(final)
        # The lenient reader begins with `box`, so it is asked only where that read nothing.
        if box.letter is None:
            lenient = readers.lenient(final, LABELS, box)
    else:
        box = readers.read(reader, text, record.reasoning, finish, LABELS)
        lenient = readers.lenient(final)
    truncated = finish == FINISH_LENGTH
    return Judged(
        box=box,
        lenient=lenient,
        correct=right(box.letter, record),
        correct_lenient=right(lenient.letter, record),
        wrote_box=readers.wrote_box(final),
        truncated=truncated,
        loop=(truncated or box.letter is None or len(text) > _LONG) and is_loop(text or record.reasoning),
        final=final.text is not None,
        # A thought that the template opens and closes without a word (`<think>\n\n</think>`) is none.
        thought=bool(record.reasoning or (final.thought and final.thinking.strip().removeprefix("<think>").strip())),
        flags=_merged(record.flags, final.flags, box.flags),
    )


def right(letter: str | None, record: Record) -> bool:
    """Whether the option shown to the model under `letter` is the keyed one."""
    # Another tool's reader may read a letter that is not an option's: read, and wrong.
    return letter is not None and letter in LABELS and source_letter(letter, record.order) == record.answer


def _merged(*groups: Sequence[str]) -> tuple[str, ...]:
    # Most records have no flag at all, and there are 250,000 of them.
    return tuple(dict.fromkeys(flag for group in groups for flag in group)) if any(groups) else ()
