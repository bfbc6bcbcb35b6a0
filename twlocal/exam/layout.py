"""From the lines of pages to the lines of a paper: columns, running headers and footers, the multiple-choice part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .glyphs import digits, has_mark
from .lines import Line
from .options import find_marks
from .page import Page

_CODES = r"\d{4,5}(?:\s*[-－–~～至]\s*\d{4,5})?"
_RUNNING_HEAD = re.compile(
    r"代\s*號\s*[:：]|頁\s*次\s*[:：]|全\s*[一二三四五六七八九十]+\s*張|[（(](?:正|背)面[）)]$|第[一二三四五六七八九十]+頁"
)
# A range of codes that is broken over lines leaves its stroke alone on one of them.
_CODE_LINE = re.compile(rf"^(?:{_CODES}(?:\s*[、,，]?\s*{_CODES})*[、,，]?|[|│｜︱∣~～至-])$")
_N = r"\s*(?:\d{1,3}|[一二三四五六七八九十]{1,3})\s*"
_FOOTER = re.compile(
    r"^[-－–—~～※＊*\s]*[（(【〔\[]?\s*(?:請接(?:背|反)面|請接(?:第.{1,3}|下|次)頁|以下空白|(?:背|反|次|下)[面頁]?(?:尚|還|仍)有試題"
    r"|請翻(?:頁|面).*|(?:本)?試題(?:至此|到此)?(?:結束|完畢|完)(?:[，,].*)?|全(?:卷|部)?試題(?:結束|完畢|完))"
    r"\s*[。.]?[）)】〕\]]?[-－–—~～※＊*\s]*$"
    rf"|^第?{_N}頁\s*[，,、/／]?\s*(?:共|之|全)?(?:{_N}頁)?$|^[共全]{_N}頁\s*[，,、/／]?\s*第{_N}頁$"
    r"|^[-－–—]\s*\d{1,3}\s*[-－–—]$|^(?:[Pp](?:age)?\.?|頁)\s*\d{1,3}(?:\s*(?:of|/)\s*\d{1,3})?$|^\d{1,3}\s*of\s*\d{1,3}$"
    r"|^頁\s*次\s*[:：].*$|^代\s*號\s*[:：]\s*\d{4,5}$"
)
# What stands at the top of the first page and, in some papers, at the top of the others: the title.
_TITLE = re.compile(r"^\s*\d{2,3}\s*年.*(?:考試|試題|甄試|檢定|檢覈)")
_PAGE_NUMBER = re.compile(r"^[-－–—~]?\s*\d{1,3}\s*[-－–—~]?$")
_ITEM_LIKE = re.compile(r"[(（]?\d{1,3}(?!\d)(?!\s*年)|[(（]")
# A heading names its part and says so (部分, 題, a bracket or a colon): 甲、乙二人 begins many a stem of law papers.
_SECTION = re.compile(
    r"^[甲乙丙丁戊壹貳參肆]\s*、\s*[^、，。；：:]{0,8}?(申論|論文|作文|公文|測驗|選擇|翻譯|寫作|閱讀|問答|計算|實作|非選)"
    r"(?:擇?題?\s*(?:部\s*分|部\s*份|[:：（(])|擇?題\s*$)"
)
_CHOICE = ("測驗", "選擇")
_NOT_CHOICE = re.compile(r"非\s*(?:測驗|選擇)")


@dataclass(frozen=True)
class Body:
    """The lines of a paper in reading order, without running headers and footers, which are kept apart."""

    lines: tuple[Line, ...]
    heads: tuple[Line, ...]
    head_bottoms: dict[int, float]


def body(pages: Sequence[Page], page_lines: Sequence[Sequence[Line]]) -> Body:
    """Takes running headers and footers off every page and puts columns one after the other."""
    repeated = _repeated(pages, page_lines)
    numbered, numbered_above = _numbered(pages, page_lines), _numbered_above(pages, page_lines)
    kept: list[Line] = []
    heads: list[Line] = []
    bottoms: dict[int, float] = {}
    for page, found in zip(pages, page_lines, strict=True):
        above = found[:1] if numbered_above and page.number > 1 else []
        top, stop = _split(page, found[len(above) :], repeated, numbered)
        heads += top
        if top:
            bottoms[page.number] = max(line.bottom for line in top)
        kept += columns(stop, page.width)
    return Body(tuple(kept), tuple(heads), bottoms)


def _key(line: Line) -> str:
    return re.sub(r"[\s\d（）()]|正面|背面|全[一二三四五六七八九十]+張", "", digits(line.text))


def _repeated(pages: Sequence[Page], page_lines: Sequence[Sequence[Line]]) -> set[tuple[str, int]]:
    """Texts (without their digits) that stand at the same height at the edge of two or more pages."""
    seen: Counter[tuple[str, int]] = Counter()
    for page, found in zip(pages, page_lines, strict=True):
        for line in found:
            if (line.baseline < 0.25 * page.height or line.baseline > 0.93 * page.height) and _may_run(line):
                seen[_key(line), round(line.baseline / 4)] += 1
    enough = max(2, (len(pages) + 1) // 2)
    return {key for key, count in seen.items() if count >= enough and len(key[0]) >= 4}


def _numbered(pages: Sequence[Page], page_lines: Sequence[Sequence[Line]]) -> bool:
    """Whether every page ends with its own number, at whatever height (a short last page), alone or `1/4`."""
    lasts = [(page.number, found[-1].text) for page, found in zip(pages, page_lines, strict=True) if found]
    return len(lasts) > 1 and all(_is_number_of(number, len(pages), text) for number, text in lasts)


def _numbered_above(pages: Sequence[Page], page_lines: Sequence[Sequence[Line]]) -> bool:
    """Whether every page but the first begins with its own number, so that it is no wrapped rest of an option."""
    firsts = [(page, found[0]) for page, found in zip(pages[1:], page_lines[1:], strict=True) if found]
    if not all(_is_number_of(page.number, len(pages), line.text) for page, line in firsts):
        return False
    return len(firsts) > 1 or any(line.x0 > page.width / 3 for page, line in firsts)


def _is_number_of(number: int, count: int, text: str) -> bool:
    found = re.fullmatch(r"(\d{1,3})(?:\s*[/／]\s*(\d{1,3}))?", digits(text.strip()))
    return found is not None and int(found[1]) == number and (found[2] is None or int(found[2]) == count)


def _may_run(line: Line) -> bool:
    """A line that begins an item or carries options is never a running header, however often it repeats."""
    return not _ITEM_LIKE.match(digits(line.text)) and not has_mark(line.text)


def _split(
    page: Page, found: Sequence[Line], repeated: set[tuple[str, int]], numbered: bool
) -> tuple[list[Line], list[Line]]:
    lines = list(found[:-1] if numbered else found)
    heads: list[Line] = []
    if page.number > 1 or (lines and _alone(lines[0])):
        boxed: float | None = None
        while lines and not section_kind(lines[0].text):
            line = lines[0]
            runs = (
                bool(_RUNNING_HEAD.match(line.text))
                or (boxed is not None and bool(_CODE_LINE.match(line.text)))
                or ((_key(line), round(line.baseline / 4)) in repeated and _may_run(line))
                or (page.number > 1 and (_is_title(lines) or bool(_FOOTER.match(line.text))))
            )
            if not runs:
                break
            if line.text.startswith(("代", "頁")):
                boxed = line.x0 if line.text.startswith("代") else None
            heads.append(lines.pop(0))
        lines, beside = _beside(lines, page.number, boxed)
        heads += beside
    while lines and (
        _FOOTER.match(lines[-1].text)
        or (
            lines[-1].baseline > 0.93 * page.height
            and (
                _PAGE_NUMBER.match(lines[-1].text)
                or ((_key(lines[-1]), round(lines[-1].baseline / 4)) in repeated and _may_run(lines[-1]))
            )
        )
    ):
        lines.pop()
    return heads, lines


def _is_title(lines: Sequence[Line]) -> bool:
    """Whether the first of these lines is the paper's title: a code stands on it, or a box of codes below it."""
    return bool(_TITLE.match(lines[0].text)) and any(
        _RUNNING_HEAD.search(line.text) and not has_mark(line.text) for line in lines[:3]
    )


