"""The dataset card of a build: what it is, how it was made, its accounting, whose articles it is from. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from twlocal.formosa import accounting, drafting, judging
from twlocal.publishing import table

if TYPE_CHECKING:
    from twlocal.formosa.accounting import Counts
    from twlocal.formosa.publish import Parts

_HEAD = """---
license: cc-by-sa-4.0
language:
- zh
task_categories:
- question-answering
- multiple-choice
configs:
- config_name: default
  data_files: parquet/*.parquet
---

# tw-formosa-bench

Closed-book four-option questions about everyday and contemporary Taiwan, built by `twlocal formosa` from articles of
Taiwan.md. Taiwan.md and this dataset are licensed under
[CC BY-SA 4.0](https://creativecommons.org/licenses/by-sa/4.0/deed.zh-hant); the articles are listed below, with their
authors. Items are derived from them: a generator drafted one item a window, and rules and a judge took most of the bad
ones out. No model wrote a ground truth: a keyed answer counts only where the window supports it.

One row a question: `question`, `A`, `B`, `C`, `D`, `answer`, `id`, `subject` (the article's category), `source`, `path`
and `section`, `start` and `end` (the window, in characters of the file), `window` (sha256 of its text), `order` (the
drafted letters in the order shown), `generator`. All cells are text.
"""


def text(counts: Counts, parts: Parts, attribution: Sequence[Mapping[str, str]]) -> str:
    """The card as Markdown."""
    sections = [_HEAD, "## How it was made\n", _made(parts)]
    sections += ["## Accounting\n", table(["Stage", "Count"], accounting.table(counts)), _again(counts)]
    used = [row for row in attribution if row["published"] != "0"]
    sections += ["## Attribution\n", f"{len(used):,} of {len(attribution):,} articles (all: `attribution.csv`).\n"]
    columns = ("title", "author", "date", "license", "path", "published")
    head = ["Article", "Author", "Date", "License", "File", "Items"]
    sections.append(table(head, [[row[name] for name in columns] for row in used]))
    return "\n".join(sections)


def _made(parts: Parts) -> str:
    build = parts.build
    judge = parts.judge.name if parts.judge else "nobody"
    lines = [
        f"- Corpus: {len(parts.articles):,} articles, {len(parts.windows):,} windows, fingerprint {build.corpus[:16]}.",
        f"- Drafted by: {', '.join(one.name for one in parts.generators) or 'hand, or models outside twlocal'}.",
        f"- Judged by: {judge}. {_calibrated(parts)}",
    ]
    if parts.self_judged:
        lines.append(f"- **The judge also drafted.** {judge} judged items of its own making.")
    if parts.band is None:
        lines.append("- Difficulty: no band was cut; every grounded item is published.")
    else:
        lines.append("- Difficulty: a band was cut against a pool of models, see `curation.json`.")
    if parts.generators:
        lines.append("- A score of a model that drafted carries a self-advantage here.")
    return "\n".join(lines) + "\n"


def _calibrated(parts: Parts) -> str:
    stated = parts.calibration
    if stated is None:
        return "**It was not calibrated**: nobody knows what it lets through."
    caught = ", ".join(f"{rate['k']} of {rate['n']} {kind}" for kind, rate in stated["caught"].items())
    alarms = stated["false_alarms"]
    said = f"Of planted defects it caught {caught}; of clean items it rejected {alarms['k']} of {alarms['n']}."
    return said if stated["passed"] else f"**It did not pass its calibration.** {said}"


def _again(counts: Counts) -> str:
    faults = {**{f"malformed: {name}": says for name, says in drafting.FAULTS.items()}}
    faults |= {f"not grounded: unread:{name}": says for name, says in judging.FAULTS.items()}
    shown = [(f"`{name}`", says) for name, says in faults.items() if _counted(name, counts)]
    told = "Every number can be derived again from `accounting/items.csv`: `twlocal formosa check FOLDER` does it.\n"
    return told + ("\n" + table(["Here", "means"], shown) if shown else "")


def _counted(name: str, counts: Counts) -> bool:
    kind, _, rule = name.partition(": ")
    return rule in (counts.malformed if kind == "malformed" else counts.ungrounded)
