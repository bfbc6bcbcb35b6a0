"""What a model on this disk needs, read from its own files: a folder with config.json and safetensors, or a GGUF file.

Facts come from config.json and file sizes; names that only engines use (mlx, gguf, the float16 flaw) from a registry's
model of the same class. Weights are never read, and only safetensors and GGUF count as weights.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from twlocal.errors import ModelError
from twlocal.registry import KnownModel, Registry, Source

_SPLIT = re.compile(r"(?P<stem>.*)-(?P<part>\d{5})-of-(?P<count>\d{5})\.gguf$")
# What counts heads, in the spellings of Hugging Face's configurations.
_HEADS = {
    "attention": ("num_attention_heads", "n_head", "num_heads"),
    "kv": ("num_key_value_heads", "num_kv_heads"),
    "global_kv": ("num_global_key_value_heads",),
    "mamba": ("mamba_num_heads", "mamba_n_heads", "linear_num_value_heads"),
    "mamba_groups": ("linear_num_key_heads",),
}
_MOST = 1 << 40  # no count of a model is larger
_TEXT = ("text_config", "llm_config", "language_config")
# Model types that answer nonsense in float16, without an error: those that vLLM refuses to compute in it, and the
# relatives of Gemma 2 and 3.
_OVERFLOWS = re.compile(r"(?:t5)?gemma[2-9]|plamo2|glm4(?:_|$)|gpt_oss")


def read(path: Path, registry: Registry) -> KnownModel:
    """The model at `path`. Raises ModelError for what is no model or has no safe weights."""
    if path.is_dir():
        return _folder(path, registry)
    if path.suffix == ".gguf" and path.is_file():
        return _gguf(path)
    raise ModelError(f"{path} is no model", hint="a folder with config.json and .safetensors files, or a .gguf file")


def _folder(path: Path, registry: Registry) -> KnownModel:
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path} holds no config.json", hint="name a .gguf file, or a checkpoint's folder") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path / 'config.json'} cannot be read: {error}") from error
    if not isinstance(config, dict):
        raise ModelError(f"{path / 'config.json'} is not a model's configuration")
    weights = sorted(path.glob("*.safetensors"))
    if not weights and any(path.glob("*.bin")):
        raise ModelError(
            f"{path} holds weights as .bin files, which can run code when they are loaded",
            hint="take the safetensors of the model, or convert them on a machine you can lose",
        )
    size = sum(file.stat().st_size for file in weights)
    return from_config(path.name, config, size or None, registry)


def from_config(name: str, config: Mapping[str, Any], weight_bytes: int | None, registry: Registry) -> KnownModel:
    """A model's facts from its config.json. Pure; what the configuration does not say stays unknown."""
    named = config.get("architectures")
    classes = tuple(one for one in named if isinstance(one, str)) if isinstance(named, list) else ()
    text: Mapping[str, Any] = next((config[key] for key in _TEXT if isinstance(config.get(key), Mapping)), config)
    like = next((model for model in registry.models.values() if set(model.classes) & set(classes)), None)
    layers = _number(text, "num_hidden_layers", "n_layer")
    attention, hidden = _number(text, *_HEADS["attention"]), _number(text, "hidden_size", "n_embd")
    head_dim = _number(text, "head_dim") or (hidden // attention if hidden and attention else None)
    code = config.get("auto_map")
    files = sorted({str(value).split(".")[0] + ".py" for value in code.values()}) if isinstance(code, Mapping) else []
    return KnownModel(
        id=name,
        family=str(config.get("model_type", "")),
        weight_bytes=weight_bytes,
        dtype=_dtype(config, text),
        computes_in=_floats(config, text) if _quantisation(config, text) is not None else "",
        context=_number(text, "max_position_embeddings", "n_positions"),
        gated=False,
        classes=classes,
        mlx=str(config.get("model_type", "")),
        gguf=like.gguf if like else "",
        vllm_since=like.vllm_since if like else "",
        heads=head_counts(config),
        layers=layers,
        kv_layers=_full_layers(text, layers),
        head_dim=head_dim,
        float16=(like.float16 if like else True) and not _overflows(config, text),
        system_role=like.system_role if like else "",
        prepare=like.prepare if like else "",
        remote_code=", ".join(files),
    )


def head_counts(config: Mapping[str, Any]) -> dict[str, int]:
    """Every head count of a configuration and its parts (text, vision, audio): a tensor-parallel size divides them."""
    found: dict[str, int] = {}
    for part, values in (("", config), *((key, value) for key, value in config.items() if isinstance(value, Mapping))):
        if part and not part.endswith("_config"):
            continue
        prefix = "" if not part or part in _TEXT else part.removesuffix("_config") + "_"
        for kind, keys in _HEADS.items():
            if (count := _number(values, *keys)) is not None:
                found[prefix + kind] = count
        if values.get("multi_query") is True:
            found[prefix + "kv"] = 1
    if "attention" in found:
        found.setdefault("kv", found["attention"])
    return found


def _number(values: Mapping[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = values.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MOST:
            return value
    return None


def _overflows(config: Mapping[str, Any], text: Mapping[str, Any]) -> bool:
    return any(_OVERFLOWS.match(str(values.get("model_type", ""))) for values in (config, text))


def _quantisation(config: Mapping[str, Any], text: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What says that weights are no floats: of Hugging Face's tools, or MLX's own key."""
    kinds = (values.get(key) for values in (config, text) for key in ("quantization_config", "quantization"))
    return next((kind for kind in kinds if isinstance(kind, Mapping)), None)


def _dtype(config: Mapping[str, Any], text: Mapping[str, Any]) -> str:
    quantised = _quantisation(config, text)
    if quantised is not None:
        method = str(quantised.get("quant_method", "quantised"))
        return "fp8" if "fp8" in method else method
    return _floats(config, text)


def _floats(config: Mapping[str, Any], text: Mapping[str, Any]) -> str:
    for values in (config, text):
        for key in ("dtype", "torch_dtype"):
            if isinstance(values.get(key), str):
                return str(values[key]).removeprefix("torch.")
    return ""


def _full_layers(text: Mapping[str, Any], layers: int | None) -> int | None:
    """Layers that keep keys and values of the whole context."""
    kinds = text.get("layer_types")
    if isinstance(kinds, list):
        return sum(kind in ("full_attention", "attention") for kind in kinds)
    pattern = text.get("hybrid_override_pattern")  # Nemotron-H: M for Mamba, E or - for feed-forward, * for attention
    if isinstance(pattern, str):
        return pattern.count("*")
    every = _number(text, "sliding_window_pattern", "full_attention_interval")
    return layers // every if layers and every else layers


# ── GGUF ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _LIST, _SHORT = 8, 9, 4096
# llama_ftype of unquantised files; every other number is a quantisation (mixtures of mxfp4 are 38).
_FILE_TYPES = {0: "float32", 1: "float16", 32: "bfloat16", 38: "mxfp4"}


def _gguf(path: Path) -> KnownModel:
    match = _SPLIT.match(path.name)
    count, parts = 1, [path]
    if match:
        count = int(match["count"])
        parts = [path.with_name(f"{match['stem']}-{no:05d}-of-{count:05d}.gguf") for no in range(1, count + 1)]
    missing = [part.name for part in parts if not part.is_file()]
    if missing:
        raise ModelError(f"{path.name} is one of {count} parts, and {missing[0]} is not beside it")
    size = sum(part.stat().st_size for part in parts)
    facts = gguf_facts(parts[0])
    kind = facts.get("general.file_type")
    architecture = str(facts.get("general.architecture", ""))
    dtype = _FILE_TYPES.get(kind, "quantised") if isinstance(kind, int) else ""
    context = facts.get(f"{architecture}.context_length")
    return KnownModel(
        id=match["stem"] if match else path.stem,
        family=architecture,
        weight_bytes=size,
        dtype=dtype,
        context=context if isinstance(context, int) else None,
        gated=False,
        gguf=architecture,
        prepare="gguf",
        sources=(Source("llama_cpp", file=str(parts[0]), dtype=dtype, bytes=size, gated=False),),
    )


def gguf_facts(path: Path) -> dict[str, Any]:
    """The simple values at the head of a GGUF file, up to its first long list (the tokens). Raises ModelError."""
    try:
        with path.open("rb") as file:
            magic, version, _, pairs = struct.unpack("<4sIQQ", file.read(24))
            if magic != b"GGUF" or version < 2:
                raise ValueError("no GGUF of version 2 or newer")
            facts: dict[str, Any] = {}
            for _ in range(pairs):
                key = _text(file)
                (kind,) = struct.unpack("<I", file.read(4))
                if kind == _STRING:
                    facts[key] = _text(file)
                elif kind in _SCALARS:
                    form = "<" + _SCALARS[kind]
                    (facts[key],) = struct.unpack(form, file.read(struct.calcsize(form)))
                elif not _passed(file, kind):
                    break
            return facts
    except (OSError, ValueError, struct.error) as error:
        raise ModelError(
            f"{path} is not a GGUF file: {error}", hint="a half-finished download looks like this too"
        ) from error


def _passed(file: BinaryIO, kind: int) -> bool:
    """Pass over a short list (languages, tags); False for a long one, or for a kind that is not known."""
    if kind != _LIST:
        return False
    inner, count = struct.unpack("<IQ", file.read(12))
    if count > _SHORT or (inner != _STRING and inner not in _SCALARS):
        return False
    for _ in range(count):
        if inner == _STRING:
            _text(file)
        else:
            file.read(struct.calcsize("<" + _SCALARS[inner]))
    return True


def _text(file: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > 1 << 24:
        raise ValueError("a text of more than 16 MB")
    return file.read(length).decode("utf-8", "replace")
