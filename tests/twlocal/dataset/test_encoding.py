"""Bytes → text."""

from __future__ import annotations

import pytest

from twlocal.dataset.encoding import decode
from twlocal.errors import DatasetError

TEXT = (
    "question,A,B,C,D,answer\n"
    "下列何者為民法所定之法定代理人？,父母,祖父,叔父,兄長,A\n"
    "依憲法規定，人民有服兵役之義務，下列敘述何者正確？,正確,錯誤,部分正確,以上皆非,B\n"
)
SIMPLIFIED = (
    "question,A,B,C,D,answer\n下列哪个选项是中国的首都？,上海,北京,广州,深圳,B\n这个问题的答案是什么？,甲,乙,丙,丁,A\n"
)


@pytest.mark.parametrize(
    ("encoding", "named"),
    [("cp950", "cp950"), ("big5", "cp950"), ("big5hkscs", "cp950"), ("utf-16", "utf-16"), ("utf-32", "utf-32"),
     ("utf-16-le", "utf-16-le"), ("utf-16-be", "utf-16-be")],
)  # fmt: skip
def test_another_encoding_is_named_never_used(data, encoding, named):
    raw = TEXT.encode(encoding)
    message = data.error("x.csv", raw)
    assert f"--encoding {named}" in message and "x.csv" in message
    loaded = data.load("x.csv", raw, encoding=named)
    assert loaded.fingerprint == data.load("x.csv", TEXT).fingerprint


def test_simplified_chinese_is_told_from_big5(data):
    raw = SIMPLIFIED.encode("gb18030")
    message = data.error("x.csv", raw)
    assert "it decodes as gb18030" in message and "byte 0xcf on line 2" in message
    assert data.load("x.csv", raw, encoding="gb18030").items[0].answer == "B"


def test_the_line_of_the_first_bad_byte_is_named(data):
    raw = b"question,A,B,C,D,answer\nok,1,2,3,4,A\n" + TEXT.split("\n")[1].encode("cp950") + b"\n"
    assert "x.csv:3: not UTF-8 (byte 0xa4 on line 3); it decodes as cp950" in data.error("x.csv", raw)


def test_a_large_file_is_weighed_in_part(data):
    raw = (TEXT + TEXT.split("\n", 1)[1] * 4000).encode("cp950")
    assert "it decodes as cp950" in data.error("x.csv", raw)


def test_one_damaged_byte_suggests_nothing_wrong(data):
    raw = TEXT.encode().replace("祖".encode(), b"\xe7\xa5")
    message = data.error("x.csv", raw)
    assert "not UTF-8" in message and "decodes as" not in message and "save it as UTF-8" in message


@pytest.mark.parametrize("encoding", ["cp950", "gb18030", "latin-1"])
def test_utf8_is_not_read_as_something_else(data, encoding):
    message = data.error("x.csv", TEXT, encoding=encoding)
    assert "UTF-8" in message or "utf-8" in message


def test_a_bom_against_the_stated_encoding(data):
    assert "byte order mark of UTF-8" in data.error("x.csv", b"\xef\xbb\xbf" + TEXT.encode(), encoding="cp950")


def test_a_mark_is_dropped_also_where_the_codec_keeps_it(data):
    raw = ("\ufeff" + TEXT).encode("utf-16-le")
    assert data.load("x.csv", raw, encoding="utf-16-le").fingerprint == data.load("x.csv", TEXT).fingerprint


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "utf-8-sig", "ascii"])
def test_spellings(data, encoding):
    text = "question,A,B,C,D,answer\nq,1,2,3,4,A\n"
    assert len(data.load("x.csv", text, encoding=encoding).items) == 1


@pytest.mark.parametrize("encoding", ["klingon", "base64", "rot13", ""])
def test_names_of_no_text_encoding(data, encoding):
    assert "no text encoding named" in data.error("x.csv", TEXT, encoding=encoding)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"PK\x03\x04rest", "Excel workbook"),
        (b"\xd0\xcf\x11\xe0rest", "old Excel workbook"),
        (b"\x1f\x8brest", "decompress"),
        (b"PAR1rest", ".parquet"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"\n<!DOCTYPE HTML><title>404</title>", "a web page, not data"),
        (b"\xef\xbb\xbf<html><body>login", "a web page, not data"),
        (b"question,A\nq\0,1\n", "x.csv:2: a NUL byte"),
    ],
)
def test_files_that_are_no_text(data, content, says):
    assert says in data.error("x.csv", content)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".json", ".jsonl"])
def test_pages_and_pointers_in_the_place_of_data_are_named(data, suffix):
    assert "a web page, not data" in data.error("x" + suffix, b"<!doctype html><p>Not found")
    assert "git lfs pull" in data.error("x" + suffix, b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n")


def test_utf16_without_a_mark_is_recognised_in_english_too():
    with pytest.raises(DatasetError, match="utf-16-le"):
        decode("question,A,B,C,D,answer\nwhat?,1,2,3,4,A\n".encode("utf-16-le"), "utf-8", "x.csv")


@pytest.mark.parametrize(
    ("text", "written", "stated"),
    [
        (TEXT, "cp950", "gb18030"),
        (TEXT, "cp950", "latin-1"),
        (TEXT, "cp950", "cp1252"),
        (TEXT, "cp950", "shift_jis"),
        (SIMPLIFIED, "gb18030", "cp950"),
        (SIMPLIFIED, "gb18030", "latin-1"),
    ],
)
def test_a_wrong_encoding_that_decodes_to_nonsense_is_refused(data, text, written, stated):
    message = data.error("x.csv", text.encode(written), encoding=stated)
    assert f"--encoding {written}" in message


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Où est né Molière ?,à Paris,à Orléans,à Nîmes,à Évreux,A", "latin-1"),
        ("どの都市が日本の首都ですか？,大阪,東京,京都,奈良,B", "shift_jis"),
        ("彳亍、魑魅魍魎、饕餮、耄耋何者有誤,彳亍,魑魅,饕餮,耄耋,A", "cp950"),
    ],
)
def test_a_right_encoding_is_believed_also_where_the_text_is_no_everyday_chinese(data, text, encoding):
    raw = f"question,A,B,C,D,answer\n{text}\n".encode(encoding)
    assert data.load("x.csv", raw, encoding=encoding).items[0].question == text.split(",")[0]
