"""What the user may set, checked before anything is loaded. Pure, but for reading a template file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from twlocal import setting_values as values
from twlocal.chat import FIXED_DAY

EXTRA = "llama-cpp"


@dataclass(frozen=True)
class Settings:
    """None means: decided by what the machine and the model are.

    slots: answers generated at once; one is reproducible, more are not bit for bit (another batch shape changes low
    bits). threads: CPU threads. context: most tokens of a prompt and its answer together. gpu_layers: -1 for all.
    chat_template: the Jinja text, instead of the model's own. template_variables: names for it (enable_thinking, …).
    template_day: what a template that prints today's date prints. seed: for temperatures above 0.
    flash_attention: slower on a CPU, where its result also depends on the number of threads.
    repack: let llama.cpp rearrange weights for this CPU's matrix units. stop_at_box: end an answer at its box.
    json_schema: hold every answer to this schema.
    """

    slots: int | None = None
    threads: int | None = None
    context: int | None = None
    gpu_layers: int | None = None
    chat_template: str | None = None
    template_variables: Mapping[str, Any] = field(default_factory=dict)
    template_day: datetime = FIXED_DAY
    seed: int = 0
    flash_attention: bool | None = None
    repack: bool | None = None
    stop_at_box: bool = False
    json_schema: Mapping[str, Any] | None = None


_READERS: Mapping[str, values.Reader] = {
    "slots": values.whole(1),
    "threads": values.whole(1),
    "context": values.whole(1),
    "gpu_layers": values.whole(-1),
    "chat_template": values.template,
    "template_variables": values.variables,
    "template_day": values.day,
    "seed": values.whole(0),
    "flash_attention": values.switch,
    "repack": values.switch,
    "stop_at_box": values.switch,
    "json_schema": values.schema,
}
NAMES = frozenset(_READERS)


def parse(settings: Mapping[str, Any]) -> Settings:
    """`settings` as given (numbers may be text). Raises UsageError, naming the setting."""
    return Settings(**values.read("llama_cpp", settings, _READERS))
