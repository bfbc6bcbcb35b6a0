"""What a queue fetched is given back, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from twlocal import hub_models
from twlocal.queues.weights import reclaim


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(hub_models, "cache_folder", lambda: tmp_path)
    return tmp_path / "models--own--name"


def put(cache: Path, commit: str, name: str, content: bytes) -> Path:
    """A file as the Hub's library keeps it: a content, and a link to it from its commit."""
    blob = cache / "blobs" / str(hash(content))
    blob.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(content)
    link = cache / "snapshots" / commit / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(blob)
    return blob


def test_files_go_with_their_contents(cache: Path) -> None:
    blob = put(cache, "c1", "model.safetensors", b"x" * 100)
    deep = put(cache, "c1", "sub/more.gguf", b"y" * 10)
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text("c1", encoding="utf-8")
    assert reclaim("own/name", "c1", ["model.safetensors", "sub/more.gguf"]) == 110
    assert not blob.exists() and not deep.exists()
    assert not (cache / "snapshots" / "c1").exists() and not (cache / "refs" / "main").exists()


def test_what_was_there_before_stays(cache: Path) -> None:
    mine = put(cache, "c1", "config.json", b"{}")
    shared = put(cache, "c1", "model.safetensors", b"x" * 100)
    put(cache, "c0", "model.safetensors", b"x" * 100)
    assert reclaim("own/name", "c1", ["model.safetensors"]) == 0, "an older commit has the same content"
    assert shared.exists() and mine.exists()
    assert (cache / "snapshots" / "c1" / "config.json").exists()
    assert not (cache / "snapshots" / "c1" / "model.safetensors").exists()


def test_what_is_gone_already_is_no_fault(cache: Path) -> None:
    assert reclaim("own/name", "c1", ["model.safetensors"]) == 0
