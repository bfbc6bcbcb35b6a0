"""What a larger token budget buys (the paper's section 5.3): accuracy, cost, and which items failed instead. Pure.

Only the first asking of a question counts. A response is capped where the budget ended it. Of the capped ones, those
that ran to the budget are told from those that were cut earlier (a context or a server's own limit), and degenerate
loops (`twlocal.loops`) from indecision.

From one stored run, a smaller budget can be read where the engine is deterministic: a response that ended within it
would be the same, and one that went on would have been cut at that token. Engines that tell where their tokens end
(`twlocal.token_sizes`) make this exact, as a test with a real engine proves. Of others only whole texts are stored: a
longer response then counts as unread for the lower bound and as it was for the upper one. A model that boxes its answer
at the end sits on the lower bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twlocal import token_sizes
from twlocal.backend import FINISH_LENGTH
from twlocal.compare import Difference, Key, difference
from twlocal.html.words import t
from twlocal.judge import PUBLISHED, judge
from twlocal.loops import is_loop
from twlocal.plural import counted
from twlocal.record import Record
from twlocal.stats import Interval, wilson
from twlocal.study import plots
from twlocal.study.compared import difference_json
from twlocal.study.report import INTERVAL, Report, Table, Words, join, p_value, percent, points, span

_BUDGET = t("上限", "budget")
_COSTS = {"tokens": " token", "seconds of answers": "作答秒數", "seconds in all": "總秒數"}
_AT_CAP = 0.99  # of the budget: engines count their last tokens differently


@dataclass(frozen=True, slots=True)
class Answer:
    """An item's answer under a budget. tokens: written, thought and answer; None where the engine does not tell."""

    right: bool
    read: bool
    capped: bool
    loop: bool
    tokens: int | None
    start: int  # a hash of the first characters, to see whether two budgets began alike


@dataclass(frozen=True)
class Budget:
    """A run under one budget. seconds: of work, over all sittings; latency: seconds of all answers, summed.

    read: nothing was generated for it, it was read from a run under a larger budget.
    """

    run: str
    model: str
    cap: int
    answers: Mapping[Key, Answer]
    seconds: float | None = None
    latency: float | None = None
    read: bool = False

    @property
    def n(self) -> int:
        return len(self.answers)

    def count(self, name: str) -> int:
        """How many answers have a property of `Answer` that is true or false."""
        return sum(getattr(one, name) for one in self.answers.values())

    @property
    def tokens(self) -> int | None:
        """Tokens written in all; None where some answer does not tell."""
        told = [one.tokens for one in self.answers.values()]
        return None if None in told else sum(one for one in told if one is not None)

    @property
    def ran_to_cap(self) -> int:
        """Of the capped answers, those that wrote as much as the budget allows."""
        return sum(
            one.capped and one.tokens is not None and one.tokens >= _AT_CAP * self.cap for one in self.answers.values()
        )

    @property
    def looping(self) -> int:
        """Of the capped answers, those that end in a degenerate loop."""
        return sum(one.capped and one.loop for one in self.answers.values())


_START = 40  # characters


def written(record: Record) -> int | None:
    """Tokens of a response with its thinking: servers differ in whether the reasoning is part of the completion."""
    if record.completion_tokens is None:
        return None
    thought = record.reasoning_tokens or 0
    return record.completion_tokens if thought <= record.completion_tokens else record.completion_tokens + thought


def answers(rows: Iterable[tuple[Key, Record]], reader: str = PUBLISHED) -> dict[Key, Answer]:
    """Judge a run's first askings."""
    return {key: _answer(record, reader) for key, record in rows if not record.repeat}


def _answer(record: Record, reader: str) -> Answer:
    judged = judge(record, reader)
    text = record.text or record.reasoning
    return Answer(
        right=judged.correct,
        read=judged.box.letter is not None,
        capped=judged.truncated,
        loop=judged.truncated and is_loop(text),
        tokens=written(record),
        start=hash(text[:_START]),
    )


