"""`twlocal sample`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from twlocal.cli.common import note, out
from twlocal.cli.dataset_options import dataset_options, load_dataset
from twlocal.plural import counted
from twlocal.whole import whole


@click.command()
@click.argument("bench")
@click.option(
    "--k", "-k", type=click.IntRange(1), default=150, show_default=True, help="At most K questions a subject."
)
@click.option("--limit", type=click.IntRange(1), help="At most this many questions in all, spread over the subjects.")
@click.option("--output", "-o", "target", metavar="FILE", help="Where to write the manifest; - is standard output.")
@dataset_options
def sample(bench: str, k: int, limit: int | None, target: str | None, **options: Any) -> None:
    """Draw the deterministic sample of BENCH: by content hash, at most K questions a subject.

    The same data give the same sample on every machine, in whatever order and format they are kept. The manifest lists
    content hashes, subjects and ids, no text; `twlocal run --ids FILE` asks exactly these. Rows that the dataset lists
    as withdrawn (withdrawn.jsonl beside it) are removed after the draw, and counted.
    """
    from twlocal import sample as sampling

    dataset = load_dataset(bench, options)
    for line in dataset.told():
        note(line)
    drawn = sampling.draw(dataset.items, k)
    if limit is not None:
        drawn = sampling.limit(drawn, limit)
    written = sampling.manifest(dataset, drawn, k, limit)
    text = json.dumps(written, ensure_ascii=False, indent=1) + "\n"
    if target == "-":
        out(text)
    elif target is not None:
        with whole(Path(target)) as part:
            part.write_text(text, encoding="utf-8", newline="\n")
        note(f"{counted(written['n'], 'row')} written to {target}: twlocal run MODEL --bench {bench} --ids {target}")
    summary = _summary(written, dataset.items)
    # Standard output belongs to the manifest when it is asked for there.
    (note if target == "-" else out)(summary)


def _summary(written: dict[str, Any], items: Any) -> str:
    from collections import Counter

    from twlocal.report.table import table

    there = Counter(item.subject for item in items)
    rows = [
        [subject or "(none)", f"{count:,}", f"{there[subject]:,}"] for subject, count in written["subjects"].items()
    ]
    rows.append(["all", f"{written['n']:,}", f"{len(items):,}"])
    lines = [line.rstrip() for line in table(rows, ["subject", "asked", "rows"], align="lrr")]
    if written["withdrawn"]:
        lines.append(f"{written['drawn']:,} drawn, {len(written['withdrawn']):,} withdrawn, {written['n']:,} asked")
    return "\n".join([*lines, f"dataset fingerprint {written['dataset']['fingerprint']}"])
