"""`twlocal exam`: the Ministry of Examination's papers → tw-exam-bench, stage by stage."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.cli.audit import against_option, finish, read_verdicts, verdicts_option
from twlocal.cli.common import Stages, json_option, note, out
from twlocal.cli.dataset_options import dataset_options, load_dataset
from twlocal.cli.exam_fetch import fetch
from twlocal.cli.exam_options import build_db, opened_ledger, text_of
from twlocal.cli.exam_review import review
from twlocal.errors import UsageError

if TYPE_CHECKING:
    from twlocal.exam.ledger import Ledger
    from twlocal.exam.parsing import Step


@click.group(cls=Stages)
def exam() -> None:
    """Build tw-exam-bench from the Ministry of Examination's papers.

    \b
    twlocal exam fetch PAGE -o papers/  download what a search page lists
    twlocal exam parse papers/          read question papers, keys, corrections
    twlocal exam subjects               see what the titles lead to
    twlocal exam build bench/           filter, fold, publish
    twlocal exam check bench/           derive its accounting again
    twlocal exam audit                  compare the keys of re-printed questions
    twlocal exam review --by ME         see items beside their page, and judge

    Each stage goes on where it stopped.
    """


exam.add_command(fetch)
exam.add_command(review)


@exam.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--manifest",
    type=click.Path(dir_okay=False, path_type=Path),
    help="JSON or CSV with id, question, answer, correction for each paper.  [default: DIR/manifest.json or .csv, "
    "else files named ID__Q.pdf, ID__A.pdf, ID__M.pdf]",
)
@click.option("--jobs", "-j", type=click.IntRange(1), help="Papers read at once.  [default: one a core]")
@click.option("--ray-address", metavar="ADDRESS", help="Read on this Ray cluster: HOST:PORT, or auto.  (extra: ray)")
@click.option("--seconds", type=click.FloatRange(1), default=30.0, show_default=True, help="Time limit for a document.")
@click.option(
    "--megabytes", type=click.IntRange(256), default=2048, show_default=True, help="Memory limit of a reader."
)
@build_db
@json_option
def parse(
    folder: Path,
    manifest: Path | None,
    jobs: int | None,
    ray_address: str | None,
    seconds: float,
    megabytes: int,
    database: Path,
    as_json: bool,
) -> None:
    """Read the papers in DIR: questions, keys, corrections. What cannot be read with confidence is rejected.

    A document is read once; what was read with another version of the parser is read again.
    """
    from twlocal.exam import extra

    extra.needed()  # told before anything is written
    from twlocal.exam import parsing
    from twlocal.exam.limits import Limits
    from twlocal.exam.listing import discover

    listed = discover(folder, manifest)
    limits = Limits(seconds, megabytes)
    with ExitStack() as stack:
        read: dict[str, Any] = {"jobs": jobs or _cores()}
        if ray_address is not None:
            from twlocal.exam.spread import Spread

            spread = stack.enter_context(Spread(ray_address))
            read = {"jobs": jobs or spread.jobs, "run": spread.run_all}
        ledger = stack.enter_context(opened_ledger(database, create=True))
        parsing.parse(ledger, listed, limits=limits, watch=stack.enter_context(_watcher()), **read)
        told = _parsed(ledger)
    out(json.dumps(told, ensure_ascii=False, indent=1) if as_json else _parsed_lines(told))


def _parsed(ledger: Ledger) -> dict[str, Any]:
    papers = ledger.papers()
    rejected: dict[str, list[str]] = {}
    for paper in papers:
        if paper.reasons:
            rejected.setdefault(paper.reasons[0].reason, []).append(paper.name)
    return {
        "papers": len(papers),
        "parsed": sum(paper.state == "paired" for paper in papers),
        "rejected": dict(sorted(rejected.items(), key=lambda one: (-len(one[1]), one[0]))),
        "items": ledger.item_count(),
        "documents": {f"{kind} {state}": n for (kind, state), n in sorted(ledger.document_states().items())},
        "flags": {paper.name: list(paper.flags) for paper in papers if paper.flags},
    }


def _parsed_lines(told: dict[str, Any]) -> str:
    from twlocal.exam.model import REJECTIONS

    lines = [f"papers seen / parsed: {told['papers']:,} / {told['parsed']:,}, with {told['items']:,} items"]
    for reason, names in told["rejected"].items():
        says = f" ({REJECTIONS[reason]})" if reason in REJECTIONS else ""
        shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        lines.append(f"  rejected, {reason}{says}: {len(names):,}: {shown}")
    return "\n".join(lines)


@exam.command()
@click.option(
    "--titles",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="A CSV of titles (subject_title, catalog_rows) instead of the parsed papers.",
)
@click.option("--keyed", is_flag=True, help="With --titles: all of these papers have an answer key.")
@click.option("--list", "listing", is_flag=True, help="Print every title with its subject, tab-separated.")
@build_db
@json_option
def subjects(titles: Path | None, keyed: bool, listing: bool, database: Path, as_json: bool) -> None:
    """Say what the papers' titles examine: how many lead to one of the 148 subjects, and which ones no rule knows."""
    from twlocal.exam import titles as stage
    from twlocal.exam.subjects import Rules

    if titles is not None:
        counts = stage.read_titles(text_of(titles), str(titles))
    else:
        with opened_ledger(database, create=False) as ledger:
            counts = stage.counted(paper.subject_title for paper in ledger.papers() if paper.state == "paired")
    found = stage.coverage(counts, Rules.load(), keyed=keyed or titles is None)
    if as_json:
        rows = [
            {
                "title": one.title,
                "papers": one.papers,
                "subject": one.match.subject,
                "field": one.match.field,
                "exclusion": one.match.exclusion,
                "rule": one.match.rule,
            }
            for one in found.titles
        ]
        out(
            json.dumps({"papers": found.papers, "matched": found.matched, "titles": rows}, ensure_ascii=False, indent=1)
        )
        return
    if listing:
        for one in found.titles:
            out(
                f"{one.papers}\t{one.match.subject or one.match.exclusion or '?'}\t{one.match.field or ''}\t{one.title}"
            )
        return
    lines = [f"papers: {found.papers:,}; one subject: {found.matched:,}{_share(found.matched, found.papers)}"]
    lines += [f"  excluded, {name}: {n:,}" for name, n in found.excluded.items()]
    unknown = sum(one.papers for one in found.unknown)
    lines.append(f"  no rule knows the title: {unknown:,}{_share(unknown, found.papers)}")
    lines += [f"    {one.papers:,}  {one.title or '(no title)'}" for one in found.unknown]
    out("\n".join(lines))


