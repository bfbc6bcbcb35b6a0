r"""A box with decoration, the lenient reader's second rule: `\boxed{\text{B}}`, `\boxed{(B)}`, `\boxed{B：A 型肝炎}`,
`\box{B}`, `\fbox{B}`, `<|begin_of_box|>B<|end_of_box|>`, and a box whose closing brace never came.

What a box holds is an answer when it is one letter and decoration, or opens with a letter as a label (`B：…`, `B. …`,
`(B) …`). A formula, an option's text or several letters are no answer.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from twlocal.readers.box import ORDINALS, label
from twlocal.readers.folding import fold

# \x08 and \x0c are what is left of `\b` and `\f` after one unescaping too many.
_OPENER = re.compile(
    r"(?:(?<![A-Za-z])[bB]ox(?:ed)?|\x08ox(?:ed)?|(?<![A-Za-z])(?:fbox|framebox|bbox))\s{0,8}\\?(?P<brace>[{｛])"
    r"|(?<=[\\/])boxed\s{0,4}(?P<bracket>[(（\[【])"
    r"|(?<=\\)boxed[:：\s]{0,4}(?P<bare>[A-ZＡ-Ｚ])(?![A-Za-z0-9])"
    r"|(?P<tag><\|begin_of_box\|>|<(?:answer|final_answer|box)>)"
)
_BRACES = re.compile(r"[{}｛｝\n]")
_WRAPPER = re.compile(
    r"\\(?:text(?:bf|rm|sf|it|tt|normal|circled)?|math(?:bf|rm|sf|it|tt|bb|cal)|boldsymbol|operatorname|mbox|bm|bf|rm|sf"
    r"|left|right|displaystyle|textstyle|large|Large|LARGE|huge|Huge|bfseries|underline|quad|qquad)(?![A-Za-z])"
    r"|\\(?:textcolor|color)\s?\{\w{0,20}\}|\\[,;:!() ]|\\(?=[{}\[\]$]|\Z)"
)
_DECORATION = r"\s(){}\[\]*_$\"'`“”‘’「」『』【】《》〈〉<>~#"
_OPTION = re.compile(
    rf"[{_DECORATION}]*+"
    r"(?:(?:選項|答案(?:選項)?(?:應?[是為])?|正確(?:答案|選項)(?:[是為])?"
    r"|(?i:(?:the )?(?:correct |final )?(?:answer|option|choice)(?: is)?))"
    rf"[{_DECORATION}:.]*+)?"
    rf"(?P<x>[A-Za-z{ORDINALS}])(?![A-Za-z0-9#♯]|(?<!['‘][A-Za-z])['’])"
)
# Behind a label: a verdict instead of the option's text, or the next label.
_DENIED = re.compile(r"\s*(?:是|為)?(?:錯|不對|不正確|有誤|(?i:wrong|incorrect|false)(?![a-z]))")
_LISTED = r"(?:[\s,，;；/、。.]\(?|\()%s\s?[).:、]"
_BARE_REST = re.compile(rf"[{_DECORATION}.。,、;:!]*+(?:選項|項|(?i:option|choice))?[{_DECORATION}.。,、;:!]*")
_SEPARATOR = re.compile(
    r"[\s}*_$]*(?:[)\]】」][\s}*_$]*[.:、]?|[:、]|\.(?!\d)(?![A-Za-z]\.)|,(?=\s*[\u3400-\u9fff])|(?<=\s)[-–—](?=\s))[\s*_]*(?P<rest>.*)"
    r"|\s*\((?P<gloss>[^()]*[\u3400-\u9fff]|[A-Za-z]{3})",
    re.DOTALL,
)
_FORMULA = re.compile(
    r"\s*(?:[A-Z]\s*(?:$|[=:<>/,、+&)])|[+\-=*/^_<>≈≤≥&|]|\\(?:times|cdot|pm|leq?|geq?|approx|to|div|(?:long)?(?i:right)arrow)(?![A-Za-z]))"
)
_SEVERAL = re.compile(
    rf"[{_DECORATION}]*(?:[,、/&+;]|\\&|和|與|及|或|或者|(?i:and|or))[{_DECORATION}]*(?:選項)?(?P<y>[A-Z{ORDINALS}])(?=$|[^A-Za-z0-9=:'’])"
)
_RUN = re.compile(rf"[{_DECORATION}]*(?P<run>[A-Z]{{2,}})[{_DECORATION}.。]*\Z")


class Found(NamedTuple):
    """A decorated box: `letter` None with `several` True names several options; else a letter."""

    letter: str | None
    start: int
    end: int
    ordinal: bool = False
    unclosed: bool = False
    several: bool = False


class Seen(NamedTuple):
    """What the boxes of a text come to: the first readable one, and whether some box held a lone foreign letter."""

    found: Found | None
    foreign: bool


def decorated(text: str, labels: str) -> Seen:
    """The first decorated box of `text` that names options, one or several."""
    foreign = False
    if "ox" not in text and "nswer>" not in text:
        return Seen(None, foreign)
    openers = list(_OPENER.finditer(text))
    for number, opener in enumerate(openers):
        # Each box is looked at up to the next one only: the windows do not overlap, and the work stays linear.
        limit = openers[number + 1].start() if number + 1 < len(openers) else len(text)
        content, end, closed = _content(text, opener, limit)
        letter, ordinal, several = option(content, labels, bare=not closed)
        if several and not set(labels) <= set(content):  # all of them at once is an echo of the instruction
            return Seen(Found(None, opener.start(), end, several=True), foreign)
        if letter is not None:
            return Seen(Found(letter, opener.start(), end, ordinal, not closed), foreign)
        stripped = content.strip()
        foreign = foreign or (len(stripped) == 1 and stripped.isalpha())
    return Seen(None, foreign)


def _content(text: str, opener: re.Match[str], limit: int) -> tuple[str, int, bool]:
    """What a box holds, where it ends, and whether it is closed."""
    start = opener.end()
    if opener["bare"]:
        return opener["bare"], start, True
    if opener["tag"] or opener["bracket"]:
        ends = "<" if opener["tag"] else ")）]】"
        places = [at for at in (text.find(mark, start, limit) for mark in ends) if at >= 0]
        end = min(places, default=_line_end(text, start, limit))
        return text[start:end], end, True
    depth = 1
    line_end = -1
    for brace in _BRACES.finditer(text, start, limit):
        if brace[0] == "\n":
            line_end = brace.start() if line_end < 0 else line_end
            continue
        depth += 1 if brace[0] in "{｛" else -1
        if depth == 0:
            return text[start : brace.start()], brace.end(), True
    end = line_end if line_end >= 0 else limit
    return text[start:end], end, False


def _line_end(text: str, start: int, limit: int) -> int:
    end = text.find("\n", start, limit)
    return end if end >= 0 else limit


def option(content: str, labels: str, *, bare: bool = False) -> tuple[str | None, bool, bool]:
    """What a box's content names: the letter, whether as an ordinal, and whether it names several options.

    bare: only a letter and decoration will do, as in a box that was never closed. Only the beginning is looked at.
    """
    plain = _WRAPPER.sub("", fold(unicodedata.normalize("NFKC", content[:2000]))).strip()
    run = _RUN.match(plain)
    if run:
        return None, False, set(run["run"]) <= set(labels)
    found = _OPTION.match(plain)
    if found is None:
        return None, False, False
    letter, ordinal = label(found["x"], labels)
    rest = plain[found.end() :]
    if letter is None:
        return None, False, False
    several = _SEVERAL.match(rest)
    if several and label(several["y"], labels)[0] not in (None, letter):
        return None, False, True
    if _BARE_REST.fullmatch(rest):
        return letter, ordinal, False
    if bare or ordinal or found["x"].islower():
        return None, False, False
    separated = _SEPARATOR.match(rest)
    if separated is None or (separated["rest"] is not None and _FORMULA.match(separated["rest"])):
        return None, False, False
    if _DENIED.match(rest.lstrip(" ([).:、")):
        return None, False, False
    if any(re.search(_LISTED % other, rest) for other in labels if other != letter):
        return None, False, True
    return letter, False, False
