"""The final text: what is left of a response once its thinking is set aside."""

from __future__ import annotations

import pytest

from twlocal.readers import box, final_text, lenient, read, wrote_box


@pytest.mark.parametrize(
    ("text", "final", "thinking", "flags"),
    [
        ("\\boxed{A}", "\\boxed{A}", "", ()),
        ("<think>x</think>y", "y", "<think>x", ()),
        ("x</think>y", "y", "x", ()),
        ("a</reasoning>b</think>c", "c", "a</reasoning>b", ()),
        ("a</think>b</reason>c", "c", "a</think>b", ()),
        ("a< / THINK >b", "b", "a", ()),
        ("<think>x", None, "<think>x", ("unclosed_thinking",)),
        ("\n\n<think>x", None, "\n\n<think>x", ("unclosed_thinking",)),
        ("a</think>B<think>c", "B", "a", ("unclosed_thinking",)),
        ("a</think> \n<think>c", None, "a</think> \n<think>c", ("unclosed_thinking",)),
        ("a[/THINK]b", "b", "a", ()),
        ("a◁/think▷b", "b", "a", ()),
        ("<|START_THINKING|>a<|END_THINKING|>b", "b", "<|START_THINKING|>a", ()),
        ("<|channel>thought\na<channel|>b", "b", "<|channel>thought\na", ()),
        ("array[0] < x > y", "array[0] < x > y", "", ()),
        ("<|channel|>final<|message|>B<|return|>", "B", "<|channel|>final<|message|>", ()),
        ("<|channel|>final<|message|>", "", "<|channel|>final<|message|>", ()),
        ("<|channel|>final<|message|>a</think>B<|end|>", "B", "<|channel|>final<|message|>a", ()),
        ("<|channel|>commentary to=x<|message|>B<|call|>", None, None, ("no_final_channel",)),
        ("<|start|>assistant<|message|>B<|end|>", "<|start|>assistant<|message|>B<|end|>", "", ()),
        ("<|start|>assistant<|channel|>", None, "<|start|>assistant<|channel|>", ("no_final_channel",)),
        ("<|channel|>analysis<|message|>a</think>\\boxed{A}<|end|>", None, None, ("no_final_channel",)),
        ("the token <|channel|> is special", "the token <|channel|> is special", "", ()),
        ("analysisA.assistantfinalBassistantanalysisC", "B", "analysisA.assistantfinal", ()),
        ("analysisA", None, "analysisA", ("no_final_channel",)),
        ("analysis: A", "analysis: A", "", ()),
        ("a\x08b", "a\x08b", "", ("control_character",)),
        ("a\x08</think>b", "b", "a\x08", ()),
    ],
)
def test_final_text(text: str, final: str | None, thinking: str | None, flags: tuple[str, ...]) -> None:
    found = final_text(text)
    assert (found.text, found.flags) == (final, flags)
    assert found.thinking == (text if thinking is None else thinking)
    if found.text is not None:
        assert text[found.start : found.start + len(found.text)] == found.text


def test_reasoning_is_read_only_without_content_and_after_a_natural_end() -> None:
    assert read("box", "", "so \\boxed{B}").letter == "B"
    assert read("box", " \n", "so \\boxed{B}").flags == ("reasoning_only",)
    assert read("lenient", "", "the answer is B").flags == ("reasoning_only",)
    assert read("box", "\\boxed{A}", "so \\boxed{B}").letter == "A"
    assert read("box", "沒有答案", "so \\boxed{B}").letter is None
    for finish in ("length", "content_filter", "unknown"):
        cut = read("box", "", "so \\boxed{B}", finish)
        assert (cut.letter, cut.why, cut.flags) == (None, "no_final_text", ("unclosed_thinking",))
    assert read("box", "", " ").why == "empty"
    assert read("box", "", "a</think>\\boxed{B}").span == (9, 18)
    assert final_text("", "abc", "length").thinking == "abc"


def test_a_truncated_text_is_still_read() -> None:
    assert read("box", "\\boxed{A} 因為", finish="length").letter == "A"


def test_a_span_points_into_the_whole_response() -> None:
    text = "<think>\\boxed{A}</think>\n\n故 \\boxed{C}。"
    for name in ("box", "lenient"):
        span = read(name, text).span
        assert span is not None
        assert text[slice(*span)] == "\\boxed{C}"
    text = "<think>答案是 A</think>\n\n因此答案是 C。"
    span = read("lenient", text).span
    assert span is not None
    assert text[slice(*span)] == "答案是 C"


@pytest.mark.parametrize(
    ("text", "wrote"),
    [
        ("\\boxed{A}", True),
        ("\\boxed {胰島素}", True),
        ("\\boxed{", True),
        ("\\boxed A", False),
        ("boxed{A}", False),
        ("\\box{A}", False),
        ("<think>\\boxed{A}</think>A", False),
        ("<think>\\boxed{A}", False),
        ("", False),
    ],
)
def test_the_box_rate_counts_boxes_of_the_final_text(text: str, wrote: bool) -> None:
    assert wrote_box(final_text(text)) is wrote


def test_both_readings_of_one_final_text() -> None:
    final = final_text("<think>x</think>答案：B")
    strict = box(final)
    assert lenient(final, strict=strict) == lenient(final)
    assert (strict.why, lenient(final).why) == ("no_box", "statement")
