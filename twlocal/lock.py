"""One process at a time works on a run. The lock goes with the process, however that ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twlocal.errors import StoreBusy, StoreError
from twlocal.runs import RunRow, Runs


def _file(database: Path, run: RunRow) -> Path:
    return database.with_name(f".{database.name}.locks") / f"{run.key[:16]}.lock"


@contextmanager
def held(database: Path, runs: Runs, run: RunRow) -> Iterator[None]:
    """Hold the run for the length of the block. Raises StoreBusy, naming the process that has it."""
    from filelock import FileLock, Timeout

    path = _file(database, run)
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        owner = next((sitting for sitting in reversed(runs.sittings(run.id)) if sitting.ended_at is None), None)
        who = f"process {owner.pid} on {owner.host}, since {owner.started_at[:19]} UTC" if owner else "another process"
        raise StoreBusy(
            f"the run {run.name} is being worked on by {who}",
            hint="wait for it, or stop it there: what it stored stays",
        ) from None
    except OSError as error:
        raise StoreError(
            f"cannot make the lock file {path}: {error.strerror or error}", hint="use --db with a folder you may write"
        ) from error
    try:
        yield
    finally:
        lock.release()


def busy(database: Path, run: RunRow) -> bool:
    """Whether some process works on the run right now."""
    from filelock import FileLock, Timeout

    path = _file(database, run)
    if not path.exists():
        return False
    try:
        with FileLock(path).acquire(timeout=0):
            return False
    except (Timeout, OSError):
        return True
