"""Alarms: signs in a run's own responses that a number comes from the apparatus rather than from the model.

"We now treat any subject × model cell with an outlier parse rate as an apparatus alarm, not a model result" (the
paper's section 5.2). An alarm changes no score; it stands beside it. Pure: evidence in, alarms out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from twlocal import readers
from twlocal.alphabets import ORDINALS, PROSE, alphabet, unread_box
from twlocal.backend import FINISH_FILTER
from twlocal.judge import Judged, judge
from twlocal.loops import period
from twlocal.record import Record
from twlocal.stats import CHANCE, binomial_tail, fewer_than_rest
from twlocal.tally import Tally

MIN_ROWS = 20  # below it, a rate says too little
MIN_CASES = 3  # nor do one or two odd rows say much
LEVEL = 0.001  # of a test, before it is divided by the number of tests made
BARE = 60  # characters: up to here, a reply with an answer or a box in it may well be the same for many questions
NOT_HONOURED = "temperature_not_honoured"  # a backend's flag: the server would not take the protocol's temperature
EARLY = 8  # responses before a run may be stopped for what they are

# One sentence each: what it means, and what to do. Filled from the alarm's evidence.
MESSAGES = {
    "zero_score": (
        "None of {n} answers is right, which guessing would almost never give (p = {p:.1g}): before reporting "
        "0%, read a few responses, and check the box rate and the answer key."
    ),
    "below_chance": (
        "Of the answers that could be read, {share:.1%} are right, well below guessing (p = {p:.1g}): suspect "
        "a shifted answer key or mislabelled options before the model."
    ),
    "low_box_rate": (
        "Only {rate:.1%} of the responses wrote a \\boxed{{}}, so the strict score measures the answer format "
        "as much as knowledge: read it together with the lenient figure."
    ),
    "wrong_alphabet": (
        "{share:.1%} of the responses put {alphabet} into the box (such as {example}) where A-D was asked "
        "for: check the system prompt for a wrong placeholder, and the option labels the model was shown."
    ),
    "subject_parse_outlier": (
        "{count} of {subjects} subjects could be read much less or more often than the rest (most of all "
        "{subject}: {rate:.1%} against {rest:.1%}), which is the apparatus rather than the model: read the "
        "responses of {subject} before comparing scores there."
    ),
    "position_bias": (
        "{share:.1%} of the readable answers are {letter} although the options are shuffled, so hardly any "
        "question was weighed: check the chat template and one rendered prompt."
    ),
    "identical_replies": (
        "{share:.1%} of the responses are one and the same text ({example}) to different questions, as if the "
        "question had not arrived: check the chat template and one rendered prompt."
    ),
    "empty_replies": (
        "{share:.1%} of the responses are empty and count as wrong: check the chat template, the stop "
        "sequences and the server's log."
    ),
    "reasoning_only": (
        "{share:.1%} of the responses have nothing but a reasoning field, which is read only where it ended by "
        "itself: try a larger budget, or check how the server splits reasoning from content."
    ),
    "unclosed_thought": (
        "{share:.1%} of the responses never ended their thought and so have no final text: try a larger "
        "budget, or less thinking, as another run."
    ),
    "silent_context": (
        "{count} responses were cut where prompt and response together reach about {context:,} tokens, before "
        "their budget: the engine's context is too small, so enlarge it (num_ctx, --ctx-size, "
        "--max-model-len) and run again."
    ),
    "silent_cap": (
        "{count} responses were cut at about {tokens:,} tokens although {max_tokens:,} were asked for: the "
        "server has a cap of its own, so raise it there, or state the lower budget."
    ),
    "truncation": (
        "{share:.1%} of the responses were cut by the token budget, and are wrong unless a box came first: "
        "see whether they loop, and if not, try a larger budget as another run."
    ),
    "loops": (
        "{share:.1%} of the responses end in a loop (such as {example}), which no budget cures: check the "
        "weights' precision, the chat template and the decoding values that were sent."
    ),
    "refusals": (
        "{share:.1%} of the responses were refused or filtered and count as wrong: the provider's policy is "
        "part of this score, so say so beside it."
    ),
    "temperature_not_honoured": (
        "{share:.1%} of the responses were not made at the temperature that was asked for, because the server "
        "does not take it: say so beside the score, and expect another one from another run."
    ),
    "not_reproducible": (
        "{count} of {again} prompts that were asked again at temperature 0 got another reply: the server may "
        "ignore the temperature, or its batching is not reproducible, so expect another score from another run."
    ),
}


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something odd. kind: a key of MESSAGES. message: what it means and what to do, in one English sentence.

    evidence: the numbers and names in the message, for whoever words it otherwise.
    """

    kind: str
    message: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


def _alarm(kind: str, **evidence: Any) -> Alarm:
    return Alarm(kind, MESSAGES[kind].format_map(evidence), evidence)