def _share(part: int, whole: int) -> str:
    return f" ({part / whole:.2%})" if whole else ""


@exam.command()
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@click.option(
    "--disjoint-from",
    multiple=True,
    metavar="DATASET",
    help="Leave out questions that this dataset has, such as TMMLU+.",
)
@dataset_options
@build_db
@json_option
def build(target: Path, disjoint_from: tuple[str, ...], database: Path, as_json: bool, **options: Any) -> None:
    """Filter, fold re-printings, and write the benchmark to the folder OUT, with its card and its accounting."""
    from twlocal.audit.fingerprint import of_item
    from twlocal.exam import accounting, publish, version
    from twlocal.exam.decide import decide
    from twlocal.exam.ledger import distinct
    from twlocal.exam.subjects import Rules

    rules = Rules.load()
    elsewhere: dict[str, str] = {}
    others = []
    for name in disjoint_from:
        other = load_dataset(name, options)
        # Not the path by which this machine knows it: the same data give the same bytes everywhere.
        shown = name if "://" in name else Path(name).name
        others.append(publish.Other(shown, other.revision, other.fingerprint, len(other.items)))
        for item in other.items:
            elsewhere.setdefault(of_item(item), shown)
    with opened_ledger(database, create=False) as ledger:
        if left := ledger.unread(version.parser()):
            raise UsageError(f"{left:,} documents or papers are not read yet", hint="twlocal exam parse DIR goes on")
        papers = distinct(ledger.papers())
        used = {paper.name for paper in papers if paper.state == "paired"}
        candidates = (one for one in ledger.candidates() if one.paper in used)
        fates = list(decide(candidates, rules, elsewhere=elsewhere, decisions=ledger.decisions()))
        ledger.store_fates(fates)
        found = publish.write(target, papers, fates, rules, others)
    if as_json:
        counts = {"papers_seen": found.seen, "papers_parsed": found.parsed, "papers_rejected": dict(found.rejected)}
        out(json.dumps(counts | accounting.as_json(found.items), ensure_ascii=False, indent=1))
        return
    rows = accounting.table(found)
    width = max(len(stage) for stage, _ in rows)
    out("\n".join(f"{stage:<{width}}  {count:>15}" for stage, count in rows))
    note(f"written to {target}; ask a model with: twlocal run MODEL --bench {target / 'parquet'}")


