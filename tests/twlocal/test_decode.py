import pytest

from twlocal.decode import MARKERS, text_of
from twlocal.readers import final_text


def test_a_character_split_over_tokens_is_whole_and_a_cut_tail_costs_only_itself():
    chunks = [bytes.fromhex(part) for part in ("e7ad94e6a188", "efbc", "9a5c626f7865647b427d", "e887")]
    assert text_of(chunks) == "答案：\\boxed{B}\ufffd"


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([], ""),
        ([b""], ""),
        ([b"\xf0", b"\x9f", b"\x98", b"\x80"], "😀"),
        ([b"\xff", "乙".encode()], "\ufffd乙"),
        (["甲".encode()[:2], b"A", "乙".encode()], "\ufffdA乙"),
    ],
)
def test_bytes_become_text(pieces, text):
    assert text_of(pieces) == text


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<think>", "</think>"),
        ("<reasoning>", "</reasoning>"),
        ("<reason>", "</reason>"),
        ("[THINK]", "[/THINK]"),
        ("<thinking>", "</thinking>"),
        ("<thought>", "</thought>"),
        ("<seed:think>", "</seed:think>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("<|channel>", "<channel|>"),
        ("<unused94>", "<unused95>"),
        ("◁think▷", "◁/think▷"),
        ("<|inner_prefix|>", "<|inner_suffix|>"),
        ("<longcat_think>", "</longcat_think>"),
        ("<|think|>", "<|/think|>"),
        ("<|think|>", "<|content|>"),
        ("", "[BEGIN FINAL RESPONSE]"),
    ],
)
def test_a_thought_that_the_reader_knows_by_a_token_keeps_that_token(opening: str, closing: str) -> None:
    """An engine that left it out would join the thought to the answer, and its first box would be read."""
    assert final_text(f"{opening}先試 \\boxed{{A}}{closing}\\boxed{{C}}").text == "\\boxed{C}"
    assert {opening, closing} - {""} <= set(MARKERS)
