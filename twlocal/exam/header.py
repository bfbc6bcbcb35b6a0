"""What a question paper says about itself: title, fields, codes (代號), and how many items it states."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .glyphs import digits, fold
from .layout import stretches
from .lines import Line, join
from .model import Header
from .numerals import HAN, numeral

_FIELD = re.compile(
    r"^(考試別|等別|類科組別|類科組|類科名稱|類科|科目名稱|科目|考試時間|考試名稱|考試科目|系所組別|座號)[:：](.*)$"
)
_NAMES = {"類科組別": "類科", "類科組": "類科", "類科名稱": "類科", "科目名稱": "科目", "考試科目": "科目"}
_ONE_CODE = re.compile(r"(?<!\d)\d{4,5}(?!\d)(?:\s*[-－–~～至]\s*\d{4,5}(?!\d))?")
_CODES = rf"((?:{_ONE_CODE.pattern}\s*[、,，]?\s*)+)"
_CODE = re.compile(rf"代\s*號\s*[:：]?\s*{_CODES}")
# What the 代號/頁次 box puts on the height of the title's lines.
_BOX = re.compile(
    rf"代\s*號\s*[:：]?\s*{_CODES}[|│｜︱]?|頁\s*次\s*[:：]\s*\d+\s*[-－–]\s*\d+(?:____)?"
    rf"|^{_CODES}[|│｜︱]?(?=\D|$)|全\s*[一二三四五六七八九十]+\s*張|[（(](?:正|背)面[）)]"
)
_ITEMS = rf"(\d{{1,3}}|{HAN})個?題(?![組型庫幹])"
# Each begins with the characters that it may begin with: looking for one of those is quick.
_COUNT = re.compile(rf"[共合總題](?:(?<=[共合總])計?有?{_ITEMS}|(?<=題)(?<!複選題)數[:：]?[共計]*{_ITEMS})")
# Without 共 it may be the count of a part: it counts where nothing else does. Not 設計二題, 每部分各計二題.
_PART_COUNT = re.compile(rf"計(?<![設會統估累各]計)有?{_ITEMS}")
_YEAR = re.compile(r"(\d{2,3})年")


def read_header(before: Sequence[Line], heading: Line | None, heads: Sequence[Line], notes: Sequence[Line]) -> Header:
    """Reads a header.

    `before`: the lines before the questions (or before the heading of their part), `heading`: that heading,
    `heads`: running headers, `notes`: the lines between the heading and the first question.
    """
    first_page = [line for line in before if line.page == (before[0].page if before else 1)]
    title, fields = _fields(first_page)
    own = _codes([heading] if heading else [])
    boxed = _codes([*before, *heads])
    found = _YEAR.search(digits(title))
    return Header(
        title=title,
        year=int(found[1]) if found else None,
        fields=fields,
        codes=tuple(dict.fromkeys(own or boxed)),
        stated_counts=stated_counts([heading, *notes] if heading else [*before, *notes]),
    )


def stated_counts(lines: Sequence[Line]) -> tuple[int, ...]:
    """Every number of items that the lines state (`共25題，每題2分`, `共二十五題`, `題數：80題`), each once."""
    text = _squeezed(lines)
    found = [*_COUNT.finditer(text)] or [*_PART_COUNT.finditer(text)]
    return tuple(dict.fromkeys(numeral(next(filter(None, one.groups()))) for one in found))


def _squeezed(lines: Sequence[Line]) -> str:
    return re.sub(r"\s+", "", digits(fold("".join(line.text for line in lines))))


def _codes(lines: Sequence[Line]) -> list[str]:
    codes: list[str] = []
    boxed: float | None = None  # the left edge of a box whose codes go on in the next lines
    for line in lines:
        for part in stretches(line, 2.5):
            text = digits(part.text).strip()
            if found := _CODE.search(text):
                codes += _ONE_CODE.findall(found[1])
                boxed = part.x0
            elif boxed is not None and re.fullmatch(_CODES, text):
                codes += _ONE_CODE.findall(text)
            elif boxed is not None and re.fullmatch("[|│｜︱∣~～至-]", text) and codes:
                codes[-1] += "-"
            elif text.startswith("頁"):
                boxed = None
    return [re.sub(r"\s*[-－–~～至]\s*", "-", code) for code in codes]


def _fields(lines: Sequence[Line]) -> tuple[str, dict[str, str]]:
    """The title (what stands above the first field) and the labelled fields, wrapped values joined."""
    title: list[str] = []
    values: dict[str, list[str]] = {}
    current: str | None = None
    label_x = 0.0
    for line in lines:
        for part in stretches(line, 2.5):
            text = re.sub(r"\s+", "", fold(_BOX.sub("", digits(part.text))))
            if not text:
                continue
            if found := _FIELD.match(text):
                current = _NAMES.get(found[1], found[1])
                value, _, _ = found[2].partition("座號")
                values[current] = [value] if value.strip("_") else []
                label_x = part.x0
            elif text.startswith(("※", "注意")):
                current = ""
            elif current is None:
                title.append(text)
            elif current and part.x0 > label_x + 3 * part.size:
                values[current].append(text)
            elif current:
                current = ""
    return join(title), {name: join(parts) for name, parts in values.items() if parts}
