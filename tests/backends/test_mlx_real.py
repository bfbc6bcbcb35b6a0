"""The MLX backend with the real mlx-lm and a real model: SmolLM2 (extra `demo`'s file) as a checkpoint's folder.

`make test-mlx` runs these in a virtual environment of their own: mlx-lm wants a newer transformers than other engines.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mlx_lm")
pytest.importorskip("gguf")

from twlocal import protocol
from twlocal.backend import TOO_LONG, Backend, Completion, Decoding, Message, Request
from twlocal.backends import mlx
from twlocal.chat import ChatTemplate
from twlocal.errors import ModelError
from twlocal.item import Item

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore")]
ROOT = Path(__file__).parents[2]
BUDGET = 12


@pytest.fixture
def load(smollm2: Path) -> Iterator[Callable[..., Backend]]:
    opened: list[Backend] = []

    def make(temperature: float = 0.0, **settings: Any) -> Backend:
        opened.append(mlx.open(str(smollm2), Decoding(temperature=temperature, max_tokens=BUDGET), settings))
        return opened[-1]

    yield make
    for backend in opened:
        backend.close()


def requests(count: int, budget: int = BUDGET) -> list[Request]:
    # No example of an answer: it would be copied, and equal texts would prove nothing.
    opening = (Message("system", "You are a careful teacher. 請先說明理由，再選出正確的答案。"),)
    made = []
    for n in range(count):
        more = "請仔細計算，並選出正確的答案。" * (4 if n == 3 else n % 3)
        question = f"題目：{n} 加 {n + 1} 等於多少？{more}\nA. {n}\nB. {2 * n + 1}\nC. {3 * n + 7}\nD. {n + 100}"
        made.append(Request(str(n), (*opening, Message("user", question)), budget))
    return made


def by_key(done: list[Completion]) -> dict[str, Completion]:
    return {c.key: c for c in done}


def test_a_batch_answers_as_one_at_a_time_does_in_float32(load: Callable[..., Backend]) -> None:
    asked = requests(5)
    batched = by_key(list(load(slots=3).generate(asked)))
    alone = load(slots=1)
    single = by_key(list(alone.generate(asked[::-1])))
    texts = {key: c.text for key, c in batched.items()}
    assert len(set(texts.values())) > 3, "the items must be able to differ"
    assert texts == {key: c.text for key, c in single.items()}
    assert {key: c.completion_tokens for key, c in batched.items()} == {
        key: c.completion_tokens for key, c in single.items()
    }
    assert all(c.completion_tokens <= BUDGET and not c.error_kind for c in batched.values())
    info = alone.describe()
    assert (info.settings["dtype"], info.quantised, info.model["architecture"]) == ("float32", False, "llama")
    assert info.settings["prefix_tokens"] > 20


def test_a_shared_prefix_changes_no_answer(load: Callable[..., Backend]) -> None:
    """The same chats once with the opening computed once, once by mlx-lm's own batch_generate from whole prompts."""
    from mlx_lm import batch_generate

    backend = load(slots=4)
    asked = requests(3)
    ours = by_key(list(backend.generate(asked)))
    model = backend._model  # type: ignore[attr-defined]
    prompts = [backend._prompter.prompt(request).tokens for request in asked]  # type: ignore[attr-defined]
    theirs = batch_generate(model.network, model.tokenizer, prompts, max_tokens=BUDGET)
    assert [ours[r.key].text for r in asked] == theirs.texts


def test_the_same_item_gives_the_same_prompt_as_from_the_gguf_file(
    gguf_file: Path, load: Callable[..., Backend]
) -> None:
    """llama_cpp renders the GGUF's own template through twlocal.chat: the hash must be the same here."""
    from gguf import GGUFReader

    rules = protocol.load("box-2shot")
    item = Item("臺灣最高的山是哪一座？", ("玉山", "雪山", "合歡山", "阿里山"), "A")
    messages = tuple(rules.messages(item, rules.order(item)))
    (ours,) = load().generate([Request("k", messages, 1)])
    field = GGUFReader(gguf_file).fields["tokenizer.chat_template"]
    assert ours.prompt_hash == ChatTemplate(field.contents()).render(messages).sha256


def test_chance_depends_on_seed_and_key_alone(load: Callable[..., Backend]) -> None:
    asked = requests(2, budget=5)
    together = {c.key: c.text for c in load(temperature=1.0, slots=2, seed=5).generate(asked)}
    alone = {c.key: c.text for c in load(temperature=1.0, slots=1, seed=5).generate(asked[::-1])}
    other = {c.key: c.text for c in load(temperature=1.0, slots=2, seed=6).generate(asked)}
    assert together == alone
    assert together != other


def test_every_end_token_and_budget_of_a_real_model(load: Callable[..., Backend]) -> None:
    backend = load()
    short = Request("k", (Message("user", "Say only: yes"),), 30)
    (done,) = backend.generate([short])
    assert (done.finish, done.error_kind) == ("stop", "")
    assert "<|im_end|>" not in done.text
    (cut,) = backend.generate([Request("k", short.messages, 1)])
    assert (cut.finish, cut.completion_tokens) == ("length", 1)
    assert backend.describe().sent["end_tokens"] == [2]
    (long,) = backend.generate([Request("k", (Message("user", "很長的題目。" * 2000),), 256)])
    assert long.error_kind == TOO_LONG


def test_no_memory_is_lost_with_items(load: Callable[..., Backend]) -> None:
    if not Path("/proc/self/statm").exists():
        pytest.skip("needs /proc")
    backend = load(slots=2)
    asked = [Request(str(n), (Message("user", f"{n} + 1 ="),), 4) for n in range(2)]

    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")

    list(backend.generate(asked))
    before = resident()
    for _ in range(4):
        assert len(list(backend.generate(asked))) == 2
    assert resident() - before < 30 * 2**20


def test_damaged_folders_are_refused_with_a_way_out(smollm2: Path, tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((smollm2 / name).read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    with pytest.raises(ModelError, match="cannot load") as caught:
        mlx.open(str(tmp_path), Decoding(), {})
    assert caught.value.hint
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "model.safetensors").symlink_to(smollm2 / "model.safetensors")
    config = (tmp_path / "config.json").read_text(encoding="utf-8")
    (tmp_path / "config.json").write_text(config.replace('"llama"', '"xlama"'), encoding="utf-8")
    with pytest.raises(ModelError, match="'xlama'") as caught:
        mlx.open(str(tmp_path), Decoding(), {})
    assert "upgrade" in caught.value.hint


def test_a_whole_run(smollm2: Path, twlocal: Callable[..., Any]) -> None:
    asked = ("--bench", "demo", "--protocol", "box-2shot", "--limit", "2", "--max-tokens", "24")
    done = twlocal("run", smollm2, "--backend", "mlx", *asked, timeout=500)
    assert done.returncode == 0, done.stderr
    assert "n = 2" in done.stdout
    assert "mlx-lm 0.32" in done.stdout
