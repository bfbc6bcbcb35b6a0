"""How vLLM lies on machines that are not here, and for how many tokens it starts: pure, from recorded hardware."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from twlocal import engines, hardware, registry
from twlocal.backends.vllm import context, layout
from twlocal.backends.vllm.core import printed, refusal
from twlocal.backends.vllm.engine import _settled
from twlocal.backends.vllm.layout import Layout
from twlocal.backends.vllm.library import prepare
from twlocal.backends.vllm.settings import Settings
from twlocal.engines import EngineFacts
from twlocal.errors import ConfigurationError, ModelError, UsageError
from twlocal.hardware import GIB, Gpu, Hardware
from twlocal.registry import KnownModel

MACHINES = Path(__file__).parent.parent / "data" / "machines"
CPU = EngineFacts("vllm", "0.32.0", frozenset({"cpu"}))
MODEL = KnownModel(
    id="m",
    family="llama",
    weight_bytes=16_000_000_000,
    dtype="bfloat16",
    context=131_072,
    gated=False,
    classes=("LlamaForCausalLM",),
    vllm_since="0.5.0",
    heads={"attention": 32, "kv": 8},
    layers=32,
    kv_layers=32,
    head_dim=128,
)


def recorded(name: str) -> Hardware:
    data = hardware.load(next(MACHINES.glob(f"{name}.*")))
    return hardware.from_recording(data["outputs"], name=data["name"])


def card(index: int = 0, memory: int = 48, name: str = "A6000", capability: tuple[int, int] = (8, 6)) -> Gpu:
    return Gpu(index, name, memory * GIB, capability, uuid=f"GPU-{index}")


def lay(machine: Hardware, model: KnownModel = MODEL, engine: EngineFacts | None = None, **settings: Any) -> Layout:
    if engine is None:
        engine = next(one for one in engines.planned(machine) if one.name == "vllm")
    return layout.decide(model, machine, engine, Settings(**settings), budget=2048, context=6144)


def cards(*gpus: Gpu) -> Hardware:
    return Hardware(system="Linux", architecture="x86_64", memory=256 * GIB, gpus=gpus, driver=(580, 65, 6))


# -- dtype (P10-2) -----------------------------------------------------------------------------------------------------


def test_bfloat16_on_a_card_that_has_none() -> None:
    """P10-2: Qwen2.5-7B in float16 with a note in the record; gemma-3-4b-it in float32, never in float16."""
    old = cards(card(capability=(7, 5), name="Quadro RTX 8000"))
    known = registry.load({})
    qwen = lay(old, known.get("Qwen2.5-7B"))
    assert qwen.dtype == "float16"
    assert "cannot compute in bfloat16: float16 instead" in layout.facts(qwen)["notes"][0]  # type: ignore[index]
    gemma = lay(old, known.get("gemma-3-4b-it"))
    assert gemma.dtype == "float32"
    assert "overflows in float16" in gemma.notes[0]
    with pytest.raises(ModelError, match="overflows in float16"):
        lay(old, known.get("gemma-3-4b-it"), dtype="float16")
    with pytest.raises(UsageError, match="Quadro RTX 8000 cannot compute in bfloat16"):
        lay(old, dtype="bfloat16")
    assert lay(cards(card()), known.get("gemma-3-4b-it")).dtype == "bfloat16"


def test_quantised_weights_on_a_card_without_bfloat16() -> None:
    """They compute in what their configuration says, which this card cannot; float32 is nothing for their kernels."""
    old = cards(card(memory=15, capability=(7, 5), name="Tesla T4"))
    packed = replace(MODEL, dtype="gptq", computes_in="bfloat16", weight_bytes=5_000_000_000)
    laid = lay(old, packed)
    assert laid.dtype == "float16"
    assert "float16 instead" in laid.notes[0]
    assert lay(old, replace(packed, computes_in="float16")).dtype == "gptq", "as it comes"
    with pytest.raises(ModelError, match="quantised weights are not computed in float32"):
        lay(old, replace(packed, family="gemma3_text", float16=False))
    assert lay(cards(card()), packed).dtype == "gptq"
    assert lay(old, packed, dtype="float16").dtype == "float16"


def test_where_float32_has_no_room_either_it_is_refused() -> None:
    with pytest.raises(ModelError, match="above 85% it does not start"):
        lay(recorded("t4"), registry.load({}).get("gemma-3-4b-it"))


def test_another_dtype_is_weighed_as_that() -> None:
    tight = cards(card(memory=24))
    assert lay(tight).tensor_parallel_size == 1
    with pytest.raises(ModelError, match="above 85%"):
        lay(tight, dtype="float32")


# -- cards -------------------------------------------------------------------------------------------------------------


def test_the_smallest_number_of_cards_that_fits_and_divides_every_head_count() -> None:
    four = cards(*(card(n, memory=24, name="4090") for n in range(4)))
    assert lay(four).tensor_parallel_size == 1
    tight = replace(MODEL, weight_bytes=20_000_000_000)
    assert lay(four, tight).tensor_parallel_size == 2, "one takes it, but with little room"
    big = replace(MODEL, weight_bytes=45_000_000_000)
    assert lay(four, big).tensor_parallel_size == 4
    # Three cards would do, but neither divides 32 heads nor 8 of keys and values.
    three = cards(*(card(n, memory=24, name="4090") for n in range(3)))
    with pytest.raises(ModelError, match="a group must divide its head counts"):
        lay(three, big)
    assert lay(three, replace(big, heads={"attention": 9, "kv": 3})).tensor_parallel_size == 3
    # Every kind counts, a vision tower's and a Mamba layer's too.
    for odd in ({"vision_attention": 3}, {"mamba": 3}):
        with pytest.raises(ModelError, match="head counts"):
            lay(four, replace(big, heads=MODEL.heads | odd))


def test_a_number_of_cards_that_cannot_be_is_refused_by_name() -> None:
    eight = cards(*(card(n) for n in range(8)))
    assert lay(eight, tensor_parallel_size=4).tensor_parallel_size == 4
    with pytest.raises(UsageError, match=r"3 cards cannot share m: .*\(attention 32, kv 8\)") as caught:
        lay(eight, tensor_parallel_size=3)
    assert "1, 2, 4, 8" in caught.value.hint
    with pytest.raises(UsageError, match="not so many equal cards"):
        lay(cards(card()), tensor_parallel_size=2)


def test_among_unequal_cards_the_group_that_takes_it_is_made_visible() -> None:
    mixed = cards(card(0, memory=8, name="3070"), card(1), card(2))
    chosen = lay(mixed)
    assert (chosen.cards, chosen.card_names) == ("GPU-1,GPU-2", ("A6000",))
    assert lay(cards(card(0), card(1))).cards is None
    environ = {"VLLM_LOGGING_LEVEL": "INFO"}
    prepare(environ, threads=None, cards=chosen.cards)
    assert (environ["CUDA_VISIBLE_DEVICES"], environ["VLLM_LOGGING_LEVEL"]) == ("GPU-1,GPU-2", "INFO")
    assert "OMP_NUM_THREADS" not in environ


def test_a_driver_too_old_for_the_installed_build_is_refused_with_both_ways_out() -> None:
    machine = recorded("rtx3090-cuda125")
    new = EngineFacts("vllm", "0.32.0", frozenset({"cuda"}), cuda=13, cuda_min_driver=580, cuda_min_capability=(7, 5))
    with pytest.raises(ModelError, match=r"update the driver, or pip install 'vllm==0\.13"):
        lay(machine, replace(MODEL, weight_bytes=8_000_000_000), new)


def test_a_card_that_others_use_gives_what_is_left() -> None:
    """vLLM asks for nine tenths of a card, and does not start where others hold more than the last tenth."""
    held = lay(cards(replace(card(memory=48), free=30 * GIB)))
    assert held.gpu_memory == 0.60
    assert "other processes hold memory of A6000: vLLM takes 60% of it" in held.notes[-1]
    assert layout.facts(held)["gpu_memory"] == 0.60
    for free in (47, 45):  # a desktop's share is not worth a word
        idle = lay(cards(replace(card(memory=48), free=free * GIB)))
        assert (idle.gpu_memory, idle.notes) == (0.9, ())
    assert lay(cards(replace(card(memory=48), free=30 * GIB)), gpu_memory=0.8).gpu_memory == 0.8, "as it was told"
    small = lay(cards(replace(card(memory=8), free=int(7.7 * GIB))), replace(MODEL, weight_bytes=4_000_000_000))
    assert small.gpu_memory == 0.9, "an idle card of 8 GiB is idle"


def test_a_card_without_room_beside_others_is_refused_before_it_loads() -> None:
    for free in (0, 2, 14):
        told = rf"other processes hold {48 - free}\.0 of its 48\.0 GiB"
        with pytest.raises(ConfigurationError, match=told) as caught:
            lay(cards(replace(card(memory=48), free=free * GIB)))
        assert "nvidia-smi shows which" in caught.value.hint


def test_of_equal_cards_the_idle_ones_are_taken() -> None:
    busy, idle = replace(card(0), free=3 * GIB), replace(card(1), free=47 * GIB)
    chosen = lay(cards(busy, idle))
    assert (chosen.cards, chosen.gpu_memory, chosen.notes) == ("GPU-1", 0.9, ())
    shared = lay(cards(busy, replace(idle, free=40 * GIB)))
    assert (shared.cards, shared.gpu_memory) == ("GPU-1", 0.81)
    both = lay(cards(replace(busy, free=30 * GIB), idle), replace(MODEL, weight_bytes=50_000_000_000))
    assert (both.tensor_parallel_size, both.cards, both.gpu_memory) == (2, None, 0.6), "the fuller one decides"


def test_memory_that_a_dead_engine_gives_back_is_waited_for() -> None:
    looks = iter([3, 20, 47, 47])
    waits: list[float] = []
    machine = _settled(lambda: cards(replace(card(), free=next(looks) * GIB)), sleep=waits.append)
    assert (machine.gpus[0].free, len(waits)) == (47 * GIB, 2)
    looks = iter([3, 3, 47])
    machine = _settled(lambda: cards(replace(card(), free=next(looks) * GIB)), sleep=waits.append)
    assert (machine.gpus[0].free, len(waits)) == (3 * GIB, 3), "somebody else's is not waited for"
    assert _settled(lambda: cards(card()), sleep=waits.append).gpus == (card(),)
    assert len(waits) == 3


# -- what a failed start means -----------------------------------------------------------------------------------------

FREE = (
    "Free memory on device cuda:0 (31.44/47.38 GiB) on startup is less than desired GPU memory utilization "
    "(0.9, 42.64 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
)


@pytest.mark.parametrize(
    ("said", "told", "way"),
    [
        (FREE, "other processes hold 15.9 of the card's 47.38 GiB", "gpu_memory=0.64"),
        ("CUDA error: no kernel image is available for execution on the device", "no kernel", "pip install --upgrade"),
        ("Bfloat16 is only supported on GPUs with compute capability of at least 8.0", "Bfloat16", "dtype=float16"),
        ("The NVIDIA driver on your system is too old (found version 12040)", "too old", "update the NVIDIA driver"),
        ("No CUDA GPUs are available", "No CUDA GPUs", "CUDA_VISIBLE_DEVICES"),
        ("[Errno 28] No space left on device: '/dev/shm/psm_1'", "/dev/shm", "--shm-size"),
        ("CUDA out of memory. Tried to allocate 130.00 MiB", "no room for m with 6144", "end what else"),
        ("Missing 3 weights", "cannot load m: ValueError: Missing 3 weights", "fetch the checkpoint again"),
    ],
)
def test_a_failed_start_names_the_way_out(said: str, told: str, way: str) -> None:
    error = refusal("m", ValueError(said), "vllm 0.32.0", 6144)
    assert told in error.message
    assert way in error.hint


def test_a_workers_fault_is_found_in_what_it_printed(tmp_path: Path) -> None:
    """Of a fault in one of several cards' processes vLLM says only that there was one."""
    log = tmp_path / "log"
    log.write_text(
        "(Worker_TP1 pid=8) ERROR torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB\n"
        "ERROR Exception: WorkerProc initialization failed. See stack trace for root cause.\n",
        encoding="utf-8",
    )
    error = RuntimeError("WorkerProc initialization failed due to an exception. See stack trace for root cause.")
    with log.open("rb") as file:
        found = refusal("m", error, "vllm 0.32.0", 6144, printed(file.fileno()))
    assert "no room for m with 6144 tokens of context: torch.OutOfMemoryError: CUDA out of memory" in found.message
    assert "WorkerProc" in refusal("m", error, "vllm 0.32.0", 6144).message, "where nothing was kept"
    reader, writer = os.pipe()
    assert printed(reader) == ""
    os.close(reader)
    os.close(writer)


