"""A small checkout of a corpus like Taiwan.md, written for these tests, and drafts over it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from twlocal.cli import main
from twlocal.errors import TwlocalError
from twlocal.formosa import jsonl
from twlocal.formosa.build import cut_corpus, item_rows, permute_items, screen_drafts
from twlocal.formosa.drafts import Draft
from twlocal.formosa.lexicon import shipped
from twlocal.formosa.stored import Builds
from twlocal.store import open_store

SENTENCE = "這座港口在一八六三年開放通商，往來的船隻把樟腦與茶葉運往遠方。"

ARTICLE = """---
title: '虎尾溪的糖：一條小火車的故事'
description: '簡介不是正文。'
date: 2026-03-17
tags: ['糖業', '鐵道']
category: 'History'
author: 'Taiwan.md Contributors'
---

# 虎尾溪的糖

> **30 秒概覽：** 虎尾糖廠一九〇七年動工，[小火車](https://example.org/a)把甘蔗載進工廠。它至今仍在製糖[^1]。

## 甘蔗怎麼進城

鐵道**「五分車」**的軌距只有七百六十二公釐，是標準軌距的一半。居民常去[[虎尾車站|老車站]]看車，也去[[糖廠]]買冰。[[台灣鐵道]]

<!-- 待補：通車日期 -->

![糖廠煙囪](/images/chimney.jpg)
_糖廠煙囪，2019 年。Photo: 某人_

| 年份 | 產量 |
| ---- | ---- |
| 1940 | 保密 |

```
1907 動工
```

製糖期從十二月開始：

- 採收甘蔗
- 壓榨取汁

> [!note] 📝 策展人筆記
> 糖業改變了平原的樣貌。<br>鐵道是它留下的骨架。

<div class="video"><iframe src="https://example.org/v"></iframe></div>

_影片：製糖的一天。_

詳見 https://example.org/more 的說明。

**延伸閱讀**：

- [糖業博物館](/nature/sugar) — 另一篇

## 參考資料

1. 不該出現的參考書目。

[^1]: [虎尾糖廠](https://example.org) — 不該出現的註腳。
"""


@pytest.fixture
def article() -> str:
    return ARTICLE


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A checkout: three articles, a hub, an index, a roadmap, two translations, a foreign file."""
    root = tmp_path / "taiwan-md"
    body = "\n\n".join(SENTENCE * count for count in (5, 7, 4, 9, 6, 8, 5, 7, 6, 9, 4, 8))
    files = {
        "History/虎尾溪的糖.md": ARTICLE,
        "History/淡水開港.md": f"# 淡水開港\n\n{body}\n\n## 後來\n\n{body.replace('港口', '海關')}\n",
        "Food/米粉.md": "---\ntitle: [壞掉的\n---\n\n" + "新竹的米粉靠九降風吹乾，薄而有韌勁。" * 20 + "\n",
        "Food/_Food Hub.md": "# 美食\n\n這是一頁索引，列出所有文章。\n",
        "_Home.md": "# 首頁\n",
        "README.md": "# 說明\n\n這不是文章。\n",
        "About/Roadmap.md": "# 路線圖\n\n接下來要做的事情。\n",
        "en/Food/rice.md": "# Rice noodles\n\nHsinchu rice noodles are dried by wind.\n",
        "ja/Food/rice.md": "# 米粉\n\n新竹の米粉は風で乾かします。\n",
        "Nature/english.md": "# Birds\n\nThe Mikado pheasant lives in high mountains and is rarely seen.\n",
    }
    for name, text in files.items():
        path = root / "knowledge" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return root


@pytest.fixture
def open_builds(tmp_path: Path) -> Iterator[Callable[..., Builds]]:
    opened: list[Builds] = []

    def call(name: str = "f.db") -> Builds:
        path = tmp_path / name
        builds = Builds(open_store(path), path)
        opened.append(builds)
        return builds

    yield call
    for builds in opened:
        builds.close()


@pytest.fixture
def write_drafts(tmp_path: Path) -> Callable[..., Path]:
    """Drafts over the given windows: good ones with the key in A, and one that opens on a pronoun."""

    def call(windows: list[str]) -> Path:
        rows = [
            {
                "window": window,
                "question": f"淡水在哪一年開放通商？（之{number}）" if number else "她取得美國國籍的年份是？",
                "A": "一八六三年",
                "B": "一八八五年",
                "C": "一八九五年",
                "D": "一九〇七年",
                "answer": "A",
            }
            for number, window in enumerate(windows)
        ]
        path = tmp_path / "drafts.jsonl"
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return path

    return call


PLACES = [
    "淡水",
    "基隆",
    "安平",
    "打狗",
    "鹿港",
    "艋舺",
    "北港",
    "布袋",
    "梧棲",
    "花蓮",
    "臺東",
    "馬公",
    "宜蘭",
    "苗栗",
    "彰化",
    "斗六",
]
THINGS = [
    "樟腦",
    "茶葉",
    "蔗糖",
    "稻米",
    "海鹽",
    "煤炭",
    "木材",
    "鳳梨",
    "香蕉",
    "硫磺",
    "鹿皮",
    "魚乾",
    "蕃薯",
    "花生",
    "芝麻",
    "菸草",
]


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def harbours(tmp_path: Path) -> Path:
    """A build of sixteen items, each with its answer in its window, in twlocal.db; the file of its items."""
    root = tmp_path / "taiwan-md" / "knowledge" / "History"
    root.mkdir(parents=True)
    for at, (place, thing) in enumerate(zip(PLACES, THINGS, strict=True)):
        body = f"{place}在{1860 + at}年開放通商，當地最有名的貨物是{thing}。街上的老店都還記得那個年代。" * 2
        (root / f"{place}.md").write_text(f"# {place}\n\n{body}\n", encoding="utf-8")
    database = tmp_path / "twlocal.db"
    builds = Builds(open_store(database), database)
    made = cut_corpus(builds, tmp_path / "taiwan-md", now="2026-08-24T00:00:00+00:00", target=220, name="港")
    windows = {window.path.split("/")[-1].removesuffix(".md"): window.hash for window in builds.windows(made)}
    drafts = []
    for at, place in enumerate(PLACES):
        year = (f"{1860 + at}年", "1721年", "1790年", "1935年")
        options = year if at % 2 else (THINGS[at], "玉器", "羊毛", "咖啡")
        stem = f"臺灣的{place}{'在哪一年開放通商' if at % 2 else '最有名的貨物是什麼'}？"
        drafts.append(Draft(windows[place], stem, options, "A"))
    builds.add_drafts(made, "somebody", drafts)
    screen_drafts(builds, made, shipped())
    assert permute_items(builds, made) == len(PLACES)
    jsonl.write(tmp_path / "items.jsonl", item_rows(builds, made))
    builds.close()
    return tmp_path / "items.jsonl"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """The command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*words: str | Path) -> Done:
        result = CliRunner().invoke(main, [str(word) for word in words], standalone_mode=False)
        if isinstance(result.exception, TwlocalError):
            return Done(result.exception.exit_code, result.stdout, str(result.exception))
        if result.exception is not None:
            raise result.exception
        return Done(result.return_value or 0, result.stdout, result.stderr)

    return call
