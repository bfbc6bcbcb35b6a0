"""What the documentation tells people to type exists: each `twlocal …` of the site and the READMEs, and its options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from twlocal.cli import main
from twlocal.cli.examples import EXAMPLES, EXITS, VARIABLES

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "README.zh-TW.md", ROOT / "CONTRIBUTING.md"],
    key=str,
)
READMES = [ROOT / "README.md", ROOT / "README.zh-TW.md"]

_FENCE = re.compile(r"^( *)```[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(twlocal [^`]+)`")
_CALL = re.compile(r"(?:^|[\s(/])twlocal (?=[a-z-]|\\)")
# What ends a call inside a line: a pipe, another command, a redirection, a comment, a closed substitution.
_ENDS = re.compile(r"(?:^|(?<=\s))(?:#|\||&&|>|2>|;|&$)|\)(?=\s|$|\")|\s{3,}")


def calls(text: str) -> Iterator[str]:
    """Every call of twlocal in a page: lines of its code blocks, whatever stands around the call, and inline code."""
    for block in _FENCE.finditer(text):
        for line in re.sub(r"\\\n\s*", " ", block[2]).splitlines():
            if (found := _CALL.search(line)) and not line.lstrip().startswith("#"):
                yield "twlocal " + _ENDS.split(line[found.end() :].strip(), maxsplit=1)[0].strip()
    yield from (_ENDS.split(found[1], maxsplit=1)[0].strip() for found in _INLINE.finditer(_FENCE.sub("", text)))


def wrong(call: str) -> str | None:
    """What is wrong with a call, None for nothing: no such command, option or choice, or too many words."""
    try:
        words = shlex.split(call)[1:]
    except ValueError as error:
        return f"cannot be read: {error}"
    command: click.Command = main
    context = click.Context(main, info_name="twlocal")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        if name in {"COMMAND", "…"}:
            return None
        inner = command.get_command(context, name)
        if inner is None:
            return f"there is no command {name!r} in {context.command_path}"
        command, context = inner, click.Context(inner, info_name=name, parent=context)
    return _wrong_words(command, context, words)


def _wrong_words(command: click.Command, context: click.Context, words: list[str]) -> str | None:
    params = command.get_params(context)
    options = {
        text: param
        for param in params
        if isinstance(param, click.Option)
        for text in (*param.opts, *param.secondary_opts)
    }
    options["--debug"] = options.get("--debug", click.Option(["--debug"], is_flag=True))
    free = 0
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            free += 1
        elif name not in options:
            return f"{context.command_path} has no option {name}"
        elif not options[name].is_flag and not options[name].count:
            if not equals and not words:
                return f"{name} of {context.command_path} wants a value"
            value = value if equals else words.pop(0)
            kind = options[name].type
            if isinstance(kind, click.Choice) and value not in kind.choices and not value.isupper():
                return f"{name} of {context.command_path} is one of {kind.choices}, not {value!r}"
    room = [param.nargs for param in params if isinstance(param, click.Argument)]
    if not isinstance(command, click.Group) and -1 not in room and free > sum(room):
        return f"{context.command_path} takes {sum(room)} words, not {free}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_in_the_documentation_exists(page: Path) -> None:
    found = {call: wrong(call) for call in calls(page.read_text(encoding="utf-8"))}
    assert not {call: why for call, why in found.items() if why}


def test_the_documentation_is_read_at_all() -> None:
    every = [call for page in PAGES for call in calls(page.read_text(encoding="utf-8"))]
    named = {call.split()[1] for call in every if len(call.split()) > 1}
    assert set(main.list_commands(click.Context(main))) <= named


@pytest.mark.parametrize(
    ("text", "there", "why"),
    [
        ("```\ntwlocal rnu m.gguf\n```", 1, "rnu"),
        ("```\n$ .venv/bin/twlocal run m.gguf --bech x   # a comment\n```", 1, "--bech"),
        ("```\nTWLOCAL_DB=x.db twlocal formosa windos c | head\n```", 1, "windos"),
        ("see `twlocal route T1 --lang fr`", 1, "--lang"),
        ("```\ntwlocal show run 0 1\n```", 1, "takes 2"),
        ("```\ntwlocal run MODEL \\\n  --limit\n```", 1, "value"),
        ("```\ntwlocal report RUN --by subject > out.txt\ntwlocal export r -o o.csv && echo done\n```", 2, None),
        ("twlocal in prose is a name", 0, None),
    ],
)
def test_what_the_extraction_finds(text: str, there: int, why: str | None) -> None:
    found = list(calls(text))
    assert len(found) == there
    faults = [fault for call in found if (fault := wrong(call))]
    assert not faults if why is None else why in faults[0]


def shown(page: Path) -> Iterator[tuple[str, list[str]]]:
    """What a page shows a call to print, where that depends on no machine: the call, and the lines below it."""
    for block in _FENCE.finditer(page.read_text(encoding="utf-8")):
        first, *lines = block[2].splitlines()
        if re.match(r"\$ twlocal (?:route .*--machine|protocols$)", first):
            yield first[2:], [line for line in lines if line.strip() != "…"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_the_documentation_shows_is_printed(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    for name in ("TWLOCAL_LANG", "TWLOCAL_MODELS", "HF_TOKEN", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "HF_HOME", "XDG_CONFIG_HOME"):  # nobody's token, nobody's own models
        monkeypatch.setenv(name, str(tmp_path))
    for call, lines in shown(page):
        said = CliRunner().invoke(main, shlex.split(call)[1:], standalone_mode=False)
        printed = said.output.splitlines()
        assert not [line for line in lines if line not in printed], call


def test_some_of_the_documentation_shows_what_is_printed() -> None:
    assert sum(len(lines) for page in PAGES for _, lines in shown(page)) > 60


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.name)
def test_the_table_of_commands_is_complete(readme: Path) -> None:
    rows = re.findall(r"^\| `([a-z]+)[^`]*` \|", readme.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(main.list_commands(click.Context(main)))


def every_command() -> Iterator[tuple[str, click.Command]]:
    """All commands with their paths, such as `board build`."""

    def below(group: click.Group, context: click.Context, path: str) -> Iterator[tuple[str, click.Command]]:
        for name in group.list_commands(context):
            inner = group.get_command(context, name)
            assert inner is not None
            where = f"{path} {name}".strip()
            yield where, inner
            if isinstance(inner, click.Group):
                yield from below(inner, click.Context(inner, info_name=name, parent=context), where)

    yield from below(main, click.Context(main, info_name="twlocal"), "")


COMMANDS = dict(every_command())


@pytest.mark.parametrize("path", COMMANDS)
def test_the_help_of_every_command(path: str) -> None:
    command = COMMANDS[path]
    assert command.help and re.match(r"[^.]+[.?]", command.help), "a first sentence says what it does"
    examples = "```\n" + "\n".join(EXAMPLES.get(path, ())) + "\n```"
    assert path in EXAMPLES and all(wrong(call) is None for call in calls(examples)), "examples that can be called"
    assert any(call.startswith(f"twlocal {path}") for call in EXAMPLES[path])
    context = click.Context(command, info_name=path)
    silent = [param.opts[0] for param in command.params if isinstance(param, click.Option) and not param.help]
    assert not silent, "every option says what it does"
    words = command.help.upper()
    for param in command.params:
        if isinstance(param, click.Argument):
            shown = re.findall(r"[A-Z]+", param.make_metavar(context).upper())
            assert any(word in words for word in shown), f"the text says what {shown} is"


def test_no_example_and_no_exit_code_is_left_over() -> None:
    assert set(EXAMPLES) == set(COMMANDS)
    assert {*EXITS, *VARIABLES} <= set(COMMANDS)


def test_every_page_has_both_languages() -> None:
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    chinese = {page for page in pages if not page.endswith(".en.md")}
    assert {page.removesuffix(".md") + ".en.md" for page in chinese} == pages - chinese
