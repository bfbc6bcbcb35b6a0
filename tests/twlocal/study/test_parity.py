"""`twlocal parity`: the pure comparison on planted differences, and the command on scripted engines."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from twlocal.errors import UsageError
from twlocal.study import parity
from twlocal.study.parity import Answer, Engine
from twlocal.study.report import as_dict, render, said

Command = Callable[..., subprocess.CompletedProcess[str]]


def engine(label: str, letters: str, *, key: str = "A", prompt: str | None = "p") -> Engine:
    answers = {
        (f"{no:064x}", "民法", 0): Answer(
            text=f"選 {letter}", prompt=prompt and f"{prompt}{no}", letter=letter, strict=letter == key, lenient=True
        )
        for no, letter in enumerate(letters)
    }
    return Engine(label, f"run-{label}", "1", answers, len(answers))


def test_equal_engines_hold() -> None:
    (pair,) = parity.pairs([engine("one", "ABCA" * 10), engine("two", "ABCA" * 10)])
    assert (pair.n, pair.prompts, pair.told, pair.texts, pair.letters) == (40, 40, 40, 40, 40)
    assert pair.same_prompts and pair.same_score and not pair.apart
    assert parity.holds([pair])


def test_one_other_prompt_is_enough_to_fail() -> None:
    one, two = engine("one", "A" * 40), engine("two", "A" * 40)
    first, *_ = two.answers
    two = replace(two, answers={**two.answers, first: replace(two.answers[first], prompt="with two begin tokens")})
    found = parity.pairs([one, two])
    assert (found[0].prompts, found[0].told) == (39, 40)
    assert not parity.holds(found)
    told = render(parity.report([one, two], found, held="the rest"))
    assert "39 / 40" in told and "one and two were not given the same prompts" in told


def test_a_server_that_renders_its_own_prompt_is_said_and_not_held_against_it() -> None:
    engines = [engine("one", "A" * 40), engine("http", "A" * 40, prompt=None)]
    found = parity.pairs(engines)
    assert parity.holds(found)
    report = parity.report(engines, found, held="the rest")
    assert "not told" in render(report) and any("renders its own" in said(warning) for warning in report.warnings)


def test_a_broken_engine_is_told_from_chance() -> None:
    """An engine that loses 10 of 40 is broken; one that trades four either way is another arithmetic."""
    right = engine("right", "A" * 40)
    broken = engine("broken", "B" * 10 + "A" * 30)
    other = engine("other", "A" * 40)
    traded = replace(engine("traded", "B" * 4 + "A" * 36), label="traded")
    (lost,) = parity.pairs([right, broken])
    assert not lost.same_score and lost.strict.difference == pytest.approx(-0.25)
    assert len(lost.apart) == 10 and (lost.apart[0].first, lost.apart[0].second) == ("A", "B")
    (churned,) = parity.pairs([other, traded])
    assert churned.same_score and churned.letters == 36


def test_three_engines_make_three_pairs_and_one_json() -> None:
    engines = [engine(name, "ABCA" * 10) for name in ("llama_cpp", "mlx", "vllm")]
    found = parity.pairs(engines)
    assert [(one.first, one.second) for one in found] == [
        ("llama_cpp", "mlx"),
        ("llama_cpp", "vllm"),
        ("mlx", "vllm"),
    ]
    data = json.loads(json.dumps(as_dict(parity.report(engines, found, held="the rest"))))
    assert data["holds"] is True and [one["texts_equal"] for one in data["pairs"]] == [40, 40, 40]


def test_an_incomplete_run_and_other_items_are_refused() -> None:
    whole = engine("whole", "A" * 8)
    with pytest.raises(UsageError, match="incomplete: 8 of 9"):
        parity.pairs([whole, replace(engine("part", "A" * 8), planned=9)])
    with pytest.raises(UsageError, match="not asked the same items"):
        parity.pairs([whole, engine("fewer", "A" * 7)])


def test_the_command_asks_each_engine_and_compares(
    twlocal: Command, model_file: Path, make_questions: Callable[[int], Path]
) -> None:
    asked = ("--bench", make_questions(200), "--limit", "200")
    words = ("parity", model_file, "--backends", "scripted,scripted:say=\\boxed{A}", *asked)
    done = twlocal(*words, "--python", f"scripted={sys.executable}", "--quiet", "--json")
    assert done.returncode == 1 and done.stdout, done.stderr  # one of the two always answers A: that is no parity
    data = json.loads(done.stdout)
    (pair,) = data["pairs"]
    assert (pair["prompts_equal"], pair["prompts_told"], pair["n"]) == (200, 200, 200)
    assert pair["texts_equal"] < 200 and pair["disagreements"]
    assert [one["label"] for one in data["engines"]] == ["scripted", "scripted:say=\\boxed{A}"]

    again = twlocal("parity", "--run", data["engines"][0]["run"], "--run", data["engines"][1]["run"])
    assert again.returncode == 1
    assert "Parity does not hold" in again.stdout and data["engines"][0]["run"] in again.stdout


def test_a_killed_parity_leaves_no_engine_behind(
    start: Callable[..., subprocess.Popen[str]], model_file: Path, questions: Path, tmp_path: Path
) -> None:
    db = tmp_path / "twlocal.db"
    log = tmp_path / "log"
    slow = f"delay=0.2:log={log}"
    process = start(
        "parity",
        model_file,
        "--backends",
        f"scripted:{slow},scripted_isolated:{slow}",
        "--bench",
        questions,
        "--db",
        db,
    )
    end = time.monotonic() + 60
    while not log.exists():
        assert time.monotonic() < end, "nothing was asked"
        time.sleep(0.05)
    process.kill()
    process.wait()
    asked = -1
    while asked != (asked := log.read_text(encoding="utf-8").count("\n")):
        assert time.monotonic() < end and asked < 40, "it goes on alone"
        time.sleep(1)
    assert asked < 40


def test_two_engines_that_agree_hold(twlocal: Command, model_file: Path, questions: Path) -> None:
    words = ("parity", model_file, "--backends", "scripted,scripted_isolated", "--bench", questions, "--limit", "12")
    done = twlocal(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Parity holds" in done.stdout
    assert "12 / 12" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "takes MODEL with --backends"),
        (("model.gguf", "--backends", "scripted"), "two engines or more"),
        (("model.gguf", "--backends", "scripted:slots,mlx"), "NAME=VALUE"),
        (("model.gguf", "--backends", "scripted,mlx", "--source", "vllm=x"), "does not name vllm"),
        (("model.gguf", "--backends", "scripted,mlx", "--python", "mlx"), "takes ENGINE="),
        (("model.gguf", "--backends", "scripted,mlx", "--python", "scripted=/no/such/python"), "No such file"),
        (("model.gguf", "--backends", "scripted,mlx", "--python", "scripted=/bin/true"), "no report of twlocal"),
        (("--run", "one"), "two engines or more"),
    ],
)
def test_wrong_calls_say_the_way_out(
    twlocal: Command, model_file: Path, questions: Path, words: tuple[str, ...], said: str
) -> None:
    done = twlocal("parity", *[str(model_file) if word == "model.gguf" else word for word in words])
    assert done.returncode == 2
    assert said in done.stderr and "Traceback" not in done.stderr


def test_an_engine_that_cannot_start_is_named(twlocal: Command, model_file: Path, questions: Path) -> None:
    done = twlocal("parity", model_file, "--backends", "nosuch,scripted", "--bench", questions, "--limit", "3")
    assert done.returncode == 2
    assert "nosuch could not be asked" in done.stderr
