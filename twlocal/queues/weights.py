"""Giving back the room of weights that a queue fetched itself, and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from twlocal import hub_models


def reclaim(repository: str, revision: str, files: Sequence[str]) -> int:
    """Take these files of one commit out of the Hub's cache; returns how many bytes that freed.

    A content that another commit in the cache also has stays there.
    """
    folder = hub_models.cache_folder() / f"models--{repository.replace('/', '--')}"
    snapshot = folder / "snapshots" / revision
    contents = set()
    for name in files:
        path = snapshot / name
        if path.is_symlink() or path.exists():
            contents.add(path.resolve())
            path.unlink()
    freed = 0
    still = {path.resolve() for path in (folder / "snapshots").rglob("*") if path.is_symlink()}
    for content in contents - still:
        with suppress(OSError):
            size = content.stat().st_size if content.exists() else 0
            content.unlink(missing_ok=True)
            freed += size
    for place in sorted((path for path in snapshot.rglob("*") if path.is_dir()), reverse=True):
        with suppress(OSError):
            place.rmdir()
    _forget(folder, snapshot)
    return freed


def _forget(folder: Path, snapshot: Path) -> None:
    """Without its last file the commit is not in the cache any more, and neither is a name for it."""
    with suppress(OSError):
        snapshot.rmdir()
        for ref in (folder / "refs").rglob("*"):
            if ref.is_file() and ref.read_text(encoding="utf-8").strip() == snapshot.name:
                ref.unlink()
