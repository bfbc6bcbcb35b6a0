"""Which parser read a document: a hash of its source, so that a changed parser reads everything again, once."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

# What decides how a PDF is read. The other modules of this package work on what was read.
PARSER = [
    *(
        "assembly",
        "blanks",
        "chars",
        "compose",
        "drawn",
        "figures",
        "folios",
        "frame",
        "glyphs",
        "groups",
        "header",
        "item",
        "key",
        "layout",
        "lines",
        "model",
    ),
    *("notes", "number", "numerals", "options", "order", "page", "pair", "paper", "pdfium", "plumbed", "reader"),
]
BUILDER = ["decide", "filters", "subjects", "subjects.toml"]


@cache
def parser() -> str:
    """sha256 (hex) over the parser's source."""
    return _over("twlocal.exam", PARSER)


@cache
def builder() -> str:
    """sha256 (hex) over the rules of a build, those of the audit that it uses, and the subjects."""
    audit = _over("twlocal.audit", ["fingerprint", "references"])
    return hashlib.sha256((_over("twlocal.exam", BUILDER) + audit).encode()).hexdigest()


def _over(package: str, names: list[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        file = name if "." in name else f"{name}.py"
        text = files(package).joinpath(file).read_bytes()
        digest.update(f"{file}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()
