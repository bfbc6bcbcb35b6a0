"""The database in Datasette: only read, on this machine alone, with canned queries."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from twlocal.backend import missing
from twlocal.errors import StoreMissing
from twlocal.store import open_store

_MILLISECONDS = 120_000  # a query that reads every response of a long run takes its time
_ROWS = 2_000


def queries() -> dict[str, dict[str, str]]:
    """The canned queries by name: title, description, sql."""
    found: dict[str, dict[str, str]] = tomllib.loads(
        files("twlocal.board").joinpath("queries.toml").read_text(encoding="utf-8")
    )
    return found


def metadata(database: Path) -> dict[str, Any]:
    """Datasette's metadata for a database: what it is, and its queries."""
    return {
        "title": "twlocal",
        "description": "Every response as it came. Every score here is read from them now.",
        "databases": {database.stem: {"queries": {name: dict(one) for name, one in queries().items()}}},
    }


def command(database: Path, described: Path, plugins: Path, *, port: int, more: Sequence[str] = ()) -> list[str]:
    """The call of Datasette. Where nothing can be written beside the database, it is taken as unchanging."""
    # Elsewhere it is opened to be read only and not as unchanging: a run may be writing to it.
    unchanging = not os.access(database.parent, os.W_OK) or not os.access(database, os.W_OK)
    return [
        *(sys.executable, "-m", "datasette", "serve", *(["--immutable"] if unchanging else []), str(database)),
        *("--host", "127.0.0.1", "--port", str(port), "--metadata", str(described), "--plugins-dir", str(plugins)),
        *("--setting", "sql_time_limit_ms", str(_MILLISECONDS), "--setting", "max_returned_rows", str(_ROWS)),
        *("--setting", "default_cache_ttl", "0", "--setting", "allow_download", "off", *more),
    ]


def browse(database: Path, *, port: int, more: Sequence[str] = ()) -> int:
    """Run Datasette until it ends or is interrupted; its exit code.

    more: further options of Datasette's. Raises EngineMissing where it is not installed, StoreError for what is no
    database of twlocal's.
    """
    if importlib.util.find_spec("datasette") is None:
        raise missing("browse", "datasette")
    if not database.is_file():
        raise StoreMissing(f"there is no database at {database}", hint="twlocal run … makes one; --db names another")
    open_store(database, create=False).close()  # an older schema lacks what the queries ask for
    with (
        tempfile.TemporaryDirectory(prefix="twlocal-browse-") as made,
        as_file(files("twlocal.board").joinpath("datasette")) as plugins,
    ):
        described = Path(made) / "metadata.json"
        described.write_text(json.dumps(metadata(database), ensure_ascii=False), encoding="utf-8")
        words = command(database.resolve(), described, plugins, port=port, more=more)
        with subprocess.Popen(words) as process:
            try:
                return process.wait()
            except KeyboardInterrupt:
                process.wait()  # Ctrl-C reaches it too, and it says goodbye to who is connected
                return 0
            finally:
                process.terminate()
