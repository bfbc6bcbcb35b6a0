"""The report of a run as one HTML file: it needs no network, opens from disk, and holds every answered item."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

from markupsafe import Markup

from twlocal import alarms
from twlocal.bundle.scrub import bench_name, model_name, scrubbed
from twlocal.html import Text, charts, environment, numbers, stream, t
from twlocal.html.page import asset
from twlocal.item import LABELS, Item
from twlocal.judge import PUBLISHED
from twlocal.plural import Count
from twlocal.report.build import build
from twlocal.report.item_blocks import Gathered, blocks, pack
from twlocal.report.item_view import protocol_of
from twlocal.report.lengths import bins
from twlocal.report.sentences import Sentences
from twlocal.report.view import RunView
from twlocal.report.words import CHINESE, ENGLISH, alarm, alarm_name
from twlocal.runs import RunRow, Runs
from twlocal.stats import CHANCE
from twlocal.whole import is_stream, whole

_CHARTED = 100  # subjects, at the most: beyond it nobody reads a chart, and drawing it takes seconds
_NOTHING = Item("", ("", "", "", ""), "A")  # a question to get at what stands before each
_ENDS = {"ended": t("自行結束", "ended by itself"), "truncated": t("被截斷", "cut by the budget")}
_OUTCOMES = {"right": t("答對", "right"), "wrong": t("答錯", "wrong"), "unread": t("讀不出", "unreadable")}


def write(
    runs: Runs,
    run: RunRow,
    target: Path,
    *,
    reader: str | None = None,
    private: bool = False,
    withdrawn: AbstractSet[str] = frozenset(),
    lang: str = "zh-TW",
) -> int:
    """Write the report of a run to `target`, whole or not at all; returns how many items are in it.

    private: leave questions and responses out. withdrawn: content hashes of rows to leave out. lang: the language it
    opens in. Raises UsageError where the place cannot be written to or the extra `html` is missing.
    """
    charts.library()
    place = None if is_stream(target) else target.parent  # a device's folder is no place to put anything
    with whole(target) as part, _aside(place) as index, _aside(place) as texts:
        protocol, gathered = protocol_of(run), Gathered()
        with runs.at_once():  # a score and its items, of a run that may be going on
            view = _shareable(build(runs, run, reader=reader, withdrawn=withdrawn))
            found = blocks(runs, run, protocol, view.score, gathered, private=private, without=withdrawn)
            for kind, block in found:
                (index if kind == "i" else texts).write(block)
            sittings = runs.sittings(run.id)
        page = stream(
            environment("twlocal.report", lang=lang),
            "report.html.j2",
            scripts=[asset(name, "twlocal.report") for name in ("blocks.js", "item.js", "report.js")],
            styles=[asset("report.css", "twlocal.report")],
            **_values(
                view, gathered, scrubbed(sittings[-1].engine_info) if sittings else {}, private=private, lang=lang
            ),
            opening=[] if private else [asdict(one) for one in protocol.messages(_NOTHING, LABELS)[:-1]],
            index=_again(index),
            texts=_again(texts),
            sentences=pack("sentences", [list(said) for said in gathered.sentences]),
        )
        with part.open("w", encoding="utf-8", newline="") as file:
            file.writelines(page)
    return gathered.rows


def _shareable(view: RunView) -> RunView:
    """Without folders and addresses of this machine: a page is sent around."""
    return replace(
        view,
        model=model_name(view.model),
        bench=bench_name(view.bench),
        protocol=bench_name(view.protocol),
        engine=scrubbed(view.engine),
        engine_version=scrubbed(view.engine_version),
    )


def _aside(folder: Path | None) -> IO[str]:
    # Charts and counts come first in the page, and are known last.
    return tempfile.TemporaryFile("w+", encoding="utf-8", dir=folder)


def _again(written: IO[str]) -> Iterator[Markup]:
    written.seek(0)
    for line in written:
        yield Markup(line)


def _both(key: str, **values: object) -> Text:
    return Text(CHINESE[key], ENGLISH[key]).format(
        **{name: Count(value) if type(value) is int else value for name, value in values.items()}
    )


def _values(
    view: RunView, gathered: Gathered, engine: Mapping[str, Any], *, private: bool, lang: str
) -> dict[str, Any]:
    """What the template shows."""
    score, tally = view.score, view.score.overall
    own = score.reader == PUBLISHED
    reading = t("嚴格讀法", "strict") if own else t(f"{score.reader} 讀法", score.reader)
    return {
        "title": t(f"{view.model}：{view.bench}", f"{view.model}: {view.bench}"),
        "view": view,
        "score": score,
        "tally": tally,
        "reading": reading,
        "notices": _notices(view),
        "alarms": [(_alarm_name(one), _alarm(one, private=private)) for one in score.alarms],
        "facts": _facts(view, engine),
        "subjects": [
            (number, name or Text(CHINESE["no_subject"], ENGLISH["no_subject"]), tally)
            for number, (name, tally) in enumerate(score.subjects)
        ],
        "figures": list(_figures(view, gathered, lang)) if tally.n else [],
        "subject_names": [name for name, _ in score.subjects],
        "no_score": _both("no_score", planned=tally.planned),
        "private": private,
        "count": gathered.rows,
        "blocks": gathered.blocks,
    }


def _notices(view: RunView) -> list[Text]:
    """What stands between the score and taking it for what it is not, as sentences."""
    zh, en = (Sentences(view, lang) for lang in ("zh-TW", "en"))
    score, tally = view.score, view.score.overall
    found = []
    if not score.complete:
        rest = t(zh.unanswered(), en.unanswered())
        found.append(_both("incomplete", n=tally.n, planned=tally.planned, rest=rest))
    if view.publication_bars:
        reasons = t(*(one.words["reasons"].join(map(one.bar, view.publication_bars)) for one in (zh, en)))
        found.append(_both("not_publishable", why=reasons))
    if view.quantised:
        found.append(_both("quantised"))
    if tally.against_chance == "at":
        found.append(_both("at_chance", parsed=tally.parsed, correct=tally.correct))
    return found


def _alarm_name(found: alarms.Alarm) -> Text:
    return t(alarm_name(found.kind, "zh-TW"), alarm_name(found.kind, "en"))


def _alarm(found: alarms.Alarm, *, private: bool) -> Text:
    if private and "example" in found.evidence:
        evidence = {**found.evidence, "example": "…"}  # a piece of a response
        found = alarms.Alarm(found.kind, alarms.MESSAGES[found.kind].format_map(evidence), evidence)
    return t(alarm(found, "zh-TW"), alarm(found, "en"))


def _facts(view: RunView, engine: Mapping[str, Any]) -> list[tuple[Text, Text]]:
    """The apparatus: what was run under what, by which engine, at which precision, within which limits."""
    zh, en = (Sentences(view, lang) for lang in ("zh-TW", "en"))
    facts = [
        (_both(key), t(chinese, english)) for (key, chinese), (_, english) in zip(zh.facts(), en.facts(), strict=True)
    ]
    model, settings = engine.get("model", {}), engine.get("settings", {})
    precision = model.get("quantisation") or model.get("dtype") or model.get("precision")
    known = {False: t("未量化", "not quantised"), True: t("量化", "quantised"), None: t("不明", "unknown")}
    more: list[tuple[Text, Text]] = [
        (t("精度", "precision"), t(str(precision), str(precision)) if precision else known[view.quantised]),
        (t("讀法", "reader"), t(view.score.reader, view.score.reader)),
        (
            t("上限", "caps"),
            t("每題 {tokens} token，溫度 {heat}", "tokens an answer: {tokens}, temperature {heat}").format(
                tokens=numbers.count(view.max_tokens), heat="–" if view.temperature is None else f"{view.temperature:g}"
            ),
        ),
    ]
    context = settings.get("context") or settings.get("max_model_len") or settings.get("n_ctx")
    if context:
        more.append((t("上下文", "context"), t(f"{context:,} token", f"{context:,} tokens")))
    more.append((t("協定雜湊值", "protocol hash"), t(view.protocol_sha256, view.protocol_sha256)))
    return facts + more


def _figures(view: RunView, gathered: Gathered, lang: str) -> Iterator[Markup]:
    """The charts: subjects with their intervals, and how long the responses are."""
    yield _subjects(view, lang)
    told = gathered.tokens
    lengths = told or gathered.characters
    unit = (
        t("作答長度（token）", "length of the response (tokens)")
        if told
        else t("作答長度（字）", "length (characters)")
    )
    for name, kinds, place, caption in (
        ("ends", _ENDS, 1, t("作答長度與截斷", "Length of the responses, and what was cut")),
        ("outcomes", _OUTCOMES, 2, t("作答長度與對錯", "Length of the responses, and how they came out")),
    ):
        counts: Counter[tuple[int, str]] = Counter()
        for key, count in lengths.items():
            counts[key[0], str(key[place])] += count
        spec = charts.histogram(bins(counts, list(kinds)), unit, list(kinds.values()), counted=t("則", "responses"))
        total: Counter[str] = Counter()
        for (_, kind), count in counts.items():
            total[kind] += count
        said = [kinds[kind].format() for kind in kinds]
        description = t(
            "、".join(f"{one.zh} {total[kind]:,} 則" for one, kind in zip(said, kinds, strict=True)),
            ", ".join(f"{total[kind]:,} {one.en}" for one, kind in zip(said, kinds, strict=True)),
        )
        yield charts.figure(charts.svg(spec, name=name, title=caption, description=description, lang=lang), caption)


def _subjects(view: RunView, lang: str) -> Markup:
    rows = [
        (
            tally.n,
            charts.Estimate(
                name or CHINESE["no_subject"],
                tally.accuracy,
                tally.interval.low,
                tally.interval.high,
                tally.lenient_accuracy,
            ),
        )
        for name, tally in view.score.subjects
        if tally.accuracy is not None
    ]
    largest = sorted(rows, key=lambda row: row[0], reverse=True)[:_CHARTED]
    estimates = sorted((one for _, one in largest), key=lambda one: -one.value)
    few = len(rows) > len(estimates)
    which = t("題數最多的 {n} 科", "the {n} largest subjects") if few else t("各科", "all subjects")
    caption = t(
        "{which}的正確率：實心點是嚴格讀法，橫線是 95% 信賴區間，空心圈是寬鬆讀法，虛線是猜答的 25%",
        "Accuracy, {which}: dot strict, bar its 95% interval, ring lenient, dashed line guessing (25%)",
    ).format(which=which.format(n=_CHARTED))
    spec = charts.intervals(estimates, t("正確率", "accuracy"), reference=CHANCE)
    drawn = charts.svg(
        spec, name="subjects", title=t("各科正確率", "Accuracy by subject"), description=_said(estimates), lang=lang
    )
    return charts.figure(drawn, caption)


def _said(rows: Sequence[charts.Estimate]) -> Text:
    best, worst = rows[0], rows[-1]
    return t(
        "共 {count} 科，最高 {best} {high}，最低 {worst} {low}；數字都在表裡。",
        "{count} subjects, from {worst} at {low} to {best} at {high}; the table has the numbers.",
    ).format(
        count=len(rows),
        best=best.label,
        worst=worst.label,
        high=numbers.percent(best.value),
        low=numbers.percent(worst.value),
    )
