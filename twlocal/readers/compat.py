r"""Other tools' readings of the same text, so that their published numbers can be compared with ours.

Twinkle Eval 2.10 sets a thought aside only where both its tags are there, looks for `\box{X}` before `\boxed{X}`, and
takes any capital letter. The public board's first runners read `\boxed{}` in the whole response, thinking included, and
fell back on a cascade that ends with any lone letter. Faults and all: these are not for scoring.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from twlocal.errors import EngineMissing
from twlocal.readers.reading import ORDINAL, Reading

if TYPE_CHECKING:
    from collections.abc import Callable

_TWINKLE_TAGS = ("think", "reason", "reasoning")
_TWINKLE_BOXES = (re.compile(r"\\box\{([A-Z])\}"), re.compile(r"\\boxed\{([A-Z])\}"))

_BOARD_BOX = re.compile(r"\\boxed\{\s*([A-Da-d甲乙丙丁])\s*\}")
_BOARD_LEADING = re.compile(r"\s*[(（\[*「]{0,4}([A-D])(?![A-Za-z0-9])")
_BOARD_MARKED = re.compile(
    r"(?:答案|正解)\s{0,4}(?:應該|應|应该|应)?(?:是|為|为|選|选|:|：)?\s{0,4}[:：]?\s{0,4}[(（\[*「]{0,4}([A-D])(?![A-Za-z0-9])"
)
_BOARD_LONE = re.compile(r"(?<![A-Za-z0-9])([A-D])(?![A-Za-z0-9])")


def twinkle_source(text: str, reasoning: str) -> tuple[str, int]:
    """The text that Twinkle Eval reads and its index in what was given: thought stripped, else the reasoning field."""
    source, start = text, 0
    lower = text.lower()
    for tag in _TWINKLE_TAGS:
        if f"<{tag}>" in lower and f"</{tag}>" in lower:
            # The index comes from the lower-cased text, as theirs does, although a few letters change length in it.
            start = lower.rfind(f"</{tag}>") + len(tag) + 3
            source = text[start:]
            start += len(source) - len(source.lstrip())
            source = source.strip()
            break
    return (source, start) if source else (reasoning, 0)


def twinkle_box(text: str, reasoning: str = "", finish: str = "stop", labels: str = "ABCD") -> Reading:
    r"""Twinkle Eval's box strategy: the first `\box{X}`, else the first `\boxed{X}`; X is any one capital letter."""
    source, start = twinkle_source(text, reasoning)
    for pattern in _TWINKLE_BOXES:
        found = pattern.search(source)
        if found:
            return Reading(found[1], "box", (found.start() + start, found.end() + start))
    return Reading(None, "no_box")


@cache
def _pattern_extractor() -> Callable[[str], str | None]:
    try:
        from twinkle_eval.metrics.extractors.pattern import PatternExtractor
    except ImportError as error:
        raise EngineMissing(
            "the reader twinkle_pattern needs the package twinkle-eval", hint="pip install 'twlocal[twinkle]'"
        ) from error
    extract: Callable[[str], str | None] = PatternExtractor().extract
    return extract


def twinkle_pattern(text: str, reasoning: str = "", finish: str = "stop", labels: str = "ABCD") -> Reading:
    """Twinkle Eval's pattern strategy, run by the installed package. Raises EngineMissing where it is not installed.

    It may read any capital letter, as the paper's section 5.1 describes.
    """
    letter = _pattern_extractor()(twinkle_source(text, reasoning)[0])
    return Reading(letter, "pattern" if letter else "no_pattern")


def board_strict(text: str, reasoning: str = "", finish: str = "stop", labels: str = "ABCD") -> Reading:
    r"""The public board's strict reading: the first `\boxed{}` with one of A–D, a–d, 甲乙丙丁, thinking included."""
    return _board_box(text, 0) or Reading(None, "no_box")


def board_lenient(text: str, reasoning: str = "", finish: str = "stop", labels: str = "ABCD") -> Reading:
    """The public board's cascade behind the last `</think>`: box, leading letter, marked answer, lone letter."""
    close = text.rfind("</think>")
    start = close + len("</think>") if close >= 0 else 0
    boxed = _board_box(text, start)
    if boxed:
        return boxed
    for why, found in (
        ("leading_letter", _BOARD_LEADING.match(text, start)),
        ("marked_answer", _BOARD_MARKED.search(text, start)),
        ("lone_letter", _BOARD_LONE.search(text, start)),
    ):
        if found:
            return Reading(found[1], why, found.span(1))
    return Reading(None, "no_letter")


def _board_box(text: str, start: int) -> Reading | None:
    found = _BOARD_BOX.search(text, start)
    if found is None:
        return None
    place = "甲乙丙丁".find(found[1])
    if place >= 0:
        return Reading("ABCD"[place], "ordinal", found.span(), (ORDINAL,))
    return Reading(found[1].upper(), "box", found.span())
