"""Values of engine settings, as given on a command line or in a file, read and checked: what several engines have.

Each reader takes the setting's name and its value, and raises UsageError naming both. Pure, but for reading a template.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from twlocal.errors import UsageError

Reader = Callable[[str, Any], Any]
_SWITCH = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


def read(engine: str, settings: Mapping[str, Any], readers: Mapping[str, Reader]) -> dict[str, Any]:
    """`settings` through their readers; one that is None is left out. Raises UsageError for a name without a reader."""
    if unknown := sorted(set(settings) - set(readers)):
        raise UsageError(f"{engine} has no setting {unknown[0]!r}", hint=f"it has: {', '.join(sorted(readers))}")
    return {name: readers[name](name, value) for name, value in settings.items() if value is not None}


def whole(least: int) -> Reader:
    """A whole number of at least `least`; it may be text."""

    def reader(name: str, value: Any) -> int:
        try:
            number = int(value) if not isinstance(value, bool | float) else None
        except (TypeError, ValueError):
            number = None
        if number is None or number < least:
            raise UsageError(f"the setting {name} takes a whole number of at least {least}, not {value!r}")
        return number

    return reader


def choice(*names: str) -> Reader:
    """One of `names`."""

    def reader(name: str, value: Any) -> str:
        if value not in names:
            raise UsageError(f"the setting {name} takes one of {', '.join(names)}, not {value!r}")
        return str(value)

    return reader


def switch(name: str, value: Any) -> bool:
    """True or false, on or off, 1 or 0."""
    try:
        return _SWITCH[str(value).lower()]
    except KeyError:
        raise UsageError(f"the setting {name} takes true or false, not {value!r}") from None


def template(name: str, value: Any) -> str:
    """A Jinja chat template: the text itself, or the file that holds it."""
    text = str(value)
    if "{{" in text or "{%" in text:
        return text
    try:
        return Path(text).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"the chat template {text!r} cannot be read: {error}", hint="a file with a Jinja chat template, in UTF-8"
        ) from error


def variables(name: str, value: Any) -> Mapping[str, Any]:
    """Names and values for a chat template."""
    if not isinstance(value, Mapping):
        raise UsageError(f"the setting {name} takes names and values", hint="for example {'enable_thinking': false}")
    return {str(key): entry for key, entry in value.items()}


def schema(name: str, value: Any) -> Mapping[str, Any]:
    """A JSON schema, as an object or as its text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if not isinstance(value, Mapping):
        raise UsageError(f"the setting {name} takes a JSON schema", hint='for example {"type": "object"}')
    return value


def day(name: str, value: Any) -> datetime:
    """A day, such as 2024-07-26."""
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        raise UsageError(f"the setting {name} takes a day such as 2024-07-26, not {value!r}") from None
