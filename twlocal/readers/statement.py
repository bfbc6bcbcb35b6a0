"""Explicit statements of the answer, the lenient reader's third rule: 答案是 D, 故選 B, the answer is B, B 才是正解.

A statement is a cue, and right behind it (decoration aside) one letter that stands for an option: a letter that belongs
to a word, a formula or a term (B 型肝炎, C-14, "a car") is none. The last statement counts. Understood are negations
(答案不是 B，而是 D), rejections (選 B 是錯的), questions (答案是 A 嗎？), suppositions (若選 A，則…), other people's
answers (有人會選 A) and several letters at once (答案是 A 或 B), which is no answer.

Works on folded text (`folding.fold`). Cues are found in one pass each; everything else looks at a bounded window, so
the work is linear.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from twlocal.readers import cues
from twlocal.readers.box import label

_VERBS_OF_CHOICE = ("choos", "pick", "select", "go", "opt", "vote", "lean")
_LIST_ITEM = r"[\s(*]{0,6}%s\s?[).:、\]*]"


class Statement(NamedTuple):
    """The statement that counts: a letter, or why ("statement_several", …) there is none. Indices into the text."""

    letter: str | None
    why: str
    start: int
    end: int
    ordinal: bool = False


class _Entry(NamedTuple):
    kind: str  # "is", "not", "several", "foreign"
    letter: str
    start: int
    end: int
    ordinal: bool = False


def statement(text: str, labels: str) -> Statement | None:
    """The last statement of the answer in folded `text`, None when there is none."""
    found_cues = [(found.start(), found, _kind(found[0])) for found in cues.CUE.finditer(text)]
    lower = text.lower()
    if any(map(lower.__contains__, cues.ENGLISH_HINTS)):
        for found in cues.ENGLISH_CUE.finditer(lower):
            if _is_own(lower, found.start()):
                found_cues.append((found.start(), found, _kind(found[0])))
    found_cues += [(found.start(), found, "reverse") for found in cues.REVERSE.finditer(text)]
    found_cues.sort(key=lambda cue: cue[0])
    withdrawn: set[str] = set()
    for _, found, kind in reversed(found_cues):
        entry = _reversed(text, found, labels) if kind == "reverse" else _forward(text, found, kind, labels)
        if entry is None:
            continue
        if entry.kind == "not":
            withdrawn.add(entry.letter)
        elif entry.kind == "is" and entry.letter not in withdrawn:
            return _corrected(text, entry, labels)
        else:
            why = {"several": "statement_several", "foreign": "statement_outside_labels"}.get(
                entry.kind, "statement_withdrawn"
            )
            return Statement(None, why, entry.start, entry.end)
    return None


def _is_own(lower: str, at: int) -> bool:
    """Whether an English cue is a word of its own: no end of another one, no key such as "second_answer"."""
    before = lower[max(0, at - 12) : at]
    if not before or not ("a" <= before[-1] <= "z" or before[-1] in "_-"):
        return True
    return before[-1] in "_-" and (before[-2:-1] in " *_-\n" or cues.OWN_KEY_BEFORE.search(before) is not None)


def _corrected(text: str, entry: _Entry, labels: str) -> Statement:
    """The last statement, or what takes it back ("A. Sorry, I meant B"; 答案是 A，不，是 B), or no letter."""
    for back in cues.TAKEN_BACK.finditer(text, entry.end):
        if back["weak"] and back.start() > entry.end + 16:
            continue
        instead = cues.INSTEAD.match(text, back.end())
        if instead and _is_meant(text, instead, labels):
            if instead["x"] != entry.letter:
                return Statement(instead["x"], "statement", back.start(), instead.end())
        elif not back["weak"] and _doubted(text, back.end(), entry.letter, labels):
            return Statement(None, "statement_withdrawn", entry.start, back.end())
    return Statement(entry.letter, "statement", entry.start, entry.end, entry.ordinal)


def _is_meant(text: str, instead: re.Match[str], labels: str) -> bool:
    """Whether what follows a taking-back names the answer: with a verb, or with nothing behind the letter."""
    at = instead.start("x")
    if instead["x"] not in labels or named(text, at, labels, ordinals=False)[1] != "is":
        return False
    said = text[instead.start() : at]
    return cues.VERB.search(said) is not None or "meant" in said or cues.ENDS.match(text, at + 1) is not None


def _doubted(text: str, start: int, letter: str, labels: str) -> bool:
    """Whether what is said from `start` on speaks of another option, other than to reject it."""
    for lone in cues.LONE_LETTER.finditer(text, start, start + 60):
        if lone[0] in labels and lone[0] != letter:
            return cues.REJECTED.match(text, lone.end()) is None
    return False


def _kind(cue: str) -> str:
    """The kind of a cue: a noun (答案), a topic (本題), a verb of choice (選), a correction or a belief."""
    if cue[0] in "選擇傾" or cue.startswith(_VERBS_OF_CHOICE):
        return "choose"
    if cue[0] in "更修訂改重我i" or cue.startswith("correction"):
        return "think"
    return "topic" if cue[0] in "本此這該" else "noun"


def _forward(text: str, cue: re.Match[str], kind_of_cue: str, labels: str) -> _Entry | None:
    """The statement that a cue opens, None when it opens none."""
    start = cue.start()
    before = text[max(0, start - 24) : start]
    linked = _end(cues.LINK, text, cue.end())
    at = _target(text, linked)
    if at is None:
        return None
    negated = cues.NEGATION.search(text, cue.end(), linked) is not None
    if kind_of_cue == "noun" and (cues.WRONG_BEFORE.search(before) or cues.OTHERS_SAY_BEFORE.search(before)):
        return None
    if kind_of_cue == "topic" and not cues.VERB.search(text, cue.end(), linked):
        return None
    if kind_of_cue == "choose":
        if cues.OTHERS_BEFORE.search(before):
            return None
        negated = negated or cues.NOT_CHOSEN_BEFORE.search(before) is not None
        if not negated and cues.COMES_WRONG.match(text, _end(cues.AFTER, text, at + 1)):
            return None
    sure = kind_of_cue in ("noun", "topic") or cues.RESOLVED_BEFORE.search(before) is not None
    letter, kind, ordinal = named(text, at, labels, ordinals=sure)
    if kind is None:
        return None
    if kind_of_cue == "noun" and _is_subject(text, cue.end(), at):
        return None
    if kind == "is" and cues.OR_BEFORE.search(before):
        kind = "several"
    if negated:
        return _negated(text, start, at, _Entry(kind, letter, start, at + 1, ordinal), labels)
    if _is_supposed(text, start, at) or is_echo(text, at, letter, labels):
        return None
    return _Entry(kind, letter, start, at + 1, ordinal)


def _is_subject(text: str, start: int, at: int) -> bool:
    """Whether a letter right behind 答案 or "answer" is only spoken about ("Answer B is about …"), not given."""
    between = text[start:at]
    if cues.VERB.search(between) or cues.NEGATION.search(between) or any(mark in between for mark in "\n】」』]〕)*."):
        return False
    end = _end(cues.AFTER, text, at + 1)
    return cues.STOPS.match(text, end) is None


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _target(text: str, at: int) -> int | None:
    """Index of the letter that stands at `at`, decoration and a word like 選項 aside; None when there is none."""
    for pattern in (cues.DECORATION, cues.PREFIX, cues.DECORATION):
        at = _end(pattern, text, at)
    return at if cues.LETTER.match(text, at) else None


def _negated(text: str, start: int, at: int, denied: _Entry, labels: str) -> _Entry:
    """答案不是 B is a denial; 答案不是 B，而是 D a statement; 答案非 B 莫屬 affirms what it seems to deny."""
    end = _end(cues.AFTER, text, at + 1)
    if text.startswith(("莫屬", " 莫屬"), end):
        return denied
    for _ in range(len(labels)):
        nor = cues.NOR.match(text, end)
        if nor is None:
            break
        end = nor.end()
    rather = cues.BUT_RATHER.match(text, end)
    target = _target(text, rather.end()) if rather else None
    if target is not None:
        other, kind, ordinal = named(text, target, labels, ordinals=True)
        if kind is not None and other != denied.letter:
            return _Entry(kind, other, start, target + 1, ordinal)
    return denied._replace(kind="not")


def _reversed(text: str, found: re.Match[str], labels: str) -> _Entry | None:
    """B 才是正確答案, "B is the answer"."""
    start, letter = found.start(), found["x"]
    if letter not in labels or cues.QUESTION.match(text, found.end()) or not _owns(text, start):
        return None
    if cues.REJECTED.match(text, found.end()) or cues.IF_AFTER.match(text, found.end()):
        return None
    return None if _is_supposed(text, start, start) else _Entry("is", letter, start, found.end())


def _owns(text: str, at: int) -> bool:
    """Whether the letter at `at` is its clause's own subject, undoubted and not one of several."""
    before = text[max(0, at - 24) : at]
    return cues.OWN_BEFORE.search(before) is not None and cues.DOUBT_BEFORE.search(before) is None


