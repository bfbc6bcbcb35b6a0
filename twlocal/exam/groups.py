"""Items that do not stand alone: a passage shared by several, and an item that goes on from another."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .glyphs import digits

_RANGE = re.compile(
    r"第?(?P<first>\d{1,3})題?(?:至|到|[-－–—~～、及與和])第?(?P<last>\d{1,3})題"
    r"|[Qq]uestions?(?P<first_en>\d{1,3})(?:to|through|and|[-–—~])(?P<last_en>\d{1,3})"
)
_LEAD_WORDS = re.compile(r"回答|作答|下文|上文|下列|題組|依據?下|閱讀|為同一|共用|[Qq]uestion|[Rr]efer|[Bb]ase|[Rr]ead")
_CONTINUES = re.compile(
    r"^[（(【［\[]?(?:(?:承接|承續|承|接|續|同|呈)(?:上|前)(?:一|二|兩|三|開|述|列|題)*題?|(?:承|接|續|同)第?(?P<number>\d{1,3})題)"
)
_CONTINUING = re.compile("[承接續同呈]")


@dataclass(frozen=True)
class Group:
    """Items `first`–`last` that share a passage. `lead` is the sentence that says so, `passage` the text.

    `flags` say what the passage has besides text (`figure`, `drawing`, `table`); they hold for all of its items.
    """

    first: int
    last: int
    kind: str
    lead: str
    passage: str
    flags: tuple[str, ...] = ()


def lead(text: str) -> tuple[int, int] | None:
    """First and last item of a passage's lead (`請依下文回答第42題至第45題`, `第 16 題至第20 題`), else None."""
    if "題" not in text and "uestion" not in text:
        return None
    squeezed = re.sub(r"\s+", "", digits(text))
    found = _RANGE.search(squeezed)
    if not found:
        return None
    first, last = (
        (int(n) for n in found.group("first", "last") if n)
        if found["first"]
        else (int(n) for n in found.group("first_en", "last_en"))
    )
    # A bare range is a lead only when the line is nothing but the range.
    bare = len(squeezed) - (found.end() - found.start()) <= 4
    if not 0 < first < last <= first + 40 or not (bare or _LEAD_WORDS.search(squeezed)):
        return None
    return first, last


def kind_of(passage: str, first: int, last: int) -> str:
    """`cloze` when the passage carries the items' own numbers as blanks, else `reading`."""
    numbers = {int(n) for n in re.findall(r"(?<!\d)\d{1,3}(?!\d)", digits(passage))}
    wanted = set(range(first, last + 1))
    return "cloze" if len(wanted & numbers) >= max(2, len(wanted) - 1) else "reading"


def continues(stem: str, number: int) -> int | None:
    """The item that `stem` goes on from (`承上題`, `接上題`, `承第5題`), else None."""
    if not _CONTINUING.search(stem):
        return None  # most stems, without squeezing them
    found = _CONTINUES.match(re.sub(r"\s+", "", digits(stem)))
    if not found:
        return None
    return int(found["number"]) if found["number"] else number - 1
