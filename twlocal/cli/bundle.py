"""`twlocal bundle`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from twlocal.bundle.words import marked
from twlocal.cli.common import db_option, note, out

if TYPE_CHECKING:
    from collections.abc import Callable

    from twlocal.dataset import Dataset
    from twlocal.plan import Wish


@click.command()
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="A .tar.gz, .tgz or .zip file, or a new folder.  [default: the first run's name, as .tar.gz]",
)
@click.option(
    "--full/--private",
    "full",
    default=None,
    help="With every response (and every question that is public), or without a word of either.  "
    "[default: --full, but --private where a run's questions are private]",
)
@click.option("--bench", help="Compare with this dataset instead of the one that the run names.")
@click.option("--allow-quantised", is_flag=True, help="Bundle scores of quantised weights too, so marked.")
@click.option("--allow-unpublishable", is_flag=True, help="Bundle runs under other protocols too, so marked.")
@click.option("--allow-deviations", is_flag=True, help="Bundle runs whose engine decoded otherwise too, so marked.")
@click.option("--allow-private-text", is_flag=True, help="With --full: responses to private questions too, so marked.")
@db_option
def bundle(names: tuple[str, ...], **options: Any) -> None:
    """Write finished runs as a bundle that another machine can verify: the board exchange format with its provenance.

    Each run is checked first: complete, of today's questions, at native precision, under a published protocol. The
    same runs always give the same bytes. No name of a person or machine, no path, address or key goes in.
    """
    from twlocal.bundle import write
    from twlocal.bundle.eligible import Allowed
    from twlocal.bundle.stored import opened

    with opened(options["database"], create=False, warn=note) as (runs, stored):
        chosen = list({row.id: row for row in map(runs.get, names)}.values())
        full = options["full"] if options["full"] is not None else not any(row.private for row in chosen)
        target: Path = options["output"] or Path(f"{chosen[0].name}.tar.gz")
        written = write.bundle(
            runs,
            stored,
            chosen,
            target,
            full=full,
            allowed=Allowed(
                quantised=options["allow_quantised"],
                unpublishable=options["allow_unpublishable"],
                deviations=options["allow_deviations"],
                private_text=options["allow_private_text"],
            ),
            load=_loader(options["bench"]),
        )
    for name, marks in written.marks.items():
        note(f"{name}{marked(marks) or ', no mark'}")
    for line in written.notes:
        note(line)
    note("with every response" if written.full else "without questions and responses")
    note(f"checksum {written.digest}: whoever verifies it should see the same")
    out(str(target))


def _loader(bench: str | None) -> Callable[[Wish], Dataset | None]:
    """How a run's dataset is read as it is today: the one named, else the run's own where it can be reached."""
    import os

    from twlocal import dataset
    from twlocal.errors import DatasetError, EngineMissing

    token = os.environ.get("HF_TOKEN") or None

    def load(wish: Wish) -> Dataset | None:
        settings = dict(wish.data)
        if bench is not None:
            return dataset.load(bench, private=wish.private, token=token, **settings)
        known = dataset.bench(wish.bench)
        source = known.source if known else wish.bench
        remote = source.startswith("hf://")
        if known is None and not remote and not (Path(wish.bench).is_absolute() and Path(wish.bench).exists()):
            return None
        try:
            return dataset.load(wish.bench, private=wish.private, token=token, **settings)
        except (DatasetError, EngineMissing):
            if remote:
                return None
            raise

    return load
