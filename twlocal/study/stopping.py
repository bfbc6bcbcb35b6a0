r"""What `--stop-at-box` saves, and what it changes: read from responses that were not stopped. Pure.

Each whole response is cut where generation would have stopped (`twlocal.box_stop`) and read again by every reader. On
an engine that repeats itself exactly this is what a stopped run gives, as a test with a real engine proves. Nobody
counts the tokens after the box, so they are estimated from the share of UTF-8 bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twlocal import box_stop, readers
from twlocal.backend import FINISH_LENGTH, FINISH_STOP
from twlocal.compare import Key
from twlocal.html.words import Text, t
from twlocal.judge import PUBLISHED, right
from twlocal.plural import counted
from twlocal.record import Record
from twlocal.stats import wilson
from twlocal.study import plots
from twlocal.study.budget import written
from twlocal.study.report import INTERVAL, Report, Table, Words, join, percent, span

_TAG = "<think>"


@dataclass(frozen=True)
class Stopped:
    """One run's first askings, all of them and those that would have ended at a box (`stopped`).

    capped, capped_stopped: ended by the budget, and of these, would have ended at a box before it. opened: the prompts
    left a thought open. changed: by reader, readings that differ; gained and lost: answers that become right and wrong
    by it. tokens: written in all, None where not told; saved: of them, not written.
    """

    run: str
    n: int
    stopped: int
    capped: int
    capped_stopped: int
    opened: bool
    changed: Mapping[str, int]
    gained: Mapping[str, int]
    lost: Mapping[str, int]
    tokens: int | None
    saved: float | None


Rows = Callable[[], Iterable[tuple[Key, Record]]]


def opens_thought(rows: Iterable[tuple[Key, Record]]) -> bool:
    """Whether the run's prompts left a thought open: some text closes one that it did not open."""
    return any(_closes_first(record.text) for _, record in rows)


def _closes_first(text: str) -> bool:
    close = text.find("</think>")
    return close >= 0 and _TAG not in text[:close]


def stopped(run: str, rows: Rows, names: Sequence[str]) -> Stopped:
    """Cut a run's responses at their box and read both. rows: gives the run's records anew at each call."""
    opened = _TAG if opens_thought(rows()) else ""
    count: Counter[str] = Counter()
    changed, gained, lost = Counter[str](), Counter[str](), Counter[str]()
    saved, tokens = 0.0, 0
    told = True
    for _, record in rows():
        if record.repeat:
            continue
        count["n"] += 1
        capped = record.finish == FINISH_LENGTH
        count["capped"] += capped
        many = written(record)
        told = told and many is not None
        tokens += many or 0
        at = box_stop.stop(record.text, opened)
        if at is None:
            continue
        count["stopped"] += 1
        count["capped_stopped"] += capped
        size = len(record.text.encode("utf-8")) + len(record.reasoning.encode("utf-8"))
        saved += (many or 0) * len(record.text[at:].encode("utf-8")) / size
        for name in names:
            before = readers.read(name, record.text, record.reasoning, record.finish).letter
            after = readers.read(name, record.text[:at], record.reasoning, FINISH_STOP).letter
            changed[name] += before != after
            gained[name] += right(after, record) and not right(before, record)
            lost[name] += right(before, record) and not right(after, record)
    return Stopped(
        run=run,
        n=count["n"],
        stopped=count["stopped"],
        capped=count["capped"],
        capped_stopped=count["capped_stopped"],
        opened=bool(opened),
        changed={name: changed[name] for name in names},
        gained={name: gained[name] for name in names},
        lost={name: lost[name] for name in names},
        tokens=tokens if told else None,
        saved=saved if told else None,
    )