def cut(
    rows: Iterable[tuple[Key, Record]], sizes: Mapping[tuple[int, int], bytes], cap: int, reader: str = PUBLISHED
) -> dict[Key, Answer]:
    """Judge a run's first askings as a budget of `cap` tokens would have left them, as far as that is known.

    sizes: where the tokens of longer responses end, packed, by number and repeat (`Runs.token_sizes`). A response that
    is longer and does not tell is left out.
    """
    found = {}
    for key, record in rows:
        if record.repeat:
            continue
        tokens, packed = written(record), sizes.get((record.no, record.repeat))
        if tokens is not None and tokens <= cap:
            found[key] = _answer(record, reader)
        elif packed is not None and not record.reasoning:
            text = token_sizes.first(record.text, token_sizes.unpack(packed), cap)
            shortened = record._replace(text=text, finish=FINISH_LENGTH, completion_tokens=cap, reasoning_tokens=None)
            found[key] = _answer(shortened, reader)
    return found


@dataclass(frozen=True)
class Shorter:
    """What one run says of a smaller budget: exact where every longer response can be cut, else bounds.

    within: responses that ended by themselves within it. over: those that would have been cut; of these, `unread` were
    never read anyway. unknown: those that do not tell their tokens (they count as over). low, high: right answers.
    answers: what the budget would have left, where that is known of all of them.
    """

    cap: int
    n: int
    within: int
    over: int
    unread: int
    unknown: int
    low: int
    high: int
    answers: Mapping[Key, Answer] | None = None


def shorter(run: Budget, cap: int, known: Mapping[Key, Answer] | None = None) -> Shorter:
    """Read a smaller budget from a run's responses. known: what `cut` says of that budget.

    Raises ValueError where `cap` is not smaller than the run's.
    """
    if not 0 < cap < run.cap:
        raise ValueError(f"the budget must be below the run's own {run.cap:,}, not {cap:,}")
    known = known or {}
    low = high = within = over = unread = unknown = 0
    for key, one in run.answers.items():
        inside = one.tokens is not None and one.tokens <= cap
        left = one if inside else known.get(key)
        low += left is not None and left.right
        high += one.right if left is None else left.right
        within += inside
        over += not inside
        unread += not inside and not one.read
        unknown += one.tokens is None
    whole = known if known.keys() == run.answers.keys() else None
    return Shorter(cap, run.n, within, over, unread, unknown, low, high, whole)


def as_budget(run: Budget, short: Shorter) -> Budget | None:
    """A smaller budget that was read in full, beside those that were asked; None where it is not known in full."""
    if short.answers is None:
        return None
    return Budget(run.run, run.model, short.cap, short.answers, read=True)


@dataclass(frozen=True)
class Paired:
    """Two budgets over the items that both answered. read: the difference in what could be read.

    alike: of these items, how many responses begin with the same characters; all of them where the engine is
    deterministic.
    """

    small: Budget
    large: Budget
    right: Difference
    read: Difference
    alike: int


def pair(small: Budget, large: Budget, seed: int = 0) -> Paired:
    """Pair two budgets. Raises ValueError where they have no item in common or the same budget."""
    if small.cap >= large.cap:
        raise ValueError(f"{small.run} and {large.run} have budgets of {small.cap:,} and {large.cap:,} tokens")
    keys = sorted(small.answers.keys() & large.answers.keys())
    if not keys:
        raise ValueError(f"{small.run} and {large.run} have no answered item in common")
    one, other = ([run.answers[key] for key in keys] for run in (small, large))
    return Paired(
        small,
        large,
        right=difference([float(row.right) for row in one], [float(row.right) for row in other], seed),
        read=difference([float(row.read) for row in one], [float(row.read) for row in other], seed),
        alike=sum(a.start == b.start for a, b in zip(one, other, strict=True)),
    )


def report(
    runs: Sequence[Budget],
    pairs: Sequence[Paired] = (),
    shorts: Sequence[Shorter] = (),
    *,
    held: Words,
    commands: Sequence[str] = (),
    warnings: Sequence[Words] = (),
) -> Report:
    """The study as a report."""
    caps = [f"{cap:,}" for cap in sorted({run.cap for run in runs} | {one.cap for one in shorts})]
    parts: list[Words | Table] = [_scores(runs), _capped(runs), *(part for one in pairs for part in _pair(one))]
    parts += [part for one in shorts for part in _short(one)]
    return Report(
        study="budget",
        title=t("提高長度上限換到什麼", "What a larger budget of tokens buys"),
        varied=t(
            f"每題作答的長度上限（{'、'.join(caps)} token）",
            f"the most tokens that an answer may have ({', '.join(caps)})",
        ),
        held=held,
        n=join(
            [t(f"{one.run}：{one.n:,} 題", f"{one.run}: {counted(one.n, 'item')}") for one in runs if not one.read],
            "；",
            "; ",
        ),
        parts=parts,
        warnings=warnings,
        commands=commands,
        plots=[
            plots.shares(
                [(_cap(one), one.count("right"), one.n) for one in runs],
                t("各長度上限的正確率", "Accuracy by budget of tokens"),
                reference=plots.GUESSING,
            ),
            plots.shares(
                [(_cap(one), one.count("capped"), one.n) for one in runs],
                t("被長度上限截斷的作答", "Responses that the budget ended"),
                t("比例", "share"),
            ),
        ],
        data={
            "runs": [_run_json(one) for one in runs],
            "pairs": [_pair_json(one) for one in pairs],
            "read_from_the_larger_run": [_short_json(one) for one in shorts],
        },
    )


