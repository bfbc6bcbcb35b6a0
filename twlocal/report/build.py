"""A run in the store → the RunView that every kind of report shows."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from twlocal.errors import UsageError
from twlocal.report.view import RunView
from twlocal.runs import RunRow, Runs
from twlocal.score import score


def build(runs: Runs, run: RunRow, *, reader: str | None = None, withdrawn: AbstractSet[str] = frozenset()) -> RunView:
    """Score a run's stored responses, under its protocol's reader or another one.

    `withdrawn` are content hashes of rows that are not to be scored, beside those that the run did not ask because they
    were withdrawn when it began. Raises UsageError where these are all of them.
    """
    protocol, decoding = run.manifest["protocol"], run.manifest["decoding"]
    sittings = runs.sittings(run.id)
    last = sittings[-1] if sittings else None
    planned = runs.planned(run.id, withdrawn)
    since = run.rows - sum(planned.values())
    if since and since == run.rows:
        raise UsageError(
            f"every row of {run.name} is withdrawn, so there is nothing to score",
            hint="look at the list of withdrawn rows",
        )
    quantised = [sitting.engine_info.get("quantised") for sitting in sittings]
    return RunView(
        run=run.name,
        model=run.model,
        revision=run.manifest["identity"]["model"]["revision"],
        bench=run.bench,
        protocol=run.protocol,
        protocol_title=protocol["title"],
        protocol_sha256=protocol["sha256"],
        publishable=protocol["publishable"],
        why_not=protocol["why_not"],
        # Not in the manifests of runs made before there were Chinese ones.
        protocol_reader=protocol["reader"],
        protocol_title_zh=protocol.get("title_zh", ""),
        why_not_zh=protocol.get("why_not_zh", ""),
        backend=run.backend,
        engine=last.engine if last else "",
        engine_version=", ".join(dict.fromkeys(sitting.engine_version for sitting in sittings)),
        quantised=True if True in quantised else quantised[-1] if quantised else None,
        started=run.created_at,
        seconds=sum(sitting.seconds for sitting in sittings),
        sittings=len(sittings),
        max_tokens=decoding["max_tokens"],
        temperature=decoding["temperature"],
        stop_at_box=any(sitting.engine_info.get("sent", {}).get("stop_at_box") for sitting in sittings),
        score=score(
            (one for one in runs.records(run.id) if one.content_hash not in withdrawn),
            planned,
            reader or protocol["reader"],
            runs.failures(run.id, withdrawn),
            repeats=run.repeats,
            withdrawn=len(run.manifest["sample"].get("withdrawn", ())) + since,
            withdrawn_since=since,
            max_tokens=decoding["max_tokens"],
            temperature=decoding["temperature"],
        ),
    )
