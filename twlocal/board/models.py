"""Results → rows of a board: which model each is of, what is known of it, and which of several results counts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from twlocal.board.cells import Cell, ModelFacts, reading_of
from twlocal.bundle import exchange
from twlocal.registry import KnownModel, Registry

_FILED = {"run": 0, "bundle": 0, "runner": 1, "twinkle": 2}  # whose word goes further where all else is equal


@dataclass(frozen=True)
class Placed:
    """The rows of a board and the results that count; superseded: (name, by which)."""

    models: tuple[ModelFacts, ...]
    cells: tuple[Cell, ...]
    superseded: tuple[tuple[str, str], ...]


def place(cells: Sequence[Cell], registry: Registry, reader: str) -> Placed:
    """Give every result its row. A quantised result has a row of its own beside the released weights.

    Of several results of one row on one bench that one counts which can be ranked, tells the board's reading, is
    complete, and is the newest, in this order.
    """
    folders = {exchange.folder(model.id).casefold(): model for model in registry.models.values()}
    named: dict[str, list[Cell]] = {}
    facts: dict[str, ModelFacts] = {}
    for cell in cells:
        known = registry.find(cell.model) or folders.get(exchange.folder(cell.model).casefold())
        fact = _facts(cell, known)
        if fact.slug in facts and facts[fact.slug].name != fact.name:
            fact = _other_slug(fact, facts)
        facts.setdefault(fact.slug, fact)
        named.setdefault(fact.slug, []).append(replace(cell, model=fact.slug))
    kept: list[Cell] = []
    superseded: list[tuple[str, str]] = []
    for slug in sorted(named):
        benches: dict[str, list[Cell]] = {}
        for cell in named[slug]:
            benches.setdefault(cell.bench, []).append(cell)
        for bench in sorted(benches):
            found = sorted(benches[bench], key=lambda cell: _order(cell, reader), reverse=True)
            kept.append(found[0])
            superseded += [(cell.meta.name, found[0].meta.name) for cell in found[1:]]
    return Placed(tuple(facts[slug] for slug in sorted(named)), tuple(kept), tuple(superseded))


def _order(cell: Cell, reader: str) -> tuple[bool, bool, bool, int, str, str]:
    meta = cell.meta
    return (
        not set(meta.marks) & {"quantised", "protocol", "deviations"},
        reading_of(cell, reader) == reader,
        meta.complete is not False,
        -_FILED.get(meta.kind, 3),
        meta.date,
        meta.name,
    )


def _facts(cell: Cell, known: KnownModel | None) -> ModelFacts:
    name = known.id if known is not None else cell.model
    if cell.meta.quantised:
        name = f"{name} ({cell.meta.precision or 'quantised'})"
    slug = exchange.folder(name).lower()
    if known is None:
        return ModelFacts(slug, name)
    return ModelFacts(
        slug=slug,
        name=name,
        family=known.family,
        parameters=known.parameters,
        licence=known.licence,
        taiwan_tuned=known.taiwan_tuned,
        thinking=known.thinking,
    )


def _other_slug(fact: ModelFacts, taken: Mapping[str, ModelFacts]) -> ModelFacts:
    number = 2
    while (slug := f"{fact.slug}-{number}") in taken and taken[slug].name != fact.name:
        number += 1
    return replace(fact, slug=slug)
