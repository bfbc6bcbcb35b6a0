"""One stored response, judged: what each reader reads in it, whether that is right, and what was odd about it.

Pure: a function of the record alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from twlocal import readers
from twlocal.backend import FINISH_LENGTH
from twlocal.item import LABELS, source_letter
from twlocal.loops import is_loop
from twlocal.readers import Reading
from twlocal.record import Record

PUBLISHED = "box"  # the reader of every published score
_SHORT = 80  # characters; the reading of a response up to here is remembered
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
    read = _remembered if len(record.text) + len(record.reasoning) <= _SHORT else _read
    box, lenient, wrote_box, truncated, loop, final, thought, flags = read(
        record.text, record.reasoning, record.finish, reader
    )
    return Judged(
        box=box,
        lenient=lenient,
        correct=right(box.letter, record),
        correct_lenient=right(lenient.letter, record),
        wrote_box=wrote_box,
        truncated=truncated,
        loop=loop,
        final=final,
        thought=thought,
        flags=_merged(record.flags, flags),
    )


def _read(
    text: str, reasoning: str, finish: str, reader: str
) -> tuple[Reading, Reading, bool, bool, bool, bool, bool, tuple[str, ...]]:
    """What of a `Judged` the response alone decides, in its order: all but `correct` and `correct_lenient`."""
    final = readers.final_text(text, reasoning, finish)
    if reader == PUBLISHED:
        box = lenient = readers.box(final)
        # The lenient reader begins with `box`, so it is asked only where that read nothing.
        if box.letter is None:
            lenient = readers.lenient(final, LABELS, box)
    else:
        box = readers.read(reader, text, reasoning, finish, LABELS)
        lenient = readers.lenient(final)
    truncated = finish == FINISH_LENGTH
    return (
        *(box, lenient, readers.wrote_box(final), truncated),
        (truncated or box.letter is None or len(text) > _LONG) and is_loop(text or reasoning),
        final.text is not None,
        # A thought that the template opens and closes without a word (`<think>\n\n</think>`) is none.
        bool(reasoning or (final.thought and final.thinking.strip().removeprefix("<think>").strip())),
        _merged(final.flags, box.flags),
    )


# A model that is asked for a letter often says nothing else: a handful of texts, thousands of times.
_remembered = lru_cache(maxsize=256)(_read)


def right(letter: str | None, record: Record) -> bool:
    """Whether the option shown to the model under `letter` is the keyed one."""
    # Another tool's reader may read a letter that is not an option's: read, and wrong.
    return letter is not None and letter in LABELS and source_letter(letter, record.order) == record.answer


def _merged(*groups: Sequence[str]) -> tuple[str, ...]:
    # Most records have no flag at all, and there are 250,000 of them.
    return tuple(dict.fromkeys(flag for group in groups for flag in group)) if any(groups) else ()
