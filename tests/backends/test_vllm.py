"""The vLLM backend over a fake vLLM whose tokens are bytes (tests/backends/fake_vllm)."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from twlocal.backend import CUT, ENGINE_DIED, FINISH_LENGTH, FINISH_STOP, SERVER, TOO_LONG, Decoding, Message, Request
from twlocal.backends import vllm
from twlocal.errors import ConfigurationError, EngineDied, EngineMissing, ModelError, UsageError
from twlocal.isolate import Isolated

FAKE = Path(__file__).parent / "fake_vllm"
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}"
    "{% if m['role'] == 'assistant' %}<end_of_turn>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
BOS, EOS, TURN, RETURN, END = 256, 257, 258, 260, 261
BUDGET = 64
MODULES = ("vllm", "transformers")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The fake in the place of vLLM and transformers, whether or not the real ones are installed."""
    for name in [name for name in sys.modules if name.split(".")[0] in MODULES]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(FAKE))
    before = dict(os.environ)
    yield importlib.import_module
    os.environ.clear()
    os.environ.update(before)
    for name in [name for name in sys.modules if name.split(".")[0] in MODULES]:
        del sys.modules[name]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Callable[..., Path]:
    """Makes a checkpoint's folder; `fake` says how the fake engine behaves, the rest goes into config.json."""

    def make(fake: dict[str, Any] | None = None, *, generation: dict[str, Any] | None = None, **config: Any) -> Path:
        path = tmp_path / "小模型"
        path.mkdir(exist_ok=True)
        facts = {"template": TEMPLATE, **(fake or {})}
        (path / "fake.json").write_text(json.dumps(facts), encoding="utf-8")
        told = {
            "architectures": ["BytesForCausalLM"],
            "model_type": "bytes",
            "dtype": "bfloat16",
            "max_position_embeddings": 32768,
            **config,
        }
        (path / "config.json").write_text(json.dumps(told), encoding="utf-8")
        (path / "model.safetensors").write_bytes(b"x" * 1000)
        if generation is not None:
            (path / "generation_config.json").write_text(json.dumps(generation), encoding="utf-8")
        return path

    return make


@pytest.fixture
def load(fake: Any, checkpoint: Callable[..., Path]) -> Callable[..., Any]:
    """A backend over the fake; `settings` are its settings, the rest is as with `checkpoint`."""

    def make(
        behaviour: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        *,
        decoding: Decoding | None = None,
        **more: Any,
    ) -> Any:
        return vllm.open(str(checkpoint(behaviour, **more)), decoding or Decoding(max_tokens=BUDGET), settings or {})

    return make


def ask(key: str, text: str, budget: int = BUDGET, system: str = "看題。") -> Request:
    return Request(key, (Message("system", system), Message("user", text)), budget)


def engines(fake: Any) -> Any:
    return fake("vllm").started


# -- answers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slots", [1, 3, 32])
def test_an_answer_belongs_to_its_request_whatever_order_they_finish_in(load: Any, fake: Any, slots: int) -> None:
    """P2-5: outputs come back in another order than the prompts went in; the result is that of one at a time."""
    asked = {"Q1": "\\boxed{A} 因為", "Q2": "\\boxed{B}", "Q3": "\\boxed{C}，理由是很長的一句話"}
    done = list(load(settings={"slots": slots}).generate(ask(key, text) for key, text in asked.items()))
    assert {c.key: c.text for c in done} == asked
    assert engines(fake)[0].peak == min(slots, 3)
    if slots > 1:
        assert [c.key for c in done] != list(asked), "the fake must be able to mix them up"


