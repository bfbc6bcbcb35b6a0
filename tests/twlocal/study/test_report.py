"""The one form of all studies: as text of any width and encoding, and as JSON."""

from __future__ import annotations

import json

import pytest

from twlocal.report.table import columns
from twlocal.study.report import Report, Table, as_dict, interval, p_value, percent, points, render

REPORT = Report(
    study="prompt",
    title="提示改變了什麼",
    varied="the system prompt（甲）",
    held="everything else",
    n="1,696 items",
    parts=[
        "一句很長的話，" * 20,
        Table("表：", ["model", "right"], [["模型" * 30, "82.2%"], ["b", "9.1%"]], "lr"),
    ],
    data={"runs": [{"model": "模型"}]},
    warnings=["先看這裡。"],
    commands=["twlocal run 'model x' --bench " + "很長" * 60],
)


@pytest.mark.parametrize("width", [10, 60, 80, 120])
def test_no_line_but_a_command_is_wider(width: int) -> None:
    text = render(REPORT, width)
    told, _, commands = text.partition("to repeat it:\n")
    assert max(map(columns, told.splitlines())) <= max(width, 60)
    assert commands.strip() == REPORT.commands[0]
    order = [
        text.index(part) for part in ("提示改變了什麼", "varied", "held", "1,696", "WARNING: 先看這裡", "一句", "表：")
    ]
    assert order == sorted(order)


@pytest.mark.parametrize("encoding", ["ascii", "cp950", "utf-8", "no such"])
def test_any_console_can_take_it(encoding: str) -> None:
    text = render(REPORT, 80, encoding)
    text.encode("ascii" if encoding == "no such" else encoding)
    assert "82.2%" in text


def test_json_has_the_frame_of_every_study() -> None:
    found = json.loads(json.dumps(as_dict(REPORT), ensure_ascii=False))
    assert set(found) == {"format", "study", "title", "varied", "held", "n", "warnings", "commands", "runs"}
    assert found["commands"] == list(REPORT.commands)


def test_numbers() -> None:
    assert (percent(0.8219, 2), percent(None)) == ("82.19%", "-")
    assert [points(one) for one in (0.0021, -0.0204, -0.0001, None)] == ["+0.2", "-2.0", "+0.0", "-"]
    assert interval(-0.026, 0.03, signed=True) == "-2.6 to +3.0"
    assert (p_value(0.0421), p_value(0.00001)) == ("0.042", "1.0e-05")