def _alone(line: Line) -> bool:
    return bool(re.match(r"頁\s*次\s*[:：]|代\s*號\s*[:：]\s*\d{4,5}$", line.text))


def _beside(lines: list[Line], number: int, box: float | None) -> tuple[list[Line], list[Line]]:
    """A header box that stands on the height of body lines: its stretch of each line is cut out.

    `box` is the left edge of the box when its upper lines have been taken off already.
    """
    if number == 1:
        return lines, []
    kept: list[Line] = []
    cut: list[Line] = []
    for k, line in enumerate(lines):
        if k >= 6 or section_kind(line.text):
            kept.append(line)
            continue
        parts = stretches(line, 1.5) if _RUNNING_HEAD.search(line.text) else [line]
        heads = [part for part in parts if len(parts) > 1 and _RUNNING_HEAD.match(part.text)]
        if not heads and box is not None and (at := _box_at(line, box)) is not None:
            parts = [line.part(0, at), line.part(at)] if at else [line]
            heads = parts[-1:]
        for head in heads:
            box = head.x0 if head.text.startswith("代") else None if head.text.startswith("頁") else box
        cut += heads
        kept += [part for part in parts if part not in heads] if heads else [line]
    return kept, cut


def _box_at(line: Line, box: float) -> int | None:
    """The character of a line from which on it belongs to a header's open box, whose left edge is `box`."""
    for k in range(len(line)):
        if line.starts[k] >= box - 3 and (k == 0 or line.gap(k) >= 0.3 * line.size):
            text = line.slice(k)
            return k if _CODE_LINE.match(text) or re.match(r"頁\s*次\s*[:：]", text) else None
    return None


