"""Twinkle Eval's result files (2.10): `results_<time>.json` and beside it `eval_results_<time>_run<N>.jsonl`.

A row has question (stem and options as sent), correct_answer, llm_output (complete thoughts cut off), predicted_answer,
is_correct and token counts. The summary names model, configuration and datasets; a row does not say which dataset it is
of. Older versions keep `details` inside one JSON file. The response is there, so twlocal's readers read it too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twlocal.bundle import exchange
from twlocal.bundle.readings import reading_row
from twlocal.bundle.scrub import model_name, scrubbed
from twlocal.bundle.stored import Result, ResultRow
from twlocal.bundle.strict import Malformed, parse
from twlocal.errors import DatasetError
from twlocal.item import LABELS, clean, content_hash
from twlocal.judge import judge
from twlocal.plural import counted
from twlocal.record import Record

_ROWS = re.compile(r"eval_results_(?P<time>.+?)_run(?P<run>\d+)(?:_node\w+?_rank\d+)?\.jsonl")
_OPTION = re.compile(r"\n([A-Z]{1,2}): ")
_NEEDED = ("question", "correct_answer", "predicted_answer", "is_correct")


@dataclass(frozen=True)
class _Set:
    """Rows that were evaluated together, and the summary that belongs to them (empty where there is none)."""

    name: str
    run: int
    rows: Sequence[Mapping[str, Any]]
    summary: Mapping[str, Any]


def is_summary(data: object) -> bool:
    """Whether parsed JSON is a `results_<time>.json`."""
    return isinstance(data, dict) and "dataset_results" in data


def is_row(data: object) -> bool:
    """Whether parsed JSON is a row of Twinkle Eval's."""
    return isinstance(data, dict) and all(name in data for name in _NEEDED)


def find(path: Path) -> list[Path]:
    """Twinkle Eval's files at a path: row files, and JSON files that hold their rows themselves."""
    if path.is_file():
        if path.suffix == ".json" and is_summary(_json(path)):
            return [beside for beside in sorted(path.parent.glob("*.jsonl")) if _time(beside) == _stamp(path)]
        return [path] if _begins(path) else []
    inside = sorted(one for one in path.rglob("*.json*") if one.is_file())
    return [one for one in inside if _begins(one)]


def _begins(path: Path) -> bool:
    if path.suffix == ".jsonl":
        return is_row(_first(path))
    if path.suffix == ".json":
        data = _json(path)
        details = data.get("details") if isinstance(data, dict) else None
        return isinstance(details, list) and bool(details) and is_row(details[0])
    return False


def _first(path: Path) -> Any:
    try:
        with path.open(encoding="utf-8") as file:
            return parse(next((line for line in file if line.strip()), ""))
    except (Malformed, UnicodeDecodeError):
        return None


def _json(path: Path) -> Any:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (Malformed, UnicodeDecodeError):
        return None


def _time(path: Path) -> str:
    match = _ROWS.fullmatch(path.name)
    return match["time"] if match else path.stem


def _stamp(path: Path) -> str:
    data = _json(path)
    said = data.get("timestamp") if isinstance(data, dict) else None
    return said if isinstance(said, str) else path.stem.removeprefix("results_")


def read(
    files: Sequence[Path], source: str, *, model: str = "", bench: str = "", skip_bad: bool = False
) -> list[Result]:
    """The results in Twinkle Eval's files, one a repeat of an evaluation. Raises DatasetError naming every bad line."""
    sets: dict[tuple[Path, str, int], list[Path]] = {}
    for path in files:
        match = _ROWS.fullmatch(path.name)
        # Shards of one repeat, written by several processes, belong together.
        sets.setdefault((path.parent, _time(path), int(match["run"]) if match else 0), []).append(path)
    return [
        _result(_gather(folder, time, run, paths, skip_bad), source, model, bench)
        for (folder, time, run), paths in sorted(sets.items())
    ]


def _gather(folder: Path, time: str, run: int, paths: Sequence[Path], skip_bad: bool) -> _Set:
    rows, bad = [], []
    for path in paths:
        for number, data in _parsed(path):
            if isinstance(data, Malformed):
                bad.append(f"{path.name}:{number}: {data}")
            elif why := _wrong(data):
                bad.append(f"{path.name}:{number}: {why}")
            else:
                rows.append(data)
    if bad and not (skip_bad and rows):
        raise DatasetError(
            f"{paths[0].name}: {len(bad):,} of {counted(len(bad) + len(rows), 'row')} cannot be taken:\n  "
            + "\n  ".join(bad[:10]),
            hint="--skip-bad leaves them out and goes on",
        )
    found = folder / f"results_{time}.json"
    summary = _json(found) if found.is_file() else None
    if summary is None and paths[0].suffix == ".json":
        summary = _json(paths[0])
    return _Set(time, run, rows, summary if isinstance(summary, dict) else {})


def _parsed(path: Path) -> Iterator[tuple[int, Any]]:
    try:
        if path.suffix == ".json":
            yield from enumerate(parse(path.read_text(encoding="utf-8"))["details"], 1)
            return
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    try:
                        yield number, parse(line)
                    except Malformed as error:
                        yield number, error
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} is not UTF-8 text", hint="ask for it again") from error


def _wrong(row: object) -> str:
    if not is_row(row):
        return f"without {', '.join(_NEEDED)}"
    assert isinstance(row, dict)
    if type(row["is_correct"]) is not bool or not isinstance(row["question"], str):
        return "is_correct is neither true nor false, or the question no text"
    if row["is_correct"] and row["predicted_answer"] is None:
        return "correct, although nothing was predicted"
    return ""


