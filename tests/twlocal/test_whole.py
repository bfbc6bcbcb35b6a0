"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from twlocal.errors import TwlocalError, UsageError
from twlocal.whole import whole


def test_what_was_written_becomes_the_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("before", encoding="utf-8")
    with whole(tmp_path / "a") as part:
        part.write_text("after", encoding="utf-8")
        assert (tmp_path / "a").read_text(encoding="utf-8") == "before"
    assert (tmp_path / "a").read_text(encoding="utf-8") == "after"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, kind: type[BaseException]) -> None:
    (tmp_path / "a").write_text("before", encoding="utf-8")
    with pytest.raises(kind), whole(tmp_path / "a") as part:
        part.write_text("half", encoding="utf-8")
        raise kind
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["before"]


def test_no_room_is_work_that_did_not_complete(tmp_path: Path) -> None:
    with pytest.raises(TwlocalError, match="No space left") as caught, whole(tmp_path / "a"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.exit_code == 1


def test_a_folder_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, Path(), Path("/")):
        with pytest.raises(UsageError, match="is a folder"), whole(place):
            pass


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_text(encoding="utf-8")))
    reader.start()
    with whole(tmp_path / "pipe") as part:
        part.write_text("through", encoding="utf-8")
    reader.join(5)
    assert got == ["through"]
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("place", ["absent/a", "file/a", "x" * 300])
def test_a_place_that_cannot_be_is_a_wrong_call_that_names_it(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError) as caught, whole(tmp_path / place) as part:
        part.write_text("x", encoding="utf-8")
    assert f"cannot write {tmp_path / place}: " in caught.value.message


def test_a_database_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "t.db").write_bytes(b"SQLite format 3\0and every answer")
    with pytest.raises(UsageError, match="is a database"), whole(tmp_path / "t.db") as part:
        part.write_text("<html>", encoding="utf-8")
    assert (tmp_path / "t.db").read_bytes() == b"SQLite format 3\0and every answer"


def test_a_link_in_the_place_of_the_half_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious", encoding="utf-8")
    (tmp_path / "a.part").symlink_to(tmp_path / "mine")
    with whole(tmp_path / "a") as part:
        part.write_text("new", encoding="utf-8")
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "precious"
    assert not (tmp_path / "a").is_symlink() and (tmp_path / "a").read_text(encoding="utf-8") == "new"


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc here")
def test_standard_output_stays_a_device_where_it_leads_to_a_file(tmp_path: Path) -> None:
    """A root's `--html /dev/stdout > file` must not replace /dev/stdout; /proc/self/fd/1 is where that leads."""
    with (tmp_path / "file").open("wb") as file:
        place = Path(f"/proc/self/fd/{file.fileno()}")
        with whole(place) as part:
            assert part == place
            part.write_text("through", encoding="utf-8")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "through"
    with whole(Path("/dev/stdout")) as part:
        assert part == Path("/dev/stdout"), "nothing is ever put beside it"


def test_a_reader_that_went_is_no_fault() -> None:
    with pytest.raises(BrokenPipeError), whole(Path("/dev/null")):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
