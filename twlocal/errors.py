"""Every error twlocal raises on purpose, as one tree.

    TwlocalError
    ├── UsageError            a wrong call: nothing was started (exit code 2)
    │   ├── DatasetError      a file, row or column that cannot be taken as it is
    │   ├── ProtocolError     a protocol that does not exist or does not hold together
    │   ├── ModelError        a model that cannot be found, read or prompted
    │   │   └── NoEngine      no engine on this machine can run it
    │   └── EngineMissing     an engine whose extra is not installed
    ├── BackendError          the engine or the server failed (exit code 1)
    │   ├── ConfigurationError   asking again cannot help (401, wrong address, …): the run stops
    │   └── EngineDied        the engine's process ended by itself
    ├── StoreError            the database cannot be opened, read or written (exit code 1)
    │   ├── StoreBusy         somebody else holds it
    │   ├── StoreMissing      there is none (exit code 2: a wrong call)
    │   ├── StoreFull         no room on the disk
    │   ├── StoreCorrupt      not a database, or a damaged one
    │   └── SchemaTooNew      written by a newer twlocal
    └── RunError              a run that had to stop (exit code 1)

A message names the thing and the way out; `hint`, when there is one, is the command or setting to try next.
"""

from __future__ import annotations


class TwlocalError(Exception):
    """Base of all errors that twlocal raises on purpose. `exit_code` is what the command line ends with."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  → {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross from an engine's process to ours; the default would lose the keyword-only hint.
        return (_rebuild, (type(self), self.message, self.hint))


def _rebuild(cls: type[TwlocalError], message: str, hint: str) -> TwlocalError:
    return cls(message, hint=hint)


class UsageError(TwlocalError):
    """A wrong call: nothing was started."""

    exit_code = 2


class DatasetError(UsageError):
    """A file, row or column that cannot be taken as it is."""


class ProtocolError(UsageError):
    """A protocol that does not exist or does not hold together."""


class ModelError(UsageError):
    """A model that cannot be found, read or prompted."""


class NoEngine(ModelError):
    """No engine on this machine can run the model; another machine's may. chinese: why, in one line of Chinese."""

    def __init__(self, message: str, *, hint: str = "", chinese: str = "") -> None:
        super().__init__(message, hint=hint)
        self.chinese = chinese


class EngineMissing(UsageError):
    """An engine whose extra is not installed."""


class BackendError(TwlocalError):
    """The engine or the server failed."""


class ConfigurationError(BackendError):
    """Asking again cannot help (401, a wrong address, …): the run stops."""


class EngineDied(BackendError):
    """The engine's process ended by itself."""


class StoreError(TwlocalError):
    """The database cannot be opened, read or written."""


class StoreBusy(StoreError):
    """Somebody else holds the database or the run."""


class StoreMissing(StoreError):
    """There is no database there: a wrong call."""

    exit_code = 2


class StoreFull(StoreError):
    """No room on the disk."""


class StoreCorrupt(StoreError):
    """Not a database, or a damaged one."""


class SchemaTooNew(StoreError):
    """The database was written by a newer twlocal."""


class RunError(TwlocalError):
    """A run that had to stop; what was stored stays."""
