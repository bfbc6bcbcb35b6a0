"""Any OpenAI-compatible chat-completions server: `http(s)://host[:port][/v1]#model-name`.

    address.py    the model string, and where proxies come in
    settings.py   what the user may set; where the key comes from
    adapt.py      the request body: what is sent to whom, and what a server made us change
    errors.py     what an error reply means: ask again, stop, or this item only
    limits.py     the many wordings of "too long", "too large a budget" and "filtered"
    parse.py      a reply's JSON → an answer
    sse.py        a streamed reply → the same JSON
    retry.py      how long to wait, how many at once
    sitting.py    one `generate()`: an event loop in a thread, workers, the queue between it and the caller
    client.py     the backend itself

aiohttp is imported only when a server is opened, or is about to be (`warm`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from twlocal.backend import Backend, Decoding
from twlocal.backends.http.settings import NAMES

ISOLATE = False
EXTRA = ""
SETTINGS = NAMES
ANSWERING = frozenset({"extra_body", "json_schema", "seed", "template_variables"})


def open(model: str, decoding: Decoding, settings: Mapping[str, Any]) -> Backend:
    """Reach the server named by `model` and find out what it is.

    Raises UsageError for a wrong address or setting, ModelError where no model name is given and the server does not
    have exactly one, ConfigurationError where nothing answers.
    """
    from twlocal.backends.http.client import connect

    return connect(model, decoding, settings)


def check(model: str, settings: Mapping[str, Any]) -> None:
    """Raise UsageError for what is wrong wherever the server is, before anything of the call is stored: a password."""
    from twlocal.backends.http import address
    from twlocal.backends.http import settings as given

    address.parse(model)
    given.parse(settings)


def warm() -> None:
    """Import what `open` will need. What goes wrong here goes wrong there too, and is told there."""
    with contextlib.suppress(ImportError):
        import_module("twlocal.backends.http.client")
