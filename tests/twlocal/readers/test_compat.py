"""Other tools' readings, reproduced."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from twlocal.errors import EngineMissing, UsageError
from twlocal.readers import READERS, compat, explain, read

SHARED = Path(__file__).parents[4] / "shared" / "cases"

TWINKLE_BOX = [
    ("故選 \\boxed{C}。", "C"),
    ("\\box{C}", "C"),
    ("\\\\boxed{C}", "C"),
    ("\\boxed{ C}", None),
    ("\\boxed{c}", None),
    ("\\boxed{甲}", None),
    ("\\boxed{\\text{C}}", None),
    ("\\boxed{E}", "E"),
    ("\\boxed{CD}", None),
    ("\\boxed{A} 改為 \\box{B}", "B"),
    ("\\boxed{選項} \\boxed{D}", "D"),
    ("<reasoning>\\boxed{A}</reasoning>\\boxed{B}", "B"),
    ("<reason>\\boxed{A}</reason>\\boxed{B}", "B"),
    ("<think>\\boxed{A}</think>x</think>\\boxed{B}", "B"),
    ("\\boxed{A}</think>\\boxed{B}", "A"),
    ("<think>\\boxed{A}", "A"),
    ("<think></reason>\\boxed{A}", "A"),
    ("\u0130<think></think>\\boxed{A}", None),  # theirs: the letter grows when lower-cased, and a character is lost
    ("\\boxed{A", None),
    ("", None),
]
TWINKLE_PATTERN = [
    ("答案：C", "C"),
    ("答案是C", None),
    ("正確答案為 **C**", "C"),
    ("The answer is C.", "T"),
    ("WHO 的定義，答案應為 C", "H"),
    ("c", None),
    ("<think>答案：A</think>答案：C", "C"),
    ("不知道", None),
]


@pytest.mark.parametrize(("text", "letter"), TWINKLE_BOX)
def test_twinkle_box(text: str, letter: str | None) -> None:
    found = read("twinkle_box", text)
    assert found.letter == letter
    assert found.span is None or found.letter in text[slice(*found.span)]


def test_twinkle_falls_back_on_the_reasoning_field_whatever_the_finish() -> None:
    assert read("twinkle_box", "", "\\boxed{B}", "length").letter == "B"
    assert read("twinkle_box", "<think>a</think>", "\\boxed{B}").letter == "B"
    assert read("twinkle_box", "x", "\\boxed{B}").letter is None


@pytest.mark.skipif(not (SHARED / "twinkle_box.json").exists(), reason="the shared cases are not here")
def test_twinkle_box_against_the_shared_table() -> None:
    rows = json.loads((SHARED / "twinkle_box.json").read_text(encoding="utf-8"))
    assert rows
    for row in rows:
        assert read("twinkle_box", row["text"]).letter == row["box"], row


def test_twinkle_pattern_with_the_real_package() -> None:
    pytest.importorskip("twinkle_eval")
    for text, letter in TWINKLE_PATTERN:
        assert read("twinkle_pattern", text).letter == letter, text
    shared = SHARED / "twinkle_pattern.json"
    for row in json.loads(shared.read_text(encoding="utf-8")) if shared.exists() else ():
        assert read("twinkle_pattern", row["text"]).letter == row["pattern"], row


@pytest.fixture
def no_cached_extractor() -> Iterator[None]:
    compat._pattern_extractor.cache_clear()
    yield
    compat._pattern_extractor.cache_clear()


@pytest.mark.usefixtures("no_cached_extractor")
def test_twinkle_pattern_without_the_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "twinkle_eval", None)
    with pytest.raises(EngineMissing, match=r"twlocal\[twinkle\]"):
        read("twinkle_pattern", "答案：B")


@pytest.mark.usefixtures("no_cached_extractor")
def test_twinkle_pattern_asks_the_package_with_the_thought_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class PatternExtractor:
        def extract(self, output: str) -> str | None:
            asked.append(output)
            return "W" if "W" in output else None

    path = "twinkle_eval.metrics.extractors.pattern"
    parts = path.split(".")
    for depth in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:depth]), ModuleType(parts[depth - 1]))
    monkeypatch.setattr(sys.modules[path], "PatternExtractor", PatternExtractor, raising=False)
    assert read("twinkle_pattern", "<think>W</think> x W ").letter == "W"
    assert (read("twinkle_pattern", "x").letter, read("twinkle_pattern", "x").why) == (None, "no_pattern")
    assert read("twinkle_pattern", "", "W").letter == "W"
    assert asked == ["x W", "x", "x", "W"]


@pytest.mark.parametrize(
    ("text", "strict", "lenient", "why"),
    [
        ("\\boxed{C}", "C", "C", "box"),
        ("\\boxed{ c }", "C", "C", "box"),
        ("\\boxed{丙}", "C", "C", "ordinal"),
        ("<think>\\boxed{A}</think>\\boxed{C}", "A", "C", "box"),
        ("\\boxed{A}</think>x", "A", None, "no_letter"),
        ("\\boxed{(C)}", None, "C", "lone_letter"),
        ("(C) 胰島素", None, "C", "leading_letter"),
        ("依題意，答案是 C", None, "C", "marked_answer"),
        ("維生素 C", None, "C", "lone_letter"),
        ("The answer is B. Note that A", None, "B", "lone_letter"),
        ("DNA", None, None, "no_letter"),
        ("\\boxed{E}", None, None, "no_letter"),
    ],
)
def test_the_board(text: str, strict: str | None, lenient: str | None, why: str) -> None:
    assert read("board_strict", text).letter == strict
    found = read("board_lenient", text)
    assert (found.letter, found.why) == (lenient, why)


def test_an_unknown_reader_is_refused_with_the_known_names() -> None:
    with pytest.raises(UsageError, match="box, lenient, twinkle_box, twinkle_pattern, board_strict, board_lenient"):
        read("bocks", "A")
    assert list(READERS) == ["box", "lenient", "twinkle_box", "twinkle_pattern", "board_strict", "board_lenient"]


_ORDINAL_SENTENCE = (
    "The first \\boxed{} that holds one option holds an ordinal (甲乙丙丁), which stands for B "
    "(甲乙丙丁 was taken by position)."
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("\\boxed{B}", "The first \\boxed{} that holds one option letter says B."),
        (
            "\\boxed{乙}",
            _ORDINAL_SENTENCE,
        ),
        (
            "<think>x",
            "There is no final text: the response never got past its thinking (a thought is opened and never closed).",
        ),
        ("\\boxed{B", "A box holds B with something around it (the box's closing brace is missing)."),
    ],
)
def test_explain(text: str, sentence: str) -> None:
    assert explain(read("lenient", text)) == sentence
