"""Synthetic papers and keys, drawn in memory; how is in tests/plugins/drawn_papers.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def sheet() -> type[Any]:
    """A PDF under construction; see tests/plugins/drawn_papers.py."""
    from drawn_papers import Sheet

    return Sheet


@pytest.fixture
def typed(sheet: type[Any]) -> Callable[..., bytes]:
    """Pages of plain text → a PDF with one line of text a line, all at the same left edge."""

    def build(*pages: str) -> bytes:
        made = sheet()
        for k, text in enumerate(pages):
            if k:
                made.page()
            for n, line in enumerate(text.split("\n")):
                made.text(50, 60 + 18 * n, line)
        return made.bytes()

    return build


@pytest.fixture
def draw(tmp_path: Path) -> Callable[..., Path]:
    """Draws a paper with its key (and correction) into a folder: `items` are (stem, options, cell)."""
    import drawn_papers

    def make(name: str, items: Any, *, folder: str = "papers", **changes: Any) -> Path:
        return drawn_papers.draw(tmp_path / folder, name, items, **changes)

    return make
