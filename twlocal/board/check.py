"""Whether a site states what its rows give: everything in it is made again, and compared byte by byte.

The rows and what is stated of them (model, protocol, engine, date) are what a site is made from; nothing vouches for
them but the bundle they came in, and the history, whose last state has to be what they give.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from twlocal.board import board as boards
from twlocal.board import build, cells, history, pages, protocols, site, source
from twlocal.bundle import readings
from twlocal.bundle.strict import Malformed, parse
from twlocal.bundle.verify import Finding

_SHOWN = 5  # findings of one file


def check(folder: Path) -> list[Finding]:
    """What does not hold in the site in `folder`, and where; nothing for a sound one."""
    try:
        index = site.read_index(folder)
    except Malformed as error:
        return [Finding(site.INDEX, str(error))]
    if index is None:
        return [Finding(str(folder), f"holds no {site.INDEX}: it is no board, or was only half built")]
    found = [
        Finding(name, "is not listed in site.json: no build of this board wrote it")
        for name in site.others(folder, index)
    ]
    try:
        whole = source.read(folder)
    except source.SiteDamaged as error:
        return [*found, Finding(source.SITE, error.message)]
    found += _sources(whole)
    board = boards.make(whole)
    try:
        entries = history.read(source.text(folder, history.NAME))
    except (source.SiteDamaged, history.HistoryDamaged) as error:
        return [*found, Finding(history.NAME, error.message)]
    found += _last_state(board, entries)
    files = build.everything(board, entries)
    for name, text in {**site.FIXED, **files}.items():
        found += _compared(folder, name, text)
    stated = set(index.files)
    made = pages.pages(board, entries, files)
    expected = {*site.FIXED, *files, *(page.name for page in made)}
    found += [
        Finding(name, "is listed in site.json, and belongs to nothing on the board")
        for name in sorted(stated - expected)
    ]
    found += [Finding(name, "is not listed in site.json") for name in sorted(expected - stated)]
    if index.templates != pages.templates():
        why = f"its pages were made by another twlocal ({index.twlocal}): build it again, so that they can be compared"
        return [*found, Finding(site.INDEX, why)]
    for page in made:
        text = page.make()
        found += _compared(folder, page.name, text)
        if index.files.get(page.name, ("", ""))[1] != page.made_from:
            found.append(Finding(site.INDEX, f"states that {page.name} was made from something else"))
    for name in sorted(stated & expected):
        if site.sha_of(folder / name) != index.files[name][0]:
            found.append(Finding(site.INDEX, f"states another checksum of {name}"))
    return found


def _sources(whole: cells.Site) -> Iterator[Finding]:
    """Rows that no reading gives, and protocols that are not what they state."""
    for sha256, said in whole.protocols.items():
        place = f"data/protocols/{sha256[:16]}.json"
        told = protocols.contradictions(sha256, said)
        yield from (Finding(place, one) for one in told)
        if not told and said["publishable"]:
            ours = protocols.bundled(said["name"], sha256, said["decoding"]["max_tokens"])
            if ours is None or not ours.publishable:
                yield Finding(place, "is stated as publishable, and is none of the published protocols")
    for cell in whole.cells:
        place = source.rows_file(cell)
        meta = cell.meta
        yield from (Finding(place, one) for one in cells.contradictions(cell.columns, meta.reader))
        if not cells.tells(cell.columns, "box") and not cells.tells(cell.columns, "board"):
            yield Finding(place, "tells none of the board's readings")
        told_by = whole.protocols.get(meta.protocol_sha256)
        if told_by is not None:
            said = told_by
            for name, stated, own in (("name", meta.protocol, said["name"]), ("reader", meta.reader, said["reader"])):
                if stated and stated != own:
                    yield Finding(place, f"states the protocol's {name} as {stated}, and the protocol is {own}")
            if not said["publishable"] and "protocol" not in meta.marks:
                yield Finding(
                    place, f"was measured under {said['name']}, which is not publishable, and is not marked so"
                )
        if meta.quantised and "quantised" not in meta.marks:
            yield Finding(place, "is quantised, and is not marked so")


def _last_state(board: boards.Board, entries: list[history.Entry]) -> Iterator[Finding]:
    for change in history.changes(history.replay(entries), boards.state(board))[: 4 * _SHOWN]:
        what = {
            "added": "is on the board, and the history never published it",
            "removed": "was published, and is not on the board any more",
            "changed": f"differs from what the history published last ({', '.join({*change.before, *change.now})})",
        }[change.what]
        yield Finding(history.NAME, f"{change.key or 'the board'} {what}")


def _compared(folder: Path, name: str, text: str) -> Iterator[Finding]:
    """How a file differs from what the rows give."""
    try:
        there = source.text(folder, name)
    except source.SiteDamaged as error:
        yield Finding(name, error.message.removeprefix(f"{name} "))
        return
    if there == text:
        return
    told = list(_told(there, text, name))
    yield from (Finding(where, what) for where, what in told[:_SHOWN])
    if len(told) > _SHOWN:
        yield Finding(name, f"and {len(told) - _SHOWN:,} more differences")


def _told(there: str, text: str, name: str) -> Iterator[tuple[str, str]]:
    if name.endswith(".json"):
        try:
            differences = readings.differences(parse(there), parse(text))
        except Malformed as error:
            yield name, str(error)
            return
        yield from ((name, one) for one in differences)
        if not differences:
            yield name, "says the same in other bytes than a build writes"
        return
    ours, theirs = text.split("\n"), there.split("\n")
    for number, (one, other) in enumerate(zip(theirs, ours, strict=False), 1):
        if one != other:
            at = next(
                (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
            )
            yield f"{name}:{number}", f"says {_around(one, at)}, and the rows give {_around(other, at)}"
    if len(ours) != len(theirs):
        yield name, f"has {len(theirs):,} lines, and the rows give {len(ours):,}"


def _around(line: str, at: int) -> str:
    start = max(0, at - 30)
    return repr(line[start : at + 30])
