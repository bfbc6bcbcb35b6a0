"""Stage `ground`: every item to a judge, and its verdicts into the build."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from twlocal.errors import UsageError
from twlocal.formosa import judging
from twlocal.formosa.asked import AskerRow
from twlocal.formosa.asking import Answers, Asker, Desk, ask
from twlocal.formosa.judging import Verdict
from twlocal.formosa.stored import Build, Builds


@dataclass(frozen=True)
class Grounded:
    """What a judge says of the build's items. counts: approved items, and the others by reason."""

    answers: Answers
    counts: Mapping[str, int]


def ground_items(builds: Builds, build: Build, who: Asker, desk: Desk, *, uncalibrated: bool = False) -> Grounded:
    """Ask a judge about every item that it has not judged, and store its verdicts.

    Raises UsageError for a judge that has not passed a calibration, unless `uncalibrated`, and before screening;
    TwlocalError where asking had to stop: what was stored stays.
    """
    if not uncalibrated:
        _check_calibrated(builds, who)
    items = builds.items(build)
    if not items and not builds.screened(build) and not builds.faults(build):
        raise UsageError(f"{build.name} has no items yet", hint="twlocal formosa screen and permute make them")
    windows = {window.hash: window.text for window in builds.windows(build)}
    prompts = {
        stored.id: judging.question(who.prompt, windows[stored.draft.window], item.question, item.options, item.answer)
        for stored, _, item in items
    }
    answers = ask(who, prompts.values(), desk)
    found = []
    for stored, _, item in items:
        record = answers.of(prompts[stored.id])
        if record is not None:
            found.append((stored.id, item.content_hash, record.content_hash, judging.verdict(record)))
    builds.add_asker(build, who)
    builds.put_verdicts(who.key, found)
    counts = Counter(said.objection or "grounded" for _, _, _, said in found)
    return Grounded(answers, dict(sorted(counts.items())))


def judged(
    builds: Builds, build: Build, judge: str | None, *, otherwise: str = ""
) -> tuple[AskerRow, dict[int, Verdict]]:
    """The judge of this name (or beginning of one), or the only one, with its verdicts by draft id.

    Raises UsageError where there is none, or more than one; `otherwise` is added to the way out.
    """
    known = [
        (one, verdicts) for one in builds.askers(build, "judge") if (verdicts := builds.verdicts(build, one.asker))
    ]
    found = [pair for pair in known if judge is None or pair[0].name.startswith(judge)]
    if len(found) == 1:
        return found[0]
    if not known:
        raise UsageError(
            f"no judge has looked at the items of {build.name}", hint=f"twlocal formosa ground MODEL{otherwise}"
        )
    names = ", ".join(one.name for one, _ in known)
    said = f"{judge!r} is none of the judges" if judge and not found else "several judges have looked at the items"
    raise UsageError(f"{said} of {build.name}", hint=f"--judge NAME, one of: {names}")


def _check_calibrated(builds: Builds, who: Asker) -> None:
    passed = builds.calibration(who.key)
    if passed:
        return
    # The key covers the engine's settings and the budget: a judge under others is another judge.
    what = "has not been calibrated" if passed is None else "did not pass its calibration"
    raise UsageError(
        f"{who.name} {what}: nobody knows what it would let through",
        hint="twlocal formosa calibrate MODEL, with the same options; or --uncalibrated, which the card then says",
    )
