"""`lenient`: box, then a decorated box, then the last explicit statement, then a bare leading letter.

It is shown beside the published score, never instead of it. Where a rule cannot decide, nothing is read: an unread
response costs less than a wrongly read one. A lone letter in prose is never an answer.
"""

from __future__ import annotations

import re

from twlocal.readers.box import ORDINALS, box, label
from twlocal.readers.final import Final
from twlocal.readers.folding import fold
from twlocal.readers.reading import ORDINAL, UNCLOSED_BOX, Reading

_SPECIAL = r"<\|?[A-Za-z_/▁]{1,24}\|?>"
_OPENING = re.compile(
    rf"(?:\s|{_SPECIAL}|assistant\s{{0,4}}\n|[-•]\s|[*_`$\"'“‘「『【《(\[{{#>✅✔☑👉]|\\(?:text(?:bf|rm)?|math(?:bf|rm)|[(\[])){{0,40}}"
    rf"(?:(?:選項|選|(?i:option|choice|letter))\s?[:(*]{{0,3}}\s?)?(?P<x>[A-Za-z{ORDINALS}])(?![A-Za-z0-9'’^=+])"
)
_ALONE = re.compile(rf"(?:\s|{_SPECIAL}|[*_`$\"'”’」』】》)\]}}.。,、;!:~]|\\[)\]]|選項|項){{0,60}}\Z")
_ANY_LETTER = re.compile(f"[A-Za-z{ORDINALS}]")
_LABEL = re.compile(r"[*_`\"'”’」』】)\]}]{0,6}(?:[)\]】]|\.(?!\d)|:|、|\s{0,2}\n|,|，|。)[*_]{0,4}")
# A token that ends a turn with text behind it, a turn's head, or another question.
_NEXT_QUESTION = re.compile(
    r"\n(?=[\s#*>]{0,8}(?:(?:題目|問題|下一題|第\s?\d{1,3}\s?題"
    r"|(?i:question|next question|user|human|instruction|input))\s?\d{0,3}\*{0,2}\s?:|(?:user|human|使用者)\s{0,4}\n))"
    r"|(?:<\|(?:im_end|im_start|eo[tm]_id|end_of_text|endoftext|end▁of▁sentence|start_header_id|user|end)"
    r"\|>|</s>|<eos>|<end_of_turn>)"
    r"(?=\s{0,8}\S)"
)
# Behind a label: a verdict on the option, or the rest of a ratio or a name, instead of the option's text.
_OF_OPTION = r"(?:選項)?(?:的?(?:敘述|說法|描述|內容))?(?:是|為)?"
_DENIED = re.compile(
    r"\s{0,4}[A-Z](?:\s?[=:]|\.|、|(?=\s)|\Z)"
    rf"|\s{{0,4}}{_OF_OPTION}(?:錯|不|非|未|無法|有誤|(?i:incorrect|wrong|not |false))"
)
_RIGHT = re.compile(rf"\s{{0,4}}{_OF_OPTION}(?:正確|對的|無誤|(?i:(?:correct|right|true)(?![a-z])))")
_WRONG = re.compile(r"錯|有誤|不對|不正確|(?i:wrong|incorrect)")


def lenient(final: Final, labels: str = "ABCD", strict: Reading | None = None) -> Reading:
    """The lenient reading of a final text (protocol: "Protocol (fixed)", `lenient`).

    strict: the strict reading of the same final text, where it is known already.
    """
    strict = strict or box(final, labels)
    text = final.text
    if strict.letter is not None or text is None or strict.why == "empty":
        return strict
    # Their patterns take longer to compile than a whole start may take, and most responses never come here.
    from twlocal.readers.decorated import decorated
    from twlocal.readers.statement import statement, verdict

    def reading(letter: str | None, why: str, start: int, end: int, *flags: str) -> Reading:
        return Reading(letter, why, (start + final.start, end + final.start), (*final.flags, *flags))

    seen = decorated(text, labels)
    if seen.found:
        found = seen.found
        flags = [*([ORDINAL] if found.ordinal else []), *([UNCLOSED_BOX] if found.unclosed else [])]
        return reading(
            found.letter, "box_several" if found.several else "box_decorated", found.start, found.end, *flags
        )
    folded = fold(text)
    if not _ANY_LETTER.search(folded):
        return Reading(None, "no_statement", None, final.flags)
    # A base model behind examples goes on with a question of its own making: what it said before that comes first.
    before = _before_next_question(folded)
    for part in (before, folded) if before else (folded,):
        said = statement(part, labels)
        if said:
            return reading(said.letter, said.why, said.start, said.end, *([ORDINAL] if said.ordinal else []))
        # What was cut off may have called other options right as well.
        judged = None if final.cut else verdict(part, labels)
        if judged:
            return reading(judged[0], "verdict", judged[1], judged[2])
        opening = None if seen.foreign else _leading(part, labels, final.cut)
        if opening:
            letter, ordinal, start, end = opening
            return reading(letter, "leading_letter", start, end, *([ORDINAL] if ordinal else []))
    return Reading(None, "no_statement", None, final.flags)


def _before_next_question(text: str) -> str:
    """What folded `text` says before it goes on with another question; "" where it does not, or says nothing before."""
    for found in _NEXT_QUESTION.finditer(text):
        # The pattern begins with the sign itself, so that the search skips what cannot be one; blanks go here.
        if said := text[: found.start()].rstrip():
            return said
    return ""


def _leading(text: str, labels: str, cut: bool) -> tuple[str, bool, int, int] | None:
    """The bare letter that folded `text` opens with, or is: (letter, ordinal, start, end).

    cut: the text breaks off, so that the first label in front may open a list whose second item never came.
    """
    opening = _OPENING.match(text)
    if opening is None:
        return None
    at = opening.start("x")
    letter, ordinal = label(opening["x"], labels)
    if letter is None:
        return None
    if _ALONE.match(text, at + 1):
        return letter, ordinal, at, at + 1
    if ordinal or opening["x"].islower() or (cut and letter == labels[0]):
        return None
    from twlocal.readers.statement import is_echo, named

    other, kind, _ = named(text, at, labels, ordinals=False)
    if kind != "is" or is_echo(text, at, other, labels):
        return None
    marked = _LABEL.match(text, at + 1)
    if marked is None:
        return (
            (letter, False, at, at + 1) if re.match(r"[*\s]{0,6}(?:because|since|因)", text[at + 1 : at + 16]) else None
        )
    if _DENIED.match(text, marked.end()) or _is_list(text, letter, labels):
        return None
    # The first option called right opens a review of all of them, unless the others are called wrong.
    right = _RIGHT.match(text, marked.end()) if letter == labels[0] else None
    return None if right and not _WRONG.search(text, right.end()) else (letter, False, at, at + 1)


def _is_list(text: str, letter: str, labels: str) -> bool:
    """Whether a reply that opens with the first label goes through the options one by one."""
    if letter != labels[0]:
        return False
    following = labels[1:2]
    return (
        re.search(
            rf"(?:^|[。;；.!\n])[\s(*#\-]{{0,6}}{following}[)\]*]{{0,3}}(?:\s?[.:、]|\)|\s?選項|\s?[錯不正])",
            text,
            re.MULTILINE,
        )
        is not None
    )
