"""Where a run's model runs: recorded machines through `evaluate.prepare`, and a local Hub that has the models."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from twlocal import backend as backends
from twlocal import engines, evaluate, hardware, hub_models, placing, registry
from twlocal.engines import EngineFacts
from twlocal.errors import EngineMissing, ModelError, NoEngine, UsageError
from twlocal.plan import Wish
from twlocal.route import Wishes, decide
from twlocal.runs import Runs
from twlocal.store import open_store

MACHINES = Path(__file__).parents[1] / "data" / "machines"
GB = 10**9
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16"}
GEMMA = {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "torch_dtype": "bfloat16"}
GGUFS = "bartowski/google_gemma-3-4b-it-GGUF"
ONE_CARD = {"tensor_parallel_size": 1, "max_model_len": 8192}


def machine(name: str) -> evaluate.Surroundings:
    """A recorded machine with the engines that one would install there, and no Hub token."""
    [recording] = MACHINES.glob(f"{name}.*")
    here = hardware.from_recording(hardware.load(recording)["outputs"])

    def look(known: registry.Registry) -> tuple[hardware.Hardware, Sequence[EngineFacts]]:
        return here, engines.planned(here)

    return evaluate.Surroundings(environ={"HOME": "/nowhere"}, look=look)


@pytest.fixture
def hub(model_hub: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Checkpoints and GGUF files of some models, as large as they say, on a disk that has room for them."""

    def checkpoint(config: dict[str, Any], weights: str) -> dict[str, bytes]:
        return {"config.json": json.dumps(config).encode(), weights: weights.encode(), "tokenizer.json": b"{}"}

    model_hub.repos |= {
        "twinkle-ai/gemma-3-4B-T1-it": checkpoint(GEMMA, "t1.safetensors"),
        "google/gemma-3-12b-it": checkpoint(GEMMA, "g12.safetensors"),
        "yentinglin/Llama-3-Taiwan-8B-Instruct": checkpoint(LLAMA, "tw8.safetensors"),
        "yentinglin/Llama-3-Taiwan-70B-Instruct": checkpoint(LLAMA, "tw70.safetensors"),
        "bartowski/google_gemma-3-4b-it-GGUF": {"google_gemma-3-4b-it-bf16.gguf": b"bf16", "q4.gguf": b"q4"},
        "own/unknown": checkpoint(LLAMA, "own.safetensors"),
        "own/ggufs": {"one-f16.gguf": b"f16"},
    }
    model_hub.sizes |= {
        "t1.safetensors": 86 * GB // 10,
        "g12.safetensors": 244 * GB // 10,
        "tw8.safetensors": 161 * GB // 10,
        "tw70.safetensors": 1411 * GB // 10,
        "google_gemma-3-4b-it-bf16.gguf": 78 * GB // 10,
        "own.safetensors": 5 * GB,
    }
    monkeypatch.setattr(hub_models, "free_bytes", lambda: None)
    return model_hub


@pytest.fixture
def prepare(
    tmp_path: Path, make_questions: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., evaluate.Prepared]:
    """Prepare a run of four questions; every engine counts as registered, and none is opened."""
    known = {"max_model_len", "tensor_parallel_size", "dtype", "gpu_layers", "context", "slots", "trust_remote_code"}
    stub = SimpleNamespace(ISOLATE=True, EXTRA="", SETTINGS=frozenset(known), ANSWERING=frozenset({"dtype"}))
    there = backends.load
    monkeypatch.setattr(backends, "load", lambda name: stub if name in registry.ENGINES else there(name))
    questions = make_questions(4)
    database = Runs(open_store(tmp_path / "t.db"), tmp_path / "t.db")

    def call(model: str, around: evaluate.Surroundings, **wanted: Any) -> evaluate.Prepared:
        wish = Wish(model=model, bench=str(questions), protocol="box", **wanted)
        return evaluate.prepare(wish, database, around)

    call.runs = database  # type: ignore[attr-defined]
    return call


