"""What a machine has: chip, memory, graphics cards, driver, disk. Pure parsing of system tools' outputs, and one probe.

A *recording* holds the tools' outputs as text, so that a run on another machine can be planned here and every machine
can be a test. Its keys are those of RECORDED; the probe makes one, `from_recording` reads one:

    {"name": "Mac Studio", "outputs": {"uname": "Darwin …", "sysctl": "hw.memsize: …", "nvidia_smi": "index, name, …"}}
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from twlocal.errors import UsageError

MIB = 1 << 20
GIB = 1 << 30

_GPU_FIELDS = "index,uuid,name,memory.total,memory.free,driver_version,compute_cap,mig.mode.current"
_OLD_GPU_FIELDS = "index,uuid,name,memory.total,memory.free,driver_version"  # what drivers before 2021 can tell
# What the probe asks, and under which name a recording keeps it.
RECORDED: Mapping[str, tuple[str, ...]] = {
    "uname": ("uname", "-srm"),
    "sysctl": ("sysctl", "machdep.cpu.brand_string", "hw.memsize", "hw.ncpu", "iogpu.wired_limit_mb"),
    "system_profiler": ("system_profiler", "SPHardwareDataType", "-json"),
    "nvidia_smi": ("nvidia-smi", f"--query-gpu={_GPU_FIELDS}", "--format=csv"),
    "nproc": ("nproc",),
    "df": ("df", "-Pk"),
}
# Read or copied by the probe rather than asked of a tool. `metal` is the JSON of mlx's `mx.device_info()`.
OTHERS = ("meminfo", "cuda_visible_devices", "cuda_device_order", "metal")


@dataclass(frozen=True, slots=True)
class Gpu:
    """An NVIDIA card. Memory in bytes; None for what the driver does not tell (unified memory, an old driver, MIG).

    free: what of it no process held when the driver was asked.
    """

    index: int
    name: str
    memory: int | None = None
    capability: tuple[int, int] | None = None
    uuid: str = ""
    mig: bool = False
    free: int | None = None


@dataclass(frozen=True, slots=True)
class Apple:
    """An Apple chip. wired_limit: bytes set by iogpu.wired_limit_mb, None at its default. working_set: bytes as Metal

    tells them, None where it was not asked.
    """

    chip: str
    wired_limit: int | None = None
    working_set: int | None = None


@dataclass(frozen=True)
class Hardware:
    """A machine. Memory and disk in bytes, None where not known. gpus: those that CUDA_VISIBLE_DEVICES leaves.

    hidden: how many cards it takes away. driver: of NVIDIA, such as (555, 42, 6). problem: why there is a card but no
    use of it, in the tool's own words. notes: codes of what is odd (wsl, mig, device_order, no_such_device).
    """

    name: str = ""
    system: str = ""
    architecture: str = ""
    wsl: bool = False
    memory: int | None = None
    cores: int | None = None
    disk_free: int | None = None
    apple: Apple | None = None
    gpus: tuple[Gpu, ...] = ()
    hidden: int = 0
    driver: tuple[int, ...] | None = None
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def translated(self) -> bool:
        """Whether this is an Apple chip seen by a program for Intel processors (Rosetta)."""
        return self.apple is not None and self.architecture in ("x86_64", "i386")

    @property
    def metal(self) -> int | None:
        """Bytes that Metal may hold in memory on this Mac: as set, as Metal told, or its default by memory size."""
        if self.apple is None:
            return None
        if self.apple.wired_limit:
            return self.apple.wired_limit
        return self.apple.working_set or default_working_set(self.memory)

    @property
    def raised_limit_mb(self) -> int | None:
        """The highest iogpu.wired_limit_mb that leaves macOS an eighth of the memory: 229,376 on 256 GB."""
        return self.memory * 7 // 8 // MIB if self.apple is not None and self.memory else None


def default_working_set(memory: int | None) -> int | None:
    """Bytes of Metal's recommended working set at its default: two thirds of the memory up to 32 GB, above it three

    quarters.

    What macOS gives on the machines it was read from (8 GB: 5.3 GiB, 64 GB: 48 GiB); newer ones may give more.
    """
    if memory is None:
        return None
    return memory * 2 // 3 if memory <= 32 * GIB else memory * 3 // 4


def parse_nvidia_smi(text: str) -> tuple[tuple[Gpu, ...], tuple[int, ...] | None, str]:
    """Cards, driver and complaint from `nvidia-smi --query-gpu=… --format=csv`, in any order of columns.

    The complaint is the tool's first line where it has no table (no driver, no devices), else "".
    """
    rows = list(csv.reader(line for line in text.splitlines() if line.strip()))
    if not rows:
        return (), None, ""
    header = [re.sub(r"\s*\[.*?\]", "", cell).strip() for cell in rows[0]]
    if "name" not in header:
        return (), None, ",".join(rows[0]).strip()
    gpus: list[Gpu] = []
    driver = None
    for number, row in enumerate(rows[1:]):
        cells = {name: cell.strip() for name, cell in zip(header, row, strict=False)}
        if not cells.get("name"):
            continue
        driver = parse_version(cells.get("driver_version", "")) or driver
        mig = cells.get("mig.mode.current", "") == "Enabled"
        index = cells.get("index", "")
        gpus.append(
            Gpu(
                index=int(index) if index.isdigit() else number,
                name=cells["name"],
                # The whole card's memory says nothing of the slice that a process gets.
                memory=None if mig else _mebibytes(cells.get("memory.total", "")),
                capability=_capability(cells.get("compute_cap", "")),
                uuid=cells.get("uuid", ""),
                mig=mig,
                free=None if mig else _mebibytes(cells.get("memory.free", ""), least=0),
            )
        )
    return tuple(gpus), driver, ""


def parse_version(text: str) -> tuple[int, ...] | None:
    """The numbers at the start of a version: "555.42.06" is (555, 42, 6); None where it does not start with one."""
    match = re.match(r"\s*(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in match[1].split(".")) if match else None


def _mebibytes(text: str, *, least: int = 1) -> int | None:
    match = re.match(r"(\d+)(?:\s*MiB)?$", text)
    return int(match[1]) * MIB if match and int(match[1]) >= least else None


def _capability(text: str) -> tuple[int, int] | None:
    match = re.match(r"(\d+)\.(\d+)$", text)
    return (int(match[1]), int(match[2])) if match else None


def visible(gpus: Sequence[Gpu], devices: str | None) -> tuple[Gpu, ...]:
    """The cards that CUDA_VISIBLE_DEVICES leaves, in its order: indices or beginnings of UUIDs, up to the first that is

    no card, as CUDA itself does. None (not set) leaves all; an empty value none.
    """
    if devices is None:
        return tuple(gpus)
    seen: list[Gpu] = []
    for entry in devices.split(","):
        entry = entry.strip()
        if entry.isdigit():
            found = [gpu for gpu in gpus if gpu.index == int(entry)]
        elif entry.startswith("MIG-"):
            found = [gpu for gpu in gpus if gpu.mig]  # which one only the driver knows, so only where there is one
        else:
            found = [gpu for gpu in gpus if entry.startswith("GPU-") and gpu.uuid.startswith(entry)]
        if len(found) != 1 or found[0] in seen:
            break
        seen.append(found[0])
    return tuple(seen)


def parse_sysctl(text: str) -> dict[str, str]:
    """Names and values of `sysctl NAME…`, in either spelling ("name: value", "name=value")."""
    pairs = (re.match(r"([\w.]+)\s*[:=]\s*(.*)", line.strip()) for line in text.splitlines())
    return {pair[1]: pair[2].strip() for pair in pairs if pair}


def parse_system_profiler(text: str) -> tuple[str, int | None]:
    """Chip and memory in bytes from `system_profiler SPHardwareDataType -json`; "" and None where it does not say."""
    try:
        entry = json.loads(text)["SPHardwareDataType"][0]
    except (ValueError, KeyError, IndexError, TypeError):
        return "", None
    chip = str(entry.get("chip_type") or entry.get("cpu_type") or "")
    memory = re.match(r"(\d+)\s*(GB|TB)$", str(entry.get("physical_memory", "")))
    return chip, int(memory[1]) * GIB * (1024 if memory[2] == "TB" else 1) if memory else None


def parse_meminfo(text: str) -> int | None:
    """Bytes of memory from /proc/meminfo."""
    match = re.search(r"^MemTotal:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def parse_uname(text: str) -> tuple[str, str, bool]:
    """System, architecture and whether it is Linux under Windows, from `uname -srm` or `uname -a`."""
    words = text.split()
    if not words:
        return "", "", False
    known = [word for word in words if word in ("x86_64", "arm64", "aarch64", "amd64", "i686", "ppc64le", "riscv64")]
    return words[0], known[-1] if known else words[-1], "microsoft" in text.casefold()


def parse_df(text: str) -> int | None:
    """Bytes free where models are kept, from the last line of `df -Pk FOLDER`."""
    match = re.search(r"\s(\d+)\s+(\d+)\s+(-?\d+)\s+\d+%\s+\S.*$", text.strip())
    return max(int(match[3]), 0) * 1024 if match else None


def from_recording(outputs: Mapping[str, str], *, name: str = "") -> Hardware:
    """A machine from its tools' outputs (see RECORDED); what is missing is not known. Pure.

    Raises UsageError for a key that no tool has, and where nothing in it describes a machine.
    """
    unknown = sorted(set(outputs) - set(RECORDED) - set(OTHERS))
    if unknown:
        raise UsageError(
            f"the recording {name or '(no name)'} has an output {unknown[0]!r}",
            hint=f"it may have: {', '.join((*RECORDED, *OTHERS))}",
        )
    if not any(outputs.get(key, "").strip() for key in ("uname", "sysctl", "system_profiler", "nvidia_smi", "meminfo")):
        raise UsageError(
            f"the recording {name or '(no name)'} describes no machine", hint="twlocal doctor --record FILE"
        )
    system, architecture, wsl = parse_uname(outputs.get("uname", ""))
    every, driver, complaint = parse_nvidia_smi(outputs.get("nvidia_smi", ""))
    devices = outputs.get("cuda_visible_devices")
    gpus = visible(every, devices)
    notes = ["wsl"] if wsl else []
    if any(gpu.mig for gpu in gpus):
        notes.append("mig")
    if devices and devices.strip() != "-1" and len(gpus) < len(devices.split(",")):
        notes.append("no_such_device")
    indices = devices is not None and any(entry.strip().isdigit() for entry in devices.split(","))
    if indices and len({gpu.name for gpu in every}) > 1 and outputs.get("cuda_device_order") != "PCI_BUS_ID":
        # CUDA then counts the fastest card first, nvidia-smi by slot: index 0 may be another card.
        notes.append("device_order")
    machine = Hardware(
        name=name,
        system=system,
        architecture=architecture,
        wsl=wsl,
        memory=parse_meminfo(outputs.get("meminfo", "")),
        cores=_count(outputs.get("nproc", "")),
        disk_free=parse_df(outputs.get("df", "")),
        gpus=gpus,
        hidden=len(every) - len(gpus),
        driver=driver,
        problem=complaint,
        notes=tuple(notes),
    )
    return _with_apple(machine, outputs)


def _with_apple(machine: Hardware, outputs: Mapping[str, str]) -> Hardware:
    told = parse_sysctl(outputs.get("sysctl", ""))
    profiled, memory = parse_system_profiler(outputs.get("system_profiler", ""))
    chip = profiled or told.get("machdep.cpu.brand_string", "")
    memory = _count(told.get("hw.memsize", "")) or memory
    machine = replace(machine, memory=memory or machine.memory, cores=_count(told.get("hw.ncpu", "")) or machine.cores)
    if not chip.startswith("Apple"):
        return machine
    limit = _count(told.get("iogpu.wired_limit_mb", ""))
    return replace(
        machine,
        system=machine.system or "Darwin",
        architecture=machine.architecture or "arm64",
        apple=Apple(chip, limit * MIB if limit else None, _metal(outputs.get("metal", ""))),
    )


def _metal(text: str) -> int | None:
    try:
        value = json.loads(text)["max_recommended_working_set_size"]
    except (ValueError, KeyError, TypeError):
        return None
    return value if isinstance(value, int) and value > 0 else None


def _count(text: str) -> int | None:
    return int(text) if text.strip().isdigit() else None


def load(path: Path) -> dict[str, Any]:
    """A recording from a .toml or .json file: `outputs` and what else it says (name, token, engines).

    Raises UsageError, naming the file.
    """
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the recording {path} cannot be read: {error}", hint="twlocal doctor --record FILE writes one"
        ) from error
    outputs = data.get("outputs") if isinstance(data, dict) else None
    if not isinstance(outputs, dict) or not all(isinstance(value, str) for value in outputs.values()):
        raise UsageError(
            f"the recording {path} has no table `outputs` of texts", hint="twlocal doctor --record FILE writes one"
        )
    return data


def probe(
    folder: Path,
    environ: Mapping[str, str],
    *,
    ask: Callable[[Sequence[str]], str] | None = None,
    meminfo: Path = Path("/proc/meminfo"),
) -> dict[str, str]:
    """Ask this machine's tools: the outputs of a recording. `folder`: where models are kept, for the free disk space.

    A tool that is not there leaves no output; one that hangs is given up after ten seconds.
    """
    ask = ask or _ask
    outputs = {}
    for name, words in RECORDED.items():
        if name in ("sysctl", "system_profiler") and sys.platform != "darwin":
            continue
        text = ask((*words, str(folder)) if name == "df" else words)
        if name == "nvidia_smi" and "not a valid field" in text:
            text = ask((words[0], f"--query-gpu={_OLD_GPU_FIELDS}", *words[2:]))
        if text:
            outputs[name] = text
    with contextlib.suppress(OSError):
        # Two lines are enough, and the rest changes from second to second.
        outputs["meminfo"] = "".join(meminfo.read_text(encoding="utf-8").splitlines(keepends=True)[:2])
    for variable in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
        if variable in environ:
            outputs[variable.lower()] = environ[variable]
    if sys.platform == "darwin":
        code = "import json, mlx.core as mx; print(json.dumps(mx.device_info(), default=str))"
        if text := ask((sys.executable, "-c", code)):
            outputs["metal"] = text
    return outputs


def _ask(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=10,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    # The exit status does not count: nvidia-smi tells its troubles on standard output, and a name that this macOS does
    # not have fails the sysctl that printed the others.
    return done.stdout
