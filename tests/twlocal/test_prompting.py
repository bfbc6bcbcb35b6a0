"""Requests as token ids: what all of them share, and what does not fit."""

from __future__ import annotations

from twlocal.backend import TOO_LONG, Completion, Message, Request
from twlocal.chat import ChatTemplate
from twlocal.prompting import Prompt, Prompter

TEMPLATE = "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}[assistant]"


def bytes_of(text: str) -> list[int]:
    return list(text.encode("utf-8"))


def ask(text: str, budget: int = 10, *, system: str = "看題。", last: str = "user") -> Request:
    return Request(text, (Message("system", system), Message(last, text)), budget)


def made(prompter: Prompter, request: Request) -> Prompt:
    prompt = prompter.prompt(request)
    assert isinstance(prompt, Prompt)
    return prompt


def test_the_opening_is_what_every_question_shares_and_no_more() -> None:
    prompter = Prompter(ChatTemplate(TEMPLATE), bytes_of, limit=None)
    opening = bytes_of("[system]看題。[user]")
    for text in ("題目：一", "題目：二", "甲一", "Zw9"):
        prompt = made(prompter, ask(text))
        assert prompt.prefix == opening
        assert prompt.tokens[: prompt.shared] == opening
        assert prompt.need == len(prompt.tokens) + 10
    assert made(prompter, ask("q", system="另一個")).prefix == bytes_of("[system]另一個[user]")
    assert made(prompter, ask("q", last="assistant")).prefix == []


def test_a_question_that_changes_the_openings_tokens_shares_none_of_them() -> None:
    def merging(text: str) -> list[int]:
        return bytes_of(text.replace("[user]!", "\x01"))  # a tokenizer that joins the last mark and the first letter

    prompter = Prompter(ChatTemplate(TEMPLATE), merging, limit=None)
    prompt = made(prompter, ask("!q"))
    assert prompt.prefix == bytes_of("[system]看題。[user]")
    assert prompt.shared == 0
    assert prompt.tokens == merging("[system]看題。[user]!q[assistant]")


def test_an_empty_question_brings_no_empty_rest() -> None:
    template = TEMPLATE.replace("[assistant]", "")
    prompt = made(Prompter(ChatTemplate(template), bytes_of, limit=None), ask("甲"))
    assert 0 < prompt.shared < len(prompt.tokens)


def test_the_prompt_and_its_whole_budget_fit_or_it_is_not_asked() -> None:
    size = len(bytes_of("[system]看題。[user]q[assistant]"))
    prompter = Prompter(ChatTemplate(TEMPLATE), bytes_of, limit=size + 10, limited_by="the model has")
    assert made(prompter, ask("q")).need == size + 10
    refused = prompter.prompt(ask("q", 11))
    assert isinstance(refused, Completion)
    assert (refused.error_kind, refused.prompt_tokens, refused.text) == (TOO_LONG, size, "")
    expected = f"needs {size + 11} tokens ({size} of prompt, 11 of answer); the model has {size + 10}"
    assert refused.error == expected
    assert refused.prompt_hash == made(prompter, ask("q")).sha256


def test_only_so_many_openings_are_remembered() -> None:
    prompter = Prompter(ChatTemplate(TEMPLATE), bytes_of, limit=None)
    for number in range(30):
        made(prompter, ask("q", system=f"第{number}科"))
    assert len(prompter._openings) == 8