@pytest.mark.parametrize(
    ("name", "model", "engine", "source", "settings"),
    [
        ("m2-16gb", "T1", "mlx", "checkpoint", {}),
        ("m3-ultra-256gb", "Llama-3-Taiwan-70B", "mlx", "checkpoint", {}),
        ("rtx3090-cuda125", "T1", "vllm", "checkpoint", ONE_CARD),
        ("2x3090", "gemma-3-12b-it", "vllm", "checkpoint", {"tensor_parallel_size": 2, "max_model_len": 8192}),
        ("8xh100", "Llama-3-Taiwan-70B", "vllm", "checkpoint", {"tensor_parallel_size": 4, "max_model_len": 8192}),
        ("h200", "Llama-3-Taiwan-8B", "vllm", "checkpoint", ONE_CARD),
        # No bfloat16, and Gemma overflows in float16: in float32 it is too large, so the GGUF file.
        ("t4", "google/gemma-3-4b-it", "llama_cpp", "google_gemma-3-4b-it-bf16.gguf", {"gpu_layers": -1}),
        ("t4", "own/unknown", "vllm", "checkpoint", ONE_CARD | {"dtype": "float16"}),
        ("laptop-no-gpu", "google/gemma-3-4b-it", "llama_cpp", "google_gemma-3-4b-it-bf16.gguf", {}),
        ("laptop-no-gpu", "own/ggufs", "llama_cpp", "one-f16.gguf", {}),
        ("wsl-rtx4070", "own/unknown", "vllm", "checkpoint", ONE_CARD),
        ("m4-max-128gb", "own/unknown", "mlx", "checkpoint", {}),
        # The one repository of a file was named: that file, whatever else could run the model.
        ("h200", GGUFS, "llama_cpp", "google_gemma-3-4b-it-bf16.gguf", {"gpu_layers": -1}),
        ("h200", f"{GGUFS}:q4.gguf", "llama_cpp", "q4.gguf", {"gpu_layers": -1}),
    ],
)  # fmt: skip
def test_recorded_machines(
    hub: Any, prepare: Any, name: str, model: str, engine: str, source: str, settings: dict[str, Any]
) -> None:
    hub.gated.clear()
    around = replace(machine(name), environ={"HOME": "/nowhere", "HF_TOKEN": "hf_right"})
    planned = prepare(model, around).plan
    assert planned.backend == engine
    opened = Path(planned.model.source)
    assert (opened / "config.json").is_file() if source == "checkpoint" else opened.name == source
    chosen = {name: value for name, value in planned.settings.items() if (name, value) != ("gpu_layers", 0)}
    assert chosen == settings
    told = planned.manifest["machine"]["route"]
    assert told["engine"] == engine
    assert set(told["reasons"]) == {"vllm", "mlx", "llama_cpp"}
    assert "/nowhere" not in json.dumps(told) and str(opened) not in json.dumps(told)
    assert prepare(model, around).plan.key == planned.key, "the same command on the same machine goes on"


def test_a_machine_does_not_change_the_run_only_its_engine_does(hub: Any, prepare: Any) -> None:
    token = {"HOME": "/nowhere", "HF_TOKEN": "hf_right"}
    plans = [prepare("T1", replace(machine(name), environ=token)).plan for name in ("h200", "8xh100", "rtx4090")]
    assert len({one.key for one in plans}) == 1, "memory, cards and drivers are recorded and change no answer"
    assert prepare("T1", replace(machine("m2-16gb"), environ=token)).plan.key != plans[0].key


@pytest.mark.parametrize(
    ("name", "model", "says"),
    [
        ("m1-8gb", "Llama-3-Taiwan-8B", ["not mlx", "above 85%"]),
        ("rtx3090-cuda125", "gemma-3-12b-it", ["is gated", "huggingface.co/google/gemma-3-12b-it", "HF_TOKEN"]),
        ("laptop-no-gpu", "T1", ["not vllm", "NVIDIA", "convert_hf_to_gguf"]),
        ("laptop-no-gpu", "own/unknown", ["not llama_cpp", "convert_hf_to_gguf"]),
        ("rtx4090", "Breeze2-8B", ["vision tower", "--trust-remote-code"]),
    ],
)
def test_a_refusal_names_the_reasons_and_fetches_nothing(
    hub: Any, prepare: Any, name: str, model: str, says: list[str]
) -> None:
    with pytest.raises(ModelError, match="cannot run here") as caught:
        prepare(model, machine(name))
    for words in says:
        assert words in str(caught.value)
    assert "twlocal route" in caught.value.hint and "http" in caught.value.hint
    assert set(hub.fetched()) <= {"config.json"}


