"""A Ray cluster: one of our own on this machine, or one that is there already; quiet, and with its errors made plain.

The one place that speaks with `ray.init`. Nothing of it is imported before it is needed.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twlocal import __version__, reaper
from twlocal.backend import missing
from twlocal.errors import ConfigurationError, EngineMissing, UsageError

EXTRA = "ray"
AUTO = "auto"  # the cluster that this machine is a part of, as Ray itself finds it
_CLIENT = "ray://"
_REACH_SECONDS = 10.0
# What Ray's own messages need; answers and papers that are on their way are far smaller.
_STORE_BYTES = 100 << 20
# Sockets lie in it, and their paths must be short: not in the long one that $TMPDIR names on a Mac.
_SHORT = Path("/tmp")
# How the report of a fault begins in a worker's log, and the lines that Ray writes at its head.
_FAULT = ("*** SIG", "Fatal Python error:", "Windows fatal exception:")
_OWN = (":job_id:", ":actor_name:", ":task_name:")


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of the cluster: what Ray may give out on it."""

    name: str
    cpus: float
    gpus: float


class Cluster:
    """A connection to a cluster. `api` is the module `ray`. Opened by `start` and `join`; to be closed."""

    def __init__(self, api: Any, folder: Path | None = None) -> None:
        self.api, self._folder = api, folder
        self._reaper = _reaper(folder) if folder else None

    @property
    def local(self) -> bool:
        """Whether it was started for us and ends with us."""
        return self._folder is not None

    @property
    def version(self) -> str:
        """Ray's version."""
        return str(self.api.__version__)

    def nodes(self) -> list[Node]:
        """The machines that are up, by name."""
        found = []
        for node in self.api.nodes():
            if node["Alive"]:
                has = node["Resources"]
                found.append(Node(node["NodeManagerHostname"], has.get("CPU", 0.0), has.get("GPU", 0.0)))
        return sorted(found, key=lambda node: node.name)

    def free(self) -> Mapping[str, float]:
        """What nobody uses just now: CPU, GPU."""
        has = self.api.available_resources()
        return {name: float(has.get(name, 0.0)) for name in ("CPU", "GPU")}

    def last_words(self, pid: int) -> str:
        """The last line that a worker of a cluster of our own wrote before it died, "" for none."""
        for log in self._folder.glob(f"session_*/logs/worker-*-{pid}.err") if self._folder else ():
            with suppress(OSError):
                return last_words(log.read_text(encoding="utf-8", errors="replace"))
        return ""

    def close(self) -> None:
        """Leave the cluster; one of our own ends. Safe to call twice."""
        with suppress(Exception):  # what it says of its end helps nobody
            self.api.shutdown()
        if self._reaper is not None:
            self._reaper.kill()  # what it would do is done here
            self._reaper.communicate()
            self._reaper = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _reaper(folder: Path) -> subprocess.Popen[bytes]:
    """Clears up after this process, however it ends: its process group, where that is its own, and `folder`."""
    group = [str(os.getpid())] if hasattr(os, "getpgrp") and os.getpgrp() == os.getpid() else []
    return subprocess.Popen(
        [sys.executable, "-I", "-S", reaper.__file__, str(folder), *group],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def start(*, cpus: float) -> Cluster:
    """A cluster on this machine alone, with its GPUs, and `cpus` to give out. It ends with this process.

    Others on the network may reach its ports but not use it: it asks for a token that nobody else has.
    Raises EngineMissing without Ray, ConfigurationError where it does not start.
    """
    api = _ray(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    folder = Path(tempfile.mkdtemp(prefix="twlocal-ray-", dir=_SHORT if os.access(_SHORT, os.W_OK) else None))
    cluster = Cluster(api, folder)
    try:
        api.init(
            address="local",
            num_cpus=cpus,
            object_store_memory=_STORE_BYTES,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            _temp_dir=str(folder),
        )
    except Exception as error:  # Ray raises whatever its parts raise
        cluster.close()
        raise ConfigurationError(f"Ray does not start on this machine: {_short(error)}") from error
    except BaseException:
        cluster.close()
        raise
    return cluster


def join(address: str) -> Cluster:
    """The cluster at `address`: host:port of its head node, ray://host:port, or auto.

    Raises EngineMissing without Ray or its client, UsageError where nothing is there, ConfigurationError where it does
    not take us.
    """
    api = _ray()
    if address != AUTO:
        _reach(address)
    cluster = Cluster(api)
    try:
        api.init(address=address, log_to_driver=False, logging_level="ERROR")
    except ImportError as error:
        cluster.close()
        raise EngineMissing(
            f"{address} needs Ray's client, which is not installed: {_short(error)}", hint="pip install 'ray[client]'"
        ) from error
    except Exception as error:
        cluster.close()
        raise _refusal(address, error) from error
    except BaseException:
        cluster.close()
        raise
    return cluster


def import_failure(error: BaseException, node: str) -> ConfigurationError | None:
    """What to say where a node's Python does not have what ours has; None for any other error."""
    text = str(error)
    at = max(text.rfind("ModuleNotFoundError"), text.rfind("ImportError"))
    if at < 0:
        return None
    return ConfigurationError(
        f"twlocal does not work on {node}: {text[at:].splitlines()[0]}",
        hint="install the same twlocal, with the same extras, on every node of the cluster",
    )


def last_words(log: str) -> str:
    """The last line in a dead worker's `log` before what the handlers of faults add, "" where there is none."""
    said = ""
    for line in log.splitlines():
        if line.startswith(_FAULT):
            return said or line
        if line.strip() and not line.startswith(_OWN):
            said = line.strip()
    return said


def same_version(versions: Mapping[str, str]) -> None:
    """Every node must have our version: `versions` by the node's name. Raises ConfigurationError."""
    for node, version in versions.items():
        if version != __version__:
            raise ConfigurationError(
                f"{node} has twlocal {version}, this machine {__version__}", hint="install the same one on every node"
            )


def check_address(address: str) -> str:
    """`address` as Ray takes it. Raises UsageError, which shows how one is written."""
    host, _, port = address.removeprefix(_CLIENT).rpartition(":")
    if address == AUTO or (host and "/" not in host and port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        return address
    raise UsageError(
        f"{address!r} is not the address of a Ray cluster", hint=f"HOST:PORT, {_CLIENT}HOST:PORT, or {AUTO}"
    )


def _ray(**environment: str) -> Any:
    # It would tell its makers of us, and wait for 20 times 40 seconds where nobody answers.
    os.environ.update(
        {"RAY_USAGE_STATS_ENABLED": "0", "RAY_NUM_REDIS_GET_RETRIES": "1", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
        | environment
    )
    try:
        import ray
    except ImportError as error:
        raise missing(EXTRA, "Ray") from error
    return ray


def _reach(address: str) -> None:
    host, _, port = check_address(address).removeprefix(_CLIENT).rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_SECONDS).close()
    except OSError as error:
        raise UsageError(
            f"nothing answers at {address}: {error.strerror or error}",
            hint="the address is what `ray start --head` prints on the head node",
        ) from error


def _refusal(address: str, error: Exception) -> ConfigurationError:
    text = str(error)
    if "ersion mismatch" in text:
        return ConfigurationError(
            f"the cluster at {address} has another version: {_joined(text)}",
            hint="Ray and Python must be the same on both sides",
        )
    if "uthenticat" in text:
        return ConfigurationError(
            f"the cluster at {address} asks for a token: {_short(error)}", hint="set RAY_AUTH_MODE and RAY_AUTH_TOKEN"
        )
    if address == AUTO:
        return ConfigurationError(
            f"there is no Ray cluster that this machine is a part of: {_short(error)}",
            hint="start one with `ray start --head`, or give its address",
        )
    if address.startswith(_CLIENT):
        return ConfigurationError(
            f"the Ray client server at {address} does not take us: {_joined(text)}",
            hint="its log on the head node says more; Ray and Python must be the same on both sides",
        )
    return ConfigurationError(
        f"there is no Ray cluster at {address} that takes this machine: {_short(error)}",
        hint=f"make it a part of the cluster with `ray start --address={address}`, or use {_CLIENT}HOST:10001",
    )


def _short(error: BaseException) -> str:
    lines: Sequence[str] = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def _joined(text: str) -> str:
    return " ".join(text.split())[:300]
