"""The rules that keep an item out, each with a name, each a function of the item alone (sections 3.3 and 3.4).

The first pass filters what cannot be an item of the benchmark. The second pass withdraws published rows whose stems
lean on something that is not there, without a word that the first pass could match; the paper needed people for it,
here geometry does most of it (`figure_on_page`), and people decide the rest.

What each rule deletes was counted where little should be deleted, and read one by one:

- 2,085 TMMLU rows, published without figures: `figure`, `table` and `answer_shown` fire on none; `english` on 20, all
  English; `continues` on three, all rightly; `long_key` on one, rightly (a page's footer is stuck to the key);
  `unreadable` on three, all with unidentified private-use characters; `figure_implied` on four, two of which tell what
  it shows; `passage` on five, all of groups whose passage is not there.
- 14,811 sentences of Taiwan.md, 140 of them with 圖 and 324 with 表, none of which points at anything: `figure`,
  `table`, `attachment` and `continues` fire on none.
- 815 items of the handout's 19 papers: `long_key` deletes one item that could be answered, the other rules none. Of
  the 31 items beside which a picture or a ruled grid stands, `figure` and `table` find 23 by their words, and they fire
  on no other. Seven of the remaining eight lean on the figure of their passage, one never mentions its photographs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from twlocal.audit import references
from twlocal.audit.fingerprint import plain
from twlocal.item import LABELS

from .glyphs import has_mark, private_use


@dataclass(frozen=True)
class Candidate:
    """A raw item of an accepted paper, with its official answer.

    `paper` and `number` name it; `year` is Minguo. `excluded` are the reasons that parsing and pairing found, `flags`
    their doubts. `answer` is None when no single letter is the key; `accepted` are then the answers that are credited.
    `original` is the letter before a correction. `grouped` says that it shares a passage with other items.
    """

    paper: str
    number: int
    year: int | None
    title: str
    subject_title: str
    question: str
    options: Mapping[str, str]
    answer: str | None
    accepted: tuple[str, ...] = ()
    original: str | None = None
    note: str = ""
    page: int = 0
    flags: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    grouped: bool = False
    continues: int | None = None

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """The options A–D. Raises KeyError on an item without four."""
        a, b, c, d = (self.options[letter] for letter in LABELS)
        return a, b, c, d


@dataclass(frozen=True)
class Rule:
    """`applies` gives the words or the measure for which an item is kept out, or None."""

    name: str
    says: str
    applies: Callable[[Candidate], str | None]


_OPTION_REASONS = (
    "five_options",
    "repeated_marks",
    "marks_out_of_order",
    "empty_options",
    "missing_options",
    "cut_option",
    "number_astray",
)
_LATIN = re.compile(r"[A-Za-z][A-Za-z'’-]+")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_ENGLISH = re.compile(
    r"(?:an?|the|of|to|in|on|at|for|from|by|with|and|or|is|are|was|were|be|been|has|have|had|do|does|did|not|which|what"
    r"|who|when|where|why|how|this|that|these|those|it|he|she|they|we|you|his|her|their|my|your|will|would|can|could"
    r"|should|may|might|must|if|as|than|there)",
    re.IGNORECASE,
)


def not_four_options(item: Candidate) -> str | None:
    """Four options A–D, all with text, none of them twice on the page, none likely cut short or another item's."""
    if found := [reason for reason in item.excluded if reason in _OPTION_REASONS]:
        return found[0]
    if tuple(item.options) != tuple(LABELS):
        return f"options {''.join(item.options) or 'none'}"
    return "empty_options" if not all(text.strip() for text in item.options.values()) else None


def several_answers(item: Candidate) -> str | None:
    """The official key accepts more than one answer (答B或D均給分): no single letter is right."""
    return "/".join(item.accepted) if "several_answers" in item.excluded else None


def everyone_credited(item: Candidate) -> str | None:
    """The item was voided: everyone is credited (一律給分)."""
    return item.note or "everyone" if "everyone_credited" in item.excluded else None


def no_key(item: Candidate) -> str | None:
    """No letter A–D is the key for another reason (an unexplained `#`, a fifth letter)."""
    if item.answer in tuple(LABELS):
        return None
    reasons = ("unexplained_mark", "five_letter_answer", "answer_without_option", "multiple_answers")
    return next((reason for reason in item.excluded if reason in reasons), "no answer")


def no_stem(item: Candidate) -> str | None:
    """The stem is empty: a cloze, whose sentence stands in a passage."""
    return None if item.question.strip() else "empty"


