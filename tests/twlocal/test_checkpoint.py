"""Models on this disk: what their own files say."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from twlocal import checkpoint, engines, registry
from twlocal.errors import ModelError
from twlocal.hardware import GIB, Gpu, Hardware
from twlocal.route import Wishes, decide

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "torch_dtype": "bfloat16",
    "hidden_size": 3072,
    "num_attention_heads": 24,
    "num_key_value_heads": 8,
    "num_hidden_layers": 28,
    "head_dim": 128,
    "max_position_embeddings": 131072,
}
GEMMA3 = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "dtype": "bfloat16",
    "text_config": {
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "num_hidden_layers": 34,
        "sliding_window_pattern": 6,
        "max_position_embeddings": 131072,
    },
    "vision_config": {"num_attention_heads": 16, "num_hidden_layers": 27},
}


@pytest.fixture(scope="module")
def known() -> registry.Registry:
    return registry.load({})


def folder(place: Path, config: Any, **files: int) -> Path:
    place.mkdir(exist_ok=True)
    (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name, size in files.items():
        (place / name.replace("_", ".")).write_bytes(bytes(size))
    return place


def test_a_llama(tmp_path: Path, known: registry.Registry) -> None:
    path = folder(tmp_path / "我的-llama", LLAMA, a_safetensors=600, b_safetensors=400)
    model = checkpoint.read(path, known)
    assert (model.id, model.weight_bytes, model.dtype, model.context) == ("我的-llama", 1000, "bfloat16", 131072)
    assert dict(model.heads) == {"attention": 24, "kv": 8}
    assert (model.layers, model.kv_layers, model.kv_bytes) == (28, 28, 2 * 28 * 8 * 128 * 2)
    assert (model.mlx, model.gguf, model.vllm_since, model.float16) == ("llama", "llama", "0.5.0", True)
    assert model.remote_code == ""


def test_a_model_with_parts_has_the_heads_of_all_and_the_flaws_of_its_family(known: registry.Registry) -> None:
    model = checkpoint.from_config("m", GEMMA3, 8_600_000_000, known)
    assert dict(model.heads) == {"attention": 8, "kv": 4, "vision_attention": 16}
    assert (model.context, model.kv_layers, model.head_dim) == (131072, 5, 256)
    assert model.float16 is False
    assert model.vllm_since == "0.8.0"
    card = Gpu(0, "Tesla T4", 15 * GIB, (7, 5))
    there = Hardware(system="Linux", gpus=(card,), driver=(580, 1))
    route = decide(model, there, engines.planned(there), Wishes())
    assert route.engine is None, "neither float16 nor, in float32, small enough"


@pytest.mark.parametrize(
    ("config", "heads"),
    [
        ({"n_head": 12}, {"attention": 12, "kv": 12}),
        ({"num_attention_heads": 71, "multi_query": True}, {"attention": 71, "kv": 1}),
        (
            {"num_attention_heads": 32, "num_key_value_heads": 2, "mamba_num_heads": 128},
            {"attention": 32, "kv": 2, "mamba": 128},
        ),
        (
            {
                "text_config": {
                    "num_attention_heads": 24,
                    "num_key_value_heads": 4,
                    "linear_num_value_heads": 48,
                    "linear_num_key_heads": 16,
                },
                "vision_config": {"num_heads": 16},
            },
            {"attention": 24, "kv": 4, "mamba": 48, "mamba_groups": 16, "vision_attention": 16},
        ),
        (
            {"llm_config": {"num_attention_heads": 32, "num_key_value_heads": 8}, "audio_config": {"num_heads": 6}},
            {"attention": 32, "kv": 8, "audio_attention": 6},
        ),
        ({"rope_scaling": {"num_heads": 3}}, {}),
        ({"num_attention_heads": True, "num_key_value_heads": 0}, {}),
        ({}, {}),
    ],
)
def test_head_counts(config: dict[str, Any], heads: dict[str, int]) -> None:
    assert checkpoint.head_counts(config) == heads


@pytest.mark.parametrize(
    ("config", "dtype"),
    [
        ({"torch_dtype": "bfloat16"}, "bfloat16"),
        ({"dtype": "float16"}, "float16"),
        ({"text_config": {"torch_dtype": "torch.bfloat16"}}, "bfloat16"),
        ({"torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fbgemm_fp8"}}, "fp8"),
        ({"torch_dtype": "bfloat16", "quantization_config": {"quant_method": "mxfp4"}}, "mxfp4"),
        ({"torch_dtype": "float16", "quantization_config": {"quant_method": "awq"}}, "awq"),
        ({"torch_dtype": "bfloat16", "quantization": {"group_size": 64, "bits": 4}}, "quantised"),
        ({}, ""),
    ],
)
def test_dtype(config: dict[str, Any], dtype: str, known: registry.Registry) -> None:
    model = checkpoint.from_config("m", config, 1, known)
    assert model.dtype == dtype
    quantised = any(key.startswith("quantization") for key in config)
    assert model.computes_in == (config["torch_dtype"] if quantised else "")


@pytest.mark.parametrize(
    ("kind", "sound"),
    [
        *((kind, False) for kind in ("gemma2", "gemma3_text", "gemma3n", "plamo2", "glm4", "gpt_oss")),
        *((kind, True) for kind in ("gemma", "glm", "glm4x", "qwen2", "llama", "")),
    ],
)
def test_models_that_overflow_in_float16(kind: str, sound: bool, known: registry.Registry) -> None:
    """Whatever their class is called: a fine-tuned one may have one of its own."""
    for config in ({"model_type": kind}, {"model_type": "own", "text_config": {"model_type": kind}}):
        assert checkpoint.from_config("m", {"architectures": ["OwnForCausalLM"], **config}, 1, known).float16 is sound


@pytest.mark.parametrize(
    ("text", "layers"),
    [
        ({"num_hidden_layers": 4, "layer_types": ["linear_attention"] * 3 + ["full_attention"]}, 1),
        ({"num_hidden_layers": 8, "hybrid_override_pattern": "MEM*EM*E"}, 2),
        ({"num_hidden_layers": 62, "sliding_window_pattern": 6}, 10),
        ({"num_hidden_layers": 64, "full_attention_interval": 4}, 16),
        ({"num_hidden_layers": 32}, 32),
        ({}, None),
    ],
)
def test_layers_that_keep_the_whole_context(text: dict[str, Any], layers: int | None, known: registry.Registry) -> None:
    assert checkpoint.from_config("m", text, 1, known).kv_layers == layers


def test_foreign_code_is_named(known: registry.Registry) -> None:
    config = {"auto_map": {"AutoConfig": "configuration_x.XConfig", "AutoModel": "modeling_x.XModel"}}
    assert checkpoint.from_config("m", config, 1, known).remote_code == "configuration_x.py, modeling_x.py"


@pytest.mark.parametrize("junk", [5, "x", None, [5, None], {"a": 1}, True, -3, 10**400, 1e308])
def test_a_configuration_of_junk_leaves_facts_unknown(junk: Any, tmp_path: Path, known: registry.Registry) -> None:
    config = dict.fromkeys([*LLAMA, "auto_map", "quantization_config", "text_config", "layer_types"], junk)
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    model = checkpoint.read(tmp_path, known)
    here = Hardware(system="Linux", memory=8 * GIB)
    decide(model, here, engines.planned(here), Wishes())
    assert model.layers in (None, 5) and all(isinstance(one, str) for one in model.classes)


def test_weights_that_can_run_code_are_refused(tmp_path: Path, known: registry.Registry) -> None:
    with pytest.raises(ModelError) as caught:
        checkpoint.read(folder(tmp_path / "m", LLAMA, pytorch__model_bin=4), known)
    assert ".bin" in str(caught.value) and "safetensors" in caught.value.hint


@pytest.mark.parametrize("text", ["{", "[]", "3", "[" * 100_000])
def test_a_broken_configuration_is_told(tmp_path: Path, text: str, known: registry.Registry) -> None:
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=r"config\.json"):
        checkpoint.read(tmp_path, known)


def test_what_is_no_model_is_told(tmp_path: Path, known: registry.Registry) -> None:
    with pytest.raises(ModelError, match=r"holds no config\.json"):
        checkpoint.read(tmp_path, known)
    with pytest.raises(ModelError, match="is no model"):
        checkpoint.read(tmp_path / "none.gguf", known)
    (tmp_path / "text.txt").write_text("x", encoding="utf-8")
    with pytest.raises(ModelError, match="is no model"):
        checkpoint.read(tmp_path / "text.txt", known)


# ── GGUF ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def string(text: str) -> bytes:
    raw = text.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def gguf(*pairs: tuple[str, Any], version: int = 3, tail: int = 0) -> bytes:
    """The head of a GGUF file: texts, whole numbers, and lists of texts or numbers."""
    out = struct.pack("<4sIQQ", b"GGUF", version, 0, len(pairs))
    for key, value in pairs:
        out += string(key)
        if isinstance(value, str):
            out += struct.pack("<I", 8) + string(value)
        elif isinstance(value, list):
            inner = 8 if isinstance(value[0], str) else 4
            out += struct.pack("<IIQ", 9, inner, len(value))
            out += b"".join(string(one) if inner == 8 else struct.pack("<I", one) for one in value)
        else:
            out += struct.pack("<II", 4, value)
    return out + bytes(tail)


HEAD = (("general.architecture", "gemma3"), ("general.name", "模型"), ("general.tags", ["a", "b"]))


def test_a_gguf_file(tmp_path: Path, known: registry.Registry) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf(*HEAD, ("sizes", [1, 2]), ("general.file_type", 32), ("gemma3.context_length", 4096)))
    model = checkpoint.read(path, known)
    assert (model.id, model.gguf, model.dtype, model.context) == ("m", "gemma3", "bfloat16", 4096)
    assert model.weight_bytes == path.stat().st_size
    there = Hardware(system="Linux", memory=8 * GIB)
    route = decide(model, there, engines.planned(there), Wishes())
    assert (route.engine, route.source, route.settings["context"]) == ("llama_cpp", str(path), 4096)
    assert not [reason for reason in route.reasons if reason.code in ("quantised", "gate_unknown")]
    card = Hardware(system="Linux", memory=8 * GIB, gpus=(Gpu(0, "x", 8 * GIB, (9, 0)),), driver=(580,))
    assert decide(model, card, engines.planned(card), Wishes()).engine == "llama_cpp", "vLLM reads no GGUF here"


@pytest.mark.parametrize(
    ("kind", "quantised"), [(0, False), (1, False), (32, False), (38, False), (2, True), (15, True)]
)
def test_a_quantised_gguf_is_told(tmp_path: Path, kind: int, quantised: bool, known: registry.Registry) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf(*HEAD, ("general.file_type", kind)))
    there = Hardware(system="Linux", memory=8 * GIB)
    route = decide(checkpoint.read(path, known), there, engines.planned(there), Wishes())
    assert route.engine == "llama_cpp"
    assert any(reason.code == "quantised" for reason in route.reasons) == quantised


def test_reading_stops_at_a_long_list(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf(*HEAD, ("tokenizer.ggml.tokens", ["t"] * 5000), ("general.file_type", 1)))
    assert checkpoint.gguf_facts(path) == {"general.architecture": "gemma3", "general.name": "模型"}


def test_parts_are_counted_together(tmp_path: Path, known: registry.Registry) -> None:
    for number in (1, 2):
        name = f"m-0000{number}-of-00002.gguf"
        (tmp_path / name).write_bytes(gguf(*HEAD, tail=1000))
    model = checkpoint.read(tmp_path / "m-00002-of-00002.gguf", known)
    assert (model.id, model.weight_bytes) == ("m", 2 * len(gguf(*HEAD, tail=1000)))
    (tmp_path / "m-00001-of-00002.gguf").unlink()
    with pytest.raises(ModelError, match=r"m-00001-of-00002\.gguf is not beside it"):
        checkpoint.read(tmp_path / "m-00002-of-00002.gguf", known)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGUF",
        b"GGML" + bytes(30),
        gguf(version=1),
        gguf(*HEAD)[:40],
        struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + struct.pack("<Q", 1 << 60),
    ],
)
def test_what_is_no_gguf_is_told(tmp_path: Path, content: bytes, known: registry.Registry) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="is not a GGUF file"):
        checkpoint.read(path, known)
