"""A backend whose native library kills the process while it opens."""

import os
from collections.abc import Mapping
from typing import Any, NoReturn

from twlocal.backend import Decoding

ISOLATE = True
EXTRA = ""
SETTINGS: frozenset[str] = frozenset()
ANSWERING: frozenset[str] = frozenset()


def open(model: str, decoding: Decoding, settings: Mapping[str, Any]) -> NoReturn:
    os.write(2, b"symbol lookup error: no libfoo here\n")
    os._exit(127)
