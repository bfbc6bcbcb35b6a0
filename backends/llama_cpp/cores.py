"""How many threads to compute with: the cores that are ours, not the ones the machine has."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path

_SIBLINGS = "/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def thread_count(siblings: Iterable[str], quota: str = "") -> int:
    """Physical cores among the CPUs we may run on, within the container's limit.

    siblings: for each CPU, what the kernel says of its core's threads ("0,4"): two threads of one core share its
    arithmetic units, so a second one only waits. quota: the text of cgroup v2's `cpu.max` ("200000 100000").
    """
    cores = max(1, len(set(siblings)))
    allowed, _, period = quota.strip().partition(" ")
    if allowed.isdigit() and period.isdigit() and int(period) > 0:
        cores = min(cores, max(1, math.ceil(int(allowed) / int(period))))
    return cores


def available() -> int:
    """`thread_count` of this process, here and now."""
    try:
        cpus = sorted(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows have no affinity
        return max(1, os.cpu_count() or 1)
    return thread_count((_read(Path(_SIBLINGS.format(cpu=cpu))) or str(cpu) for cpu in cpus), _read(_QUOTA))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
