"""The probe set: four-option questions whose answers show which way they fail (`probe.csv`).

Minguo years stand in pairs, once bare and once with 民國 before them, and the wrong options are off by a year. Names
are asked for in words, with options that do not hold them, so that a response has to write the name itself; in others
the wrong options are corrupted forms.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from twlocal.item import LABELS, Item

BARE, PREFIXED, STATION, GLYPH = "minguo_bare", "minguo_prefixed", "station", "glyph"


@dataclass(frozen=True)
class Probe:
    """A question of the probe set.

    expected: the right year, or the name that is to be written. pair: what a year's two questions share.
    """

    item: Item
    kind: str
    pair: str
    expected: str

    def option(self, letter: str) -> str:
        """The text of the source's option `letter`."""
        return self.item.options[LABELS.index(letter)]


def text() -> str:
    """The probe set as CSV, ready for `twlocal run --bench`."""
    return files("twlocal.study").joinpath("probe.csv").read_text(encoding="utf-8")


@cache
def probes() -> Mapping[str, Probe]:
    """The probe set by content hash."""
    found = {}
    for row in csv.DictReader(io.StringIO(text())):
        options = (row["A"], row["B"], row["C"], row["D"])
        item = Item(row["question"], options, row["answer"], row["subject"], row["id"])
        found[item.content_hash] = Probe(item, row["kind"], row["pair"], row["expected"])
    return MappingProxyType(found)
