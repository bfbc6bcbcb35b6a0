"""Boards to test: from results that this file writes, as public runners do and as hash-only bundles tell them."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from twlocal import protocol, registry
from twlocal.board.build import Wish, build
from twlocal.bundle.stored import Result, ResultRow, opened

NAMES = (
    "google/gemma-3-27b-it",
    "openai/gpt-oss-120b",
    "meta-llama/Llama-3.3-70B-Instruct",
    "twinkle-ai/gemma-3-4B-T1-it",
    "taide/Llama-3.1-TAIDE-LX-8B-Chat",
    *(f"org{number % 4}/model-{number:02d}" for number in range(17)),
)
SUBJECTS = {"exam": ("民法", "會計學", "藥理學"), "formosa": ("飲食", "交通")}
SIZES = {"exam": 150, "formosa": 90}


def hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class Raw:
    """One answered row, as the tests know it."""

    ch: str
    qh: str
    subject: str
    facts: Mapping[str, bool]


def raw_rows(model: int, bench: str, size: int | None = None) -> list[Raw]:
    """A model's rows: a skill of its own, a difficulty of each item, and a readiness to write boxes."""
    chance = random.Random(f"{model} {bench}")
    skill, boxes = 0.25 + 0.034 * model, (0.98, 0.9, 0.6)[model % 3]
    found = []
    for number in range(size or SIZES[bench]):
        hard = random.Random(f"{bench} {number}").random()
        wrote = chance.random() < boxes
        parsed = wrote and chance.random() < 0.97
        lenient = parsed or chance.random() < 0.7
        knows = chance.random() < min(0.99, max(0.05, skill + 0.5 * (0.5 - hard)))
        found.append(
            Raw(
                ch=hashed(f"{bench} item {number}"),
                # Every tenth stem is one that others have too.
                qh=hashed(f"{bench} stem {number if number % 10 else 0}")[:16],
                subject=SUBJECTS[bench][number % len(SUBJECTS[bench])],
                facts={
                    "ok": knows and lenient,
                    "boxp": parsed,
                    "lenp": lenient,
                    "correct": knows and parsed,
                    "lenient_correct": knows and lenient,
                    "wrote_box": wrote,
                    "parsed": parsed,
                    "lenient_parsed": lenient,
                    "truncated": not wrote and chance.random() < 0.3,
                },
            )
        )
    chance.shuffle(found)  # no file's order is to matter
    return found


def day(model: int) -> str:
    return f"2026-{9 + model % 2:02d}-{1 + model:02d}"


def exchange_folder(
    folder: Path, models: int, *, hashes: bool = True, benches: Sequence[str] = ("exam", "formosa")
) -> Path:
    """Results of the first `models` models in the exchange format; with content hashes, or as others write them."""
    for model, name in enumerate(NAMES[:models]):
        place = folder / name.replace("/", "_")
        (place / "_provenance").mkdir(parents=True)
        for bench in benches:
            lines = [
                {"qh": row.qh, **{fact: row.facts[fact] for fact in ("ok", "boxp", "lenp")}}
                | ({"ch": row.ch} if hashes else {})
                for row in raw_rows(model, bench)
            ]
            (place / f"{bench}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
            told = {"model": name, "engine": "vllm", "engine_version": "0.13", "date": day(model), "quantised": False}
            (place / "_provenance" / f"{bench}.json").write_text(json.dumps(told), encoding="utf-8")
        (place / ".done").write_text("", encoding="utf-8")
    return folder


def result(model: int, bench: str, rows: Sequence[Raw] | None = None, **changes: Any) -> Result:
    """A model's result as a hash-only bundle leaves it in the database."""
    found = raw_rows(model, bench) if rows is None else rows
    rules = protocol.load("box").with_budget(4096)
    sitting = {
        "engine": "vllm",
        "engine_version": "0.13",
        "settings": {},
        "sent": {},
        "engine_model": {"dtype": "bfloat16"},
        "started_at": f"{day(model)}T01:00:00Z",
        "ended_at": f"{day(model)}T02:00:00Z",
    }
    made = Result(
        name=f"model-{model:02d}-{bench}",
        kind="bundle",
        source="bundle.tar.gz",
        model=NAMES[model],
        bench=bench,
        rows=[ResultRow(qh=row.qh, ch=row.ch, subject=row.subject, **row.facts) for row in found],
        protocol="box",
        complete=True,
        quantised=False,
        provenance={
            "provenance": {
                "backend": "vllm",
                "protocol": {
                    "name": "box",
                    "sha256": rules.sha256,
                    "system_sha256": rules.system_sha256,
                    "reader": "box",
                },
                "decoding": {"temperature": 0.0, "top_p": 0.9, "max_tokens": 4096},
                "sample": {"rows": len(found)},
                "repeats": 1,
                "sittings": [sitting],
            }
        },
    )
    return replace(made, **changes)


def database(path: Path, results: Sequence[Result]) -> Path:
    """A database that holds these results."""
    with opened(path, create=True) as (_, stored):
        for one in results:
            stored.add_result(one, at="2026-11-01T00:00:00Z")
    return path


@pytest.fixture(scope="session")
def known_models() -> registry.Registry:
    return registry.load({})


@pytest.fixture(scope="session")
def tools() -> Any:
    """The functions of this file, for tests that make results of their own."""
    from types import SimpleNamespace

    return SimpleNamespace(
        NAMES=NAMES,
        Raw=Raw,
        raw_rows=raw_rows,
        result=result,
        database=database,
        exchange_folder=exchange_folder,
        day=day,
        hashed=hashed,
    )


@pytest.fixture(scope="session")
def box_site(tmp_path_factory: pytest.TempPathFactory, known_models: registry.Registry) -> Path:
    """22 models on two benches, told with twlocal's readings and subjects. Not to be changed."""
    folder = tmp_path_factory.mktemp("box")
    results = [result(model, bench) for model in range(len(NAMES)) for bench in ("exam", "formosa")]
    build(folder / "site", Wish(database(folder / "board.db", results)), known_models)
    return folder / "site"


@pytest.fixture(scope="session")
def exchange_site(tmp_path_factory: pytest.TempPathFactory, known_models: registry.Registry) -> Path:
    """The same models from a public runner's folder. Not to be changed."""
    folder = tmp_path_factory.mktemp("exchange")
    source = exchange_folder(folder / "results", len(NAMES))
    build(folder / "site", Wish(None, (source,)), known_models)
    return folder / "site"


@pytest.fixture
def copy_site(box_site: Path, tmp_path: Path) -> Callable[[], Path]:
    """A copy to tamper with."""
    import shutil

    return lambda: Path(shutil.copytree(box_site, tmp_path / "copy"))
