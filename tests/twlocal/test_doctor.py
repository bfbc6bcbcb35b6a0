"""The preflight: what it finds, and that it works with no engine and no network."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from twlocal import doctor, engines, hardware, registry, route_words
from twlocal.doctor import DENIED, GRANTED, OFFLINE, Check, Examination, Surroundings, examine, look
from twlocal.engines import EngineFacts
from twlocal.hardware import GIB, Apple, Gpu, Hardware

MACHINES = Path(__file__).parents[1] / "data" / "machines"
FINE = Surroundings(
    python=(3, 11, 7),
    cache_free=4000 * GIB,
    database_free=100 * GIB,
    database_writable=True,
    token=True,
    access={"google/gemma-3-4b-it": GRANTED},
)
LINUX = Hardware(system="Linux", architecture="x86_64", memory=16 * GIB, cores=8)
LLAMA_CPP = (EngineFacts("llama_cpp", "0.3.36", frozenset({"cpu"}), architectures=frozenset({"llama", "gemma3"})),)


def recorded(name: str) -> Hardware:
    data = hardware.load(next(MACHINES.glob(f"{name}.*")))
    return hardware.from_recording(data["outputs"], name=data["name"])


@pytest.fixture(scope="module")
def known() -> registry.Registry:
    return registry.load({})


def check(found: Examination, name: str) -> Check:
    return next(one for one in found.checks if one.name == name)


def said(one: Check) -> str:
    return route_words.ENGLISH[one.code].format_map(route_words.shown(one.facts, "en"))


def test_a_machine_in_order(known: registry.Registry) -> None:
    found = examine(LINUX, LLAMA_CPP, known, FINE)
    assert found.able
    assert [one.name for one in found.checks if one.mark == "no"] == []
    assert {one.name for one in found.checks} == {
        "python",
        "machine",
        "gpu",
        "engines",
        "cache",
        "database",
        "token",
        "access",
    }


@pytest.mark.parametrize(
    ("change", "name", "mark", "told", "able"),
    [
        ({"python": (3, 10, 12)}, "python", "no", "3.11", False),
        ({"database_writable": False}, "database", "no", "--db", False),
        ({"database_free": GIB - 1}, "database", "no", "--db", False),
        ({"database_free": None}, "database", "ok", "", True),
        ({"cache_free": GIB}, "cache", "no", "HF_HOME", True),
        ({"cache_free": None}, "cache", "skip", "", True),
        ({"token": False}, "token", "no", "HF_TOKEN", True),
        ({"hub": False}, "hub", "skip", "twlocal[hub]", True),
        ({"access": {}, "access_skipped": "off"}, "access", "skip", "HF_HUB_OFFLINE", True),
        ({"access": {}, "access_skipped": "no_hub"}, "access", "skip", "twlocal[hub]", True),
        ({"access": {}, "access_skipped": "no_token"}, "access", "skip", "no token", True),
        ({"access": {"o/m": OFFLINE}}, "access", "skip", "cannot be reached", True),
        ({"access": {"o/m": OFFLINE, "o/n": GRANTED}}, "access", "ok", "1 of 2", True),
        ({"access": {"o/m": DENIED, "o/n": GRANTED}}, "access", "no", "o/m", True),
    ],
)
def test_what_is_wrong_says_what_to_do(
    change: dict[str, Any], name: str, mark: str, told: str, able: bool, known: registry.Registry
) -> None:
    found = examine(LINUX, LLAMA_CPP, known, replace(FINE, **change))
    one = check(found, name)
    assert (one.mark, found.able) == (mark, able)
    assert told in said(one)


def test_without_an_engine_it_names_the_one_to_install(known: registry.Registry) -> None:
    for there, extra in ((LINUX, "llama-cpp"), (recorded("m4-max-128gb"), "mlx"), (recorded("h100"), "vllm")):
        one = check(examine(there, (), known, FINE), "engines")
        assert one.mark == "no"
        assert f"twlocal[{extra}]" in said(one)


@pytest.mark.parametrize(
    ("name", "mark", "told"),
    [
        ("h100", "ok", "580.65.06"),
        ("rtx3090-cuda125", "no", "vllm==0.13.*"),
        ("gtx1080ti-old-driver", "no", "525"),
        ("driver-broken", "no", "repair"),
        ("laptop-no-gpu", "skip", "CPU"),
        ("m1-8gb", "ok", "Apple M1"),
    ],
)
def test_cards_and_drivers(name: str, mark: str, told: str, known: registry.Registry) -> None:
    one = check(examine(recorded(name), (), known, FINE), "gpu")
    assert one.mark == mark
    assert told in said(one)


def test_hidden_cards(known: registry.Registry) -> None:
    one = check(examine(replace(LINUX, hidden=2), (), known, FINE), "gpu")
    assert (one.mark, "CUDA_VISIBLE_DEVICES hides 2" in said(one)) == ("skip", True)


def test_an_apple_chip_seen_through_rosetta(known: registry.Registry) -> None:
    """An Intel Python on an Apple chip reaches no Metal, and pip finds no MLX for it."""
    through = replace(recorded("m4-pro-48gb"), architecture="x86_64")
    one = check(examine(through, (), known, FINE), "gpu")
    assert one.mark == "no"
    assert "install one for arm64" in said(one)
    assert check(examine(recorded("m4-pro-48gb"), (), known, FINE), "gpu").mark == "ok"
    planned = {fact.name: fact.devices for fact in engines.planned(through) if fact.present}
    assert planned["llama_cpp"] == {"cpu"}


def test_a_driver_that_was_updated_while_it_was_loaded(known: registry.Registry) -> None:
    old = replace(LINUX, problem="Failed to initialize NVML: Driver/library version mismatch")
    assert "restart the machine" in said(check(examine(old, LLAMA_CPP, known, FINE), "gpu"))


def test_metals_limit(known: registry.Registry) -> None:
    low = check(examine(recorded("m3-ultra-256gb"), (), known, FINE), "wired")
    assert (low.mark, "iogpu.wired_limit_mb=229376 " in said(low)) == ("skip", True)
    assert check(examine(recorded("m3-ultra-256gb-raised"), (), known, FINE), "wired").mark == "ok"


def test_which_models_run_with_what_is_here_and_with_what_is_not(known: registry.Registry) -> None:
    card = Hardware(system="Linux", memory=64 * GIB, gpus=(Gpu(0, "RTX 4090", 24 * GIB, (8, 9)),), driver=(580, 95, 5))
    found = examine(card, LLAMA_CPP, known, FINE)
    models = {runs.model.id: runs for runs in found.models}
    assert set(models) == set(known.models)
    gguf = models["google/gemma-3-4b-it"]
    assert (gguf.engine, gguf.installed) == ("llama_cpp", True)
    other = models["twinkle-ai/gemma-3-4B-T1-it"]
    assert (other.engine, other.installed) == ("vllm", False)
    large = models["meta-llama/Llama-3.3-70B-Instruct"]
    assert large.engine is None and large.why is not None
    assert large.why.code == "too_big"


def test_why_not_tells_the_size_before_an_absence(known: registry.Registry) -> None:
    laptop = examine(recorded("laptop-no-gpu"), (), known, FINE)
    why = {runs.model.id: runs.why.code for runs in laptop.models if runs.why}
    assert why["openai/gpt-oss-120b"] == "too_big"
    assert why["google/gemma-3-270m-it"] == "no_gguf"
    assert "engine_missing" not in why.values()


def test_the_largest_model_that_fits_is_measured_against_the_disk(known: registry.Registry) -> None:
    mac = recorded("m3-ultra-256gb")
    roomy = check(examine(mac, (), known, FINE), "cache")
    assert roomy.mark == "ok"
    low = check(examine(mac, (), known, replace(FINE, cache_free=100 * GIB)), "cache")
    assert low.facts["weights_bytes"] == 2 * 70_553_706_496, "70B runs there, Nemotron does not"
    laptop = check(examine(LINUX, LLAMA_CPP, known, replace(FINE, cache_free=100 * GIB)), "cache")
    assert laptop.mark == "ok"


def test_the_machine_in_one_line() -> None:
    two = tuple(Gpu(index, "RTX 3090") for index in (0, 1))
    assert doctor.describe(replace(LINUX, gpus=(*two, Gpu(2, "T4")))) == (
        "Linux x86_64, 8 cores, 16.0 GiB, 2 × RTX 3090 + 1 × T4"
    )
    assert doctor.describe(Hardware(system="Darwin", architecture="arm64", apple=Apple("Apple M1"))) == (
        "Darwin arm64, Apple M1"
    )
    assert "(WSL)" in doctor.describe(recorded("wsl-rtx4070"))


# ── looking around ────────────────────────────────────────────────────────────────────────────────────────────────


def test_look_without_token_asks_nobody(tmp_path: Path, known: registry.Registry) -> None:
    def ask(repo: str, token: str) -> str:
        raise AssertionError("nobody is to be asked")

    around = look({"HOME": str(tmp_path)}, tmp_path / "runs.db", known, ask=ask)
    assert (around.token, around.access, around.access_skipped) == (False, {}, "no_token")
    assert around.database_writable
    assert around.database_free and around.cache_free
    offline = look({"HOME": str(tmp_path), "HF_TOKEN": "t", "HF_HUB_OFFLINE": "1"}, tmp_path / "r.db", known, ask=ask)
    assert (offline.token, offline.access, offline.access_skipped) == (True, {}, "off")


def test_look_asks_for_gated_models_only(tmp_path: Path, known: registry.Registry) -> None:
    asked: list[tuple[str, str]] = []

    def ask(repo: str, token: str) -> str:
        asked.append((repo, token))
        return DENIED if repo.startswith("google/") else GRANTED

    around = look({"HOME": str(tmp_path), "HF_TOKEN": " t "}, tmp_path / "runs.db", known, ask=ask)
    gated = {model.id for model in known.models.values() if model.gated}
    assert {repo for repo, _ in asked} == set(around.access) == gated
    assert {token for _, token in asked} == {"t"}
    assert around.access["google/gemma-3-4b-it"] == DENIED
    assert around.access["meta-llama/Llama-3.3-70B-Instruct"] == GRANTED


def test_a_network_that_is_not_there_or_hangs_keeps_nobody_waiting(tmp_path: Path, known: registry.Registry) -> None:
    free = threading.Event()

    def ask(repo: str, token: str) -> str:
        if repo.startswith("google/"):
            raise OSError("no route to host")
        free.wait(30)
        return GRANTED

    begun = time.monotonic()
    around = look({"HOME": str(tmp_path), "HF_TOKEN": "t"}, tmp_path / "r.db", known, ask=ask, patience=0.2)
    free.set()
    assert time.monotonic() - begun < 10
    assert set(around.access.values()) == {OFFLINE}


def test_a_database_folder_that_is_not_there_yet(tmp_path: Path, known: registry.Registry) -> None:
    assert look({}, tmp_path / "a" / "b" / "runs.db", known).database_writable


@pytest.mark.parametrize(
    ("environ", "token"),
    [
        ({}, ""),
        ({"HF_TOKEN": "a"}, "a"),
        ({"HF_TOKEN": "  "}, "saved"),
        ({"HF_TOKEN_PATH": "other"}, "other"),
        ({"HF_HOME": "nowhere"}, ""),
    ],
)
def test_where_a_token_comes_from(tmp_path: Path, environ: dict[str, str], token: str) -> None:
    (tmp_path / ".cache" / "huggingface").mkdir(parents=True)
    if token == "saved":
        (tmp_path / ".cache" / "huggingface" / "token").write_text("saved\n", encoding="utf-8")
    (tmp_path / "other").write_text("other\n", encoding="utf-8")
    for name in ("HF_TOKEN_PATH", "HF_HOME"):
        if name in environ:
            environ = environ | {name: str(tmp_path / environ[name])}
    assert doctor.hub_token({"HOME": str(tmp_path)} | environ) == token


def test_where_models_are_kept(tmp_path: Path) -> None:
    assert doctor.model_cache({"HOME": "/home/x"}) == Path("/home/x/.cache/huggingface/hub")
    assert doctor.model_cache({"HOME": "/home/x", "XDG_CACHE_HOME": "/c"}) == Path("/c/huggingface/hub")
    assert doctor.model_cache({"HF_HOME": "/big"}) == Path("/big/hub")
    assert doctor.model_cache({"HF_HOME": "/big", "HF_HUB_CACHE": "/other"}) == Path("/other")
    assert doctor.nearest(tmp_path / "a" / "b") == tmp_path


def test_the_hub_is_asked_through_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    huggingface_hub = pytest.importorskip("huggingface_hub")
    httpx = pytest.importorskip("httpx")
    from huggingface_hub.errors import GatedRepoError

    def denied(self: object, repo: str) -> None:
        raise GatedRepoError("gated", response=httpx.Response(403, request=httpx.Request("GET", "https://hub/x")))

    monkeypatch.setattr(huggingface_hub.HfApi, "auth_check", lambda self, repo: None)
    assert doctor.ask_hub("o/m", "t") == GRANTED
    monkeypatch.setattr(huggingface_hub.HfApi, "auth_check", denied)
    assert doctor.ask_hub("o/m", "t") == DENIED


def test_planned_engines_are_never_called_installed(known: registry.Registry) -> None:
    for path in MACHINES.iterdir():
        there = recorded(path.stem)
        found = examine(there, engines.complete(()), known, FINE)
        assert not any(runs.installed for runs in found.models if runs.engine)