def named(text: str, at: int, labels: str, *, ordinals: bool) -> tuple[str, str | None, bool]:
    """What the letter at `at` says as the end of a statement: (letter, kind, ordinal); kind None: nothing."""
    character = text[at]
    letter, ordinal = label(character, labels)
    end = _end(cues.AFTER, text, at + 1)
    bracketed = at > 0 and text[at - 1] in "([（" and text[at + 1 : at + 2] in (")", "]", "）")
    quoted = at > 0 and text[at - 1] == "'" == text[at + 1 : at + 2]
    if (cues.WORD.match(text, at + 1) and not quoted) or (ordinal and not ordinals):
        return "", None, ordinal
    if character.islower() and cues.SEVERAL_SMALL.match(text, end):
        return "", "several" if len(text) <= 64 else None, ordinal
    if character.islower() and not bracketed and not (len(text) <= 64 and cues.ENDS.match(text, end)):
        return "", None, False
    if (
        cues.QUESTION.match(text, end)
        or cues.REJECTED.match(text, end)
        or cues.IF_AFTER.match(text, end)
        or cues.TERM.match(text, end)
    ):
        return "", None, ordinal
    several = cues.SEVERAL.match(text, end)
    if several and _really_several(text, several, letter, labels):
        return "", "several", ordinal
    ended = cues.ENDS.match(text, end)
    behind = text[at + 1 : end]
    explicit = any(mark in behind for mark in ")]}」』】") or ("*" in behind and text[max(0, at - 1) : at] in "*")
    if not (ended or (not ordinal and (explicit or cues.GOES_ON.match(text, end)))):
        return "", None, ordinal
    return (letter, "is", ordinal) if letter else (character.upper(), "foreign", ordinal)


