"""The command line: one module a command group; each parses, calls, prints.

Commands are imported only when they are called, so that `twlocal --help` answers at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

import twlocal

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# command → (where it is defined, the line that `--help` shows)
_COMMANDS = {
    "run": ("twlocal.cli.run:run", "Ask a model the questions of a benchmark, and score it. Goes on where it stopped."),
    "resume": ("twlocal.cli.run:resume", "Go on with the last unfinished run."),
    "runs": ("twlocal.cli.runs:runs", "List the runs in the database."),
    "queue": ("twlocal.cli.queue:queue", "Run every model of a file on every benchmark of it, each to its end."),
    "watch": ("twlocal.cli.watch:watch", "Show a run or a queue live, from another terminal."),
    "report": ("twlocal.cli.report:report", "Score a run again from its stored responses."),
    "show": ("twlocal.cli.show:show", "One item of a run: prompt, response, how it was read, and why."),
    "compare": ("twlocal.cli.compare:compare", "Compare two runs item by item: paired test, churn, subjects, format."),
    "parity": ("twlocal.cli.parity:parity", "Ask several engines the same questions: same prompts, same score?"),
    "study": (
        "twlocal.cli.study:study",
        "How much of a score is its apparatus: readers, samples, prompts, budgets, judges, keys, two axes, failures.",
    ),
    "export": ("twlocal.cli.export:export", "Write a run's responses and readings as JSONL, CSV or Parquet."),
    "bundle": ("twlocal.cli.bundle:bundle", "Write finished runs as a bundle to send: checked, with provenance."),
    "verify": ("twlocal.cli.verify:verify", "Check somebody's bundle: every number is made again and compared."),
    "import": ("twlocal.cli.import_:import_", "Read back bundles, public runners' results and Twinkle Eval's files."),
    "board": ("twlocal.cli.board:board", "Build a leaderboard as a static site, check it, look at it."),
    "browse": ("twlocal.cli.browse:browse", "Look into the database with Datasette, with queries for its runs."),
    "sample": ("twlocal.cli.sample:sample", "Draw the deterministic sample of a benchmark, as a manifest for --ids."),
    "exam": ("twlocal.cli.exam:exam", "Build tw-exam-bench from the Ministry's papers: parse, subjects, build, audit."),
    "audit": ("twlocal.cli.audit:audit", "Duplicates, keys that disagree, rows across splits or in another dataset."),
    "protocols": ("twlocal.cli.protocols:protocols", "List the protocols, or show one in full."),
    "formosa": (
        "twlocal.cli.formosa:formosa",
        "Build tw-formosa-bench from the Taiwan.md corpus: windows, drafts, screening, judges, the difficulty band.",
    ),
    "route": ("twlocal.cli.route:route", "Say which engine would run a model here or on another machine, and why."),
    "doctor": (
        "twlocal.cli.doctor:doctor",
        "Look at this machine before a run: hardware, drivers, disk, token, models.",
    ),
    "completion": (
        "twlocal.cli.completion:completion",
        "Print what lets your shell complete with the Tab key.",
    ),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module, attribute = _COMMANDS[name][0].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        _finish(command, name)
        return command

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        from click.shell_completion import CompletionItem

        # click would import every command for its first line of help.
        named = [(name, line) for name, (_, line) in _COMMANDS.items() if name.startswith(incomplete)]
        return [CompletionItem(name, help=line) for name, line in named] + click.Command.shell_complete(
            self, context, incomplete
        )

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


def _finish(command: click.Command, path: str) -> None:
    """Give a command, and those in it, the end of its help and what the Tab key offers for its parameters."""
    from twlocal.cli.completing import complete
    from twlocal.cli.examples import epilog

    command.epilog = command.epilog or epilog(path, command)
    complete(command)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            _finish(inner, f"{path} {name}")


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(twlocal.__version__, prog_name="twlocal")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Measure language models on Taiwanese questions: on your machine, under one protocol, every response kept.

    \b
    twlocal run smollm2-135m --protocol box-2shot  a small one, bundled questions
    twlocal run model.gguf --bench questions.csv   your model, your questions
    twlocal run http://localhost:8000/v1#name      any OpenAI-compatible server
    """
