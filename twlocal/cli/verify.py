"""`twlocal verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.bundle.words import marked
from twlocal.cli.common import json_option, note, out
from twlocal.cli.dataset_options import dataset_options
from twlocal.plural import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from twlocal.bundle.loose import Loose
    from twlocal.bundle.verify import Verified


@click.command()
@click.argument("path", metavar="DIR|FILE", type=click.Path(path_type=Path))
@click.option("--bench", help="Compare the item set with this dataset: none missing, none too many.")
@click.option(
    "--withdrawn",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Rows that are drawn and not scored, beside those that --bench lists: withdrawn.jsonl, or content hashes, one "
    "a line.",
)
@click.option(
    "--max-size",
    type=click.FloatRange(0, min_open=True),
    default=4,
    show_default=True,
    metavar="GIB",
    help="Refuse an archive that unpacks to more.",
)
@json_option
@dataset_options
def verify(path: Path, **options: Any) -> int:
    """Check somebody's bundle: everything in it that can be made again is made again and compared.

    FILE is a bundle (.tar.gz, .tgz or .zip), DIR an unpacked one or a public runner's results folder. Checksums, every
    number from the rows, every response under today's readers, marks and provenance from the manifest, and with --bench
    the item set. Of a public runner's folder, which vouches for little, what can be checked is.
    Ends with 1 when anything does not hold.
    """
    import json

    from twlocal.bundle import loose, unpack, write
    from twlocal.bundle.verify import Finding, Verified
    from twlocal.bundle.verify import verify as check
    from twlocal.dataset import withdrawals

    dataset = None
    if options["bench"]:
        from twlocal.cli.dataset_options import load_dataset

        dataset = load_dataset(options["bench"], options)
    listed = withdrawals.read(options["withdrawn"]) if options["withdrawn"] else {}
    withdrawn = listed.keys() | (dataset.withdrawn.keys() if dataset is not None else frozenset())
    results: list[Loose] = []
    try:
        with unpack.opened(path, limit=int(options["max_size"] * (1 << 30))) as folder:
            root = unpack.root(folder, write.NAME)
            if root is not None:
                found = check(root, dataset=dataset, withdrawn=withdrawn)
            else:
                items = None if dataset is None else [i for i in dataset.items if i.content_hash not in withdrawn]
                findings, results = loose.check(folder, items)
                if not results:
                    findings = [Finding(str(path), f"is no bundle: it holds neither {write.NAME} nor rows of results")]
                found = Verified(tuple(findings), (), False, "")
    except unpack.Refused as error:
        found = Verified((Finding("refused", error.message),), (), False, "")
    out(
        json.dumps(_as_dict(found), ensure_ascii=False, indent=1)
        if options["as_json"]
        else "\n".join(_told(found, results))
    )
    if not found.clean:
        count = len(found.findings)
        note(f"{counted(count, 'finding')}: {path} does not hold together")
    return 0 if found.clean else 1


def _told(found: Verified, results: Sequence[Loose]) -> list[str]:
    lines = [f"finding: {finding}" for finding in found.findings]
    for one in found.runs:
        if one.run is None:
            continue
        score = one.entry["summary"]["score"]
        marks = marked(one.entry["marks"])
        lines.append(f"{one.name}: {one.run.model} on {one.run.bench}{marks}")
        lines.append(f"  {one.run.protocol} {_score(score)}")
        if one.compared is not None:
            gone = f", {len(one.compared.withdrawn):,} withdrawn" if one.compared.withdrawn else ""
            lines.append(f"  item set: {one.compared}{gone}")
    for result in results:
        repeated = f", {result.repeated:,} with the hash of another" if result.repeated else ""
        lines.append(f"{result.name}: {result.ok:,} of {result.n:,} right{repeated}")
    if results:
        return [*lines, f"{'clean' if found.clean else 'NOT CLEAN'} (rows without a checksum, taken at their word)"]
    if not found.runs:
        return [*lines, "NOT CLEAN"]
    kind = "with responses, each read again" if found.full else "without responses: its rows are taken at their word"
    lines.append(f"{'clean' if found.clean else 'NOT CLEAN'} ({kind}); checksum {found.digest}")
    return lines


def _score(score: Mapping[str, Any]) -> str:
    if score["accuracy"] is None:
        return "no row"
    low, high = score["interval"]
    interval = f"95% CI {100 * low:.1f}–{100 * high:.1f}, n = {score['n']:,}"
    return f"strict {100 * score['accuracy']:.1f}% ({interval}), box rate {100 * score['box_rate']:.1f}%"


def _as_dict(found: Verified) -> dict[str, Any]:
    return {
        "clean": found.clean,
        "full": found.full,
        "checksum": found.digest,
        "findings": [{"where": finding.where, "what": finding.what} for finding in found.findings],
        "runs": [
            dict(one.entry)
            | {
                "name": one.name,
                "items": None
                if one.compared is None
                else {
                    "missing": list(one.compared.missing),
                    "extra": list(one.compared.extra),
                    "withdrawn": list(one.compared.withdrawn),
                },
            }
            for one in found.runs
        ],
    }