def test_requests_go_in_one_by_one_while_others_are_answered(load: Any, fake: Any) -> None:
    """No chunk's tail: a place that gets free is taken at once, and an answer leaves as it finishes."""
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
    tokens = sum(2 + number % 5 for number in range(20))
    assert engines(fake)[0].steps <= -(-tokens // 3) + 6, "three places that are never idle"


def test_closing_the_iterator_aborts_and_the_backend_goes_on(load: Any, fake: Any) -> None:
    backend = load(settings={"slots": 2})
    running = backend.generate(ask(str(n), "q" * (n + 1)) for n in range(10))
    next(running)
    (engine,) = engines(fake)
    steps = engine.steps
    running.close()
    assert (engine.steps, engine.active) == (steps, {})
    assert engine.aborted
    assert [c.key for c in backend.generate([ask("later", "q")])] == ["later"]


def test_closing_gives_the_cards_back_once(load: Any, fake: Any) -> None:
    backend = load()
    list(backend.generate([ask("k", "q")]))
    backend.close()
    backend.close()
    assert [engine.down for engine in engines(fake)] == [1]


def test_each_answer_is_held_to_the_schema_by_a_thing_of_its_own(load: Any, fake: Any) -> None:
    schema = {"type": "object", "properties": {"answer": {"enum": ["A", "B"]}}}
    list(load(settings={"json_schema": schema}).generate([ask("a", "q"), ask("b", "q")]))
    (engine,) = engines(fake)
    held = [params.structured_outputs for _, params in engine.given]
    assert [one.json for one in held] == [schema, schema] and held[0] is not held[1]
    assert engine.args.structured_outputs_config.disable_any_whitespace, "line breaks would fill the budget"
    list(load().generate([ask("a", "q")]))
    assert engines(fake)[-1].given[0][1].structured_outputs is None


def test_a_vllm_that_knows_no_schema_is_told_apart(load: Any, fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(fake("vllm.sampling_params"), "StructuredOutputsParams")
    with pytest.raises(EngineMissing, match="cannot hold answers to a JSON schema"):
        load(settings={"json_schema": {"type": "object"}})
    assert list(load().generate([ask("a", "q")])), "all else works"


def test_a_budget_is_kept_to_the_token(load: Any) -> None:
    backend = load({"reply": "abcdef"})
    got = {c.key: c for c in backend.generate([ask("six", "q", 6), ask("seven", "q", 7), ask("one", "q", 1)])}
    assert (got["six"].text, got["six"].finish, got["six"].completion_tokens) == ("abcdef", FINISH_LENGTH, 6)
    assert (got["seven"].text, got["seven"].finish, got["seven"].completion_tokens) == ("abcdef", FINISH_STOP, 7)
    assert (got["one"].text, got["one"].finish) == ("a", FINISH_LENGTH)


def test_an_answer_may_end_at_its_box(load: Any, fake: Any) -> None:
    """`stop_at_box`: answers end there, marked, and the place is free for the next; else nothing changes."""
    asked = {"one": "想\\boxed{}\\boxed{A} 因為", "two": "沒有答案}", "three": "\\boxed{C}，理由", "four": "\\boxed{D}"}
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
    assert done["three"].completion_tokens == len("\\boxed{C}")
    assert len(engines(fake)[0].aborted) == 3
    plain = load(settings={"slots": 2})
    assert {c.key: c.text for c in plain.generate(requests)} == asked
    assert "stop_at_box" not in plain.describe().sent


def test_a_character_cut_by_the_budget_costs_only_itself(load: Any) -> None:
    """P2-7: tokens are bytes here, so the budget ends inside of a Han character."""
    (done,) = load({"reply": "答案：\\boxed{B}臺"}).generate([ask("k", "q", len("答案：\\boxed{B}".encode()) + 2)])
    assert done.text == "答案：\\boxed{B}\ufffd"


def test_special_tokens_stay_out_of_the_text_but_for_those_that_readers_need(load: Any) -> None:
    (done,) = load({"reply": "想</think><|junk|>A"}).generate([ask("k", "q")])
    assert done.text == "想</think>A"


@pytest.mark.parametrize("finish", ["abort", "error", "repetition"])
def test_an_end_of_vllms_own_is_no_answer(load: Any, finish: str) -> None:
    (done,) = load({"finish": finish}).generate([ask("k", "q")])
    assert done.error_kind == CUT
    assert finish in done.error


# -- prompts -----------------------------------------------------------------------------------------------------------


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
    ((tokens, _),) = engines(fake)[0].given
    assert tokens[0] == BOS
    assert tokens.count(BOS) == 1


def test_prompts_are_rendered_by_twlocal_and_given_as_token_ids(load: Any, fake: Any) -> None:
    template = TEMPLATE + "{% if enable_thinking %}<think>{% endif %}"
    backend = load({"template": template}, settings={"template_variables": {"enable_thinking": True}})
    (done,) = backend.generate([ask("k", "題")])
    ((tokens, _),) = engines(fake)[0].given
    assert fake("transformers").text_of(tokens) == "<bos>[system]看題。[user]題[assistant]<think>"
    assert (done.prompt_tokens, backend.describe().settings["template_variables"]) == (
        len(tokens),
        {"enable_thinking": True},
    )
    assert done.prompt_hash == hashlib.sha256("<bos>[system]看題。[user]題[assistant]<think>".encode()).hexdigest()


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
    with pytest.raises(UsageError, match="trained for 32768"):
        load(settings={"context": 50000})


def test_a_request_that_vllm_does_not_take_is_that_requests_failure_alone(load: Any) -> None:
    got = {c.key: c for c in load({"refuse": "壞"}).generate([ask("bad", "壞"), ask("good", "好")])}
    assert (got["bad"].error_kind, got["good"].text) == (SERVER, "好")
    assert "no 壞" in got["bad"].error


# -- context -----------------------------------------------------------------------------------------------------------


def test_the_engine_starts_for_the_budget_and_room_for_a_prompt(load: Any, fake: Any) -> None:
    assert load(decoding=Decoding(max_tokens=2048)).describe().settings["context"] == 4096 + 2048
    assert load(settings={"max_model_len": 2960}).describe().settings["context"] == 2960, "what the route measured"
    assert load(max_position_embeddings=3000).describe().settings["context"] == 3000
    assert load(settings={"context": 1000}).describe().settings["context"] == 1000
    assert load(settings={"context": 20000}).describe().settings["context"] == 20000, "the user's is made at once"


def test_a_longer_prompt_grows_the_context_after_what_runs_has_finished(load: Any, fake: Any) -> None:
    """P2-3: a prompt that does not fit the context is answered all the same, as far as the model can."""
    backend = load(settings={"max_model_len": 400, "slots": 2})
    asked = {"short": "q", "long": "長" * 200, "after": "z"}
    done = {c.key: c for c in backend.generate(ask(key, text, 700) for key, text in asked.items())}
    assert {key: c.text for key, c in done.items()} == asked
    first, second = engines(fake)
    assert (first.down, len(first.given), len(second.given)) == (1, 0, 3)
    need = done["long"].prompt_tokens + 700
    assert need <= second.model_config.max_model_len <= 2 * need
    assert backend.describe().settings["context"] == second.model_config.max_model_len


def test_a_context_that_memory_has_no_room_for_is_shrunk_to_what_fits(load: Any, fake: Any) -> None:
    """P10-4: 32,768 tokens of native context, keys and values for 7,344; the run needs 900 + 2,048."""
    backend = load({"kv_tokens": 7344}, decoding=Decoding(max_tokens=4096))
    assert backend.describe().settings["context"] == 7344
    got = {c.key: c for c in backend.generate([ask("run", "x" * 870, 2048), ask("huge", "x" * 3500, 4096)])}
    assert (got["run"].finish, len(got["run"].text)) == (FINISH_STOP, 870)
    assert got["huge"].error_kind == TOO_LONG
    assert "memory has room for 7344" in got["huge"].error
    assert len(engines(fake)) == 1, "starting again would not help"


@pytest.mark.parametrize(("behaviour", "settings"), [({"old": True}, {}), ({}, {"context": 8000})])
def test_where_it_cannot_be_shrunk_one_line_says_what_to_do(load: Any, behaviour: Any, settings: Any) -> None:
    with pytest.raises(ConfigurationError, match="no room for 小模型") as caught:
        load({"kv_tokens": 3000, **behaviour}, settings)
    assert "estimated maximum model length is 3000" in caught.value.message
    assert "--context" in caught.value.hint


# -- where answers end, and how tokens are drawn -----------------------------------------------------------------------


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


def test_nothing_of_the_models_own_generation_config_leaks_in(load: Any, fake: Any) -> None:
    leaky = {"temperature": 0.7, "top_p": 0.1, "max_new_tokens": 3, "repetition_penalty": 1.3, "do_sample": True}
    backend = load({"reply": "abcdef"}, generation=leaky)
    (done,) = backend.generate([ask("k", "q")])
    assert (done.text, done.finish) == ("abcdef", FINISH_STOP)
    (engine,) = engines(fake)
    assert engine.args.generation_config == "vllm"
    ((_, params),) = engine.given
    sent = backend.describe().sent
    for name in ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty"):
        assert getattr(params, name) == sent[name]
    assert (sent["temperature"], sent["top_p"], sent["repetition_penalty"], sent["sampler"]) == (0, 0.9, 1, "greedy")
    assert (params.seed, params.stop_token_ids) == (None, [EOS, TURN])


def test_chance_depends_on_seed_and_key_alone(load: Any, fake: Any) -> None:
    def seeds(keys: str, seed: int) -> dict[str, int]:
        backend = load(settings={"seed": seed}, decoding=Decoding(temperature=0.7, max_tokens=8))
        list(backend.generate(ask(key, key, 8) for key in keys))
        assert backend.describe().sent["seed"] == seed
        text_of = fake("transformers").text_of
        return {text_of(tokens)[-12]: params.seed for tokens, params in engines(fake)[-1].given}

    one = seeds("abc", 5)
    assert len(set(one.values())) == 3
    assert one == seeds("cba", 5)
    assert one != seeds("abc", 6)
    assert all(0 <= value < 2**63 for value in one.values())


# -- what runs ---------------------------------------------------------------------------------------------------------


def test_the_manifest_says_what_runs(load: Any, fake: Any) -> None:
    backend = load()
    info = backend.describe()
    assert (info.engine, info.version, info.quantised) == ("vllm", "vllm 0.32.0", False)
    settings = info.settings
    assert (settings["device"], settings["dtype"], settings["slots"], settings["tensor_parallel_size"]) == (
        "cpu",
        "bfloat16",
        32,
        1,
    )
    assert settings["prefix_caching"] is True
    assert info.model == {
        "architecture": "bytes",
        "bytes": 1000,
        "dtype": "bfloat16",
        "context_trained": 32768,
        "chat_template_sha256": info.model["chat_template_sha256"],
        "chat_template_from": "model",
        "merged_system": False,
    }
    args = engines(fake)[0].args
    assert (args.enable_prefix_caching, args.load_format, args.trust_remote_code) == (True, "safetensors", False)
    assert (args.dtype, args.max_num_seqs, args.enforce_eager, args.disable_log_stats) == ("bfloat16", 32, True, True)


def test_the_manifest_says_when_the_system_prompt_was_merged(load: Any) -> None:
    no_system = (
        "{% for m in messages if m['role'] != 'system' %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}[assistant]"
    )
    backend = load({"template": no_system})
    (done,) = backend.generate([ask("k", "題")])
    assert (done.text, backend.describe().model["merged_system"]) == ("看題。\n\n題", True)


def test_a_quantised_checkpoint_is_marked(load: Any) -> None:
    info = load(quantization_config={"quant_method": "gptq", "bits": 4}).describe()
    assert info.quantised is True
    assert info.model["quantisation"] == {"quant_method": "gptq", "bits": 4}


def test_no_room_is_kept_for_pictures(load: Any, fake: Any) -> None:
    load(vision_config={"num_attention_heads": 16})
    assert engines(fake)[0].args.limit_mm_per_prompt == {"image": 0, "video": 0, "audio": 0}
    load()
    assert engines(fake)[1].args.limit_mm_per_prompt == {}


def test_what_vllm_reads_from_the_environment_is_set_and_the_users_stays(
    load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "DEBUG")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    load(settings={"threads": 2})
    assert os.environ["VLLM_LOGGING_LEVEL"] == "DEBUG"
    assert os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "2"


# -- deaths ------------------------------------------------------------------------------------------------------------


def test_a_failed_engine_is_dead_and_the_next_call_starts_another(load: Any, fake: Any) -> None:
    backend = load({"fail_on": "毒"})
    with pytest.raises(EngineDied, match="illegal memory access"):
        list(backend.generate([ask("k", "毒")]))
    assert engines(fake)[0].down == 1
    assert [c.text for c in backend.generate([ask("k", "好")])] == ["好"]
    assert len(engines(fake)) == 2


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize("dies", [False, True])
def test_no_worker_of_an_engine_outlives_it(fake: Any, checkpoint: Any, dies: bool) -> None:
    """Several cards are several processes below the engine's own: left behind, they would hold the cards' memory."""
    folder = checkpoint({"worker": True, "die_on": "毒"})
    engine = Isolated("vllm", str(folder), Decoding(max_tokens=BUDGET), {}, max_deaths=1)
    workers = folder / "workers"
    (pid,) = map(int, workers.read_text(encoding="utf-8").split())
    assert alive(pid)
    if dies:
        assert [c.error_kind for c in engine.generate([ask("k", "毒")])] == [ENGINE_DIED]
    else:
        engine.close()
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(pid)
    engine.close()


def environment() -> dict[str, str]:
    plugins = Path(__file__).parent.parent / "plugins"
    return {"PYTHONPATH": os.pathsep.join([str(FAKE), str(plugins)])}


@pytest.mark.parametrize("how", ["die_on", "fail_on"])
def test_a_poisoned_item_is_passed_over_and_the_others_are_answered(
    checkpoint: Any, make_questions: Callable[[int], Path], twlocal: Callable[..., Any], how: str
) -> None:
    """As P10-6: the process dies, or the engine fails, at one item, every time."""
    folder = checkpoint({how: "第5題", "reply": "\\boxed{A}"})
    asked = (folder, "--backend", "vllm", "--bench", make_questions(9), "--max-tokens", "64")
    done = twlocal("run", *asked, "--json", env=environment())
    assert done.returncode == 1, done.stderr
    (run,) = json.loads(twlocal("runs", "--json").stdout)
    assert (run["planned"], run["answered"]) == (9, 8)
    assert "1 of 9 not answered yet" in done.stderr
    assert "illegal memory access" in done.stderr, "what the engine said last is told"


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
    [("vllm", "^vllm is not installed"), ("transformers", "^vllm 0.32.0 cannot be imported")],
)
def test_without_vllm_one_line_says_how_to_get_it(
    fake: Any, checkpoint: Any, monkeypatch: pytest.MonkeyPatch, absent: str, says: str
) -> None:
    monkeypatch.setattr("twlocal.engines.package_folder", lambda name: None)
    monkeypatch.setattr(sys, "meta_path", [Absent(absent), *sys.meta_path])
    with pytest.raises(EngineMissing, match=says) as caught:
        vllm.open(str(checkpoint()), Decoding(), {})
    assert "'twlocal[vllm]'" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "instead", "says"),
    [
        ("LLMEngine", None, "has no LLMEngine,"),
        ("LLMEngine.step", None, r"has no LLMEngine\.step,"),
        ("SamplingParams", lambda temperature: None, r"has no SamplingParams\(top_p=…\)"),
        ("EngineArgs", lambda model: None, r"has no EngineArgs\(tokenizer_mode=…\)"),
    ],
)
def test_a_vllm_with_another_api_is_refused_before_the_first_item(
    fake: Any, checkpoint: Any, monkeypatch: pytest.MonkeyPatch, name: str, instead: Any, says: str
) -> None:
    owner, (*path, last) = fake("vllm"), name.split(".")
    for part in path:
        owner = getattr(owner, part)
    if path:
        monkeypatch.delattr(owner, last)
    else:
        monkeypatch.setattr(owner, last, instead)
    with pytest.raises(EngineMissing, match=says) as caught:
        vllm.open(str(checkpoint()), Decoding(), {})
    assert "vllm 0.32.0" in caught.value.message


