"""Response text → letter. Pure functions, linear in the text's length.

`box` is the published score's reader and `lenient` is shown beside it; both read the final text (`final_text`).
The others reproduce what other tools read in the same text (see `compat`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from twlocal.errors import UsageError
from twlocal.item import LABELS
from twlocal.readers import compat
from twlocal.readers.box import box, wrote_box
from twlocal.readers.final import Final, final_text
from twlocal.readers.lenient import lenient
from twlocal.readers.reading import Reading, explain

__all__ = ["READERS", "Final", "Reading", "box", "explain", "final_text", "lenient", "read", "wrote_box"]

Reader = Callable[[str, str, str, str], Reading]


def _box(text: str, reasoning: str = "", finish: str = "stop", labels: str = LABELS) -> Reading:
    return box(final_text(text, reasoning, finish), labels)


def _lenient(text: str, reasoning: str = "", finish: str = "stop", labels: str = LABELS) -> Reading:
    return lenient(final_text(text, reasoning, finish), labels)


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "box": _box,
        "lenient": _lenient,
        "twinkle_box": compat.twinkle_box,
        "twinkle_pattern": compat.twinkle_pattern,
        "board_strict": compat.board_strict,
        "board_lenient": compat.board_lenient,
    }
)


def read(name: str, text: str, reasoning: str = "", finish: str = "stop", labels: str = LABELS) -> Reading:
    """What the reader `name` reads in a response: its text, its separate reasoning field and its finish reason.

    Raises UsageError when there is no such reader, EngineMissing when it needs a package that is not installed.
    """
    reader = READERS.get(name)
    if reader is None:
        raise UsageError(f"there is no reader named {name!r}", hint=f"known readers: {', '.join(READERS)}")
    return reader(text, reasoning, finish, labels)
