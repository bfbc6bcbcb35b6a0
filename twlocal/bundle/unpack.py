"""A folder or an archive that a stranger made, opened without trusting it.

An archive is unpacked into a folder of its own that goes away again. Names that would lead out of it, links, devices,
doubled names and more bytes than allowed are refused before anything of them is written.
"""

from __future__ import annotations

import gzip
import os
import re
import stat
import struct
import tarfile
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from twlocal.errors import TwlocalError, UsageError

LIMIT = 4 << 30  # bytes, unpacked
MOST_FILES = 20_000
_LONGEST_NAME = 400
_LARGEST_READ = 1 << 20
_BLOCK = 1 << 18
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, struct.error, RuntimeError)
_UNSAFE = re.compile(r"[\\:\x00-\x1f\x7f]")


class Refused(TwlocalError):
    """A folder or an archive that is not opened, because of what it holds."""


@contextmanager
def opened(path: Path, *, limit: int = LIMIT) -> Iterator[Path]:
    """The folder at `path`, or what the archive at `path` holds, unpacked for the length of the block.

    limit: the most bytes that may come out of it. Raises UsageError where there is nothing, Refused.
    """
    if path.is_dir():
        _check_folder(path, limit)
        yield path
        return
    if not path.is_file():
        raise UsageError(f"there is no file or folder {path}", hint="name a bundle, or a folder with results")
    with tempfile.TemporaryDirectory(prefix="twlocal-") as made:
        folder = Path(made)
        unpack(path, folder, limit=limit)
        yield folder


def is_archive(path: Path) -> bool:
    """Whether a file begins as an archive that `unpack` takes does."""
    with path.open("rb") as file:
        head = file.read(512)
    return head[:2] == b"\x1f\x8b" or head[:4] in (b"PK\x03\x04", b"PK\x05\x06") or head[257:262] == b"ustar"


def unpack(path: Path, folder: Path, *, limit: int = LIMIT) -> None:
    """Unpack a .tar.gz, .tar or .zip into the empty `folder`. Raises Refused."""
    if not is_archive(path):
        raise Refused(f"{path} is neither a folder nor a .tar.gz, .tar or .zip", hint="name a bundle")
    inside = _Inside(path, folder, limit)
    try:
        with path.open("rb") as file:
            head = file.read(4)
        if head[:2] == b"PK":
            inside.zip()
        else:
            inside.tar(packed=head[:2] == b"\x1f\x8b")
    except _BROKEN as error:
        said = f"{type(error).__name__}: {error}"
        raise Refused(f"{path} is damaged, or no archive that can be read ({said})", hint="ask for it again") from error


class _Inside:
    """What has come out of one archive so far."""

    def __init__(self, path: Path, folder: Path, limit: int) -> None:
        self._path, self._folder, self._limit = path, folder, limit
        self._left = limit
        self._members = 0
        self._seen: set[str] = set()

    def zip(self) -> None:
        with zipfile.ZipFile(self._path) as archive:
            for member in archive.infolist():
                kind = stat.S_IFMT(member.external_attr >> 16)
                if member.is_dir():
                    self._count(member.filename)
                    continue
                if kind not in (0, stat.S_IFREG):
                    raise self._refused(member.filename, "is a link or a device")
                if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise self._refused(member.filename, "is encrypted, or packed in an unusual way")
                self._take(member.filename, member.file_size, partial(archive.open, member))

    def tar(self, *, packed: bool) -> None:
        with self._path.open("rb") as raw:
            plain: IO[bytes] = gzip.GzipFile(fileobj=raw, mode="rb") if packed else raw  # type: ignore[assignment]
            sparing: IO[bytes] = _Sparing(plain, self._limit)  # type: ignore[assignment]
            with tarfile.open(fileobj=sparing, mode="r:", errorlevel=2) as archive:
                for member in archive:
                    if member.isdir():
                        self._count(member.name)
                    elif not member.isreg() or member.issparse():
                        raise self._refused(member.name, "is a link or a device")
                    else:
                        self._take(member.name, member.size, partial(archive.extractfile, member))
                    archive.members = []  # type: ignore[attr-defined]  # they would gather

    def _take(self, name: str, size: int, open_: Callable[[], IO[bytes] | None]) -> None:
        place = self._count(name)
        if size > self._left:
            raise self._too_much()
        target = self._folder.joinpath(*place.parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        source = open_()
        assert source is not None  # only of a tar's folders and links
        with source, target.open("xb") as file:
            while block := source.read(_BLOCK):
                self._left -= len(block)
                if self._left < 0:
                    raise self._too_much()
                file.write(block)

    def _count(self, name: str) -> PurePosixPath:
        self._members += 1
        if self._members > MOST_FILES:
            raise Refused(f"{self._path} holds more than {MOST_FILES:,} files", hint="no bundle does: don't open it")
        place = PurePosixPath(name)
        why = ""
        if not name or _UNSAFE.search(name) or len(name) > _LONGEST_NAME:
            why = "is no name for a file here"
        elif place.is_absolute() or ".." in place.parts:
            why = "leads out of the archive"
        # Two names that some file system takes for one would let a second file stand in for a checked one.
        folded = unicodedata.normalize("NFC", place.as_posix()).casefold()
        if not why and folded in self._seen and folded != ".":
            why = "stands in it twice"
        if why:
            raise self._refused(name, why)
        self._seen.add(folded)
        return place

    def _refused(self, name: str, why: str) -> Refused:
        return Refused(f"{self._path} is refused: {name[:80]!r} {why}", hint="no bundle holds this: don't open it")

    def _too_much(self) -> Refused:
        return _too_much(self._path, self._limit)


def _too_much(path: Path, limit: int) -> Refused:
    return Refused(f"{path} holds more than {limit / (1 << 30):.3g} GiB", hint="if you trust it: --max-size GIB")


class _Sparing:
    """A file for `tarfile` that does not read a gigabyte at once because a header says so."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file = file
        self._end = 2 * limit + (MOST_FILES << 10)  # headers and padding beside the content

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LARGEST_READ or self._file.tell() > self._end:
            raise tarfile.ReadError("a header of an absurd size")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence or offset > self._end:
            raise tarfile.ReadError("a member of an absurd size")
        return self._file.seek(offset)

    def tell(self) -> int:
        return self._file.tell()


def _check_folder(folder: Path, limit: int) -> None:
    """Raises Refused where a folder holds what no bundle does."""
    left, files = limit, 0
    for at, folders, names in os.walk(folder, onerror=_raise):
        for name in (*folders, *names):
            found = Path(at, name).lstat()
            if not stat.S_ISDIR(found.st_mode):
                if not stat.S_ISREG(found.st_mode):
                    raise Refused(
                        f"{Path(at, name)} is a link or a device", hint="a bundle holds plain files: don't open it"
                    )
                left, files = left - found.st_size, files + 1
        if left < 0:
            raise _too_much(folder, limit)
        if files > MOST_FILES:
            raise Refused(f"{folder} holds more than {MOST_FILES:,} files", hint="name the folder of the results")


def _raise(error: OSError) -> None:
    raise error


def root(folder: Path, marker: str) -> Path | None:
    """Where in an opened folder the file `marker` lies: at its top, or in the only folder there; None elsewhere."""
    if (folder / marker).is_file():
        return folder
    inside = [path for path in folder.iterdir() if path.is_dir()]
    return inside[0] if len(inside) == 1 and (inside[0] / marker).is_file() else None
