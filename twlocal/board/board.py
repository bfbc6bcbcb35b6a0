"""Everything that a board states, from what it ships: numbers, ranks, warnings, axes, difficulty, half-life. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, cached_property
from typing import Any

import numpy as np

from twlocal.board import settings as keeper
from twlocal.board.cells import Cell, ModelFacts, Site, read, reading_of
from twlocal.board.numbers import Layout, Numbers, per_item
from twlocal.board.ranks import Measured, Pairs, Rank, compare, ranks
from twlocal.bundle.strict import Malformed, parse
from twlocal.formosa.advantage import same_model
from twlocal.study.axes import Axes, Model, axes
from twlocal.study.halflife import Dated, HalfLife, halflife
from twlocal.study.noise import Floor

# What keeps a result out of the ranks.
UNRANKED = ("other_reading", "incomplete", "quantised", "protocol", "deviations")
RESAMPLES = 1_999  # of the bootstrap over models
_LEAST = 4  # models that an agreement of two benches needs
_BINS = 10
AXES = ("exam", "formosa")
TUNED = "Taiwan-tuned"


@dataclass(frozen=True)
class Entry:
    """A model's result on a bench as the board states it. planned: responses it should have; None: not told.

    notes: what has to be said with the number, by name (see `words.NOTES`). close: models whose score differs by less
    than the share of disputed keys.
    """

    cell: Cell
    facts: ModelFacts
    reader: str
    numbers: Numbers
    planned: int | None
    subjects: tuple[tuple[str, Numbers], ...]
    notes: tuple[str, ...]
    rank: Rank | None = None
    close: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        return self.cell.model

    @property
    def ranked(self) -> bool:
        return self.rank is not None


@dataclass(frozen=True)
class Difficulty:
    """How many of `of` models were right on each item of a set, in its order, as a share of 1.

    bins: items by that share, in tenths, the last one with both ends. nobody, everybody: items with 0 and with 1.
    """

    items: str
    models: tuple[str, ...]
    shares: tuple[float, ...]
    bins: tuple[int, ...]
    nobody: int
    everybody: int

    @property
    def of(self) -> int:
        return len(self.models)


@dataclass(frozen=True)
class Bench:
    """A bench: its results (ranked ones first, the best first), and what follows from them together."""

    name: str
    title: tuple[str, str]
    entries: tuple[Entry, ...]
    pairs: Pairs | None
    floor: Floor | None
    items: int
    subjects: tuple[str, ...]
    difficulty: Difficulty | None
    halflife: HalfLife | None

    @cached_property
    def ranked(self) -> tuple[Entry, ...]:
        """The results that have a rank, the best first."""
        return tuple(entry for entry in self.entries if entry.ranked)

    def of(self, slug: str) -> Entry | None:
        """The result of the model with that slug."""
        return self._by_slug.get(slug)

    @cached_property
    def _by_slug(self) -> dict[str, Entry]:
        return {entry.slug: entry for entry in self.entries}


@dataclass(frozen=True)
class Board:
    """The whole board. axes: the two benches over the models with both, by reading (strict, lenient)."""

    site: Site
    benches: tuple[Bench, ...]
    axes: tuple[Axes, ...]

    def bench(self, name: str) -> Bench | None:
        return next((bench for bench in self.benches if bench.name == name), None)


def make(site: Site) -> Board:
    """State everything. Raises EngineMissing without scipy."""
    layouts = {name: Layout(items) for name, items in site.items.items()}
    facts = {model.slug: model for model in site.models}
    order = list(site.settings["benches"])
    names = sorted(
        {cell.bench for cell in site.cells}, key=lambda name: (order.index(name) if name in order else 99, name)
    )
    benches = tuple(_bench(site, name, layouts, facts) for name in names)
    return Board(site, benches, _axes(benches))


def _bench(site: Site, name: str, layouts: Mapping[str, Layout], facts: Mapping[str, ModelFacts]) -> Bench:
    cells = [cell for cell in site.cells if cell.bench == name]
    standard = _standard(cells, layouts)
    made = []
    measured: dict[str, Measured] = {}
    values: dict[str, Any] = {}
    for cell in cells:
        layout = layouts[cell.items]
        reader = reading_of(cell, site.reader)
        found = read(cell.columns, reader)
        numbers = layout.overall(found)
        entry = Entry(
            cell=cell,
            facts=facts[cell.model],
            reader=reader,
            numbers=numbers,
            planned=_planned(cell, numbers, standard, layouts),
            subjects=layout.by_subject(found),
            notes=(),
        )
        entry = replace(entry, notes=_notes(site, entry, standard, layouts))
        made.append(entry)
        if not set(entry.notes) & set(UNRANKED) and numbers.n:
            right = numbers.correct * numbers.items / numbers.n
            measured[cell.model] = Measured(layout.units(found.strict), numbers.items, right)
            values[cell.model] = per_item(found.strict)
    floor = keeper.floor(site.settings, name)
    # The best first; what is not ranked stands behind, in the same order.
    made.sort(key=lambda entry: (entry.slug not in measured, -(entry.numbers.accuracy or 0), entry.slug))
    ranked = [entry.slug for entry in made if entry.slug in measured]
    pairs = compare([measured[slug] for slug in ranked]) if ranked else None
    if pairs is not None:
        found_ranks = dict(zip(ranked, ranks([measured[slug] for slug in ranked], pairs), strict=True))
        made = [replace(entry, rank=found_ranks.get(entry.slug)) for entry in made]
        made = _closer(made, floor)
    entries = tuple(made)
    names = sorted({subject for entry in entries for subject, _ in entry.subjects})
    return Bench(
        name=name,
        title=keeper.bench_title(site.settings, name),
        entries=entries,
        pairs=pairs,
        floor=floor,
        items=layouts[standard].n if standard else 0,
        subjects=tuple(names),
        difficulty=_difficulty(entries, values),
        halflife=_halflife(site, name, entries),
    )


def _standard(cells: Sequence[Cell], layouts: Mapping[str, Layout]) -> str:
    """The item set that most complete results are over; of equally many the larger one. "" without a complete one."""
    counted = Counter(cell.items for cell in cells if cell.meta.complete is not False)
    return max(counted, key=lambda name: (counted[name], layouts[name].n, name), default="")


def _same_items(one: Layout, other: Layout) -> bool:
    """Whether two sets hold the same rows, as far as both tell them apart."""
    for at in (0, 1):
        left, right = ([row[at] for row in layout.items.rows] for layout in (one, other))
        if all(left) and all(right):
            return one.items.id == other.items.id or sorted(left) == sorted(right)
    return False


def _planned(cell: Cell, numbers: Numbers, standard: str, layouts: Mapping[str, Layout]) -> int | None:
    if cell.meta.planned is not None:
        return cell.meta.planned
    if cell.meta.complete is False:
        return layouts[standard].n if standard else None
    return numbers.n


def _plain(name: str) -> str:
    """A model's name without the precision that sets two of its results apart."""
    return name.partition(" (")[0]


