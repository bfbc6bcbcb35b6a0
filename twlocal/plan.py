"""From what was asked for to a run: its items, its apparatus, and the key under which it goes on."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from typing import Any

from twlocal.item import Item, set_hash
from twlocal.models import Model
from twlocal.protocol import Protocol


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """A row of a run's plan: its number, its item, and which of several identical rows it is (0 is the first)."""

    no: int
    item: Item
    occurrence: int = 0


@dataclass(frozen=True)
class Wish:
    """A call of `twlocal run`, as it can be repeated by `resume`. It never holds a secret."""

    model: str
    bench: str
    protocol: str
    backend: str | None = None
    sample: int | None = None  # rows a subject; None: all of them
    limit: int | None = None
    ids: str | None = None
    max_tokens: int | None = None
    repeats: int = 1
    private: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)  # how the dataset is read: encoding, answer base, …
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the engine
    quantised: bool = False  # a quantised file may stand in where the released precision does not fit
    # The backend that spreads the engine's work over a cluster, and its settings; {} for none. It changes no answer.
    spread: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        # What is not asked for is left out, so that a call of an older twlocal is still the same call.
        said = asdict(self)
        for name in ("quantised", "spread"):
            if not said[name]:
                del said[name]
        return said

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Wish:
        return cls(**data)


@dataclass(frozen=True)
class Plan:
    """A run as it will be: everything that can be known before the first answer."""

    key: str
    name: str
    wish: Wish
    model: Model
    backend: str
    protocol: Protocol
    rows: tuple[PlannedItem, ...]
    manifest: Mapping[str, Any]
    stage: str = ""  # who asks, where it is no benchmark: the answers are no answers to questions then
    asker: str = ""  # with a stage: hash of all that could change an answer, but for what is asked

    @property
    def settings(self) -> dict[str, Any]:
        """What the engine is given: what the model's place needs, and over it what the person said."""
        return {**self.model.settings, **self.wish.settings}


def make(
    wish: Wish,
    *,
    model: Model,
    backend: str,
    answering: Collection[str],
    model_fingerprint: str,
    protocol: Protocol,
    bench: Mapping[str, Any],
    drawn: Sequence[Item],
    machine: Mapping[str, Any],
    withdrawn: Sequence[Item] = (),
) -> Plan:
    """Plan a run over the `drawn` items. `bench` says where they came from: name, revision, fingerprint, counts.

    `withdrawn` were drawn with them and are not asked. The key does not know them as such: it covers what is asked.

    The key covers what could change an answer: model, backend, dataset, sample, protocol, decoding, repeats, and the
    `answering` ones of the backend's settings. It does not cover how fast it is asked (concurrency, threads) or where
    files lie; those are recorded with each sitting.
    """
    identity = {
        "model": {"id": model.id, "revision": model.revision, "fingerprint": model_fingerprint},
        "backend": backend,
        "dataset": {"fingerprint": bench["fingerprint"], "revision": bench["revision"]},
        "sample": sample_hash(drawn),
        "protocol": protocol.sha256,
        "decoding": asdict(protocol.decoding),
        "repeats": wish.repeats,
        "settings": {name: value for name, value in {**model.settings, **wish.settings}.items() if name in answering},
    }
    key = hashlib.sha256(json.dumps(identity, ensure_ascii=False, sort_keys=True).encode("utf-8")).hexdigest()
    manifest = {
        "identity": identity,
        "bench": dict(bench),
        "sample": {
            "per_subject": wish.sample,
            "limit": wish.limit,
            "ids": wish.ids is not None,
            "drawn": len(drawn) + len(withdrawn),
            "rows": len(drawn),
            # With their subjects, as `identity.sample` hashes what is asked.
            "withdrawn": [[item.content_hash, item.subject] for item in withdrawn],
        },
        "protocol": {
            "name": protocol.name,
            "title": protocol.title,
            "title_zh": protocol.title_zh,
            "sha256": protocol.sha256,
            "system_sha256": protocol.system_sha256,
            "system": protocol.system,
            "body": protocol.body,
            "examples": [asdict(example) for example in protocol.examples],
            "shuffle": protocol.shuffle,
            "reader": protocol.reader,
            "publishable": protocol.publishable,
            "why_not": protocol.why_not,
            "why_not_zh": protocol.why_not_zh,
        },
        "decoding": asdict(protocol.decoding),
        "repeats": wish.repeats,
        "machine": dict(machine),
    }
    return Plan(
        key=key,
        name=f"{_slug(model.id)}-{_slug(bench['name'])}-{key[:6]}",
        wish=wish,
        model=model,
        backend=backend,
        protocol=protocol,
        rows=tuple(plan_order(drawn)),
        manifest=manifest,
    )


def withdrawn_by(manifest: Mapping[str, Any]) -> frozenset[str]:
    """The content hashes that a run left out as withdrawn when it began, by its manifest."""
    return frozenset(ch for ch, _ in manifest["sample"].get("withdrawn", ()))  # not in the manifests of old


def same_but_sample(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two runs' manifests differ in nothing that could change an answer, but in which rows are asked."""
    left, right = ({**manifest["identity"], "sample": ""} for manifest in (one, other))
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)  # one may have been stored: no tuples


def sample_hash(drawn: Sequence[Item]) -> str:
    """sha256 (hex) of which rows are asked, whatever their order."""
    return set_hash(drawn, " ")


def _slug(name: str) -> str:
    """A short name for people and shells: the last part of a path or URL, without suffix."""
    last = re.split(r"[/\\#:]", name.rstrip("/"))[-1]
    last = re.sub(r"\.(csv|tsv|tab|jsonl?|parquet|arrow)$", "", last)
    plain = "".join(
        letter if letter.isalnum() or letter in "._-" else "-" for letter in unicodedata.normalize("NFC", last)
    )
    return plain.strip("-.").lower()[:40] or "run"


def plan_order(items: Iterable[Item]) -> list[PlannedItem]:
    """Items numbered in the order of a run: by content hash, so that every beginning of a run is a fair sample of it,

    and so that the plan does not depend on the order of rows or files.
    """
    ordered = sorted(items, key=attrgetter("content_hash"))  # by one text, not by three: ties are rare
    planned: list[PlannedItem] = []
    no = 0
    while no < len(ordered):
        first = ordered[no]
        end = no + 1
        while end < len(ordered) and ordered[end].content_hash == first.content_hash:
            end += 1
        if end == no + 1:
            planned.append(PlannedItem(no, first))
        else:
            planned += _alike(ordered[no:end], no)
        no = end
    return planned


def _alike(items: list[Item], no: int) -> Iterator[PlannedItem]:
    """Rows with the same content hash, numbered from `no`: by subject, then by id; rows of one subject are counted."""
    seen: Counter[str] = Counter()
    for at, item in enumerate(sorted(items, key=attrgetter("subject", "id"))):
        yield PlannedItem(no + at, item, seen[item.subject])
        seen[item.subject] += 1
