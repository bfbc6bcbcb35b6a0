"""Hanging, dying, greedy and broken papers cost themselves and nothing else."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from twlocal.exam.limits import Limits, run_all
from twlocal.exam.paper import parse_paper


def by_name(outcomes):
    return {outcome.path.name: outcome for outcome in outcomes}


@pytest.fixture
def parser(tmp_path, monkeypatch):
    """A parser that does what a file's name says, importable by a spawned worker."""
    (tmp_path / "naughty_parser.py").write_text(
        "import os, time\n"
        "def parse(path):\n"
        "    name = path.stem\n"
        "    if name == 'hang': time.sleep(600)\n"
        "    if name == 'die': os._exit(9)\n"
        "    if name == 'fail': raise ValueError('broken')\n"
        "    if name == 'eat': return len(bytearray(3 * 1024 ** 3))\n"
        "    return name\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    import naughty_parser

    return naughty_parser.parse


def test_each_fault_is_its_own(parser):
    names = ["one", "hang", "two", "die", "three", "fail", "four", "eat", "five"]
    start = time.monotonic()
    limits = Limits(seconds=3.0, megabytes=1024)
    found = by_name(run_all([Path(f"{name}.pdf") for name in names], parser, limits=limits))
    assert time.monotonic() - start < 60
    for name in ("one", "two", "three", "four", "five"):
        assert found[f"{name}.pdf"].value == name
    assert found["hang.pdf"].rejection.reason == "timeout"
    assert found["die.pdf"].rejection.reason == "crashed"
    assert found["fail.pdf"].rejection.detail == "ValueError: broken"
    assert found["eat.pdf"].rejection.reason == "memory"


def test_closing_stops_the_workers(parser):
    outcomes = run_all([Path("one.pdf"), Path("hang.pdf")], parser, jobs=2, limits=Limits(seconds=60))
    assert next(outcomes).value == "one"
    start = time.monotonic()
    outcomes.close()
    assert time.monotonic() - start < 10


def test_papers_in_workers_are_the_papers_of_this_process(sheet, tmp_path):
    for k in range(3):
        made = sheet().text(48, 100, "共1題，每題1分").text(40, 140, f"1 第{k}個何者正確？")
        (tmp_path / f"{k}.pdf").write_bytes(made.text(60, 158, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁").bytes())
    paths = sorted(tmp_path.glob("*.pdf"))
    found = by_name(run_all(paths, parse_paper, jobs=2))
    assert {name: outcome.value for name, outcome in found.items()} == {p.name: parse_paper(p) for p in paths}


def damaged(data: bytes, seed: int) -> bytes:
    """A file cut off, with bytes changed, or with a stretch lost."""
    rng = random.Random(seed)
    kind = seed % 3
    if kind == 0:
        return data[: rng.randrange(len(data))]
    changed = bytearray(data)
    if kind == 1:
        for _ in range(rng.choice((1, 10, 200))):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        return bytes(changed)
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.randrange(1, 400) :]


def test_fuzzed_papers_never_hang_or_invent_items(sheet, tmp_path):
    made = sheet().text(48, 100, "共20題，每題1分")
    for n in range(1, 21):
        made.text(40, 110 + 34 * n, f"{n} 第{n}個何者正確？").text(60, 127 + 34 * n, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁").rule(
            300, 340, 120 + 34 * n
        )
    data = made.bytes()
    whole = parse_paper(data)
    assert whole.accepted and len(whole.usable) == 20
    for seed in range(60):
        (tmp_path / f"{seed}.pdf").write_bytes(damaged(data, seed))
    outcomes = list(run_all(sorted(tmp_path.glob("*.pdf")), parse_paper, jobs=2, limits=Limits(seconds=20)))
    assert len(outcomes) == 60
    for outcome in outcomes:
        assert outcome.value is not None or outcome.rejection is not None
        if outcome.value is not None and outcome.value.accepted:
            assert len(outcome.value.items) == 20
