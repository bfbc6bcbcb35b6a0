"""What holds for any text: no exception, a label or nothing, linear work."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twlocal.readers import READERS, box, explain, final_text, lenient, read, wrote_box

PIECES = [
    *("\\boxed{", "\\boxed{A}", "\\box{", "\\text{", "\\fbox{B}", "\x08oxed{B}", "}", "{", "(", ")", "**", "\n", " "),
    *"ABCDEab甲丙戊ＣⒹ𝐁㏅ßİﷺ是為：:選或、，。則型？嗎應;-,.\x0c\x00\ud800\u200b\u3000",
    *(
        "答案",
        "不選",
        "不是",
        "而是",
        "如果",
        "若",
        "正確",
        "錯誤",
        "選項",
        "莫屬",
        "本題",
        "我認為",
        "更正為",
        "也不是",
    ),
    *("answer ", " is ", " not ", "The ", "option ", "I ", "choose ", "think it is ", " and ", " or "),
    *(
        "<think>",
        "</think>",
        "<|channel|>final<|message|>",
        "<|end|>",
        "assistantfinal",
        "analysis",
        "[THINK]",
        "[/THINK]",
    ),
    *("◁think▷", "<answer>", "<|begin_of_box|>"),
]
texts = st.one_of(
    st.text(max_size=200),
    st.text(st.characters(categories=None), max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join),
)
OURS = [name for name in READERS if name != "twinkle_pattern"]


@settings(max_examples=400, deadline=None)
@given(texts, texts, st.sampled_from(["stop", "length", "unknown"]), st.sampled_from(["ABCD", "ABCDE", "AB"]))
def test_any_text_gives_a_label_or_nothing(text: str, reasoning: str, finish: str, labels: str) -> None:
    for name in OURS:
        found = READERS[name](text, reasoning, finish, labels)
        source = reasoning if "reasoning_only" in found.flags else text
        if name in ("box", "lenient"):
            assert found.letter is None or (len(found.letter) == 1 and found.letter in labels)
            if found.span is not None:
                assert 0 <= found.span[0] < found.span[1] <= len(source)
        assert explain(found).endswith(".")


@settings(max_examples=300, deadline=None)
@given(texts)
def test_a_strict_reading_is_the_lenient_reading(text: str) -> None:
    final = final_text(text)
    strict = box(final)
    if strict.letter is not None:
        assert lenient(final) == strict
        assert wrote_box(final)


@settings(max_examples=300, deadline=None)
@given(texts, st.sampled_from(["\\boxed{B}", "答案是 B。", "The answer is B.", "(B)", "無法判斷", "\\boxed{E}"]))
def test_thinking_closed_before_it_never_changes_the_reading(thought: str, answer: str) -> None:
    for name in ("box", "lenient"):
        assert read(name, f"<think>{thought}</think>{answer}").letter == read(name, answer).letter


@given(
    st.permutations("ABCD"),
    st.sampled_from(["{}", "\\boxed{{{}}}", "答案不是 {}，而是 {}。", "排除 {} 之後，答案為 {}"]),
)
def test_no_letter_is_preferred(order: list[str], form: str) -> None:
    text = form.format(*order)
    expected = order[form.count("{}") - 1] if "boxed" not in form else order[0]
    assert read("lenient", text).letter == expected


def test_labels_follow_the_item() -> None:
    assert read("box", "\\boxed{E}", labels="ABCDE").letter == "E"
    assert read("box", "\\boxed{戊}", labels="ABCDE").letter == "E"
    assert read("box", "\\boxed{C}", labels="AB").letter is None
    assert read("lenient", "答案：E", labels="ABCDE").letter == "E"
    assert read("box", "\\boxed{㏅}").letter is None  # NFKC makes it "cd", which is a slice of the labels


ADVERSARIAL = [
    *(
        "\\boxed{",
        "\\boxed{ ",
        "\\boxed ",
        "\\boxed{\\text{",
        "\\boxed{A、",
        "\\boxed{ﷺ",
        "\x08oxed{",
        "ox{",
        "<answer>",
    ),
    *("ox{", "<answer>", "{", "}", "(", "<", "◁", "**", " ", "\n", "A", "A ", "A、", "a."),
    *("<think>", "</think>", "< think", "[THINK]", "<|channel|>analysis<|message|>", "<|channel|>final <|constrain|>"),
    *("assistantfinal", "analysis", "assistant\n"),
    *(
        "答案",
        "答案 ",
        "答案：",
        "答案：A、",
        "答案是 A 或",
        "答案不是 A，",
        "答案：A B. ",
        "選",
        "選 A ",
        "選 a ",
        "若選 A，",
    ),
    *("A 正確", "B 是", "answer is ", "answer is A if ", "I think it is ", "if "),
]


@pytest.mark.parametrize("piece", ADVERSARIAL)
@pytest.mark.parametrize("start", ["B", "<think>"])
def test_work_is_linear(piece: str, start: str) -> None:
    def cost(length: int) -> float:
        text = start + (piece * (length // len(piece) + 1))[:length]
        best = float("inf")
        for _ in range(2):
            begun = time.process_time()
            for name in OURS:
                read(name, text)
            best = min(best, time.process_time() - begun)
        return best

    # Four times the text: linear work takes 4 times as long, quadratic 16 times.
    small, large = cost(2_000), cost(8_000)
    assert large < max(10 * small, 0.15)


def test_a_text_in_many_odd_characters_is_read() -> None:
    """More different full-width and styled characters than are replaced one by one."""
    odd = "".join(map(chr, range(0xFF21, 0xFF5B))) + "".join(map(chr, range(0x1D400, 0x1D420)))
    assert read("lenient", f"{odd}。答案：Ｃ").letter == "C"


def test_a_long_degenerate_response_is_read() -> None:
    loop = "因此，我們需要再檢查一次選項 A 與選項 B。" * 6_000
    assert read("lenient", loop + "\n答案：C").letter == "C"
    assert read("box", "\\boxed{" * 50_000 + "\\boxed{D}").letter == "D"


def test_a_report_reads_22_000_responses_in_a_moment() -> None:
    body = "依民法第七十一條規定，法律行為，違反強制或禁止之規定者，無效。但其規定並不以之為無效者，不在此限。" * 20
    boxed = [f"<think>{body}</think>{body}\n\n\\boxed{{{letter}}}" for letter in "ABCD"]
    begun = time.process_time()
    for number in range(22_000):
        final = final_text(boxed[number % 4])
        strict = box(final)
        lenient(final, strict=strict)
        wrote_box(final)
    # Measured at a third of a second on two old cores; the limit leaves room for a busy machine.
    assert time.process_time() - begun < 3
