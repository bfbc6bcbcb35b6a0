"""`twlocal run` and `twlocal resume`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.common import db_option, json_option, lang_option, note, opened, program
from twlocal.cli.dataset_options import dataset_options, load_settings
from twlocal.errors import UsageError

if TYPE_CHECKING:
    from twlocal.plan import Wish

_SAMPLE_ALL = "all"

engine_options = [
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
        "--slots", metavar="N", type=click.IntRange(1), help="llama_cpp, mlx: answers at once; 1 is reproducible."
    ),
    click.option("--threads", metavar="N", type=click.IntRange(1), help="llama_cpp: CPU threads."),
    click.option(
        "--context",
        metavar="N",
        type=click.IntRange(1),
        help="llama_cpp, mlx: tokens of context; the default is what the run needs.",
    ),
    click.option("--gpu-layers", metavar="N", type=int, help="llama_cpp: layers on the GPU, -1 for all."),
    click.option(
        "--chat-template",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="llama_cpp, mlx: a Jinja file, for a model that brings no chat template.",
    ),
    click.option(
        "--set", "more", multiple=True, metavar="NAME=VALUE", help="Any other setting of the backend, as JSON or text."
    ),
]


def _with_engine_options(command: Any) -> Any:
    for option in reversed(engine_options):
        command = option(command)
    return command


@click.command()
@click.argument("model")
@click.option(
    "--bench",
    default="demo",
    show_default=True,
    help="demo, formosa, exam, a file, a folder, or hf://owner/name[@revision].",
)
@click.option(
    "--sample",
    default=_SAMPLE_ALL,
    show_default=True,
    metavar="K|all",
    help="At most K questions a subject, chosen by content hash.",
)
@click.option(
    "--limit", metavar="N", type=click.IntRange(1), help="At most this many questions in all, spread over the subjects."
)
@click.option(
    "--ids", type=click.Path(exists=True, dir_okay=False), help="A manifest from `twlocal sample`: ask exactly these."
)
@click.option(
    "--protocol", default="box", show_default=True, help="A bundled protocol (`twlocal protocols`) or a .toml file."
)
@click.option(
    "--max-tokens",
    metavar="N",
    type=click.IntRange(1),
    help="New tokens an answer may have.  [default: the protocol's or the benchmark's, else 4096]",
)
@click.option(
    "--repeats",
    metavar="N",
    type=click.IntRange(1, 1000),
    default=1,
    show_default="1",
    help="Ask every question N times, each time with its options in another order.",
)
@_with_engine_options
@dataset_options
@click.option("--retry-failed", is_flag=True, help="Ask again what was given up because it killed the engine.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@json_option
@lang_option
@db_option
def run(**options: Any) -> int:
    """Ask MODEL the questions of a benchmark, and score the answers.

    MODEL is a .gguf file, a folder (one in it, or a checkpoint for mlx), a Hub id (owner/name), a server
    (http(s)://host/v1#name), or smollm2-135m, the small model of the demo. Every answer is stored the moment it
    arrives; the same command goes on where it stopped.
    """
    from twlocal.plan import Wish

    sample = options["sample"]
    if sample != _SAMPLE_ALL and not (sample.isascii() and sample.isdigit() and int(sample) > 0):
        raise UsageError(f"--sample takes a number or 'all', not {sample!r}")
    wish = Wish(
        model=_absolute(options["model"]),
        bench=_absolute(options["bench"]),
        protocol=_absolute(options["protocol"]),
        backend=options["backend"],
        sample=None if sample == _SAMPLE_ALL else int(sample),
        limit=options["limit"],
        ids=_absolute(options["ids"]) if options["ids"] else None,
        max_tokens=options["max_tokens"],
        repeats=options["repeats"],
        private=options["private"],
        data=load_settings(options),
        settings=_settings(options),
    )
    return _work(wish, options)


@click.command()
@click.argument("name", metavar="[RUN]", required=False)
@click.option("--retry-failed", is_flag=True, help="Ask again what was given up because it killed the engine.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@json_option
@lang_option
@db_option
def resume(name: str | None, **options: Any) -> int:
    """Go on with RUN, or with the unfinished run that was worked on last."""
    from twlocal.evaluate import last_unfinished
    from twlocal.plan import Wish

    with opened(options["database"], create=False) as runs:
        found = last_unfinished(runs, name)
        wish = Wish.from_json(found.wish)
    return _work(wish, options, expected=found.key)


def _work(wish: Wish, options: dict[str, Any], *, expected: str | None = None) -> int:
    from twlocal import evaluate
    from twlocal.cli.interrupt import EXIT_INTERRUPTED, interruptible
    from twlocal.cli.progress import watcher
    from twlocal.cli.report import show_report
    from twlocal.runner import Stop

    around = evaluate.Surroundings()
    with opened(options["database"], create=True) as runs:
        prepared = evaluate.prepare(wish, runs, around)
        if expected is not None and prepared.plan.key != expected:
            raise UsageError(
                "the model, the dataset or the protocol has changed since this run began: going on would mix two runs",
                hint="bring back what it was, or start another run with `twlocal run`",
            )
        for line in prepared.questions.told():
            note(line)
        progress = watcher(sys.stderr, prepared.plan.protocol.reader, quiet=options["quiet"])
        stop = Stop()
        try:
            with interruptible(stop, progress.note):
                outcome = evaluate.run(
                    prepared,
                    runs,
                    options["database"],
                    around,
                    stop=stop,
                    watcher=progress,
                    retry_failed=options["retry_failed"],
                )
        finally:
            progress.close()
        show_report(runs, outcome.run, options)
        if outcome.state == "complete":
            return 0
        left = outcome.run.planned - outcome.run.answered
        total = outcome.run.planned
        where = "" if str(options["database"]) == "twlocal.db" else f" --db {options['database']}"
        note(f"{outcome.state}: {left} of {total} not answered yet\n  → {program()} resume {outcome.run.name}{where}")
        return EXIT_INTERRUPTED if outcome.state == "interrupted" else 1


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    import json

    from twlocal.store import is_storable

    names = ("concurrency", "timeout", "api_key_env", "slots", "threads", "context", "gpu_layers")
    settings = {name: options[name] for name in names if options[name] is not None}
    if options["chat_template"] is not None:
        settings["chat_template"] = _text(options["chat_template"])
    for pair in options["more"]:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--set takes NAME=VALUE, not {pair!r}")
        try:
            settings[name] = json.loads(value)
        except (ValueError, RecursionError):
            settings[name] = value
        if not is_storable(json.dumps(settings[name], ensure_ascii=False)):
            raise UsageError(f"--set {name}: half a character (a lone surrogate) is no text")
    return settings


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        reason = "not UTF-8 text" if isinstance(error, UnicodeError) else error.strerror
        raise UsageError(f"cannot read {path}: {reason}") from error


def _absolute(name: str) -> str:
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
