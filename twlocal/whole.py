"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from twlocal.errors import TwlocalError, UsageError

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """A path beside `target` to write to; what is there after the block becomes `target`, in one step.

    Where the block raises, nothing is left and `target` is as it was. Raises UsageError where the place cannot be
    written to, TwlocalError where the disk is full.
    """
    if not target.name or os.path.isdir(target):  # noqa: PTH112 - pathlib's raises where the name is too long
        raise UsageError(f"{target} is a folder", hint="name a file in it")
    # A pipe or a device (/dev/stdout, /dev/null) is written to, and never replaced.
    straight = os.path.exists(target) and not target.is_file()  # noqa: PTH110
    part = target if straight else target.with_name(f"{target.name}.part")
    try:
        yield part
        if not straight:
            part.replace(target)
    except OSError as error:
        message = f"cannot write {target}: {error.strerror or error}"
        if error.errno in _NO_ROOM:
            raise TwlocalError(message, hint="free some space, or write it elsewhere") from error
        raise UsageError(message, hint="name another place") from error
    finally:
        if not straight:
            with suppress(OSError):
                part.unlink()
