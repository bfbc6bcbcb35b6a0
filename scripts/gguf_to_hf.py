"""A GGUF file as a Hugging Face folder (config.json, model.safetensors, tokenizer.json), so that engines which read
no GGUF run the same model.

    python scripts/gguf_to_hf.py model.gguf FOLDER [--dtype float32]

For the small Llama-like models that the tests use: architecture `llama`, byte-level BPE as in SmolLM. Weights are
dequantised; in float32 nothing is lost. Needs gguf, numpy, safetensors and tokenizers.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader, dequantize
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_LAYER = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
_CONTROL, _USER_DEFINED = 3, 4  # llama_token_type


def convert(source: Path, target: Path, *, dtype: str = "float32") -> None:
    """Write the model in the GGUF file `source` into the folder `target`. Raises ValueError for what is not known."""
    reader = GGUFReader(source)
    facts = {name: field.contents() for name, field in reader.fields.items()}
    architecture, kind = facts["general.architecture"], facts.get("tokenizer.ggml.pre")
    if architecture != "llama" or kind != "smollm":
        raise ValueError(f"only llama with the tokenizer smollm is known here, not {architecture} with {kind}")
    target.mkdir(parents=True, exist_ok=True)
    tensors = weights(reader, facts, np.dtype(dtype))
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    tokenizer(facts).save(str(target / "tokenizer.json"))
    _write(target / "config.json", config(facts, tensors, dtype))
    _write(target / "tokenizer_config.json", tokenizer_config(facts))


def weights(reader: GGUFReader, facts: dict[str, Any], dtype: np.dtype[Any]) -> dict[str, np.ndarray[Any, Any]]:
    """All tensors under Hugging Face's names, dequantised."""
    heads = {"attn_q": facts["llama.attention.head_count"], "attn_k": facts["llama.attention.head_count_kv"]}
    found = {}
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type).reshape([int(size) for size in reversed(tensor.shape)])
        name = _NAMES.get(tensor.name)
        if name is None:
            _, layer, part, suffix = tensor.name.split(".")
            name = f"model.layers.{layer}.{_LAYER[part]}.{suffix}"
            if part in heads:
                values = unpermuted(values, heads[part])
        found[name] = np.ascontiguousarray(values.astype(dtype))
    return found


def unpermuted(values: np.ndarray[Any, Any], heads: int) -> np.ndarray[Any, Any]:
    """Rows of a query or key projection back in Hugging Face's order: llama.cpp pairs the halves that RoPE rotates."""
    return values.reshape(heads, values.shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(values.shape)


def config(facts: dict[str, Any], tensors: dict[str, Any], dtype: str) -> dict[str, Any]:
    """config.json, from the GGUF's metadata."""
    heads, hidden = facts["llama.attention.head_count"], facts["llama.embedding_length"]
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": facts["llama.feed_forward_length"],
        "num_hidden_layers": facts["llama.block_count"],
        "num_attention_heads": heads,
        "num_key_value_heads": facts["llama.attention.head_count_kv"],
        "head_dim": hidden // heads,
        "rms_norm_eps": float(facts["llama.attention.layer_norm_rms_epsilon"]),
        "rope_theta": float(facts["llama.rope.freq_base"]),
        "max_position_embeddings": facts["llama.context_length"],
        "vocab_size": len(facts["tokenizer.ggml.tokens"]),
        "tie_word_embeddings": "lm_head.weight" not in tensors,
        "attention_bias": False,
        "mlp_bias": False,
        "hidden_act": "silu",
        "dtype": dtype,
        "torch_dtype": dtype,
        "bos_token_id": facts["tokenizer.ggml.bos_token_id"],
        "eos_token_id": facts["tokenizer.ggml.eos_token_id"],
    }


def tokenizer(facts: dict[str, Any]) -> Tokenizer:
    """The tokenizer: byte-level BPE that takes digits one by one."""
    tokens, kinds = facts["tokenizer.ggml.tokens"], facts["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ", 1)) for merge in facts["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate(tokens)}, merges=merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    made.decoder = decoders.ByteLevel()
    for special, wanted in ((True, _CONTROL), (False, _USER_DEFINED)):
        named = [token for token, kind in zip(tokens, kinds, strict=True) if kind == wanted]
        made.add_tokens([AddedToken(token, special=special, normalized=False) for token in named])
    return made


def tokenizer_config(facts: dict[str, Any]) -> dict[str, Any]:
    """tokenizer_config.json: special tokens by name, and the chat template."""
    tokens = facts["tokenizer.ggml.tokens"]
    eos = tokens[facts["tokenizer.ggml.eos_token_id"]]
    pad = facts.get("tokenizer.ggml.padding_token_id")
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[facts["tokenizer.ggml.bos_token_id"]],
        "eos_token": eos,
        "pad_token": eos if pad is None else tokens[pad],
        "add_bos_token": bool(facts.get("tokenizer.ggml.add_bos_token", False)),
        "clean_up_tokenization_spaces": False,
        "model_max_length": facts["llama.context_length"],
        "chat_template": facts["tokenizer.chat_template"],
    }


def _write(path: Path, values: dict[str, Any]) -> None:
    path.write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Convert the file that is named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--dtype", choices=["float32", "float16"], default="float32")
    wish = parser.parse_args()
    convert(wish.source, wish.target, dtype=wish.dtype)


if __name__ == "__main__":
    main()
