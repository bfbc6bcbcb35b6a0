"""What a log hears of a queue: changes, not the same line again and again."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from twlocal.cli.screen import Screen


def test_a_log_does_not_grow_while_everything_stands_still(capsys: pytest.CaptureFixture[str]) -> None:
    told: Iterator[list[str]] = iter([["a 0/3", "b 0/2"], ["a 0/3", "b 0/2"], ["a 1/3", "b 0/2"]])
    clock = iter([0.0, *(at for second in (10.0, 20.0, 30.0) for at in (second, second))])
    screen = Screen(io.StringIO(), lambda: (), lambda: next(told), every=5, quiet=False, clock=lambda: next(clock))
    for _ in range(3):
        screen.tick()
    assert capsys.readouterr().err.splitlines() == ["a 0/3", "b 0/2", "a 1/3"]
