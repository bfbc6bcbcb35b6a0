"""The detector of degenerate repetition, on planted loops and on legitimate texts that repeat themselves."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twlocal.loops import MAX_PERIOD, is_loop, period

PROSE = (
    "本題考的是行政程序法的聽證程序。依該法規定，行政機關舉行聽證前，應以書面記載事由與依據，通知當事人及其他已知之"
    "利害關係人，必要時並公告之。選項甲把通知期限說成三日，與條文不合；選項乙混淆了聽證與陳述意見；選項丙所述的公開原則"
    "雖然正確，卻漏掉了但書。四個選項裡只有最後一個與條文相符。"
)


def noise(size: int, seed: int = 1) -> str:
    source = random.Random(seed)
    return "".join(chr(source.randrange(0x4E00, 0x9FA5)) for _ in range(size))


@pytest.mark.parametrize("size", [1, 2, 7, 30, 64, 65, 250, 400, 999, MAX_PERIOD])
def test_planted_loops_of_many_periods(size: int) -> None:
    unit = noise(size, seed=size)
    times = max(1200 // size + 1, 4)
    text = PROSE + unit * times + unit[: size // 3]  # cut in the middle of a copy, as a budget does
    found = period(text)
    assert found is not None and len(found) == size
    assert found in unit * 2


def test_a_short_response_that_does_nothing_but_repeat() -> None:
    assert period("答案是 B。" * 20) is not None


def test_a_loop_after_a_long_thought() -> None:
    assert is_loop(noise(9000) + "所以答案是A。不對，再想一次。" * 80)


@pytest.mark.parametrize("symbols", ["!", "=", "\n", "| --- ", "\ufffd\n"])
def test_symbols_without_end_are_a_loop(symbols: str) -> None:
    assert is_loop(PROSE + symbols * 1500)


def test_half_a_character_at_the_cut_does_not_hide_the_loop() -> None:
    assert is_loop("我們需要再確認一次這個選項。" * 50 + "我們\ufffd")


def test_trailing_blanks_do_not_hide_the_loop() -> None:
    assert is_loop("我們需要再確認一次這個選項。" * 50 + " \n")


def test_steps_with_a_counter_are_a_loop() -> None:
    text = "".join(f"第{number}步：我們需要考慮這個選項是否正確。\n" for number in range(1, 90))
    found = period(text)
    assert found is not None
    assert "第0步：我們需要考慮這個選項是否正確。\n" in found * 2


def test_steps_that_differ_in_words_are_not() -> None:
    text = "".join(f"第{number}步：我們需要考慮{noise(6, number)}是否正確。\n" for number in range(1, 90))
    assert not is_loop(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "\\boxed{A}",
        PROSE,
        PROSE * 2,  # said twice is not without end
        noise(5000),
        "媽媽說爸爸天天慢慢走，弟弟妹妹常常笑嘻嘻、樂陶陶，看看星星，數數月亮。" * 2,
        "# 解析\n" + "=" * 80 + "\n" + PROSE + "\n" + "-" * 80 + "\n",
        PROSE + "\n" + "=" * 300,
        "\n".join(
            f"{label}. {why}"
            for label, why in zip("ABCD", ["錯誤，年代不對", "錯誤，地點不對", "正確", "錯誤"], strict=True)
        ),
        "\n".join(f"({label}) 錯誤，理由是與條文不合。" for label in "ABCD") + "\n\\boxed{D}",
        "| 年 | 人口 | 面積 |\n|---|---|---|\n" + "".join(f"| {80 + i} | {i * 7919} | {i * 31} |\n" for i in range(60)),
        "".join(f"{i}\n" for i in range(1, 500)),
        "".join(f"{year} 年，{noise(9, year)}。\n" for year in range(1950, 2020)),
        "春眠不覺曉，處處聞啼鳥。夜來風雨聲，花落知多少。\n" * 3,
        "答案是 B。" * 20 + PROSE * 2,  # it looped, and went on
        "好的。" * 30,  # 90 characters are too few to tell
    ],
)
def test_texts_that_are_no_loops(text: str) -> None:
    assert period(text) is None


@given(st.text(alphabet="ABCD甲乙丙丁 \n", min_size=1, max_size=40), st.text(max_size=300))
def test_any_unit_repeated_often_enough_is_found(unit: str, before: str) -> None:
    assert is_loop(before + unit * (2500 // len(unit)))


@given(st.text(max_size=400))
def test_whatever_is_found_is_what_the_text_ends_with(text: str) -> None:
    found = period(text)
    assert found is None or any(char.isdigit() for char in text) or text.rstrip("\ufffd").rstrip().endswith(found)


@pytest.mark.parametrize(
    "text", [noise(200_000), noise(3000) + "x" + "a" * 700, ("a" * 100 + "b") * 2000, "a\n" * 90_000]
)
def test_it_stays_fast_on_long_and_on_nearly_periodic_texts(text: str) -> None:
    started = time.process_time()
    for _ in range(10):
        is_loop(text)
    assert (time.process_time() - started) / 10 < 0.02
