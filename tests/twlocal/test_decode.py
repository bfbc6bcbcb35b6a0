import pytest

from twlocal.decode import text_of


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
