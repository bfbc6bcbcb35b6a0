"""A checkpoint's folder before an engine loads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from twlocal.errors import ModelError
from twlocal.folder import Folder, Reader, read

READER = Reader("engine", "package", "model*.safetensors")


def write(path: Path, *, generation: Any = None, tokenizer: Any = None, **config: Any) -> Path:
    path.mkdir(exist_ok=True)
    (path / "model.safetensors").write_bytes(b"x" * 1000)
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name, content in (("generation_config.json", generation), ("tokenizer_config.json", tokenizer)):
        if content is not None:
            (path / name).write_text(json.dumps(content), encoding="utf-8")
    return path


def folder(path: Path, **more: Any) -> Folder:
    return read(str(write(path, **more)), READER, trust_remote_code=False)


def test_facts_come_from_the_language_models_part(tmp_path: Path) -> None:
    text = {
        "dtype": "torch.bfloat16",
        "max_position_embeddings": 4096,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "hidden_size": 32,
    }
    found = folder(tmp_path / "模型", model_type="gemma3", text_config=text, vision_config={"num_hidden_layers": 9})
    assert (found.architecture, found.context, found.dtype, found.weight_bytes) == ("gemma3", 4096, "bfloat16", 1000)
    assert (found.bytes_as("float32"), found.bytes_as("float16")) == (2000, 1000)
    assert found.token_bytes("bfloat16") == 2 * 2 * 1 * 8 * 2
    assert found.describe() == {
        "architecture": "gemma3",
        "bytes": 1000,
        "dtype": "bfloat16",
        "context_trained": 4096,
    }


def test_end_tokens_of_both_configurations_and_numbers_only(tmp_path: Path) -> None:
    found = folder(tmp_path / "m", eos_token_id=[7, "x", True], generation={"eos_token_id": 8})
    assert found.ends == {7, 8}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"quantization": {"bits": 4, "layer.0": {"bits": 8}}}, {"bits": 4}),
        ({"quantization_config": {"quant_method": "gptq"}}, {"quant_method": "gptq"}),
        ({"text_config": {"quantization_config": {"layer": {}}}}, {"kind": "quantization_config"}),
        ({}, None),
    ],
)
def test_a_quantised_checkpoint_is_known_by_its_configuration(tmp_path: Path, more: Any, told: Any) -> None:
    found = folder(tmp_path / "m", dtype="bfloat16", **more)
    assert found.quantisation == told
    assert (found.bytes_as("float32") == 1000) is (told is not None), "packed weights keep their bytes"


def test_what_engine_and_package_read_stands_in_the_refusal(tmp_path: Path) -> None:
    path = write(tmp_path / "m")
    (path / "model.safetensors").rename(path / "consolidated.safetensors")
    with pytest.raises(ModelError, match=r"no model\*\.safetensors, which package reads"):
        read(str(path), READER, trust_remote_code=False)
    with pytest.raises(ModelError, match="is a file, and engine reads"):
        read(str(path / "consolidated.safetensors"), READER, trust_remote_code=False)
    (path / "weights.pt").write_bytes(b"x")
    with pytest.raises(ModelError, match=r"weights\.pt, a file that can run code"):
        read(str(path), READER, trust_remote_code=False)


def test_code_that_would_run_is_named_and_runs_only_when_trusted(tmp_path: Path) -> None:
    path = write(tmp_path / "m", tokenizer={"auto_map": {"AutoTokenizer": ["tokenization_x.XTokenizer", None]}})
    with pytest.raises(ModelError, match=r"tokenization_x\.py"):
        read(str(path), READER, trust_remote_code=False)
    assert read(str(path), READER, trust_remote_code=True).path == path
