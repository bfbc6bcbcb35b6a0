"""The JSON report: stable names, fractions, null for what is not known."""

from __future__ import annotations

import json
from collections.abc import Callable

from twlocal.alarms import Alarm
from twlocal.report.jsonview import as_dict
from twlocal.report.view import RunView
from twlocal.score import Repeats, Tally
from twlocal.stats import wilson

Make = Callable[..., RunView]
TALLY = {
    "n", "planned", "items", "correct", "accuracy", "interval", "lenient_correct", "lenient_accuracy",
    "lenient_interval", "box_rate", "parse_rate", "lenient_parse_rate", "boxes", "parsed", "lenient_parsed",
    "ordinal", "truncated", "refused", "filtered", "loops", "no_final_text", "with_reasoning", "reasoning_only",
    "empty", "tokens",
}  # fmt: skip


def test_the_field_names_stay_what_they_are(view: Make) -> None:
    data = as_dict(view())
    assert data["format"] == 1
    assert set(data) == {
        "format", "run", "model", "bench", "protocol", "engine", "time", "complete", "publication_bars", "score",
        "against_chance", "failures", "withdrawn", "withdrawn_since", "repeats", "alarms", "subjects",
    }  # fmt: skip
    assert set(data["score"]) == TALLY
    assert [set(subject) for subject in data["subjects"]] == [TALLY | {"subject"}] * 2


def test_a_complete_run(view: Make, alarm: Alarm) -> None:
    data = as_dict(view(alarms=(alarm,), withdrawn=179))
    assert json.loads(json.dumps(data, ensure_ascii=False)) == data
    assert data["model"] == {"id": "twinkle-ai/gemma-3-4B-T1-it", "revision": "1234567", "quantised": False}
    assert data["protocol"] == {
        "name": "box",
        "title": "\\boxed{}, final prompt",
        "sha256": "0123456789abcdef" * 4,
        "reader": "box",
        "publishable": True,
        "why_not": None,
        "max_tokens": 4096,
        "temperature": 0.0,
    }
    assert data["engine"] == {"backend": "vllm", "name": "vLLM", "version": "0.11.0"}
    assert data["time"] == {"started": "2026-11-30T05:00:00+08:00", "seconds": 7530.0, "sittings": 3}
    score, interval = data["score"], wilson(784, 1696)
    assert (score["n"], score["planned"], score["correct"], score["accuracy"]) == (1696, 1696, 784, 784 / 1696)
    assert score["interval"] == [interval.low, interval.high]
    assert score["box_rate"] == 1670 / 1696
    assert score["tokens"] == {"prompt": 410_000, "completion": 310_000, "reasoning": 30_000, "rows_without": 1}
    assert (data["complete"], data["publication_bars"], data["withdrawn"], data["repeats"]) == (True, [], 179, None)
    assert data["against_chance"] == "above"
    assert data["alarms"] == [{"kind": "low_box_rate", "message": alarm.message, "evidence": {"rate": 0.12}}]
    assert [subject["subject"] for subject in data["subjects"]] == ["民法", "稅務法規與會計審計"]


def test_what_is_not_known_is_null(view: Make) -> None:
    data = as_dict(
        view(
            overall=Tally(planned=5), subjects=(), failures={"transport": 1, "cut": 2}, revision="", backend="",
            engine="", engine_version="", quantised=None, started="", seconds=None, sittings=0, max_tokens=None,
            temperature=None, why_not="kept to be studied", publishable=False,
        )
    )  # fmt: skip
    score = data["score"]
    unknown = ("accuracy", "interval", "lenient_accuracy", "lenient_interval", "box_rate", "parse_rate")
    assert all(score[name] is None for name in (*unknown, "lenient_parse_rate"))
    assert data["model"]["revision"] is data["model"]["quantised"] is data["against_chance"] is None
    assert set(data["engine"].values()) == {None}
    assert data["time"] == {"started": None, "seconds": None, "sittings": 0}
    assert data["protocol"]["max_tokens"] is data["protocol"]["temperature"] is None
    assert data["protocol"]["why_not"] == "kept to be studied"
    assert data["complete"] is False
    assert data["publication_bars"] == ["protocol", "incomplete"]
    assert list(data["failures"].items()) == [("cut", 2), ("transport", 1)]


def test_repeats(view: Make) -> None:
    data = as_dict(view(repeats=Repeats(asked=2, accuracies=(0.5, None), compared=3, same=2), quantised=True))
    assert data["repeats"] == {"asked": 2, "accuracies": [0.5, None], "items_compared": 3, "items_same": 2}
    assert data["publication_bars"] == ["quantised"]