# -- batch -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "slots", "tokens"), [(8, 64, 2048), (24, 128, 4096), (80, 256, 8192), (141, 512, 16_384)]
)
def test_batches_grow_with_the_memory_of_a_card(memory: int, slots: int, tokens: int) -> None:
    small = replace(MODEL, weight_bytes=2_000_000_000)
    laid = lay(cards(card(memory=memory)), small)
    assert (laid.slots, laid.batched_tokens, laid.eager, laid.gpu_memory) == (slots, tokens, False, 0.9)
    chosen = lay(cards(card(memory=memory)), small, slots=9, batched_tokens=4000, gpu_memory=0.8, eager=True)
    assert (chosen.slots, chosen.batched_tokens, chosen.eager, chosen.gpu_memory) == (9, 4000, True, 0.8)


def test_a_step_holds_a_token_of_every_answer() -> None:
    assert lay(cards(card()), slots=300, batched_tokens=100).batched_tokens == 300


def test_on_a_cpu_keys_and_values_get_what_they_need_and_never_more_than_a_quarter() -> None:
    there = Hardware(system="Linux", architecture="x86_64", memory=64 * GIB, cores=8)
    token = MODEL.kv_bytes or 0
    assert token == 131_072
    laid = lay(there, engine=CPU)
    assert (laid.device, laid.eager, laid.tensor_parallel_size, laid.slots) == ("cpu", True, 1, 32)
    assert laid.cache_bytes == 16 * GIB
    assert lay(there, engine=CPU, slots=2).cache_bytes == token * (2 * 6144 + 256)
    wide = lay(there, engine=CPU, slots=2, dtype="float32")
    assert (wide.dtype, wide.cache_bytes) == ("float32", 2 * token * (2 * 6144 + 256))
    assert lay(there, engine=CPU, cache_gib=3).cache_bytes == 3 * GIB
    assert lay(there, replace(MODEL, kv_layers=None), CPU).cache_bytes == 16 * GIB
    with pytest.raises(ModelError, match="above 85%"):
        lay(replace(there, memory=16 * GIB), engine=CPU)


