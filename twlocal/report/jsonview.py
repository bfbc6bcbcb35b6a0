"""A run's report as JSON-able data with stable field names: rates are fractions of 1, and an unknown is null."""

from __future__ import annotations

from typing import Any

from twlocal.report.view import RunView
from twlocal.score import Repeats
from twlocal.stats import Interval
from twlocal.tally import Tally

FORMAT = 1  # raised when a field changes its meaning or goes; new fields may come at any time


def as_dict(view: RunView) -> dict[str, Any]:
    """The report as plain dicts, lists, strings and numbers. Nothing in it depends on the language of the reader."""
    score = view.score
    return {
        "format": FORMAT,
        "run": view.run,
        "model": {"id": view.model, "revision": view.revision or None, "quantised": view.quantised},
        "bench": view.bench,
        "protocol": {
            "name": view.protocol,
            "title": view.protocol_title,
            "sha256": view.protocol_sha256,
            "reader": score.reader,
            "publishable": view.publishable,
            "why_not": view.why_not or None,
            "max_tokens": view.max_tokens,
            "temperature": view.temperature,
        },
        "engine": {
            "backend": view.backend or None,
            "name": view.engine or None,
            "version": view.engine_version or None,
        },
        "time": {"started": view.started or None, "seconds": view.seconds, "sittings": view.sittings},
        "complete": score.complete,
        "publication_bars": list(view.publication_bars),
        "score": _tally(score.overall),
        "against_chance": score.overall.against_chance,
        "failures": dict(sorted(score.failures.items())),
        "withdrawn": score.withdrawn,
        "withdrawn_since": score.withdrawn_since,
        "repeats": None if score.repeats is None else _repeats(score.repeats),
        "alarms": [
            {"kind": alarm.kind, "message": alarm.message, "evidence": dict(alarm.evidence)} for alarm in score.alarms
        ],
        "subjects": [{"subject": name, **_tally(tally)} for name, tally in score.subjects],
    }


def _tally(tally: Tally) -> dict[str, Any]:
    return {
        "n": tally.n,
        "planned": tally.planned,
        "items": tally.items,
        "correct": tally.correct,
        "accuracy": tally.accuracy,
        "interval": _interval(tally.interval, tally),
        "lenient_correct": tally.lenient_correct,
        "lenient_accuracy": tally.lenient_accuracy,
        "lenient_interval": _interval(tally.lenient_interval, tally),
        "box_rate": tally.box_rate,
        "parse_rate": tally.parse_rate,
        "lenient_parse_rate": tally.lenient_parse_rate,
        "boxes": tally.boxes,
        "parsed": tally.parsed,
        "lenient_parsed": tally.lenient_parsed,
        "ordinal": tally.ordinal,
        "truncated": tally.truncated,
        "refused": tally.refused,
        "filtered": tally.filtered,
        "loops": tally.loops,
        "no_final_text": tally.no_final,
        "with_reasoning": tally.thought,
        "reasoning_only": tally.reasoning_only,
        "empty": tally.empty,
        "tokens": {
            "prompt": tally.prompt_tokens,
            "completion": tally.completion_tokens,
            "reasoning": tally.reasoning_tokens,
            "rows_without": tally.untold,
        },
    }


def _interval(interval: Interval, tally: Tally) -> list[float] | None:
    return [interval.low, interval.high] if tally.n else None


def _repeats(repeats: Repeats) -> dict[str, Any]:
    return {
        "asked": repeats.asked,
        "accuracies": list(repeats.accuracies),
        "items_compared": repeats.compared,
        "items_same": repeats.same,
    }