@exam.command()
@click.argument("target", metavar="OUT", type=click.Path(exists=True, file_okay=False, path_type=Path))
def check(target: Path) -> int:
    """Derive the accounting of the build in OUT again, and compare it and every file with the manifest."""
    from twlocal.exam import accounting, publish

    wrong = publish.check(target)
    for line in wrong:
        out(line)
    if wrong:
        note(f"{len(wrong)} things are wrong with {target}")
        return 1
    found = publish.rederived(target)
    out("\n".join(f"{stage}: {count}" for stage, count in accounting.table(found)))
    note("every file is the one that was built, and every number can be derived again")
    return 0


@exam.command()
@against_option
@verdicts_option
@dataset_options
@build_db
@json_option
def audit(against: tuple[str, ...], table: Path | None, database: Path, as_json: bool, **options: Any) -> None:
    """Compare the keys of re-printed questions in the last build: agreement, and every conflict.

    What counts are the printings that pass the filters, folded ones included.
    """
    from twlocal.audit.report import audit as made
    from twlocal.exam.printings import printings

    with opened_ledger(database, create=False) as ledger:
        items = printings(ledger.candidates(), ledger.fates())
    if not items:
        raise UsageError("nothing is built in this database yet", hint="twlocal exam build OUT")
    others = {name: load_dataset(name, options).items for name in against}
    finish(made({"": items}, against=others, verdicts=read_verdicts(table)), table, as_json)


@exam.command()
@click.argument("row", metavar="ID")
@click.option("--reason", required=True, help="Why, in a sentence; it is published with the withdrawal.")
@click.option("--by", "who", required=True, help="Who decided.")
@click.option("--keep", is_flag=True, help="Keep the row although a rule of the second pass withdraws it.")
@build_db
def withdraw(row: str, reason: str, who: str, keep: bool, database: Path) -> None:
    """Withdraw a published row by its id or content hash; the next build lists it in withdrawn.jsonl."""
    from twlocal.exam.review.decided import Decided

    with opened_ledger(database, create=False) as ledger:
        fates = ledger.fates()
        found = {
            hashed
            for (paper, number), (_, fate, hashed) in fates.items()
            if fate in ("published", "withdrawn")
            and (row == f"{paper}-{number:03d}" or (len(row) >= 12 and hashed.startswith(row)))
        }
        if len(found) != 1:
            how_many = f"{len(found)} published rows" if found else "no published row"
            raise UsageError(f"{row} names {how_many}", hint="the id or the content hash of a row")
        action = "keep" if keep else "withdraw"
        at = datetime.now(UTC).isoformat(timespec="seconds")
        Decided(ledger).decide(found.pop(), action, reason.strip(), who.strip(), at)
    note("noted; twlocal exam build OUT applies it")


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1


@contextmanager
def _watcher() -> Iterator[Callable[[Step], None]]:
    """A bar a phase on a terminal, one line a phase elsewhere."""
    if not sys.stderr.isatty():
        yield _say_ends
        return
    from tqdm import tqdm

    bars: dict[str, tqdm[Any]] = {}

    def show(step: Step) -> None:
        if step.what not in bars:
            for bar in bars.values():
                bar.close()
            bars[step.what] = tqdm(total=step.total, desc=step.what, unit="", file=sys.stderr)
        bars[step.what].update(step.done - bars[step.what].n)

    try:
        yield show
    finally:
        for bar in bars.values():
            bar.close()


def _say_ends(step: Step) -> None:
    if step.done == step.total:
        note(f"{step.what}: {step.done:,}")