def _result(found: _Set, source: str, model: str, bench: str) -> Result:
    config = found.summary.get("config")
    config = config if isinstance(config, dict) else {}
    datasets = found.summary.get("dataset_results")
    datasets = datasets if isinstance(datasets, dict) else {}
    said = config.get("model")
    name = model or model_name(str(said.get("name") or "")) if isinstance(said, dict) else model
    evaluation = config.get("evaluation")
    evaluation = evaluation if isinstance(evaluation, dict) else {}
    named = bench or "+".join(exchange.file(path) for path in datasets) or exchange.file(found.name)
    # Whether options were shuffled decides whether the letters are the source's. Unsaid, they were not; but a dataset
    # may have settings of its own, and without a configuration nothing is known.
    in_order = bool(evaluation) and not evaluation.get("shuffle_options") and not evaluation.get("dataset_overrides")
    rows = [_row(at, row, in_order) for at, row in enumerate(found.rows)]
    method = evaluation.get("evaluation_method")
    notes = list(_notes(found, datasets))
    return Result(
        name=f"{exchange.folder(name or 'unknown')}-{exchange.file(named)}-twinkle-run{found.run}".lower(),
        kind="twinkle",
        source=source,
        model=name or "unknown",
        bench=named,
        rows=rows,
        part=f"{found.name} run {found.run}",
        protocol=f"twinkle-eval {method}" if isinstance(method, str) else "twinkle-eval",
        provenance=scrubbed(
            {
                "timestamp": found.summary.get("timestamp", found.name),
                "run": found.run,
                "config": config,
                "datasets": datasets,
                "notes": notes,
            }
        ),
    )


def _notes(found: _Set, datasets: Mapping[str, Any]) -> Iterator[str]:
    """What does not fit together between summary and rows. Only one file of one dataset can be compared."""
    files = [file for one in datasets.values() if isinstance(one, dict) for file in one.get("results") or ()]
    if len(files) == 1 and isinstance(files[0], dict) and found.rows:
        runs = files[0].get("individual_runs")
        stated = runs.get("accuracies") if isinstance(runs, dict) else None
        ours = sum(row["is_correct"] for row in found.rows) / len(found.rows)
        if isinstance(stated, list) and found.run < len(stated):
            one = stated[found.run]
            if isinstance(one, int | float) and abs(one - ours) > 1e-9:
                yield f"its summary states an accuracy of {one:.4f}, and its rows give {ours:.4f}"
    elif len(files) > 1:
        yield f"its {len(files)} files are in one list of rows, and no row says which file it is of"


def _row(at: int, row: Mapping[str, Any], in_order: bool) -> ResultRow:
    stem, options = _split(row["question"])
    key = row["correct_answer"]
    repeat = row.get("sample_id")
    four = [label for label, _ in options] == list(LABELS)
    texts = [text for _, text in options]
    facts: dict[str, Any] = {}
    output = row.get("llm_output")
    if four and key in tuple(LABELS) and isinstance(output, str):
        facts = _read_again(at, key, output, row.get("llm_reasoning_output"))
    known = {"question", "correct_answer", "predicted_answer", "llm_output", "llm_reasoning_output", "question_id"}
    detail = {name: value for name, value in row.items() if name in known or name.startswith("usage_")}
    return ResultRow(
        repeat=repeat if type(repeat) is int and repeat >= 0 else 0,
        qh=hashlib.sha256(clean(stem).encode("utf-8")).hexdigest()[:16],
        ch=content_hash(stem, (texts[0], texts[1], texts[2], texts[3]), key) if four and in_order else None,
        ok=row["is_correct"],
        **facts,
        detail=json.dumps(detail | {"stem": stem, "options": dict(options)}, ensure_ascii=False, sort_keys=True),
    )


def _split(question: str) -> tuple[str, list[tuple[str, str]]]:
    """Stem and options of `stem\\nA: …\\nB: …`; no options where it is not of that form."""
    marks = list(_OPTION.finditer(question))
    # The options are the last stretch that begins with A and goes on in order to the end.
    for first in range(len(marks) - 1, -1, -1):
        labels = [mark[1] for mark in marks[first:]]
        if labels[0] == "A" and labels == [chr(ord("A") + at) for at in range(len(labels))] and len(labels) > 1:
            ends = [mark.start() for mark in marks[first + 1 :]] + [len(question)]
            texts = [question[mark.end() : end] for mark, end in zip(marks[first:], ends, strict=True)]
            return question[: marks[first].start()], list(zip(labels, texts, strict=True))
    return question, []


def _read_again(at: int, key: str, output: str, reasoning: object) -> dict[str, bool]:
    """What the board's readers and ours read in the kept response. Whether it was cut off is not told."""
    record = Record(
        no=at,
        repeat=0,
        subject="",
        item_id="",
        content_hash="0" * 64,
        stem_hash="0" * 64,
        answer=key,
        order=LABELS,
        text=output,
        reasoning=reasoning if isinstance(reasoning, str) else "",
        finish="unknown",
        prompt_tokens=None,
        completion_tokens=None,
        reasoning_tokens=None,
        prompt_hash=None,
    )
    board, ours = exchange.board_row(record), reading_row(record, judge(record), 0)
    return {
        "boxp": board.boxp,
        "lenp": board.lenp,
        "correct": ours.correct,
        "lenient_correct": ours.lenient_correct,
        "wrote_box": ours.wrote_box,
        "parsed": ours.parsed,
        "lenient_parsed": ours.lenient_parsed,
    }
