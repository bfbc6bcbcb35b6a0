"""The bundled demo set keeps the contract written in twlocal/data/DEMO.md."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import Counter, defaultdict
from importlib.resources import files

import pytest

LETTERS = "ABCD"
HEADER = ["id", "subject", "question", *LETTERS, "answer"]

# Common simplified forms that never occur in Traditional Chinese text.
SIMPLIFIED = set(
    "们这个国学会时为实发问间门见说话语请谁课题类样过还进远运连边达医药湾铁车东长马鸟鱼龙龟电脑网络线级红绿"
    "县区乡镇岛员权宪总统审计财产业务农亲爱书画艺观众视银钱饮饭馆华亿币双对号变历争战条约选举职责执标树桥"
    "陆阳阴险难陈刘郑张杨孙吴许谢邓贺简单专传热烧汉满湿润泽环现规觉览"
)
# Big5 holds the characters in general use in Taiwan and no simplified ones; these two of ours came too late for it.
NOT_IN_BIG5 = str.maketrans("", "", "噍酶")

MAINLAND = [
    *("視頻", "軟件", "硬件", "網絡", "信息", "質量", "數據庫", "數據"),
    *("智能手機", "出租車", "公交", "地鐵站", "土豆", "西紅柿", "菠蘿", "酸奶"),
    *("方便麵", "打印", "鼠標", "屏幕", "默認", "博客", "互聯網", "盒飯"),
    *("激光", "納米", "人工智能", "短信", "鏈接", "優盤", "立交橋"),
]

# Proper names that their owners write with 台; everything else writes 臺.
WRITTEN_WITH_TAI = ("台積電", "台塑", "郭台銘")

RAW = (files("twlocal.data") / "demo.csv").read_bytes()
READER = csv.DictReader(io.StringIO(RAW.decode("utf-8"), newline=""), strict=True)
ROWS = list(READER)


def options(row: dict[str, str]) -> list[str]:
    return [row[letter] for letter in LETTERS]


def test_bytes() -> None:
    assert not RAW.startswith(b"\xef\xbb\xbf")
    assert b"\r" not in RAW
    assert RAW.endswith(b"\n")
    assert not RAW.endswith(b"\n\n")


def test_header_and_width() -> None:
    assert READER.fieldnames == HEADER
    for row in ROWS:
        assert list(row) == HEADER, row
        assert all(isinstance(value, str) for value in row.values()), row


def test_size() -> None:
    assert len(ROWS) >= 112
    subjects = Counter(row["subject"] for row in ROWS)
    assert len(subjects) >= 8
    assert min(subjects.values()) >= 12, subjects


def test_ids_and_stems_are_unique() -> None:
    for column in ("id", "question"):
        repeated = [value for value, n in Counter(row[column] for row in ROWS).items() if n > 1]
        assert not repeated


def test_one_id_prefix_a_subject() -> None:
    prefixes = defaultdict(set)
    for row in ROWS:
        assert re.fullmatch(r"[a-z]{3}-\d{3}", row["id"]), row["id"]
        prefixes[row["subject"]].add(row["id"][:3])
    assert all(len(found) == 1 for found in prefixes.values()), prefixes
    assert len(set().union(*prefixes.values())) == len(prefixes)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_question(row: dict[str, str]) -> None:
    for name, value in row.items():
        assert value, name
        assert value == value.strip(), name
        assert unicodedata.is_normalized("NFC", value), name
        assert not re.search(r"[\n\t\u3000\u200b\ufeff]", value), name
    assert row["answer"] in set(LETTERS)
    assert len(set(options(row))) == 4
    assert row[row["answer"]] not in row["question"]
    assert row["question"].endswith("？")
    text = "".join([row["subject"], row["question"], *options(row)])
    for banned in ("以上皆", "以上都", "以下皆", "承上題", "下圖", "附圖"):
        assert banned not in text
    assert not SIMPLIFIED & set(text)
    text.translate(NOT_IN_BIG5).encode("big5")
    assert not [term for term in MAINLAND if term in text]
    for name in WRITTEN_WITH_TAI:
        text = text.replace(name, "")
    assert "台" not in text


def test_keys_are_balanced() -> None:
    keys = Counter(row["answer"] for row in ROWS)
    for letter in LETTERS:
        assert 0.2 <= keys[letter] / len(ROWS) <= 0.3, keys
    by_subject = defaultdict(Counter)
    for row in ROWS:
        by_subject[row["subject"]][row["answer"]] += 1
    for subject, counts in by_subject.items():
        assert max(counts.values()) <= 6, (subject, counts)


@pytest.mark.parametrize("pick", [max, min], ids=["longest", "shortest"])
def test_length_gives_no_key_away(pick) -> None:
    """Whichever way ties are broken: the first, the last, or at random."""
    first = last = at_random = 0.0
    for row in ROWS:
        lengths = [len(option) for option in options(row)]
        tied = [letter for letter, n in zip(LETTERS, lengths, strict=True) if n == pick(lengths)]
        first += row["answer"] == tied[0]
        last += row["answer"] == tied[-1]
        at_random += (row["answer"] in tied) / len(tied)
    assert max(first, last, at_random) / len(ROWS) < 0.35


def test_the_description_ships_beside_the_set() -> None:
    text = (files("twlocal.data") / "DEMO.md").read_text(encoding="utf-8")
    assert "CC BY-SA 4.0" in text
    assert f"{len(ROWS)} 題" in text
    assert f"{len(ROWS)} four-option questions" in text
    for subject in {row["subject"] for row in ROWS}:
        assert subject in text
