"""How models fail on what is particular to Taiwan: Minguo years, glyphs, names (the paper's section 6.5). Pure.

Two views of the same stored responses. Detectors look at the text of any run: they know no answer, and count only
what is wrong by itself. On the probe set (`probe`) every answer is known, and each failure has its exact kind. A
failure is loud where a look-up refuses it (there is no station 左翐) and silent where it is a legal value (a year off
by one): only a loud one can be caught and asked again. Only the first asking of a question counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from twlocal.compare import Key
from twlocal.item import LABELS, source_letter
from twlocal.judge import judge
from twlocal.record import Record
from twlocal.study import glyphs, probe
from twlocal.study.glyphs import Names, one_apart, same
from twlocal.study.minguo import equations
from twlocal.study.probe import Probe

# Failures by name, and whether a look-up would refuse what was written.
LOUD = {
    "minguo_prefixed": False,
    "minguo_bare": False,
    "minguo_sum": False,
    "corrupted_name": True,
    "romanised_name": True,
    "broken_character": True,
    "foreign_character": True,
    "simplified_character": True,
}
RIGHT, UNREAD = "right", "unread"
WRITTEN, CORRUPTED, ROMANISED, OTHER = "written", "corrupted", "romanised", "not written"
FURTHER = "further off"
_EXAMPLES = 3


@dataclass
class Detected:
    """What the detectors found in a run's responses: how many hold each failure, and examples of it."""

    n: int = 0
    equations: Counter[tuple[str, int]] = field(default_factory=Counter)  # (how it is written, years off)
    responses: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, example: str) -> None:
        """Count a response under a failure."""
        self.responses[name] += 1
        kept = self.examples.setdefault(name, [])
        if len(kept) < _EXAMPLES and example not in kept:
            kept.append(example)


@dataclass(frozen=True, slots=True)
class YearAnswer:
    """An answer to a question for a year. off: how many years too late, None where no option could be read."""

    pair: str
    prefixed: bool
    off: int | None


@dataclass
class Probed:
    """Answers to the probe set: years, names as written in the text, and spellings as chosen."""

    years: list[YearAnswer] = field(default_factory=list)
    written: Counter[str] = field(default_factory=Counter)
    chosen: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.years) + self.written.total() + self.chosen.total()

    def pairs(self) -> list[tuple[bool, bool]]:
        """(right bare, right with 民國) of every year that was asked both ways."""
        bare = {one.pair: one.off == 0 for one in self.years if not one.prefixed}
        prefixed = {one.pair: one.off == 0 for one in self.years if one.prefixed}
        return [(bare[pair], prefixed[pair]) for pair in sorted(bare.keys() & prefixed.keys())]

    def silent(self) -> int:
        """Wrong answers that are legal values: other years, and other places that exist."""
        return sum(one.off not in (0, None) for one in self.years) + self.places["wrong"]

    def loud(self) -> int:
        """Wrong answers that a look-up refuses: corrupted and romanised names, whether written or chosen."""
        return self.written[CORRUPTED] + self.written[ROMANISED] + self.chosen[CORRUPTED]


@dataclass(frozen=True)
class Failures:
    """One run under both views; `probed.n` is 0 where the run did not ask the probe set."""

    run: str
    model: str
    detected: Detected
    probed: Probed


def failures(
    run: str,
    model: str,
    rows: Iterable[tuple[Key, Record]],
    *,
    probes: Mapping[str, Probe] | None = None,
    names: Names | None = None,
) -> Failures:
    """Look at a run's first askings; none of the responses is kept but for a few words."""
    known = probe.probes() if probes is None else probes
    table = glyphs.names() if names is None else names
    detected, probed = Detected(), Probed()
    for _, record in rows:
        if record.repeat:
            continue
        detect(record.text, table, detected)
        asked = known.get(record.content_hash)
        if asked is not None:
            _probe(record, asked, table, probed)
    return Failures(run, model, detected, probed)