def _drafted(site: Site, bench: str) -> tuple[str, ...]:
    """The models that drafted a band's items, by the curation.json among the bench's manifests."""
    found = [_generators(text) for name, text in site.manifests.items() if name.partition("/")[0] == bench]
    return tuple(name for names in found for name in names)


@cache
def _generators(manifest: str) -> tuple[str, ...]:
    """`generators.names` of a curation.json; nothing of any other manifest."""
    try:
        said = parse(manifest)
    except Malformed:
        return ()
    told = said.get("generators") if isinstance(said, Mapping) else None
    names = told.get("names") if isinstance(told, Mapping) else None
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def _notes(site: Site, entry: Entry, standard: str, layouts: Mapping[str, Layout]) -> tuple[str, ...]:
    cell, meta = entry.cell, entry.cell.meta
    others = bool(standard) and cell.items != standard and not _same_items(layouts[cell.items], layouts[standard])
    advantage = site.settings["benches"].get(cell.bench, {}).get("self_advantage", ())
    base = entry.facts.name
    thinking = meta.thinking if meta.thinking is not None else True if entry.facts.thinking == "always" else None
    short = entry.planned is None or entry.numbers.n < entry.planned
    there = {
        # Of twlocal's own readings only those of its strict reader are what the board states.
        "other_reading": entry.reader != site.reader or (entry.reader == keeper.BOX and meta.reader not in ("", "box")),
        # A result without its marker is whole where it has the rows of those that have one.
        "incomplete": short if meta.complete is not False else short or others or not standard,
        "quantised": meta.quantised is True,
        "protocol": "protocol" in meta.marks,
        "deviations": "deviations" in meta.marks,
        "self_advantage": any(base == one or base.startswith(f"{one} (") for one in advantage)
        or any(same_model(_plain(base), one) for one in _drafted(site, cell.bench)),
        "other_items": others,
        "protocol_unknown": not meta.protocol,
        "precision_unknown": meta.quantised is None,
        "thinking": thinking is True,
        "repeats": meta.repeats > 1,
    }
    return tuple(name for name, found in there.items() if found)


