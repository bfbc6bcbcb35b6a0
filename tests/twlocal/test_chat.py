import hashlib
import json
import time
from datetime import datetime
from pathlib import Path

import pytest

from twlocal.backend import Message
from twlocal.chat import ChatTemplate, bos_ids, choose_template, needs_bos, render
from twlocal.errors import ModelError

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# Gemma 1 and 2: refuse a system turn, write the begin token themselves.
GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for m in messages %}<start_of_turn>{{ 'model' if m['role'] == 'assistant' else m['role'] }}\n"
    "{{ m['content'] | trim }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
# Drops a system turn without a word.
DROPPING = (
    "{{ bos_token }}{% for m in messages if m['role'] != 'system' %}<start_of_turn>{{ m['role'] }}\n"
    "{{ m['content'] }}<end_of_turn>\n{% endfor %}{{ '<start_of_turn>model\n' }}"
)
CHAT = (Message("system", "你是助理。"), Message("user", "題目：甲？"))


def test_chatml_with_a_system_turn():
    rendered = render(CHATML, CHAT)
    text = "<|im_start|>system\n你是助理。<|im_end|>\n<|im_start|>user\n題目：甲？<|im_end|>\n<|im_start|>assistant\n"
    assert rendered.text == text
    assert rendered.sha256 == hashlib.sha256(text.encode("utf-8")).hexdigest()
    assert not rendered.merged_system
    assert rendered.notes == ()


def test_without_generation_prompt_the_chat_ends_with_its_last_turn():
    assert render(CHATML, CHAT, add_generation_prompt=False).text.endswith("題目：甲？<|im_end|>\n")


@pytest.mark.parametrize("template", [GEMMA, DROPPING], ids=["refuses", "drops"])
def test_without_a_system_role_the_system_prompt_goes_before_the_first_user_turn(template):
    rendered = render(template, CHAT, bos_token="<bos>")
    assert rendered.text == ("<bos><start_of_turn>user\n你是助理。\n\n題目：甲？<end_of_turn>\n<start_of_turn>model\n")
    assert rendered.merged_system
    assert "merged" in rendered.notes[0]


def test_merging_keeps_examples_in_place():
    chat = (CHAT[0], Message("user", "例題"), Message("assistant", "例答"), CHAT[1])
    text = render(GEMMA, chat, bos_token="<bos>").text
    assert text.index("你是助理。\n\n例題") < text.index("model\n例答") < text.index("user\n題目：甲？")
    assert text.count("你是助理。") == 1


def test_a_chat_without_a_system_turn_is_not_called_merged():
    assert not render(GEMMA, CHAT[1:], bos_token="<bos>").merged_system


def test_a_template_that_wants_lists_of_parts_gets_them_instead_of_losing_the_question():
    parts = (
        "{% for m in messages %}[{{ m['role'] }}]{% for c in m['content'] if c['type'] == 'text' %}{{ c['text'] }}"
        "{% endfor %}{% endfor %}"
    )
    rendered = render(parts, CHAT)
    assert rendered.text == "[system]你是助理。[user]題目：甲？"
    assert "parts" in rendered.notes[0]


def test_a_template_that_loses_the_question_is_refused():
    with pytest.raises(ModelError, match="leaves the user's text out"):
        render("Hello, {{ messages[0]['role'] }}", CHAT)


def test_a_syntax_error_names_the_line():
    with pytest.raises(ModelError, match="line 3") as caught:
        render("a\nb\n{% if %}", CHAT)
    assert "--chat-template" in caught.value.hint


def test_an_error_while_rendering_names_the_line():
    with pytest.raises(ModelError, match=r"line 2\): Conversation roles must alternate"):
        render("{{ messages[0]['content'] }}\n{{ raise_exception('Conversation roles must alternate') }}", CHAT)


def test_the_sandbox_holds():
    with pytest.raises(ModelError):
        render("{{ messages.append(1) }}{{ messages[0]['content'] }}", CHAT)
    with pytest.raises(ModelError):
        render("{{ ''.__class__.__mro__[1].__subclasses__() }}{{ messages[0]['content'] }}", CHAT)


def test_the_helpers_of_transformers_are_there():
    template = (
        "  {% if tools is not none %}tools{% endif %}\n"
        "{% for m in messages %}{% if m['role'] == 'system' %}{% continue %}{% endif %}"
        "{% generation %}{{ m | tojson }}{% endgeneration %}{% break %}{% endfor %}"
        "{{ strftime_now('%Y-%m-%d') }} {{ enable_thinking }}"
    )
    rendered = render(template, CHAT[1:], now=datetime(2030, 1, 2), enable_thinking=False)
    assert rendered.text == '{"role": "user", "content": "題目：甲？"}2030-01-02 False'


@pytest.mark.parametrize(
    "switch",
    [
        "{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% endif %}",
        "{% if not enable_thinking is defined %}{% set enable_thinking = true %}{% endif %}{{ enable_thinking }}",
        "{% macro end() %}{{ enable_thinking }}{% endmacro %}{{ end() }}",
    ],
    ids=["where it is given", "with a default of its own", "in a macro"],
)
def test_a_switch_for_thinking_changes_the_prompt_and_its_hash(switch):
    on, off = (render(CHATML + switch, CHAT, enable_thinking=value) for value in (True, False))
    assert on.text != off.text
    assert on.sha256 != off.sha256


