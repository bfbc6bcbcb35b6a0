"""What a prompt does to a score: the alphabet of the answers that could not be read (the paper's section 5.2). Pure.

A placeholder in the format example may be copied: a model shown 甲 answers in 甲乙丙丁, and a reader that knows only
A-D calls that unread. So responses are read twice here: as A-D only, as the paper's tool did, and with every alphabet
mapped back by position, which predicts what the model would score under a prompt that it understands. Only the first
asking of a question counts.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twlocal import alphabets, readers
from twlocal.compare import Difference, Key, difference
from twlocal.html.words import Text, t
from twlocal.item import LABELS
from twlocal.judge import right
from twlocal.plural import counted
from twlocal.readers.reading import ORDINAL
from twlocal.record import Record
from twlocal.report.words import CHINESE_ALPHABETS
from twlocal.stats import wilson
from twlocal.study import plots
from twlocal.study.compared import difference_json
from twlocal.study.report import INTERVAL, Report, Table, Words, join, p_value, percent, points, span

NO_BOX = "no box"


@dataclass(frozen=True, slots=True)
class Answer:
    """An item's answer. right: as A-D only. alphabet: what an unread one is written in, "" for a read one.

    mapped: right once letters of other alphabets are taken by position.
    """

    right: bool
    alphabet: str
    mapped: bool


@dataclass(frozen=True)
class Asked:
    """A run under one prompt: its answers by item."""

    run: str
    model: str
    protocol: str
    system_sha256: str
    answers: Mapping[Key, Answer]

    @property
    def n(self) -> int:
        return len(self.answers)

    @property
    def right(self) -> int:
        return sum(one.right for one in self.answers.values())

    @property
    def mapped(self) -> int:
        return sum(one.mapped for one in self.answers.values())

    @property
    def unread(self) -> Counter[str]:
        """Unread answers by the alphabet that they are written in."""
        return Counter(one.alphabet for one in self.answers.values() if one.alphabet)


def letter_of(content: str) -> str | None:
    """The option letter that a box's content stands for by position (乙, ②, 2, Ⅱ, β → B); None for anything else."""
    name = alphabets.alphabet(content)
    letters = alphabets.ALPHABETS.get(name)
    if letters is None:
        return None
    found = next(char for char in content if char in letters)
    if name == "digits":
        place = unicodedata.digit(found) - 1
        return LABELS[place] if 0 <= place < len(LABELS) else None
    if name == "Greek letters":
        return LABELS[letters.index(found) // 2]
    return LABELS[letters.index(found) % len(LABELS)]


def answer(record: Record) -> Answer:
    """Read a response as A-D only, and with other alphabets mapped back."""
    final = readers.final_text(record.text, record.reasoning, record.finish)
    reading = readers.box(final)
    if reading.letter is not None:
        good = right(reading.letter, record)
        ordinal = ORDINAL in reading.flags
        return Answer(good and not ordinal, alphabets.ORDINALS if ordinal else "", good)
    content = alphabets.unread_box(final.text or "")
    if content is None:
        return Answer(False, NO_BOX, False)
    return Answer(False, alphabets.alphabet(content), right(letter_of(content), record))


def asked(run: str, model: str, protocol: str, system_sha256: str, rows: Iterable[tuple[Key, Record]]) -> Asked:
    """Read a run's first askings."""
    answers = {key: answer(record) for key, record in rows if record.repeat == 0}
    return Asked(run, model, protocol, system_sha256, answers)


@dataclass(frozen=True)
class Pair:
    """One model under two prompts, over the items that both answered: `other` against `reference`.

    measured: reference minus other, both as A-D only. predicted: reference (measured) minus other (mapped back); where
    the alphabet is the whole effect, nothing is left of it.
    """

    other: Asked
    reference: Asked
    measured: Difference
    predicted: Difference


def pair(other: Asked, reference: Asked, seed: int = 0) -> Pair:
    """Pair two runs of one model. Raises ValueError where they have no item in common."""
    keys = sorted(other.answers.keys() & reference.answers.keys())
    if not keys:
        raise ValueError(f"{other.run} and {reference.run} have no answered item in common")
    plain, mapped, final = (
        [float(getattr(one.answers[key], name)) for key in keys]
        for one, name in ((other, "right"), (other, "mapped"), (reference, "right"))
    )
    return Pair(other, reference, difference(plain, final, seed), difference(mapped, final, seed))


def ranks(runs: Sequence[Asked]) -> dict[str, dict[str, int]]:
    """The place of each model under each protocol, among the models that were asked under all of them."""
    protocols = list(dict.fromkeys(one.protocol for one in runs))
    shares = {(one.model, one.protocol): one.right / one.n for one in runs}
    models = [m for m in dict.fromkeys(one.model for one in runs) if all((m, p) in shares for p in protocols)]
    return {
        model: {
            protocol: 1 + sum(shares[other, protocol] > shares[model, protocol] for other in models)
            for protocol in protocols
        }
        for model in models
    }


def report(
    runs: Sequence[Asked],
    pairs: Sequence[Pair],
    *,
    held: Words,
    commands: Sequence[str] = (),
    warnings: Sequence[Words] = (),
) -> Report:
    """The study as a report."""
    places = ranks(runs)
    parts: list[Words | Table] = [_scores(runs), _alphabets(runs), *(line for one in pairs for line in _pair(one))]
    if len(places) > 1:
        protocols = list(next(iter(places.values())))
        rows = [[model, *(str(place[name]) for name in protocols)] for model, place in places.items()]
        caption = t("各提示詞下的名次：", "Ranks under each prompt:")
        parts.append(Table(caption, [t("模型", "model"), *protocols], rows, "l" + "r" * len(protocols)))
    return Report(
        study="prompt",
        title=t("系統提示詞怎麼影響分數", "What the system prompt does to the score"),
        varied=t(f"系統提示詞（{'、'.join(_prompts(runs))}）", f"the system prompt ({', '.join(_prompts(runs))})"),
        held=held,
        n=join([t(f"{one.run}：{one.n:,} 題", f"{one.run}: {counted(one.n, 'item')}") for one in runs], "；", "; "),
        parts=parts,
        warnings=warnings,
        commands=commands,
        plots=[
            plots.shares(
                [(one.protocol, one.right, one.n) for one in runs if one.model == model],
                t(
                    f"{model}：各系統提示詞的正確率（只讀 A–D）",
                    f"{model}: accuracy under each system prompt (A–D only)",
                ),
                reference=plots.GUESSING,
            )
            for model in dict.fromkeys(one.model for one in runs)
        ],
        data={
            "runs": [_run_json(one) for one in runs],
            "pairs": [
                {
                    "model": one.other.model,
                    "protocol": one.other.protocol,
                    "reference": one.reference.protocol,
                    "measured": difference_json(one.measured),
                    "reference_minus_mapped_back": difference_json(one.predicted),
                }
                for one in pairs
            ],
            "ranks": places,
        },
    )


def _prompts(runs: Sequence[Asked]) -> list[str]:
    return list(dict.fromkeys(f"{one.protocol} {one.system_sha256[:16]}" for one in runs))


def _scores(runs: Sequence[Asked]) -> Table:
    rows: list[list[Words]] = []
    for one in runs:
        low_high = wilson(one.right, one.n)
        unread = one.unread.total()
        rows.append(
            [
                one.model,
                one.protocol,
                f"{one.n:,}",
                percent(one.right / one.n),
                span(low_high.low, low_high.high),
                percent(1 - unread / one.n),
                f"{unread:,}",
                percent(one.mapped / one.n),
            ]
        )
    header: list[Words] = [
        t("模型", "model"),
        t("協定", "protocol"),
        "n",
        t("A–D 答對", "A-D right"),
        INTERVAL,
        t("可讀率", "read"),
        t("讀不出", "unread"),
        t("還原後", "mapped back"),
    ]
    caption = t(
        "只讀 A–D 的成績，以及把讀不出的答案依位置還原成 A–D 之後預測的成績：",
        "Answers read as A-D only, and what the unread ones predict, mapped back:",
    )
    return Table(caption, header, rows, "llrrrrrr")


def _alphabets(runs: Sequence[Asked]) -> Table:
    names = sorted({name for one in runs for name in one.unread}, key=lambda name: (name == NO_BOX, name))
    rows: list[list[Words]] = [[_alphabet(name), *(f"{one.unread[name]:,}" for one in runs)] for name in names]
    header: list[Words] = [
        t("讀不出的答案寫的是", "unread answers are in"),
        *(t(f"{one.model}、{one.protocol}", f"{one.model}, {one.protocol}") for one in runs),
    ]
    return Table(
        t("讀不出的答案用的是哪一種字母：", "The alphabet of what was not read:"),
        header,
        rows or [[t("（沒有）", "(none)"), *("0" for _ in runs)]],
        "l" + "r" * len(runs),
    )


def _alphabet(name: str) -> Text:
    own = {NO_BOX: "沒有框", alphabets.PROSE: "其他文字"}
    return Text(own.get(name) or CHINESE_ALPHABETS[name], name)


def _pair(one: Pair) -> list[Words | Table]:
    rows: list[list[Words]] = []
    for name, found in ((t("只讀 A–D", "as A-D only"), one.measured), (t("還原後", "mapped back"), one.predicted)):
        rows.append(
            [
                name,
                percent(found.first),
                percent(found.second),
                points(found.difference),
                span(found.interval.low, found.interval.high, signed=True),
                p_value(found.p),
                f"{found.churn.gained:,}",
                f"{found.churn.lost:,}",
            ]
        )
    header: list[Words] = [
        t(f"{one.other.protocol} 的讀法", one.other.protocol),
        t("分數", "it"),
        one.reference.protocol,
        t("差距", "difference"),
        INTERVAL,
        "p",
        t("變對", "gained"),
        t("變錯", "lost"),
    ]
    if one.measured.direction and not one.predicted.direction:
        found_out = t(
            "差距來自所用的字母：依位置還原之後，兩種提示詞分不出高下",
            "the alphabet explains the difference: mapped back, the two prompts cannot be told apart",
        )
    elif one.measured.direction:
        found_out = t("差距不能全由所用的字母解釋", "the alphabet does not explain all of the difference")
    else:
        found_out = t("在這個模型上，兩種提示詞分不出高下", "the two prompts cannot be told apart on this model")
    caption = t(
        "{model}，{n} 題，從 {other} 換成 {reference}：", "{model}, {n} items, from {other} to {reference}:"
    ).format(
        model=one.other.model,
        n=f"{one.measured.n:,}",
        other=one.other.protocol,
        reference=one.reference.protocol,
    )
    verdict = t("{model}：{said}。", "For {model}, {said}.").format(model=one.other.model, said=found_out)
    return [Table(caption, header, rows, "lrrrrrrr"), verdict]


def _run_json(one: Asked) -> dict[str, Any]:
    low_high = wilson(one.right, one.n)
    return {
        "run": one.run,
        "model": one.model,
        "protocol": one.protocol,
        "system_sha256": one.system_sha256,
        "n": one.n,
        "right": one.right,
        "accuracy": one.right / one.n,
        "interval": [low_high.low, low_high.high],
        "unread": dict(one.unread),
        "parse_rate": 1 - one.unread.total() / one.n,
        "mapped_back": one.mapped / one.n,
    }