def _cap(one: Budget) -> Words:
    return t(f"{one.cap:,}（讀出）", f"{one.cap:,} (read)") if one.read else f"{one.cap:,}"


def _scores(runs: Sequence[Budget]) -> Table:
    rows: list[list[Words]] = []
    for one in runs:
        low_high = wilson(one.count("right"), one.n)
        tokens = one.tokens
        rows.append(
            [
                _cap(one),
                f"{one.n:,}",
                percent(one.count("right") / one.n),
                span(low_high.low, low_high.high),
                percent(1 - one.count("read") / one.n),
                "-" if tokens is None else f"{tokens:,}",
                "-" if one.latency is None else f"{one.latency:,.1f}",
                "-" if one.seconds is None else f"{one.seconds:,.1f}",
            ]
        )
    header: list[Words] = [
        _BUDGET,
        "n",
        t("答對", "right"),
        INTERVAL,
        t("讀不出", "unread"),
        t("token", "tokens"),
        t("作答秒數", "s of answers"),
        t("總秒數", "s in all"),
    ]
    return Table(t("成績與成本：", "Scores and cost:"), header, rows, "rrrrrrrr")


def _capped(runs: Sequence[Budget]) -> Table:
    rows: list[list[Words]] = []
    for one in runs:
        capped = one.count("capped")
        ran, looping = one.ran_to_cap, one.looping
        kinds = (ran, looping, capped - looping)
        shares = [f"{count:,} ({percent(count / capped)})" if capped else "0" for count in kinds]
        rows.append([_cap(one), f"{capped:,}", *shares])
    header: list[Words] = [
        _BUDGET,
        t("截斷", "cut"),
        t("其中寫滿上限", "of these to the budget"),
        t("陷入重複", "degenerate loops"),
        t("猶豫不決", "undecided"),
    ]
    return Table(t("被長度上限截斷的作答：", "Answers that the budget ended:"), header, rows, "rrrrr")


def _pair(one: Paired) -> list[Words | Table]:
    small, large = one.small, one.large
    rows: list[list[Words]] = []
    for name, found in ((t("答對", "right"), one.right), (t("可讀", "read"), one.read)):
        rows.append(
            [
                name,
                percent(found.first),
                percent(found.second),
                points(found.difference, 2),
                span(found.interval.low, found.interval.high, signed=True),
                p_value(found.p),
                f"{found.churn.gained:,}",
                f"{found.churn.lost:,}",
            ]
        )
    header: list[Words] = [
        "",
        f"{small.cap:,}",
        f"{large.cap:,}",
        t("差距", "difference"),
        INTERVAL,
        "p",
        t("救回", "rescued"),
        t("新失去", "newly lost"),
    ]
    n = f"{one.right.n:,}"
    caption = t("{n} 題，兩種上限都作答過（{model}）：", "{n} items under both budgets ({model}):")
    told: list[Words | Table] = [Table(caption.format(n=n, model=large.model), header, rows, "lrrrrrrr")]
    cost = [
        t(f"{ratio:.2f} 倍的{_COSTS[name]}", f"{ratio:.2f} times the {name}")
        for name, ratio in _ratios(one).items()
        if ratio is not None
    ]
    if cost:
        told.append(t("較大的上限要花 {cost}。", "The larger budget costs {cost}.").format(cost=join(cost)))
    if small.read:  # the same texts: there is nothing to see
        return told
    if one.alike == one.right.n:
        begin = t(
            "{n} 則作答中，{alike} 則在兩種上限下開頭相同：引擎兩次給出同樣的作答。",
            "{alike} of {n} responses begin alike under both budgets: as of an engine that gives the same answer "
            "twice.",
        )
    else:
        begin = t(
            "{n} 則作答中，{alike} 則在兩種上限下開頭相同：引擎兩次的作答並不一樣，所以變動有一部分來自引擎本身。",
            "{alike} of {n} responses begin alike under both budgets: the engine does not give the same answer twice, "
            "so part of the churn is its own.",
        )
    told.append(begin.format(n=n, alike=f"{one.alike:,}"))
    return told


