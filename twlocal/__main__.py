"""`twlocal` and `python -m twlocal`: set the streams up, run a command, turn errors into lines and exit codes."""

from __future__ import annotations

import errno
import os
import sys
from typing import TextIO

EXIT_INTERRUPTED = 130
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 work that did not complete, 2 a wrong call, 130 interrupted."""
    _open_streams()
    _speak_utf8()
    # Wherever it stands in the line: it is asked for by somebody who repeats a command that failed.
    words = [word for word in sys.argv[1:] if word != "--debug"]
    debug = len(words) < len(sys.argv) - 1
    from twlocal.errors import TwlocalError

    try:
        _readable(words)
        code = _run(words)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`). Python would complain once more while flushing at exit.
        _discard(sys.stdout)
        code = 0
    except KeyboardInterrupt:
        _tell("interrupted; what was stored stays")
        code = EXIT_INTERRUPTED
    except Exception as error:
        if debug:
            raise
        code = error.exit_code if isinstance(error, TwlocalError) else 1
        _tell(_explained(error))
    try:
        sys.stdout.flush()
    except OSError as error:
        _discard(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            # Said already where it was the command itself that failed to write.
            if not code:
                _tell(_explained(error))
            code = code or 1
    sys.exit(code)


def _readable(words: list[str]) -> None:
    """Refuse words that are no text: they could be neither stored nor told again."""
    from twlocal.errors import UsageError

    for word in words:
        try:
            word.encode("utf-8")
        except UnicodeEncodeError:
            raise UsageError(
                f"{word} is not text in this system's encoding", hint="rename the file, or set LC_ALL=C.UTF-8"
            ) from None


def _explained(error: Exception) -> str:
    from twlocal.errors import TwlocalError

    if isinstance(error, TwlocalError):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return f"cannot write all of the output: {error.strerror}\n  → free some space, or write it elsewhere"
    where = "the same command with --debug shows where, and what was stored stays"
    return f"unexpected {type(error).__name__}: {error}\n  → this is a fault of twlocal; {where}"


def _tell(message: str) -> None:
    from twlocal.cli.common import columns
    from twlocal.report.table import fitted, visible

    try:
        sys.stderr.write(f"{fitted(visible(f'twlocal: {message}'), columns(sys.stderr))}\n")
        sys.stderr.flush()
    except OSError:  # nobody can be told; the exit code still says it
        _discard(sys.stderr)


def _run(words: list[str]) -> int:
    import click

    from twlocal.cli import main as group

    try:
        result = group.main(words, standalone_mode=False, prog_name="twlocal")
    except click.exceptions.Abort:  # what click makes of a KeyboardInterrupt
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        try:
            error.show()
        except OSError:
            _discard(sys.stderr)
        return error.exit_code
    return result if isinstance(result, int) else 0


def _open_streams() -> None:
    """Give what was started without a stream (`>&-`, a service) one that swallows everything, as /dev/null does.

    The descriptors too: a file or pipe that got the number of a standard stream would be written over by an engine.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(
                os.open(os.devnull, os.O_RDWR), True
            )  # it takes the lowest number that is free: this one
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - for good


def _speak_utf8() -> None:
    """Make Chinese printable whatever the locale.

    Under the C locale with Python's own rescue switched off, even file names cannot be Chinese: then start again in
    UTF-8 mode. On a console of another encoding (cp950), what it cannot show becomes a question mark, not an error.
    """
    if sys.getfilesystemencoding().lower() in ("ascii", "us-ascii") and os.name == "posix" and not sys.flags.utf8_mode:
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, "-X", "utf8", "-m", "twlocal", *sys.argv[1:]])
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _discard(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
