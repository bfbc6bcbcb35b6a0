"""What a load gives back. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from twlocal.item import UNIT_SEPARATOR, Item, set_hash

# How many of the rows that were left out are named.
_SHOWN = 10
# What can be odd about a dataset, each kind with the words that its count follows.
KINDS: Mapping[str, str] = MappingProxyType(
    {
        "duplicate_rows": "rows that repeat an earlier row of their subject word for word, all kept",
        "repeats_across_subjects": "rows that repeat a row of another subject word for word, all kept",
        "key_conflicts": "questions whose rows have the same options but different keys",
        "same_stem_other_options": "questions asked with more than one set of options",
        "duplicate_options": "rows in which two options have the same text",
        "labelled_options": "rows whose options begin with a letter of their own (A. …), which shuffling contradicts",
        "html_entities": "rows with HTML entities (&lt;, &nbsp;), asked as they are",
        "control_tokens": "rows that quote a model's control tokens (<s>, <|im_end|>), which it may not take for text",
        "damaged_text": "rows that a conversion may have damaged (\ufffd, control or private characters, #NAME?, å¤§)",
        "unseen_characters": "rows with characters that cannot be seen (zero width), asked as they are",
        "duplicate_ids": "rows whose id an earlier row of their subject has too",
        "normalised_rows": "rows whose blanks, line ends or Unicode forms were normalised",
        "mixed_splits": "subjects made of several splits (test, dev, val, train)",
        "empty_files": "files without a row",
    }
)


@dataclass(frozen=True)
class Rejected:
    """A row that was not taken. `line` counts from 1: the physical line where the row begins (CSV, TSV, JSON Lines),
    or the row's number (JSON, Parquet, Arrow)."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True)
class DatasetNotes(Mapping[str, int]):
    """What is odd about a dataset without being wrong: a count a kind, and a few `file:line` examples of each.

    The kinds are the keys of KINDS. Those that did not occur have no entry; `get(kind, 0)` reads them.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __getitem__(self, kind: str) -> int:
        return self.counts[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self.counts)

    def __len__(self) -> int:
        return len(self.counts)

    def told(self) -> list[str]:
        """A line of English a kind, with its count and examples."""
        return [f"{KINDS[kind]}: {count:,} ({_some(self.examples[kind], count)})" for kind, count in self.items()]


def _some(examples: Sequence[str], count: int) -> str:
    return "; ".join(examples) + ("; …" if count > len(examples) else "")


@dataclass(frozen=True)
class Dataset:
    """The items of one source in file order, and what was left out or seems odd.

    `name` is the source as it was given; `revision` the Hub's commit, or "" for local files. `withdrawn` maps the
    content hashes of rows that are published and not scored to the reason; those rows are among `items`, because a
    sample is drawn from all of them.
    """

    name: str
    revision: str
    items: tuple[Item, ...]
    rejected: tuple[Rejected, ...] = ()
    notes: DatasetNotes = field(default_factory=DatasetNotes)
    withdrawn: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 (hex) over the sorted content hashes with their subjects.

        The same rows give the same fingerprint, whatever their order, format, encoding or split into files.
        """
        return set_hash(self.items, UNIT_SEPARATOR)

    def told(self) -> list[str]:
        """What a person should hear about this dataset, a line each: rows left out, then the notes."""
        lines = self.notes.told()
        if self.rejected:
            shown = _some([str(one) for one in self.rejected[:_SHOWN]], len(self.rejected))
            total = len(self.rejected) + len(self.items)
            lines.insert(0, f"rows left out: {len(self.rejected):,} of {total:,} ({shown})")
        return lines
