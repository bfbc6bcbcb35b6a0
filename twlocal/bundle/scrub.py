"""What may not leave this machine: paths, addresses, names of machines and of people, keys. Pure.

Engines describe themselves freely, and new ones will say new things. So values are judged by what they look like, and
settings that are known to hold an address or a name are left out whatever they look like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

REMOVED = "(removed)"
_NAMES = frozenset(
    {
        *("base_url", "url", "address", "ray_address", "query", "headers", "server_header", "proxy", "key", "api_key"),
        *("api_key_env", "token", "user", "username", "host", "hostname", "pid", "path", "model_path", "cwd", "file"),
        *("note", "extra_headers"),
    }
)
_PRIVATE = re.compile(
    r"""[A-Za-z][A-Za-z0-9+.-]*://          # an address
      | (?:^|[\s"'=:,;(\[{])(?:~|\.{1,2})?/[^\s/]    # a path of Unix
      | (?:^|[\s"'=,;(\[{])[A-Za-z]:[\\/]  # of Windows
      | \\\\[\w.-]+\\                       # a share
      | [\w.+-]+@[\w-]+\.[\w.]+             # a mail address
      | \b\d{1,3}(?:\.\d{1,3}){3}:\d+\b     # an address and port
      | \blocalhost\b
      | \b(?:sk|hf|ghp|gsk)[-_][A-Za-z0-9_-]{12,}   # a key
    """,
    re.VERBOSE,
)


def looks_private(text: str, forbidden: Sequence[str] = ()) -> bool:
    """Whether a text holds a path, an address or a key, or one of the `forbidden` names of machines and people."""
    if _PRIVATE.search(text):
        return True
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) for name in forbidden if name)


def scrubbed(value: Any, forbidden: Sequence[str] = ()) -> Any:
    """Plain data without what may not leave: named settings are dropped, texts that look private replaced."""
    if isinstance(value, str):
        return REMOVED if looks_private(value, forbidden) else value
    if isinstance(value, Mapping):
        return {
            str(scrubbed(str(name), forbidden)): scrubbed(one, forbidden)
            for name, one in value.items()
            if str(name).lower() not in _NAMES
        }
    if isinstance(value, list | tuple):
        return [scrubbed(one, forbidden) for one in value]
    return value


def leaks(value: Any, where: str = "") -> Iterator[str]:
    """Where in plain data something stands that should have been left out."""
    if isinstance(value, str):
        if looks_private(value):
            yield where or "the text"
    elif isinstance(value, Mapping):
        for name, one in value.items():
            place = f"{where}.{name}" if where else str(name)
            if str(name).lower() in _NAMES or looks_private(str(name)):
                yield place
            else:
                yield from leaks(one, place)
    elif isinstance(value, list | tuple):
        for at, one in enumerate(value):
            yield from leaks(one, f"{where}[{at}]")


def model_name(model: str) -> str:
    """A model's name without the address of its server or the folder of its file."""
    name = model
    if "://" in model:
        name = model.partition("#")[2] or "unnamed"
    if looks_private(name):
        name = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    return name or "unnamed"


def bench_name(bench: str) -> str:
    """A dataset's name: of a Hub source its id, of a local one its last part, of a bundled bench its name."""
    if bench.startswith("hf://"):
        return bench.removeprefix("hf://")
    return re.split(r"[/\\]", bench.rstrip("/\\"))[-1] or "bench"
