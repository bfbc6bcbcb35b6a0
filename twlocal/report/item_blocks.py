"""The items of a run as compressed blocks inside a page, which unpacks only what is looked at.

Three kinds, each of the same rows: `i` (what the list shows and filters by), `q` (what was asked), `r` (what came
back). The first stands before the page's script and the others behind it, so that the list is there before they are. A
block is JSON, gzip, base64: nothing in it can end the script element that it stands in. Built row by row, so that a
run of any length takes the memory of one block.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from twlocal import readers
from twlocal.item import Item, shown_letter
from twlocal.judge import Judged, judge
from twlocal.protocol import Protocol
from twlocal.readers import Reading
from twlocal.readers.final import REASONING_ONLY
from twlocal.record import Record
from twlocal.report.item_words import why
from twlocal.runs import RunRow, Runs
from twlocal.score import Score

ROWS = 500  # a block, at the most
CHARACTERS = 1_000_000  # of prompts and responses together: unpacking a block stays below what one notices
EXCERPT = 60  # characters of the question in the list
_LEVEL = 6

CORRECT, READ, LENIENT, LENIENT_READ, TRUNCATED, LOOP, FLAGGED = (1 << bit for bit in range(7))


@dataclass
class Gathered:
    """What is known once all rows were seen.

    rows: their number. blocks: how many of each kind. sentences: Chinese and English, which rows name by number.
    ends, outcomes: how many responses have a length (tokens, or characters where no tokens were told) and end so
    (ended, truncated) or come out so (right, wrong, unread).
    """

    rows: int = 0
    blocks: int = 0
    sentences: dict[tuple[str, str], int] = field(default_factory=dict)
    tokens: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    characters: Counter[tuple[int, str, str]] = field(default_factory=Counter)


def blocks(
    runs: Runs,
    run: RunRow,
    protocol: Protocol,
    score: Score,
    gathered: Gathered,
    *,
    private: bool = False,
    without: AbstractSet[str] = frozenset(),
) -> Iterator[tuple[str, Markup]]:
    """Script elements that hold every answered row, each with its kind, filling `gathered` on the way.

    score: of the run, for its reader and for its subjects, which rows name by their place in it. private: no
    questions, no responses. without: content hashes of rows that are left out.
    """
    subjects = {name: number for number, (name, _) in enumerate(score.subjects)}
    index: list[Any] = []
    asked: list[str | None] = []
    answered: list[Any] = []
    size = 0
    for record in runs.records(run.id):
        if record.content_hash in without:
            continue
        judged = judge(record, score.reader)
        prompt, question = (None, "") if private else _asked(runs, protocol, record)
        index.append(_row(record, judged, subjects[record.subject], question, gathered))
        if not private:
            asked.append(prompt)
            answered.append(_answer(record, judged))
            size += len(prompt or "") + len(record.text) + len(record.reasoning)
        if len(index) == ROWS or size > CHARACTERS:
            yield from _packed(index, asked, answered, gathered)
            index, asked, answered, size = [], [], [], 0
    if index:
        yield from _packed(index, asked, answered, gathered)


def _packed(
    index: list[Any], asked: list[str | None], answered: list[Any], gathered: Gathered
) -> Iterator[tuple[str, Markup]]:
    number = gathered.blocks
    gathered.blocks += 1
    yield "i", pack(f"i{number}", index)
    if asked:
        yield "q", pack(f"q{number}", asked)
        yield "r", pack(f"r{number}", answered)


def pack(name: str, value: Any) -> Markup:
    """A value as the script element that the page's script unpacks by its name."""
    raw = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    text = base64.b64encode(gzip.compress(raw, _LEVEL, mtime=0)).decode()
    return Markup('<script type="text/plain" id="block-{}">{}</script>\n').format(name, Markup(text))


def _asked(runs: Runs, protocol: Protocol, record: Record) -> tuple[str | None, str]:
    words = runs.words(record.content_hash)
    if words is None:
        return None, ""
    item = Item(words[0], words[1], record.answer, record.subject, record.item_id)
    return protocol.messages(item, record.order)[-1].content, words[0]


def _row(record: Record, judged: Judged, subject: int, question: str, gathered: Gathered) -> list[Any]:
    """A row of the list; the page's script names its columns in the same order."""
    gathered.rows += 1
    end = "truncated" if judged.truncated else "ended"
    outcome = "right" if judged.correct else "unread" if judged.box.letter is None else "wrong"
    if record.completion_tokens is not None:
        gathered.tokens[record.completion_tokens, end, outcome] += 1
    gathered.characters[len(record.text) + len(record.reasoning), end, outcome] += 1
    return [
        record.no,
        record.repeat,
        subject,
        record.item_id,
        record.content_hash[:16],
        record.answer,
        shown_letter(record.answer, record.order),
        record.order,
        judged.box.letter or "",
        judged.lenient.letter or "",
        _sentence(judged.box, gathered),
        _sentence(judged.lenient, gathered),
        _bits(judged),
        " ".join(judged.flags),
        record.finish,
        record.prompt_tokens,
        record.completion_tokens,
        record.reasoning_tokens,
        " ".join(question[: EXCERPT * 2].split())[:EXCERPT],
    ]


def _sentence(reading: Reading, gathered: Gathered) -> int:
    said = (why(reading.why, reading.letter, reading.flags), readers.explain(reading))
    return gathered.sentences.setdefault(said, len(gathered.sentences))


def _bits(judged: Judged) -> int:
    facts = {
        CORRECT: judged.correct,
        READ: judged.box.letter is not None,
        LENIENT: judged.correct_lenient,
        LENIENT_READ: judged.lenient.letter is not None,
        TRUNCATED: judged.truncated,
        LOOP: judged.loop,
        FLAGGED: bool(judged.flags),
    }
    return sum(bit for bit, there in facts.items() if there)


def _answer(record: Record, judged: Judged) -> list[Any]:
    """Text, reasoning field, how much of the text is thinking, and where each reader read, in UTF-16 units.

    The places are in the reasoning field where that was all there was, which the last element says.
    """
    final = readers.final_text(record.text, record.reasoning, record.finish)
    only = REASONING_ONLY in final.flags
    source = record.reasoning if only else record.text
    # With its closing tag: what follows is the final text, and that is where a person looks first.
    thought = 0 if only else _utf16(source, final.thought if final.text is None else final.start)
    spans = [[_utf16(source, at) for at in one.span] if one.span else None for one in (judged.box, judged.lenient)]
    return [record.text, record.reasoning, thought, *spans, int(only)]


def _utf16(text: str, at: int) -> int:
    """An index into a text as a browser counts: characters beyond U+FFFF take two."""
    return len(text[:at].encode("utf-16-le", "surrogatepass")) // 2
