"""One process at a time on a run, and who only looks is in nobody's way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from twlocal.errors import StoreBusy
from twlocal.lock import busy, held
from twlocal.runs import Runs
from twlocal.store import open_store

KEY = "k" * 64


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    opened = Runs(open_store(tmp_path / "t.db"), tmp_path / "t.db")
    yield opened
    opened.close()


def test_a_run_is_held_once(tmp_path: Path, runs: Runs) -> None:
    assert not busy(tmp_path / "t.db", KEY)
    with held(tmp_path / "t.db", runs, KEY):
        assert busy(tmp_path / "t.db", KEY)
        with pytest.raises(StoreBusy, match="another process"), held(tmp_path / "t.db", runs, KEY):
            pass
    assert not busy(tmp_path / "t.db", KEY)


def test_a_link_to_the_database_leads_to_the_same_lock(tmp_path: Path, runs: Runs) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(tmp_path / "t.db")
    with held(tmp_path / "t.db", runs, KEY), pytest.raises(StoreBusy), held(link, runs, KEY):
        pass


def test_who_looks_for_a_moment_keeps_no_run_from_beginning(tmp_path: Path, runs: Runs) -> None:
    fcntl = pytest.importorskip("fcntl")
    with held(tmp_path / "t.db", runs, KEY):
        pass
    (lock,) = (tmp_path / ".t.db.locks").iterdir()
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        done = threading.Timer(0.1, fcntl.flock, (file, fcntl.LOCK_UN))
        done.start()
        with held(tmp_path / "t.db", runs, KEY):
            pass
        done.join()


def test_two_who_look_do_not_take_each_other_for_the_owner(tmp_path: Path, runs: Runs) -> None:
    fcntl = pytest.importorskip("fcntl")
    with held(tmp_path / "t.db", runs, KEY):
        pass
    (lock,) = (tmp_path / ".t.db.locks").iterdir()
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert not busy(tmp_path / "t.db", KEY)
