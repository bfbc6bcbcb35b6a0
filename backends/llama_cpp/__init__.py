"""llama.cpp inside this process, through llama-cpp-python's low-level API: a GGUF file, on a CPU or a GPU.

    settings.py   what the user may set
    cores.py      how many threads that makes
    library.py    the bindings: present, new enough, and quiet
    gguf.py       a GGUF file: refused with a reason, or its tensors' types
    model.py      a loaded model: vocabulary, metadata, what it says of itself
    sampling.py   logits → token
    grammar.py    the same, held to a JSON schema
    decoder.py    the context: shared prefix, slots, one decode step for all of them
    engine.py     the backend itself: requests → prompts → slots → completions

The high-level `Llama` class is not used: it cannot generate in parallel, invents a template where there is none, and
brings sampling defaults of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twlocal.backend import Backend, Decoding
from twlocal.backends.llama_cpp.settings import EXTRA, NAMES

__all__ = ["ANSWERING", "EXTRA", "ISOLATE", "SETTINGS", "open"]

ISOLATE = True
SETTINGS = NAMES
# How the prompt is written, how chance falls, what form an answer has and where it ends; slots and threads change low
# bits, and are recorded by the sitting.
ANSWERING = frozenset({"chat_template", "json_schema", "seed", "stop_at_box", "template_day", "template_variables"})


def open(model: str, decoding: Decoding, settings: Mapping[str, Any]) -> Backend:
    """Load the GGUF file at the path `model` (of a split one, the first part).

    Raises EngineMissing without a fitting llama-cpp-python, UsageError for a wrong setting, and ModelError for a file
    that cannot be loaded or a model without a usable chat template: all before the first item.
    """
    from twlocal.backends.llama_cpp.engine import load

    return load(model, decoding, settings)