def test_a_switch_that_the_template_never_reads_is_refused_with_those_that_it_reads():
    template = CHATML + "{% if reasoning_effort == 'low' %}quick{% endif %}{% set depth = 3 %}"
    for name in ("enable_thinking", "depth"):
        with pytest.raises(ModelError, match=f"never reads {name}") as caught:
            render(template, CHAT, **{name: False})
        assert caught.value.hint.endswith("reads: reasoning_effort")
    with pytest.raises(ModelError) as caught:
        render(GEMMA, CHAT, enable_thinking=False)
    assert caught.value.hint.endswith("reads: none of its own")
    assert render(template, CHAT, reasoning_effort="low").text.endswith("quick")


def test_blocks_are_trimmed_as_transformers_trims_them():
    assert render("  {% for m in messages %}\n{{ m['content'] }}\n  {% endfor %}\n", CHAT[1:]).text == "題目：甲？\n"


def test_the_day_is_fixed_unless_given():
    template = "{{ strftime_now('%d %b %Y') }}{{ messages[0]['content'] }}"
    assert render(template, CHAT[1:]).text.startswith("26 Jul 2024")


def test_the_default_is_chosen_out_of_several_templates():
    assert choose_template(None) == ""
    assert choose_template(CHATML) == CHATML
    listed = [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]
    assert choose_template(listed) == "d"
    assert choose_template({"only": "o"}) == "o"
    with pytest.raises(ModelError, match="rag, tool_use"):
        choose_template({"tool_use": "t", "rag": "r"})


def test_rendering_is_cheap_after_the_first_time():
    compiled = ChatTemplate(CHATML)
    compiled.render(CHAT)
    started = time.process_time()
    for _ in range(500):
        compiled.render(CHAT)
    # 22,000 items then cost seconds; recompiling each time would take about a hundred times as long.
    assert time.process_time() - started < 0.5


# -- one begin token (P9-2) --------------------------------------------------------------------------------------------

BOS, BOS_ID = "<bos>", 2


def adding_nothing(text):
    """A tokenizer told to add nothing: llama_tokenize(add_special=False), encode(add_special_tokens=False)."""
    ids = []
    while text.startswith(BOS):
        ids.append(BOS_ID)
        text = text[len(BOS) :]
    return ids + [100 + byte for byte in text.encode("utf-8")]


def adding_always(text):
    """A tokenizer that puts its begin token first whatever it is told, as some Hugging Face ones do."""
    return [BOS_ID, *adding_nothing(text)]


WRITTEN = "<bos><start_of_turn>user\n題目<end_of_turn>\n<start_of_turn>model\n"
UNWRITTEN = WRITTEN.removeprefix(BOS)


@pytest.mark.parametrize("encode", [adding_nothing, adding_always], ids=["llama.cpp and vLLM", "stubborn (MLX)"])
@pytest.mark.parametrize("text", [WRITTEN, UNWRITTEN, BOS + WRITTEN], ids=["written", "unwritten", "written twice"])
def test_exactly_one_begin_token_where_the_model_has_one(encode, text):
    ids = bos_ids(text, encode, bos_token=BOS, bos_id=BOS_ID, add_bos=True)
    assert ids[0] == BOS_ID
    assert ids.count(BOS_ID) == 1
    assert ids[1:] == adding_nothing(UNWRITTEN)


def test_the_template_s_begin_token_stays_where_the_tokenizer_adds_none():
    ids = bos_ids(WRITTEN, adding_nothing, bos_token=BOS, bos_id=BOS_ID, add_bos=False)
    assert ids.count(BOS_ID) == 1


def test_no_begin_token_where_nobody_wants_one():
    assert BOS_ID not in bos_ids(UNWRITTEN, adding_nothing, bos_token=BOS, bos_id=BOS_ID, add_bos=False)
    assert BOS_ID not in bos_ids(UNWRITTEN, adding_nothing, bos_token="", bos_id=None, add_bos=True)


def test_the_decision_alone():
    assert needs_bos(UNWRITTEN, bos_token=BOS, add_bos=True)
    assert not needs_bos(WRITTEN, bos_token=BOS, add_bos=True)
    assert not needs_bos(UNWRITTEN, bos_token="", add_bos=True)
    assert not needs_bos(UNWRITTEN, bos_token=BOS, add_bos=False)


def test_the_given_case_of_the_second_begin_token():
    cases = Path(__file__).parents[2].parent / "shared" / "cases" / "given.jsonl"
    if not cases.exists():
        pytest.skip("the shared cases are not here; the same input is in the tests above")
    rows = [json.loads(line) for line in cases.read_text(encoding="utf-8").splitlines()]
    case = next(row for row in rows if row["id"] == "P9-2")["input"]
    ids = bos_ids(
        case["template_output"], adding_nothing, bos_token=BOS, bos_id=BOS_ID, add_bos=case["tokenizer_add_bos"]
    )
    assert ids.count(BOS_ID) == 1 and ids[0] == BOS_ID