# -- context -----------------------------------------------------------------------------------------------------------


def test_what_is_started_for() -> None:
    assert context.first(2048, told=None, limit=131_072) == 6144
    assert context.first(2048, told=2960, limit=131_072) == 2960
    assert context.first(2048, told=2960, limit=2048) == 2048
    assert context.first(16, told=None, limit=None) == 4112
    assert context.first(2048, told=None, limit=131_072, switch=10_000) == 10_001


def test_growth_leaves_room_so_that_it_is_rare() -> None:
    assert context.grown(7000, 2048, limit=131_072) == 2 * (7000 - 2048) + 2048
    assert context.grown(7000, 2048, limit=8000) == 8000
    assert context.grown(101, 100, limit=None) >= 101


def test_a_context_above_which_positions_rotate_otherwise_is_read_from_the_configuration() -> None:
    rope = {"type": "longrope", "long_factor": [1.0]}
    assert context.switch({"rope_scaling": rope, "original_max_position_embeddings": 4096}) == 4096
    assert context.switch({"rope_parameters": {"rope_type": "longrope", "original_max_position_embeddings": 99}}) == 99
    assert context.switch({"rope_scaling": {"type": "yarn"}, "original_max_position_embeddings": 4096}) == 0
    assert context.switch({"rope_scaling": None}) == 0
