"""The embedded engine's parts by themselves: sampling, settings, cores, bindings, files."""

import ctypes
import gc
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy")
import numpy as np

from twlocal.backends.llama_cpp import cores, gguf, grammar, library
from twlocal.backends.llama_cpp.engine import _layers
from twlocal.backends.llama_cpp.sampling import greedy, sampler
from twlocal.backends.llama_cpp.settings import parse
from twlocal.errors import EngineMissing, ModelError, UsageError


def test_greedy_takes_the_lowest_of_equals():
    assert greedy(np.array([0.0, 2.0, 2.0, 1.0], dtype=np.float32)) == 1
    assert sampler(0.0, 0.5, seed=1, key="k") is greedy


def test_sampling_repeats_by_key_and_seed_and_stays_in_the_nucleus():
    logits = np.log(np.array([0.5, 0.3, 0.15, 0.05], dtype=np.float32))

    def draw(seed, key, top_p=0.75, n=300):
        pick = sampler(1.0, top_p, seed=seed, key=key)
        return [pick(logits) for _ in range(n)]

    assert draw(1, "a") == draw(1, "a")
    assert draw(1, "a") != draw(1, "b")
    assert draw(1, "a") != draw(2, "a")
    assert set(draw(1, "a")) == {0, 1}
    assert set(draw(1, "a", top_p=1.0)) == {0, 1, 2, 3}
    assert set(draw(1, "a", top_p=0.01)) == {0}
    share = draw(3, "c", top_p=1.0, n=4000).count(0) / 4000
    assert 0.46 < share < 0.54


# -- answers held to a schema ------------------------------------------------------------------------------------------


class TokenData(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int32), ("logit", ctypes.c_float), ("p", ctypes.c_float)]


class TokenDataArray(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.POINTER(TokenData)),
        ("size", ctypes.c_size_t),
        ("selected", ctypes.c_int64),
        ("sorted", ctypes.c_bool),
    ]


class Grammar:
    """Stands for llama.cpp's grammars: takes the tokens of `texts`, one after the other, and then only `end`."""

    def __init__(self, *allowed):
        self.allowed, self.at, self.looks, self.freed = allowed, 0, [], []

    llama_token_data, llama_token_data_array = TokenData, TokenDataArray

    def llama_sampler_init_grammar(self, vocab, grammar, root):
        assert (vocab, root) == ("vocab", b"root")
        return None if grammar == b"broken" else 7

    def llama_sampler_apply(self, handle, array):
        data = array._obj
        self.looks.append(data.size)
        for place in range(data.size):
            if data.data[place].id not in self.allowed[self.at]:
                data.data[place].logit = -float("inf")

    def llama_sampler_accept(self, handle, token):
        assert token in self.allowed[self.at]
        self.at += 1

    def llama_sampler_free(self, handle):
        self.freed.append(handle)


def test_a_held_answer_takes_its_own_choice_where_the_grammar_does():
    api = Grammar({2}, {0, 3}, {1})
    held = grammar.Held(api, "vocab", "root ::= x", greedy)
    logits = np.array([0.5, 0.1, 9.0, 0.4], dtype=np.float32)
    assert [held(logits), held(logits), held(logits)] == [2, 0, 1]
    assert api.looks == [1, 1, 4, 1, 4], "the whole vocabulary is looked through only where it must be"
    assert logits[2] == 9, "the model's own logits are left alone"
    assert not api.freed
    del held
    gc.collect()
    assert api.freed == [7], "llama.cpp's memory goes with the answer"


def test_a_grammar_that_llama_cpp_refuses_is_told():
    with pytest.raises(UsageError, match="json_schema"):
        grammar.Held(Grammar(), "vocab", "broken", greedy)
    pytest.importorskip("llama_cpp")
    with pytest.raises(UsageError, match="json_schema"):
        grammar.of_schema({"type": "no such type"})


def test_the_members_of_a_schema_keep_their_order():
    schema = {"type": "object", "required": ["z", "a"], "properties": {"z": {"type": "boolean"}, "a": {"const": 1}}}
    assert (
        parse({"json_schema": json.dumps(schema)}).json_schema == schema == parse({"json_schema": schema}).json_schema
    )
    pytest.importorskip("llama_cpp")
    (root,) = [line for line in grammar.of_schema(schema).splitlines() if line.startswith("root ::=")]
    assert root.index("z-kv") < root.index("a-kv")


# -- settings, cores, library, files -----------------------------------------------------------------------------------