def test_a_refusal_names_the_engine_that_would_help(hub: Any, prepare: Any) -> None:
    around = machine("m2-16gb")
    here = around.look(registry.load({}))[0]  # type: ignore[misc]
    bare = replace(around, look=lambda known: (here, engines.complete([])))
    with pytest.raises(ModelError) as caught:
        prepare("T1", bare)
    assert "pip install 'twlocal[mlx]' brings mlx" in caught.value.hint


@pytest.mark.parametrize(
    ("there", "memory", "size", "runs"),
    [
        ("laptop-no-gpu", 16, 15, True),
        ("laptop-no-gpu", 16, 17, False),
        ("laptop-no-gpu", None, 17, True),
        ("2x3090", 64, 100, True),  # the cards hold what the memory does not
        ("2x3090", 64, 113, False),
    ],
)
def test_a_file_that_no_memory_holds_is_refused_before_it_is_read(
    tmp_path: Path, there: str, memory: int | None, size: int, runs: bool
) -> None:
    """llama.cpp maps it, and reads it from the disk again for every token: hours without an answer."""
    path = tmp_path / "大.gguf"
    path.write_bytes(b"GGUF")
    os.truncate(path, size << 30)  # a file of holes
    surroundings = machine(there)
    assert surroundings.look is not None
    outside = placing.Outside(
        surroundings.environ, None, surroundings.look, memory=lambda: None if memory is None else memory << 30
    )
    named = placing.place(placing.Asked(str(path), "llama_cpp", {}), outside)
    assert named.backend == "llama_cpp", "a person who names the engine has decided"
    if runs:
        assert placing.place(placing.Asked(str(path), None, {}), outside).fetch().weights == (path,)
        return
    with pytest.raises(NoEngine, match=rf"the weights of 大 are {size}\.0 GiB") as caught:
        placing.place(placing.Asked(str(path), None, {}), outside)
    assert "--backend llama_cpp" in caught.value.hint
    assert f"{size}.0 GiB" in caught.value.chinese


def test_the_disk_is_looked_at_before_the_weights(hub: Any, prepare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_models, "free_bytes", lambda: 9 * GB)
    with pytest.raises(ModelError, match=r"8\.0 GiB are to be fetched, and 8\.4 GiB are free") as caught:
        prepare("T1", machine("h200"))
    assert "HF_HOME" in caught.value.hint
    assert hub.fetched() == ["config.json"]
    monkeypatch.setattr(hub_models, "free_bytes", lambda: 10 * GB)
    assert prepare("T1", machine("h200")).plan.backend == "vllm"
    monkeypatch.setattr(hub_models, "free_bytes", lambda: 1)
    assert prepare("T1", machine("h200")).plan.backend == "vllm", "what is there needs no room"


def test_wrong_questions_are_told_before_the_weights(hub: Any, prepare: Any) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        prepare("T1", machine("h200"), sample=3, ids="x.json")
    assert hub.fetched() == ["config.json"]


