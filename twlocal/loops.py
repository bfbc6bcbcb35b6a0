"""Degenerate repetition: a response whose end says the same thing over and over.

A response that hits its budget is either still undecided or stuck in a loop (8% of the capped ones, the paper's
section 5.3), and the two ask for different remedies. What counts as a loop here, always at the *end* of the text:

- the last characters are exact copies of one stretch (the period, up to 1,000 characters), at least 4 of them, and
  these copies make up half of the last 2,000 characters, or half of a shorter text, and 120 characters at the least;
- a period without any letter or digit ("!!!!", "----", blank lines) needs 400 characters, so that rulers do not count;
- the same with every run of digits read as one ("第1步…第2步…"): then 8 copies, 400 characters and 8 letters a copy,
  so that a table of numbers does not count. Such a copy is at most 250 characters long. Counters written in Chinese
  numerals are not seen through.

A text that circles in other words is not a loop, nor is one that looped and then went on. Pure, and linear: beyond the
last 4,000 characters nothing is looked at.
"""

from __future__ import annotations

import re

TAIL = 2_000  # characters: half of these must be covered
MAX_PERIOD = 1_000  # characters
COPIES, COVERED = 4, 120
COUNTER_COPIES, COUNTER_COVERED, COUNTER_LETTERS = 8, 400, 8
SYMBOLS_COVERED = 400
_ANCHOR = 64  # characters: rare in prose, and with one period still within the shortest loop that counts
_DIGITS = re.compile(r"\d+")


def is_loop(text: str) -> bool:
    """Whether the text ends in a degenerate loop (see this module's description)."""
    return period(text) is not None


def period(text: str) -> str | None:
    """The stretch that the end of the text repeats, or None where it does not.

    Where the copies differ by a counter, its digits are shown as 0.
    """
    if len(text) < COVERED:
        return None
    tail = text[-COPIES * MAX_PERIOD :].rstrip("\ufffd")  # a cut may leave half a character
    trimmed = tail.rstrip()
    found = _repeated(trimmed, COPIES, COVERED)
    if found is None and trimmed != tail:
        found = _repeated(tail, COPIES, COVERED)
    if found is None:
        counted, runs = _DIGITS.subn("0", trimmed[-TAIL:])
        if runs >= COUNTER_COPIES:
            found = _repeated(counted, COUNTER_COPIES, COUNTER_COVERED)
            if found is not None and sum(map(str.isalpha, found)) < COUNTER_LETTERS:
                return None
    return found


def _repeated(tail: str, copies: int, covered: int) -> str | None:
    """The shortest stretch of which the end of `tail` is made, with at least so many copies and characters covered."""
    end = len(tail)
    half = min(end, TAIL) // 2
    if end < covered:
        return None
    # A text of period p shows its last characters again p before. So only the places where they stand are tried, and
    # each trial is one comparison of two slices; prose costs a single search.
    anchor = tail[-_ANCHOR:]
    at = tail.rfind(anchor, max(0, end - MAX_PERIOD - _ANCHOR), end - 1)
    while at >= 0:
        size = end - _ANCHOR - at
        needed = max(half, copies * size, covered)
        stretch = tail[-size:]
        if not any(map(str.isalnum, stretch)):
            needed = max(needed, SYMBOLS_COVERED)
        if needed <= end and tail[end - needed : end - size] == tail[end - needed + size :]:
            return stretch
        at = tail.rfind(anchor, max(0, end - MAX_PERIOD - _ANCHOR), at + _ANCHOR - 1)
    return None
