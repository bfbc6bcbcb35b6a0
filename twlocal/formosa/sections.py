"""Headings, labels and marks that belong to the page and not to its prose. Pure."""

from __future__ import annotations

import re

# Sections that hold no prose of the article's own. Compared after everything but letters and digits is taken out.
# fmt: off
_LEFT_OUT = frozenset({
    "參考資料", "參考來源", "參考文獻", "參考書目", "參考連結", "參考網址", "資料來源", "引用來源",
    "引用文獻", "引用資料", "延伸閱讀", "延伸資源", "延伸探索", "延伸連結", "相關主題", "相關連結",
    "相關條目", "相關文章", "相關閱讀", "推薦閱讀", "外部連結", "圖片來源", "圖片出處", "圖片授權",
    "圖片版權", "影像來源", "影片來源", "照片來源", "註釋", "註解", "注釋", "注解",
    "附註", "腳註", "出處", "來源", "書目", "更新紀錄", "更新記錄", "版本紀錄",
    "修訂紀錄",
    "references", "reference", "sources", "source", "furtherreading", "seealso", "externallinks",
    "notes", "footnotes", "bibliography", "imagecredits", "imagesources", "relatedtopics",
})
# fmt: on
_NOT_LETTER = re.compile(r"[\W_]+")
_TITLE_PARTS = re.compile(r"[/／｜|（(:：]")
# A label that opens a paragraph: its words stand for nothing in the text.
_LABEL = re.compile(
    r"^[^\w「『《〈（(]*(?:策展人(?:筆記|觀點)|編者註|編按|數字快照"
    r"|(?:30|三十) ?秒(?:快讀)?(?:概覽|概述|摘要|速讀|認識))"
    r"[^\w「『《〈（(]*"
)
_CALLOUT = re.compile(r"^\[!(?P<kind>\w+)\][+-]?[ \t]*(?P<title>.*)$")


def left_out(title: str) -> bool:
    """Whether a heading (or a label in bold) opens references, further reading, image sources or the like.

    The whole heading must say so: 「資料背後的社會意義」 and 「延伸：如果…」 are prose.
    """
    parts = [_bare(part) for part in _TITLE_PARTS.split(title)]
    parts = [part for part in parts if part]
    return bool(parts) and all(part in _LEFT_OUT for part in parts)


def opens_left_out(paragraph: str) -> bool:
    """Whether a paragraph is 「延伸閱讀：…」 or 「延伸閱讀」: such a label, alone or with a colon and what it lists."""
    head = paragraph.replace(":", "：", 1).partition("：")[0]
    return len(head) <= 16 and left_out(head)


def without_label(paragraph: str) -> str:
    """A paragraph without the label that opens it (「30 秒概覽：」, 「📝 策展人筆記」)."""
    return _LABEL.sub("", paragraph, count=1)


def is_label(title: str) -> bool:
    """Whether a heading or paragraph is nothing but such a label."""
    return bool(title) and not without_label(title)


def callout(line: str) -> tuple[str, str] | None:
    """The kind and title of a callout's first line (`[!note] 標題`), or None where it is not one."""
    found = _CALLOUT.match(line.strip())
    return (found["kind"].lower(), found["title"].strip()) if found else None


def _bare(text: str) -> str:
    return _NOT_LETTER.sub("", text).lower()
