"""The models of a pool, from stored runs and imported results, over the same items."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from twlocal.compare import Key, Outcome
from twlocal.errors import UsageError
from twlocal.formosa.band import Member
from twlocal.html.words import Text, t
from twlocal.plural import counted

if TYPE_CHECKING:
    from twlocal.runs import RunRow
    from twlocal.study.load import Source

_NAMED = 5  # items that a message names


def load(source: Source, names: Sequence[str], items: Collection[str] | None, *, lenient: bool = False) -> list[Member]:
    """The members of these names: runs, or imported results that tell content hashes and readings.

    items: content hashes that each must have answered; None: all must have answered the same ones. An item asked
    several times counts as right where more than half of its askings were. lenient: by the lenient reader instead of
    the run's own. Raises UsageError, naming everything that is missing.
    """
    found: list[Member] = []
    problems: list[str] = []
    for name in names:
        try:
            member, run = _member(source, name, lenient)
        except UsageError as error:
            problems.append(error.message)
            continue
        if run is not None and not run.complete:
            problems.append(
                f"{member.name} is incomplete: it has {run.answered:,} of {counted(run.planned, 'response')}"
            )
            continue
        found.append(member)
    wanted = set(items) if items is not None else set().union(*(member.right for member in found))
    for member in found:
        if lacking := sorted(wanted - member.right.keys()):
            named = ", ".join(item[:16] for item in lacking[:_NAMED])
            more = f" and {len(lacking) - _NAMED:,} more" if len(lacking) > _NAMED else ""
            problems.append(
                f"{member.name} was not asked {len(lacking):,} of {counted(len(wanted), 'item')}: {named}{more}"
            )
    if problems:
        raise UsageError(
            "; ".join(problems), hint="a pool is complete runs over the same items: twlocal run, twlocal import"
        )
    return found


def one_vote(members: Sequence[Member]) -> None:
    """Raises UsageError where a model is among the members of a pool twice."""
    for what in ("name", "model"):
        told = [getattr(member, what) for member in members]
        if twice := sorted({one for one in told if told.count(one) > 1}):
            raise UsageError(f"{', '.join(twice)} is in the pool twice", hint="every model has one vote")


def _member(source: Source, name: str, lenient: bool) -> tuple[Member, RunRow | None]:
    side, _, run = source.side(name)
    right = _by_item(side.outcomes, lenient)
    if run is not None:
        return Member(run.name, run.model, right, _about(source, run)), run
    imported = source.stored.result(name)
    if imported is None or imported.complete is False:
        raise UsageError(f"{side.name} is incomplete, as its source tells")
    about = {"imported": imported.checksum, "protocol": imported.protocol or None}
    return Member(imported.name, imported.model, right, about), None


def _by_item(outcomes: Mapping[Key, Outcome], lenient: bool) -> dict[str, bool]:
    """Rows that are the same word for word are one item, asked several times."""
    askings: defaultdict[str, list[float]] = defaultdict(list)
    for (content_hash, _, _), outcome in outcomes.items():
        askings[content_hash].append(outcome.lenient if lenient else outcome.strict)
    return {item: sum(shares) / len(shares) > 0.5 for item, shares in askings.items()}


def _about(source: Source, run: RunRow) -> dict[str, Any]:
    """What a manifest tells of a run: what it would take to have the same model answer again."""
    model = run.manifest["identity"]["model"]
    told: dict[str, Any] = {
        "revision": model.get("revision"),
        "fingerprint": model.get("fingerprint"),
        "backend": run.backend,
        "protocol": run.protocol,
        "reader": run.manifest["protocol"]["reader"],
        "max_tokens": run.manifest["decoding"]["max_tokens"],
        "temperature": run.manifest["decoding"]["temperature"],
        "run_key": run.key,
        "day": run.created_at[:10],
    }
    if (checksum := source.stored.run_checksum(run.id)) is not None:
        told["imported"] = checksum
    return told


def unlike(members: Sequence[Member]) -> list[Text]:
    """What of the apparatus differs between members, in words: then not only the model does."""
    told = []
    for what in ("protocol", "reader", "max_tokens", "temperature"):
        values = {str(member.about[what]) for member in members if member.about.get(what) is not None}
        if len(values) > 1:
            words = t("這些模型的測法不同：{what} 有 {values}", "the models were not asked alike: {what} is {values}")
            told.append(words.format(what=what, values=", ".join(sorted(values))))
    return told
