"""A site in which anything was changed is refused, and the file is named."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from twlocal.board.check import check
from twlocal.board.source import pretty

SLUG = "google_gemma-3-27b-it"


def edit(path: Path, old: str, new: str, count: int = 1) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{old!r} is not in {path}"
    path.write_text(text.replace(old, new, count), encoding="utf-8")


def sign(site: Path) -> None:
    """Make the checksums in site.json fit again, as somebody who tampers would."""
    index = json.loads((site / "site.json").read_text(encoding="utf-8"))
    for name, said in index["files"].items():
        said["sha256"] = hashlib.sha256((site / name).read_bytes()).hexdigest()
    text = json.dumps(index, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    (site / "site.json").write_text(text, encoding="utf-8")


def test_a_built_site_holds(box_site, exchange_site):
    assert check(box_site) == [] and check(exchange_site) == []


def test_what_comes_back_from_a_file_is_written_as_it_was():
    # The worked examples of a protocol are a tuple when a site is built, and a list when it is checked.
    protocol = {"examples": ({"question": "問", "reply": "答"}, {"question": "問", "reply": "答"}), "name": "box-2shot"}
    assert pretty(json.loads(pretty(protocol))) == pretty(protocol)


# A place in each kind of file: the group is a number, whose first digit is changed.
PLACES = {
    "index.html": r'data-value="0\.\d+">(\d\d)\.',
    f"models/{SLUG}.html": r"<b>(\d\d)\.\d",
    "subjects/exam/民法.html": r'<td class="num">(\d\d)\.\d%',
    "subjects.html": r'<td class="num">(\d\d)\.\d%',
    "ranks.html": r'<td class="num">(\d+)</td>',
    "axes.html": r'<td class="num">0\.(\d\d)</td>',
    "difficulty.html": r'<td class="num">(\d\d)\.\d%',
    "halflife.html": r'<td class="num">(\d+)</td>',
    "apparatus.html": r"sha256 <span class=\"hash\">([0-9]|[a-f])",
    "data/board.csv": r",0\.(\d\d)",
    "data/board.json": r'"rank": (\d+)',
    f"data/models/{SLUG}.json": r'"accuracy": 0\.(\d\d)',
    f"data/models/{SLUG}.csv": r",(\d+),",
    "data/subjects/exam/民法.csv": r",(\d+),",
    "data/subjects/exam/民法.json": r'"correct": (\d+)',
    "data/ranks/exam.csv": r",(\d+),\d+,",
    "data/ranks/exam.json": r'"real": (\d+)',
    "data/difficulty/exam.csv": r",0\.(\d)",
    "data/halflife/formosa.json": r'"above": (\d+)',
    "data/halflife/formosa.csv": r",(\d+),",
    "data/axes.json": r'"rho": 0\.(\d+)',
    "data/axes.csv": r",0\.(\d+)",
    "data/history.json": r'"correct": (\d+)',
    "data/history.csv": r",(\d+)\n",
}


@pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])
def test_one_digit_is_enough_in_every_kind_of_file(copy_site, signed):
    site = copy_site()
    for name, pattern in PLACES.items():
        text = (site / name).read_bytes().decode("utf-8")
        found = re.search(pattern, text)
        assert found, name
        at = found.start(1)
        other = "1" if text[at] != "1" else "2"
        (site / name).write_bytes((text[:at] + other + text[at + 1 :]).encode("utf-8"))
    if signed:
        sign(site)
    where = {finding.where.split(":")[0] for finding in check(site)}
    assert set(PLACES) <= where and where <= {*PLACES, "site.json"}


def test_rows_that_were_changed_disagree_with_everything_made_of_them(copy_site):
    site = copy_site()
    path = site / f"data/rows/exam/{SLUG}.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    column = said["rows"]["correct"][0]
    at = column.index("0")
    for fact in ("correct", "lenient_correct", "wrote_box", "parsed", "lenient_parsed", "ok", "boxp", "lenp"):
        said["rows"][fact] = [said["rows"][fact][0][:at] + "1" + said["rows"][fact][0][at + 1 :]]
    path.write_text(json.dumps(said, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    sign(site)
    where = {finding.where.split(":")[0] for finding in check(site)}
    assert {"history.jsonl", "index.html", "data/board.json", f"models/{SLUG}.html"} <= where


@pytest.mark.parametrize(
    ("fact", "value", "says"),
    [
        ("parsed", "0", "correct and not parsed"),
        ("lenp", "0", "ok and not lenp"),
        ("wrote_box", "0", "parsed and not wrote_box"),
    ],
)
def test_rows_that_no_reading_gives_are_named(copy_site, fact, value, says):
    site = copy_site()
    path = site / f"data/rows/exam/{SLUG}.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    said["rows"][fact] = [value * len(said["rows"][fact][0])]
    path.write_text(json.dumps(said, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert any(says in finding.what for finding in check(site))


def test_a_stated_protocol_that_is_not_the_one_of_the_rows(copy_site):
    """The paper's error: one protocol is stated, and the numbers are of another reading."""
    site = copy_site()
    path = site / f"data/rows/exam/{SLUG}.json"
    edit(path, '"reader": "box"', '"reader": "lenient"')
    assert any("states the protocol's reader as lenient" in finding.what for finding in check(site))
    edit(path, '"reader": "lenient"', '"reader": "box"')
    protocol = next((site / "data/protocols").iterdir())
    edit(protocol, "臺", "台")
    found = [finding.what for finding in check(site) if finding.where.startswith("data/protocols")]
    assert any("and its text gives" in what for what in found)


