"""Whether a run may be bundled: complete, of today's questions, at native precision, under a published protocol.

Every bar names the way out, and what the bundle will be marked with where the way out is an option.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from twlocal.bundle import manifest as manifests
from twlocal.bundle.itemset import compare
from twlocal.bundle.manifest import MARKS, RunManifest
from twlocal.bundle.words import ENGLISH_MARKS
from twlocal.dataset import Dataset
from twlocal.errors import DatasetError
from twlocal.plan import Wish
from twlocal.plural import counted
from twlocal.runs import RunRow


@dataclass(frozen=True)
class Allowed:
    """What a bundle may hold although a published score must not."""

    quantised: bool = False
    unpublishable: bool = False
    deviations: bool = False
    private_text: bool = False


@dataclass(frozen=True)
class Bar:
    """What stands between a run and its bundle, and the way out."""

    why: str
    way_out: str

    def __str__(self) -> str:
        return f"{self.why}\n    → {self.way_out}"


def bars(row: RunRow, run: RunManifest, flags: Mapping[str, int], allowed: Allowed, *, full: bool) -> list[Bar]:
    """Everything that stands between a run and its bundle, but its dataset (see `dataset_bar`)."""
    found = []
    if not row.complete or row.completed_at is None:
        left = row.planned - row.answered
        found.append(
            Bar(
                f"it is incomplete and lacks {left:,} of {counted(row.planned, 'response')} ({row.failed:,} failed)",
                f"twlocal resume {row.name} (with --retry-failed for what killed its engine)",
            )
        )
    if manifests.quantised(run.sittings) is True and not allowed.quantised:
        found.append(_option(MARKS["quantised"], "--allow-quantised", "quantised"))
    if (why := manifests.protocol_bar(run.manifest)) and not allowed.unpublishable:
        found.append(
            _option(f"its protocol {run.protocol} is not publishable: {why}", "--allow-unpublishable", "protocol")
        )
    if (odd := manifests.deviations(run, flags)) and not allowed.deviations:
        said = f"the engine did not decode as the protocol asks: {'; '.join(odd[:5])}"
        found.append(_option(said, "--allow-deviations", "deviations"))
    if full and run.private and not allowed.private_text:
        found.append(
            Bar(
                "its questions are private, and its responses quote them",
                "leave --full out; or --allow-private-text, for a board keeper who has the questions anyway "
                "(the bundle will be marked private_text)",
            )
        )
    return found


def _option(why: str, option: str, mark: str) -> Bar:
    said = ENGLISH_MARKS[mark]
    return Bar(why, f"{option} bundles it all the same, marked wherever it is shown: {said}")


def dataset_bar(
    run: RunManifest, rows: Counter[str], wish: Mapping[str, object], load: Callable[[Wish], Dataset | None]
) -> tuple[Bar | None, str]:
    """What stands in the way because the dataset has changed, and how far that could be checked ("" where it was).

    rows: the run's content hashes. load: the dataset as it is today, None where it cannot be reached; DatasetError
    where it can be reached and not read.
    """
    again = "run it again on today's questions; or --bench FILE names the dataset as it was"
    try:
        found = load(Wish.from_json(wish))
    except DatasetError as error:
        return Bar(f"its dataset cannot be read any more: {error.message}", again), ""
    if found is None:
        return (
            None,
            "its dataset cannot be reached from here, so today's questions were not compared (--bench FILE does)",
        )
    if found.fingerprint == run.manifest["bench"]["fingerprint"]:
        return None, ""
    compared = compare(rows, found.items, run.manifest["sample"], found.withdrawn.keys())
    if compared.same:
        return None, ""
    return Bar(f"its dataset has changed since: against it, the run has {compared}", again), ""
