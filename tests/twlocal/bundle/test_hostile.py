"""Archives made to hurt whoever opens them are refused before anything of theirs is written outside."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from twlocal.bundle import strict, unpack
from twlocal.errors import UsageError


def _tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def _member(name: str, **more: object) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    for field, value in more.items():
        setattr(member, field, value)
    return member


BAD_NAMES = ["../out", "a/../../out", "/tmp/out", "a\\..\\out", "C:/out", "C:out", "a\nb", "\x7f", "n" * 500]


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_names_that_lead_out_are_refused(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / "b"
    if kind == "tar":
        _tar(path, (_member("good"), b"1"), (_member(name), b"evil"))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("good", b"1")
            info = zipfile.ZipInfo("x")
            info.filename = name
            archive.writestr(info, b"evil")
    inside = tmp_path / "deep" / "inside"
    inside.mkdir(parents=True)
    with pytest.raises(unpack.Refused):
        unpack.unpack(path, inside)
    assert {one.name for one in tmp_path.rglob("*")} <= {"b", "deep", "inside", "good"}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    path = _tar(tmp_path / "b", (_member("x", type=kind, linkname="/etc/passwd"), b""))
    (tmp_path / "in").mkdir()
    with pytest.raises(unpack.Refused, match="link or a device"):
        unpack.unpack(path, tmp_path / "in")


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "b", "w") as archive:
        info = zipfile.ZipInfo("x")
        info.create_system, info.external_attr = 3, 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    (tmp_path / "in").mkdir()
    with pytest.raises(unpack.Refused, match="link or a device"):
        unpack.unpack(tmp_path / "b", tmp_path / "in")


@pytest.mark.parametrize("twin", ["a", "A", "./a", "a/"])
def test_a_name_that_stands_twice_is_refused(tmp_path: Path, twin: str) -> None:
    path = _tar(tmp_path / "b", (_member("a"), b"good"), (_member(twin), b"evil"))
    (tmp_path / "in").mkdir()
    with pytest.raises(unpack.Refused, match="twice"):
        unpack.unpack(path, tmp_path / "in")
    assert (tmp_path / "in" / "a").read_bytes() == b"good"


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_bombs_are_refused_without_unpacking_them(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "b"
    zeros = bytes(30 << 20)
    if kind == "tar":
        _tar(path, (_member("x"), zeros))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x", zeros)
    assert path.stat().st_size < 100_000
    (tmp_path / "in").mkdir()
    with pytest.raises(unpack.Refused, match=r"more than 0\.00977 GiB") as refused:
        unpack.unpack(path, tmp_path / "in", limit=10 << 20)
    assert "--max-size" in str(refused.value)
    assert list((tmp_path / "in").iterdir()) == []


def test_a_zip_that_lies_about_its_size_gives_no_more_than_it_says(tmp_path: Path) -> None:
    path = tmp_path / "b"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x", bytes(20 << 20))
    whole = path.read_bytes()
    path.write_bytes(whole.replace((20 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little")))
    (tmp_path / "in").mkdir()
    with pytest.raises(unpack.Refused, match="damaged"):
        unpack.unpack(path, tmp_path / "in")


def test_a_tar_header_of_an_absurd_size_takes_no_memory(tmp_path: Path) -> None:
    # A PAX header is read into memory whole; this one says that it has a gigabyte, and brings it, well packed.
    header = bytearray(tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT))
    header[156:157] = b"x"
    header[124:136] = b"%011o\0" % (1 << 30)
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    with gzip.open(tmp_path / "b", "wb", compresslevel=1) as packed:
        packed.write(header + bytes(4 << 20))
    (tmp_path / "in").mkdir()
    with pytest.raises(unpack.Refused, match="damaged"):
        unpack.unpack(tmp_path / "b", tmp_path / "in")


def test_a_million_empty_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "MOST_FILES", 50)
    path = _tar(tmp_path / "b", *((_member(f"f{n}"), b"") for n in range(60)))
    (tmp_path / "in").mkdir()
    with pytest.raises(unpack.Refused, match="more than 50 files"):
        unpack.unpack(path, tmp_path / "in")


@pytest.mark.parametrize(
    "content", [b"", b"\x1f\x8b", b"PK\x03\x04", b"PK\x05\x06", b"not an archive", b"\x1f\x8b\x08" * 9]
)
def test_what_is_no_archive_is_refused_in_words(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "b").write_bytes(content)
    with pytest.raises(unpack.Refused), unpack.opened(tmp_path / "b"):
        pytest.fail("opened")


def test_a_cut_archive_is_refused(tmp_path: Path) -> None:
    path = _tar(tmp_path / "b", (_member("x"), os.urandom(5000)))
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(unpack.Refused, match="damaged"), unpack.opened(path):
        pytest.fail("opened")


def test_a_folder_with_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x").symlink_to("/etc/passwd")
    with pytest.raises(unpack.Refused, match="link"), unpack.opened(tmp_path / "b"):
        pytest.fail("opened")


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", b"1")
    whole = bytearray(path.read_bytes())
    whole[6] |= 1
    whole[whole.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(whole)
    (tmp_path / "in").mkdir()
    with pytest.raises(unpack.Refused, match="encrypted"):
        unpack.unpack(path, tmp_path / "in")


def test_nothing_there_is_a_wrong_call(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file or folder"), unpack.opened(tmp_path / "nothing"):
        pytest.fail("opened")


def test_an_archive_of_a_folder_is_opened_at_the_folder(
    make_run: Callable[..., str], pack: Callable[..., Path], tmp_path: Path
) -> None:
    folder = pack(make_run())
    with tarfile.open(tmp_path / "b.tar", "w") as archive:
        archive.add(folder, "some folder")
    with unpack.opened(tmp_path / "b.tar") as inside:
        root = unpack.root(inside, "bundle.json")
        assert root is not None
        assert root.name == "some folder"


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": 123456789012345678901}',
        "[" * 5000 + "]" * 5000,
        '{"a": "\\ud800"}',
        '{"\\udfff": 1}',
        "",
        "{",
        "{} {}",
        '{"a": ' + "1" * 10_000 + "}",
    ],
)
def test_odd_json_is_malformed(text: str) -> None:
    with pytest.raises(strict.Malformed):
        strict.parse(text)


@pytest.mark.parametrize("value", [{"a": [1, -2.5, None, True, "\U0001f600臺"]}, [], "x", 2**53])
def test_plain_json_is_taken(value: object) -> None:
    assert strict.parse(json.dumps(value)) == value
