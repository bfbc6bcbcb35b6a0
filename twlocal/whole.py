"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from twlocal.errors import TwlocalError, UsageError

_SQLITE = b"SQLite format 3\0"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_stream(target: Path) -> bool:
    """Whether it is a pipe or a device (/dev/stdout, /dev/null): written to, and never replaced.

    /dev/stdout is so also where it leads to a file (`> file`): what would be replaced is the device of everybody.
    """
    if not os.path.exists(target):  # noqa: PTH110 - pathlib's raises where the name is too long
        return False
    place = target.parent.resolve()
    return not target.is_file() or place == Path("/dev") or Path("/proc") in place.parents


def _refuse_database(target: Path) -> None:
    """A slip of the hand must not put a page in the place of every answer."""
    if os.path.exists(target):  # noqa: PTH110
        with target.open("rb") as file:
            if file.read(len(_SQLITE)) == _SQLITE:
                raise UsageError(f"{target} is a database, and is not written over", hint="name another file")


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """A path beside `target` to write to; what is there after the block becomes `target`, in one step.

    Where the block raises, nothing is left and `target` is as it was. Raises UsageError where the place cannot be
    written to or holds a database, TwlocalError where the disk is full.
    """
    if not target.name or os.path.isdir(target):  # noqa: PTH112 - pathlib's raises where the name is too long
        raise UsageError(f"{target} is a folder", hint="name a file in it")
    straight = is_stream(target)
    part = target if straight else target.with_name(f"{target.name}.part")
    try:
        if not straight:
            _refuse_database(target)
            if part.is_symlink():  # what it leads to is not ours to write to
                part.unlink()
        yield part
        if not straight:
            part.replace(target)
    except BrokenPipeError:  # `--html /dev/stdout | head`: nobody reads on, and nothing is wrong
        raise
    except OSError as error:
        message = f"cannot write {target}: {error.strerror or error}"
        if error.errno in _NO_ROOM:
            raise TwlocalError(message, hint="free some space, or write it elsewhere") from error
        raise UsageError(message, hint="name another place") from error
    finally:
        if not straight:
            with suppress(OSError):
                part.unlink()
