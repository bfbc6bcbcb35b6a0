"""The MLX backend over a fake mlx-lm whose tokens are bytes (tests/backends/fake_mlx)."""

from __future__ import annotations

import gc
import hashlib
import importlib
import json
import os
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from twlocal.backend import CUT, FINISH_LENGTH, FINISH_STOP, TOO_LONG, Decoding, Message, Request
from twlocal.backends import mlx
from twlocal.backends.mlx import library
from twlocal.errors import EngineMissing, ModelError, UsageError

FAKE = Path(__file__).parent / "fake_mlx"
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}"
    "{% if m['role'] == 'assistant' %}<end_of_turn>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
NO_SYSTEM = "{% for m in messages if m['role'] != 'system' %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}[assistant]"
BOS, EOS, TURN, RETURN, END = 256, 257, 258, 260, 261
BUDGET = 64


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The fake in the place of mlx and mlx-lm, whether or not the real ones are installed; its modules by name."""
    ours = [name for name in sys.modules if name.split(".")[0] in ("mlx", "mlx_lm")]
    for name in ours:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(FAKE))
    yield importlib.import_module
    for name in [name for name in sys.modules if name.split(".")[0] in ("mlx", "mlx_lm")]:
        del sys.modules[name]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Callable[..., Path]:
    """Makes a checkpoint's folder; `fake` says how the fake model behaves, the rest goes into config.json."""

    def make(fake: dict[str, Any] | None = None, *, generation: dict[str, Any] | None = None, **config: Any) -> Path:
        path = tmp_path / "小模型"
        path.mkdir(exist_ok=True)
        facts = {"template": TEMPLATE, **(fake or {})}
        (path / "fake.json").write_text(json.dumps(facts), encoding="utf-8")
        told = {"model_type": "bytes", "dtype": "bfloat16", "max_position_embeddings": 4096, **config}
        (path / "config.json").write_text(json.dumps(told), encoding="utf-8")
        (path / "model.safetensors").write_bytes(b"x" * 1000)
        if generation is not None:
            (path / "generation_config.json").write_text(json.dumps(generation), encoding="utf-8")
        return path

    return make


@pytest.fixture
def load(fake: Any, checkpoint: Callable[..., Path]) -> Callable[..., Any]:
    """A backend over the fake; `settings` are its settings, the rest is as with `checkpoint`."""

    def make(behaviour: dict[str, Any] | None = None, settings: dict[str, Any] | None = None, **more: Any) -> Any:
        return mlx.open(str(checkpoint(behaviour, **more)), Decoding(), settings or {})

    return make


def ask(key: str, text: str, budget: int = BUDGET, system: str = "看題。") -> Request:
    return Request(key, (Message("system", system), Message("user", text)), budget)


def batches(fake: Any) -> Any:
    return fake("mlx_lm.generate").made


# -- answers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slots", [1, 3, 16])
def test_an_answer_belongs_to_its_request_whatever_order_they_finish_in(load: Any, fake: Any, slots: int) -> None:
    """P2-5: outputs come back in another order than the prompts went in; the result is that of one at a time."""
    asked = {"Q1": "\\boxed{A} 因為", "Q2": "\\boxed{B}", "Q3": "\\boxed{C}，理由是很長的一句話"}
    done = list(load(settings={"slots": slots}).generate(ask(key, text) for key, text in asked.items()))
    assert {c.key: c.text for c in done} == asked
    assert batches(fake)[0].peak == min(slots, 3)
    if slots > 1:
        assert [c.key for c in done] != list(asked), "the fake must be able to mix them up"


def test_requests_are_pulled_only_as_slots_get_free(load: Any) -> None:
    pulled = done = 0

    def requests() -> Iterator[Request]:
        nonlocal pulled
        for number in range(20):
            pulled += 1
            yield ask(str(number), "y" * (1 + number % 5))

    for _ in load(settings={"slots": 3}).generate(requests()):
        done += 1
        assert pulled - done <= 3
    assert done == 20


def test_closing_the_iterator_stops_at_once_and_the_backend_goes_on(load: Any, fake: Any) -> None:
    backend = load(settings={"slots": 2})
    running = backend.generate(ask(str(n), "q" * (n + 1)) for n in range(10))
    next(running)
    (batch,) = batches(fake)
    steps = batch.steps
    running.close()
    assert (batch.steps, batch.active, batch.closed) == (steps, {}, True)
    assert [c.key for c in backend.generate([ask("later", "q")])] == ["later"]


