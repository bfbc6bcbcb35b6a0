"""Options of engines → settings of backends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from twlocal.cli.engine_options import engine_options, engine_settings
from twlocal.errors import UsageError


def settings(*words: str) -> dict[str, Any]:
    """What a command with the options of engines makes of `words`."""

    @click.command()
    @engine_options
    def command(**options: Any) -> dict[str, Any]:
        return engine_settings(options)

    return dict(command.main(list(words), standalone_mode=False))


def test_without_options_there_are_no_settings() -> None:
    assert settings() == {}


def test_switches_of_a_chat_template_are_values_or_text() -> None:
    words = ("--template-variable", "enable_thinking=false", "--template-variable", "reasoning_effort=low")
    assert settings(*words) == {"template_variables": {"enable_thinking": False, "reasoning_effort": "low"}}
    assert settings("--set", 'template_variables={"a": 1, "b": 2}', "--template-variable", "b=3") == {
        "template_variables": {"a": 1, "b": 3}
    }


def test_a_chat_template_is_kept_by_its_text_however_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "chat.jinja"
    file.write_text("{{ messages }}", encoding="utf-8")
    for words in (
        ("--chat-template", str(file)),
        ("--set", f"chat_template={file}"),
        ("--set", "chat_template={{ messages }}"),
    ):
        assert settings(*words) == {"chat_template": "{{ messages }}"}
    with pytest.raises(UsageError, match="cannot read"):
        settings("--set", f"chat_template={tmp_path / 'none.jinja'}")


@pytest.mark.parametrize("option", ["--set", "--template-variable"])
@pytest.mark.parametrize("pair", ["enable_thinking", "=false", ""])
def test_what_is_no_pair_is_refused_by_its_option(option: str, pair: str) -> None:
    with pytest.raises(UsageError, match=f"{option} takes NAME=VALUE"):
        settings(option, pair)


def test_text_that_cannot_be_stored_is_refused() -> None:
    with pytest.raises(UsageError, match="--template-variable x: half a character"):
        settings("--template-variable", 'x="\\ud800"')
