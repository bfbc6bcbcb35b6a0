"""What this run ran on: hardware, package versions and the state of the code, for the manifest."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import twlocal

# Whatever may change a low bit of an answer or how it is read.
_PACKAGES = (
    "llama-cpp-python",
    "numpy",
    "jinja2",
    "aiohttp",
    "mlx",
    "mlx-lm",
    "vllm",
    "torch",
    "transformers",
    "ray",
    "sqlite-utils",
)


def describe(extra_packages: Iterable[str] = ()) -> dict[str, Any]:
    """The machine as plain data; no user name, path or address is in it."""
    return {
        "twlocal": twlocal.__version__,
        "git": git_state(Path(__file__).parent),
        "python": platform.python_version(),
        "system": platform.system(),
        "release": platform.release(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": usable_cores(),
        "memory_bytes": _memory(),
        "packages": _versions((*_PACKAGES, *extra_packages)),
    }


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def git_state(folder: Path) -> str:
    """The commit of a checkout (with "+changes" when it was edited), or "" for an installed package."""
    if not (folder.parent / ".git").exists():
        return ""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return ""
    return commit + ("+changes" if changed else "")


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, encoding="utf-8", timeout=10, check=True
    )
    return done.stdout.strip()


def _versions(names: Iterable[str]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _processor() -> str:
    if sys.platform == "linux":
        try:
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
        except OSError:
            pass
    if sys.platform == "darwin":
        try:
            words = ["sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(
                words, capture_output=True, text=True, encoding="utf-8", timeout=10, check=True
            ).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            pass
    return platform.processor()