def test_closing_gives_the_weights_back(load: Any, fake: Any) -> None:
    backend = load()
    list(backend.generate([ask("k", "q")]))
    network = weakref.ref(backend._model.network)
    backend.close()
    backend.close()
    batches(fake).clear()
    gc.collect()
    assert network() is None


def test_a_budget_is_kept_to_the_token(load: Any) -> None:
    backend = load({"reply": "abcdef"})
    got = {c.key: c for c in backend.generate([ask("six", "q", 6), ask("seven", "q", 7), ask("one", "q", 1)])}
    assert (got["six"].text, got["six"].finish, got["six"].completion_tokens) == ("abcdef", FINISH_LENGTH, 6)
    assert (got["seven"].text, got["seven"].finish, got["seven"].completion_tokens) == ("abcdef", FINISH_STOP, 7)
    assert (got["one"].text, got["one"].finish) == ("a", FINISH_LENGTH)


def test_an_answer_may_end_at_its_box(load: Any, fake: Any) -> None:
    """`stop_at_box`: answers end there, marked, and the place is free for the next; else nothing changes."""
    asked = {
        "one": "想\\boxed{}\\boxed{A} 因為",
        "two": "沒有答案}",
        "three": "\\boxed{C}，理由很長",
        "four": "\\boxed{D}",
    }
    requests = [ask(key, text) for key, text in asked.items()]
    done = {c.key: c for c in load(settings={"slots": 2, "stop_at_box": True}).generate(requests)}
    assert {key: c.text for key, c in done.items()} == {
        "one": "想\\boxed{}\\boxed{A}",
        "two": "沒有答案}",
        "three": "\\boxed{C}",
        "four": "\\boxed{D}",
    }
    assert {key: c.flags for key, c in done.items() if c.flags} == dict.fromkeys(
        ("one", "three", "four"), ("stopped_at_box",)
    )
    assert {c.finish for c in done.values()} == {FINISH_STOP}
    assert done["three"].completion_tokens == len("\\boxed{C}")
    plain = load(settings={"slots": 2})
    assert {c.key: c.text for c in plain.generate(requests)} == asked
    assert "stop_at_box" not in plain.describe().sent


def test_a_box_inside_a_thought_that_the_template_opened_ends_nothing(load: Any) -> None:
    template = TEMPLATE.replace("[assistant]", "[assistant]<think>")
    backend = load({"template": template}, settings={"stop_at_box": True})
    (done,) = backend.generate([ask("k", "\\boxed{A}？</think>\\boxed{B} 完")])
    assert done.text == "\\boxed{A}？</think>\\boxed{B}"
    assert backend.describe().sent["stop_at_box"] is True


def test_special_tokens_stay_out_of_the_text_but_for_those_that_readers_need(load: Any) -> None:
    (done,) = load({"reply": "想</think><|junk|>A"}).generate([ask("k", "q")])
    assert done.text == "想</think>A"


def test_output_that_is_not_a_number_is_no_answer(load: Any) -> None:
    (done,) = load({"not_a_number": True}).generate([ask("k", "q")])
    assert done.error_kind == CUT
    assert "not a number" in done.error


# -- prompts -----------------------------------------------------------------------------------------------------------


def test_what_prompts_share_is_computed_once_and_each_brings_only_its_own(load: Any, fake: Any) -> None:
    backend = load(settings={"slots": 2})
    list(backend.generate(ask(str(n), f"same beginning {n}") for n in range(5)))
    opening = len("[system]看題。[user]".encode()) + 1
    assert backend.describe().settings["prefix_tokens"] == opening
    assert [len(read) for read in backend._model.network.read] == [opening]
    assert [shared for shared, _ in batches(fake)[0].inserted] == [opening] * 5
    assert all(whole[0] == BOS for _, whole in batches(fake)[0].inserted)


def test_other_openings_get_a_prefix_of_their_own_and_old_ones_are_let_go(load: Any) -> None:
    backend = load(settings={"slots": 4})
    requests = [ask(f"{role}-{n}", f"{role}{n}", system=role * 3) for n in range(2) for role in "abcdef"]
    assert {c.key: c.text for c in backend.generate(requests)} == {r.key: r.messages[-1].content for r in requests}
    assert len(backend._prefixes._kept) == 4


