"""What the lenient reader must not take for the answer: a wrong letter read is worse than none. Written by hand."""

from __future__ import annotations

import pytest

from twlocal.readers import read

SEVERAL = [
    "答案：A;C",
    "答案：A；C",
    "答案：A（或 C）",
    "答案：A (or C)",
    "Answer: A and maybe C",
    "Answer: A and/or C",
    "選 A 或選 C",
    "答案是B，還有C",
    "[A] [B] [C] [D]",
    "A. B",
    "可選 A 也可選 C",
    "I would choose A or choose C.",
    "The answer is a, b, and c.",
]
TERMS = [
    "Answer: A* search",
    "Answer: A->B",
    "答案是 A<B",
    "答案是 A:B",
    "答案是 A : B = 1 : 2",
    "D. H. Lawrence",
    "D、E 兩點",
]
OTHERS = [
    "最常見的答案是 B",
    "學生的答案是 B",
    "他的答案是 B",
    "類似題的答案是 B",
    "The most common answer is B",
    "The least likely answer is B",
    "One answer is B, another answer is C",
    "The student's answer is B.",
    "我本來想選 A",
    "At first I would choose A",
]
DENIED = [
    "答案是 A，但這是錯的",
    "答案是 A，但這不對",
    "答案是 A 這個說法是錯的",
    "答案是 A 的說法有誤",
    "The expected answer is A but this is wrong.",
    "選A：錯誤",
    "答案是 A 的話，B 也對",
    "答案：A選項以外的都對",
]
# The first options of a review of all of them, and what is called right without being the answer.
REVIEWS = [
    "(A) 正確，依民法第 71 條規定，法律行為違反強制規定者無效",
    "A. 正確：本選項符合法律規定。\n\nB. ",
    "首先看選項 A，選項 A 正確，因為水的沸點是 100 度。接著看選項",
    "A is correct.\n\nB is",
    "Option A: Correct. Option B: ",
    "選項 A 的敘述正確，但非題目所問",
    "選項 B 的敘述正確，不是答案",
    "B 的敘述正確，所以不是本題答案",
    "並非只有 B 正確",
    "有些人認為 B 正確",
    "甲認為 B 正確",
    "It is not true that B is correct",
    "B 也正確",
]
NONE = [*SEVERAL, *TERMS, *OTHERS, *DENIED, *REVIEWS]


@pytest.mark.parametrize("output", NONE)
def test_no_letter_is_read(output: str) -> None:
    assert (read("box", output).letter, read("lenient", output).letter) == (None, None)


# The same turns of phrase where an answer is given.
READ = [
    ("答案：A；C 錯在時效。", "A"),
    ("答案：A（C 亦有人主張）", "A"),
    ("Answer: A* search is option C. The answer is C.", "C"),
    ("Answer: *A*", "A"),
    ("答案：A<br>", "A"),
    ("答案：A：胰島素", "A"),
    ("The most common answer is B, but the correct answer is C", "C"),
    ("我本來想選 A，但應選 C", "C"),
    ("答案當然是B", "B"),
    ("答案其實是 B", "B"),
    ("The answer may be A, but I'm leaning towards C.", "C"),
    ("我傾向選 C。", "C"),
    ("答案是 A。以上推論有誤，重新作答：B", "B"),
    ("答案是 A\n\n檢查：題目問錯誤的，所以答案其實是 B", "B"),
    ("選項 A 正確", "A"),
    ("只有 (A) 正確，因為期間為兩年。", "A"),
    ("(A) 正確。(B) 錯誤。(C) 錯誤。(D) 錯誤。", "A"),
    ("(A) 正確，(B)(C)(D) 均錯誤。", "A"),
    ("選項 C 正確，依民法第 71 條。", "C"),
    ("\\boxed{'C'}", "C"),
    ("A 錯在時效；B 錯在期間；D 錯在主體；因此只剩 C 為正解。", "C"),
    ("B\n\n(A) 錯\n(C) 錯", "B"),
]
# A second question of the model's own, or a second turn, behind the answer.
NEXT = [
    "答案：C\n\nuser\n下一題\nassistant\n答案：A",
    "答案：C<|im_end|>\n<|im_start|>user\n另一題<|im_end|>\n<|im_start|>assistant\n答案：A",
    "答案：C</s> 答案：A",
    "答案：C<eos>答案：A",
    "答案：C<｜end▁of▁sentence｜>答案：A",
    "C<｜end▁of▁sentence｜>",
    "答案：C\n\n### Instruction:\n...\n### Response:\n答案：A",
    "答案：C\n\n問題：下列敘述何者正確？\n答案：A",
    "答案：C\n\n第2題：下列敘述何者正確？\n答案：A",
    "本題答案 C。延伸思考：若題目改為何者錯誤，答案為 A。",
    "The answer is C. Had the question asked for the exception, the answer is A.",
    "本題答案 C。類似題的答案是 A。",
    "本題答案 C。上一題答案是 A。",
    '{"answer": "C", "reasoning": "some pick the answer A"}',
]


@pytest.mark.parametrize(("output", "letter"), [*READ, *((output, "C") for output in NEXT)])
def test_the_answer_is_read(output: str, letter: str) -> None:
    assert read("lenient", output).letter == letter


@pytest.mark.parametrize("output", ["選項 A 正確", "(A) 正確", "A. 甲案可行", "選項 C 正確"])
def test_a_response_that_was_cut_off_has_not_judged_all_options(output: str) -> None:
    assert read("lenient", output, finish="length").letter is None


@pytest.mark.parametrize("output", ["A", "答案：A", "\\boxed{\\text{A}}", "C. 丙案可行"])
def test_a_statement_stands_where_the_response_was_cut_off(output: str) -> None:
    assert read("lenient", output, finish="length").letter == read("lenient", output).letter is not None
