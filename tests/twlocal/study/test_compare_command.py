"""`twlocal compare` over stored runs of scripted models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_a_better_model_on_the_same_items(call: Callable[..., Any], ask: Any, write_bench: Any) -> None:
    bench = write_bench()
    weak = ask(bench, "box", model="weak", skill=0.4)
    strong = ask(bench, "box", model="strong", skill=0.8)
    found = call("compare", weak, strong, "--json").json
    assert found["items"] == 120
    # The strong one knows all that the weak one knows (both go by the same hash), and more.
    churn = found["strict"]["churn"]
    assert churn["lost"] == 0 < churn["gained"]
    assert found["strict"]["difference"] == pytest.approx(churn["gained"] / 120)
    low, high = found["strict"]["interval"]
    assert 0 < low < found["strict"]["difference"] < high
    assert found["strict"]["p"] == pytest.approx(2 * 0.5 ** churn["gained"], rel=1e-6)
    assert found["verdict"] == "both"
    assert {one["part"] for one in found["apparatus"]["differs"]} == {"model", "engine"}
    assert {"dataset", "sample", "protocol", "prompt", "decoding"} <= set(found["apparatus"]["held"])
    assert [one["subject"] for one in found["subjects"]] == sorted(("民法", "刑法", "會計"))

    text = call("compare", weak, strong).out
    assert "setting skill" in text
    assert "more than one part of the apparatus differs (model, engine)" in text
    assert f"twlocal compare {weak} {strong}" in text
    assert "twlocal run" in text
    assert max(map(len, (line for line in text.split("to repeat it:")[0].splitlines()))) <= 120


def test_the_same_model_that_writes_no_box_differs_in_format_only(call: Any, ask: Any, write_bench: Any) -> None:
    bench = write_bench()
    boxed = ask(bench, "box", skill=0.7)
    plain = ask(bench, "plain", skill=0.7, share=0.5)
    found = call("compare", plain, boxed, "--json").json
    assert found["verdict"] == "format"
    assert found["lenient"]["difference"] == 0
    assert found["format"]["gained_format"] == found["strict"]["churn"]["gained"] > 20
    assert found["format"]["gained_known"] == 0


def test_another_protocol_and_budget_are_told(call: Any, ask: Any, write_bench: Any) -> None:
    bench = write_bench()
    final = ask(bench, "box")
    other = ask(bench, "box", "--protocol", "box-defective", "--max-tokens", "99")
    found = call("compare", final, other, "--json").json
    assert {one["part"] for one in found["apparatus"]["differs"]} == {"protocol", "prompt", "decoding"}
    told = {(one["part"], one["name"]): (one["first"], one["second"]) for one in found["apparatus"]["differs"]}
    assert told["decoding", "max_tokens"] == ("4096", "99")
    assert told["prompt", "system prompt sha256"][0] == "3f4246ce5935a136"
    assert found["strict"]["p"] == 1
    assert any("(protocol, decoding)" in line for line in found["warnings"])


def test_other_items_itself_and_noise(call: Any, ask: Any, write_bench: Any) -> None:
    bench = write_bench()
    whole = ask(bench, "box", skill=0.6)
    part = ask(bench, "box", "--limit", "60", skill=0.6)
    refused = call("compare", whole, part)
    assert refused.code == 2
    assert "not answered over the same items: 60 in common, 60 only in the first, 0 only in the second" in refused.error
    kept = call("compare", whole, part, "--intersect", "--json").json
    assert (kept["items"], kept["left_out"], kept["strict"]["difference"]) == (60, [60, 0], 0)
    differs = call("compare", whole, ask(bench, "twinkle", "--limit", "60", skill=0.6), "--intersect")
    told = " ".join(differs.out.split())
    assert "varied sample, engine" in told and "differs (sample, engine)" in told, "one name for one thing"
    assert call("compare", whole, whole).code == 2
    assert "27/31312" in call("compare", whole, part, "--key-noise", "27").error

    other = ask(bench, "box", model="other", skill=0.63)
    found = call("compare", whole, other, "--key-noise", "1/10", "--json").json
    assert 0 < found["strict"]["difference"] <= 0.1
    assert found["key_noise"]["below"]
    assert any("disputed answer keys" in line for line in found["warnings"])
    assert not call("compare", whole, other, "--key-noise", "0/10", "--json").json["key_noise"]["below"]


def test_an_imported_hash_only_bundle_can_be_compared(call: Any, ask: Any, write_bench: Any, tmp_path: Path) -> None:
    bench = write_bench()
    weak = ask(bench, "box", model="weak", skill=0.4)
    strong = ask(bench, "box", model="strong", skill=0.8)
    here = call("compare", weak, strong, "--json").json
    sent = call("bundle", strong, "--private", "--output", tmp_path / "sent.zip", "--db", "twlocal.db")
    assert sent.code == 0, sent.error
    # Elsewhere: a database with the weak run only, and the bundle without a word of any response.
    words = ("--set", "effect=box", "--set", f"answers={bench}", "--set", "skill=0.4")
    ran = call(
        *("run", tmp_path / "weak.gguf", "--bench", bench, "--backend", "scripted_effects", "-q", "--json"),
        *("--db", "other.db", *words),
    )
    assert ran.json["run"] == weak
    brought = call("import", tmp_path / "sent.zip", "--db", "other.db")
    assert brought.code == 0, brought.error
    there = call("compare", weak, strong, "--db", "other.db", "--json").json
    assert there["strict"] == here["strict"]
    assert there["lenient"] == here["lenient"]
    assert there["other_letter"] is None
    assert call("compare", weak, strong, "--db", "other.db", "--reader", "lenient").code == 2


def test_the_known_noise_of_the_exam_is_taken_for_imported_results_too(
    call: Any, ask: Any, write_bench: Any, tmp_path: Path
) -> None:
    import sqlite3

    bench = write_bench()
    names = [ask(bench, "box", model=model, skill=skill) for model, skill in (("weak", 0.4), ("strong", 0.8))]
    for name in names:
        assert call("bundle", name, "--private", "--output", tmp_path / f"{name}.zip").code == 0
        assert call("import", tmp_path / f"{name}.zip", "--db", "other.db").code == 0
    assert call("compare", *names, "--db", "other.db", "--json").json["key_noise"] is None
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("UPDATE imported_results SET bench='exam'")
    db.close()
    found = call("compare", *names, "--db", "other.db", "--json").json["key_noise"]
    assert (found["conflicts"], found["groups"]) == (27, 31_312)
