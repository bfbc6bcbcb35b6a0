"""Protocols: what is fixed stays fixed, and nothing but question and options enters a prompt."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal import protocol
from twlocal.errors import ProtocolError
from twlocal.item import Item

ITEM = Item("x", ("甲", "乙", "丙", "丁"), "C", "刑法", "x1", {"explanation": "故選 C"})
GOOD = 'body = "{question}|{A}|{B}|{C}|{D}"\n'


def test_the_published_system_prompt_is_the_papers_byte_for_byte() -> None:
    raw = files("twlocal.prompts").joinpath("box.zh-TW.txt").read_bytes()
    assert hashlib.sha256(raw).hexdigest() == "3f4246ce5935a136161746e598e1c5dcdf7c413b8e18b8461ed44217a13b07c6"
    assert b"\n" not in raw
    box = protocol.load("box")
    assert box.system.encode() == raw
    assert box.system_sha256 == hashlib.sha256(raw).hexdigest()


def test_the_defective_prompt_differs_in_the_sentence_that_names_the_format() -> None:
    assert "\\boxed{甲}" in protocol.load("box-defective").system
    assert not protocol.load("box-defective").publishable


def test_the_published_protocol() -> None:
    box = protocol.load("box")
    assert box.publishable
    assert box.reader == "box"
    assert (box.decoding.temperature, box.decoding.top_p) == (0.0, 0.9)
    system, user = box.messages(ITEM, "CADB")
    assert (system.role, user.role) == ("system", "user")
    assert user.content == "題目：x\nA. 丙\nB. 甲\nC. 丁\nD. 乙"


def test_twinkle_evals_body() -> None:
    assert protocol.load("twinkle").messages(ITEM, "ABCD")[-1].content == "x\nA: 甲\nB: 乙\nC: 丙\nD: 丁"


def test_worked_examples_stand_between_system_prompt_and_question() -> None:
    shots = protocol.load("box-2shot")
    assert not shots.publishable
    assert shots.why_not
    assert [message.role for message in shots.messages(ITEM, "ABCD")] == [
        "system",
        *["user", "assistant"] * 2,
        "user",
    ]
    assert all("\\boxed{" in message.content for message in shots.messages(ITEM, "ABCD") if message.role == "assistant")


def test_only_the_published_protocol_is_publishable() -> None:
    assert [name for name in protocol.names() if protocol.load(name).publishable] == ["box"]


@given(st.text(), st.lists(st.text(), min_size=4, max_size=4), st.permutations("ABCD"))
def test_any_text_passes_through_untouched(question: str, options: list[str], order: list[str]) -> None:
    item = Item(question, (options[0], options[1], options[2], options[3]), "A", "刑法", "x1", {"explanation": "!"})
    user = protocol.load("box").messages(item, "".join(order))[-1].content
    shown = [options["ABCD".index(letter)] for letter in order]
    assert user == "題目：" + question + "".join(
        f"\n{label}. {text}" for label, text in zip("ABCD", shown, strict=True)
    )


def test_braces_in_a_question_are_text() -> None:
    item = Item("{A} 與 {question.__class__}", ("{B}", "{", "}", "{{}}"), "A")
    assert protocol.load("box").messages(item, "ABCD")[-1].content == (
        "題目：{A} 與 {question.__class__}\nA. {B}\nB. {\nC. }\nD. {{}}"
    )


def test_the_hash_covers_what_is_said_and_not_how_it_is_called() -> None:
    one = protocol.parse("one", GOOD + 'title = "甲"\n')
    notes = 'title = "乙"\ntitle_zh = "丁"\nwhy_not = "x"\nwhy_not_zh = "丙"\n'
    assert one.sha256 == protocol.parse("two", GOOD + notes).sha256
    assert one.sha256 != protocol.parse("one", GOOD + "shuffle = false\n").sha256
    assert one.sha256 != protocol.parse("one", GOOD + "[decoding]\ntemperature = 0.5\n").sha256
    assert one.sha256 != one.with_budget(7).sha256
    assert one.with_budget(None) is one


def test_a_number_has_one_spelling_in_the_hash() -> None:
    said = ("temperature = 0\ntop_p = 1", "top_p = 1.0\ntemperature = 0.0", "temperature = -0.0\ntop_p = 1e0")
    assert len({protocol.parse("one", GOOD + f"[decoding]\n{text}\n").sha256 for text in said}) == 1


def test_without_shuffle_the_options_keep_their_order() -> None:
    assert protocol.parse("one", GOOD + "shuffle = false\n").order(ITEM, 3) == "ABCD"


def test_repeats_are_shown_in_other_orders() -> None:
    box = protocol.load("box")
    assert len({box.order(ITEM, repeat) for repeat in range(8)}) > 1


def test_a_protocol_file_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "system.txt").write_text("請作答。", encoding="utf-8")
    file = tmp_path / "mine.toml"
    file.write_text(GOOD + 'system = "system.txt"\npublishable = true\n', encoding="utf-8")
    mine = protocol.load(str(file))
    assert (mine.name, mine.system) == ("mine", "請作答。")
    assert not mine.publishable, "what does not ship with twlocal is not published under its name"
    assert "does not ship" in mine.why_not and "不是 twlocal 附的" in mine.why_not_zh
    file.write_text(GOOD + 'why_not = "mine"\n', encoding="utf-8")
    assert (protocol.load(str(file)).why_not, protocol.load(str(file)).why_not_zh) == ("mine", "")


@pytest.mark.parametrize("name", protocol.names())
def test_a_bundled_protocol_says_what_it_is_in_both_languages(name: str) -> None:
    one = protocol.load(name)
    assert one.title and one.title_zh and one.title != one.title_zh
    assert bool(one.why_not) == bool(one.why_not_zh) == (not one.publishable)
    (one.title_zh + one.why_not_zh).encode("cp950")  # Big5 holds none of the simplified forms


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("body = ", "not valid TOML"),
        ('system = ""\n', "body"),
        ('body = "{question} {A} {B} {C}"', "{D} exactly once"),
        ('body = "{question} {A} {B} {C} {D} {A}"', "{A} exactly once"),
        ('body = "{question} {A} {B} {C} {D} {subject}"', "subject"),
        ('body = "{question} {A} {B} {C} {D} {0}"', "only"),
        (GOOD + "boddy = 1\n", "unknown field 'boddy'"),
        (GOOD + 'system = "absent.txt"\n', "absent.txt"),
        (GOOD + "[decoding]\ntemperature = -1.0\n", "out of range"),
        (GOOD + "[decoding]\nmax_tokens = 0\n", "out of range"),
        (GOOD + "[decoding]\nheat = 1\n", "heat"),
        (GOOD + "[[examples]]\nquestion = 'x'\n", "'A'"),
        (GOOD + "[[examples]]\nquestion = 1\n", "examples.question must be text, not 1"),
        (GOOD + "examples = [1]\n", "examples must be a table"),
        (GOOD + "[decoding]\ntemperature = 'hot'\n", "decoding.temperature must be a number, not 'hot'"),
        (GOOD + "[decoding]\ntemperature = inf\n", "decoding.temperature must be a number"),
        (GOOD + "[decoding]\nmax_tokens = 1.5\n", "decoding.max_tokens must be a whole number"),
        (GOOD + "[decoding]\nmax_tokens = true\n", "decoding.max_tokens must be a whole number"),
        (GOOD + "decoding = 3\n", "decoding must be a table"),
        (GOOD + "shuffle = 'no'\n", "shuffle must be true or false, not 'no'"),
        (GOOD + "system = 3\n", "system must be text"),
        ("body = 3\n", "body must be text"),
        ('body = "{question:>99999999999} {A} {B} {C} {D}"', "no format after a colon"),
    ],
)
def test_a_bad_protocol_is_named_with_its_fault(text: str, says: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        protocol.parse("mine", text)
    assert "mine" in caught.value.message
    assert says in caught.value.message


def test_files_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ProtocolError, match="is not UTF-8"):
        protocol.load(str(tmp_path / "mine.toml"))
    (tmp_path / "mine.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ProtocolError, match=r"system prompt .* is not UTF-8"):
        protocol.parse("mine", GOOD + 'system = "mine.txt"\n', folder=tmp_path)


def test_an_unknown_protocol_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match="no protocol named 'bxo'") as caught:
        protocol.load("bxo")
    assert "box-2shot" in caught.value.hint
    with pytest.raises(ProtocolError, match="cannot read"):
        protocol.load(str(tmp_path / "absent.toml"))
