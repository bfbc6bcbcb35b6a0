"""Which drives belong to other machines as well, by what the system has mounted where."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mounts")
# Kinds of file systems that several machines may write to at once. SQLite's write-ahead log needs memory that all of
# its writers share, which such a drive may grant and not keep: the database is then damaged without an error.
_SHARED = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "lustre", "gpfs", "beegfs", "ceph", "ocfs2", "gfs2"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph"),
    }
)


def shared_by_machines(path: Path, mounts: Path = MOUNTS) -> str:
    """The kind of network drive that `path` lies on; "" for a drive of this machine, and where nothing tells."""
    try:
        text = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    place = path.absolute().resolve()
    best, kind = -1, ""
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), fields[1]))
        # Of two that are mounted over one another the later one is seen.
        if (place == point or point in place.parents) and len(point.parts) >= best:
            best, kind = len(point.parts), fields[2]
    return kind if kind in _SHARED else ""
