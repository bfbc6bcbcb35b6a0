"""vLLM inside this process: its offline engine, fed request by request and stepped; a checkpoint's folder, on NVIDIA
cards or, with the build for it, on a CPU.

    settings.py   what the user may set
    layout.py     model and machine → dtype, cards, batch, memory: decided by `twlocal.verdict`, as in `twlocal route`
    context.py    for how many tokens the engine is started, and when it must grow
    library.py    vLLM: present, with all that is used here, its environment set and its log quiet
    core.py       one started engine: requests in, finished answers out
    engine.py     the backend itself: requests → prompts → engine → completions

Requests go in one by one while others are being answered, never as a chunk whose last answer the cards would wait for,
and each answer leaves as it finishes. Prompts are token ids rendered and cut here, so nothing of vLLM's chat handling
or of the model's own generation settings takes part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twlocal.backend import Backend, Decoding
from twlocal.backends.vllm.settings import EXTRA, NAMES

__all__ = ["ANSWERING", "CLOSE_SECONDS", "EXTRA", "ISOLATE", "SETTINGS", "open"]

ISOLATE = True
# Cards and their workers are given back in order; then whatever is left is killed.
CLOSE_SECONDS = 10.0
SETTINGS = NAMES
# How the prompt is written, how chance falls, what form an answer has and where it ends, and what is computed in.
# Batches and cards change low bits (hardly in float32), and are recorded by the sitting.
ANSWERING = frozenset(
    {"chat_template", "dtype", "json_schema", "seed", "stop_at_box", "template_day", "template_variables"}
)


def open(model: str, decoding: Decoding, settings: Mapping[str, Any]) -> Backend:
    """Start vLLM on the checkpoint in the folder `model`: config.json, *.safetensors, a tokenizer.

    Raises EngineMissing without a fitting vLLM, UsageError for a wrong setting, ModelError for a folder that cannot be
    loaded, a model that this machine has no room or no dtype for, or one without a usable chat template, and
    ConfigurationError where vLLM does not start: all before the first item.
    """
    from twlocal.backends.vllm.engine import load

    return load(model, decoding, settings)
