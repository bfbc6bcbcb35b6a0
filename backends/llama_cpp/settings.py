"""What the user may set, checked before anything is loaded. Pure, but for reading a template file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from twlocal.chat import FIXED_DAY
from twlocal.errors import UsageError

EXTRA = "llama-cpp"
NAMES = frozenset(
    {
        "slots",
        "threads",
        "context",
        "gpu_layers",
        "chat_template",
        "template_variables",
        "template_day",
        "seed",
        "flash_attention",
        "repack",
    }
)


@dataclass(frozen=True)
class Settings:
    """None means: decided by what the machine and the model are.

    slots: answers generated at once; one is reproducible, more are not bit for bit (another batch shape changes low
    bits). threads: CPU threads. context: most tokens of a prompt and its answer together. gpu_layers: -1 for all.
    chat_template: the Jinja text, instead of the model's own. template_variables: names for it (enable_thinking, …).
    template_day: what a template that prints today's date prints. seed: for temperatures above 0.
    flash_attention: slower on a CPU, where its result also depends on the number of threads.
    repack: let llama.cpp rearrange weights for this CPU's matrix units.
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


def parse(settings: Mapping[str, Any]) -> Settings:
    """`settings` as given (numbers may be text). Raises UsageError, naming the setting."""
    unknown = sorted(set(settings) - NAMES)
    if unknown:
        raise UsageError(f"llama_cpp has no setting {unknown[0]!r}", hint=f"it has: {', '.join(sorted(NAMES))}")
    values: dict[str, Any] = {}
    for name, value in settings.items():
        if value is None:
            continue
        values[name] = _READERS[name](name, value)
    return Settings(**values)


def _whole(least: int) -> Any:
    def read(name: str, value: Any) -> int:
        try:
            number = int(value) if not isinstance(value, bool | float) else None
        except (TypeError, ValueError):
            number = None
        if number is None or number < least:
            raise UsageError(f"the setting {name} takes a whole number of at least {least}, not {value!r}")
        return number

    return read


def _switch(name: str, value: Any) -> bool:
    named = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
    try:
        return named[str(value).lower()]
    except KeyError:
        raise UsageError(f"the setting {name} takes true or false, not {value!r}") from None


def _template(name: str, value: Any) -> str:
    text = str(value)
    if "{{" in text or "{%" in text:
        return text
    try:
        return Path(text).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"the chat template {text!r} cannot be read: {error}", hint="a file with a Jinja chat template, in UTF-8"
        ) from error


def _variables(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"the setting {name} takes names and values", hint="for example {'enable_thinking': false}")
    return {str(key): entry for key, entry in value.items()}


def _day(name: str, value: Any) -> datetime:
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        raise UsageError(f"the setting {name} takes a day such as 2024-07-26, not {value!r}") from None


_READERS = {
    "slots": _whole(1),
    "threads": _whole(1),
    "context": _whole(1),
    "gpu_layers": _whole(-1),
    "chat_template": _template,
    "template_variables": _variables,
    "template_day": _day,
    "seed": _whole(0),
    "flash_attention": _switch,
    "repack": _switch,
}
