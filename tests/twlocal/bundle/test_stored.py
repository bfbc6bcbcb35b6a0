"""Imported rows as they are read back."""

from pathlib import Path

import pytest

from twlocal.bundle.stored import FACT, FIELD, Packed, Result, ResultRow, opened


@pytest.mark.parametrize("held", ["民法", f"民{FIELD}法", "民\x1e法"])
def test_rows_are_packed_by_column(tmp_path: Path, held: str) -> None:
    rows = [
        ResultRow(ch="a", qh="b", subject=held, ok=True, boxp=False, lenp=True),
        ResultRow(repeat=1, ch="c", correct=True, lenient_correct=True, wrote_box=True, parsed=True, truncated=True),
    ]
    with opened(tmp_path / "results.db", create=True) as (_, stored):
        stored.add_result(Result("one", "runner", "made", "model", "exam", rows), at="2026-11-30T00:00:00.000000Z")
        (there,) = stored.results()
        found = stored.packed(there.id)
    assert there.n == 2
    # Left out in the second row: what the exchange format tells, and one of twlocal's own readings.
    facts = f"{FACT + 5 + 16 * 32 + 1024 * 2}{FACT + 8 + 16 * 32 + 1024}"
    columns = ("a", "c"), ("b", ""), (held.replace(FIELD, " "), ""), ("0", "1")
    assert found == Packed(tuple(map(FIELD.join, columns)), facts)  # type: ignore[arg-type]


def test_a_result_without_rows_has_none(tmp_path: Path) -> None:
    with opened(tmp_path / "results.db", create=True) as (_, stored):
        stored.add_result(Result("none", "runner", "made", "model", "exam", []), at="2026-11-30T00:00:00.000000Z")
        (there,) = stored.results()
        assert there.n == 0
        assert stored.packed(there.id) == Packed(("", "", "", ""), "")