class Evidence:
    """What alarms need to know of every row, gathered in one pass without keeping any response."""

    def __init__(self) -> None:
        self.letters: Counter[str] = Counter()  # as shown, of the readable answers
        self.unread: Counter[str] = Counter()  # alphabets of the boxes that were not read
        self.examples: dict[str, str] = {}  # of each alphabet
        self.replies: Counter[int] = Counter()  # by the hash of the text: the texts of a run would not fit in memory
        self.repeated: dict[int, str] = {}  # beginnings of replies seen twice that are more than a bare answer
        self.flags: Counter[str] = Counter()
        self.loop = ""  # what a loop repeats
        self.capped: list[tuple[int | None, int]] = []  # prompt and completion tokens of truncated rows
        self.prompts: dict[str, int] = {}  # prompt hash → hash of a reply to it
        self.again: dict[str, list[int]] = {}  # prompt hash → hashes of all replies, where there are several

    def add(self, record: Record, judged: Judged) -> None:
        """Take one judged row in."""
        text, letter = record.text, judged.box.letter
        if letter is not None:
            self.letters[letter] += 1
        elif judged.wrote_box:
            self._look_into_box(record)
        if judged.flags:
            self.flags.update(judged.flags)
        reply = hash(text)
        count = self.replies[reply] = self.replies.get(reply, 0) + 1
        if judged.loop:
            self.loop = _first(self.loop, (period(text or record.reasoning) or "")[:BARE])
        answered = letter is not None or judged.wrote_box
        if count == 2 and (not answered or len(text) > BARE) and text and not text.isspace():
            self.repeated[reply] = text[:BARE]
        if judged.truncated and record.completion_tokens is not None:
            # Servers differ in whether the reasoning is part of the completion.
            thought, written = record.reasoning_tokens or 0, record.completion_tokens
            self.capped.append((record.prompt_tokens, written if thought <= written else written + thought))
        if record.prompt_hash is not None:
            if record.prompt_hash not in self.prompts:
                self.prompts[record.prompt_hash] = reply
            else:
                self.again.setdefault(record.prompt_hash, [self.prompts[record.prompt_hash]]).append(reply)

    def _look_into_box(self, record: Record) -> None:
        final = readers.final_text(record.text, record.reasoning, record.finish)
        content = unread_box(final.text or "")
        if content is not None:
            name = alphabet(content)
            self.unread[name] += 1
            self.examples[name] = _first(self.examples.get(name, ""), content)


def _first(one: str, other: str) -> str:
    # An example that does not depend on the order in which the rows came.
    return min(filter(None, (" ".join(one.split()), " ".join(other.split()))), default="")


def find(
    evidence: Evidence,
    overall: Tally,
    subjects: Mapping[str, Tally],
    *,
    max_tokens: int | None = None,
    temperature: float | None = None,
) -> tuple[Alarm, ...]:
    """The alarms of a run, the gravest first.

    max_tokens: the budget asked for, temperature: the one asked for; without them, their alarms are left out.
    """
    found = (
        *_scores(overall),
        *_formats(evidence, overall, subjects),
        *_replies(evidence, overall),
        *_cuts(evidence, overall, max_tokens),
        *_decoding(evidence, overall, temperature),
    )
    return tuple(found)


def _often(count: int, tally: Tally, least: float) -> bool:
    return count >= MIN_CASES and count >= least * tally.n


def _scores(tally: Tally) -> Iterator[Alarm]:
    if tally.n >= MIN_ROWS and tally.correct == 0:
        yield _alarm("zero_score", n=tally.n, p=(1 - CHANCE) ** tally.n)
    elif tally.parsed >= MIN_ROWS:
        p = binomial_tail(tally.parsed - tally.correct, tally.parsed, 1 - CHANCE)
        if p <= LEVEL:
            yield _alarm("below_chance", share=tally.correct / tally.parsed, p=p)


def _formats(evidence: Evidence, tally: Tally, subjects: Mapping[str, Tally]) -> Iterator[Alarm]:
    if tally.n >= MIN_ROWS and tally.boxes < 0.8 * tally.n:
        yield _alarm("low_box_rate", rate=tally.boxes / tally.n)
    # Read by position under `box`, and yet the sign of a defective prompt.
    seen = evidence.unread + Counter({ORDINALS: tally.ordinal})
    del seen[PROSE]
    if seen:
        count, name = max((count, name) for name, count in seen.items())
        if _often(count, tally, 0.05):
            example = evidence.examples.get(name, "甲")
            yield _alarm("wrong_alphabet", share=count / tally.n, alphabet=name, example=example)
    yield from _outliers(tally, subjects)
    total = sum(evidence.letters.values())
    for letter, count in evidence.letters.most_common(1):
        if total >= MIN_ROWS and count > 0.9 * total:
            yield _alarm("position_bias", share=count / total, letter=letter)