def test_code_of_a_model_runs_only_where_the_person_says_so(hub: Any, prepare: Any) -> None:
    config = LLAMA | {"auto_map": {"AutoModelForCausalLM": "modeling_own.Own"}}
    hub.repos["own/unknown"]["config.json"] = json.dumps(config).encode()
    hub.repos["own/unknown"]["modeling_own.py"] = b"print('code')"
    with pytest.raises(ModelError, match=r"Python code of its own when it is loaded \(modeling_own.py\)"):
        prepare("own/unknown", machine("h200"))
    assert hub.fetched() == ["config.json"]
    heard: list[str] = []
    around = replace(machine("h200"), decided=lambda route, here: heard.append(placing.line(route)))
    planned = prepare("own/unknown", around, settings={"trust_remote_code": True}).plan
    assert planned.settings["trust_remote_code"] is True
    assert "Python code of own/unknown (modeling_own.py) may run" in heard[0]
    # An engine that runs no code of a model's is not bothered with the permission.
    assert (
        prepare("own/ggufs", machine("laptop-no-gpu"), settings={"trust_remote_code": True}).plan.backend == "llama_cpp"
    )


def test_what_the_person_sets_goes_over_the_route(hub: Any, prepare: Any) -> None:
    planned = prepare("T1", machine("8xh100"), settings={"tensor_parallel_size": 2, "dtype": "float16"}).plan
    assert planned.settings == {"tensor_parallel_size": 2, "max_model_len": 8192, "dtype": "float16"}
    assert planned.manifest["identity"]["settings"] == {"dtype": "float16"}, "only what may change an answer"
    assert planned.wish.settings == {"tensor_parallel_size": 2, "dtype": "float16"}


def test_a_login_of_the_hubs_own_tool_counts_as_a_token(hub: Any, prepare: Any, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hf_right", encoding="utf-8")
    hub.gated.add("google/gemma-3-12b-it")
    stored = replace(machine("h200"), environ={"HOME": "/nowhere", "HF_TOKEN_PATH": str(tmp_path / "token")})
    with pytest.raises(ModelError, match=r"^google/gemma-3-12b-it is gated"):
        prepare("gemma-3-12b-it", stored)  # asked at the Hub, which was not told that token here
    with pytest.raises(ModelError, match="cannot run here"):
        prepare("gemma-3-12b-it", machine("h200"))


def test_the_choice_in_one_line(hub: Any, prepare: Any) -> None:
    heard: list[Any] = []
    around = replace(machine("laptop-no-gpu"), decided=lambda route, here: heard.append(route))
    prepare("google/gemma-3-4b-it", around)
    [route] = heard
    said = placing.line(route)
    assert said.startswith("google/gemma-3-4b-it runs on llama_cpp (cpu): weights of 7.3 GiB are ")
    assert "\n" not in said
    assert placing.line(route, "zh-TW").startswith("google/gemma-3-4b-it 用 llama_cpp 跑（cpu）：權重 7.3 GiB")


def test_a_run_goes_on_where_it_began_though_a_better_engine_came(hub: Any, prepare: Any) -> None:
    around = replace(machine("m4-max-128gb"), environ={"HOME": "/nowhere", "HF_TOKEN": "hf_right"})
    here = around.look(registry.load({}))[0]  # type: ignore[misc]
    llama_only = [one for one in engines.planned(here) if one.name == "llama_cpp"]
    first = prepare(
        "google/gemma-3-4b-it", replace(around, look=lambda known: (here, engines.complete(llama_only)))
    ).plan
    assert first.backend == "llama_cpp"
    prepare.runs.ensure(first, at="2026-01-01T00:00:00.000000Z")
    hub.repos["google/gemma-3-4b-it"] = dict(hub.repos["google/gemma-3-12b-it"])
    assert prepare("google/gemma-3-4b-it", around).plan.key == first.key
    other = prepare("google/gemma-3-4b-it", around, max_tokens=9).plan
    assert other.backend == "mlx", "another call is another run, and chooses anew"


def test_a_quantised_file_only_where_it_is_allowed(hub: Any, prepare: Any, tmp_path: Path) -> None:
    own = tmp_path / "models.toml"
    own.write_text(
        '[models."own/q"]\nfamily = "llama"\nparameters = 1000\ndtype = "bfloat16"\ngated = false\n'
        '[[models."own/q".sources]]\nengine = "llama_cpp"\nrepo = "own/ggufs"\n'
        'file = "one-f16.gguf"\ndtype = "q4_k_m"\n',
        encoding="utf-8",
    )
    around = replace(machine("laptop-no-gpu"), environ={"HOME": "/nowhere", "TWLOCAL_MODELS": str(own)})
    with pytest.raises(ModelError, match="allow it with --quantised"):
        prepare("own/q", around)
    assert prepare("own/q", around, quantised=True).plan.model.id == "own/ggufs:one-f16"


def test_a_local_checkpoint(hub: Any, prepare: Any, tmp_path: Path) -> None:
    folder = tmp_path / "我的模型"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"weights")
    planned = prepare(str(folder), machine("rtx4090")).plan
    assert (planned.backend, planned.model.id, planned.model.source) == ("vllm", "我的模型", str(folder))
    assert str(tmp_path) not in json.dumps(planned.manifest["machine"])
    assert prepare(str(folder), machine("m2-16gb")).plan.backend == "mlx"
    with pytest.raises(ModelError, match="cannot run here"):
        prepare(str(folder), machine("laptop-no-gpu"))
    assert prepare(str(folder), machine("laptop-no-gpu"), backend="mlx").plan.backend == "mlx", "the person decides"
    (folder / "m.gguf").write_bytes(b"GGUF")
    assert prepare(str(folder), machine("rtx4090")).plan.backend == "llama_cpp", "as ever: a GGUF file in it is meant"