_SHOWN = re.compile(r"(?:[？?。：:]\s*|^)[（(]\s*[A-EＡ-Ｅ]\s*[)）]\s*$|^[（(]\s*[A-EＡ-Ｅ]\s*[)）]")


def answer_shown(item: Candidate) -> str | None:
    """The stem carries the answer: one letter in the bracket before or after it (`何者正確？（B）`)."""
    found = _SHOWN.search(item.question)
    return found[0] if found else None


def unreadable(item: Candidate) -> str | None:
    """A character that the text layer does not have, or one of a private font that nobody has identified."""
    text = "".join([item.question, *item.options.values()])
    if codes := private_use(text):
        return " ".join(codes)
    if has_mark(text):
        return "mark_in_text"
    return "image_glyph" if "image_glyph" in item.excluded else None


def english(item: Candidate) -> str | None:
    """The stem is English; the options do not count.

    Judging them too deleted 18,634 valid medical items with English terms among their options (section 3.3).
    """
    words = _LATIN.findall(item.question)
    han = len(_HAN.findall(item.question))
    if len(words) < 3 or han * 4 > len(words):
        return None
    known = sum(_ENGLISH.fullmatch(word) is not None for word in words)
    # Chinese inside an English stem is a gloss; a list of terms or a formula has no English grammar.
    return f"{len(words)} words" if known and (known * 12 >= len(words) or han == 0) else None


def figure(item: Candidate) -> str | None:
    """The stem points at a figure by a deictic reference (如下圖, 附圖, 圖一 …)."""
    return references.figure(item.question)


def continues(item: Candidate) -> str | None:
    """The stem goes on from another item (承上題 …)."""
    if words := references.continuation(item.question):
        return words
    return None if item.continues is None else f"question {item.continues}"


_LONG, _TIMES = 30, 3
_GLOSS = re.compile(r"\([A-Za-z][^()\u3400-\u9fff]*\)")


def long_key(item: Candidate) -> str | None:
    """The key is pathologically long: 30 characters or more, and over three times the longest distractor.

    Something else of the page is stuck to it, or length alone gives the answer away. It must be so with and without
    foreign terms in brackets: a gloss （staphylococcal scalded skin syndrome） alone makes no key long.
    """
    if item.answer is None or item.answer not in item.options:
        return None
    texts = {letter: plain(text) for letter, text in item.options.items()}
    seen = ""
    for shown in (texts, {letter: _GLOSS.sub("", text) for letter, text in texts.items()}):
        key = len(shown[item.answer])
        longest = max((len(text) for letter, text in shown.items() if letter != item.answer), default=0)
        if key < _LONG or key <= _TIMES * longest:
            return None
        seen = seen or f"{key} characters to {longest}"
    return seen


def figure_on_page(item: Candidate) -> str | None:
    """A picture, a drawing or a ruled grid stands beside the item, or beside the passage of its group."""
    seen = [flag for flag in ("figure", "figure_in_group", "drawing", "table") if flag in item.flags]
    return " ".join(seen) or None


def figure_implied(item: Candidate) -> str | None:
    """The stem leans on a figure without saying where it is (圖中標示星號, 箭頭所指, 這張心電圖)."""
    return references.figure_implied(item.question)


def table(item: Candidate) -> str | None:
    """The stem points at a table."""
    return references.table(item.question)


def question_group(item: Candidate) -> str | None:
    """The item shares a passage with others, and the passage is not part of it."""
    return "shares a passage" if item.grouped else None


def passage(item: Candidate) -> str | None:
    """The stem points at a passage or a case that it does not carry (根據本文, 此病人)."""
    return references.passage(item.question) or references.vignette(item.question)


def attachment(item: Candidate) -> str | None:
    """The stem points at an attachment."""
    return references.attachment(item.question)


def _rule(function: Callable[[Candidate], str | None]) -> Rule:
    return Rule(function.__name__, (function.__doc__ or "").split("\n")[0], function)


FIRST_PASS: tuple[Rule, ...] = tuple(
    map(
        _rule,
        (
            not_four_options,
            several_answers,
            everyone_credited,
            no_key,
            no_stem,
            answer_shown,
            unreadable,
            english,
            figure,
            continues,
            long_key,
        ),
    )
)
SECOND_PASS: tuple[Rule, ...] = tuple(
    map(_rule, (figure_on_page, figure_implied, table, question_group, passage, attachment))
)


def first(rules: tuple[Rule, ...], item: Candidate) -> tuple[str, str] | None:
    """The name of the first rule that applies, and what it saw; None when none does."""
    for rule in rules:
        if (seen := rule.applies(item)) is not None:
            return rule.name, seen
    return None
