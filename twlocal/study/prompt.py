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
from twlocal.html.words import t
from twlocal.item import LABELS
from twlocal.judge import right
from twlocal.readers.reading import ORDINAL
from twlocal.record import Record
from twlocal.stats import wilson
from twlocal.study import plots
from twlocal.study.compared import difference_json
from twlocal.study.report import Report, Table, interval, p_value, percent, points

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
    held: str,
    commands: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Report:
    """The study as a report."""
    places = ranks(runs)
    parts: list[str | Table] = [_scores(runs), _alphabets(runs), *(line for one in pairs for line in _pair(one))]
    if len(places) > 1:
        protocols = list(next(iter(places.values())))
        rows = [[model, *(str(place[name]) for name in protocols)] for model, place in places.items()]
        parts.append(Table("Ranks under each prompt:", ["model", *protocols], rows, "l" + "r" * len(protocols)))
    return Report(
        study="prompt",
        title="What the system prompt does to the score",
        varied="the system prompt (" + ", ".join(_prompts(runs)) + ")",
        held=held,
        n="; ".join(f"{one.run}: {one.n:,} items" for one in runs),
        parts=parts,
        warnings=warnings,
        commands=commands,
        plots=[
            plots.shares(
                [(one.protocol, one.right, one.n) for one in runs if one.model == model],
                t(f"{model}：各系統提示的正確率（只讀 A–D）", f"{model}: accuracy under each system prompt (A–D only)"),
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
    rows = []
    for one in runs:
        low_high = wilson(one.right, one.n)
        unread = one.unread.total()
        rows.append(
            [
                one.model,
                one.protocol,
                f"{one.n:,}",
                percent(one.right / one.n),
                interval(low_high.low, low_high.high),
                percent(1 - unread / one.n),
                f"{unread:,}",
                percent(one.mapped / one.n),
            ]
        )
    header = ["model", "protocol", "n", "A-D right", "95% interval", "read", "unread", "mapped back"]
    return Table("Answers read as A-D only, and what the unread ones predict, mapped back:", header, rows, "llrrrrrr")


def _alphabets(runs: Sequence[Asked]) -> Table:
    names = sorted({name for one in runs for name in one.unread}, key=lambda name: (name == NO_BOX, name))
    rows = [[name, *(f"{one.unread[name]:,}" for one in runs)] for name in names] or [["(none)", *("0" for _ in runs)]]
    header = ["unread answers are in", *(f"{one.model}, {one.protocol}" for one in runs)]
    return Table("The alphabet of what was not read:", header, rows, "l" + "r" * len(runs))


def _pair(one: Pair) -> list[str | Table]:
    rows = []
    for name, found in (("as A-D only", one.measured), ("mapped back", one.predicted)):
        rows.append(
            [
                name,
                percent(found.first),
                percent(found.second),
                points(found.difference),
                interval(found.interval.low, found.interval.high, signed=True),
                p_value(found.p),
                f"{found.churn.gained:,}",
                f"{found.churn.lost:,}",
            ]
        )
    header = [one.other.protocol, "it", one.reference.protocol, "difference", "95% interval", "p", "gained", "lost"]
    if one.measured.direction and not one.predicted.direction:
        said = "the alphabet explains the difference: mapped back, the two prompts cannot be told apart"
    elif one.measured.direction:
        said = "the alphabet does not explain all of the difference"
    else:
        said = "the two prompts cannot be told apart on this model"
    caption = f"{one.other.model}, {one.measured.n:,} items, from {one.other.protocol} to {one.reference.protocol}:"
    return [Table(caption, header, rows, "lrrrrrrr"), f"For {one.other.model}, {said}."]


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
