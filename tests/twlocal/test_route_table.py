"""Every model of the registry on every recorded machine: the route, worked out by hand.

How it was worked out (1 GiB = 2^30, 1 MiB = 2^20 bytes; sizes in GB = 10^9 bytes):

weights   parameters × 2 (bfloat16), × 1 (FP8); 3B 6.43, 4B 8.60, Breeze 14.98, Qwen2.5 15.23, 8B 16.06,
          Qwen3-8B 16.38, 12B 24.37, TAIDE-12b 24.8, 27B 54 to 55.6, gemma-4-31B 62.6, 70B 141.1, Nemotron 241.2,
          405B-FP8 487, Mistral Large 675.5; gpt-oss by its card: 13.75 and 65.3. GGUF: gemma-3-4b 7.77 (no vision
          tower)
Mac       Metal's default: 2/3 of the memory to 32 GB, 3/4 above: 5.73, 11.45, 38.65, 103.1, 206.2, 412.3; raised on
          256 GB to 229,376 MiB = 240.5. MLX does not read FP8. vLLM never
cards     RTX 3090 25.77, 4090 25.76, 4070 12.88, T4 16.11, A100 42.95 and 85.90, H100 85.52, H200 150.8, B200 192.3
share     to 0.70 it fits, to 0.85 it is tight, above it is refused; the smallest group with room, else the largest
          that is tight
groups    sizes that divide every head count: Nemotron has 2 KV heads, so two cards at most, whatever there is
driver    from 580: current vLLM; from 525: 0.13, which knows neither gemma-4 (0.19) nor Qwen 3.5/3.6 (0.17)
T4        no bfloat16: float16, and float32 for Gemma (4.3B × 4 = 17.2 > 16.11: refused, so llama.cpp takes the
          GGUF); no FP8, no MXFP4
CPU       llama.cpp where a GGUF is known: 16.5 GB laptop, 33.6 GB, 16.7 GB (WSL); 65.3 in 135 GB beside two 3090s
Breeze2   refused everywhere until its vision tower is taken away
"""

from __future__ import annotations

from pathlib import Path

import pytest

from twlocal import engines, hardware, registry
from twlocal.route import Route, Wishes, decide

MACHINES = Path(__file__).parents[1] / "data" / "machines"

NAMES = {
    "mistral-675b": "mistralai/Mistral-Large-3-675B-Instruct-2512",
    "llama-405b": "meta-llama/Llama-3.1-405B-Instruct-FP8",
    "gemma-4-31b": "google/gemma-4-31B-it",
    "nemotron": "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16",
    "gemma-27b": "google/gemma-3-27b-it",
    "oss-120b": "openai/gpt-oss-120b",
    "llama-70b": "meta-llama/Llama-3.3-70B-Instruct",
    "qwen3.8": "Qwen/Qwen3.8-27B",
    "t1": "twinkle-ai/gemma-3-4B-T1-it",
    "f1": "twinkle-ai/Llama-3.2-3B-F1-Instruct",
    "f1-reasoning": "twinkle-ai/Llama-3.2-3B-F1-Reasoning-Instruct",
    "taide-8b": "taide/Llama-3.1-TAIDE-LX-8B-Chat",
    "taide-12b": "taide/Gemma-3-TAIDE-12b-Chat",
    "breeze-7b": "MediaTek-Research/Breeze-7B-Instruct-v1_0",
    "breeze2-3b": "MediaTek-Research/Llama-Breeze2-3B-Instruct",
    "breeze2-8b": "MediaTek-Research/Llama-Breeze2-8B-Instruct",
    "taiwan-8b": "yentinglin/Llama-3-Taiwan-8B-Instruct",
    "taiwan-70b": "yentinglin/Llama-3-Taiwan-70B-Instruct",
    "llama-3b": "meta-llama/Llama-3.2-3B-Instruct",
    "llama-8b": "meta-llama/Llama-3.1-8B-Instruct",
    "gemma-270m": "google/gemma-3-270m-it",
    "gemma-1b": "google/gemma-3-1b-it",
    "gemma-4b": "google/gemma-3-4b-it",
    "gemma-12b": "google/gemma-3-12b-it",
    "qwen2.5-7b": "Qwen/Qwen2.5-7B-Instruct",
    "qwen3-8b": "Qwen/Qwen3-8B",
    "qwen3.6": "Qwen/Qwen3.6-27B",
    "oss-20b": "openai/gpt-oss-20b",
    "smollm2": "HuggingFaceTB/SmolLM2-135M-Instruct",
    "demo": "smollm2-135m",
}

