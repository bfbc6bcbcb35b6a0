"""A run to report on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from twlocal.alarms import Alarm
from twlocal.report.view import RunView
from twlocal.score import Score, Tally

CIVIL = Tally(
    n=846, planned=846, items=846, correct=420, lenient_correct=430, boxes=840, parsed=838, lenient_parsed=844,
    prompt_tokens=200_000, completion_tokens=150_000, reasoning_tokens=30_000,
)  # fmt: skip
TAX = Tally(
    n=850, planned=850, items=850, correct=364, lenient_correct=366, boxes=830, parsed=822, lenient_parsed=840,
    ordinal=2, truncated=12, refused=3, filtered=4, loops=5, no_final=6, thought=9, reasoning_only=2, empty=7,
    prompt_tokens=210_000, completion_tokens=160_000, untold=1,
)  # fmt: skip
ALARM = Alarm("low_box_rate", "Only 12.0% of the responses wrote a \\boxed{}.", {"rate": 0.12})
WHOLE = Score(reader="box", overall=CIVIL + TAX, subjects=(("民法", CIVIL), ("稅務法規與會計審計", TAX)))
VIEW = RunView(
    run="gemma-formosa",
    model="twinkle-ai/gemma-3-4B-T1-it",
    revision="1234567",
    bench="tw-formosa-bench",
    protocol="box",
    protocol_title="\\boxed{}, final prompt",
    protocol_sha256="0123456789abcdef" * 4,
    publishable=True,
    why_not="",
    score=WHOLE,
    backend="vllm",
    engine="vLLM",
    engine_version="0.11.0",
    quantised=False,
    started="2026-11-30T05:00:00+08:00",
    seconds=7530.0,
    sittings=3,
    max_tokens=4096,
    temperature=0.0,
)


@pytest.fixture
def view() -> Callable[..., RunView]:
    """A complete, publishable run of 1,696 responses at 46.2%; keywords of the view or of its score change it."""
    of_score = {field.name for field in dataclasses.fields(Score)}

    def changed(**changes: object) -> RunView:
        score = dataclasses.replace(WHOLE, **{name: value for name, value in changes.items() if name in of_score})  # type: ignore[arg-type]
        rest = {name: value for name, value in changes.items() if name not in of_score}
        return dataclasses.replace(VIEW, score=score, **rest)  # type: ignore[arg-type]

    return changed


@pytest.fixture
def alarm() -> Alarm:
    """An alarm."""
    return ALARM
