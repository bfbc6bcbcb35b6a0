"""A parser of papers that does what a file's name says; importable in every process that knows the plugins."""

import os
import time
from pathlib import Path


def parse(path: Path) -> str | int:
    if path.stem == "hang":
        time.sleep(600)
    if path.stem == "die":
        os._exit(9)
    if path.stem == "eat":
        return len(bytearray(3 * 1024**3))
    return path.read_text(encoding="utf-8")