# What fits where, in steps of size.
TINY = "gemma-270m gemma-1b smollm2"
THREE_B = "f1 f1-reasoning llama-3b"
FOUR_B = "gemma-4b t1"
EIGHT_B = "taide-8b taiwan-8b llama-8b breeze-7b qwen2.5-7b qwen3-8b"
TWELVE_B = "gemma-12b taide-12b"
TO_24_GB = f"{TINY} {THREE_B} {FOUR_B} {EIGHT_B} oss-20b"
BIG = "gemma-27b qwen3.8"
HUGE = "llama-70b taiwan-70b nemotron"
FP8 = "mistral-675b llama-405b"
BREEZE2 = "breeze2-3b breeze2-8b"
NEWER = "gemma-4-31b qwen3.6"  # than vLLM 0.13
WITHOUT_GGUF = (
    "gemma-270m smollm2 t1 f1 taide-8b taiwan-8b llama-8b breeze-7b qwen3-8b gemma-12b taide-12b gemma-27b qwen3.8 "
    f"gemma-4-31b qwen3.6 {HUGE} {FP8} {BREEZE2}"
)
MAC = {"llama_cpp metal": "demo", "- mlx:mlx_fp8": FP8, "- mlx:vision_tower": BREEZE2}
NVIDIA = {"llama_cpp cuda": "demo", "- vllm:vision_tower": BREEZE2}

EXPECTED: dict[str, dict[str, str]] = {
    "m1-8gb": MAC
    | {
        "mlx": TINY,
        "- mlx:too_big": f"{THREE_B} {FOUR_B} {EIGHT_B} oss-20b {TWELVE_B} {BIG} {NEWER} oss-120b {HUGE}",
    },
    "m2-16gb": MAC
    | {
        "mlx": f"{TINY} {THREE_B}",
        "mlx tight": FOUR_B,
        "- mlx:too_big": f"{EIGHT_B} oss-20b {TWELVE_B} {BIG} {NEWER} oss-120b {HUGE}",
    },
    "m4-pro-48gb": MAC | {"mlx": f"{TO_24_GB} {TWELVE_B}", "- mlx:too_big": f"{BIG} {NEWER} oss-120b {HUGE}"},
    "m4-max-128gb": MAC | {"mlx": f"{TO_24_GB} {TWELVE_B} {BIG} {NEWER} oss-120b", "- mlx:too_big": HUGE},
    "m3-ultra-256gb": MAC
    | {
        "mlx": f"{TO_24_GB} {TWELVE_B} {BIG} {NEWER} oss-120b llama-70b taiwan-70b",
        "- mlx:too_big": "nemotron",
    },
    "m3-ultra-256gb-raised": MAC
    | {
        "mlx": f"{TO_24_GB} {TWELVE_B} {BIG} {NEWER} oss-120b llama-70b taiwan-70b",
        "- mlx:too_big": "nemotron",
    },
    "m3-ultra-512gb": MAC | {"mlx": f"{TO_24_GB} {TWELVE_B} {BIG} {NEWER} oss-120b {HUGE}"},
    "rtx3090-cuda125": NVIDIA
    | {
        "vllm": TO_24_GB,
        "- vllm:too_big": f"{TWELVE_B} {BIG} oss-120b {HUGE} {FP8}",
        "- vllm:architecture_unknown_since": NEWER,
    },
    "rtx4090": NVIDIA | {"vllm": TO_24_GB, "- vllm:too_big": f"{TWELVE_B} {BIG} {NEWER} oss-120b {HUGE} {FP8}"},
    "2x3090": NVIDIA
    | {
        "vllm": TO_24_GB,
        "vllm tp=2": TWELVE_B,
        "llama_cpp cpu": "oss-120b",
        "- vllm:too_big": f"{BIG} {NEWER} {HUGE} {FP8}",
    },
    "t4": {
        "vllm float32": "gemma-270m gemma-1b",
        "vllm float16": f"{THREE_B} smollm2",
        "llama_cpp cuda": "gemma-4b demo",
        "- vllm:too_big": f"t1 {EIGHT_B} {TWELVE_B} {BIG} {HUGE}",
        "- vllm:format_too_new": f"oss-20b oss-120b {FP8}",
        "- vllm:architecture_unknown_since": NEWER,
        "- vllm:vision_tower": BREEZE2,
    },
    "a100-40gb": NVIDIA
    | {
        "vllm": f"{TO_24_GB} {TWELVE_B}",
        "llama_cpp cpu tight": "oss-120b",
        "- vllm:too_big": f"{BIG} {HUGE} {FP8}",
        "- vllm:architecture_unknown_since": NEWER,
    },
    "a100-80gb": NVIDIA
    | {
        "vllm": f"{TO_24_GB} {TWELVE_B} {BIG} qwen3.6",
        "vllm tight": "gemma-4-31b oss-120b",
        "- vllm:too_big": f"{HUGE} {FP8}",
    },
    "h100": NVIDIA
    | {
        "vllm": f"{TO_24_GB} {TWELVE_B} {BIG} qwen3.6",
        "vllm tight": "gemma-4-31b oss-120b",
        "- vllm:too_big": f"{HUGE} {FP8}",
    },
    "8xh100": NVIDIA
    | {
        "vllm": f"{TO_24_GB} {TWELVE_B} {BIG} qwen3.6",
        "vllm tp=2": "gemma-4-31b oss-120b",
        "vllm tp=4": "llama-70b taiwan-70b",
        "vllm tp=8 tight": "llama-405b",
        "- vllm:too_big": "mistral-675b",
        "- vllm:heads": "nemotron",
    },
    "h200": NVIDIA | {"vllm": f"{TO_24_GB} {TWELVE_B} {BIG} {NEWER} oss-120b", "- vllm:too_big": f"{HUGE} {FP8}"},
    "8xh200": NVIDIA
    | {
        "vllm": f"{TO_24_GB} {TWELVE_B} {BIG} {NEWER} oss-120b",
        "vllm tp=2": "llama-70b taiwan-70b",
        "vllm tp=2 tight": "nemotron",
        "vllm tp=8": FP8,
    },
    "8xb200": NVIDIA
    | {
        "vllm": f"{TO_24_GB} {TWELVE_B} {BIG} {NEWER} oss-120b",
        "vllm tp=2": HUGE,
        "vllm tp=4": "llama-405b",
        "vllm tp=8": "mistral-675b",
    },
    "wsl-rtx4070": NVIDIA
    | {
        "vllm": f"{TINY} {THREE_B} {FOUR_B}",
        "llama_cpp cpu tight": "oss-20b",
        "- vllm:too_big": f"{EIGHT_B} {TWELVE_B} {BIG} {NEWER} oss-120b {HUGE} {FP8}",
    },
    "laptop-no-gpu": {
        "llama_cpp cpu": "llama-3b gemma-1b gemma-4b demo",
        "llama_cpp cpu tight": "oss-20b",
        "- llama_cpp:too_big": "qwen2.5-7b oss-120b",
        "- llama_cpp:gguf_unnamed": "f1-reasoning",
        "- llama_cpp:no_gguf": WITHOUT_GGUF,
    },
    "driver-broken": {
        "llama_cpp cpu": "llama-3b gemma-1b gemma-4b qwen2.5-7b oss-20b demo",
        "- llama_cpp:too_big": "oss-120b",
        "- llama_cpp:gguf_unnamed": "f1-reasoning",
        "- llama_cpp:no_gguf": WITHOUT_GGUF,
    },
    "gtx1080ti-old-driver": {
        "llama_cpp cuda": "llama-3b gemma-1b gemma-4b demo",
        "llama_cpp cpu": "qwen2.5-7b oss-20b",
        "- llama_cpp:too_big": "oss-120b",
        "- vllm:driver_too_old": f"f1-reasoning {WITHOUT_GGUF}",
    },
}

