"""What `--stop-at-box` saves and changes: planted responses, and the command over stored runs."""

from __future__ import annotations

from typing import Any

import pytest

from twlocal.record import Record
from twlocal.study import stopping
from twlocal.study.report import render


def record(no: int, text: str, *, finish: str = "stop", tokens: int | None = None, answer: str = "A") -> Record:
    size = len(text.encode("utf-8")) if tokens is None else tokens
    return Record(no, 0, "s", "", f"{no:064x}", f"{no:064x}", answer, "ABCD", text, "", finish, 10, size, None, None)


def studied(*records: Record) -> stopping.Stopped:
    rows = [((one.content_hash, one.subject, 0), one) for one in records]
    return stopping.stopped("run", lambda: rows, ["box", "lenient"])


def test_what_follows_a_box_is_saved_and_nothing_changes() -> None:
    found = studied(
        record(0, "\\boxed{A}" + "x" * 91),  # 100 bytes, 9 of them needed
        record(1, "不知道", tokens=5),
        record(2, "\\boxed{B}" * 20, finish="length", tokens=180),
    )
    assert (found.n, found.stopped, found.capped, found.capped_stopped) == (3, 2, 1, 1)
    assert found.tokens == 100 + 5 + 180
    assert found.saved == pytest.approx(91 + 171)
    assert found.changed == {"box": 0, "lenient": 0}
    assert "1 of 1" in render(stopping.report([found], absent={}))


def test_a_thought_opened_after_the_box_changes_the_reading_and_is_counted() -> None:
    found = studied(record(0, "\\boxed{A} 等等<think>不對</think>\\boxed{B}", answer="A"), record(1, "\\boxed{C}"))
    assert found.changed["box"] == 1
    assert (found.gained["box"], found.lost["box"]) == (1, 0)
    assert "opens another thought" in render(stopping.report([found], absent={}))


def test_a_thought_that_the_prompt_opened_is_no_place_to_stop() -> None:
    """One response that closes a thought it did not open says so for all, also for one cut inside of its thought."""
    found = studied(record(0, "\\boxed{A}？</think>\\boxed{B} 完"), record(1, "\\boxed{A}？還在想", finish="length"))
    assert found.opened
    assert found.stopped == 1 and found.capped_stopped == 0
    assert found.changed == {"box": 0, "lenient": 0}


def test_tokens_that_nobody_told_are_not_made_up() -> None:
    untold = Record(0, 0, "s", "", "0", "0", "A", "ABCD", "\\boxed{A} 完", "", "stop", None, None, None, None)
    found = stopping.stopped("run", lambda: [(("0", "s", 0), untold)], ["box"])
    assert found.tokens is None and found.saved is None
    assert "not told" in render(stopping.report([found], absent={}))


def test_the_command(call: Any, ask: Any, write_bench: Any) -> None:
    bench = write_bench()
    name = ask(bench, "box", skill=0.7)
    found = call("study", "stop-at-box", name, "--json").json
    (run,) = found["runs"]
    assert run["n"] == run["would_stop"] == 120
    assert run["readers"]["box"] == {"changed": 0, "become_right": 0, "become_wrong": 0}
    assert f"twlocal study stop-at-box {name}" in call("study", "stop-at-box", name).out
    twice = call("study", "stop-at-box", name, name)
    assert twice.code == 2 and "named twice" in twice.error


def test_an_engine_that_cannot_stop_there_says_so(call: Any, write_bench: Any, tmp_path: Any) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF m")
    done = call("run", tmp_path / "m.gguf", "--bench", write_bench(), "--backend", "scripted", "--stop-at-box")
    assert done.code == 2 and "stop_at_box" in done.error


def test_a_model_that_goes_on_after_its_box_and_revises_some(call: Any, ask: Any, write_bench: Any) -> None:
    """Every answer would end at its box; what was revised in another thought, and only that, reads otherwise."""
    from twlocal_scripted_effects import Effects

    from twlocal.backend import Decoding

    bench = write_bench()
    name = ask(bench, "goes_on", skill=0.7, share=0.2)
    model = Effects(Decoding(), {"answers": str(bench)})
    questions = list(model.key)
    revised = [one for one in questions if model.chance(one, "revises") < 0.2]
    known = [one for one in revised if model.chance(one, "skill") < 0.7]
    (run,) = call("study", "stop-at-box", name, "--json").json["runs"]
    assert run["would_stop"] == len(questions) and 10 < len(revised) < 40
    strict = run["readers"]["box"]
    # A known answer was revised into a wrong one, so it becomes right; a wrong one was revised into the right one.
    assert strict == {"changed": len(revised), "become_right": len(known), "become_wrong": len(revised) - len(known)}
    assert run["tokens_saved_estimate"] > 0.5 * run["tokens"]
