"""The same items on several engines: are the prompts the same, and do the answers mean the same? Pure.

Every engine has its own arithmetic, so texts may part where two tokens are nearly as likely; the prompt must not, and
the score must not by more than chance. That is what is tested here, item by item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from twlocal.compare import LEVEL, Difference, Key, difference
from twlocal.errors import UsageError
from twlocal.html.words import t
from twlocal.item import LABELS, source_letter
from twlocal.judge import judge
from twlocal.paired import RESAMPLES
from twlocal.plural import counted
from twlocal.record import Record
from twlocal.study import plots
from twlocal.study.compared import difference_json
from twlocal.study.report import Report, Table, Words, p_value, percent, points, span

_FEW = 30  # items below which the paired test finds hardly anything
_MOST = 20  # disagreements in the text; the JSON has all of them


@dataclass(frozen=True, slots=True)
class Answer:
    """An item's first answer. prompt: the rendered prompt's hash, None where a server rendered it. letter: of the
    source, as the run's own reader reads it; "" for none.
    """

    text: str
    prompt: str | None
    letter: str
    strict: bool
    lenient: bool


@dataclass(frozen=True)
class Engine:
    """One engine's run. label: how the report calls it. planned: items it should have answered."""

    label: str
    run: str
    version: str
    answers: Mapping[Key, Answer]
    planned: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item that two engines answer differently: its content hash, subject, and both letters."""

    content_hash: str
    subject: str
    first: str
    second: str


@dataclass(frozen=True)
class Pair:
    """Two engines over the same n items. prompts: items with equal prompt hashes, of the `told` where both tell one."""

    first: str
    second: str
    n: int
    prompts: int
    told: int
    texts: int
    letters: int
    strict: Difference
    lenient: Difference
    apart: tuple[Disagreement, ...]

    @property
    def same_prompts(self) -> bool:
        """Whether every prompt that both engines tell of is the same."""
        return self.prompts == self.told

    @property
    def same_score(self) -> bool:
        """Whether the paired test cannot tell the two scores apart, under either reader."""
        return self.strict.p > LEVEL and self.lenient.p > LEVEL


def answers(keyed: Iterable[tuple[Key, Record]], reader: str) -> dict[Key, Answer]:
    """The first answer to every item of a run."""
    found = {}
    for key, record in keyed:
        if record.repeat == 0:
            judged = judge(record, reader)
            letter = judged.box.letter or ""
            found[key] = Answer(
                record.text,
                record.prompt_hash,
                source_letter(letter, record.order) if letter and letter in LABELS else letter,
                judged.correct,
                judged.correct_lenient,
            )
    return found


def pairs(engines: Sequence[Engine], *, seed: int = 0, resamples: int = RESAMPLES) -> list[Pair]:
    """Every two engines compared. Raises UsageError where they did not answer the same items."""
    for one in engines:
        if len(one.answers) < one.planned:
            raise UsageError(
                f"{one.run} ({one.label}) is incomplete: "
                f"{len(one.answers):,} of {counted(one.planned, 'item')} answered",
                hint=f"twlocal resume {one.run}, and the same command again",
            )
        if one.answers.keys() != engines[0].answers.keys():
            raise UsageError(
                f"{engines[0].run} ({engines[0].label}) and {one.run} ({one.label}) were not asked the same items",
                hint="let parity ask them: twlocal parity MODEL --backends …",
            )
    return [_pair(one, other, seed, resamples) for one, other in combinations(engines, 2)]


def _pair(first: Engine, second: Engine, seed: int, resamples: int) -> Pair:
    keys = sorted(first.answers)
    both = [(first.answers[key], second.answers[key]) for key in keys]
    told = [(one.prompt, other.prompt) for one, other in both if one.prompt and other.prompt]

    def differ(reader: str) -> Difference:
        before, after = ([float(getattr(row[at], reader)) for row in both] for at in (0, 1))
        return difference(before, after, seed, resamples)

    return Pair(
        first=first.label,
        second=second.label,
        n=len(keys),
        prompts=sum(one == other for one, other in told),
        told=len(told),
        texts=sum(one.text == other.text for one, other in both),
        letters=sum(one.letter == other.letter for one, other in both),
        strict=differ("strict"),
        lenient=differ("lenient"),
        apart=tuple(
            Disagreement(key[0], key[1], one.letter, other.letter)
            for key, (one, other) in zip(keys, both, strict=True)
            if one.letter != other.letter
        ),
    )


def holds(found: Sequence[Pair]) -> bool:
    """Whether every two engines were given the same prompts and came to scores that chance explains."""
    return all(one.same_prompts and one.same_score for one in found)


def report(engines: Sequence[Engine], found: Sequence[Pair], *, held: Words, commands: Sequence[str] = ()) -> Report:
    """What a parity check says."""
    n = found[0].n if found else 0
    return Report(
        study="parity",
        title=t(
            f"同樣的題目在 {'、'.join(one.label for one in engines)}",
            f"The same items on {', '.join(one.label for one in engines)}",
        ),
        varied=t("引擎", "the engine"),
        held=held,
        n=t(f"{len(engines)} 個引擎各 {n:,} 題", f"{counted(n, 'item')} on each of {len(engines)} engines"),
        parts=[*_scores(engines), *_agreement(found), *_apart(found), _verdict(found)],
        warnings=list(_warnings(found)),
        commands=commands,
        plots=[
            plots.shares(
                [
                    (one.label, sum(answer.strict for answer in one.answers.values()), len(one.answers))
                    for one in engines
                ],
                t("同樣的題目，各引擎的正確率", "Accuracy of the same items by engine"),
                reference=plots.GUESSING,
            )
        ],
        data={
            "items": n,
            "holds": holds(found),
            "engines": [{"label": one.label, "run": one.run, "version": one.version} for one in engines],
            "pairs": [_data(one) for one in found],
        },
    )


def _scores(engines: Sequence[Engine]) -> list[Table]:
    rows = []
    for one in engines:
        n = len(one.answers)
        strict, lenient = (
            sum(getattr(answer, name) for answer in one.answers.values()) / n for name in ("strict", "lenient")
        )
        rows.append([one.label, f"{n:,}", percent(strict), percent(lenient)])
    return [
        Table("", [t("引擎", "engine"), "n", t("嚴格", "strict"), t("寬鬆", "lenient")], rows, "lrrr"),
        Table(
            "",
            [t("引擎", "engine"), t("版本", "version"), t("測驗", "run")],
            [[one.label, one.version, one.run] for one in engines],
            "lll",
        ),
    ]


def _agreement(found: Sequence[Pair]) -> list[Table]:
    told = t("未提供", "not told")
    same: list[list[Words]] = [
        [
            f"{one.first} / {one.second}",
            f"{one.prompts:,} / {one.told:,}" if one.told else told,
            f"{one.texts:,}",
            f"{one.letters:,}",
        ]
        for one in found
    ]
    differ: list[list[Words]] = [
        [
            f"{one.first} / {one.second}",
            points(one.strict.difference),
            span(one.strict.interval.low, one.strict.interval.high, signed=True),
            p_value(one.strict.p),
            p_value(one.lenient.p),
        ]
        for one in found
    ]
    pair = t("兩個引擎", "engines")
    return [
        Table(
            t(
                "相同的提示詞（在兩邊都說得出的題目中）、回答全文與選項：",
                "Equal prompts (of those told by both), texts and letters:",
            ),
            [pair, t("提示詞", "prompts"), t("全文", "texts"), t("選項", "letters")],
            same,
            "lrrr",
        ),
        Table(
            t(
                "分數差距，第二個減第一個（配對拔靴法；p 為 McNemar 精確檢定）：",
                "Difference in score, second minus first (paired bootstrap; p of McNemar's exact test):",
            ),
            [pair, t("百分點", "points"), t("95% 區間", "95% interval"), "p", t("寬鬆 p", "p lenient")],
            differ,
            "lrrrr",
        ),
    ]


def _apart(found: Sequence[Pair]) -> list[Words | Table]:
    rows: list[list[Words]] = [
        [
            f"{one.first} / {one.second}",
            item.content_hash[:12],
            item.subject or "-",
            f"{item.first or '-'} / {item.second or '-'}",
        ]
        for one in found
        for item in one.apart
    ]
    if not rows:
        return [t("沒有一題的答案不同。", "No item was answered with another letter.")]
    header = [t("兩個引擎", "engines"), t("題目", "item"), t("科目", "subject"), t("選項", "letters")]
    caption = t("答案不同的題目：", "Items answered with another letter:")
    if len(rows) > _MOST:
        caption = t(
            f"答案不同的題目（前 {_MOST} 題，共 {len(rows):,} 題；全部見 --json）：",
            f"Items answered with another letter (the first {_MOST} of {len(rows):,}; --json has all):",
        )
    return [Table(caption, header, rows[:_MOST], "llll")]


def _verdict(found: Sequence[Pair]) -> Words:
    if holds(found):
        return t(
            "各引擎一致：提示詞相同，分數差距都在偶然的範圍內。",
            "Parity holds: the prompts are the same, and no difference is more than chance explains.",
        )
    zh = [f"{one.first} 與 {one.second} 收到的提示詞不同" for one in found if not one.same_prompts]
    zh += [f"{one.first} 與 {one.second} 的分數差距超出偶然" for one in found if not one.same_score]
    en = [f"{one.first} and {one.second} were not given the same prompts" for one in found if not one.same_prompts]
    en += [f"{one.first} and {one.second} differ by more than chance" for one in found if not one.same_score]
    return t(f"各引擎不一致：{'；'.join(zh)}。", f"Parity does not hold: {'; '.join(en)}.")


def _warnings(found: Sequence[Pair]) -> Iterable[Words]:
    blind = [(one.first, one.second) for one in found if one.told < one.n]
    if blind:
        yield t(
            f"{'、'.join(' 與 '.join(pair) for pair in blind)} 的提示詞無法逐題比對：伺服器自己套用對話模板。",
            f"the prompts of {', '.join(' and '.join(pair) for pair in blind)} cannot be compared throughout: a server "
            "renders its own.",
        )
    if found and found[0].n < _FEW:
        yield t(
            f"{found[0].n} 題看得出提示詞不同，但看不出分數的差距。",
            f"{found[0].n} items show a broken prompt, but hardly a difference in score.",
        )


def _data(one: Pair) -> dict[str, Any]:
    return {
        "first": one.first,
        "second": one.second,
        "n": one.n,
        "prompts_equal": one.prompts,
        "prompts_told": one.told,
        "texts_equal": one.texts,
        "letters_equal": one.letters,
        "strict": difference_json(one.strict),
        "lenient": difference_json(one.lenient),
        "disagreements": [asdict(item) for item in one.apart],
    }