CASES = [
    (machine, name, label)
    for machine, routes in EXPECTED.items()
    for label, names in routes.items()
    for name in names.split()
]


def recorded(name: str) -> hardware.Hardware:
    path = next(MACHINES.glob(f"{name}.*"))
    data = hardware.load(path)
    return hardware.from_recording(data["outputs"], name=data["name"])


def label_of(route: Route) -> str:
    """A route in the words of the table."""
    taken = route.verdicts[0]
    words = [taken.engine, taken.device if taken.engine == "llama_cpp" else ""]
    size = route.settings.get("tensor_parallel_size", 1)
    words += [f"tp={size}" if size > 1 else "", route.settings.get("dtype", "")]
    words += ["tight" if any(reason.code == "tight" for reason in taken.reasons) else ""]
    return " ".join(filter(None, words))


@pytest.fixture(scope="module")
def known() -> registry.Registry:
    return registry.load({})


@pytest.fixture(scope="module")
def machines() -> dict[str, hardware.Hardware]:
    return {name: recorded(name) for name in EXPECTED}


@pytest.mark.parametrize(("machine", "name", "label"), CASES, ids=[f"{one}-{name}" for one, name, _ in CASES])
def test_route(
    machine: str,
    name: str,
    label: str,
    known: registry.Registry,
    machines: dict[str, hardware.Hardware],
) -> None:
    there = machines[machine]
    route = decide(known.get(NAMES[name]), there, engines.planned(there), Wishes(token=True))
    assert {verdict.engine for verdict in route.verdicts} == {"llama_cpp", "mlx", "vllm"}
    refused = [verdict for verdict in route.verdicts if verdict.engine != route.engine]
    assert all(any(reason.level == "no" for reason in verdict.reasons) for verdict in refused), "each one says why not"
    if not label.startswith("- "):
        assert (route.engine, label_of(route)) == (label.split()[0], label)
        return
    engine, code = label.removeprefix("- ").split(":")
    assert route.engine is None
    verdict = next(verdict for verdict in route.verdicts if verdict.engine == engine)
    assert code in [reason.code for reason in verdict.reasons if reason.level == "no"]


def test_every_model_on_every_machine(known: registry.Registry) -> None:
    assert sorted(NAMES.values()) == sorted(known.models)
    assert len(EXPECTED) >= 12
    assert sorted(EXPECTED) == sorted(path.stem for path in MACHINES.iterdir())
    for machine, routes in EXPECTED.items():
        names = [name for names in routes.values() for name in names.split()]
        assert sorted(names) == sorted(NAMES), machine
