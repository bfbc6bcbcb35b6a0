"""Pages as pictures, and where the parts of their items stand, from a process of its own under limits.

pdfium is not made for several threads, and what a file provokes in it is to end nothing but that process. Pictures and
outlines are kept as long as there is room.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twlocal.exam.limits import Limits, Worker
from twlocal.exam.model import REJECTIONS
from twlocal.exam.regions import Outline, of_key, of_paper

WIDTH = 1200  # pixels, for a page of A4 a scale of two
_HIGHEST = 4000  # pixels: a page many times as high as it is wide is made smaller
_MEMORY = 64 * 1024 * 1024  # bytes of pictures that are kept
_OUTLINES = 32
LIMITS = Limits(seconds=30, megabytes=2048)


@dataclass(frozen=True)
class Document:
    """A document of the build: where it was found, and the hash of what was read there. `kind` is Q, A or M."""

    id: int
    kind: str
    path: Path
    sha256: str


@dataclass(frozen=True)
class Job:
    """What the process is asked for: the picture of a page (from 1), or the outline of the document (page 0)."""

    document: Document
    page: int = 0


@dataclass(frozen=True)
class Seen:
    """The outline of a document with the width and height of each page, in points."""

    outline: Outline
    sizes: tuple[tuple[float, float], ...]


class Unseen(Exception):
    """What was asked for cannot be shown: `reason` in one word, `detail` in a sentence."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)  # both, or it does not come through the pipe
        self.reason, self.detail = reason, detail


def look(job: Job) -> Any:
    """Does a job, in the process: PNG bytes, a Seen, or an Unseen."""
    from twlocal.exam.page import UnreadablePdf

    try:
        data = job.document.path.read_bytes()
    except OSError as error:
        return Unseen("missing_file", f"{job.document.path}: {error.strerror or error}")
    if hashlib.sha256(data).hexdigest() != job.document.sha256:
        return Unseen("changed_file", f"{job.document.path} is not the file that was parsed")
    try:
        return _picture(data, job.page) if job.page else _outline(data, job.document.kind)
    except UnreadablePdf as error:
        return Unseen(error.reason, error.detail)


def _outline(data: bytes, kind: str) -> Seen:
    from twlocal.exam.reader import collector_paused, read_pages

    with collector_paused():
        pages = read_pages(data)
        outline = of_paper(pages) if kind == "Q" else of_key(pages)
    return Seen(outline, tuple((page.width, page.height) for page in pages))


def _picture(data: bytes, number: int) -> bytes | Unseen:
    """The page upright, as its text was read: /Rotate is not looked at, the direction of the text is."""
    from twlocal.exam.reader import open_pdf, read_page

    with open_pdf(data) as document:
        if not 0 < number <= len(document):
            return Unseen("no_page", f"there is no page {number} of {len(document)}")
        read = read_page(document, number - 1, data)
        page = document[number - 1]
        # pdfium turns by /Rotate, clockwise; the text runs `turned` degrees off.
        rotation = (-read.turned - page.get_rotation()) % 360
        scale = min(WIDTH / read.width, _HIGHEST / read.height)
        picture = page.render(scale=scale, rotation=rotation, grayscale=False).to_pil()
        out = io.BytesIO()
        if picture.getcolors(256):  # print without photographs: a palette holds it, in a third of the bytes
            picture = picture.quantize(256)
        picture.save(out, "PNG", compress_level=4)
        return out.getvalue()


class Sight:
    """The process and what it has shown so far. To be used from one event loop, and closed."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._worker = Worker(look, limits)
        self._thread = ThreadPoolExecutor(1, "twlocal-sight")
        self._pictures: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._outlines: OrderedDict[str, Seen] = OrderedDict()
        self._held = 0

    async def picture(self, document: Document, page: int) -> bytes:
        """A page as PNG. Raises Unseen."""
        key = (document.sha256, page)
        if (found := self._pictures.get(key)) is None:
            found = await self._ask(Job(document, page))
            if key not in self._pictures:  # nobody else asked for it meanwhile
                self._pictures[key] = found
                self._held += len(found)
            while self._held > _MEMORY and len(self._pictures) > 1:
                self._held -= len(self._pictures.popitem(last=False)[1])
        else:
            self._pictures.move_to_end(key)
        return found

    async def outline(self, document: Document) -> Seen:
        """A document as it is parsed now. Raises Unseen."""
        key = document.kind + document.sha256
        if (found := self._outlines.get(key)) is None:
            found = self._outlines[key] = await self._ask(Job(document))
            while len(self._outlines) > _OUTLINES:
                self._outlines.popitem(last=False)
        else:
            self._outlines.move_to_end(key)
        return found

    async def _ask(self, job: Job) -> Any:
        value, rejection = await asyncio.get_running_loop().run_in_executor(self._thread, self._worker.run, job)
        if rejection is not None:
            raise Unseen(rejection.reason, rejection.detail or REJECTIONS.get(rejection.reason, ""))
        if isinstance(value, Unseen):
            raise value
        return value

    def close(self) -> None:
        """Ends the process."""
        self._worker.end()
        self._thread.shutdown(cancel_futures=True)
        self._worker.stop()
