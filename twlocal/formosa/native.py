"""Native text to prove a lexicon on: Taiwan.md articles and examination questions, as pieces of text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from twlocal.errors import DatasetError
from twlocal.formosa.articles import ARTICLE, kind, knowledge, read_front, sources
from twlocal.formosa.markdown import front_matter


def articles(root: Path) -> Iterator[str]:
    """The whole text of every zh article of a checkout, references and footnotes too: the harder proof."""
    for source in sources(knowledge(root)):
        if kind(source, read_front(front_matter(source.text))) == ARTICLE:
            yield source.text


def questions(path: Path) -> Iterator[str]:
    """The texts in a file or folder of questions (.csv, .tsv, .jsonl, .json), whatever its columns are called.

    Raises DatasetError where there is nothing to read.
    """
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    files = [file for file in files if file.suffix.lower() in (".csv", ".tsv", ".jsonl", ".json") and file.is_file()]
    if not files:
        raise DatasetError(
            f"there are no questions at {path}", hint="name a .csv, .tsv, .jsonl or .json file or folder"
        )
    for file in files:
        try:
            text = file.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise DatasetError(f"cannot read {file} ({error})", hint="questions are UTF-8") from error
        if file.suffix.lower() in (".csv", ".tsv"):
            rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if file.suffix.lower() == ".tsv" else ",")
            yield from (cell for row in rows for cell in row if cell)
            continue
        # Never splitlines(): U+2028, U+2029 and U+0085 are legal inside a JSON string.
        pieces = text.split("\n") if file.suffix.lower() == ".jsonl" else [text]
        for piece in pieces:
            if piece.strip():
                try:
                    yield from _strings(json.loads(piece))
                except json.JSONDecodeError as error:
                    raise DatasetError(f"{file} is not JSON ({error})", hint="take the file out") from error


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
