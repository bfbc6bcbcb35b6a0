"""`twlocal parity`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import db_option, note
from twlocal.cli.interrupt import EXIT_INTERRUPTED
from twlocal.cli.study_output import named, output_options, show
from twlocal.errors import RunError, UsageError

if TYPE_CHECKING:
    from twlocal.study.load import Source
    from twlocal.study.parity import Engine


@dataclass(frozen=True)
class Asked:
    """An engine to ask, as it was given: `ENGINE` or `ENGINE:NAME=VALUE:…`."""

    label: str
    backend: str
    settings: tuple[str, ...]


@click.command()
@click.argument("model", required=False)
@click.option(
    "--backends",
    metavar="ENGINE,ENGINE",
    help="With MODEL: the engines, each with settings where they matter: llama_cpp,llama_cpp:slots=8,mlx,vllm.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="ENGINE=MODEL",
    help="What that engine loads, where it is not MODEL: a checkpoint's folder beside a GGUF file.",
)
@click.option(
    "--python",
    "pythons",
    multiple=True,
    metavar="ENGINE=PYTHON",
    help="The Python that has twlocal and that engine, where it is another environment's.",
)
@click.option(
    "--run", "stored_runs", metavar="RUN", multiple=True, help="Instead of MODEL: a stored run; give several."
)
@click.option("--bench", default="demo", show_default=True, help="What to ask, as of `twlocal run`.")
@click.option("--limit", type=click.IntRange(1), default=48, show_default=True, help="At most this many questions.")
@click.option("--protocol", default="box", show_default=True, help="How to ask, as of `twlocal run`.")
@click.option("--max-tokens", type=click.IntRange(1), metavar="N", help="New tokens an answer may have.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@output_options
@db_option
def parity(model: str | None, **options: Any) -> int:
    """Ask MODEL the same questions on several engines, and compare prompts, texts, letters and scores item by item.

    Prompt hashes must agree, and scores may differ by no more than chance explains (exit code 1 otherwise). Each engine
    has an ordinary run in a process of its own, which goes on where it stopped. Engines that cannot live in one
    environment are called through --python: --python mlx=.venv-mlx/bin/python.
    """
    from twlocal.bundle.stored import opened
    from twlocal.html.words import t
    from twlocal.study import parity
    from twlocal.study.load import Source, run_command, study_command

    if (model is None) == (not options["stored_runs"]):
        raise UsageError("parity takes MODEL with --backends, or stored runs", hint="twlocal parity --help")
    if model is not None:
        asked = _ask(model, options)
    else:
        asked = [("", name) for name in dict.fromkeys(options["stored_runs"])]
    if len(asked) < 2:
        raise UsageError("parity compares two engines or more", hint="--backends llama_cpp,mlx, or --run RUN --run RUN")
    with opened(options["database"], create=False, warn=note) as (runs, stored):
        source = Source(runs, stored)
        backends = Counter(source.run(name).backend for _, name in asked)
        engines = [_engine(source, label, name, backends) for label, name in asked]
        there = named(options["database"])
        commands = [run_command(runs.get(name), there) for _, name in asked]
    found = parity.pairs(engines, seed=options["seed"])
    held = t("模型、題目、協定與解碼設定", "the model, the questions, the protocol and the decoding")
    words = [word for _, name in asked for word in ("--run", name)]
    commands.append(study_command("parity", *words, database=there))
    show(
        parity.report(engines, found, held=held, commands=commands),
        as_json=options["as_json"],
        html=options["html"],
        lang=options["lang"],
    )
    return 0 if parity.holds(found) else 1


def _ask(model: str, options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Label and run of each engine, asked one after the other. Raises UsageError and RunError."""
    engines = _engines(options["backends"] or "")
    named = {one.backend for one in engines}
    sources, pythons = (_assigned(option, options[name], named) for option, name in _ASSIGNED)
    return [
        (one.label, _run(one, sources.get(one.backend, model), pythons.get(one.backend, sys.executable), options))
        for one in engines
    ]


_ASSIGNED = (("--source", "sources"), ("--python", "pythons"))


def _engines(given: str) -> list[Asked]:
    found = []
    for text in filter(None, (part.strip() for part in given.split(","))):
        backend, *settings = text.split(":")
        if wrong := [setting for setting in settings if "=" not in setting]:
            raise UsageError(f"--backends: {wrong[0]!r} in {text!r} is not NAME=VALUE", hint="llama_cpp:slots=8,mlx")
        found.append(Asked(text, backend, tuple(settings)))
    if len({one.label for one in found}) < 2:
        raise UsageError("--backends takes two engines or more, such as llama_cpp,mlx")
    return found


def _assigned(option: str, given: Sequence[str], named: set[str]) -> dict[str, str]:
    found = {}
    for text in given:
        engine, equals, value = text.partition("=")
        if not equals or not value:
            raise UsageError(f"{option} takes ENGINE=…, not {text!r}")
        if engine not in named:
            raise UsageError(f"{option} {text}: --backends does not name {engine}")
        found[engine] = value
    return found


def _run(engine: Asked, model: str, python: str, options: Mapping[str, Any]) -> str:
    """The run's name, after a child process has completed it."""
    words = ["run", model, "--backend", engine.backend, "--bench", options["bench"], "--protocol", options["protocol"]]
    words += ["--limit", str(options["limit"]), "--db", str(options["database"].absolute()), "--json"]
    words += ["--max-tokens", str(options["max_tokens"])] if options["max_tokens"] else []
    words += [word for setting in engine.settings for word in ("--set", setting)]
    words += ["--quiet"] if options["quiet"] else []
    note(f"{engine.label}:")
    try:
        # It ends with this process, also where that is killed: the pipe to it is then closed.
        command = [python, "-m", "twlocal.queues.child", *words]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        raise UsageError(f"--python {engine.backend}={python}: {error.strerror}") from error
    said = b""
    with child:
        assert child.stdout is not None
        # Ctrl-C reaches the child as well, which finishes what it has begun: it is waited for, not killed.
        while True:
            try:
                while block := os.read(child.stdout.fileno(), 1 << 16):
                    said += block
                child.wait()
                break
            except KeyboardInterrupt:
                continue
    if child.returncode == EXIT_INTERRUPTED:
        raise click.exceptions.Exit(EXIT_INTERRUPTED)
    if child.returncode == 2:
        raise UsageError(f"{engine.label} could not be asked, for the reason above")
    if child.returncode:
        raise RunError(
            f"the run on {engine.label} did not complete, for the reason above", hint="the same command again"
        )
    try:
        return str(json.loads(said)["run"])
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"what {python} printed for {engine.label} is no report of twlocal",
            hint=f"try it: {python} -m twlocal --version",
        ) from error


def _engine(source: Source, label: str, name: str, backends: Mapping[str, int]) -> Engine:
    """A run as parity takes it; a stored one is called by its backend where no other run has the same."""
    from twlocal.study import parity

    run = source.run(name)
    last = source.runs.sittings(run.id)[-1:]
    return parity.Engine(
        label=label or (run.backend if backends[run.backend] == 1 else run.name),
        run=run.name,
        version=last[0].engine_version if last else "",
        answers=parity.answers(source.keyed(run), run.manifest["protocol"]["reader"]),
        planned=run.rows,
    )
