"""What is refused between a wish and its plan."""

from __future__ import annotations

import pytest

from twlocal import evaluate
from twlocal.errors import UsageError
from twlocal.plan import Wish
from twlocal.runs import Runs
from twlocal.store import open_store

PROTOCOL = """
body = "{question}\\nA. {A}\\nB. {B}\\nC. {C}\\nD. {D}"
[[examples]]
question = "第1題：下列何者正確？"
A = "%s"
B = "丙1"
C = "乙1"
D = "甲1"
reply = "\\\\boxed{C}"
"""


@pytest.mark.parametrize(("first", "refused"), [("丁1", True), ("戊", False)])
def test_a_question_with_its_reply_among_the_examples_is_not_asked(
    tmp_path, model_file, make_questions, first, refused
) -> None:
    # The same stem with other options is another question: examinations are full of them.
    (tmp_path / "shots.toml").write_text(PROTOCOL % first, encoding="utf-8")
    wish = Wish(str(model_file), str(make_questions(5)), str(tmp_path / "shots.toml"), backend="scripted")
    runs = Runs(open_store(tmp_path / "t.db"), tmp_path / "t.db")
    try:
        if refused:
            with pytest.raises(UsageError, match="1 of the questions stand among the worked examples"):
                evaluate.prepare(wish, runs, evaluate.Surroundings(environ={}))
        else:
            assert len(evaluate.prepare(wish, runs, evaluate.Surroundings(environ={})).plan.rows) == 5
    finally:
        runs.close()
