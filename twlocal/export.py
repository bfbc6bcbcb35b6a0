"""A run's responses and their readings as rows: JSONL, CSV or Parquet.

Rows come in the order of the plan and hold nothing that differs between two executions of the same deterministic run,
so that an interrupted run exports the same bytes as an uninterrupted one. When, how long and in which sitting is added
only when asked for.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from twlocal.errors import UsageError
from twlocal.item import LABELS, source_letter
from twlocal.judge import Judged, judge
from twlocal.record import Record
from twlocal.runs import RunRow, Runs
from twlocal.whole import whole

FORMATS = ("jsonl", "csv", "parquet")
_PARQUET_ROWS = 4096
# What ends a line for some readers of lines, and no line of JSON: a model may write them.
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")
_WHOLE = ("no", "repeat", "prompt_tokens", "completion_tokens", "reasoning_tokens", "attempt", "sitting_id")
_YES_NO = ("correct", "lenient_correct", "wrote_box", "truncated", "loop")
_TIMINGS = ("latency", "attempt", "answered_at", "sitting_id", "engine", "engine_version")


def rows(
    runs: Runs, run: RunRow, reader: str, *, timings: bool = False, words: bool = False
) -> Iterator[dict[str, Any]]:
    """One dictionary a response. `words` adds question and options, where the run kept them."""
    times = runs.timings(run.id) if timings else None
    for record in runs.records(run.id):
        row = as_row(record, judge(record, reader))
        if words:
            kept = runs.words(record.content_hash)
            row |= (
                {"question": kept[0], **dict(zip(LABELS, kept[1], strict=True))}
                if kept
                else {"question": None, **dict.fromkeys(LABELS)}
            )
        if times is not None:
            time = next(times)
            row |= {name: time[name] for name in _TIMINGS}
        yield row


def as_row(record: Record, judged: Judged) -> dict[str, Any]:
    """A judged record as a row without times or words. Pure."""
    return {
        "no": record.no,
        "repeat": record.repeat,
        "subject": record.subject,
        "id": record.item_id,
        "ch": record.content_hash,
        "qh": record.stem_hash[:16],
        "answer": record.answer,
        "order": record.order,
        "read": judged.box.letter,
        "read_source": _source(judged.box.letter, record.order),
        "correct": judged.correct,
        "why": judged.box.why,
        "lenient": judged.lenient.letter,
        "lenient_correct": judged.correct_lenient,
        "lenient_why": judged.lenient.why,
        "wrote_box": judged.wrote_box,
        "finish": record.finish,
        "truncated": judged.truncated,
        "loop": judged.loop,
        "flags": " ".join(judged.flags),
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "reasoning_tokens": record.reasoning_tokens,
        "prompt_hash": record.prompt_hash,
        "text": record.text,
        "reasoning": record.reasoning,
    }


def _source(letter: str | None, order: str) -> str | None:
    return source_letter(letter, order) if letter is not None and letter in LABELS else None


def write(found: Iterator[dict[str, Any]], form: str, target: TextIO | Path) -> int:
    """Write rows in the given format; returns how many. A path is written whole or not at all."""
    if isinstance(target, Path):
        with whole(target) as part:
            return _write_file(found, form, part)
    if form == "parquet":
        raise UsageError("Parquet is not text: it needs a file", hint="-o FILE.parquet")
    return _write_text(found, form, target)


def _write_file(found: Iterator[dict[str, Any]], form: str, path: Path) -> int:
    if form == "parquet":
        return _write_parquet(found, path)
    # A spreadsheet takes a CSV without the mark for one in the code page of its Windows, and Chinese for rubbish.
    with path.open("w", encoding="utf-8-sig" if form == "csv" else "utf-8", newline="") as file:
        return _write_text(found, form, file)


def _write_text(found: Iterator[dict[str, Any]], form: str, file: TextIO) -> int:
    written = 0
    table: csv.DictWriter[str] | None = None
    for written, row in enumerate(found, 1):  # noqa: B007 - its last value is the answer
        if form == "jsonl":
            file.write(_LINE_ENDS.sub(_escaped, json.dumps(row, ensure_ascii=False)) + "\n")
            continue
        if table is None:
            table = csv.DictWriter(file, list(row), lineterminator="\n")
            table.writeheader()
        table.writerow(row)
    return written


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _write_parquet(found: Iterator[dict[str, Any]], path: Path) -> int:
    from twlocal.backend import missing

    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise missing("parquet", "pyarrow") from error
    kinds = (
        {name: arrow.int64() for name in _WHOLE}
        | {name: arrow.bool_() for name in _YES_NO}
        | {"latency": arrow.float64()}
    )
    count, writer, batch = 0, None, []
    try:
        for row in found:
            if writer is None:
                # Stated, not inferred: a first batch without a token count must not make its column one of nulls.
                schema = arrow.schema([(name, kinds.get(name, arrow.string())) for name in row])
                writer = parquet.ParquetWriter(path, schema, compression="zstd")
            batch.append(row)
            if len(batch) == _PARQUET_ROWS:
                writer.write_table(arrow.Table.from_pylist(batch, schema=writer.schema))
                count, batch = count + len(batch), []
        if writer is None:
            raise UsageError("the run has no response yet: there is nothing to export", hint="twlocal resume")
        if batch:
            writer.write_table(arrow.Table.from_pylist(batch, schema=writer.schema))
        return count + len(batch)
    finally:
        if writer is not None:
            writer.close()
