"""What the user may set, checked before anything is loaded. Pure, but for reading a template file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from twlocal import setting_values as values
from twlocal.chat import FIXED_DAY

EXTRA = "mlx"
NATIVE = "native"
DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Settings:
    """None means: decided by what the machine and the model are.

    slots: answers generated at once. context: most tokens of a prompt and its answer together. dtype: what weights are
    computed in; "native" as the checkpoint ships them. chat_template: the Jinja text, instead of the model's own.
    template_variables: names for it (enable_thinking, …). template_day: what a template that prints today's date
    prints. seed: for temperatures above 0. trust_remote_code: run Python files that come with the checkpoint.
    stop_at_box: end an answer at its box.
    """

    slots: int | None = None
    context: int | None = None
    dtype: str | None = None
    chat_template: str | None = None
    template_variables: Mapping[str, Any] = field(default_factory=dict)
    template_day: datetime = FIXED_DAY
    seed: int = 0
    trust_remote_code: bool = False
    stop_at_box: bool = False


_READERS: Mapping[str, values.Reader] = {
    "slots": values.whole(1),
    "context": values.whole(1),
    "dtype": values.choice(NATIVE, *DTYPES),
    "chat_template": values.template,
    "template_variables": values.variables,
    "template_day": values.day,
    "seed": values.whole(0),
    "trust_remote_code": values.switch,
    "stop_at_box": values.switch,
}
NAMES = frozenset(_READERS)


def parse(settings: Mapping[str, Any]) -> Settings:
    """`settings` as given (numbers may be text). Raises UsageError, naming the setting."""
    return Settings(**values.read("mlx", settings, _READERS))
