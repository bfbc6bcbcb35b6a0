"""Pages per second of reading examination papers, three ways on the same files and core, in one run.

    python scripts/bench_exam.py ../shared/data/papers --repeat 3

`pdfplumber words` is pdfplumber's `extract_words`, the usual way to text with geometry; `pypdfium2 text` only reads the
text, without any geometry, and is as fast as pdfium can be; `twlocal items` parses whole papers into items. CPU time of
this process; each paper is read all three ways in turn, and for each paper and way the best of the repeats counts, so
that a busy machine slows all of them down alike.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path


def plumber_words(path: Path) -> int:
    import pdfplumber

    with pdfplumber.open(path) as document:
        for page in document.pages:
            page.extract_words()
        return len(document.pages)


def pdfium_text(path: Path) -> int:
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    pages = len(document)
    for index in range(pages):
        page = document[index]
        text = page.get_textpage()
        text.get_text_range()
        text.close()
        page.close()
    document.close()
    return pages


def twlocal_items(path: Path) -> int:
    from twlocal.exam.paper import parse_paper

    return parse_paper(path).pages


def measure(read: Callable[[Path], int], path: Path) -> tuple[int, float]:
    """Pages read and CPU seconds used."""
    start = time.process_time()
    pages = read(path)
    return pages, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder of question papers (*__Q.pdf, or all *.pdf without those)")
    parser.add_argument("--repeat", type=int, default=3, help="how often each is run (default: 3)")
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*__Q.pdf")) or sorted(options.folder.glob("*.pdf"))
    if not paths:
        parser.error(f"no PDF in {options.folder}")
    ways = {"pdfplumber words": plumber_words, "pypdfium2 text": pdfium_text, "twlocal items": twlocal_items}
    for read in ways.values():
        read(paths[0])  # imports, and the first pages of everything
    best: dict[tuple[str, Path], float] = {}
    pages: dict[Path, int] = {}
    for _ in range(options.repeat):
        for path in paths:
            for name, read in ways.items():
                pages[path], seconds = measure(read, path)
                best[name, path] = min(best.get((name, path), seconds), seconds)
    total = sum(pages.values())
    rates = {name: total / sum(best[name, path] for path in paths) for name in ways}
    print(f"{len(paths)} papers, {total} pages, best of {options.repeat}")
    for name, rate in rates.items():
        print(f"{name:18}{rate:8.1f} pages/s{rate / rates['pdfplumber words']:8.2f} × pdfplumber")
    print(f"twlocal items is {rates['twlocal items'] / rates['pypdfium2 text']:.0%} of pypdfium2 text")


if __name__ == "__main__":
    main()