def _ratios(one: Paired) -> dict[str, float | None]:
    return {
        name: large / small if small and large else None
        for name, small, large in (
            ("tokens", one.small.tokens, one.large.tokens),
            ("seconds of answers", one.small.latency, one.large.latency),
            ("seconds in all", one.small.seconds, one.large.seconds),
        )
    }


def _short(one: Shorter) -> list[Words | Table]:
    low, high = _bounds(one)
    exact = _exact(one)
    if exact:
        score = t("答對 {low} 題（{share}，95% 區間 {span}）", "right: {low} ({share}, 95% interval {span})")
    else:
        score = t(
            "答對 {low} 至 {high} 題（{share} 至 {most}，95% 區間 {span}）",
            "right: between {low} and {high} ({share} to {most}, 95% interval {span})",
        )
    told: list[Words | Table] = [
        t(
            "上限 {cap} token，從這次測驗讀出：{n} 則作答中有 {within} 則在此之內結束，不會改變；{over} 則會被截斷"
            "（其中 {unread} 則本來就讀不出）；{score}。這以引擎每次給出同樣的作答為前提。",
            "At {cap} tokens, read from this run: {within} of {n} responses ended within it and are the same; {over} "
            "would have been cut ({unread} of them were unread in any case); {score}. It holds where the engine is "
            "deterministic.",
        ).format(
            cap=f"{one.cap:,}",
            n=f"{one.n:,}",
            within=f"{one.within:,}",
            over=f"{one.over:,}",
            unread=f"{one.unread:,}",
            score=score.format(
                low=f"{one.low:,}",
                high=f"{one.high:,}",
                share=percent(one.low / one.n),
                most=percent(one.high / one.n),
                span=span(low.low, high.high),
            ),
        )
    ]
    if not exact:
        told.append(
            t(
                "被截斷的作答那時寫到哪裡，無從得知：存下來的是整段文字，沒有每個 token 的位置。",
                "What the cut responses themselves would have said is not available: a text is stored whole, without "
                "the places of its tokens.",
            )
        )
    if one.unknown:
        told.append(
            t(
                f"{one.unknown:,} 則作答沒有說有多少 token，當作被截斷。",
                f"Without a number of tokens, and counted as cut: {counted(one.unknown, 'response')}.",
            )
        )
    return told


def _exact(one: Shorter) -> bool:
    return one.answers is not None or one.low == one.high


def _bounds(one: Shorter) -> tuple[Interval, Interval]:
    return wilson(one.low, one.n), wilson(one.high, one.n)


def _run_json(one: Budget) -> dict[str, Any]:
    low_high = wilson(one.count("right"), one.n)
    return {
        "run": one.run,
        "model": one.model,
        "cap": one.cap,
        "n": one.n,
        "right": one.count("right"),
        "accuracy": one.count("right") / one.n,
        "interval": [low_high.low, low_high.high],
        "unread": one.n - one.count("read"),
        "capped": one.count("capped"),
        "ran_to_cap": one.ran_to_cap,
        "loops_at_cap": one.looping,
        "tokens": one.tokens,
        "read_from_larger": one.read,
        "seconds": one.seconds,
        "latency": one.latency,
    }


def _pair_json(one: Paired) -> dict[str, Any]:
    return {
        "small": one.small.cap,
        "large": one.large.cap,
        "n": one.right.n,
        "right": difference_json(one.right),
        "read": difference_json(one.read),
        "begin_alike": one.alike,
        "cost": _ratios(one),
    }


def _short_json(one: Shorter) -> dict[str, Any]:
    low, high = _bounds(one)
    return {
        "cap": one.cap,
        "n": one.n,
        "within": one.within,
        "over": one.over,
        "over_unread": one.unread,
        "tokens_unknown": one.unknown,
        "right": [one.low, one.high],
        "interval": [low.low, high.high],
        "exact": _exact(one),
    }
