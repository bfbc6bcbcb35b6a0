"""The decision: each reason for and against, one at a time. The table of machines is in test_route_table.py."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from twlocal import engines, hardware, placing, registry, route_words
from twlocal.engines import EngineFacts
from twlocal.hardware import GIB, Apple, Gpu, Hardware
from twlocal.registry import KnownModel, Source
from twlocal.route import Reason, Route, Verdict, Wishes, decide

MACHINES = Path(__file__).parents[1] / "data" / "machines"
TOKEN = Wishes(token=True)


def recorded(name: str) -> Hardware:
    data = hardware.load(next(MACHINES.glob(f"{name}.*")))
    return hardware.from_recording(data["outputs"], name=data["name"])


@pytest.fixture(scope="module")
def known() -> registry.Registry:
    return registry.load({})


def card(**facts: Any) -> Gpu:
    return Gpu(0, **({"name": "NVIDIA Test 48GB", "memory": 48 * GIB, "capability": (9, 0)} | facts))


def machine(*cards: Gpu, **facts: Any) -> Hardware:
    """A Linux machine with these cards and a current driver."""
    return Hardware(**({"system": "Linux", "memory": 64 * GIB, "gpus": cards, "driver": (580, 95, 5)} | facts))


def mac(memory: int, **facts: Any) -> Hardware:
    return Hardware(system="Darwin", memory=memory * GIB, apple=Apple("Apple M3 Ultra", **facts))


def model(**facts: Any) -> KnownModel:
    """A plain 8B model that every engine takes."""
    plain = {
        "id": "o/m",
        "parameters": 8_000_000_000,
        "dtype": "bfloat16",
        "context": 131_072,
        "gated": False,
        "classes": ("LlamaForCausalLM",),
        "mlx": "llama",
        "gguf": "llama",
        "vllm_since": "0.5.0",
        "heads": {"attention": 32, "kv": 8},
        "layers": 32,
        "kv_layers": 32,
        "head_dim": 128,
        "sources": (Source("llama_cpp", repo="o/g", file="m-bf16.gguf", dtype="bfloat16", gated=False),),
    }
    return KnownModel(**(plain | facts))


def planned(one: KnownModel, there: Hardware, wishes: Wishes = TOKEN) -> Route:
    return decide(one, there, engines.planned(there), wishes)


def verdict(route: Route, engine: str) -> Verdict:
    return next(one for one in route.verdicts if one.engine == engine)


def reason(route: Route, engine: str, code: str) -> Reason:
    found = [one for one in verdict(route, engine).reasons if one.code == code]
    assert len(found) == 1, [one.code for one in verdict(route, engine).reasons]
    return found[0]


def codes(route: Route, engine: str, level: str) -> list[str]:
    return [one.code for one in verdict(route, engine).reasons if one.level == level]


# ── given cases ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_bfloat16_on_an_old_card(known: registry.Registry) -> None:
    """Case P10-2: Qwen2.5-7B in float16 with a note; gemma-3-4b-it in float32 or not at all, never in float16."""
    turing = machine(card(name="Quadro RTX 8000", capability=(7, 5)))
    qwen = planned(known.get("Qwen2.5-7B"), turing)
    assert (qwen.engine, qwen.settings["dtype"]) == ("vllm", "float16")
    assert reason(qwen, "vllm", "float16").level == "note"
    gemma = planned(known.get("gemma-3-4b-it"), turing)
    assert (gemma.engine, gemma.settings["dtype"]) == ("vllm", "float32")
    assert reason(gemma, "vllm", "float32").level == "note"
    assert reason(gemma, "vllm", "fits").facts["weights_bytes"] == 4 * 4_300_079_472
    # On a T4 float32 does not fit either: refused, and llama.cpp, which does not overflow, takes it.
    small = planned(known.get("gemma-3-4b-it"), recorded("t4"))
    assert small.engine == "llama_cpp"
    assert codes(small, "vllm", "no") == ["too_big"]
    for name in ("google/gemma-3-1b-it", "google/gemma-3-27b-it", "T1", "taide/Gemma-3-TAIDE-12b-Chat", "gpt-oss-20b"):
        for there in (turing, recorded("t4")):
            route = planned(known.get(name), there)
            assert route.settings.get("dtype") != "float16", name


def test_context_of_what_the_run_needs() -> None:
    """Case P10-4: a native context of 32,768 whose keys and values do not fit; the run needs 900 + 2,048 tokens."""
    kv_bytes = 131_072
    one = model(context=32_768, weight_bytes=8_000_000_000, sources=())
    # As much memory as leaves room for 7,344 tokens beside the weights at vLLM's 90%.
    there = machine(card(memory=int((8_000_000_000 + 7344.5 * kv_bytes) / 0.9)))
    route = planned(one, there, Wishes(longest_prompt=900, max_tokens=2048))
    assert route.engine == "vllm"
    assert route.settings["max_model_len"] == 2960
    assert reason(route, "vllm", "kv").facts == {"tokens": 7344, "sequences": 2}
    whole = planned(one, there, Wishes(longest_prompt=900, max_tokens=32_768))
    assert whole.engine is None
    assert reason(whole, "vllm", "kv_short").facts == {"tokens": 7344, "context": 32_768}


def test_keys_and_values_are_as_wide_as_the_sums() -> None:
    one = model(float16=False, family="gemma3", weight_bytes=None, parameters=2_000_000_000)
    new, old = machine(card()), machine(card(capability=(7, 5)))
    tokens = [reason(planned(one, there), "vllm", "kv").facts["tokens"] for there in (new, old)]
    # 0.9 × 51.5 GB less 4 GB at 131,072 bytes a token; in float32 less 8 GB at twice that.
    assert tokens == [323376, 146429]


# ── drivers and builds ────────────────────────────────────────────────────────────────────────────────────────────


def installed_vllm(version: str, cuda: int | None) -> tuple[EngineFacts, ...]:
    entry: dict[str, Any] = {"version": version, "devices": ["cuda"]} | ({"cuda": cuda} if cuda else {})
    return engines.from_recording({"vllm": entry}, "test")


def test_a_driver_too_old_for_the_installed_build_has_two_ways_out(known: registry.Registry) -> None:
    there = recorded("rtx3090-cuda125")
    route = decide(known.get("T1"), there, installed_vllm("0.31.0", 13), TOKEN)
    assert route.engine is None
    told = reason(route, "vllm", "driver_too_old_for_build")
    sentence = route_words.say(told, "en")
    assert "update the driver" in sentence and "pip install 'vllm==0.13.*'" in sentence and "555.42.06" in sentence
    fixed = decide(known.get("T1"), there, installed_vllm("0.13.0", 12), TOKEN)
    assert fixed.engine == "vllm"
    updated = decide(known.get("T1"), replace(there, driver=(580, 95, 5)), installed_vllm("0.31.0", 13), TOKEN)
    assert updated.engine == "vllm"


def test_the_same_without_knowing_its_cuda(known: registry.Registry) -> None:
    route = decide(known.get("T1"), recorded("rtx3090-cuda125"), installed_vllm("0.31.0", None), TOKEN)
    assert codes(route, "vllm", "no") == ["driver_too_old_for_build"]


def test_a_driver_too_old_for_all() -> None:
    route = planned(model(), machine(card(), driver=(470, 57)))
    assert codes(route, "vllm", "no") == ["driver_too_old"]
    assert route.engine == "llama_cpp"


def test_a_model_that_only_a_newer_vllm_knows_says_what_the_driver_must_become() -> None:
    newer = model(vllm_since="0.19.0")
    route = planned(newer, machine(card(), driver=(570, 26)), Wishes(token=True, engine="vllm"))
    assert codes(route, "vllm", "no") == ["architecture_unknown_since"]
    assert reason(route, "vllm", "newer_needs_driver").facts == {"since": "0.19.0", "needed": 580, "driver": "570.26"}
    assert planned(newer, machine(card())).engine == "vllm"


def test_an_unknown_driver_is_said_to_be_unchecked() -> None:
    route = planned(model(), machine(card(), driver=None))
    assert route.engine == "vllm"
    assert reason(route, "vllm", "driver_unchecked").level == "note"


def test_a_card_too_old_for_the_build() -> None:
    volta = machine(card(name="Tesla V100", capability=(7, 0)))
    assert codes(planned(model(), volta), "vllm", "no") == ["capability_too_old"]
    older = planned(model(), replace(volta, driver=(550, 54)))
    assert (older.engine, older.settings["dtype"]) == ("vllm", "float16")


@pytest.mark.parametrize(
    ("dtype", "capability", "code", "level"),
    [
        ("fp8", (9, 0), None, None),
        ("fp8", (8, 9), None, None),
        ("fp8", (8, 0), "fp8_emulated", "note"),
        ("fp8", (7, 5), "format_too_new", "no"),
        ("mxfp4", (8, 0), None, None),
        ("mxfp4", (7, 5), "format_too_new", "no"),
        ("float16", (7, 5), None, None),
        ("bfloat16", (8, 0), None, None),
        ("bfloat16", None, "capability_unchecked", "note"),
    ],
)
def test_formats_and_cards(dtype: str, capability: tuple[int, int] | None, code: str | None, level: str | None) -> None:
    one = model(dtype=dtype, weight_bytes=8_000_000_000)
    route = planned(one, machine(card(capability=capability)), Wishes(token=True, engine="vllm"))
    told = [(one.code, one.level) for one in verdict(route, "vllm").reasons]
    odd = {"fp8_emulated", "format_too_new", "capability_unchecked", "float16", "float32", "capability_too_old"}
    assert [pair for pair in told if pair[0] in odd] == ([(code, level)] if code else [])
    assert "dtype" not in verdict(route, "vllm").settings


# ── groups of cards ───────────────────────────────────────────────────────────────────────────────────────────────


def cards(count: int, **facts: Any) -> tuple[Gpu, ...]:
    return tuple(replace(card(**facts), index=index) for index in range(count))


@pytest.mark.parametrize(
    ("gigabytes", "heads", "count", "size"),
    [
        (30, {"attention": 32, "kv": 8}, 8, 1),
        (60, {"attention": 32, "kv": 8}, 8, 2),
        (120, {"attention": 32, "kv": 8}, 8, 4),
        (60, {"attention": 24, "kv": 6}, 8, 2),
        (100, {"attention": 24, "kv": 6}, 8, 3),  # 100 / (3 × 51.5) = 0.65; four do not divide six
        (100, {"attention": 32, "kv": 8, "vision": 16}, 8, 4),
        (60, {"attention": 32, "kv": 8, "mamba": 6}, 4, 2),
        (200, {"attention": 32, "kv": 8}, 8, 8),
    ],
)
def test_the_smallest_group_that_divides_every_head_count(
    gigabytes: int, heads: dict[str, int], count: int, size: int
) -> None:
    one = model(weight_bytes=gigabytes * 10**9, heads=heads)
    route = planned(one, machine(*cards(count)))
    assert (route.engine, route.settings["tensor_parallel_size"]) == ("vllm", size)


def test_heads_that_do_not_divide_are_named() -> None:
    one = model(weight_bytes=200 * 10**9, heads={"attention": 32, "kv": 2, "mamba": 128}, sources=())
    route = planned(one, machine(*cards(8)))
    assert codes(route, "vllm", "no") == ["too_big", "heads"]
    assert reason(route, "vllm", "heads").facts == {
        "heads": "attention 32, kv 2, mamba 128",
        "cards": 8,
        "size": 2,
    }


def test_unknown_heads_are_said_to_be_unchecked() -> None:
    one = model(weight_bytes=200 * 10**9, heads={})
    route = planned(one, machine(*cards(8)))
    assert route.settings["tensor_parallel_size"] == 8
    assert reason(route, "vllm", "heads_unchecked").facts == {"size": 8}
    assert "heads_unchecked" not in codes(planned(model(heads={}), machine(card())), "vllm", "note")


def test_only_so_many_cards_as_wished() -> None:
    one = model(weight_bytes=60 * 10**9, sources=())
    assert planned(one, machine(*cards(8)), Wishes(token=True, gpus=1)).engine is None
    assert planned(one, machine(*cards(8)), Wishes(token=True, gpus=2)).engine == "vllm"


def test_only_equal_cards_make_a_group() -> None:
    one = model(weight_bytes=60 * 10**9, sources=())
    mixed = machine(card(), replace(card(name="other"), index=1))
    assert codes(planned(one, mixed), "vllm", "no") == ["too_big"]


def test_the_next_group_is_tried_where_the_largest_cannot() -> None:
    old = tuple(replace(card(name="Tesla V100", capability=(7, 0), memory=96 * GIB), index=index) for index in (0, 1))
    route = planned(model(), machine(*old, replace(card(), index=2)))
    assert (route.engine, route.settings) == ("vllm", {"max_model_len": 8192, "tensor_parallel_size": 1})


def test_memory_that_others_hold_is_told() -> None:
    there = machine(card(free=47 * GIB), card(free=6 * GIB))
    route = planned(model(weight_bytes=16_000_000_000), there)
    assert route.engine == "vllm", "an idle card is taken"
    busy = reason(route, "vllm", "busy")
    assert (busy.level, busy.facts["held_bytes"]) == ("note", 42 * GIB)
    assert "42.0 GiB" in route_words.say(busy, "en") and "42.0 GiB" in route_words.say(busy, "zh-TW")
    assert "busy" not in codes(planned(model(), machine(card(), card(free=47 * GIB))), "vllm", "note")


def test_memory_that_is_not_told() -> None:
    route = planned(model(), machine(card(name="NVIDIA GB10", memory=None)))
    assert route.engine == "vllm"
    assert reason(route, "vllm", "fit_unchecked").facts == {"place": "NVIDIA GB10"}
    unknown = planned(model(parameters=None), machine(card()))
    assert "fit_unchecked" in codes(unknown, "vllm", "note")


# ── Macs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_wired_limit_is_offered_where_it_helps() -> None:
    # 192 GiB = 206.2 GB by default, 229,376 MiB = 240.5 GB at most.
    tight = planned(model(weight_bytes=150 * 10**9), mac(256))
    assert tight.engine == "mlx"
    assert codes(tight, "mlx", "note") == ["tight", "raise_wired_limit"]
    refused = planned(model(weight_bytes=190 * 10**9), mac(256))
    assert refused.engine is None
    told = reason(refused, "mlx", "raise_wired_limit")
    assert "sudo sysctl iogpu.wired_limit_mb=229376" in route_words.say(told, "en")
    assert told.facts["share"] == pytest.approx(0.79, abs=0.01)
    raised = planned(model(weight_bytes=190 * 10**9), mac(256, wired_limit=229376 << 20))
    assert raised.engine == "mlx"
    assert codes(raised, "mlx", "note") == ["tight"]
    hopeless = planned(model(weight_bytes=210 * 10**9), mac(256))
    assert codes(hopeless, "mlx", "note") == []
    assert codes(planned(model(), mac(256)), "mlx", "note") == []


def test_a_mac_never_runs_vllm_and_others_never_lack_mlx() -> None:
    assert codes(planned(model(), mac(64)), "vllm", "no") == ["wrong_machine"]
    assert codes(planned(model(), machine(card())), "mlx", "no") == ["wrong_machine"]


def test_mlx_does_not_read_fp8() -> None:
    route = planned(model(dtype="fp8", sources=()), mac(256))
    assert codes(route, "mlx", "no") == ["mlx_fp8"]


def test_an_mlx_repository_of_its_own() -> None:
    whole = Source("mlx", repo="mlx-community/m-bf16", dtype="bfloat16")
    small = Source("mlx", repo="mlx-community/m-4bit", dtype="4bit", bytes=5_000_000_000)
    one = model(sources=(small, whole), gated=True)
    route = planned(one, mac(64), Wishes(engine="mlx"))
    assert route.source == "mlx-community/m-bf16"
    assert codes(route, "mlx", "note") == ["gate_unknown"], "the gate is that of the repository that is fetched"
    only_small = model(sources=(small,))
    assert planned(only_small, mac(64)).source == "o/m"
    quantised = planned(only_small, mac(64), Wishes(token=True, quantised=True))
    assert quantised.source == "mlx-community/m-4bit"
    assert "quantised" in codes(quantised, "mlx", "note")


# ── gates, code, preparation ──────────────────────────────────────────────────────────────────────────────────────


def test_gated_without_token() -> None:
    gated = model(gated=True)
    route = planned(gated, machine(card()), Wishes())
    assert codes(route, "vllm", "no") == ["gated"]
    assert "https://huggingface.co/o/m" in route_words.say(reason(route, "vllm", "gated"), "en")
    assert route.engine == "llama_cpp", "its GGUF lies in an open repository"
    assert planned(gated, machine(card()), TOKEN).engine == "vllm"


def test_a_gate_that_is_not_known_is_a_note() -> None:
    route = planned(model(gated=None), machine(card()), Wishes())
    assert route.engine == "vllm"
    assert codes(route, "vllm", "note") == ["gate_unknown"]
    assert codes(planned(model(gated=None), machine(card()), TOKEN), "vllm", "note") == []


@pytest.mark.parametrize("facts", [{"trust_remote_code": True}, {"remote_code": "modeling_x.py"}])
def test_foreign_code_runs_only_when_the_person_says_so(facts: dict[str, Any]) -> None:
    for there, engine in ((machine(card()), "vllm"), (mac(64), "mlx")):
        refused = planned(model(**facts, sources=()), there)
        assert codes(refused, engine, "no") == ["remote_code"]
        sentence = route_words.say(reason(refused, engine, "remote_code"), "en")
        assert "--trust-remote-code" in sentence and ".py" in sentence
        assert "trust_remote_code" not in verdict(refused, engine).settings
        allowed = planned(model(**facts, sources=()), there, Wishes(token=True, trust_remote_code=True))
        assert allowed.engine == engine
        assert codes(allowed, engine, "note") == ["remote_code_trusted"]
    assert planned(model(), machine(card())).settings.get("trust_remote_code") is None


def test_llama_cpp_runs_no_foreign_code() -> None:
    assert planned(model(remote_code="modeling_x.py"), machine(card())).engine == "llama_cpp"


def test_breeze2_needs_its_vision_tower_taken_away(known: registry.Registry) -> None:
    for there in (mac(64), machine(card())):
        route = planned(known.get("Breeze2-8B"), there, Wishes(token=True, trust_remote_code=True))
        assert route.engine is None
        engine = "mlx" if there.apple else "vllm"
        assert "vision tower" in route_words.say(reason(route, engine, "vision_tower"), "en")


# ── context ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_native_context_shorter_than_wanted_is_told(known: registry.Registry) -> None:
    route = planned(known.get("Llama-3-Taiwan-8B"), machine(card()), Wishes(token=True, max_tokens=16384))
    assert (route.engine, route.settings["max_model_len"]) == ("vllm", 8192)
    assert reason(route, "vllm", "context_shared").facts["wanted"] == 20480
    measured = planned(
        known.get("Llama-3-Taiwan-8B"), machine(card()), Wishes(token=True, max_tokens=16384, longest_prompt=1192)
    )
    assert reason(measured, "vllm", "context_short").facts["room"] == 7000


def test_no_room_for_an_answer() -> None:
    route = planned(model(context=2048), machine(card()), Wishes(token=True, longest_prompt=2048))
    assert route.engine is None
    assert codes(route, "vllm", "no") == codes(route, "llama_cpp", "no") == ["context_too_short"]
    guessed = planned(model(context=2048), machine(card()))
    assert guessed.engine == "vllm", "nothing is refused for a prompt that was not measured"
    assert guessed.settings["max_model_len"] == 2048


def test_a_reasoning_models_cap_makes_the_context(known: registry.Registry) -> None:
    assert planned(known.get("F1-Reasoning"), machine(card())).settings["max_model_len"] == 20480
    assert planned(known.get("F1"), machine(card())).settings["max_model_len"] == 8192
    assert planned(known.get("F1-Reasoning"), machine(card()), Wishes(max_tokens=512)).settings["max_model_len"] == 4608


def test_a_budget_that_cuts_thoughts_is_told(known: registry.Registry) -> None:
    def told(name: str, wishes: Wishes) -> list[dict[str, Any]]:
        reasons = planned(known.get(name), machine(card()), wishes).reasons
        return [dict(reason.facts) for reason in reasons if reason.code == "budget_short"]

    assert told("F1-Reasoning", Wishes(max_tokens=4096)) == [{"budget": 4096, "cap": 16384}]
    assert told("F1-Reasoning", Wishes(max_tokens=16384)) == told("F1-Reasoning", Wishes()) == []
    assert told("F1", Wishes(max_tokens=512)) == []
    short = planned(known.get("F1-Reasoning"), machine(card()), Wishes(max_tokens=4096))
    assert placing.line(short).endswith(
        "answers may have 4,096 tokens; it thinks, and is usually given 16,384 (--max-tokens)"
    )


# ── llama.cpp ─────────────────────────────────────────────────────────────────────────────────────────────────────

LLAMA_CPU = (EngineFacts("llama_cpp", "0.3.36", frozenset({"cpu"}), architectures=frozenset({"llama"})),)
LLAMA_CUDA = (EngineFacts("llama_cpp", "0.3.36", frozenset({"cpu", "cuda"}), architectures=frozenset({"llama"})),)


def test_a_cpu_build_beside_a_card_says_so() -> None:
    route = decide(model(), machine(card()), LLAMA_CPU, TOKEN)
    assert (route.engine, route.verdicts[0].device) == ("llama_cpp", "cpu")
    assert reason(route, "llama_cpp", "cpu_build").facts == {"engine": "llama_cpp"}


def test_all_cards_together_hold_a_gguf() -> None:
    small = [replace(card(name=name, memory=12 * GIB), index=index) for index, name in enumerate(("a", "b"))]
    route = decide(model(), machine(*small), LLAMA_CUDA, TOKEN)
    assert (route.verdicts[0].device, route.settings["gpu_layers"]) == ("cuda", -1)
    one = decide(model(), machine(*small), LLAMA_CUDA, Wishes(token=True, gpus=1))
    assert (one.verdicts[0].device, one.settings["gpu_layers"]) == ("cpu", 0)
    assert "cards_too_small" in codes(one, "llama_cpp", "note")


def test_an_architecture_that_the_installed_build_does_not_know() -> None:
    route = decide(model(gguf="brandnew"), machine(), LLAMA_CPU, TOKEN)
    assert codes(route, "llama_cpp", "no") == ["architecture_unknown"]
    sentence = route_words.say(reason(route, "llama_cpp", "architecture_unknown"), "en")
    assert "0.3.36" in sentence and "brandnew" in sentence


def test_quantised_files_run_only_when_allowed_and_only_where_needed() -> None:
    whole = Source("llama_cpp", repo="o/g", file="bf16.gguf", dtype="bfloat16", gated=False)
    small = Source("llama_cpp", repo="o/g", file="q4.gguf", dtype="q4_k_m", bytes=5 * 10**9, gated=False)
    both, only = model(sources=(small, whole)), model(sources=(small,))
    laptop = machine(memory=16 * GIB, driver=None)
    assert decide(both, laptop, LLAMA_CPU, TOKEN).engine is None
    allowed = decide(both, laptop, LLAMA_CPU, Wishes(token=True, quantised=True))
    assert (allowed.engine, allowed.source) == ("llama_cpp", "o/g:q4.gguf")
    assert "quantised" in codes(allowed, "llama_cpp", "note")
    roomy = decide(both, machine(), LLAMA_CPU, Wishes(token=True, quantised=True))
    assert roomy.source == "o/g:bf16.gguf", "the released precision goes first where it fits"
    refused = decide(only, laptop, LLAMA_CPU, TOKEN)
    assert codes(refused, "llama_cpp", "no")[0] == "only_quantised"
    assert "--quantised" in route_words.say(reason(refused, "llama_cpp", "only_quantised"), "en")


def test_a_model_without_a_gguf_says_how_to_make_one() -> None:
    route = decide(model(sources=()), machine(), LLAMA_CPU, TOKEN)
    assert codes(route, "llama_cpp", "no") == ["no_gguf"]
    assert "convert_hf_to_gguf.py" in route_words.say(reason(route, "llama_cpp", "no_gguf"), "en")
    nameless = decide(model(sources=(Source("llama_cpp", repo="o/g"),)), machine(), LLAMA_CPU, TOKEN)
    assert codes(nameless, "llama_cpp", "no") == ["gguf_unnamed"]


def test_the_demos_model_runs_on_llama_cpp_alone(known: registry.Registry) -> None:
    for there in (mac(8), machine(card()), machine(memory=8 * GIB)):
        route = planned(known.get("smollm2-135m"), there, Wishes())
        assert route.engine == "llama_cpp"
        assert "quantised" in codes(route, "llama_cpp", "note")
        assert not [code for code in codes(route, "llama_cpp", "note") if code.startswith("gate")]


# ── order, absence, wishes ────────────────────────────────────────────────────────────────────────────────────────


def every(device: str) -> tuple[EngineFacts, ...]:
    return tuple(
        EngineFacts(name, "1.0", frozenset({device, "cpu"} if name != "vllm" else {device}))
        for name in ("llama_cpp", "mlx", "vllm")
    )


def test_order() -> None:
    assert decide(model(), machine(card()), every("cuda"), TOKEN).verdicts[0].engine == "vllm"
    assert decide(model(), mac(64), every("metal"), TOKEN).verdicts[0].engine == "mlx"
    # On a CPU in the order of what was measured: vLLM, llama.cpp, MLX.
    plain = decide(model(), machine(), every("cpu"), TOKEN)
    assert [one.engine for one in plain.verdicts] == ["vllm", "llama_cpp", "mlx"]
    assert codes(plain, "llama_cpp", "no") == ["later_in_order"]


def test_a_slower_device_says_so() -> None:
    facts = (*LLAMA_CPU, EngineFacts("vllm", "0.31.0", frozenset({"cuda"})))
    route = decide(model(), machine(card()), facts, TOKEN)
    assert route.engine == "vllm"
    assert codes(route, "llama_cpp", "no") == ["slower_device"]


def test_what_is_missing_names_its_extra() -> None:
    route = decide(model(), machine(card()), (), TOKEN)
    assert route.engine is None
    assert "pip install 'twlocal[vllm]'" in route_words.say(reason(route, "vllm", "engine_missing"), "en")
    assert "pip install 'twlocal[llama-cpp]'" in route_words.say(reason(route, "llama_cpp", "engine_missing"), "en")


def test_no_card_says_why() -> None:
    none = route_words.say(reason(decide(model(), machine(), (), TOKEN), "vllm", "no_gpu"), "en")
    assert none.endswith("there is none to use")
    hidden = machine(gpus=(), hidden=2)
    assert "CUDA_VISIBLE_DEVICES hides 2" in route_words.say(
        reason(decide(model(), hidden, (), TOKEN), "vllm", "no_gpu"), "en"
    )
    broken = reason(planned(model(), recorded("driver-broken")), "vllm", "no_gpu")
    assert "couldn't communicate" in route_words.say(broken, "zh-TW")


def test_only_the_wished_engine() -> None:
    route = planned(model(), machine(card()), Wishes(token=True, engine="llama_cpp"))
    assert route.engine == "llama_cpp"
    assert codes(route, "vllm", "no") == ["not_wished"]


def test_too_little_disk_is_a_note() -> None:
    route = planned(model(), machine(card(), disk_free=10**9))
    assert route.engine == "vllm"
    assert reason(route, "vllm", "disk_short").facts == {"weights_bytes": 16 * 10**9, "disk_bytes": 10**9}


def test_mlx_and_vllm_on_a_cpu_when_they_are_there() -> None:
    mlx = decide(model(), machine(), (EngineFacts("mlx", "0.32.2", frozenset({"cpu"})),), TOKEN)
    assert (mlx.engine, mlx.verdicts[0].device) == ("mlx", "cpu")
    assert "mlx_cpu" in codes(mlx, "mlx", "note")
    vllm = decide(model(), machine(), (EngineFacts("vllm", "0.32.0", frozenset({"cpu"})),), TOKEN)
    assert (vllm.engine, vllm.verdicts[0].device) == ("vllm", "cpu")
    assert "cpu_build" in codes(vllm, "vllm", "note")
    assert "tensor_parallel_size" not in vllm.settings


def test_the_same_facts_give_the_same_route(known: registry.Registry) -> None:
    there = recorded("2x3090")
    for one in known.models.values():
        assert planned(one, there) == planned(one, there)


def test_settings_are_empty_where_nothing_runs() -> None:
    route = decide(model(), machine(), (), TOKEN)
    assert (route.engine, dict(route.settings), route.source, route.reasons) == (None, {}, "", ())
