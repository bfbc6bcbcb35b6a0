"""Machines from what their tools print."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from twlocal import hardware
from twlocal.errors import UsageError
from twlocal.hardware import GIB, MIB, Apple, Gpu, Hardware, from_recording, load, probe

MACHINES = Path(__file__).parents[1] / "data" / "machines"
TWO = """index, uuid, name, memory.total [MiB], driver_version, compute_cap, mig.mode.current
0, GPU-aaaa1111-0000, NVIDIA GeForce RTX 4090, 24564 MiB, 580.95.05, 8.9, [N/A]
1, GPU-bbbb2222-0000, NVIDIA GeForce RTX 3090, 24576 MiB, 580.95.05, 8.6, [N/A]
"""


def recorded(name: str) -> Hardware:
    data = load(next(MACHINES.glob(f"{name}.*")))
    return from_recording(data["outputs"], name=data["name"])


# ── recorded machines ─────────────────────────────────────────────────────────────────────────────────────────────


def test_mac_studio() -> None:
    mac = recorded("m3-ultra-256gb")
    assert (mac.system, mac.architecture, mac.cores, mac.memory) == ("Darwin", "arm64", 28, 256 * GIB)
    assert mac.apple == Apple("Apple M3 Ultra", None, None)
    assert mac.gpus == ()
    assert mac.metal == 192 * GIB
    assert mac.raised_limit_mb == 229376, "what the Mac runner told people to set"
    assert mac.disk_free == 1500 * GIB


def test_mac_studio_with_its_limit_raised() -> None:
    mac = recorded("m3-ultra-256gb-raised")
    assert mac.metal == 229376 * MIB


def test_rtx_3090_with_the_driver_of_cuda_12_5() -> None:
    machine = recorded("rtx3090-cuda125")
    assert machine.driver == (555, 42, 6)
    assert [(gpu.name, gpu.memory, gpu.capability) for gpu in machine.gpus] == [
        ("NVIDIA GeForce RTX 3090", 24576 * MIB, (8, 6))
    ]
    assert (machine.wsl, machine.apple, machine.metal, machine.problem) == (False, None, None, "")
    assert machine.memory == 65711820 * 1024
    assert machine.cores == 24


def test_eight_h200() -> None:
    machine = recorded("8xh200")
    assert [gpu.index for gpu in machine.gpus] == list(range(8))
    assert {gpu.memory for gpu in machine.gpus} == {143771 * MIB}


def test_windows_beneath() -> None:
    machine = recorded("wsl-rtx4070")
    assert machine.wsl
    assert machine.notes == ("wsl",)
    assert machine.driver == (581, 57)


def test_a_driver_that_does_not_answer() -> None:
    machine = recorded("driver-broken")
    assert machine.gpus == ()
    assert machine.problem.startswith("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")


def test_an_old_driver_does_not_tell_the_capability() -> None:
    (card,) = recorded("gtx1080ti-old-driver").gpus
    assert (card.memory, card.capability, card.mig) == (11178 * MIB, None, False)


# ── nvidia-smi ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "gpus", "driver", "complaint"),
    [
        ("", (), None, ""),
        ("\n\n", (), None, ""),
        ("No devices were found\n", (), None, "No devices were found"),
        (
            'Field "compute_cap" is not a valid field to query.\n',
            (),
            None,
            'Field "compute_cap" is not a valid field to query.',
        ),
        ("name, memory.total [MiB]\n", (), None, ""),
        ("name, memory.total [MiB]\nTesla T4, 15360 MiB\n", (Gpu(0, "Tesla T4", 15360 * MIB),), None, ""),
        # Without units, in another order, with blanks and carriage returns.
        (
            "driver_version,memory.total,index,name\r\n550.54.15,15360,3,Tesla T4\r\n",
            (Gpu(3, "Tesla T4", 15360 * MIB),),
            (550, 54, 15),
            "",
        ),
        # Unified memory (DGX Spark): the driver does not say how much.
        (
            "index, name, memory.total [MiB], driver_version, compute_cap\n0, NVIDIA GB10, [N/A], 580.95.05, 12.1\n",
            (Gpu(0, "NVIDIA GB10", None, (12, 1)),),
            (580, 95, 5),
            "",
        ),
        # A divided card: its whole memory is not what a process gets.
        (
            "index, name, memory.total [MiB], mig.mode.current\n0, NVIDIA A100-SXM4-80GB, 81920 MiB, Enabled\n",
            (Gpu(0, "NVIDIA A100-SXM4-80GB", None, None, "", True),),
            None,
            "",
        ),
        # A row cut short, and one without a name.
        ("index, name, memory.total [MiB]\n0, Tesla T4\n1, , 3 MiB\n", (Gpu(0, "Tesla T4"),), None, ""),
    ],
)
def test_nvidia_smi(text: str, gpus: tuple[Gpu, ...], driver: tuple[int, ...] | None, complaint: str) -> None:
    assert hardware.parse_nvidia_smi(text) == (gpus, driver, complaint)


@pytest.mark.parametrize(
    ("devices", "left"),
    [
        (None, [0, 1]),
        ("0", [0]),
        ("1,0", [1, 0]),
        (" 1 , 0 ", [1, 0]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("0,-1,1", [0]),  # CUDA stops at the first that is none
        ("0,7,1", [0]),
        ("0,0", [0]),
        ("GPU-bbbb", [1]),
        ("GPU-bbbb2222-0000,GPU-aaaa", [1, 0]),
        ("GPU-", []),  # means both
        ("GPU-cccc", []),
        ("MIG-aaaa", []),
    ],
)
def test_cuda_visible_devices(devices: str | None, left: list[int]) -> None:
    gpus, _, _ = hardware.parse_nvidia_smi(TWO)
    assert [gpu.index for gpu in hardware.visible(gpus, devices)] == left


def test_a_slice_of_a_divided_card_is_that_card() -> None:
    gpus, _, _ = hardware.parse_nvidia_smi("index, name, mig.mode.current\n0, A100, Enabled\n1, A30, Disabled\n")
    assert [gpu.name for gpu in hardware.visible(gpus, "MIG-3f2a")] == ["A100"]


def test_hidden_cards_and_what_is_odd_are_noted() -> None:
    outputs = {"nvidia_smi": TWO, "uname": "Linux 6.8.0 x86_64"}
    assert from_recording(outputs).notes == ()
    hidden = from_recording(outputs | {"cuda_visible_devices": ""})
    assert (hidden.gpus, hidden.hidden, hidden.notes) == ((), 2, ())
    assert from_recording(outputs | {"cuda_visible_devices": "-1"}).notes == ()
    # Different cards by number: CUDA counts the fastest first, unless told otherwise.
    assert from_recording(outputs | {"cuda_visible_devices": "0"}).notes == ("device_order",)
    assert from_recording(outputs | {"cuda_visible_devices": "0", "cuda_device_order": "PCI_BUS_ID"}).notes == ()
    assert from_recording(outputs | {"cuda_visible_devices": "GPU-aaaa"}).notes == ()
    assert "no_such_device" in from_recording(outputs | {"cuda_visible_devices": "0,5"}).notes
    divided = outputs | {"nvidia_smi": "name, mig.mode.current\nA100, Enabled\n"}
    assert from_recording(divided).notes == ("mig",)


# ── the other tools ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("555.42.06", (555, 42, 6)), ("580", (580,)), ("0.13.0+cu128", (0, 13, 0)), ("[N/A]", None), ("", None)],
)
def test_versions(text: str, numbers: tuple[int, ...] | None) -> None:
    assert hardware.parse_version(text) == numbers


@pytest.mark.parametrize(
    ("memory", "limit"),
    [(8, 8 * GIB * 2 // 3), (16, 16 * GIB * 2 // 3), (32, 32 * GIB * 2 // 3), (36, 27 * GIB), (64, 48 * GIB)],
)
def test_metals_default(memory: int, limit: int) -> None:
    assert hardware.default_working_set(memory * GIB) == limit


def test_metal_tells_better_than_the_default_and_the_limit_better_than_both() -> None:
    outputs = {"sysctl": "machdep.cpu.brand_string: Apple M4 Max\nhw.memsize: 137438953472\n"}
    told = json.dumps({"max_recommended_working_set_size": 115448725504, "memory_size": 137438953472})
    assert from_recording(outputs).metal == 96 * GIB
    assert from_recording(outputs | {"metal": told}).metal == 115448725504
    assert from_recording(outputs | {"metal": "no JSON"}).metal == 96 * GIB
    assert from_recording(outputs | {"metal": "[1]"}).metal == 96 * GIB
    limited = {"sysctl": outputs["sysctl"] + "iogpu.wired_limit_mb: 110000\n", "metal": told}
    assert from_recording(limited).metal == 110000 * MIB
    assert hardware.default_working_set(None) is None
    assert from_recording({"sysctl": "machdep.cpu.brand_string: Apple M1\n"}).metal is None


def test_a_mac_by_system_profiler_alone() -> None:
    text = json.dumps({"SPHardwareDataType": [{"chip_type": "Apple M2 Ultra", "physical_memory": "192 GB"}]})
    mac = from_recording({"system_profiler": text})
    assert (mac.system, mac.architecture, mac.memory) == ("Darwin", "arm64", 192 * GIB)
    assert mac.apple is not None
    assert hardware.parse_system_profiler('{"SPHardwareDataType": [{"physical_memory": "1 TB"}]}') == ("", 1024 * GIB)
    for broken in ("", "{}", '{"SPHardwareDataType": []}', "null", '{"SPHardwareDataType": [{}]}'):
        assert hardware.parse_system_profiler(broken) == ("", None)


def test_a_mac_with_an_intel_chip_has_no_metal_to_count_on() -> None:
    mac = from_recording(
        {"uname": "Darwin 23.6.0 x86_64", "sysctl": "machdep.cpu.brand_string: Intel(R) Core(TM) i9\n"}
    )
    assert (mac.apple, mac.metal, mac.raised_limit_mb, mac.system) == (None, None, None, "Darwin")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Linux 6.8.0-60-generic x86_64\n", ("Linux", "x86_64", False)),
        ("Darwin 25.1.0 arm64", ("Darwin", "arm64", False)),
        ("Linux box 6.6.87.2-microsoft-standard-WSL2 #1 SMP x86_64 GNU/Linux", ("Linux", "x86_64", True)),
        ("Linux spark 6.11 #1 SMP aarch64 aarch64 aarch64 GNU/Linux", ("Linux", "aarch64", False)),
        ("", ("", "", False)),
    ],
)
def test_uname(text: str, told: tuple[str, str, bool]) -> None:
    assert hardware.parse_uname(text) == told


def test_meminfo_sysctl_and_df() -> None:
    assert hardware.parse_meminfo("MemTotal:       16138220 kB\nMemFree: 1 kB\n") == 16138220 * 1024
    assert hardware.parse_meminfo("nothing") is None
    assert hardware.parse_sysctl("hw.memsize=8\nhw.ncpu: 4\nsysctl: unknown oid 'iogpu.wired_limit_mb'\n") == {
        "hw.memsize": "8",
        "hw.ncpu": "4",
        "sysctl": "unknown oid 'iogpu.wired_limit_mb'",
    }
    header = "Filesystem 1024-blocks Used Available Capacity Mounted on\n"
    assert hardware.parse_df(header + "/dev/vda 264212084 27478312 78912600 26% /\n") == 78912600 * 1024
    assert hardware.parse_df(header + "//server/My Share 100 90 10 90% /Volumes/My Share\n") == 10 * 1024
    assert hardware.parse_df(header + "/dev/full 100 110 -10 100% /\n") == 0, "reserved blocks can be in use"
    assert hardware.parse_df("df: no such file") is None


# ── recordings ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_recording_reads() -> None:
    for path in MACHINES.iterdir():
        data = load(path)
        machine = from_recording(data["outputs"], name=data["name"])
        assert machine.name and machine.system and machine.memory, path.name


def test_a_recording_of_something_else_is_told() -> None:
    with pytest.raises(UsageError, match="an output 'nvidia-smi'"):
        from_recording({"nvidia-smi": TWO})
    with pytest.raises(UsageError, match="describes no machine"):
        from_recording({"nproc": "8"}, name="box")
    with pytest.raises(UsageError, match="describes no machine"):
        from_recording({})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", "not toml"),
        ("a.json", "{"),
        ("a.json", "[]"),
        ("a.json", '{"outputs": []}'),
        ("a.toml", "[outputs]\nnproc = 8\n"),
        ("a.toml", 'name = "box"\n'),
    ],
)
def test_a_file_that_is_no_recording_is_told(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "--record" in caught.value.hint


def test_a_recording_that_is_not_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path / "a.json")


# ── the probe ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_probe_keeps_what_tools_say_and_asks_old_drivers_again(tmp_path: Path) -> None:
    asked: list[Sequence[str]] = []

    def ask(words: Sequence[str]) -> str:
        asked.append(words)
        if words[0] == "nvidia-smi":
            old = "compute_cap" not in words[1]
            return "index, name\n0, Tesla K80\n" if old else 'Field "compute_cap" is not a valid field to query.\n'
        return {"uname": "Linux 5.4.0 x86_64\n", "nproc": "8\n"}.get(words[0], "")

    (tmp_path / "meminfo").write_text("MemTotal: 1024 kB\nMemFree: 512 kB\nBuffers: 1 kB\n", encoding="utf-8")
    outputs = probe(
        tmp_path, {"CUDA_VISIBLE_DEVICES": "0", "HF_TOKEN": "secret"}, ask=ask, meminfo=tmp_path / "meminfo"
    )
    assert outputs["nvidia_smi"].endswith("Tesla K80\n")
    assert outputs["cuda_visible_devices"] == "0"
    assert outputs["meminfo"] == "MemTotal: 1024 kB\nMemFree: 512 kB\n"
    assert ("df", "-Pk", str(tmp_path)) in asked
    assert "secret" not in json.dumps(outputs)
    assert [gpu.name for gpu in from_recording(outputs).gpus] == ["Tesla K80"]


def test_the_probe_on_a_machine_without_any_tool(tmp_path: Path) -> None:
    assert probe(tmp_path, {}, ask=lambda words: "", meminfo=tmp_path / "none") == {}


def test_the_probe_on_this_machine(tmp_path: Path) -> None:
    machine = from_recording(probe(tmp_path, {}))
    assert machine.system in ("Linux", "Darwin")
    assert machine.memory and machine.memory > GIB
    assert machine.disk_free is not None