def stretches(line: Line, gap: float) -> list[Line]:
    """A line cut where nothing stands for `gap` em or more."""
    found = line.stretches(gap)
    return [line] if len(found) == 1 else [line.part(a, b) for a, b in found]


def columns(lines: list[Line], width: float) -> list[Line]:
    """Two columns put one after the other; a single column as it is.

    Two columns are believed only when question numbers stand at the left edge of both, those on the right go on from
    those on the left, the right column begins past a third of the page's `width`, both have options, and no line runs
    across the space between. Options printed in columns have no numbers on the right.
    """
    rights = [
        (line.starts[start], line.baseline, n)
        for line in lines
        if _NUMBER_INSIDE.search(line.text)
        for start, stop in line.stretches(1.0)[1:]
        if line.starts[start] > 0.35 * width and (n := _leading_number(line.slice(start, stop))) is not None
    ]
    if not rights:
        return lines
    edges = Counter(round(x0 / 6) for x0, _, _ in rights)
    edge = min(x0 for x0, _, _ in rights if round(x0 / 6) == edges.most_common(1)[0][0]) - 1
    first = min(baseline for x0, baseline, _ in rights if abs(x0 - edge) < 8) - 2
    right_numbers = [n for x0, _, n in rights if abs(x0 - edge) < 8]
    left_numbers = [n for line in lines if line.x0 < edge and (n := _leading_number(line.text)) is not None]
    if min(right_numbers) - 1 not in left_numbers or right_numbers != sorted(right_numbers):
        return lines
    above = [line for line in lines if line.baseline < first]
    left: list[Line] = []
    right: list[Line] = []
    for line in lines[len(above) :]:
        if any(x0 < edge - 1 and x1 > edge + 3 for x0, x1 in zip(line.starts, line.ends, strict=True)):
            return lines
        cut = next((k for k, x0 in enumerate(line.starts) if x0 >= edge), len(line))
        if 0 < cut < len(line) and line.gap(cut) < 0.5 * line.size:
            return lines  # the text runs across: no gutter here
        if cut:
            left.append(line.part(0, cut))
        if cut < len(line):
            right.append(line.part(cut))
    if not all(any(mark.letter == "D" for mark in find_marks(side)[1]) for side in (left, right)):
        return lines
    return above + left + right


_NUMBER_INSIDE = re.compile(r" [(（]?[0-9０-９]")


def _leading_number(text: str) -> int | None:
    found = re.match(r"[(（]?(\d{1,3})[)）.．、]?\s*(?=\D|$)", digits(text))
    return int(found[1]) if found else None


# A heading inside the multiple-choice part: `二、閱讀測驗`, `三、克漏字（20%）`. It belongs to no item.
_SUBHEADING = re.compile(
    r"^[一二三四五六七八九十]{1,2}\s*、[^，。；？?！]{0,12}(?:測驗|選擇|單選|複選|多選|是非|克漏字|閱讀|題組|詞彙|字彙|文法|綜合)"
    r"[^，。；？?！]{0,30}$"
)


def is_heading(text: str) -> bool:
    """Whether a line is the heading of a part of the paper, or of a part of its multiple-choice part."""
    return section_kind(text) is not None or bool(_SUBHEADING.match(text))


def section_kind(text: str) -> str | None:
    """`choice` or `essay` for the heading of a part of the paper (`乙、測驗題部分：（50分）`), else None."""
    found = _SECTION.match(text)
    if not found:
        return None
    return "choice" if found[1] in _CHOICE and not _NOT_CHOICE.search(text) else "essay"


@dataclass(frozen=True)
class Zone:
    """The multiple-choice part: `lines[start:stop]`; `heading` is the index of its heading, if it has one."""

    start: int
    stop: int
    heading: int | None


def choice_zone(lines: Sequence[Line]) -> Zone | None:
    """Where the multiple-choice part is. None when the paper has headings, and all of them are of essay parts.

    A second multiple-choice heading is inside the zone: its items either go on counting or the paper is refused.
    """
    heads = [(k, kind) for k, line in enumerate(lines) if (kind := section_kind(line.text))]
    choices = [k for k, kind in heads if kind == "choice"]
    if not heads:
        return Zone(0, len(lines), None)
    if not choices:
        return None
    start = choices[0]
    stop = next((k for k, kind in heads if k > start and kind == "essay"), len(lines))
    return Zone(start + 1, stop, start)