def test_what_names_its_engine_asks_no_machine(prepare: Any, model_file: Path) -> None:
    def look(known: registry.Registry) -> Any:
        raise AssertionError("nobody needs to know")

    around = evaluate.Surroundings(environ={}, look=look)
    assert prepare(str(model_file), around).plan.backend == "llama_cpp"
    assert prepare(str(model_file), around, backend="scripted").plan.backend == "scripted"
    assert "route" not in prepare(str(model_file), around).plan.manifest["machine"]


@pytest.mark.parametrize(("model", "near"), [("Lama-3-Taiwan-8B", "Llama-3-Taiwan-8B"), ("gemma 3", "gemma-3")])
def test_a_name_that_means_nothing_has_neighbours(prepare: Any, model: str, near: str) -> None:
    with pytest.raises(ModelError, match="names no model") as caught:
        prepare(model, machine("h200"))
    assert near in caught.value.hint and "did you mean" in caught.value.hint


def test_without_the_hubs_library(prepare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_models, "find_spec", lambda name: None)
    with pytest.raises(EngineMissing, match="twlocal"):
        prepare("T1", machine("h200"))


def test_a_hub_model_for_an_engine_that_routing_does_not_know(hub: Any, prepare: Any) -> None:
    hub.repos["own/both"] = dict(hub.repos["own/unknown"]) | {"m.gguf": b"GGUF"}
    for backend, source in (("scripted", ""), ("llama_cpp", "m.gguf")):
        planned = prepare("own/both", machine("laptop-no-gpu"), backend=backend).plan
        assert planned.backend == backend
        opened = Path(planned.model.source)
        assert opened.name == source if source else (opened / "config.json").is_file()
    assert prepare("own/both:m.gguf", machine("h200"), backend="scripted").plan.model.id == "own/both:m"
    assert prepare("T1@v1", machine("h200"), backend="scripted").plan.model.id == "twinkle-ai/gemma-3-4B-T1-it"
    with pytest.raises(ModelError, match="http asks a server, and T1 is none"):
        prepare("T1", machine("h200"), backend="http")


def test_every_setting_that_a_route_gives_is_known_to_its_engine() -> None:
    given: dict[str, set[str]] = {}
    for recording in MACHINES.iterdir():
        here = hardware.from_recording(hardware.load(recording)["outputs"])
        for model in registry.load({}).models.values():
            route = decide(model, here, engines.planned(here), Wishes(token=True))
            given.setdefault(route.engine or "", set()).update(placing.applied(route))
    assert given["vllm"] >= {"max_model_len", "tensor_parallel_size", "dtype"} and given["llama_cpp"] == {"gpu_layers"}
    for name in registry.ENGINES:
        assert given[name] <= backends.load(name).SETTINGS, name
