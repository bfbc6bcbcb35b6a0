"""The options that say how an engine is used; every command that asks a model has them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from twlocal.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--backend", help="The engine; the default fits what MODEL is."),
    click.option(
        "--concurrency", metavar="N", type=click.IntRange(1), help="http: requests in flight at once.  [default: 16]"
    ),
    click.option(
        "--timeout",
        metavar="SECONDS",
        type=click.FloatRange(0, min_open=True),
        help="http: how long one answer may take.  [default: 600]",
    ),
    click.option(
        "--api-key-env",
        metavar="NAME",
        help="http: the environment variable that holds the key.  "
        "[default: TWLOCAL_API_KEY, else OPENAI_API_KEY, else the keyring]",
    ),
    click.option(
        "--slots", metavar="N", type=click.IntRange(1), help="llama_cpp, mlx, vllm: answers at once; 1 is reproducible."
    ),
    click.option("--threads", metavar="N", type=click.IntRange(1), help="llama_cpp, vllm: CPU threads."),
    click.option(
        "--context",
        metavar="N",
        type=click.IntRange(1),
        help="llama_cpp, mlx, vllm: tokens of context; the default is what the run needs.",
    ),
    click.option("--gpu-layers", metavar="N", type=int, help="llama_cpp: layers on the GPU, -1 for all."),
    click.option(
        "--chat-template",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="llama_cpp, mlx, vllm: a Jinja file, for a model that brings no chat template.",
    ),
    click.option(
        "--template-variable",
        "variables",
        multiple=True,
        metavar="NAME=VALUE",
        help="What the chat template reads, such as enable_thinking=false or reasoning_effort=low; recorded.",
    ),
    click.option(
        "--stop-at-box",
        is_flag=True,
        help="llama_cpp, mlx, vllm: end an answer once its final box is closed; marks the run, and saves time.",
    ),
    click.option(
        "--trust-remote-code",
        is_flag=True,
        help="Let Python code that comes with this model run; read it first.",
    ),
    click.option(
        "--set", "more", multiple=True, metavar="NAME=VALUE", help="Any other setting of the backend, as JSON or text."
    ),
)


def engine_options(command: F) -> F:
    """Adds --backend and the settings of the engines to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def engine_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """The backend settings that the options stand for. Raises UsageError."""
    names = ("concurrency", "timeout", "api_key_env", "slots", "threads", "context", "gpu_layers")
    settings = {name: options[name] for name in names if options[name] is not None}
    if options["stop_at_box"]:
        settings["stop_at_box"] = True
    if options["chat_template"] is not None:
        settings["chat_template"] = _text(options["chat_template"])
    if options["trust_remote_code"]:
        settings["trust_remote_code"] = True
    settings |= _pairs("--set", options["more"])
    if isinstance(named := settings.get("chat_template"), str) and not ("{{" in named or "{%" in named):
        # Its text, not its name: a run that goes on after the file was changed would be another one.
        settings["chat_template"] = _text(Path(named))
    if variables := _pairs("--template-variable", options["variables"]):
        before = settings.get("template_variables", {})
        settings["template_variables"] = {**(before if isinstance(before, Mapping) else {}), **variables}
    return settings


def _pairs(option: str, given: Iterable[str]) -> dict[str, Any]:
    """NAME=VALUE as often as it was given, each value JSON where it is JSON, else text."""
    from twlocal.store import is_storable

    found: dict[str, Any] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} takes NAME=VALUE, not {pair!r}")
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            found[name] = value
        if not is_storable(json.dumps(found[name], ensure_ascii=False)):
            raise UsageError(f"{option} {name}: half a character (a lone surrogate) is no text")
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        reason = "not UTF-8 text" if isinstance(error, UnicodeError) else error.strerror
        raise UsageError(f"cannot read {path}: {reason}") from error


# A name that twlocal itself knows means that, also where a folder of the same name happens to stand.


def model_name(name: str) -> str:
    """MODEL as it is kept for `resume`."""
    from twlocal.models import DEMO_MODEL

    return name if name == DEMO_MODEL else absolute(name)


def bench_name(name: str) -> str:
    """--bench as it is kept for `resume`."""
    from twlocal.dataset import bench

    return name if bench(name) else absolute(name)


def protocol_name(name: str) -> str:
    """--protocol as it is kept for `resume`."""
    from twlocal import protocol

    return name if name in protocol.names() else absolute(name)


def absolute(name: str) -> str:
    """A local path as an absolute one, so that `resume` finds it from another folder; anything else as it is."""
    from twlocal.store import is_storable

    try:
        path = Path(name).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{name}: there is no user of that name", hint="write the path in full") from error
    if "://" not in name and path.exists() and (path.is_absolute() or path.suffix or path.is_dir()):
        name = str(path.absolute())
        if not is_storable(name):
            raise UsageError(f"{name} is not text in this system's encoding", hint="rename that folder")
    return name
