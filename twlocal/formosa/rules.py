"""The named screening rules. Each is one function over one draft, to be tested by itself. Pure.

`reject` takes the item out, `review` lets it stand and shows it to a person. Measured on 2,085 native examination
questions, rules reject (of sound items, so to say falsely): see `docs` of each and tests/twlocal/formosa.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from twlocal.formosa import options, simplified, stems
from twlocal.formosa.drafts import Draft
from twlocal.formosa.lexicon import STRICT, Lexicon
from twlocal.item import LABELS

REJECT = "reject"
REVIEW = "review"
# Part of what a screening is known by: raise it whenever a rule changes what it finds.
VERSION = "2"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a rule found: where (`question` or an option's letter), the span in it, and the words there."""

    rule: str
    level: str
    where: str
    start: int
    end: int
    words: str


Rule = Callable[[Draft, Lexicon], Iterator[Finding]]


def malformed(draft: Draft, lexicon: Lexicon) -> Iterator[Finding]:
    """An empty stem or option, two options that say the same, a key that is none of A–D."""
    if not draft.question:
        yield Finding("malformed", REJECT, "question", 0, 0, "empty")
    if not draft.is_keyed:
        yield Finding("malformed", REJECT, "answer", 0, len(draft.answer), draft.answer or "empty")
    seen: dict[str, str] = {}
    for letter, text in zip(LABELS, draft.options, strict=True):
        # A text of nothing but punctuation is compared as it stands.
        same = options.bare(text) or text
        if not text:
            yield Finding("malformed", REJECT, letter, 0, 0, "empty")
        elif same in seen:
            yield Finding("malformed", REJECT, letter, 0, len(text), f"same as {seen[same]}")
        seen.setdefault(same, letter)


def opens_on_pronoun(draft: Draft, lexicon: Lexicon) -> Iterator[Finding]:
    """A stem that opens on a pronoun names nobody once the source is gone; one inside a stem resolves there."""
    yield from _in_stem("opens_on_pronoun", draft, stems.opening_pronoun(draft.question))


def refers_to_passage(draft: Draft, lexicon: Lexicon) -> Iterator[Finding]:
    """A stem that leans on a text the answerer does not see. Pure scaffolding was stripped before."""
    yield from _in_stem("refers_to_passage", draft, stems.passage_reference(draft.question))


def answer_in_stem(draft: Draft, lexicon: Lexicon) -> Iterator[Finding]:
    """The stem says the answer."""
    if options.answer_in_stem(draft.question, draft.key, draft.distractors):
        at = max(draft.question.find(draft.key), 0)
        yield Finding("answer_in_stem", REJECT, "question", at, at + len(draft.key), draft.key)


def unequal_options(draft: Draft, lexicon: Lexicon) -> Iterator[Finding]:
    """The key can be told by its length: reject. A distractor can: review."""
    if not all(draft.options):
        return
    for at, (letter, text) in enumerate(zip(LABELS, draft.options, strict=True)):
        is_key = letter == draft.answer
        how = options.sticks_out(draft.options, at, is_key=is_key)
        if how:
            yield Finding("unequal_options", REJECT if is_key else REVIEW, letter, 0, len(text), how)


def speaks_of_options(draft: Draft, lexicon: Lexicon) -> Iterator[Finding]:
    """An option such as 以上皆是: it means something else once the options are permuted."""
    for letter, text in zip(LABELS, draft.options, strict=True):
        if options.speaks_of_options(text):
            yield Finding("speaks_of_options", REJECT, letter, 0, len(text), text)


def simplified_characters(draft: Draft, lexicon: Lexicon) -> Iterator[Finding]:
    """A character that Taiwan does not write."""
    for where, text in _texts(draft):
        for at, char, strict in simplified.find(text):
            yield Finding("simplified_characters", REJECT if strict else REVIEW, where, at, at + 1, char)


def mainland_vocabulary(draft: Draft, lexicon: Lexicon) -> Iterator[Finding]:
    """A word of the mainland in Traditional characters: strict terms reject, review terms are shown."""
    for where, text in _texts(draft):
        for hit in lexicon.find(text):
            level = REJECT if hit.term.level == STRICT else REVIEW
            yield Finding("mainland_vocabulary", level, where, hit.start, hit.end, text[hit.start : hit.end])


RULES: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        malformed,
        opens_on_pronoun,
        refers_to_passage,
        answer_in_stem,
        unequal_options,
        speaks_of_options,
        simplified_characters,
        mainland_vocabulary,
    )
}


def _texts(draft: Draft) -> Iterator[tuple[str, str]]:
    yield "question", draft.question
    yield from zip(LABELS, draft.options, strict=True)


def _in_stem(rule: str, draft: Draft, span: tuple[int, int] | None) -> Iterator[Finding]:
    if span:
        yield Finding(rule, REJECT, "question", *span, draft.question[slice(*span)])