def _really_several(text: str, found: re.Match[str], letter: str | None, labels: str) -> bool:
    """Whether a second letter right behind the first belongs to the answer (A、C) or opens another clause (，A 錯)."""
    other = label(found["y"], labels)[0]
    if other is None or other == letter:
        return False
    end = _end(cues.MORE, text, found.end()) if found["comma"] else found.end()
    goes_on = cues.PREDICATE.match(text, end)
    if found["hard"]:
        return not (goes_on and goes_on[0].islower() and other == "A")
    if found["soft"]:
        return not (goes_on and found["soft"].lower() not in ("、", "&", "+", "和", "與", "及", "跟", "以及"))
    if found["comma"]:
        return not goes_on
    pair = text[found.start("y") - 1] + found["rest"][:1]
    return pair in ("()", "[]", "「」") and "\n" not in found[0]


def _is_supposed(text: str, start: int, at: int) -> bool:
    """Whether the statement stands under a supposition: 若選 A，則…; "if it asked for …, the answer would be A"."""
    before = text[max(0, start - 60) : start]
    ends = list(cues.SENTENCE_END.finditer(before))
    clause = before[ends[-1].end() :] if ends else before
    supposed = list(cues.SUPPOSED.finditer(clause))
    if not supposed:
        return False
    since = clause[supposed[-1].start() :]
    if cues.OTHER_QUESTION.search(clause):
        return True
    if cues.MUST.search(since) or cues.CONCLUDES.search(since):
        return False
    direct = "," not in since and "，" not in since
    return direct or cues.THEN.search(clause[-6:] + text[start:at]) is not None


def is_echo(text: str, at: int, letter: str, labels: str) -> bool:
    """Whether the letter opens a list of the options (the question echoed) rather than naming one."""
    place = labels.find(letter)
    following = labels[place + 1 : place + 3] if place >= 0 else ""
    if not following:
        return False
    window = text[at + 1 : at + 400]
    line = window.find("\n")
    own, rest = (window[:line], window[line:].lstrip()) if line >= 0 else (window, "")
    item, both = _listed(following)
    if item.match(rest) or rest[:2] in (following[0], following[0] + "\n"):
        return True
    return len(following) == 2 and both.search(own) is not None


@cache
def _listed(following: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The next label as an item of a list, and this one and the one after it in one line."""
    item = _LIST_ITEM % following[0]
    return re.compile(item), re.compile(rf"\s{item}.*\s" + _LIST_ITEM % following[-1])


def verdict(text: str, labels: str) -> tuple[str, int, int] | None:
    """The only option of folded `text` that is called correct, where that tells the answer.

    With one option called right and one called wrong it may be either, by what the question asked: then it does not.
    """
    right: dict[str, tuple[int, int]] = {}
    wrong: set[str] = set()
    for found in cues.VERDICT.finditer(text):
        if found["x"] not in labels:
            continue
        if not _owns(text, found.start()) or cues.QUESTION.match(text, found.end()):
            return None
        if found["right"]:
            if cues.ALSO.search(found[0]) or cues.BUT_NO_ANSWER.match(text, found.end()):
                return None
            right.setdefault(found["x"], found.span())
        else:
            wrong.add(found["x"])
    if len(right) != 1 or len(wrong) == 1:
        return None
    letter, span = next(iter(right.items()))
    if letter in wrong or _is_supposed(text, span[0], span[0]):
        return None
    # The first option called right, and text behind it: where the others are not spoken of yet, they may be right too.
    first = letter == labels[0] and not wrong and len(text[span[1] :].strip(" \n。.!」)*")) > 0
    if first and not cues.ONLY.search(text, max(0, span[0] - 8), span[1]):
        return None
    return letter, *span