def _outliers(tally: Tally, subjects: Mapping[str, Tally]) -> Iterator[Alarm]:
    """Subjects whose parse rate differs from that of all others by a test on counts, and by ten points."""
    odd = []
    level = LEVEL / (2 * len(subjects)) if subjects else 0
    for name, subject in subjects.items():
        rest_n, rest = tally.n - subject.n, tally.parsed - subject.parsed
        if min(subject.n, rest_n) < MIN_ROWS or abs(subject.parsed / subject.n - rest / rest_n) < 0.1:
            continue
        fewer = fewer_than_rest(subject.parsed, subject.n, rest, rest_n)
        more = fewer_than_rest(subject.n - subject.parsed, subject.n, rest_n - rest, rest_n)
        if min(fewer, more) <= level:
            odd.append((name, subject.parsed / subject.n, rest / rest_n))
    if odd:
        odd.sort(key=lambda row: (-abs(row[1] - row[2]), row[0]))
        name, rate, rest_rate = odd[0]
        yield _alarm(
            "subject_parse_outlier",
            count=len(odd),
            subjects=len(subjects),
            subject=name,
            rate=rate,
            rest=rest_rate,
            all=tuple((name, rate) for name, rate, _ in odd),
        )


def _replies(evidence: Evidence, tally: Tally) -> Iterator[Alarm]:
    if evidence.repeated:
        # Ties are broken by the text, so that the order of the rows decides nothing.
        count, example = max((evidence.replies[reply], text) for reply, text in evidence.repeated.items())
        if count >= EARLY and count >= 0.1 * tally.n:
            yield _alarm("identical_replies", share=count / tally.n, example=" ".join(example.split()))
    for kind, count, least in (
        ("empty_replies", tally.empty, 0.02),
        ("refusals", tally.refused + tally.filtered, 0.05),
        ("reasoning_only", tally.reasoning_only, 0.05),
        ("unclosed_thought", tally.no_final, 0.05),
    ):
        if _often(count, tally, least):
            yield _alarm(kind, share=count / tally.n)


def _cuts(evidence: Evidence, tally: Tally, max_tokens: int | None) -> Iterator[Alarm]:
    early = [row for row in evidence.capped if max_tokens is None or row[1] < 0.95 * max_tokens]
    if _often(len(early), tally, 0) and 2 * len(early) >= len(evidence.capped):
        totals = [prompt + written for prompt, written in early if prompt is not None]
        written = [written for _, written in early]
        if 2 * len(totals) >= len(early) and _gathered(totals) >= 0.8 > _gathered(written):
            yield _alarm("silent_context", count=len(early), context=_median(totals))
        elif max_tokens is not None:
            yield _alarm("silent_cap", count=len(early), tokens=_median(written), max_tokens=max_tokens)
    if _often(tally.truncated, tally, 0.05):
        yield _alarm("truncation", share=tally.truncated / tally.n)
    if _often(tally.loops, tally, 0.02):
        yield _alarm("loops", share=tally.loops / tally.n, example=evidence.loop)


def _gathered(values: Sequence[int]) -> float:
    """The share of values within 8 of their median: the spread that chat templates and stop tokens make."""
    middle = _median(values)
    return sum(abs(value - middle) <= 8 for value in values) / len(values)


def _median(values: Sequence[int]) -> int:
    return sorted(values)[len(values) // 2]


def _decoding(evidence: Evidence, tally: Tally, temperature: float | None) -> Iterator[Alarm]:
    count = evidence.flags[NOT_HONOURED]
    if _often(count, tally, 0):
        yield _alarm("temperature_not_honoured", share=count / tally.n)
    # Whatever the commonest reply to a prompt is, the others are the odd ones.
    groups = [Counter(replies) for replies in evidence.again.values()]
    again = sum(group.total() - 1 for group in groups)
    otherwise = sum(group.total() - max(group.values()) for group in groups)
    if temperature == 0 and otherwise >= MIN_CASES and 2 * otherwise >= again:
        yield _alarm("not_reproducible", count=otherwise, again=again)


def early_stop(recent: Sequence[Record], *, alike: bool = True) -> str | None:
    """Why a run whose first responses are `recent` should be stopped rather than end at 0%; None to go on.

    It takes 8 responses, all of them empty, or all of them one and the same text in which not even the lenient reader
    finds an answer. Readable answers never stop a run, however alike they are. `alike` false: only empty ones do.
    """
    if len(recent) < EARLY:
        return None
    first = recent[0].text.strip()
    if any(record.text.strip() != first for record in recent):
        return None
    if not first:
        if any(record.reasoning for record in recent):
            return None
        if all(record.finish == FINISH_FILTER for record in recent):
            return f"the first {len(recent)} responses were all withheld by the server's content filter"
        return (
            f"the first {len(recent)} responses are all empty: "
            "check the chat template, the stop sequences and the server's log"
        )
    if not alike or any(judge(record).lenient.letter is not None for record in recent):
        return None
    shown = " ".join(first[:BARE].split())
    return (
        f"the first {len(recent)} responses are all the same text without an answer ({shown}): "
        "check the chat template, the model's files and one rendered prompt"
    )