def refuse(path: Path, says: str, hint: str, **settings: Any) -> None:
    with pytest.raises(ModelError, match=says) as caught:
        vllm.open(str(path), Decoding(), settings)
    assert hint in caught.value.hint


def test_what_is_no_checkpoint_is_refused_with_a_way_out(fake: Any, checkpoint: Any, tmp_path: Path) -> None:
    gguf = tmp_path / "m.gguf"
    gguf.write_bytes(b"GGUF")
    refuse(gguf, "is a file, and vllm reads a checkpoint's folder", "--backend llama_cpp")
    path = checkpoint()
    (path / "model.safetensors").unlink()
    refuse(path, r"no \*\.safetensors, which vLLM reads", "whole checkpoint")
    (path / "pytorch_model.bin").write_bytes(b"x")
    refuse(path, "pytorch_model.bin, a file that can run code", "safetensors")


def test_a_checkpoints_own_code_runs_only_when_the_user_says_so(fake: Any, checkpoint: Any) -> None:
    path = checkpoint(auto_map={"AutoModelForCausalLM": "modeling_x.XForCausalLM"})
    with pytest.raises(ModelError, match=r"modeling_x\.py"):
        vllm.open(str(path), Decoding(), {})
    info = vllm.open(str(path), Decoding(), {"trust_remote_code": "true"}).describe()
    assert info.settings["trust_remote_code"] is True
    assert engines(fake)[-1].args.trust_remote_code is True
    assert "Python code" in info.settings["notes"][0]


