"""`twlocal route` as a person calls it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

MACHINES = Path(__file__).parents[2] / "data" / "machines"
Call = Callable[..., subprocess.CompletedProcess[str]]


def test_planning_for_a_mac_studio_elsewhere(twlocal: Call) -> None:
    done = twlocal("route", "Llama-3.3-70B", "--machine", MACHINES / "m3-ultra-256gb.toml", env={"HF_TOKEN": "hf_x"})
    assert done.returncode == 0, done.stderr
    assert "meta-llama/Llama-3.3-70B-Instruct on Mac Studio M3 Ultra, 256 GB" in done.stdout
    assert "runs on mlx (metal)" in done.stdout
    assert "not vllm" in done.stdout and "not llama_cpp" in done.stdout
    assert "would install there are assumed" in " ".join(done.stdout.split())
    assert "hf_x" not in done.stdout + done.stderr


def test_facts_of_the_registry_are_said_to_be_unchecked(twlocal: Call, tmp_path: Path) -> None:
    words = ("route", "T1", "--machine", MACHINES / "h100.toml")
    told = " ".join(twlocal(*words, "--lang", "en").stdout.split())
    assert "general knowledge, not yet compared with their config.json" in told
    assert "尚未與模型的 config.json 核對" in "".join(twlocal(*words, "--lang", "zh-TW").stdout.splitlines())
    (tmp_path / "own").mkdir()
    config = {"architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "max_position_embeddings": 8192}
    (tmp_path / "own" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "own" / "model.safetensors").write_bytes(bytes(100))
    own = twlocal("route", tmp_path / "own", *words[2:], "--lang", "en").stdout
    assert "own on " in own and "not yet compared" not in own, "a checkpoint's own config.json was read"


def test_gated_without_token_ends_with_one(twlocal: Call) -> None:
    env = {"HF_TOKEN": "", "HF_TOKEN_PATH": "/nowhere"}
    done = twlocal("route", "Llama-3.3-70B", "--machine", MACHINES / "m3-ultra-256gb.toml", env=env)
    assert done.returncode == 1
    assert "https://huggingface.co/meta-llama/Llama-3.3-70B-Instruct" in done.stdout
    assert "cannot run here" in done.stdout
    assert "http(s)://host/v1#name" in done.stdout, "and the way out"


@pytest.mark.parametrize(("model", "switch"), [("Qwen3-8B", "enable_thinking"), ("gpt-oss-20b", "reasoning_effort")])
def test_a_model_that_thinks_names_its_switch(twlocal: Call, model: str, switch: str) -> None:
    words = ("route", model, "--machine", MACHINES / "h100.toml")
    assert f"--template-variable {switch}=VALUE" in " ".join(twlocal(*words).stdout.split())
    told = json.loads(twlocal(*words, "--json").stdout)
    assert told["thinking"] and told["thinking_variable"] == switch
    plain = json.loads(twlocal("route", "T1", "--machine", MACHINES / "h100.toml", "--json").stdout)
    assert plain["thinking"] is plain["thinking_variable"] is None


def test_json(twlocal: Call) -> None:
    done = twlocal(
        "route", "Qwen2.5-7B", "--machine", MACHINES / "rtx3090-cuda125.toml", "--max-tokens", "2048",
        "--longest-prompt", "900", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["engine"], told["engines_assumed"]) == ("vllm", True)
    assert told["settings"] == {"max_model_len": 2960, "tensor_parallel_size": 1}
    assert {one["engine"]: one["taken"] for one in told["verdicts"]} == {"vllm": True, "llama_cpp": False, "mlx": False}
    assert all(reason["text"] for one in told["verdicts"] for reason in one["reasons"])


def test_chinese(twlocal: Call) -> None:
    done = twlocal("route", "T1", "--machine", MACHINES / "m1-8gb.toml", "--lang", "zh-TW")
    assert done.returncode == 1
    assert "這裡跑不動" in done.stdout
    assert "sudo sysctl" not in done.stdout, "no limit makes 8.6 GB fit a machine of 8 GB"


def test_a_recording_with_its_engines(twlocal: Call, tmp_path: Path) -> None:
    text = (MACHINES / "rtx3090-cuda125.toml").read_text(encoding="utf-8")
    path = tmp_path / "我的機器.toml"
    path.write_text(text + '\n[engines.vllm]\nversion = "0.31.0"\ncuda = 13\ndevices = ["cuda"]\n', encoding="utf-8")
    done = twlocal("route", "T1", "--machine", path, env={"HF_TOKEN": "x"})
    assert done.returncode == 1
    flat = " ".join(done.stdout.split())
    assert "update the driver, or pip install 'vllm==0.13.*'" in flat
    assert "assumed" not in done.stdout


def test_what_would_have_to_be_installed(twlocal: Call, tmp_path: Path) -> None:
    text = (MACHINES / "rtx4090.toml").read_text(encoding="utf-8")
    path = tmp_path / "box.toml"
    path.write_text(text + '\n[engines.llama_cpp]\nversion = "0.3.36"\n', encoding="utf-8")
    done = twlocal("route", "T1", "--machine", path, env={"HF_TOKEN": "x"})
    assert done.returncode == 1
    assert "vllm could run it: pip install 'twlocal[vllm]'" in done.stdout
    told = json.loads(twlocal("route", "T1", "--machine", path, "--json", env={"HF_TOKEN": "x"}).stdout)
    assert (told["engine"], told["if_installed"]) == (None, "vllm")


def test_a_backend_and_foreign_code(twlocal: Call) -> None:
    machine = MACHINES / "h100.toml"
    done = twlocal("route", "gemma-3-4b-it", "--machine", machine, "--backend", "llama_cpp", env={"HF_TOKEN": "x"})
    assert "runs on llama_cpp (cuda)" in done.stdout
    assert "you asked for llama_cpp" in done.stdout
    refused = json.loads(twlocal("route", "Breeze2-8B", "--machine", machine, "--json").stdout)
    allowed = json.loads(twlocal("route", "Breeze2-8B", "--machine", machine, "--json", "--trust-remote-code").stdout)
    found = [
        {reason["code"] for one in told["verdicts"] if one["engine"] == "vllm" for reason in one["reasons"]}
        for told in (refused, allowed)
    ]
    assert "remote_code" in found[0] and "remote_code_trusted" in found[1]


def test_this_machine(twlocal: Call) -> None:
    done = twlocal("route", "smollm2-135m")
    assert done.returncode in (0, 1)
    assert "smollm2-135m on this machine" in done.stdout
    assert done.stderr == ""


def test_a_local_checkpoint(twlocal: Call, tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(bytes(1000))
    done = twlocal("route", folder, "--machine", MACHINES / "m2-16gb.toml")
    assert done.returncode == 0, done.stdout
    assert "my-model on Mac mini M2" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nothing-like-it",), "the registry does not know 'nothing-like-it'"),
        (("T1", "--machine", "none.toml"), "none.toml"),
        (("T1", "--backend", "http"), "http"),
        (("T1", "--max-tokens", "0"), "0"),
        (("missing.gguf",), "is no model"),
    ],
)
def test_a_wrong_call_ends_with_two(twlocal: Call, words: tuple[str, ...], told: str) -> None:
    done = twlocal("route", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_the_users_registry(twlocal: Call, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[models."me/mine"]\nfamily = "llama"\nparameters = 1_000_000_000\ndtype = "bfloat16"\n', "utf-8")
    done = twlocal("route", "mine", "--machine", MACHINES / "m1-8gb.toml", env={"TWLOCAL_MODELS": str(own)})
    assert "me/mine on MacBook Air" in done.stdout
    own.write_text('[models."me/mine"]\nparametres = 1\n', "utf-8")
    wrong = twlocal("route", "mine", env={"TWLOCAL_MODELS": str(own)})
    assert wrong.returncode == 2
    assert "did you mean 'parameters'?" in wrong.stderr