def detect(text: str, names: Names, into: Detected) -> None:
    """Count what a text's years, characters and names have wrong."""
    into.n += 1
    wrong: dict[str, str] = {}
    for one in equations(text):
        how = "minguo_sum" if one.worked else "minguo_prefixed" if one.prefixed else "minguo_bare"
        into.equations[how, one.off] += 1
        if one.off:
            wrong.setdefault(how, f"{one.roc} = {one.ad}")
    found = glyphs.odd(text, names)
    if found.corrupted:
        wrong["corrupted_name"] = " for ".join(found.corrupted[0])
    if found.romanised:
        wrong["romanised_name"] = found.romanised[0]
    if found.broken:
        wrong["broken_character"] = f"{found.broken} of them"
    if found.foreign:
        wrong["foreign_character"] = "".join(found.foreign[:5])
    if found.simplified:
        wrong["simplified_character"] = "".join(found.simplified[:5])
    for name, example in wrong.items():
        into.add(name, example)


def _probe(record: Record, asked: Probe, names: Names, into: Probed) -> None:
    letter = judge(record).lenient.letter
    chosen = asked.option(source_letter(letter, record.order)) if letter is not None and letter in LABELS else None
    if asked.kind in (probe.BARE, probe.PREFIXED):
        off = None if chosen is None else int(chosen) - int(asked.expected)
        into.years.append(YearAnswer(asked.pair, asked.kind == probe.PREFIXED, off))
    elif asked.kind == probe.GLYPH:
        into.chosen[UNREAD if chosen is None else RIGHT if chosen == asked.expected else CORRUPTED] += 1
        if chosen not in (None, asked.expected):
            _example(into, CORRUPTED, f"{chosen} for {asked.expected}")
    else:
        state, example = written(record.text, asked.expected, names)
        into.written[state] += 1
        right = chosen == asked.option(asked.item.answer)
        into.places[UNREAD if chosen is None else RIGHT if right else "wrong"] += 1
        if example:
            _example(into, state, f"{example} for {asked.expected}")


def _example(into: Probed, state: str, text: str) -> None:
    kept = into.examples.setdefault(state, [])
    if len(kept) < _EXAMPLES and text not in kept:
        kept.append(text)


def written(text: str, expected: str, names: Names) -> tuple[str, str]:
    """How a response writes the name that it was to write, and the odd form where there is one.

    The name itself anywhere in the text settles it. Otherwise a name one character away from it, where a name stands in
    marks or before 站, is a corrupted form; its spelling in Latin letters is a romanised one.
    """
    plain, name = same(text), same(expected)
    if name in plain:
        return WRITTEN, ""
    size = len(name)
    for at in range(len(plain) - size + 1):
        said = plain[at : at + size]
        if one_apart(said, name) and _stands_alone(plain, at, size) and said not in names.spellings:
            return CORRUPTED, said
    if name in glyphs.romanised(plain, names):
        return ROMANISED, next(iter(names.spellings.get(name, ())), "")
    return OTHER, ""


def _stands_alone(text: str, at: int, size: int) -> bool:
    """Whether a name stands at this place: behind a mark, a blank or the beginning, and before 站, 車站 or a mark."""
    before, after = text[at - 1 : at], text[at + size : at + size + 2]
    begins = not before.isalpha() or before in "是叫為於到在"
    ends = not after[:1].isalpha() or after.startswith(("站", "車站"))
    return begins and ends and all(char.isalpha() and not char.isascii() for char in text[at : at + size])


def offsets(years: Sequence[YearAnswer], *, prefixed: bool) -> Counter[str]:
    """Answers to questions for a year by how far they are off: right, +1, -1, further off, unread."""
    found: Counter[str] = Counter()
    for one in years:
        if one.prefixed == prefixed:
            found[_offset(one.off)] += 1
    return found


def _offset(off: int | None) -> str:
    if off is None:
        return UNREAD
    return RIGHT if off == 0 else f"{off:+d}" if abs(off) == 1 else FURTHER
