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


def test_a_link_to_a_file_of_the_persons_own_goes_alone(cache: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.safetensors"
    mine.write_bytes(b"precious")
    link = cache / "snapshots" / "c1" / "model.safetensors"
    link.parent.mkdir(parents=True)
    link.symlink_to(mine)
    assert reclaim("own/name", "c1", ["model.safetensors", "../../../mine.safetensors"]) == 0
    assert mine.read_bytes() == b"precious" and not link.is_symlink()


def test_a_content_that_another_repository_shares_stays(cache: Path, tmp_path: Path) -> None:
    """As huggingface_hub keeps what came through Xet: a repository's content is a link into a store of all."""
    stored = tmp_path / "blobs" / "ab" / ("ab" * 32)
    stored.parent.mkdir(parents=True)
    stored.write_bytes(b"x" * 100)
    for folder in (cache, tmp_path / "models--other--name"):
        (folder / "blobs").mkdir(parents=True)
        (folder / "blobs" / "e").symlink_to(stored)
        (folder / "snapshots" / "c1").mkdir(parents=True)
        (folder / "snapshots" / "c1" / "m.safetensors").symlink_to(Path("../../blobs/e"))
    assert reclaim("own/name", "c1", ["m.safetensors"]) == 0
    assert not (cache / "blobs" / "e").is_symlink()
    assert (tmp_path / "models--other--name" / "snapshots" / "c1" / "m.safetensors").read_bytes() == b"x" * 100
