"""Giving back the room of weights that a queue fetched itself, and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from twlocal import hub_models


def reclaim(repository: str, revision: str, files: Sequence[str]) -> int:
    """Take these files of one commit out of the Hub's cache; returns how many bytes that freed.

    A content that another commit in the cache also has stays there, and so does whatever lies outside of the
    repository's own folder, also where a link leads to it.
    """
    folder = hub_models.cache_folder() / f"models--{repository.replace('/', '--')}"
    snapshot, blobs = folder / "snapshots" / revision, folder / "blobs"
    contents, freed = set(), 0
    for path in (snapshot / name for name in files if hub_models.is_inside(name)):
        if path.is_symlink():
            contents.add(_target(path))
            path.unlink()
        elif path.is_file():
            freed += path.stat().st_size
            path.unlink()
    still = {_target(path) for path in (folder / "snapshots").rglob("*") if path.is_symlink()}
    for content in contents - still:
        if content.parent == blobs.resolve():
            with suppress(OSError):
                freed += _take(content)
    for place in sorted((path for path in snapshot.rglob("*") if path.is_dir()), reverse=True):
        with suppress(OSError):
            place.rmdir()
    _forget(folder, snapshot)
    return freed


def _target(link: Path) -> Path:
    """Where a link leads, by one step: what stands there may be a link itself, to what repositories share."""
    place = link.parent / link.readlink()
    return place.parent.resolve() / place.name


def _take(content: Path) -> int:
    """Remove a content; returns the bytes freed. One that repositories share goes with the last of them."""
    if not content.is_symlink():
        size = content.stat().st_size
        content.unlink()
        return size
    shared = _target(content)
    content.unlink()
    try:
        from huggingface_hub.utils._shared_blobs import sweep_shared_blob
    except ImportError:  # a release without such a store
        return 0
    freed: int = sweep_shared_blob(shared, cache_dir=hub_models.cache_folder())
    return freed


def _forget(folder: Path, snapshot: Path) -> None:
    """Without its last file the commit is not in the cache any more, and neither is a name for it."""
    with suppress(OSError):
        snapshot.rmdir()
        for ref in (folder / "refs").rglob("*"):
            if ref.is_file() and ref.read_text(encoding="utf-8").strip() == snapshot.name:
                ref.unlink()
