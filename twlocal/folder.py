"""A checkpoint's folder before an engine loads it: refused with a reason, or its facts. No engine is needed here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twlocal.errors import ModelError

_TEXT = ("text_config", "llm_config", "language_config")
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True, slots=True)
class Reader:
    """Who is to read the folder: an engine, the package that loads for it, the files that it takes as weights."""

    engine: str
    package: str
    weights: str


@dataclass(frozen=True)
class Folder:
    """config: of config.json. ends: ids that end an answer, from config.json and generation_config.json.

    weight_bytes: of the files that the engine reads.
    """

    path: Path
    config: Mapping[str, Any]
    ends: frozenset[int]
    weight_bytes: int

    @property
    def text(self) -> Mapping[str, Any]:
        """The language model's part of the configuration, where others stand beside it."""
        return next((self.config[key] for key in _TEXT if isinstance(self.config.get(key), Mapping)), self.config)

    @property
    def architecture(self) -> str:
        """The model type in the configuration (llama, qwen3, …)."""
        return str(self.config.get("model_type", ""))

    @property
    def context(self) -> int | None:
        """Most tokens that the model was made for; None where the configuration does not say."""
        return _number(self.text, "max_position_embeddings", "n_positions", "max_seq_len")

    @property
    def dtype(self) -> str:
        """What the weights are shipped in, "" where the configuration does not say."""
        for values in (self.config, self.text):
            for key in ("dtype", "torch_dtype"):
                if isinstance(values.get(key), str):
                    return str(values[key]).removeprefix("torch.")
        return ""

    @property
    def quantisation(self) -> Mapping[str, Any] | None:
        """How weights are stored when not as floats, as MLX or Hugging Face says it; None for a native checkpoint."""
        for values in (self.config, self.text):
            for key in ("quantization", "quantization_config"):
                if isinstance(values.get(key), Mapping):
                    simple = {
                        name: value for name, value in values[key].items() if not isinstance(value, Mapping | list)
                    }
                    return simple or {"kind": key}
        if (self.path / "hf_quant_config.json").is_file():
            return {"kind": "hf_quant_config.json"}
        return None

    def bytes_as(self, dtype: str) -> int:
        """Bytes of the weights when floats are computed in `dtype`."""
        shipped = _BYTES.get(self.dtype)
        if self.quantisation is not None or shipped is None or dtype not in _BYTES:
            return self.weight_bytes
        return self.weight_bytes * _BYTES[dtype] // shipped

    def token_bytes(self, dtype: str) -> int | None:
        """Bytes that one token of context takes (keys and values of all layers); None where nothing tells."""
        layers, heads = _number(self.text, "num_hidden_layers"), _number(self.text, "num_attention_heads")
        hidden = _number(self.text, "hidden_size")
        width = _number(self.text, "head_dim") or (hidden // heads if hidden and heads else None)
        keys = _number(self.text, "num_key_value_heads") or heads
        return 2 * layers * keys * width * _BYTES.get(dtype, 2) if layers and keys and width else None

    def describe(self) -> dict[str, Any]:
        """What a manifest needs to know of the model."""
        said = {
            "architecture": self.architecture,
            "bytes": self.weight_bytes,
            "dtype": self.dtype,
            "quantisation": dict(self.quantisation) if self.quantisation else None,
            "context_trained": self.context,
        }
        return {name: value for name, value in said.items() if value not in (None, "", {})}


def read(model: str, reader: Reader, *, trust_remote_code: bool) -> Folder:
    """The checkpoint in the folder `model`. Raises ModelError, naming the way out."""
    path = Path(model)
    if path.suffix == ".gguf" or (path.is_file() and not path.is_dir()):
        raise ModelError(
            f"{path.name} is a file, and {reader.engine} reads a checkpoint's folder",
            hint=f"--backend llama_cpp for a GGUF file; for {reader.engine} name a folder with config.json and "
            ".safetensors",
        )
    if not path.is_dir():
        raise ModelError(f"there is no folder {model}", hint="a folder with config.json and .safetensors files")
    config = _json(path / "config.json")
    if config is None:
        raise ModelError(f"{path.name} holds no config.json", hint="name a checkpoint's folder")
    weights = sorted(path.glob(reader.weights))
    if not weights:
        _refuse(path, reader)
    _refuse_code(path, config, trusted=trust_remote_code)
    generation = _json(path / "generation_config.json") or {}
    ends = {*_ids(config.get("eos_token_id")), *_ids(generation.get("eos_token_id"))}
    return Folder(path, config, frozenset(ends), sum(file.stat().st_size for file in weights))


def _refuse(path: Path, reader: Reader) -> None:
    others = sorted(file.name for kind in ("*.bin", "*.pt", "*.pth") for file in path.glob(kind))
    if others:
        raise ModelError(
            f"{path.name} holds weights as {others[0]}, a file that can run code when it is loaded",
            hint="take the model's safetensors, or convert them on a machine you can lose",
        )
    raise ModelError(
        f"{path.name} holds no {reader.weights}, which {reader.package} reads",
        hint="fetch the whole checkpoint; a consolidated.safetensors alone is not enough",
    )


def _refuse_code(path: Path, config: Mapping[str, Any], *, trusted: bool) -> None:
    """Say which Python file a checkpoint wants to run, unless the user has said yes."""
    tokenizer = _json(path / "tokenizer_config.json") or {}
    wants = [str(config["model_file"])] if config.get("model_file") else []
    if isinstance(tokenizer.get("auto_map"), Mapping):
        classes = [
            name for value in tokenizer["auto_map"].values() for name in (value if isinstance(value, list) else [value])
        ]
        wants += sorted({str(name).split(".")[0] + ".py" for name in classes if name})
    if wants and not trusted:
        raise ModelError(
            f"{path.name} wants to run code that comes with it: {', '.join(wants)}",
            hint="read it; if you trust it: --set trust_remote_code=true",
        )


def _json(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path.name} cannot be read: {error}", hint="fetch the file again") from error
    if not isinstance(value, dict):
        raise ModelError(f"{path.name} is not a JSON object", hint="fetch the file again")
    return value


def _ids(value: Any) -> list[int]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, int) and not isinstance(one, bool)]


def _number(values: Mapping[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = values.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None
