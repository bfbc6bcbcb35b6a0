"""Papers read on a Ray cluster: what comes back is what this machine reads, and limits hold there as here."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]
Cluster = tuple[str, dict[str, str]]

# What is of this build and not of the papers: times, and where a file lies.
_TABLES = "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%' ORDER BY name"


def content(database: Path) -> dict[str, list[tuple[Any, ...]]]:
    with sqlite3.connect(database) as db:
        names = [name for (name,) in db.execute(_TABLES)]
        return {name: sorted(db.execute(f"SELECT * FROM {name}"), key=repr) for name in names}


def both(twlocal: Any, cluster: Cluster, folder: Path, tmp_path: Path) -> list[str]:
    """What `exam parse` prints here and there, after the databases were found equal."""
    address, env = cluster
    said = []
    for name, more in (("here", ()), ("there", ("--ray-address", address, "--jobs", "2"))):
        done = twlocal("exam", "parse", folder, "--db", f"{name}.db", "--json", *more, env=env, timeout=300)
        assert done.returncode == 0, done.stderr
        assert "raylet" not in done.stderr and "WARNING" not in done.stderr, "Ray stays out of sight"
        said.append(done.stdout)
    here, there = content(tmp_path / "here.db"), content(tmp_path / "there.db")
    assert here.keys() == there.keys()
    for table in here:
        assert here[table] == there[table], table
    return said


def test_a_cluster_reads_what_this_machine_reads(
    twlocal: Any, sheet: Any, ray_cluster: Cluster, tmp_path: Path
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    for k in range(5):
        made = sheet().text(48, 100, "共1題，每題1分").text(40, 140, f"1 第{k}個何者正確？")
        (folder / f"考{k}__Q.pdf").write_bytes(made.text(60, 158, "Ⓐ甲 Ⓑ乙 Ⓒ丙 Ⓓ丁").bytes())
    (folder / "壞__Q.pdf").write_bytes(b"%PDF-1.4 and no more")
    here, there = both(twlocal, ray_cluster, folder, tmp_path)
    assert here == there
    assert json.loads(here)["papers"] == 6


def test_real_papers_too(twlocal: Any, shared: Path, ray_cluster: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    for path in sorted((shared / "data" / "papers").glob("*__?.pdf"))[:8]:
        shutil.copy(path, folder)
    here, there = both(twlocal, ray_cluster, folder, tmp_path)
    assert here == there


_FAULTS = """
import json, sys
from pathlib import Path
from twlocal_naughty_parser import parse
from twlocal.exam.limits import Limits
from twlocal.exam.spread import Spread

paths = [Path(path) for path in sys.argv[2:]]
with Spread(sys.argv[1]) as spread:
    found = spread.run_all(paths, parse, jobs=1, limits=Limits(seconds=20, megabytes=1024))
    print(json.dumps({o.path.stem: o.value or o.rejection.reason for o in found}))
"""


def test_limits_hold_on_the_nodes(ray_cluster: Cluster, tmp_path: Path) -> None:
    address, env = ray_cluster
    paths = [tmp_path / f"{name}.pdf" for name in ("one", "hang", "die", "eat", "two", "gone")]
    for path in paths[:-1]:
        path.write_text(f"the text of {path.stem}", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _FAULTS, address, *map(str, paths)],
        env=os.environ | env | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "one": "the text of one",
        "two": "the text of two",
        "hang": "timeout",
        "die": "crashed",
        "eat": "memory",
        "gone": "crashed",
    }
