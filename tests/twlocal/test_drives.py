"""Network drives, by what a system says it has mounted."""

from __future__ import annotations

from pathlib import Path

import pytest

from twlocal.drives import shared_by_machines

MOUNTS = r"""/dev/sda1 / ext4 rw,relatime 0 0
nas:/home /home nfs4 rw,vers=4.2 0 0
/dev/sdb1 /home/me/local ext4 rw 0 0
//nas/share /mnt/my\040share cifs rw 0 0
tmpfs /mnt/over nfs rw 0 0
tmpfs /mnt/over tmpfs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/t.db", "nfs4"),
        ("/home", "nfs4"),
        ("/home/me/local/t.db", ""),
        ("/homestead/t.db", ""),
        ("/mnt/my share/資料/t.db", "cifs"),
        ("/mnt/over/t.db", ""),
        ("/t.db", ""),
    ],
)
def test_the_nearest_mount_decides(tmp_path: Path, path: str, kind: str) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS, encoding="utf-8")
    assert shared_by_machines(Path(path), mounts) == kind


def test_a_link_leads_to_where_the_file_is(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near.db").symlink_to(tmp_path / "far" / "t.db")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"nas:/x {(tmp_path / 'far').resolve()} nfs rw 0 0\n", encoding="utf-8")
    assert shared_by_machines(tmp_path / "near.db", mounts) == "nfs"
    assert shared_by_machines(tmp_path / "other.db", mounts) == ""


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    assert shared_by_machines(tmp_path / "t.db", tmp_path / "absent") == ""
