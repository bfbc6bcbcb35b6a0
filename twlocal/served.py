"""What an engine tells of the model it has: two sittings of one run must not have asked two models.

A file's weights are in a run's key; a server's are not, since nothing but its own word is known of them. And a LongRoPE
model is another one above a certain context, which is no part of the key either. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# Of an engine's `EngineInfo.model`: what only other weights change. Context and owner may change with a restart.
_OF_MODEL = ("root_sha256", "quantization", "long_rope")
_OF_META = ("n_params", "n_embd", "n_vocab", "n_layer", "size")
_NAMES = "served_as"


def another(before: Iterable[Mapping[str, Any]], now: Mapping[str, Any]) -> str:
    """How the model that a server has `now` is not the one of earlier sittings, "" where nothing says so.

    Each is an `EngineInfo.model`. Only what both tell is compared. The names under which answers came (`served_as`)
    are compared as sets, because a server may have several machines: no name in common is another model.
    """
    names: set[str] = set()
    for earlier in before:
        told, tells = _weights(earlier), _weights(now)
        for name in sorted(told.keys() & tells.keys()):
            if told[name] != tells[name]:
                return f"{name} was {told[name]} and is {tells[name]}"
        names |= set(earlier.get(_NAMES, ()))
    said = set(now.get(_NAMES, ()))
    if said and names and not said & names:
        return f"answers came from {', '.join(sorted(names))} and come from {', '.join(sorted(said))}"
    return ""


def _weights(model: Mapping[str, Any]) -> dict[str, Any]:
    meta = model.get("meta")
    found = {name: model[name] for name in _OF_MODEL if model.get(name) is not None}
    if isinstance(meta, Mapping):
        found |= {name: meta[name] for name in _OF_META if meta.get(name) is not None}
    return found