def test_lenient_numbers_in_the_strict_column_are_found(copy_site):
    """A board that scores leniently what it states as strict, all its files agreeing with each other."""
    site = copy_site()
    for name in ("data/board.json", f"data/models/{SLUG}.json"):
        said = json.loads((site / name).read_text(encoding="utf-8"))
        own = said["results"]["exam"] if "results" in said else said["models"][0]["results"]["exam"]
        own["correct"], own["accuracy"] = own["lenient_correct"], own["lenient_accuracy"]
        text = json.dumps(said, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        (site / name).write_text(text, encoding="utf-8")
    sign(site)
    told = "\n".join(map(str, check(site)))
    assert "data/board.json: models[0].results.exam.correct is stated as" in told and "and the rows give" in told


def test_the_history_cannot_be_rewritten_or_forgotten(copy_site):
    site = copy_site()
    text = (site / "history.jsonl").read_text(encoding="utf-8")
    for damaged in ("", text.replace('"date": "2026', '"date": "2025'), text + "{}\n"):
        (site / "history.jsonl").write_text(damaged, encoding="utf-8")
        assert any(finding.where.startswith("history.jsonl") for finding in check(site)), damaged[:40]
    (site / "history.jsonl").unlink()
    assert any("history.jsonl" in str(finding) for finding in check(site))


def test_missing_and_strange_files_are_named(copy_site):
    site = copy_site()
    (site / "data/axes.csv").unlink()
    (site / "data/ranks/more.csv").write_text("better,than\n", encoding="utf-8")
    (site / "CNAME").write_text("board.example\n", encoding="utf-8")
    where = {finding.where for finding in check(site)}
    assert {"data/axes.csv", "data/ranks/more.csv"} <= where and "CNAME" not in where


def test_what_is_no_site_is_said_to_be_none(tmp_path, copy_site):
    assert "holds no site.json" in str(check(tmp_path)[0])
    site = copy_site()
    (site / "site.json").write_text("[]", encoding="utf-8")
    assert "does not hold together" in str(check(site)[0])


def test_a_site_that_names_files_outside_itself_is_refused(copy_site, tmp_path):
    site = copy_site()
    (tmp_path / "secret.json").write_text("{}", encoding="utf-8")
    edit(site / "data/site.json", f"data/rows/exam/{SLUG}.json", "../secret.json")
    assert any("leads out of the site" in str(finding) for finding in check(site))
    assert json.loads((tmp_path / "secret.json").read_text(encoding="utf-8")) == {}


def test_the_command_names_each_file_and_ends_with_1(copy_site, twlocal, box_site):
    from click.testing import CliRunner

    from twlocal.cli.board import board

    site = copy_site()
    edit(site / "data/board.json", '"ranked": 22', '"ranked": 21')
    done = twlocal("board", "check", site)
    assert done.returncode == 1 and "data/board.json" in done.stdout and "not to be published" in done.stderr
    told = CliRunner().invoke(board, ["check", str(site), "--json"], standalone_mode=False)
    assert told.return_value == 1 and json.loads(told.stdout)[0]["where"] == "data/board.json"
    sound = CliRunner().invoke(board, ["check", str(box_site)], standalone_mode=False)
    assert sound.return_value == 0 and "follows from its rows" in sound.stdout
    absent = twlocal("board", "check", "nowhere")
    assert absent.returncode == 2 and "there is no folder nowhere" in absent.stderr and absent.stdout == ""
