"""What MODEL names, and how a local file is known again."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from twlocal import models
from twlocal.errors import EngineMissing, ModelError


def test_a_server() -> None:
    model = models.resolve("http://user:pass@localhost:8000/v1#gemma")
    assert model.backend == "http"
    assert model.source == "http://user:pass@localhost:8000/v1#gemma"
    assert model.id == "http://localhost:8000/v1#gemma", "credentials are never part of a name"
    assert models.fingerprint(model.weights) == ""


@pytest.mark.parametrize("url", ["ftp://host/v1", "http://", "file:///m.gguf"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ModelError, match="not the address of a server"):
        models.resolve(url)


def test_a_gguf_file_and_a_folder_that_holds_one(tmp_path: Path) -> None:
    file = tmp_path / "模型-Q4_K_M.gguf"
    file.write_bytes(b"GGUF")
    for named in (file, tmp_path):
        model = models.resolve(str(named))
        assert (model.id, model.backend, model.weights) == ("模型-Q4_K_M", "llama_cpp", (file,))
        assert str(tmp_path) not in model.id


def test_a_split_file_is_one_model(tmp_path: Path) -> None:
    parts = [tmp_path / f"m-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    for part in parts:
        part.write_bytes(part.name.encode())
    model = models.resolve(str(tmp_path))
    assert (model.id, model.weights) == ("m", tuple(parts))
    before = models.fingerprint(model.weights)
    parts[2].write_bytes(b"changed")
    assert models.fingerprint(model.weights) != before
    parts[1].unlink()
    with pytest.raises(ModelError, match="m-00002-of-00003"):
        models.resolve(str(parts[0]))


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (["a.gguf", "b.gguf"], "2 GGUF files"),
        (["config.json", "model.safetensors"], "without a GGUF"),
        (["readme.md"], "holds no model"),
    ],
)
def test_a_folder_without_one_model(tmp_path: Path, files: list[str], says: str) -> None:
    for name in files:
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(ModelError, match=says) as caught:
        models.resolve(str(tmp_path))
    assert caught.value.hint


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "right.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelError, match="no file") as caught:
        models.resolve(str(tmp_path / "wrong.gguf"))
    assert "right.gguf" in caught.value.hint


@pytest.mark.parametrize("name", ["gemma 3", "a/b/c", "model:latest"])
def test_a_name_that_means_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="names no model"):
        models.resolve(name)


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"x")
    with pytest.raises(ModelError, match="not a GGUF file"):
        models.resolve(str(file))


def test_the_demo_model_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    with pytest.raises(EngineMissing) as caught:
        models.resolve("smollm2-135m")
    assert "twlocal[demo]" in caught.value.hint


def test_a_fingerprint_is_of_content_and_is_remembered(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(b"weights" * 1000)
    kept: dict[tuple[str, int, int], str] = {}
    read: list[int] = []

    def fingerprint() -> str:
        return models.fingerprint(
            (file,),
            known=lambda *place: kept.get(place),
            remember=lambda path, size, modified, digest: kept.update({(path, size, modified): digest}),
            progress=read.append,
        )

    first = fingerprint()
    assert kept.popitem()[1] == hashlib.sha256(b"weights" * 1000).hexdigest()
    assert fingerprint() == first
    assert sum(read) == 14000
    assert fingerprint() == first
    assert sum(read) == 14000, "the second time it was remembered"
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(b"weights" * 1000)
    assert models.fingerprint((copy,)) == first, "where it lies does not matter"
    file.write_bytes(b"Weights" * 1000)
    assert fingerprint() != first
    # Another file of the same size, with the same time on it, is moved into its place.
    stat, swapped = file.stat(), tmp_path / "swapped.gguf"
    last = fingerprint()
    swapped.write_bytes(b"weightS" * 1000)
    os.utime(swapped, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    swapped.replace(file)
    assert fingerprint() != last


def checkpoint(folder: Path, *more: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in ("config.json", "model-00001-of-00002.safetensors", "tokenizer.json", "chat_template.jinja", *more):
        (folder / name).write_bytes(name.encode())
    return folder


def test_a_named_engine_decides_between_the_gguf_file_and_the_checkpoint(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "小模型", "README.md", "pytorch_model.bin", "m.gguf")
    model = models.resolve(str(folder), backend="mlx")
    assert (model.id, model.source, model.backend) == ("小模型", str(folder), "mlx")
    names = ["chat_template.jinja", "config.json", "model-00001-of-00002.safetensors", "tokenizer.json"]
    assert [file.name for file in model.weights] == names, "all that may change an answer, and nothing else"
    before = models.fingerprint(model.weights)
    (folder / "chat_template.jinja").write_text("another", encoding="utf-8")
    assert models.fingerprint(models.resolve(str(folder), backend="mlx").weights) != before
    assert models.resolve(str(folder)).weights == (folder / "m.gguf",)
    assert not models.is_bare_checkpoint(folder)
    (folder / "m.gguf").unlink()
    assert models.is_bare_checkpoint(folder)
    with pytest.raises(ModelError, match="without a GGUF"):
        models.resolve(str(folder), backend="llama_cpp")


@pytest.mark.parametrize(
    ("named", "parts"),
    [
        ("T1", ("T1", None, None)),
        ("owner/name@v1:a/b.gguf", ("owner/name", "v1", "a/b.gguf")),
        ("owner/name:m.gguf", ("owner/name", None, "m.gguf")),
    ],
)
def test_a_name_in_its_parts(named: str, parts: tuple[str, str | None, str | None]) -> None:
    assert models.name_parts(named) == parts