def _closer(entries: Sequence[Entry], floor: Floor | None) -> list[Entry]:
    if floor is None:
        return list(entries)
    ranked = [entry for entry in entries if entry.ranked]
    found = {}
    for entry in ranked:
        mine = entry.numbers.accuracy or 0.0
        found[entry.slug] = tuple(
            other.slug for other in ranked if other is not entry and floor.below((other.numbers.accuracy or 0.0) - mine)
        )
    return [replace(entry, close=found.get(entry.slug, ())) for entry in entries]


def _difficulty(entries: Sequence[Entry], values: Mapping[str, Any]) -> Difficulty | None:
    """Over the ranked results on the item set that most of them share."""
    counted = Counter(entry.cell.items for entry in entries if entry.slug in values)
    if not counted:
        return None
    items = max(counted, key=lambda name: (counted[name], name))
    models = sorted(entry.slug for entry in entries if entry.slug in values and entry.cell.items == items)
    shares = np.mean([values[slug] for slug in models], axis=0)
    # 1e-9: a share of 0.3 may come out as 0.29999….
    bins = np.bincount(np.minimum((shares * _BINS + 1e-9).astype(int), _BINS - 1), minlength=_BINS)
    return Difficulty(
        items=items,
        models=tuple(models),
        shares=tuple(round(float(share), 6) for share in shares),
        bins=tuple(int(count) for count in bins),
        nobody=int((shares < 1e-9).sum()),
        everybody=int((shares > 1 - 1e-9).sum()),
    )


def _halflife(site: Site, name: str, entries: Sequence[Entry]) -> HalfLife | None:
    values = site.settings["benches"].get(name, {})
    dated = [
        Dated(entry.slug, entry.numbers.accuracy, _day(entry.cell.meta.date))
        for entry in entries
        if entry.ranked and entry.numbers.accuracy is not None
    ]
    if not dated or "band" not in values:
        return None
    low, high = values["band"]
    return halflife(dated, low, high, _day(values.get("since", "")))


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None  # a source may tell a day that there is not


def axes_of(benches: Sequence[Bench]) -> tuple[Bench, Bench] | None:
    """The two benches to set against each other: exam and formosa, else the only two; None where there are not two."""
    named = [bench for name in AXES for bench in benches if bench.name == name]
    both = named if len(named) == 2 else list(benches) if len(benches) == 2 else []
    return (both[0], both[1]) if both else None


def _axes(benches: Sequence[Bench]) -> tuple[Axes, ...]:
    both = axes_of(benches)
    if both is None:
        return ()
    first, second = ({entry.slug: entry for entry in bench.ranked} for bench in both)
    slugs = sorted(first.keys() & second.keys())
    if len(slugs) < _LEAST:
        return ()
    found = []
    for reader in ("strict", "lenient"):
        models = [
            Model(slug, _score(first[slug], reader), _score(second[slug], reader), _family(first[slug].facts))
            for slug in slugs
        ]
        found.append(axes(models, reader, resamples=RESAMPLES))
    return tuple(found)


def _score(entry: Entry, reader: str) -> float:
    score = entry.numbers.accuracy if reader == "strict" else entry.numbers.lenient_accuracy
    return score or 0.0


def _family(facts: ModelFacts) -> str:
    return TUNED if facts.taiwan_tuned else ""


def state(board: Board) -> dict[str, dict[str, Any]]:
    """What the history follows: "" → of the board as a whole; "model bench" → of a result."""
    whole: dict[str, Any] = {"reader": board.site.reader}
    for bench in board.benches:
        values = board.site.settings["benches"].get(bench.name, {})
        whole |= {f"{what} {bench.name}": values[what] for what in ("keys", "band", "since") if what in values}
    for name, rows in board.site.withdrawn.items():
        whole[f"withdrawn {name}"] = len(rows)
    found: dict[str, dict[str, Any]] = {"": whole}
    for bench in board.benches:
        for entry in bench.entries:
            meta, numbers = entry.cell.meta, entry.numbers
            found[f"{entry.slug} {bench.name}"] = {
                "name": meta.name,
                "reader": entry.reader,
                "protocol": meta.protocol,
                "protocol_sha256": meta.protocol_sha256,
                "items": entry.cell.items,
                "n": numbers.n,
                "correct": numbers.correct,
                "accuracy": numbers.accuracy,
                "lenient_correct": numbers.lenient_correct,
                "boxes": numbers.boxes,
                "parsed": numbers.parsed,
                "lenient_parsed": numbers.lenient_parsed,
                "quantised": meta.quantised,
                "precision": meta.precision,
                "engine": meta.engine,
                "engine_version": meta.engine_version,
                "date": meta.date,
                "notes": list(entry.notes),
            }
    return found