def test_long_openings_are_read_in_steps(load: Any) -> None:
    backend = load()
    assert [c.text for c in backend.generate([ask("k", "q", system="x" * 1200)])] == ["q"]
    assert [len(read) for read in backend._model.network.read] == [512, 512, 1200 + 15 - 1024]


@pytest.mark.parametrize(
    "behaviour",
    [
        {"add_bos": True},
        {"always_bos": True},
        {"add_bos": True, "template": TEMPLATE.replace("{{ bos_token }}", "")},
        {"add_bos": True, "template": "{{ bos_token }}" + TEMPLATE},
    ],
    ids=["template and tokenizer", "a tokenizer that cannot help it", "tokenizer alone", "template twice"],
)
def test_the_begin_token_stands_once(load: Any, fake: Any, behaviour: dict[str, Any]) -> None:
    """P9-2: a template that writes the begin token, and a tokenizer that adds one."""
    list(load(behaviour).generate([ask("k", "題目")]))
    ((_, tokens),) = batches(fake)[0].inserted
    assert tokens[0] == BOS
    assert tokens.count(BOS) == 1


def test_what_cannot_fit_the_model_is_too_long_and_never_answered(load: Any) -> None:
    backend = load(max_position_embeddings=600)
    got = {c.key: c for c in backend.generate([ask("fits", "q"), ask("long", "x" * 600), ask("budget", "q", 590)])}
    assert got["fits"].text == "q"
    for key in ("long", "budget"):
        assert (got[key].error_kind, got[key].text, got[key].completion_tokens) == (TOO_LONG, "", None)
    assert "the model has 600" in got["long"].error
    backend = load(settings={"context": 100})
    (done,) = backend.generate([ask("k", "q", 90)])
    assert "the setting context allows 100" in done.error
    with pytest.raises(UsageError, match="trained for 4096"):
        load(settings={"context": 5000})


# -- where answers end -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ends_with", "more"),
    [
        (EOS, {}),
        (TURN, {}),
        (7, {"eos_token_id": [7, 8]}),
        (8, {"generation": {"eos_token_id": [EOS, 8]}}),
        (7, {"eos_token_id": 7, "generation": {"eos_token_id": 8}}),
    ],
    ids=["the tokenizer's", "the template's", "config.json's", "generation_config.json's", "both"],
)
def test_every_end_token_ends_an_answer(load: Any, ends_with: int, more: dict[str, Any]) -> None:
    (done,) = load({"reply": "A", "ends_with": ends_with}, **more).generate([ask("k", "q")])
    assert (done.text, done.finish, done.completion_tokens) == ("A", FINISH_STOP, 2)


def test_a_harmony_message_may_end_without_ending_the_answer(load: Any) -> None:
    template = TEMPLATE.replace("<end_of_turn>", "<|end|>")
    backend = load(
        {"template": template, "harmony": True, "reply": "想<|end|>A", "ends_with": RETURN}, eos_token_id=RETURN
    )
    (done,) = backend.generate([ask("k", "q")])
    assert (done.text, done.finish) == ("想<|end|>A", FINISH_STOP)
    assert END not in backend.describe().sent["end_tokens"]


def test_a_sampler_object_is_built_and_the_run_proceeds(load: Any, fake: Any) -> None:
    """P2-1: today's mlx-lm takes no temperature and no top_p (TypeError), but a sampler."""
    assert [c.text for c in load().generate([ask("k", "A")])] == ["A"]
    assert batches(fake)[0].sampler([[-3.0, -0.1, -2.0], [-0.5, -0.5, -0.9]]) == [1, 0]
    with pytest.raises(TypeError):
        fake("mlx_lm.generate").BatchGenerator(None, temp=0.0)


def test_nothing_else_of_the_generation_config_leaks_in(load: Any) -> None:
    leaky = {"temperature": 0.7, "top_p": 0.1, "max_new_tokens": 3, "repetition_penalty": 1.3, "do_sample": True}
    backend = load({"reply": "abcdef"}, generation=leaky)
    (done,) = backend.generate([ask("k", "q")])
    assert (done.text, done.finish) == ("abcdef", FINISH_STOP)
    sent = backend.describe().sent
    assert (sent["temperature"], sent["top_p"], sent["max_tokens"], sent["sampler"]) == (0.0, 0.9, 4096, "greedy")


