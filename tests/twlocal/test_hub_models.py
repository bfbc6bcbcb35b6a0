"""Fetching models from a local Hub through the real client: what is looked at first, and going on after a cut."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from twlocal import hub_models
from twlocal.errors import EngineMissing, ModelError

LARGE = b"".join(number.to_bytes(4, "big") for number in range(300_000))  # 1.2 MB, no two parts of it alike
CONFIG = json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama"}).encode()
CHECKPOINT = {
    "config.json": CONFIG,
    "model.safetensors": LARGE,
    "tokenizer.json": b"{}",
    "README.md": b"# card",
    "pytorch_model.bin": b"pickle",
    "original/params.json": b"{}",
}


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_models, "_LARGE", 100_000)


def test_looking_fetches_no_weights(model_hub: Any) -> None:
    model_hub.repos["own/name"] = dict(CHECKPOINT)
    held = hub_models.look("own/name", None, None)
    assert held.commit.startswith("1234567890")
    assert held.config == json.loads(CONFIG)
    assert held.bytes_of(held.weights) == len(LARGE)
    assert held.checkpoint == ["config.json", "model.safetensors", "tokenizer.json"]
    assert model_hub.fetched() == ["config.json"]


def test_a_fetch_takes_what_is_safe_and_nothing_twice(model_hub: Any) -> None:
    model_hub.repos["own/name"] = dict(CHECKPOINT)
    held = hub_models.look("own/name", None, None)
    assert hub_models.absent(held, held.checkpoint) == ["model.safetensors", "tokenizer.json"]
    told: list[str] = []
    place = hub_models.fetch(held, held.checkpoint, None, told.append)
    assert sorted(file.name for file in place.iterdir()) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert (place / "model.safetensors").read_bytes() == LARGE
    assert told == ["fetching own/name: 0.0 GiB in 2 files"]
    assert hub_models.absent(held, held.checkpoint) == []
    before = len(model_hub.fetched())
    assert hub_models.fetch(held, held.checkpoint, None) == place
    assert len(model_hub.fetched()) == before


def test_a_fetch_goes_on_where_another_process_left_it(model_hub: Any, tmp_path: Path) -> None:
    model_hub.repos["own/name"] = dict(CHECKPOINT)
    held = hub_models.look("own/name", None, None)
    digest = hashlib.sha256(LARGE).hexdigest()
    blobs = tmp_path / "hf" / "hub" / "models--own--name" / "blobs"
    blobs.mkdir(parents=True, exist_ok=True)
    (blobs / f"{digest}.twlocal.incomplete").write_bytes(LARGE[:700_000])
    place = hub_models.fetch(held, held.checkpoint, None)
    assert (place / "model.safetensors").read_bytes() == LARGE
    ranges = [asked[2] for asked in model_hub.asked if asked[0] == "GET" and asked[1].endswith("model.safetensors")]
    assert ranges == ["bytes=700000-"]
    assert not list(blobs.glob("*.incomplete"))


def test_how_far_a_fetch_is(model_hub: Any, tmp_path: Path) -> None:
    model_hub.repos["own/name"] = dict(CHECKPOINT)
    held = hub_models.look("own/name", None, None)
    begun = hub_models.here_bytes(held, held.checkpoint)
    assert begun == len(CONFIG)
    blobs = tmp_path / "hf" / "hub" / "models--own--name" / "blobs"
    (blobs / "abc.twlocal.incomplete").write_bytes(b"x" * 500)
    assert hub_models.here_bytes(held, held.checkpoint) == begun + 500
    (blobs / "abc.twlocal.incomplete").unlink()
    hub_models.fetch(held, held.checkpoint, None)
    assert hub_models.here_bytes(held, held.checkpoint) == held.bytes_of(held.checkpoint)


def test_two_halves_that_do_not_fit_are_told_and_thrown_away(model_hub: Any, tmp_path: Path) -> None:
    model_hub.repos["own/name"] = dict(CHECKPOINT)
    held = hub_models.look("own/name", None, None)
    digest = hashlib.sha256(LARGE).hexdigest()
    blobs = tmp_path / "hf" / "hub" / "models--own--name" / "blobs"
    blobs.mkdir(parents=True, exist_ok=True)
    (blobs / f"{digest}.twlocal.incomplete").write_bytes(b"x" * 700_000)
    with pytest.raises(ModelError, match="does not fit together"):
        hub_models.fetch(held, held.checkpoint, None)
    place = hub_models.fetch(held, held.checkpoint, None)
    assert (place / "model.safetensors").read_bytes() == LARGE


def test_a_connection_that_breaks_is_taken_up_again(model_hub: Any) -> None:
    model_hub.repos["own/name"] = dict(CHECKPOINT)
    held = hub_models.look("own/name", None, None)
    model_hub.cut = 400_000
    place = hub_models.fetch(held, held.checkpoint, None)
    assert (place / "model.safetensors").read_bytes() == LARGE
    assert model_hub.fetched().count("model.safetensors") == 2


def test_a_gate_is_met_before_the_weights(model_hub: Any) -> None:
    model_hub.repos |= {"own/name": dict(CHECKPOINT), "own/ggufs": {"m.gguf": LARGE}}
    model_hub.gated |= {"own/name", "own/ggufs"}
    for repo in ("own/name", "own/ggufs"):
        with pytest.raises(ModelError, match="is gated") as caught:
            hub_models.look(repo, None, None)
        assert f"https://huggingface.co/{repo}" in caught.value.hint
        assert hub_models.look(repo, None, "hf_right").gated is True
    assert "m.gguf" not in model_hub.fetched() and "model.safetensors" not in model_hub.fetched()


@pytest.mark.parametrize(("repo", "revision"), [("own/other", None), ("own/name", "v9")])
def test_what_is_not_there(model_hub: Any, repo: str, revision: str | None) -> None:
    model_hub.repos["own/name"] = dict(CHECKPOINT)
    with pytest.raises(ModelError, match=f"the Hub has no {repo}@"):
        hub_models.look(repo, revision, None)


def test_weights_that_may_run_code_are_refused(model_hub: Any) -> None:
    model_hub.repos["own/name"] = {"config.json": CONFIG, "pytorch_model.bin": b"pickle"}
    with pytest.raises(ModelError, match="can run code when they are loaded"):
        _ = hub_models.look("own/name", None, None).checkpoint


def test_without_the_network_what_was_fetched_is_used(model_hub: Any) -> None:
    model_hub.repos["own/name"] = dict(CHECKPOINT)
    held = hub_models.look("own/name", None, None)
    place = hub_models.fetch(held, held.checkpoint, None)
    model_hub.down = True
    for revision in (None, held.commit):
        again = hub_models.look("own/name", revision, None)
        assert (again.offline, again.commit) == (True, held.commit)
        assert hub_models.absent(again, again.checkpoint) == []
        assert hub_models.fetch(again, again.checkpoint, None) == place
    (place / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="neither a local path nor reachable"):
        hub_models.look("own/name", None, None)


@pytest.mark.parametrize(
    "name", ["../../../../evil.gguf", "/tmp/evil.gguf", "a//b.gguf", "a\\\\..\\\\b.gguf", "a\x1b.gguf"]
)
def test_a_name_that_leads_elsewhere_is_no_file(model_hub: Any, name: str) -> None:
    model_hub.repos["own/name"] = {name: LARGE, "good.gguf": LARGE}
    assert hub_models.look("own/name", None, None).ggufs == ["good.gguf"]


def lie(hub: Any, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]) -> None:
    """The Hub says other things of large files than are so."""
    honest = hub.content

    def content(handler: Any, data: bytes) -> None:
        if data is not LARGE:
            return honest(handler, data)
        hub.send(handler, 200, data, {"X-Repo-Commit": "1234567890abcdef1234567890abcdef12345678", **headers})
        return None

    monkeypatch.setattr(hub, "content", content)


@pytest.mark.parametrize(
    ("headers", "says"),
    [
        ({"ETag": f'"{"0" * 64}"'}, "is not what the Hub has"),
        ({"ETag": f'"{"0" * 64}"', "X-Linked-Size": "1200007"}, "another length than announced"),
        ({"ETag": f'"{"0" * 64}"', "X-Linked-Size": "1199993"}, "another length than announced"),
        ({"ETag": '"../../../../../evil"'}, "leads out of the cache"),
    ],
)
def test_a_file_that_is_not_what_it_is_said_to_be(
    model_hub: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, headers: dict[str, str], says: str
) -> None:
    model_hub.repos["own/name"] = dict(CHECKPOINT)
    held = hub_models.look("own/name", None, None)
    lie(model_hub, monkeypatch, headers)
    with pytest.raises(ModelError, match=says):
        hub_models.fetch(held, held.checkpoint, None)
    assert not list(tmp_path.rglob("evil*")) and "model.safetensors" in hub_models.absent(held, held.checkpoint)
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("status", "body", "says", "hint"),
    [
        (200, b"<html>please log in</html>", "is not the Hub", "HF_ENDPOINT"),
        (200, b"[]", "is not the Hub", "HF_ENDPOINT"),
        (200, b'{"id": "own/name", "siblings": "x"}', "is not the Hub", "HF_ENDPOINT"),
        (401, b"", "HTTP status 401", "expired"),
        (403, b"", "HTTP status 403", "HF_TOKEN"),
        (429, b"", "HTTP status 429", "wait"),
        (418, b"", "HTTP status 418", "network"),
    ],
)
def test_what_answers_is_told(
    model_hub: Any, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, says: str, hint: str
) -> None:
    monkeypatch.setattr(model_hub, "answer", lambda handler: model_hub.send(handler, status, body))
    with pytest.raises(ModelError, match=says) as caught:
        hub_models.look("own/name", None, "hf_right")
    assert hint in caught.value.hint and "hf_right" not in str(caught.value)


def test_a_size_that_is_none(model_hub: Any) -> None:
    model_hub.repos["own/name"] = dict(CHECKPOINT)
    model_hub.sizes["model.safetensors"] = "big"
    assert hub_models.look("own/name", None, None).bytes_of(["model.safetensors"]) is None


def test_a_link_in_the_place_of_a_half_file_is_not_followed(model_hub: Any, tmp_path: Path) -> None:
    model_hub.repos["own/name"] = dict(CHECKPOINT)
    held = hub_models.look("own/name", None, None)
    mine = tmp_path / "mine"
    mine.write_bytes(b"precious")
    blobs = tmp_path / "hf" / "hub" / "models--own--name" / "blobs"
    (blobs / f"{hashlib.sha256(LARGE).hexdigest()}.twlocal.incomplete").symlink_to(mine)
    place = hub_models.fetch(held, held.checkpoint, None)
    assert (place / "model.safetensors").read_bytes() == LARGE
    assert mine.read_bytes() == b"precious"


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_models, "find_spec", lambda name: None)
    with pytest.raises(EngineMissing) as caught:
        hub_models.look("own/name", None, None)
    assert "twlocal[hub]" in caught.value.hint


@pytest.mark.parametrize(
    ("names", "file", "chosen"),
    [
        (["m.gguf"], None, ["m.gguf"]),
        (["a.gguf", "b.gguf"], "b.gguf", ["b.gguf"]),
        (["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"], None, ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"]),
    ],
)
def test_choosing_among_a_repositorys_files(names: list[str], file: str | None, chosen: list[str]) -> None:
    assert hub_models.choose_gguf("owner/name", names, file) == chosen


@pytest.mark.parametrize(
    ("names", "file", "says"),
    [
        ([], None, "no GGUF file"),
        (["a.gguf"], "b.gguf", "no file b.gguf"),
        (["a.gguf", "b.gguf"], None, "2 GGUF files"),
    ],
)
def test_a_repository_that_leaves_no_choice_or_too_much(names: list[str], file: str | None, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        hub_models.choose_gguf("owner/name", names, file)
