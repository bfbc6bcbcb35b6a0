"""The dataset card of a build: what it is, how it was made, its accounting, and what was left out. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from twlocal.publishing import table

from . import accounting
from .accounting import Accounting
from .decide import FILTERS, WITHDRAWALS
from .subjects import Rules

if TYPE_CHECKING:
    from .publish import Other

_HEAD = """---
language:
- zh
task_categories:
- question-answering
- multiple-choice
configs:
- config_name: default
  data_files: parquet/*.parquet
---

# tw-exam-bench

Four-option questions of Taiwan's national examinations (考選部), with the official answers after corrections, built by
`twlocal exam build` from the Ministry's PDFs. Examination questions are outside copyright by article 9 of Taiwan's
Copyright Act.

One row a question: `question`, `A`, `B`, `C`, `D`, `answer`, `id`, `subject`, `field`, `year` (Minguo), `source`,
`subject_zh`, `printings` (how often it was printed; the earliest is kept), `original_answer` (the letter before an
official correction), `flags` (doubts of the parser). All cells are text.

Rows listed in `withdrawn.jsonl` stay in the data and are **not scored**: their stems lean on a figure, a table, a
passage or another item that the text does not carry. A sample is drawn from all rows; withdrawn ones are then taken out
and counted.
"""


def text(found: Accounting, rules: Rules, others: Sequence[Other]) -> str:
    """The card as Markdown."""
    parts = [_HEAD, "## Accounting\n", table(["Stage", "Count"], accounting.table(found))]
    parts.append(
        "Every row can be derived again from `accounting/papers.csv` and `accounting/items.csv`: "
        "`twlocal exam check FOLDER` does it. Several accepted answers and voided items have no single key; "
        "they are filtered as `several_answers` and `everyone_credited`.\n"
    )
    if others:
        named = ", ".join(
            f"{other.name} ({other.rows:,} rows, fingerprint {other.fingerprint[:16]})" for other in others
        )
        parts.append(f"Kept disjoint, by content fingerprint, from: {named}.\n")
    parts += ["## Rules\n", table(["Filtered", "Why"], [(f"`{name}`", says) for name, says in FILTERS.items()])]
    parts.append(table(["Withdrawn", "Why"], [(f"`{name}`", says) for name, says in WITHDRAWALS.items()]))
    parts.append("## Subjects\n")
    zh = {subject.slug: (subject.zh, rules.fields[subject.field]) for subject in rules.subjects}
    rows = [
        (
            f"`{slug}`",
            *zh.get(slug, ("", "")),
            *(f"{n:,}" for n in (c.raw, c.folded, sum(c.filtered.values()), c.published, c.scored)),
        )
        for slug, c in found.subjects.items()
        if slug
    ]
    parts.append(table(["Subject", "科目", "領域", "Raw", "Folded", "Filtered", "Published", "Scored"], rows))
    return "\n".join(parts)
