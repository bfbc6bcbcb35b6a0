"""A backend whose native library kills the process while it opens, by the signal in `by` where that is set."""

import os
from collections.abc import Mapping
from typing import Any, NoReturn

from twlocal.backend import Decoding

ISOLATE = True
EXTRA = ""
SETTINGS: frozenset[str] = frozenset({"by"})
ANSWERING: frozenset[str] = frozenset()


def open(model: str, decoding: Decoding, settings: Mapping[str, Any]) -> NoReturn:
    if "by" in settings:
        os.kill(os.getpid(), settings["by"])
    os.write(2, b"symbol lookup error: no libfoo here\n")
    os._exit(127)
