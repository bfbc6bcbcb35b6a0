"""Bytes → text in a stated encoding. Another one is recognised and named in the error, never just used. Pure."""

from __future__ import annotations

import codecs
import unicodedata

from twlocal.errors import DatasetError

_BOMS = (  # UTF-32-LE begins like UTF-16-LE, so it is asked first.
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MAGIC = (
    (b"PK\x03\x04", "an Excel workbook or another zip archive", "save the sheet as “CSV UTF-8”"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "save the sheet as “CSV UTF-8”"),
    (b"\x1f\x8b", "gzip-compressed", "decompress it first"),
    (b"PAR1", "a Parquet file", "give it the suffix .parquet"),
    (b"version https://git-lfs", "a Git LFS pointer, not the data", "fetch the data with git lfs pull"),
)
# How much of a foreign text has to be everyday Chinese before its encoding is named.
_PLAUSIBLE = 0.8
_WEIGHED = 50_000  # characters


def foreign(data: bytes, file: str, *, but: str = "") -> None:
    """Raise DatasetError for what is known to be something else than its name says, such as an error page that was
    saved in the place of the data. `but`: what it is said to be, and therefore may be."""
    for magic, what, way_out in _MAGIC:
        if what != but and data.startswith(magic):
            raise DatasetError(f"{file}: this is {what}", hint=way_out)
    if data[:200].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype html", b"<html")):
        raise DatasetError(
            f"{file}: this is a web page, not data",
            hint="it may be a login or an error page that was saved in the data's place: fetch the file again",
        )


def decode(data: bytes, encoding: str, file: str) -> str:
    """The text in `data`, without a byte order mark. Raises DatasetError, naming the line and the likely encoding."""
    foreign(data, file)
    try:
        codec = codecs.lookup(encoding).name
    except LookupError:
        codec = ""
    marked = next((name for bom, name in _BOMS if data.startswith(bom)), "")
    if codec and marked and not codec.startswith(marked):
        raise DatasetError(
            f"{file}: it begins with the byte order mark of {marked.upper()}, but is to be read as {encoding}",
            hint=f"--encoding {marked}",
        )
    try:
        text = data.decode("utf-8-sig" if codec == "utf-8" else encoding)
    except LookupError as error:
        raise DatasetError(
            f"there is no text encoding named {encoding!r}", hint="for example utf-8, cp950 (Big5), gb18030, utf-16"
        ) from error
    except UnicodeError as error:
        raise _undecodable(data, encoding, file, error) from error
    if not codec.startswith("utf") and not data.isascii():
        if _everyday(_try(data, "utf-8")) >= _PLAUSIBLE:
            raise DatasetError(f"{file}: this is UTF-8, but is to be read as {encoding}", hint="leave --encoding out")
        # Big5 read as GB 18030, or as Latin-1, decodes to the end without an error, into nonsense.
        if _everyday(text) < _PLAUSIBLE and (likely := _likely(data, but=codec)):
            raise DatasetError(
                f"{file}: read as {encoding} this is no everyday Chinese, and as {likely} it is",
                hint=f"--encoding {likely}",
            )
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        likely = _likely(data, but=encoding)
        raise DatasetError(
            f"{file}:{line}: a NUL byte: this is not plain text in {encoding}",
            hint=f"it decodes as {likely}: --encoding {likely}" if likely else "remove the NUL bytes",
        )
    return text


def _undecodable(data: bytes, encoding: str, file: str, error: UnicodeError) -> DatasetError:
    start = error.start if isinstance(error, UnicodeDecodeError) else 0
    line = data.count(b"\n", 0, start) + 1
    likely = _likely(data, but=encoding)
    return DatasetError(
        f"{file}:{line}: not {encoding.upper()} (byte 0x{data[start]:02x} on line {line})"
        + (f"; it decodes as {likely}" if likely else ""),
        hint=f"--encoding {likely}" if likely else "save it as UTF-8, or name its encoding with --encoding",
    )


def _likely(data: bytes, *, but: str) -> str:
    """The encoding under which `data` reads as everyday Chinese, or "" when none does."""
    tried = {}
    for name in ("utf-8", "cp950", "big5hkscs", "gb18030", "utf-16-le", "utf-16-be"):
        text = _try(data, name)
        # Text with line ends: two bytes taken for one character swallow them.
        if name != but and "\n" in text:
            tried[name] = _everyday(text)
    best = max(tried, key=lambda name: tried[name], default="")
    return best if tried.get(best, 0.0) >= _PLAUSIBLE else ""


def _try(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeError:
        return ""


def _everyday(text: str) -> float:
    """The share of the characters beyond ASCII that are among the frequent Chinese ones of Big5 or GB 2312."""
    text = text[:_WEIGHED]
    foreign = [char for char in text if char > "\x7f"]
    if not foreign:
        # Plain English in UTF-16 has nothing to weigh; it is a text when nothing in it is a control character.
        return float(bool(text) and all(char in "\t\r\n" or unicodedata.category(char) != "Cc" for char in text))
    return sum(map(_frequent, foreign)) / len(foreign)


def _frequent(char: str) -> bool:
    # Big5's first plane (lead bytes up to C6) and GB 2312's (up to D7) hold the frequent characters and punctuation.
    for codec, last in (("cp950", 0xC6), ("gb2312", 0xD7)):
        code = char.encode(codec, "ignore")
        if len(code) == 2 and 0xA1 <= code[0] <= last:
            return True
    return False
