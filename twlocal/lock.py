"""One process at a time works on a run. The lock goes with the process, however that ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twlocal.errors import StoreBusy, StoreError
from twlocal.runs import Runs

# Longer than somebody who lists the runs holds a lock to see whether it is free.
_PATIENCE = 0.5


def _file(database: Path, key: str) -> Path:
    # Beside the file itself, as SQLite keeps its log: one database has one lock a run, by whatever link it is reached.
    database = database.resolve()
    return database.with_name(f".{database.name}.locks") / f"{key[:16]}.lock"


@contextmanager
def held(database: Path, runs: Runs, key: str) -> Iterator[None]:
    """Hold the run with this key for the length of the block. Raises StoreBusy, naming the process that has it."""
    from filelock import FileLock, Timeout

    path = _file(database, key)
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=_PATIENCE)
    except Timeout:
        raise StoreBusy(
            f"this run is being worked on by {_owner(runs, key)}",
            hint="wait for it, or stop it there: what it stored stays",
        ) from None
    except OSError as error:
        reason = error.strerror or error
        raise StoreError(
            f"cannot make the lock file {path}: {reason}", hint="use --db with a folder you may write"
        ) from error
    try:
        yield
    finally:
        lock.release()


def _owner(runs: Runs, key: str) -> str:
    run = runs.find(key)
    sittings = runs.sittings(run.id) if run else []
    owner = next((sitting for sitting in reversed(sittings) if sitting.ended_at is None), None)
    return f"process {owner.pid} on {owner.host}, since {owner.started_at[:19]} UTC" if owner else "another process"


def busy(database: Path, key: str) -> bool:
    """Whether some process works on the run right now; also where this one may only read."""
    path = _file(database, key)
    if not path.exists():
        return False
    try:
        return not _is_free(path)
    except OSError:
        return False


def _is_free(path: Path) -> bool:
    try:
        import fcntl
    except ImportError:
        from filelock import FileLock, Timeout

        try:
            with FileLock(path).acquire(timeout=0):
                return True
        except Timeout:
            return False
    with path.open("rb") as file:
        try:
            # Shared, so that two who look do not take each other for the owner; it goes with the file's closing.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
