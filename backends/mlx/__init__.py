"""MLX inside this process, through mlx-lm's continuous batching: a checkpoint's folder, on Apple's Metal or a CPU.

    settings.py   what the user may set
    library.py    mlx and mlx-lm: present, and with all that is used here
    memory.py     Metal's limit, and the cache of freed buffers
    model.py      a loaded model: weights and tokenizer
    sampling.py   log-probabilities → token
    prefix.py     what all prompts share, computed once
    engine.py     the backend itself: requests → prompts → batch → completions

On Linux MLX multiplies with a reference BLAS that is unusably slow. With Debian's `libopenblas0-pthread` in LD_PRELOAD
float32 weights go some 25 times faster, which is why float32 is the default where there is no Metal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twlocal.backend import Backend, Decoding
from twlocal.backends.mlx.settings import EXTRA, NAMES

__all__ = ["ANSWERING", "EXTRA", "ISOLATE", "SETTINGS", "open"]

ISOLATE = True
SETTINGS = NAMES
# How the prompt is written, how chance falls, where an answer ends, and what is computed in. Slots change low bits (not
# in float32), and are recorded by the sitting.
ANSWERING = frozenset({"chat_template", "dtype", "seed", "stop_at_box", "template_day", "template_variables"})


def open(model: str, decoding: Decoding, settings: Mapping[str, Any]) -> Backend:
    """Load the checkpoint in the folder `model`: config.json, model*.safetensors, a tokenizer.

    Raises EngineMissing without a fitting mlx-lm, UsageError for a wrong setting, and ModelError for a folder that
    cannot be loaded, a model that Metal has no room for, or one without a usable chat template: all before the first
    item.
    """
    from twlocal.backends.mlx.engine import load

    return load(model, decoding, settings)