# -- what runs ---------------------------------------------------------------------------------------------------------


def test_the_manifest_says_what_runs(load: Any) -> None:
    info = load().describe()
    assert (info.engine, info.version, info.quantised) == ("mlx", "mlx-lm 0.32.2, mlx 0.32.4", False)
    assert (info.settings["slots"], info.settings["dtype"], info.settings["context"]) == (16, "float32", 4096)
    assert info.model == {
        "architecture": "bytes",
        "bytes": 1000,
        "dtype": "bfloat16",
        "context_trained": 4096,
        "chat_template_sha256": info.model["chat_template_sha256"],
        "chat_template_from": "model",
        "merged_system": False,
    }


def test_the_manifest_says_when_the_system_prompt_was_merged(load: Any) -> None:
    backend = load({"template": NO_SYSTEM})
    (done,) = backend.generate([ask("k", "題")])
    assert (done.text, backend.describe().model["merged_system"]) == ("看題。\n\n題", True)


def test_a_switch_for_thinking_is_in_the_prompt_and_in_the_record(load: Any, fake: Any) -> None:
    made = {}
    for value in (True, False):
        template = TEMPLATE + "{% if enable_thinking %}<think>{% endif %}"
        backend = load({"template": template}, settings={"template_variables": {"enable_thinking": value}})
        (made[value],) = backend.generate([ask("k", "題")])
        assert backend.describe().settings["template_variables"] == {"enable_thinking": value}
    assert made[True].prompt_hash != made[False].prompt_hash
    assert made[True].prompt_tokens - made[False].prompt_tokens == len("<think>")
    with pytest.raises(ModelError, match="never reads enable_thinking"):
        load({"template": TEMPLATE}, settings={"template_variables": {"enable_thinking": False}})


def test_the_prompts_hash_is_stored_with_its_answer(load: Any) -> None:
    (done,) = load().generate([ask("k", "題")])
    assert done.prompt_hash == hashlib.sha256("<bos>[system]看題。[user]題[assistant]".encode()).hexdigest()


def test_weights_are_computed_as_shipped_on_metal_and_in_float32_elsewhere(load: Any, fake: Any) -> None:
    core = fake("mlx.core")
    assert load()._model.network.dtype == "float32"
    assert load(settings={"dtype": "float16"})._model.network.dtype == "float16"
    quantised = load(quantization={"group_size": 64, "bits": 4, "model.layers.0": {"bits": 8}})
    info = quantised.describe()
    assert (quantised._model.network.dtype, info.quantised) == ("bfloat16", True)
    assert info.model["quantisation"] == {"group_size": 64, "bits": 4}
    core.device = {"max_recommended_working_set_size": 10**10, "memory_size": 2 * 10**10}
    on_metal = load()
    assert (on_metal._model.network.dtype, on_metal.describe().settings["dtype"]) == ("bfloat16", "bfloat16")
    assert on_metal.describe().settings["working_set"] == 10**10


def test_whose_matrix_product_is_used_is_recorded(tmp_path: Path, load: Any) -> None:
    maps = tmp_path / "maps"
    assert library.blas(maps) == ""
    maps.write_text("7f00 /site/mlx_cpu.libs/libblas-bd8a282c.so.3.10.0", encoding="utf-8")
    assert library.blas(maps) == "reference"
    maps.write_text("7f00 /usr/lib/openblas-pthread/libopenblasp-r0.3.21.so", encoding="utf-8")
    assert library.blas(maps) == "openblas"
    assert load().describe().settings["blas"] == library.blas()


@pytest.mark.parametrize(
    ("limit", "memory", "hint"),
    [(1100, 4000 << 20, "iogpu.wired_limit_mb=3500"), (1100, 1200, "a smaller model")],
)
def test_weights_that_metal_has_no_room_for_are_refused(
    load: Any, fake: Any, limit: int, memory: int, hint: str
) -> None:
    fake("mlx.core").device = {"max_recommended_working_set_size": limit, "memory_size": memory}
    with pytest.raises(ModelError, match="Metal may hold") as caught:
        load()
    assert caught.value.hint.startswith(hint) or f": {'sudo sysctl '}{hint}" in caught.value.hint


