"""Markdown to prose: what stays, what goes, and where it stood."""

from __future__ import annotations

import pytest

from twlocal.formosa.markdown import front_matter, read


def prose(text: str) -> list[str]:
    return [block.text for block in read(text).blocks]


def test_an_article_with_everything_in_it(article: str) -> None:
    page = read(article)
    assert [block.text for block in page.blocks] == [
        "虎尾糖廠一九〇七年動工，小火車把甘蔗載進工廠。它至今仍在製糖。",
        "鐵道「五分車」的軌距只有七百六十二公釐，是標準軌距的一半。居民常去老車站看車，也去糖廠買冰。",
        "製糖期從十二月開始：",
        "採收甘蔗",
        "壓榨取汁",
        "糖業改變了平原的樣貌。\n鐵道是它留下的骨架。",
        "詳見 的說明。",
    ]
    assert [block.section for block in page.blocks][:2] == ["虎尾溪的糖", "甘蔗怎麼進城"]
    assert page.dropped["left-out section"] == 2
    for name in ("front matter", "table", "code", "comment", "image", "footnotes", "address", "callout mark"):
        assert page.dropped[name] == 1, name
    assert page.dropped["caption"] == 2


def test_blocks_stand_where_they_say(article: str) -> None:
    for block in read(article).blocks:
        lines = article[block.start : block.end]
        assert block.text[:2] in lines and lines.endswith("\n")


def test_offsets_hold_with_other_line_ends_and_a_byte_order_mark(article: str) -> None:
    plain = read(article).blocks
    for text in (article.replace("\n", "\r\n"), "\ufeff" + article, article.replace("\n", "\r")):
        blocks = read(text).blocks
        assert [block.text for block in blocks] == [block.text for block in plain]
        for block, other in zip(blocks, plain, strict=True):
            assert text[block.start : block.end].split() == article[other.start : other.end].split()


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("粗體**「金獎」**得主。", "粗體「金獎」得主。"),
        ("他說*真的*，也說_真的_。", "他說真的，也說_真的_。"),
        ("三乘四寫作 3 * 4。", "三乘四寫作 3 * 4。"),
        ("檔名是 `taiwan.md`，不是 my_file_name。", "檔名是 taiwan.md，不是 my_file_name。"),
        ("軟換行\n接中文，English\nwords 也接。", "軟換行接中文，English words 也接。"),
        ("硬換行  \n是新的一行。", "硬換行\n是新的一行。"),
        ("註腳[^沒有定義]不見。", "註腳不見。"),
        ("地名<ruby>艋舺<rt>báng-kah</rt></ruby>。", "地名艋舺。"),
        ("看<!-- 註解 -->得到。", "看得到。"),
        ("網址 <https://example.org/a> 拿掉。", "網址 拿掉。"),
        ("網址（https://example.org/a?b=c）拿掉。", "網址拿掉。"),
        ("A &amp; B 與 &lt;標籤&gt;。", "A & B 與 <標籤>。"),
        ("~~刪去~~的字還在。", "刪去的字還在。"),
        ("![[附圖.png]]圖不見。", "圖不見。"),
        ("[[台灣小吃|小吃]]很多，[[夜市]]也是。", "小吃很多，夜市也是。"),
        ("母語者不足百人。[[語言復振]]、[[母語]]", "母語者不足百人。"),
        ("標題連結[《光》](https://example.org '標題')。", "標題連結《光》。"),
        ("零寬\u200b字元與\u00a0空白。", "零寬字元與 空白。"),
    ],
)
def test_inline(markdown: str, expected: str) -> None:
    assert prose(markdown) == [expected]


@pytest.mark.parametrize(
    "markdown",
    [
        "[[語言復振]]\n[[母語]]",
        "https://example.org/only",
        "![圖](a.jpg)",
        "    縮排的程式碼",
        "~~~\n程式碼\n~~~",
        "<script>alert('不是正文')</script>",
        "<!--\n註解\n-->",
        "## 延伸閱讀\n\n- 一篇文章。\n\n### 其他\n\n也不是正文。",
        "## 參考資料 / Sources\n\n書目。",
        "## 📚 參考資料：\n\n書目。",
        "延伸閱讀\n\n- 一篇文章。",
        "> [!quote] 延伸閱讀\n> 看看別的文章。",
        "[^1]: 沒有人引用的註腳。\n    第二行也是。",
        "![圖](a.jpg)\n_說明文字。_",
        "<figure><img src='a'><figcaption>說明。</figcaption></figure>",
        "| 甲 | 乙 |\n| -- | -- |\n| 一。 | 二。 |",
        "---\ntitle: 只有前言\n---\n",
        "",
    ],
)
def test_what_is_no_prose(markdown: str) -> None:
    assert prose(markdown) == []


@pytest.mark.parametrize(
    "markdown",
    [
        "## 資料背後的社會意義\n\n這一段留著。",
        "## 延伸：如果能為台灣做同樣的事呢？\n\n這一段留著。",
        "## 參考資料\n\n書目。\n\n## 後記\n\n這一段留著。",
        "<div>\n<p>這一段留著。</p>\n</div>",
        "<details>\n<summary>點開</summary>\n\n這一段留著。\n\n</details>",
        "_斜體開頭_\n\n這一段留著。",
    ],
)
def test_what_is_prose(markdown: str) -> None:
    assert prose(markdown)[-1] == "這一段留著。"


def test_front_matter_is_read_without_reading_the_rest() -> None:
    assert front_matter("---\r\ntitle: 甲\r\n---\r\n正文。") == "title: 甲"
    assert front_matter("正文。\n\n---\n\n後面。\n\n---\n") == ""
    assert read("---\ntitle: 甲\n---\n\n正文。").front.strip() == "title: 甲"
