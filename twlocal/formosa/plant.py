"""Defects planted into good items, by which a judge is known (section 5.4 of the paper). Pure; no model takes part.

Three classes of construction, each drawn by hash, so that the same items always give the same defects:

    wrong_key           the key moves to one of the distractors
    ungrounded_fact     the keyed option says what its window does not: another number, or the answer of another item
    malformed_options   the options no longer hold one answer: the key twice, the key said again, the key left empty
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from twlocal.formosa.options import bare, columns
from twlocal.item import LABELS, Item

CLEAN = "clean"
WRONG_KEY = "wrong_key"
UNGROUNDED = "ungrounded_fact"
MALFORMED = "malformed_options"
CLASSES = (WRONG_KEY, UNGROUNDED, MALFORMED)
VERSION = 1  # raised when the same items would be planted otherwise

_SEPARATOR = "\x1f"
_DIGITS = "0123456789"
_NUMERALS = "一二三四五六七八九"
# A single numeral may belong to a name (三義); two together are a number, or a name that is none with another numeral.
_NUMBER = re.compile(r"[0-9]+|[〇零一二三四五六七八九十百千萬]{2,}")
_NEAR = 8  # so many answers of other items, the nearest in length, are drawn from


@dataclass(frozen=True, slots=True)
class Good:
    """An item held to be good, and the text of the window it was written from."""

    item: Item
    window: str


@dataclass(frozen=True, slots=True)
class Case:
    """What a judge is shown: an item as it was, or with one defect.

    kind: CLEAN or one of CLASSES. variant: how it was planted, "" for a clean one. origin: content hash of the good
    item.
    """

    kind: str
    variant: str
    origin: str
    item: Item
    window: str

    @property
    def name(self) -> str:
        """The kind and the beginning of the shown item's content hash: where names are equal, so is what is shown."""
        return f"{self.kind}:{self.item.content_hash[:16]}"


def plant(goods: Sequence[Good], count: int, *, seed: str = "") -> list[Case]:
    """Clean and planted cases of `count` good items: each is shown clean and once with each class of defect.

    The items are drawn by hash, without those that cannot take every class (see `ungrounded`); fewer come out where
    there are fewer. Cases stand in an order drawn by hash, so that a judge cannot learn it.
    """
    distinct = {good.item.content_hash: good for good in goods}
    cases: list[Case] = []
    for origin in sorted(distinct, key=lambda one: _hash(seed, one)):
        good = distinct[origin]
        fact = ungrounded(good, list(distinct.values()), seed)
        if fact is None or not _whole(good.item):
            continue
        cases += [
            Case(CLEAN, "", origin, good.item, good.window),
            wrong_key(good, seed),
            fact,
            malformed(good, seed),
        ]
        if len(cases) == (1 + len(CLASSES)) * count:
            break
    return sorted(cases, key=lambda case: _hash(seed, case.kind, case.origin))


def wrong_key(good: Good, seed: str = "") -> Case:
    """The item with the letter of a distractor as its key."""
    item = good.item
    others = [letter for letter in LABELS if letter != item.answer]
    return _case(WRONG_KEY, "moved", good, _with(item, answer=_drawn(others, seed, WRONG_KEY, item.content_hash)))


def ungrounded(good: Good, goods: Sequence[Good], seed: str = "") -> Case | None:
    """The item with a keyed option that its window does not say; None where nothing fits.

    A number in the answer becomes another one, by its last digit if that can be; where there is none, the answer of
    another item comes in its place, one of the nearest in length. What comes in stands neither in the window nor among
    the options.
    """
    item = good.item
    said = bare(good.window)
    taken = {bare(text) for text in item.options}

    def fits(text: str) -> bool:
        plain = bare(text)
        return bool(plain) and plain not in said and plain not in taken

    if numbers := _other_numbers(_key(item), fits):
        chosen = _drawn(numbers, seed, UNGROUNDED, item.content_hash)
        return _case(UNGROUNDED, "number", good, _with_option(item, item.answer, chosen))
    width = columns(_key(item))
    # A year in the place of a name would be told from it without the window.
    foreign = {
        _key(other.item) for other in goods if other.window != good.window and not _NUMBER.search(_key(other.item))
    }
    near = sorted((text for text in foreign if fits(text)), key=lambda text: (abs(columns(text) - width), text))
    if not near:
        return None
    chosen = _drawn(near[:_NEAR], seed, UNGROUNDED, item.content_hash)
    return _case(UNGROUNDED, "answer of another item", good, _with_option(item, item.answer, chosen))


def malformed(good: Good, seed: str = "") -> Case:
    """The item with options that do not hold one answer."""
    item = good.item
    variant = _drawn(("twice", "said again", "empty"), seed, MALFORMED, item.content_hash)
    if variant == "empty":
        return _case(MALFORMED, variant, good, _with_option(item, item.answer, ""))
    other = _drawn([letter for letter in LABELS if letter != item.answer], seed, variant, item.content_hash)
    text = _key(item) if variant == "twice" else f"也就是「{_key(item)}」"
    return _case(MALFORMED, variant, good, _with_option(item, other, text))


def _other_numbers(text: str, fits: Callable[[str], bool]) -> list[str]:
    """The text with one digit or numeral of a number changed: the last one for which something fits."""
    for found in reversed(list(_NUMBER.finditer(text))):
        for at in reversed(range(found.start(), found.end())):
            known = _DIGITS if text[at] in _DIGITS else _NUMERALS if text[at] in _NUMERALS else ""
            # No number begins with 0 that did not before.
            allowed = known[1:] if known == _DIGITS and at == found.start() else known
            changed = [text[:at] + other + text[at + 1 :] for other in allowed if other != text[at]]
            if fitting := [one for one in changed if fits(one)]:
                return fitting
    return []


def _whole(item: Item) -> bool:
    return all(item.options) and len({bare(text) for text in item.options}) == len(LABELS)


def _key(item: Item) -> str:
    return item.options[LABELS.index(item.answer)]


def _with(item: Item, *, answer: str) -> Item:
    # A new item, not `replace`: the content hash that the old one remembers is not this one's.
    return Item(item.question, item.options, answer, item.subject, item.id)


def _with_option(item: Item, letter: str, text: str) -> Item:
    a, b, c, d = (text if one == letter else old for one, old in zip(LABELS, item.options, strict=True))
    return Item(item.question, (a, b, c, d), item.answer, item.subject, item.id)


def _case(kind: str, variant: str, good: Good, item: Item) -> Case:
    return Case(kind, variant, good.item.content_hash, item, good.window)


def _hash(*parts: str) -> str:
    return hashlib.sha256(_SEPARATOR.join(parts).encode("utf-8")).hexdigest()


def _drawn(choices: Sequence[str], *parts: str) -> str:
    return choices[int(_hash(*parts)[:16], 16) % len(choices)]