def test_fewer_answers_at_once_where_memory_has_no_room_for_more(load: Any, fake: Any) -> None:
    shape = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 1, "hidden_size": 32}
    per_token = 2 * 2 * 1 * 8 * 2
    need = len("<[system]看題。[user]q[assistant]".encode()) + BUDGET
    for room, slots, peak in ((3.5, None, 3), (0.1, None, 1), (3.5, 5, 5)):
        fake("mlx.core").device = {"max_recommended_working_set_size": int((1000 + room * need * per_token) / 0.85) + 1}
        backend = load(settings={"slots": slots}, **shape)
        assert len(list(backend.generate(ask(str(n), "q") for n in range(8)))) == 8
        assert batches(fake)[-1].peak == peak


# -- memory (P10-6) ----------------------------------------------------------------------------------------------------


def test_freed_buffers_are_bounded_and_let_go_between_items(load: Any, fake: Any) -> None:
    core = fake("mlx.core")
    backend = load({"grow_mb": 300, "killed_at_mb": 3000}, settings={"slots": 1})
    assert core.cache_limit <= 512 * core.MB
    for number, _ in enumerate(backend.generate(ask(str(n), "q") for n in range(30))):
        assert core.clears >= number + 1
        assert core.cached == 0
    backend.close()


def environment() -> dict[str, str]:
    plugins = Path(__file__).parent.parent / "plugins"
    return {"PYTHONPATH": os.pathsep.join([str(FAKE), str(plugins)])}


def test_a_long_run_survives_a_cache_that_would_kill_it(
    checkpoint: Any, questions: Path, twlocal: Callable[..., Any]
) -> None:
    """P10-6: 300 MB of freed buffers an item, and the process is killed at 3,000 MB."""
    folder = checkpoint({"grow_mb": 300, "killed_at_mb": 3000, "reply": "\\boxed{A}"})
    asked = ("--bench", questions, "--max-tokens", "64")
    done = twlocal("run", folder, "--backend", "mlx", *asked, "--slots", "1", env=environment())
    assert done.returncode == 0, done.stderr
    assert "died" not in done.stderr


@pytest.mark.parametrize("fault", ["die_on", "raise_on"])
def test_a_poisoned_item_is_passed_over_and_the_others_are_answered(
    checkpoint: Any, make_questions: Callable[[int], Path], twlocal: Callable[..., Any], fault: str
) -> None:
    """P10-6: std::terminate at one item, every time: no Python exception, and no endless loop. An exception neither."""
    folder = checkpoint({fault: "第11題", "reply": "\\boxed{A}"})
    asked = (folder, "--backend", "mlx", "--bench", make_questions(16), "--max-tokens", "64")
    done = twlocal("run", *asked, "--json", env=environment())
    assert done.returncode == 1, done.stderr
    (run,) = json.loads(twlocal("runs", "--json").stdout)
    assert (run["planned"], run["answered"]) == (16, 15)
    assert "1 of 16 not answered yet" in done.stderr
    assert "metal" in done.stderr.lower(), "what the engine said last is told"


# -- refusals ----------------------------------------------------------------------------------------------------------


