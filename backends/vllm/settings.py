"""What the user may set, checked before anything is loaded. Pure, but for reading a template file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from twlocal import setting_values as values
from twlocal.chat import FIXED_DAY
from twlocal.errors import UsageError

EXTRA = "vllm"
NATIVE = "native"
DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Settings:
    """None means: decided by what the machine and the model are.

    slots: answers generated at once. batched_tokens: tokens computed in one step, those of prompts among them.
    context: most tokens of a prompt and its answer together. max_model_len: tokens that the engine is started for; it
    grows where a prompt needs more, up to context. dtype: what weights are computed in; "native" as the checkpoint
    ships them. tensor_parallel_size: cards that share the model. gpu_memory: share of a card that vLLM may take.
    cache_gib: GiB for keys and values, on a CPU. eager: neither compile nor record graphs (starts faster, runs slower
    on cards). threads: CPU threads. chat_template: the Jinja text, instead of the model's own. template_variables:
    names for it (enable_thinking, …). template_day: what a template that prints today's date prints. seed: for
    temperatures above 0. stop_at_box: end an answer at its box. json_schema: hold every answer to this schema.
    trust_remote_code: run Python files that come with the checkpoint.
    """

    slots: int | None = None
    batched_tokens: int | None = None
    context: int | None = None
    max_model_len: int | None = None
    dtype: str | None = None
    tensor_parallel_size: int | None = None
    gpu_memory: float | None = None
    cache_gib: int | None = None
    eager: bool | None = None
    threads: int | None = None
    chat_template: str | None = None
    template_variables: Mapping[str, Any] = field(default_factory=dict)
    template_day: datetime = FIXED_DAY
    seed: int = 0
    stop_at_box: bool = False
    json_schema: Mapping[str, Any] | None = None
    trust_remote_code: bool = False


def _share(name: str, value: Any) -> float:
    try:
        share = float(value) if not isinstance(value, bool) else 0.0
    except (TypeError, ValueError):
        share = 0.0
    if not 0 < share <= 1:
        raise UsageError(f"the setting {name} takes a share above 0 and up to 1, not {value!r}")
    return share


_READERS: Mapping[str, values.Reader] = {
    "slots": values.whole(1),
    "batched_tokens": values.whole(1),
    "context": values.whole(1),
    "max_model_len": values.whole(1),
    "dtype": values.choice(NATIVE, *DTYPES),
    "tensor_parallel_size": values.whole(1),
    "gpu_memory": _share,
    "cache_gib": values.whole(1),
    "eager": values.switch,
    "threads": values.whole(1),
    "chat_template": values.template,
    "template_variables": values.variables,
    "template_day": values.day,
    "seed": values.whole(0),
    "stop_at_box": values.switch,
    "json_schema": values.schema,
    "trust_remote_code": values.switch,
}
NAMES = frozenset(_READERS)


def parse(settings: Mapping[str, Any]) -> Settings:
    """`settings` as given (numbers may be text). Raises UsageError, naming the setting."""
    return Settings(**values.read("vllm", settings, _READERS))
