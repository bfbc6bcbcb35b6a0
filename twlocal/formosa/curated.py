"""Where candidates of a band come from, and where a frozen one goes: the database, and a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twlocal.errors import UsageError
from twlocal.formosa.curate import Candidate, Frozen
from twlocal.formosa.grounded import judged
from twlocal.formosa.recut import DIFFICULTY, MANIFEST
from twlocal.formosa.tables import Tables
from twlocal.plural import counted
from twlocal.whole import whole

if TYPE_CHECKING:
    from twlocal.formosa.stored import Build, Builds


class Curations(Tables):
    """The frozen bands in a database (see db/migrations/0007_curations.sql)."""

    @classmethod
    def beside(cls, tables: Tables) -> Curations:
        """The frozen bands in the database of other tables, open as long as they are."""
        return cls(tables._db, tables._path)

    def freeze(self, build: Build, frozen: Frozen) -> None:
        """Store a band. The same one again changes nothing. Raises UsageError where its name stands for another."""
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO formosa_curations (build_id, name, manifest, difficulty) VALUES (?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                (build.id, frozen.name, frozen.manifest, frozen.difficulty),
            )
            there = connection.execute(
                "SELECT manifest, difficulty FROM formosa_curations WHERE build_id = ? AND name = ?",
                (build.id, frozen.name),
            ).fetchone()
        if there != (frozen.manifest, frozen.difficulty):
            raise _other(frozen.name)

    def texts(self, build: Build, name: str | None = None) -> tuple[str, str] | None:
        """The manifest and the sidecar of the frozen band of this name, or of the build's last one; None for none.

        Raises UsageError where there is no band of that name.
        """
        rows = self._rows(
            "SELECT name, manifest, difficulty FROM formosa_curations WHERE build_id = ? ORDER BY id", (build.id,)
        )
        found = [(row[1], row[2]) for row in rows if name in (None, row[0])]
        if name is not None and not found:
            known = ", ".join(row[0] for row in rows)
            raise UsageError(
                f"{build.name} has no band named {name}",
                hint=f"there are: {known}" if known else "twlocal formosa curate freezes one",
            )
        return found[-1] if found else None


def _other(name: str) -> UsageError:
    return UsageError(
        f"a band named {name} is frozen already, and it is another one",
        hint="a frozen band stays as it is: give this one another --name",
    )


@dataclass(frozen=True)
class Base:
    """Candidates, and what a manifest tells of where they come from."""

    candidates: tuple[Candidate, ...]
    told: dict[str, Any]


def of_build(builds: Builds, build: Build, judge: str | None, *, ungrounded: bool = False) -> Base:
    """The items of a build that a judge found grounded; with `ungrounded`, all of them.

    judge: a name, or the beginning of one, of those who judged the build; None where only one did. Raises UsageError.
    """
    items = [(stored, item) for stored, _, item in builds.items(build)]
    if not items:
        raise UsageError(f"{build.name} has no items yet", hint="twlocal formosa screen and permute make them")
    told: dict[str, Any] = {"build": build.name, "corpus": build.corpus}
    if not ungrounded:
        row, verdicts = judged(builds, build, judge, otherwise="; or --ungrounded takes all items as they are")
        if unjudged := sum(stored.id not in verdicts for stored, _ in items):
            raise UsageError(
                f"{row.name} has not judged {unjudged:,} of {counted(len(items), 'item')} of {build.name}",
                hint="the same `twlocal formosa ground` goes on",
            )
        items = [(stored, item) for stored, item in items if verdicts[stored.id].approves]
        told["judge"] = row.name
    found = {item.content_hash: Candidate(item.content_hash, one.draft.window, one.source) for one, item in items}
    if not found:
        raise UsageError(f"no item of {build.name} is grounded")
    return Base(tuple(found.values()), told)


def of_dataset(name: str) -> Base:
    """Every item of a dataset: a file, a folder, or a Hub dataset. Raises UsageError."""
    from twlocal import dataset

    loaded = dataset.load(name)
    found = {item.content_hash: Candidate(item.content_hash) for item in loaded.items}
    told = {"dataset": loaded.name, "revision": loaded.revision, "fingerprint": loaded.fingerprint}
    return Base(tuple(found.values()), told)


def write(folder: Path, frozen: Frozen) -> None:
    """Write a band's two files. The same ones again change nothing.

    Raises UsageError where another band is frozen there, or the place cannot be written to.
    """
    texts = {DIFFICULTY: frozen.difficulty, MANIFEST: frozen.manifest}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        manifest = folder / MANIFEST
        if manifest.exists() and manifest.read_bytes() != frozen.manifest.encode("utf-8"):
            raise _other(f"in {folder}")
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror or error}", hint="name another folder") from error
    # The manifest last: where it stands, the sidecar that it names stands beside it.
    for name, text in texts.items():
        with whole(folder / name) as part:
            part.write_bytes(text.encode("utf-8"))
