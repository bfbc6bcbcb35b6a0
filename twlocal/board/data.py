"""Every figure of a board as JSON and as CSV. Shares are fractions of 1, an unknown is null or an empty cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from twlocal.board.board import Bench, Board, Entry, axes_of
from twlocal.board.history import Entry as HistoryEntry
from twlocal.board.names import subject_slugs
from twlocal.board.numbers import Numbers
from twlocal.board.source import pretty, table
from twlocal.study.halflife import Count

FORMAT = 1
_NUMBERS = (
    *("n", "items", "correct", "accuracy", "low", "high", "lenient_correct", "lenient_accuracy", "lenient_low"),
    *("lenient_high", "boxes", "box_rate", "parsed", "parse_rate", "lenient_parsed", "truncated"),
)
_ENTRY = (
    *("bench", "model", "name", "rank", "rank_best", "rank_worst", *_NUMBERS, "planned", "reader", "protocol"),
    *("protocol_sha256", "quantised", "precision", "engine", "engine_version", "date", "thinking", "repeats"),
    *("max_tokens", "temperature", "withdrawn", "notes", "family", "parameters", "licence", "taiwan_tuned", "kind"),
    *("result", "close"),
)
_PAIRS = ("better", "than", "difference", "method", "gained", "lost", "p", "p_holm", "real")


def files(board: Board, history: Sequence[HistoryEntry]) -> dict[str, str]:
    """The data files of a board by name, beside those of its sources."""
    entries = [entry for bench in board.benches for entry in bench.entries]
    found = {
        "data/board.json": pretty(_board(board)),
        "data/board.csv": table(_ENTRY, (_line(entry) for entry in entries)),
        "data/history.json": pretty([_history(one) for one in history]),
        "data/history.csv": table(
            ("no", "date", "reason", "what", "key", "field", "before", "now"), _history_lines(history)
        ),
    }
    for facts in board.site.models:
        own = [entry for entry in entries if entry.slug == facts.slug]
        found |= _model(facts.slug, own)
    for bench in board.benches:
        found |= _bench(bench, board)
    found |= _axes(board)
    return found


def numbers(counted: Numbers) -> dict[str, Any]:
    """Counts, rates and intervals as plain data."""
    return {
        "n": counted.n,
        "items": counted.items,
        "correct": counted.correct,
        "accuracy": counted.accuracy,
        "interval": [counted.interval.low, counted.interval.high] if counted.n else None,
        "lenient_correct": counted.lenient_correct,
        "lenient_accuracy": counted.lenient_accuracy,
        "lenient_interval": [counted.lenient_interval.low, counted.lenient_interval.high] if counted.n else None,
        "boxes": counted.boxes,
        "box_rate": counted.box_rate,
        "parsed": counted.parsed,
        "parse_rate": counted.parse_rate,
        "lenient_parsed": counted.lenient_parsed,
        "truncated": counted.truncated,
    }


def _cells(counted: Numbers) -> list[Any]:
    strict, lenient = (
        (one.low, one.high) if counted.n else (None, None) for one in (counted.interval, counted.lenient_interval)
    )
    return [
        *(counted.n, counted.items, counted.correct, counted.accuracy, *strict, counted.lenient_correct),
        *(counted.lenient_accuracy, *lenient, counted.boxes, counted.box_rate, counted.parsed, counted.parse_rate),
        *(counted.lenient_parsed, counted.truncated),
    ]


def entry_json(entry: Entry) -> dict[str, Any]:
    """A result as plain data, without its subjects."""
    meta, rank = entry.cell.meta, entry.rank
    return numbers(entry.numbers) | {
        "rank": None if rank is None else rank.place,
        "rank_interval": None if rank is None else [rank.best, rank.worst],
        "close": list(entry.close),
        "planned": entry.planned,
        "reader": entry.reader,
        "notes": list(entry.notes),
        "result": meta.name,
        "kind": meta.kind,
        "protocol": meta.protocol or None,
        "protocol_sha256": meta.protocol_sha256 or None,
        "backend": meta.backend or None,
        "engine": meta.engine or None,
        "engine_version": meta.engine_version or None,
        "quantised": meta.quantised,
        "precision": meta.precision or None,
        "thinking": meta.thinking,
        "date": meta.date or None,
        "repeats": meta.repeats,
        "max_tokens": meta.max_tokens,
        "temperature": meta.temperature,
        "withdrawn": meta.withdrawn,
        "rows": f"data/rows/{entry.cell.bench}/{entry.slug}.json",
    }


def _line(entry: Entry) -> list[Any]:
    meta, rank, facts = entry.cell.meta, entry.rank, entry.facts
    return [
        *(entry.cell.bench, entry.slug, facts.name),
        *((None, None, None) if rank is None else (rank.place, rank.best, rank.worst)),
        *_cells(entry.numbers),
        *(entry.planned, entry.reader, meta.protocol, meta.protocol_sha256, _truth(meta.quantised), meta.precision),
        *(meta.engine, meta.engine_version, meta.date, _truth(meta.thinking), meta.repeats, meta.max_tokens),
        *(meta.temperature, meta.withdrawn, " ".join(entry.notes), facts.family, facts.parameters, facts.licence),
        *(_truth(facts.taiwan_tuned), meta.kind, meta.name, " ".join(entry.close)),
    ]


def _truth(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _board(board: Board) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "title": board.site.settings["title"],
        "reader": board.site.reader,
        "benches": [
            {
                "bench": bench.name,
                "title": bench.title[0],
                "items": bench.items,
                "ranked": len(bench.ranked),
                "results": len(bench.entries),
                "key_noise": None if bench.floor is None else bench.floor.share,
            }
            for bench in board.benches
        ],
        "models": [
            {
                "model": facts.slug,
                "name": facts.name,
                "family": facts.family or None,
                "parameters": facts.parameters,
                "licence": facts.licence or None,
                "taiwan_tuned": facts.taiwan_tuned,
                "results": {
                    bench.name: entry_json(entry)
                    for bench in board.benches
                    if (entry := bench.of(facts.slug)) is not None
                },
            }
            for facts in board.site.models
        ],
    }


def _model(slug: str, entries: Sequence[Entry]) -> dict[str, str]:
    said = {
        entry.cell.bench: entry_json(entry)
        | {"subjects": [{"subject": name, **numbers(one)} for name, one in entry.subjects]}
        for entry in entries
    }
    lines = (
        [entry.cell.bench, name, *_cells(one)]
        for entry in entries
        for name, one in [("", entry.numbers), *entry.subjects]
    )
    return {
        f"data/models/{slug}.json": pretty({"model": slug, "name": entries[0].facts.name, "results": said}),
        f"data/models/{slug}.csv": table(("bench", "subject", *_NUMBERS), lines),
    }


def _bench(bench: Bench, board: Board) -> dict[str, str]:
    found = {}
    slugs = subject_slugs(bench.subjects)
    by_subject: dict[str, list[tuple[Entry, Numbers]]] = {name: [] for name in bench.subjects}
    for entry in bench.entries:
        for name, one in entry.subjects:
            by_subject[name].append((entry, one))
    for name, rows in by_subject.items():
        place = f"data/subjects/{bench.name}/{slugs[name]}"
        found[f"{place}.json"] = pretty(
            {
                "bench": bench.name,
                "subject": name,
                "models": [{"model": entry.slug, "name": entry.facts.name, **numbers(one)} for entry, one in rows],
            }
        )
        found[f"{place}.csv"] = table(
            ("model", "name", *_NUMBERS), ([entry.slug, entry.facts.name, *_cells(one)] for entry, one in rows)
        )
    pairs = list(_pairs(bench))
    found[f"data/ranks/{bench.name}.csv"] = table(_PAIRS, pairs)
    found[f"data/ranks/{bench.name}.json"] = pretty(
        {
            "bench": bench.name,
            "level": 0.05,
            "models": [
                {"model": entry.slug, "rank": entry.rank.place, "rank_interval": [entry.rank.best, entry.rank.worst]}
                for entry in bench.entries
                if entry.rank is not None
            ],
            "comparisons": len(pairs),
            "real": sum(bool(row[-1]) for row in pairs),
        }
    )
    if bench.difficulty is not None:
        easy = bench.difficulty
        listed = board.site.items[easy.items].rows
        found[f"data/difficulty/{bench.name}.csv"] = table(
            ("ch", "qh", "subject", "right", "of"),
            ((*row, share, easy.of) for row, share in zip(listed, easy.shares, strict=True)),
        )
        found[f"data/difficulty/{bench.name}.json"] = pretty(
            {
                "bench": bench.name,
                "items": easy.items,
                "models": list(easy.models),
                "bins": list(easy.bins),
                "nobody": easy.nobody,
                "everybody": easy.everybody,
            }
        )
    if bench.halflife is not None:
        life = bench.halflife
        found[f"data/halflife/{bench.name}.json"] = pretty(
            {
                "bench": bench.name,
                "band": [life.low, life.high],
                "since": life.since and life.since.isoformat(),
                "undated": life.undated,
                "total": _count(life.total),
                "over_time": [_count(one) for one in life.over_time],
                **{
                    name: day and day.isoformat()
                    for name, day in (
                        ("cleared", life.cleared),
                        ("minority", life.minority),
                        ("median_left", life.median_left),
                    )
                },
            }
        )
        header = ("day", "n", "within", "above", "below", "median", "best")
        counts = [*life.over_time, life.total]
        found[f"data/halflife/{bench.name}.csv"] = table(header, (list(_count(one).values()) for one in counts))
    return found


def _count(one: Count) -> dict[str, Any]:
    return {
        "day": one.day and one.day.isoformat(),
        "n": one.n,
        "within": one.within,
        "above": one.above,
        "below": one.below,
        "median": one.median,
        "best": one.best,
    }


def _pairs(bench: Bench) -> Iterator[list[Any]]:
    """Every two ranked models, the one with the higher score first."""
    if bench.pairs is None:
        return
    ranked, pairs = bench.ranked, bench.pairs
    p, adjusted, real = pairs.p.tolist(), pairs.adjusted.tolist(), pairs.real.tolist()
    gained, paired = pairs.gained.tolist(), pairs.paired.tolist()
    score = [entry.numbers.accuracy or 0.0 for entry in ranked]
    for one in range(len(ranked)):
        for other in range(one + 1, len(ranked)):
            counts = [gained[one][other], gained[other][one]] if paired[one][other] else [None, None]
            yield [
                *(ranked[one].slug, ranked[other].slug, score[one] - score[other]),
                *("paired" if paired[one][other] else "unpaired", *counts),
                # Six digits: versions of a library differ in the last ones.
                *(float(f"{p[one][other]:.6g}"), float(f"{adjusted[one][other]:.6g}"), int(real[one][other])),
            ]


def _axes(board: Board) -> dict[str, str]:
    both = axes_of(board.benches)
    if both is None or not board.axes:
        return {}
    rows = [
        [one.reader, slug, *scores, one.gains[slug]]
        for one in board.axes
        for slug, scores in sorted(one.scores.items())
    ]
    said: list[Mapping[str, Any]] = [
        {
            "reading": one.reader,
            "models": one.n,
            "median_shift": one.shift,
            "agreement": [
                {
                    "models": group.name,
                    "n": group.n,
                    "rho": _digits(group.rho),
                    "interval": group.interval and [_digits(group.interval.low), _digits(group.interval.high)],
                }
                for group in one.agreement
            ],
            "families": [
                {
                    "family": group.family,
                    "n": group.n,
                    "mean": _digits(group.mean),
                    "median": group.median,
                    "p": _digits(group.p),
                }
                for group in one.families
            ],
        }
        for one in board.axes
    ]
    names = [bench.name for bench in both]
    return {
        "data/axes.json": pretty({"axes": names, "readings": said}),
        "data/axes.csv": table(("reading", "model", *names, "places"), rows),
    }


def _digits(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _history(entry: HistoryEntry) -> dict[str, Any]:
    return {
        "no": entry.no,
        "date": entry.date,
        "reason": entry.reason,
        "moved": entry.moved,
        "changes": [change.as_json() for change in entry.changes],
    }


def _history_lines(history: Sequence[HistoryEntry]) -> Iterator[list[Any]]:
    for entry in history:
        for change in entry.changes:
            for field in sorted({*change.before, *change.now}):
                yield [
                    *(entry.no, entry.date, entry.reason, change.what, change.key, field),
                    *(_plain(side.get(field)) for side in (change.before, change.now)),
                ]


def _plain(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else value
