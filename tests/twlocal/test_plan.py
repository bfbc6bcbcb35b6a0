"""The key under which a run goes on: everything that could change an answer, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal import plan, protocol
from twlocal.item import Item
from twlocal.models import Model

MODEL = Model("模型", "/somewhere/模型.gguf", "scripted", weights=(Path("/somewhere/模型.gguf"),))
BENCH = {"name": "demo", "revision": "", "fingerprint": "f" * 64}
ITEMS = [Item(f"第{number}題", ("甲", "乙", "丙", "丁"), "A", "民法") for number in range(6)]
WISH = plan.Wish("m.gguf", "demo", "box", settings={"slots": 1, "seed": 7})


def _make(wish: plan.Wish = WISH, **changes: Any) -> plan.Plan:
    what: dict[str, Any] = {
        "model": MODEL,
        "backend": "scripted",
        "answering": {"seed"},
        "model_fingerprint": "a" * 64,
        "protocol": protocol.load("box"),
        "bench": BENCH,
        "drawn": ITEMS,
        "machine": {"cores": 2},
    }
    return plan.make(wish, **(what | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"model": replace(MODEL, id="別的模型")},
        {"model": replace(MODEL, revision="abc")},
        {"model_fingerprint": "b" * 64},
        {"backend": "http"},
        {"protocol": protocol.load("twinkle")},
        {"protocol": protocol.load("box").with_budget(64)},
        {"bench": BENCH | {"fingerprint": "e" * 64}},
        {"bench": BENCH | {"revision": "main"}},
        {"drawn": ITEMS[:5]},
        {"drawn": [Item("第0題", ("甲", "乙", "丙", "丁"), "A", "刑法"), *ITEMS[1:]]},
        {"wish": replace(WISH, repeats=2)},
        {"wish": replace(WISH, settings={"slots": 1, "seed": 8})},
    ],
)
def test_what_could_change_an_answer_changes_the_key(changes: Mapping[str, Any]) -> None:
    assert _make(**changes).key != _make().key


@pytest.mark.parametrize(
    "changes",
    [
        {"model": replace(MODEL, source="/elsewhere/模型.gguf", weights=(Path("/elsewhere/模型.gguf"),))},
        {"machine": {"cores": 64}},
        {"drawn": ITEMS[::-1]},
        {"bench": BENCH | {"name": "/elsewhere/demo.csv", "rows": 6}},
        {"wish": replace(WISH, settings={"seed": 7, "slots": 16})},
        {"wish": replace(WISH, data={"encoding": "utf-8"}, private=True, sample=150, ids="ids.json")},
    ],
)
def test_how_it_is_asked_and_where_things_lie_does_not(changes: Mapping[str, Any]) -> None:
    assert _make(**changes).key == _make().key


def test_a_wish_survives_the_store() -> None:
    wish = plan.Wish("m", "b", "box", sample=3, settings={"extra_body": {"a": [1]}}, data={"encoding": "cp950"})
    assert plan.Wish.from_json(wish.as_json()) == wish


@pytest.mark.parametrize(
    ("model", "bench", "name"),
    [
        ("SmolLM2-135M", "demo", "smollm2-135m-demo-"),
        ("http://localhost:8000/v1#Qwen/Qwen3-8B", "hf://owner/題庫@main/exam.parquet", "qwen3-8b-exam-"),
        ("owner/name:model-f16", "/data/我的 題庫.csv", "model-f16-我的-題庫-"),
        ("...", "///", "run-run-"),
    ],
)
def test_names_are_for_people_and_shells(model: str, bench: str, name: str) -> None:
    made = _make(model=replace(MODEL, id=model), bench=BENCH | {"name": bench})
    assert made.name.startswith(name)
    assert made.name == name + made.key[:6]


@given(st.permutations([*ITEMS, ITEMS[0]]))
def test_the_order_of_a_run_is_not_the_order_of_the_file(items: list[Item]) -> None:
    rows = plan.plan_order(items)
    assert rows == plan.plan_order([*ITEMS, ITEMS[0]])
    assert [row.no for row in rows] == list(range(7))
    assert sorted(row.occurrence for row in rows) == [0, 0, 0, 0, 0, 0, 1]
    assert [row.item.content_hash for row in rows] == sorted(row.item.content_hash for row in rows)
