"""Engine settings as given: numbers as text, switches in words, and every refusal names the setting."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from twlocal import setting_values as values
from twlocal.errors import UsageError

READERS: Mapping[str, values.Reader] = {
    "slots": values.whole(1),
    "dtype": values.choice("float32", "float16"),
    "chat_template": values.template,
    "template_variables": values.variables,
    "template_day": values.day,
    "repack": values.switch,
}


def test_values_as_a_command_line_gives_them() -> None:
    given = {"slots": "4", "dtype": "float16", "template_day": "2025-01-02", "repack": "off", "chat_template": None}
    assert values.read("an engine", given, READERS) == {
        "slots": 4,
        "dtype": "float16",
        "template_day": datetime(2025, 1, 2),
        "repack": False,
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("slots", 0),
        ("slots", "many"),
        ("slots", True),
        ("slots", 1.5),
        ("dtype", "int4"),
        ("template_variables", "x"),
        ("template_day", "tomorrow"),
        ("repack", "perhaps"),
    ],
)
def test_a_wrong_value_is_named_with_its_setting(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=name) as caught:
        values.read("an engine", {name: value}, READERS)
    assert str(value) in caught.value.message or caught.value.hint


def test_an_unknown_setting_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="an engine has no setting 'speed'") as caught:
        values.read("an engine", {"speed": 9}, READERS)
    assert "slots" in caught.value.hint


def test_a_template_is_text_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "樣板.jinja"
    file.write_text("{{ messages }}甲", encoding="utf-8")
    assert values.template("chat_template", str(file)) == "{{ messages }}甲"
    assert values.template("chat_template", "{% if x %}") == "{% if x %}"
    with pytest.raises(UsageError, match="cannot be read"):
        values.template("chat_template", str(tmp_path / "none"))
    file.write_bytes(b"\xa5\xd2")
    with pytest.raises(UsageError, match="cannot be read"):
        values.template("chat_template", str(file))