def test_settings_are_read_from_numbers_and_text(tmp_path):
    file = tmp_path / "chat.jinja"
    file.write_text("{{ messages }}", encoding="utf-8")
    read = parse({"slots": "4", "gpu_layers": -1, "repack": "false", "chat_template": str(file), "context": None})
    assert (read.slots, read.gpu_layers, read.repack, read.chat_template) == (4, -1, False, "{{ messages }}")
    assert read.context is None


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"slots": 0}, "slots"),
        ({"threads": "many"}, "threads"),
        ({"context": 1.5}, "context"),
        ({"gpu_layers": True}, "gpu_layers"),
        ({"repack": "perhaps"}, "repack"),
        ({"chat_template": "nowhere.jinja"}, "nowhere.jinja"),
        ({"template_day": "today"}, "template_day"),
        ({"template_variables": "x"}, "template_variables"),
        ({"json_schema": "x"}, "json_schema"),
        ({"bogus": 1}, "bogus"),
    ],
)
def test_a_wrong_setting_is_named(settings, named):
    with pytest.raises(UsageError, match=named):
        parse(settings)


@pytest.mark.parametrize(
    ("siblings", "quota", "threads"),
    [
        (["0", "1"], "max 100000", 2),
        (["0,4", "1,5", "0,4", "1,5"], "", 2),
        (["0", "1", "2", "3"], "150000 100000", 2),
        (["0", "1", "2", "3"], "50000 100000", 1),
        ([], "", 1),
    ],
)
def test_threads_are_the_cores_that_are_ours(siblings, quota, threads):
    assert cores.thread_count(siblings, quota) == threads
    assert cores.available() >= 1


def test_bindings_that_lack_something_are_one_error_with_their_version():
    class Old:
        llama_decode = llama_batch = None

    with pytest.raises(EngineMissing, match=r"0\.2\.1 has no llama_") as caught:
        library.check(Old, "0.2.1")
    assert "twlocal[llama-cpp]" in caught.value.hint


def test_a_missing_package_is_one_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(EngineMissing, match="llama-cpp-python"):
        library.load()


def test_the_log_keeps_the_last_errors():
    log = library.Log(lines=2)
    for level, text in ((2, b"info"), (4, b"one\n"), (4, b"two\n"), (4, b"\n"), (4, "三\n".encode())):
        log.write(level, text)
    assert log.errors() == "two; 三"
    log.clear()
    assert log.errors() == ""


def test_files_that_cannot_be_a_model_are_refused_before_loading(tmp_path):
    with pytest.raises(ModelError, match="there is no file"):
        gguf.parts(str(tmp_path / "none.gguf"))
    with pytest.raises(ModelError, match="is a folder"):
        gguf.parts(str(tmp_path))
    (tmp_path / "page.gguf").write_text("<html>", encoding="utf-8")
    with pytest.raises(ModelError, match="not a GGUF file"):
        gguf.parts(str(tmp_path / "page.gguf"))


def test_a_split_model_needs_its_first_part_and_all_others(tmp_path):
    first, second = (tmp_path / f"m-0000{n}-of-00002.gguf" for n in (1, 2))
    first.write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"there is no file .*00002-of-00002"):
        gguf.parts(str(first))
    second.write_bytes(b"GGUF")
    assert gguf.parts(str(first)) == [first, second]
    with pytest.raises(ModelError) as caught:
        gguf.parts(str(second))
    assert "m-00001-of-00002.gguf" in caught.value.hint


@pytest.mark.parametrize(
    ("wanted", "able", "got"),
    [
        (None, True, (True, -1)),
        (None, False, (False, 0)),
        (-1, True, (True, -1)),
        (-1, False, (False, 0)),
        (0, True, (False, 0)),
        (20, True, (True, 20)),
    ],
)
def test_layers_on_a_card(wanted, able, got):
    assert _layers(wanted, able=able) == got


def test_layers_that_a_build_without_cards_would_pass_over_are_refused():
    with pytest.raises(UsageError, match="computes on the CPU alone") as caught:
        _layers(20, able=False)
    assert "GGML_CUDA" in caught.value.hint


@pytest.mark.parametrize(
    ("errors", "told", "way"),
    [
        ("cudaMalloc failed: out of memory; unable to allocate CUDA0 buffer", "no memory for m.gguf", "gpu_layers"),
        ("mmap failed: Cannot allocate memory", "no memory for m.gguf", "smaller model"),
        ("tensor 'a' data is not within the file bounds", "damaged or incomplete", "fetch the file again"),
        ("unknown model architecture: 'mamba9'", "does not know the architecture 'mamba9'", "--upgrade"),
        ("", "it gives no reason", "--upgrade"),
    ],
)
def test_why_a_file_was_not_loaded(errors, told, way):
    error = gguf.refusal(Path("m.gguf"), errors, "0.3.36")
    assert told in error.message
    assert way in error.hint


def test_only_floats_of_16_bits_or_more_are_not_quantised():
    assert gguf.is_quantised(1, {"f16": 9, "f32": 3}) is False
    assert gguf.is_quantised(32, {"bf16": 9, "f32": 3}) is False
    assert gguf.is_quantised(1, {"f16": 9, "q6_K": 1}) is True
    assert gguf.is_quantised(15, {}) is True
    assert gguf.is_quantised(32, {}) is False
    assert gguf.is_quantised(None, {}) is None
    assert gguf.is_quantised(1024 + 1, {}) is None
