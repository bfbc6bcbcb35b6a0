"""The one way in: a source's name → a Dataset."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from twlocal import garbage
from twlocal.dataset import arrow_rows, csv_rows, json_rows, sources, withdrawals
from twlocal.dataset.benches import Bench
from twlocal.dataset.benches import benches as bundled
from twlocal.dataset.columns import subject_of
from twlocal.dataset.encoding import decode, foreign
from twlocal.dataset.hub import Hub, HuggingFaceHub
from twlocal.dataset.model import Dataset, Rejected
from twlocal.dataset.notes import Collector, compare_items
from twlocal.dataset.rows import Bad, FileRows, Row, read_rows, settle_rows
from twlocal.errors import DatasetError
from twlocal.item import Item, clean
from twlocal.plural import counted

_SHOWN = 10
# In these, what can be decoded cannot hold a NUL or half of a surrogate pair.
_DECODED = frozenset({".csv", ".tsv", ".tab"})


def load(
    source: str,
    *,
    encoding: str = "utf-8",
    subject: str | None = None,
    answer_base: int | None = None,
    skip_bad: bool = False,
    private: bool = False,
    token: str | None = None,
    benches: Mapping[str, Bench] | None = None,
    hub: Hub | None = None,
) -> Dataset:
    """The items of `source`: a bench's name (`./demo` is a file), a file, a folder, or `hf://owner/name[@revision][/path/inside]`.

    `subject` is for rows that name none (default: their file's name). `answer_base` says whether integer answers count
    from 0 or from 1. With `skip_bad`, rows that cannot be taken are left out and listed instead of stopping the load.
    `private` keeps Hub data in memory only; `token` None leaves it to huggingface_hub (HF_TOKEN, then its own login).

    Raises DatasetError, naming file, line and reason, and the way out.
    """
    found = _find(source, answer_base, private, token, benches, hub)
    with garbage.paused():
        return _load(sources.readable(source), found, encoding, subject, answer_base, skip_bad)


def load_splits(
    source: str,
    *,
    encoding: str = "utf-8",
    subject: str | None = None,
    answer_base: int | None = None,
    skip_bad: bool = False,
    private: bool = False,
    token: str | None = None,
    benches: Mapping[str, Bench] | None = None,
    hub: Hub | None = None,
) -> dict[str, Dataset]:
    """As `load`, but one Dataset a split (test, dev, val, train, or "" where the files name none), by file name."""
    found = _find(source, answer_base, private, token, benches, hub)
    parts: defaultdict[str, list[sources.SourceFile]] = defaultdict(list)
    for file in found.files:
        parts[_split_of(file.stem)].append(file)
    with garbage.paused():
        return {
            split: _load(
                sources.readable(source),
                sources.Found(tuple(part), found.revision, found.withdrawn),
                encoding,
                subject,
                answer_base,
                skip_bad,
            )
            for split, part in sorted(parts.items())
        }


def _find(
    source: str,
    answer_base: int | None,
    private: bool,
    token: str | None,
    benches: Mapping[str, Bench] | None,
    hub: Hub | None,
) -> sources.Found:
    """The files of `source`, after a look at what was asked: nothing is fetched for a wrong call."""
    if answer_base not in (None, 0, 1):
        raise DatasetError(f"answers cannot count from {answer_base}", hint="--answer-base 0 or --answer-base 1")
    return sources.find(
        source,
        private=private,
        hub=lambda: hub if hub is not None else HuggingFaceHub(token),
        benches=bundled() if benches is None else benches,
    )


def _split_of(stem: str) -> str:
    """The split that a file's name gives; a file named after a split alone is that split."""
    own, split = subject_of(stem)
    return split or (own if own in ("test", "dev", "val", "train") else "")


def _load(
    name: str, found: sources.Found, encoding: str, subject: str | None, answer_base: int | None, skip_bad: bool
) -> Dataset:
    collector = Collector()
    read: list[FileRows] = []
    splits: defaultdict[str, set[str]] = defaultdict(set)
    for file in found.files:
        own, split = subject_of(file.stem)
        escapes = file.suffix not in _DECODED
        rows = read_rows(_rows(file, encoding), file.name, clean(subject or own), escapes=escapes)
        if not rows.items and not rows.rejected:
            collector.add("empty_files", file.name)
        splits[own].add(split)
        read.append(rows)
    for own, several in sorted(splits.items()):
        if len(several) > 1:
            collector.add("mixed_splits", f"{own}: {', '.join(sorted(name or '(none)' for name in several))}")
    _settle(read, answer_base)
    rejected = tuple(one for rows in read for one in rows.rejected)
    items = [item for rows in read for item in rows.items if item is not None]
    if rejected and not (skip_bad and items):
        raise _refusal(name, rejected, len(items))
    if not items:
        raise DatasetError(f"{name}: no rows", hint="a row has question, A, B, C, D, answer")
    _note(read, items, collector)
    return Dataset(name, found.revision, tuple(items), rejected, collector.notes(), _withdrawn(found.withdrawn))


def _withdrawn(file: sources.SourceFile | None) -> dict[str, str]:
    return {} if file is None else withdrawals.parse(decode(file.read(), "utf-8", file.name), file.name)


def _rows(file: sources.SourceFile, encoding: str) -> Iterable[Row | Bad]:
    data = file.read()
    match file.suffix:
        case ".parquet" | ".arrow" | ".feather":
            foreign(data, file.name, but="a Parquet file")
    match file.suffix:
        case ".parquet":
            return arrow_rows.read_parquet(data, file.name)
        case ".arrow" | ".feather":
            return arrow_rows.read_arrow(data, file.name)
    text = decode(data, encoding, file.name)
    if not text.strip():
        return ()
    match file.suffix:
        case ".csv":
            return csv_rows.read_csv(text, file.name, ",")
        case ".tsv" | ".tab":
            return csv_rows.read_csv(text, file.name, "\t")
        case ".json":
            return json_rows.read_json(text, file.name)
        case _:
            return json_rows.read_jsonl(text, file.name)


def _settle(read: Sequence[FileRows], stated: int | None) -> None:
    """Gives every file where its integer answers start to count, then the waiting rows their keys."""
    bases: dict[int, int | None] = {}
    for index, rows in enumerate(read):
        habit = rows.habit
        if stated is None and habit.counts:
            try:
                bases[index] = habit.base
            except ValueError as error:
                raise DatasetError(
                    f"{rows.file}: integer answers count from 0 or from 1, but {error}: "
                    f"{rows.position_of(0)}, {rows.position_of(4)}",
                    hint="say which with --answer-base, and leave out the others with --skip-bad",
                ) from error
    agreed = set(bases.values()) - {None}
    unsure = [read[index].file for index, base in bases.items() if base is None]
    if unsure and len(agreed) != 1:
        more = f" and {len(unsure) - 1} more files" if len(unsure) > 1 else ""
        raise DatasetError(
            f"{unsure[0]}{more}: the integer answers lie between 1 and 3, so they may count from 0 or from 1",
            hint="say which: --answer-base 0 (0 is A) or --answer-base 1 (1 is A)",
        )
    common = next(iter(agreed), None)
    for index, rows in enumerate(read):
        own = bases.get(index)
        base = stated if stated is not None else own if own is not None else common
        settle_rows(rows, base=base, stated=stated is not None)


def _refusal(name: str, rejected: Sequence[Rejected], good: int) -> DatasetError:
    lines = [f"  {one}" for one in rejected[:_SHOWN]]
    if len(rejected) > _SHOWN:
        lines.append(f"  … and {len(rejected) - _SHOWN:,} more")
    total = len(rejected) + good
    head = f"{name}: {len(rejected):,} of {counted(total, 'row')} cannot be taken:"
    others = counted(good, "row")
    hint = f"correct them, or go on with the other {others}: --skip-bad" if good else "not one row can be taken"
    return DatasetError("\n".join([head, *lines]), hint=hint)


def _note(read: Sequence[FileRows], items: Sequence[Item], collector: Collector) -> None:
    ends = list(accumulate(len(rows.lines) for rows in read))

    def place(index: int) -> str:
        """`file:line` of an item, put into words only for the few that are told."""
        rows = read[file := bisect_right(ends, index)]
        return f"{rows.file}:{rows.lines[index - ends[file]]}"

    compare_items(items, place, collector)
    for rows in read:
        for kind, places in (
            ("normalised_rows", rows.normalised),
            ("damaged_text", rows.damaged),
            ("unseen_characters", rows.hiding),
        ):
            for index in places:
                collector.add(kind, f"{rows.file}:{rows.lines[index]}")
