"""A preflight: what this machine has, what is missing, what to do about it, and which known models run here.

`examine` is pure and needs no engine and no network; `look` collects what it judges.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from twlocal import engines as known_engines
from twlocal.engines import VLLM_BUILDS, EngineFacts
from twlocal.hardware import GIB, Hardware
from twlocal.plural import counted
from twlocal.registry import KnownModel, Registry
from twlocal.route import Reason, Route, Wishes, decide

OK, NO, SKIP = "ok", "no", "skip"
PYTHON_FROM = (3, 11)
# A run of 22,021 answers of 4,096 tokens takes about a third of this; SQLite wants room for its log beside it.
DATABASE_NEEDS = 1 * GIB
GRANTED, DENIED, OFFLINE = "granted", "denied", "offline"


@dataclass(frozen=True)
class Surroundings:
    """What the preflight is told of the system. Free space in bytes, None where it could not be read.

    database_writable: whether files can be made in the database's folder. access: per gated model GRANTED, DENIED or
    OFFLINE; empty where it was not asked, and then `access_skipped` says why (offline, off, no_hub, no_token).
    hub: whether the library that fetches models is installed.
    """

    python: tuple[int, int, int]
    cache_free: int | None
    database_free: int | None
    database_writable: bool
    token: bool
    access: Mapping[str, str] = field(default_factory=dict)
    access_skipped: str = "no_token"
    hub: bool = True


@dataclass(frozen=True)
class Check:
    """One line of the preflight: a name, ok, no or skip, and what is said with which facts.

    essential: nothing can run while it is `no`.
    """

    name: str
    mark: str
    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    essential: bool = False


@dataclass(frozen=True)
class Runs:
    """How a model of the registry runs here: an engine (installed or not), or None and why not."""

    model: KnownModel
    engine: str | None
    installed: bool
    tight: bool
    why: Reason | None
    route: Route


@dataclass(frozen=True)
class Examination:
    """All checks, and every model of the registry."""

    hardware: Hardware
    checks: tuple[Check, ...]
    models: tuple[Runs, ...]

    @property
    def able(self) -> bool:
        """Whether nothing essential is missing."""
        return not any(check.essential and check.mark == NO for check in self.checks)


def examine(
    hardware: Hardware, engines: Sequence[EngineFacts], registry: Registry, around: Surroundings
) -> Examination:
    """Judge a machine. Pure."""
    models = tuple(_runs(model, hardware, engines) for model in registry.models.values())
    checks = [
        _python(around),
        Check("machine", OK, "machine", {"what": describe(hardware)}),
        _gpu(hardware),
        *_wired(hardware),
        _engines(hardware, engines),
        _cache(around, models),
        _database(around),
        Check("token", OK, "token_ok") if around.token else Check("token", NO, "token_missing"),
        _access(around),
        *([] if around.hub else [Check("hub", SKIP, "hub_missing")]),
    ]
    return Examination(hardware, tuple(checks), models)


def describe(hardware: Hardware) -> str:
    """The machine in one line: system, chip, cores, memory, cards."""
    parts = [f"{hardware.system} {hardware.architecture}".strip() + (" (WSL)" if hardware.wsl else "")]
    if hardware.apple:
        parts.append(hardware.apple.chip)
    if hardware.cores:
        parts.append(counted(hardware.cores, "core"))
    if hardware.memory:
        parts.append(f"{hardware.memory / GIB:,.1f} GiB")
    return ", ".join(part for part in [*parts, cards(hardware)] if part)


def cards(hardware: Hardware) -> str:
    """The cards in one line, equal ones counted."""
    names = [gpu.name for gpu in hardware.gpus]
    return " + ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names))


def _runs(model: KnownModel, hardware: Hardware, engines: Sequence[EngineFacts]) -> Runs:
    # Whether a token is there is told once, not for every model.
    wishes = Wishes(token=True)
    route, installed = decide(model, hardware, engines, wishes), True
    if route.engine is None:
        there = {engine.name: engine for engine in engines if engine.present}
        both = [there.get(engine.name, engine) for engine in known_engines.planned(hardware)]
        route, installed = decide(model, hardware, [*both, *there.values()], wishes), False
    if route.engine is None:
        return Runs(model, None, False, False, hindrance(route), route)
    tight = any(reason.code == "tight" for reason in route.reasons)
    return Runs(model, route.engine, installed, tight, None, route)


def hindrance(route: Route) -> Reason | None:
    """The most telling reason why nothing runs: of the engine that came nearest, what is not a mere absence."""
    mere = {"engine_missing", "wrong_machine", "no_gpu", "not_wished"}
    refusals = [[reason for reason in one.reasons if reason.level == "no"] for one in route.verdicts]
    told = [reasons for reasons in refusals if reasons and reasons[0].code not in mere] or refusals
    nearest = min(told, key=len, default=[])
    sizes = [reason for reason in nearest if reason.code == "too_big"]
    return next(iter(sizes or nearest), None)


def _python(around: Surroundings) -> Check:
    version = ".".join(map(str, around.python))
    if around.python[:2] >= PYTHON_FROM:
        return Check("python", OK, "python_ok", {"version": version})
    return Check("python", NO, "python_old", {"version": version, "needed": "3.11"}, essential=True)


def _gpu(hardware: Hardware) -> Check:
    if hardware.problem and not hardware.gpus:
        code = "gpu_updated" if "version mismatch" in hardware.problem else "gpu_problem"
        return Check("gpu", NO, code, {"problem": hardware.problem})
    if hardware.translated:
        return Check("gpu", NO, "translated")
    if hardware.apple:
        return Check("gpu", OK, "machine", {"what": f"{hardware.apple.chip}, Metal"})
    if not hardware.gpus:
        code = "gpu_hidden" if hardware.hidden else "gpu_none"
        return Check("gpu", SKIP, code, {"hidden": hardware.hidden})
    driver = ".".join(str(part).zfill(2) if place else str(part) for place, part in enumerate(hardware.driver or ()))
    facts = {"what": cards(hardware), "driver": driver or "?", "needed": VLLM_BUILDS[0].driver}
    build = known_engines.build_for(hardware.driver)
    if build is None:
        return Check("gpu", NO, "gpu_too_old", facts | {"needed": VLLM_BUILDS[-1].driver})
    if build is not VLLM_BUILDS[0]:
        return Check("gpu", NO, "gpu_old", facts | {"install": f"pip install '{build.install}' (CUDA {build.toolkit})"})
    return Check("gpu", OK, "gpu_ok", facts)


def _wired(hardware: Hardware) -> list[Check]:
    limit, raised = hardware.metal, hardware.raised_limit_mb
    if limit is None or raised is None:
        return []
    facts = {"limit_bytes": limit, "limit_mb": raised}
    if limit >= raised << 20:
        return [Check("wired", OK, "wired_ok", facts)]
    # A higher limit is a choice for large models, not a fault.
    return [Check("wired", SKIP, "wired_low", facts)]


def _engines(hardware: Hardware, engines: Sequence[EngineFacts]) -> Check:
    there = [f"{engine.name} {engine.version}" for engine in engines if engine.version]
    if there:
        return Check("engines", OK, "engines_ok", {"what": ", ".join(there)})
    best = "mlx" if hardware.apple else "vllm" if hardware.gpus else "llama_cpp"
    return Check("engines", NO, "engines_none", {"extra": known_engines.EXTRAS[best]})


def _cache(around: Surroundings, models: Iterable[Runs]) -> Check:
    if around.cache_free is None:
        return Check("cache", SKIP, "cache_unknown")
    sizes = [size for runs in models if runs.engine and (size := runs.model.bytes_in()) is not None]
    largest = max(sizes, default=0)
    facts = {"free_bytes": around.cache_free, "weights_bytes": largest}
    if largest > around.cache_free:
        return Check("cache", NO, "cache_low", facts)
    return Check("cache", OK, "cache_ok", facts)


def _database(around: Surroundings) -> Check:
    if not around.database_writable:
        return Check("database", NO, "database_denied", essential=True)
    free = around.database_free or 0
    if around.database_free is not None and free < DATABASE_NEEDS:
        facts = {"free_bytes": free, "needed_bytes": DATABASE_NEEDS}
        return Check("database", NO, "database_low", facts, essential=True)
    return Check("database", OK, "database_ok", {"free_bytes": free})


def _access(around: Surroundings) -> Check:
    answers = {repo: answer for repo, answer in around.access.items() if answer != OFFLINE}
    if not answers:
        return Check("access", SKIP, f"access_{'offline' if around.access else around.access_skipped}")
    denied = [repo for repo, answer in answers.items() if answer == DENIED]
    if denied:
        return Check("access", NO, "access_denied", {"repos": ", ".join(denied)})
    return Check("access", OK, "access_granted", {"count": len(answers), "total": len(around.access)})


# ── looking around ────────────────────────────────────────────────────────────────────────────────────────────────


def look(
    environ: Mapping[str, str],
    database: Path,
    registry: Registry,
    *,
    ask: Callable[[str, str], str] | None = None,
    patience: float = 8.0,
) -> Surroundings:
    """What this system is like.

    `ask(repo, token)` says whether the token opens a gated repository. The Hub is asked for all of them at once, and
    whatever has not answered after `patience` seconds counts as not reachable.
    """
    from importlib.util import find_spec

    cache, folder = nearest(model_cache(environ)), nearest(database.absolute().parent)
    token = hub_token(environ)
    around = Surroundings(
        python=sys.version_info[:3],
        cache_free=_free(cache),
        database_free=_free(folder),
        # A folder that is not there yet is made by the first run, where its parent allows it.
        database_writable=os.access(folder, os.W_OK | os.X_OK),
        token=bool(token),
        hub=find_spec("huggingface_hub") is not None,
    )
    gated = [model.id for model in registry.models.values() if model.gated]
    if not token or not gated:
        return around
    if environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        return replace(around, access_skipped="off")
    if ask is None:
        if not around.hub:
            return replace(around, access_skipped="no_hub")
        ask = ask_hub
    return replace(around, access=_ask_all(gated, token, ask, patience))


def model_cache(environ: Mapping[str, str]) -> Path:
    """Where the Hub's library keeps models."""
    if named := environ.get("HF_HUB_CACHE"):
        return Path(named).expanduser()
    return _hub_home(environ) / "hub"