@pytest.mark.parametrize(
    ("behaviour", "more", "says", "hint"),
    [
        ({"template": ""}, {}, "no chat template", "--chat-template"),
        ({}, {"architectures": ["XForCausalLM"]}, "does not know the architecture XForCausalLM", "twlocal route"),
        ({"load_error": "Model architectures ['B'] failed"}, {}, "does not know the architecture of 小模型", "upgrade"),
        ({"load_error": "Missing 3 weights"}, {}, "cannot load 小模型: ValueError: Missing 3", "again"),
        ({"load_error": "needs trust_remote_code=True"}, {}, "run code", "--trust-remote-code"),
        ({"tokenizer_error": "no tokenizer.json"}, {}, "tokenizer of 小模型 cannot be loaded", "tokenizer.json"),
    ],
)
def test_a_model_that_cannot_answer_is_refused(
    fake: Any, checkpoint: Any, behaviour: dict[str, Any], more: dict[str, Any], says: str, hint: str
) -> None:
    refuse(checkpoint(behaviour, **more), says, hint)


def test_settings_are_checked_by_name_and_value(fake: Any, checkpoint: Any) -> None:
    for name, value in {"slots": 0, "dtype": "int4", "gpu_layers": 2, "gpu_memory": 1.5, "eager": "perhaps"}.items():
        with pytest.raises(UsageError, match=name):
            vllm.open(str(checkpoint()), Decoding(), {name: value})
    path = checkpoint({"template": ""})
    backend = vllm.open(str(path), Decoding(), {"chat_template": TEMPLATE})
    assert [c.text for c in backend.generate([ask("k", "q")])] == ["q"]
