"""JSON from strangers: no doubled keys, no NaN, no huge numbers, no endless nesting, no broken text. Pure."""

from __future__ import annotations

import json
from typing import Any, NoReturn

_LARGEST = 2**53  # beyond it, other readers of the same JSON see other integers


class Malformed(ValueError):
    """A line or file that is not what it should be; the message ends a sentence that begins with its place."""


def parse(text: str) -> Any:
    """The value of a JSON text. Raises Malformed."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer)
        # Half of a surrogate pair can be written in JSON, but neither stored nor hashed.
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except Malformed:
        raise
    except UnicodeEncodeError as error:
        raise Malformed("holds half of a surrogate pair") from error
    except RecursionError as error:
        raise Malformed("is nested too deep") from error
    except ValueError as error:
        raise Malformed("is not valid JSON") from error
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Malformed("has a key twice")
    return found


def _constant(name: str) -> NoReturn:
    raise Malformed(f"holds {name}, which is no number in JSON")


def _integer(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > _LARGEST:
        raise Malformed("holds an integer that is too large")
    return int(digits)
