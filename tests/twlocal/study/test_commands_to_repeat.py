"""The commands that a study prints do repeat it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest


def _again(call: Any, done: Any) -> Any:
    """The outcome of the last command that a report names."""
    program, *words = shlex.split(done.json["commands"][-1])
    assert program == "twlocal"
    found = call(*words, "--json")
    assert found.code == 0, found.error
    return found.json


def test_every_study_is_repeated_by_its_last_command(call: Any, ask: Any, write_bench: Any, tmp_path: Path) -> None:
    bench = write_bench()
    one = ask(bench, "dithers", "--max-tokens", "300", skill=0.6)
    other = ask(bench, "dithers", "--max-tokens", "600", skill=0.6)
    defective = ask(bench, "dithers", "--max-tokens", "600", "--protocol", "box-defective", skill=0.6)
    lines = ["model,exam,formosa", *(f"m{at},{at},{100 - at}" for at in range(5, 95, 5))]
    (tmp_path / "board 1.csv").write_text("\n".join(lines), encoding="utf-8")
    for words in (
        ("compare", one, other, "--seed", "3", "--resamples", "500", "--key-noise", "1/100"),
        ("study", "extraction", one, other, "--seed", "3"),
        ("study", "budget", "--run", one, "--run", other, "--cap", "200", "--seed", "3"),
        ("study", "prompt", "--run", defective, "--run", other, "--seed", "3"),
        ("study", "sample", other, "--k", "20", "--error", "4", "--draws", "500", "--seed", "3"),
        ("study", "noise", one, other, "--key-noise", "1/100"),
        ("study", "axes", "board 1.csv", "--top", "10", "--above", "50", "--seed", "3"),
        ("study", "halflife", "board 1.csv", "--band", "30-60"),
        ("study", "failures", one, "--seed", "3"),
    ):
        done = call(*words, "--json")
        assert done.code == 0, (words, done.error)
        assert _again(call, done) == done.json, words


def test_another_database_is_in_every_command(
    call: Any, ask: Any, write_bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = write_bench(sizes={"民法": 12})
    place = ("--db", str(tmp_path / "else where" / "runs.db"))
    one = ask(bench, "dithers", "--max-tokens", "300", *place)
    other = ask(bench, "dithers", "--max-tokens", "600", "--protocol", "box-defective", *place)
    calls = [
        ("compare", one, other),
        ("parity", "--run", one, "--run", other),
        ("study", "extraction", one),
        ("study", "budget", "--run", one, "--run", other),
        ("study", "prompt", "--run", one, "--run", other),
        ("study", "stop-at-box", one),
        ("study", "sample", one, "--k", "5", "--draws", "200"),
        ("study", "noise", one, "--key-noise", "1/100"),
        ("study", "failures", one),
    ]
    for words in calls:
        done = call(*words, *place, "--json")
        assert done.code in (0, 1), (words, done.error)
        assert all(shlex.split(line)[-2:] == list(place) for line in done.json["commands"]), words
        _, *again = shlex.split(done.json["commands"][-1])
        assert call(*again, "--json").json == done.json, words
    # Named by the environment, it is not the default either: whoever repeats the study may not have that.
    monkeypatch.setenv("TWLOCAL_DB", place[1])
    assert all("runs.db" in line for line in call("study", "extraction", one, "--json").json["commands"])


@pytest.mark.parametrize("words", [("--limit", "9"), ("--repeats", "2"), ("--max-tokens", "77"), ("--sample", "3")])
def test_the_command_of_a_run_finds_that_very_run(
    call: Any, ask: Any, write_bench: Any, words: tuple[str, ...]
) -> None:
    bench = write_bench(sizes={"民法": 12})
    name = ask(bench, "box", *words, skill=0.5)
    done = call("study", "extraction", name, "--json")
    found = call(*shlex.split(done.json["commands"][0])[1:], "-q", "--json")
    assert found.json["run"] == name
    assert len(call("runs", "--json").json) == 1
