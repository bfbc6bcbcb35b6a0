"""What is odd about a dataset: duplicates, conflicts, normalised texts. Nothing is dropped for it. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence

from twlocal.dataset.model import KINDS, DatasetNotes
from twlocal.item import LABELS, Item

_EXAMPLES = 3
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#\d{2,7}|#[xX][0-9A-Fa-f]{2,6});")
# What tokenizers take for a control token of theirs wherever it stands: a question that quotes one is cut there.
_CONTROL = re.compile(
    r"<[|｜][A-Za-z0-9_▁]{2,40}[|｜]>|</?(?:s|unk|pad|bos|eos|think)>|<(?:start|end)_of_turn>|\[/?(?:INST|THINK)\]"
)
_OWN_LABELS = tuple(re.compile(rf"[(（]?{label}\s?[.．:：、)）]", re.IGNORECASE) for label in LABELS)


class Collector:
    """Counts kinds and keeps the first few examples of each."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._examples: dict[str, list[str]] = {}

    def add(self, kind: str, example: str) -> None:
        """One more of `kind` (a key of KINDS)."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        examples = self._examples.setdefault(kind, [])
        if len(examples) < _EXAMPLES:
            examples.append(example)

    def notes(self) -> DatasetNotes:
        """The counts in the order of KINDS."""
        kinds = [kind for kind in KINDS if kind in self._counts]
        return DatasetNotes(
            {kind: self._counts[kind] for kind in kinds}, {kind: tuple(self._examples[kind]) for kind in kinds}
        )


def compare_items(items: Sequence[Item], place: Callable[[int], str], collector: Collector) -> None:
    """Adds what comparing the items with each other shows. `place` gives the `file:line` of one."""
    first_asked: dict[int, int] = {}  # by the hash of the question: the texts themselves would be so many more
    first_named: dict[tuple[str, str], int] = {}
    again: defaultdict[int, list[int]] = defaultdict(list)
    own_a, own_b, own_c, own_d = _OWN_LABELS
    for index, item in enumerate(items):
        question, a, b, c, d = item.texts
        first = first_asked.setdefault(hash(question), index)
        if first != index:
            again[first].append(index)
        if len({a, b, c, d}) < len(LABELS):
            collector.add("duplicate_options", place(index))
        # Looked at without a loop: this is done for each of a quarter of a million rows, and hardly any has either.
        if own_a.match(a) and own_b.match(b) and own_c.match(c) and own_d.match(d):
            collector.add("labelled_options", place(index))
        if ("&" in question or "&" in a or "&" in b or "&" in c or "&" in d) and any(
            map(_ENTITY.search, (question, a, b, c, d))
        ):
            collector.add("html_entities", place(index))
        if (">" in question or "]" in question or ">" in a or ">" in b or ">" in c or ">" in d) and any(
            map(_CONTROL.search, (question, a, b, c, d))
        ):
            collector.add("control_tokens", place(index))
        if item.id:
            first = first_named.setdefault((item.subject, item.id), index)
            if first != index:
                collector.add("duplicate_ids", f"{place(index)} = {place(first)}")
    for first, later in again.items():
        alike: defaultdict[str, list[int]] = defaultdict(list)
        for index in (first, *later):
            alike[items[index].question].append(index)
        for group in alike.values():
            _compare(group, items, place, collector)


def _compare(group: list[int], items: Sequence[Item], place: Callable[[int], str], collector: Collector) -> None:
    """The rows of one question: equal ones, other keys, other options."""
    first_of: dict[str, int] = {}
    in_subject: dict[tuple[str, str], int] = {}
    letters: dict[tuple[str, ...], dict[str, int]] = {}
    texts: dict[tuple[str, ...], dict[str, int]] = {}
    for index in group:
        item = items[index]
        first = first_of.setdefault(item.content_hash, index)
        own = in_subject.setdefault((item.content_hash, item.subject), index)
        if own != index:
            collector.add("duplicate_rows", f"{place(index)} = {place(own)}")
        elif first != index:
            collector.add("repeats_across_subjects", f"{place(index)} = {place(first)}")
        options = item.options
        letters.setdefault(options, {}).setdefault(item.answer, index)
        keyed = options[LABELS.index(item.answer)]
        # Sorted: the same options in another order are keyed by what they say, not by where they stand.
        texts.setdefault(tuple(sorted(options)), {}).setdefault(keyed, index)
    conflict = next((keys for keys in (*letters.values(), *texts.values()) if len(keys) > 1), None)
    if conflict:
        rows = sorted(conflict.values())
        collector.add("key_conflicts", " against ".join(f"{place(row)} ({items[row].answer})" for row in rows))
    if len(letters) > 1:
        firsts = [next(iter(keys.values())) for keys in letters.values()]
        collector.add("same_stem_other_options", " and ".join(place(row) for row in firsts[:3]))