def hub_token(environ: Mapping[str, str]) -> str:
    """The Hub token: HF_TOKEN, or the one that `hf auth login` left; "" where there is none. Never to be shown."""
    if token := environ.get("HF_TOKEN", "").strip():
        return token
    path = Path(environ.get("HF_TOKEN_PATH") or _hub_home(environ) / "token").expanduser()
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _hub_home(environ: Mapping[str, str]) -> Path:
    if named := environ.get("HF_HOME"):
        return Path(named).expanduser()
    return Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", "~")) / ".cache").expanduser() / "huggingface"


def nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next((one for one in (folder, *folder.parents) if one.is_dir()), Path("/"))


def _free(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _ask_all(repos: Sequence[str], token: str, ask: Callable[[str, str], str], patience: float) -> Mapping[str, str]:
    answers = dict.fromkeys(repos, OFFLINE)

    def one(repo: str) -> None:
        try:
            answers[repo] = ask(repo, token)
        except Exception:
            # No network has many faces (sockets, certificates, proxies); all mean that it could not be asked.
            return

    # Daemons: a lookup that hangs must not keep the command from ending.
    threads = [threading.Thread(target=one, args=(repo,), daemon=True) for repo in repos]
    for thread in threads:
        thread.start()
    end = time.monotonic() + patience
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    return dict(answers)


def ask_hub(repo: str, token: str) -> str:
    """Whether `token` opens `repo` on the Hub. Raises whatever the network does."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        HfApi(token=token).auth_check(repo)
    except (GatedRepoError, RepositoryNotFoundError):
        return DENIED
    return GRANTED
