"""A folder or an archive, written whole or not at all, and always with the same bytes for the same content."""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from twlocal.bundle import sums
from twlocal.errors import UsageError

_BLOCK = 1 << 20
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say
_ARCHIVES = (".tar.gz", ".tgz", ".zip")


def is_archive(target: Path) -> bool:
    """Whether a target's name asks for an archive rather than a folder."""
    return target.name.lower().endswith(_ARCHIVES)


def write(target: Path, fill: Callable[[Path], None]) -> str:
    """Let `fill` write files into an empty folder, add their checksums, and make them `target` in one step.

    A name that ends in .tar.gz, .tgz or .zip makes an archive. What was begun and killed stays beside the target under
    a hidden name, and goes with the next attempt. Returns the sha256 of the checksum file, which stands for all of it.
    Raises UsageError where the target is there already.
    """
    if target.exists() or target.is_symlink():
        raise UsageError(f"{target} is there already", hint="-o names another place, or remove it first")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}", hint="make it first, or name another place with -o")
    part = target.with_name(f".{target.name}.part")
    packed = target.with_name(f".{target.name}.part-file")
    _remove(part)
    _remove(packed)
    try:
        part.mkdir()
        fill(part)
        sums.write(part)
        digest = sums.of_file(part / sums.NAME)
        if is_archive(target):
            (_zip if target.name.lower().endswith(".zip") else _tar)(part, packed)
            _sync(packed)
            packed.rename(target)
        else:
            for name in [*sums.names(part), sums.NAME]:
                _sync(part / name)
            part.rename(target)
        return digest
    finally:
        _remove(part)
        _remove(packed)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _contents(folder: Path) -> list[str]:
    return sorted([*sums.names(folder), sums.NAME])


def _tar(folder: Path, target: Path) -> None:
    with (
        target.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in _contents(folder):
            member = tarfile.TarInfo(name)
            member.size = (folder / name).stat().st_size
            member.mode = 0o644
            with (folder / name).open("rb") as file:
                archive.addfile(member, file)


def _zip(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        for name in _contents(folder):
            member = zipfile.ZipInfo(name, _ZIP_EPOCH)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3
            member.external_attr = (stat.S_IFREG | 0o644) << 16
            member.file_size = (folder / name).stat().st_size  # so that a large one gets its zip64 field
            with (folder / name).open("rb") as file, archive.open(member, "w") as entry:
                shutil.copyfileobj(file, entry, _BLOCK)