class Absent:
    """A finder for which one package is not installed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == self.name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize(
    ("absent", "says"),
    [
        ("mlx_lm", "^mlx-lm is not installed"),
        ("mlx", "^mlx is not installed"),
        ("mlx_lm.models", "^mlx-lm 0.32.2 cannot be imported"),
    ],
)
def test_without_mlx_one_line_says_how_to_get_it(
    fake: Any, checkpoint: Any, monkeypatch: pytest.MonkeyPatch, absent: str, says: str
) -> None:
    monkeypatch.setattr(sys, "meta_path", [Absent(absent), *sys.meta_path])
    with pytest.raises(EngineMissing, match=says) as caught:
        mlx.open(str(checkpoint()), Decoding(), {})
    assert "'twlocal[mlx]'" in caught.value.hint


@pytest.mark.parametrize(
    ("module", "name", "instead", "says"),
    [
        ("mlx_lm.generate", "BatchGenerator", None, "has no BatchGenerator,"),
        (
            "mlx_lm.generate",
            "BatchGenerator.insert",
            lambda self, prompts, temp=0.0: [],
            "has no BatchGenerator.insert",
        ),
        ("mlx_lm.utils", "load_model", lambda path: None, r"has no load_model\(lazy=…\)"),
        ("mlx_lm.sample_utils", "apply_top_p", None, "has no apply_top_p"),
    ],
)
def test_an_mlx_lm_with_another_api_is_refused_before_the_first_item(
    fake: Any, checkpoint: Any, monkeypatch: pytest.MonkeyPatch, module: str, name: str, instead: Any, says: str
) -> None:
    """P2-1: temperature was once a keyword, then a sampler object; whatever it is next, it is no run of errors."""
    owner = fake(module)
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    monkeypatch.setattr(owner, last, instead)
    with pytest.raises(EngineMissing, match=says) as caught:
        mlx.open(str(checkpoint()), Decoding(), {})
    assert "mlx-lm 0.32.2" in caught.value.message
    assert "upgrade" in caught.value.hint


def refuse(path: Path, says: str, hint: str, **settings: Any) -> None:
    with pytest.raises(ModelError, match=says) as caught:
        mlx.open(str(path), Decoding(), settings)
    assert hint in caught.value.hint


def test_what_is_no_checkpoint_is_refused_with_a_way_out(fake: Any, checkpoint: Any, tmp_path: Path) -> None:
    gguf = tmp_path / "m.gguf"
    gguf.write_bytes(b"GGUF")
    refuse(gguf, "is a file", "--backend llama_cpp")
    refuse(tmp_path / "none", "no folder", "safetensors")
    refuse(tmp_path, "no config.json", "folder")
    path = checkpoint()
    (path / "model.safetensors").unlink()
    refuse(path, r"no model\*\.safetensors", "whole checkpoint")
    (path / "pytorch_model.bin").write_bytes(b"x")
    refuse(path, "pytorch_model.bin, a file that can run code", "safetensors")
    (path / "config.json").write_text("{", encoding="utf-8")
    refuse(path, "config.json cannot be read", "again")
    (path / "config.json").write_text("[]", encoding="utf-8")
    refuse(path, "not a JSON object", "again")


def test_a_checkpoints_own_code_runs_only_when_the_user_says_so(fake: Any, checkpoint: Any) -> None:
    path = checkpoint(model_file="modeling.py")
    refuse(path, "run code that comes with it: modeling.py", "trust_remote_code=true")
    assert mlx.open(str(path), Decoding(), {"trust_remote_code": "true"}).describe().settings["trust_remote_code"]
    path = checkpoint()
    (path / "tokenizer_config.json").write_text(
        json.dumps({"auto_map": {"AutoTokenizer": ["tokenization_x.XTokenizer", None]}}), encoding="utf-8"
    )
    refuse(path, "tokenization_x.py", "trust_remote_code=true")


@pytest.mark.parametrize(
    ("behaviour", "says", "hint"),
    [
        ({"template": ""}, "no chat template", "--chat-template"),
        ({"unbatchable": True}, "cannot batch", "mlx_lm.server"),
        ({"load_error": "Model type bytes not supported."}, "does not know the architecture 'bytes'", "--upgrade"),
        ({"load_error": "Missing 3 parameters"}, "cannot load 小模型: ValueError: Missing 3", "again"),
        ({"load_error": "needs trust_remote_code=True"}, "run code", "trust_remote_code=true"),
    ],
)
def test_a_model_that_cannot_answer_is_refused(
    fake: Any, checkpoint: Any, behaviour: dict[str, Any], says: str, hint: str
) -> None:
    refuse(checkpoint(behaviour), says, hint)


def test_settings_are_checked_by_name_and_value(fake: Any, checkpoint: Any) -> None:
    wrong: Sequence[dict[str, Any]] = (
        {"slots": 0},
        {"dtype": "int4"},
        {"threads": 2},
        {"trust_remote_code": "perhaps"},
    )
    for settings in wrong:
        (name,) = settings
        with pytest.raises(UsageError, match=name):
            mlx.open(str(checkpoint()), Decoding(), settings)
    path = checkpoint({"template": ""})
    assert [c.text for c in mlx.open(str(path), Decoding(), {"chat_template": TEMPLATE}).generate([ask("k", "q")])] == [
        "q"
    ]
