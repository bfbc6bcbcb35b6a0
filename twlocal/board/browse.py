"""The database in Datasette: only read, on this machine alone, with canned queries."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.resources import as_file, files
from pathlib import Path
from typing import IO, Any

from twlocal.backend import missing
from twlocal.board.serve import ended_by
from twlocal.errors import StoreMissing
from twlocal.html.words import t
from twlocal.store import open_store

_ADDRESS = re.compile(r"Uvicorn running on (http://\S+)")
_MILLISECONDS = 120_000  # a query that reads every response of a long run takes its time
_ROWS = 2_000


def queries() -> dict[str, dict[str, str]]:
    """The canned queries by name: title and description in both languages (`title_zh`), sql."""
    found: dict[str, dict[str, str]] = tomllib.loads(
        files("twlocal.board").joinpath("queries.toml").read_text(encoding="utf-8")
    )
    return found


def metadata(database: Path, lang: str = "en") -> dict[str, Any]:
    """Datasette's metadata for a database: what it is, and its queries, in "en" or "zh-TW"."""
    own = "_zh" if lang == "zh-TW" else ""
    told = {
        name: {"title": one["title" + own], "description": one["description" + own], "sql": one["sql"]}
        for name, one in queries().items()
    }
    about = t(
        "作答照原樣保存，這裡的分數都是現在從作答讀出來的。",
        "Every response as it came. Every score here is read from them now.",
    )
    return {"title": "twlocal", "description": about.of(lang), "databases": {database.stem: {"queries": told}}}


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


def browse(
    database: Path, *, port: int, more: Sequence[str] = (), lang: str = "en", tell: Callable[[str], None] = print
) -> int:
    """Run Datasette until it ends or is interrupted; its exit code.

    more: further options of Datasette's. lang: of the queries' names. tell: hears the address, once it can be opened.
    Raises EngineMissing where it is not installed, StoreError for what is no database of twlocal's.
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
        described.write_text(json.dumps(metadata(database, lang), ensure_ascii=False), encoding="utf-8")
        words = command(database.resolve(), described, plugins, port=port, more=more)
        # Standard output is the page that was asked for, else the server's list of who looked at what.
        log = None if "--get" in more else subprocess.DEVNULL
        with subprocess.Popen(words, stdout=log, stderr=subprocess.PIPE, encoding="utf-8", errors="replace") as process:
            assert process.stderr is not None
            listener = threading.Thread(target=_listen, args=(process.stderr, tell), daemon=True)
            listener.start()
            try:
                with ended_by(signal.SIGINT, signal.SIGTERM):
                    code = process.wait()
                listener.join()
                return code
            except KeyboardInterrupt:
                return 0
            finally:
                process.terminate()  # a signal may have reached us alone
                process.wait()


def _listen(said: IO[str], tell: Callable[[str], None]) -> None:
    """Pass on what the server says, but for what it does when all is well; of that only the address."""
    for line in said:
        if found := _ADDRESS.search(line):
            tell(found[1])
        elif not line.startswith("INFO:"):
            with suppress(OSError):  # whoever heard it has gone
                sys.stderr.write(line)
                sys.stderr.flush()