def report(
    runs: Sequence[Stopped],
    *,
    absent: Mapping[str, Words],
    commands: Sequence[str] = (),
    warnings: Sequence[Words] = (),
) -> Report:
    """The study as a report. absent: readers that are not installed, with the reason."""
    parts: list[Words | Table] = [_saved(runs), *(_changed(one) for one in runs)]
    not_read = t("沒有用 {name} 讀：{why}。", "Not read with {name}: {why}.")
    parts += [not_read.format(name=name, why=why) for name, why in absent.items()]
    if any(one.changed[PUBLISHED] for one in runs):
        parts.append(
            t(
                "作答在框之後又開始另一段思考或另一個頻道，嚴格讀法才會改變。",
                "The strict reading changes where a response opens another thought or channel after its box.",
            )
        )
    return Report(
        study="stop-at-box",
        title=t("寫完框就停，省下什麼、改變什麼", "What ending an answer at its box saves, and what it changes"),
        varied=t(
            "作答在哪裡結束：模型自己結束的地方，或思考以外第一個讀得出的框",
            "where an answer ends: as the model ended it, or at its first readable box outside of a thought",
        ),
        held=t("作答本身：沒有重新生成", "the responses themselves: nothing was generated"),
        n=join(
            [t(f"{one.run}：{one.n:,} 則作答", f"{one.run}: {counted(one.n, 'response')}") for one in runs], "；", "; "
        ),
        parts=parts,
        warnings=warnings,
        commands=commands,
        plots=[
            plots.shares(
                [(name, changed, one.n) for name, changed in one.changed.items()],
                t(f"{one.run}：讀法會改變的作答", f"{one.run}: responses whose reading changes"),
                t("比例", "share"),
            )
            for one in runs
        ],
        data={"runs": [_data(one) for one in runs]},
    )


def _saved(runs: Sequence[Stopped]) -> Table:
    untold = t("引擎未回報", "not told")
    rows: list[list[Words]] = [
        [
            one.run,
            f"{one.n:,}",
            f"{one.stopped:,}",
            t(f"{one.capped_stopped:,}／{one.capped:,}", f"{one.capped_stopped:,} of {one.capped:,}"),
            untold if one.tokens is None else f"{one.tokens:,}",
            untold if one.saved is None else f"{one.saved:,.0f}",
            percent(one.saved / one.tokens if one.saved is not None and one.tokens else None),
        ]
        for one in runs
    ]
    header: list[Words] = [
        t("測驗", "run"),
        "n",
        t("會停", "would stop"),
        t("截斷的之中", "of the capped"),
        t("token", "tokens"),
        t("省下（估計）", "saved (est.)"),
        t("比例", "share"),
    ]
    caption = t(
        "會在框後結束的作答，以及不必再等的 token：",
        "Answers that would end at their box, and tokens that nobody would wait for:",
    )
    return Table(caption, header, rows, "lrrrrrr")


def _changed(one: Stopped) -> Table:
    rows: list[list[Words]] = []
    for name, changed in one.changed.items():
        found = wilson(changed, one.n)
        share = percent(changed / one.n if one.n else None, 2)
        low_high: Text = span(found.low, found.high, 2)
        rows.append([name, f"{changed:,}", share, low_high, f"{one.gained[name]:,}", f"{one.lost[name]:,}"])
    header: list[Words] = [
        t("讀法", "reader"),
        t("改變", "changed"),
        t("占全部", "of all"),
        INTERVAL,
        t("變對", "become right"),
        t("變錯", "become wrong"),
    ]
    caption = t(f"{one.run}：會改變的讀法結果：", f"{one.run}: readings that change:")
    return Table(caption, header, rows, "lrrrrr")


def _data(one: Stopped) -> dict[str, Any]:
    return {
        "run": one.run,
        "n": one.n,
        "would_stop": one.stopped,
        "capped": one.capped,
        "capped_would_stop": one.capped_stopped,
        "prompt_opens_thought": one.opened,
        "tokens": one.tokens,
        "tokens_saved_estimate": one.saved,
        "readers": {
            name: {"changed": one.changed[name], "become_right": one.gained[name], "become_wrong": one.lost[name]}
            for name in one.changed
        },
    }
