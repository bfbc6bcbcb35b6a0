"""Sentences of routing and the preflight: in both languages, for every reason there is."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

from twlocal import doctor, engines, hardware, registry, route_words
from twlocal.errors import UsageError
from twlocal.route import Reason, Wishes, decide
from twlocal.route_words import CHINESE, ENGLISH, say

MACHINES = Path(__file__).parents[1] / "data" / "machines"
SOURCES = [Path(module.__file__ or "") for module in (doctor,)]


def names(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def test_both_languages_say_the_same_things() -> None:
    assert set(ENGLISH) == set(CHINESE)
    for key in ENGLISH:
        assert names(ENGLISH[key]) == names(CHINESE[key]), key


def test_chinese_sets_latin_names_off_by_a_space() -> None:
    seen = 0
    known = registry.load({})
    for path in MACHINES.iterdir():
        there = hardware.from_recording(hardware.load(path)["outputs"])
        for model in known.models.values():
            for verdict in decide(model, there, engines.planned(there), Wishes()).verdicts:
                for reason in verdict.reasons:
                    if "place" in reason.facts:
                        seen += 1
                        sentence = say(reason, "zh-TW")
                        assert not re.search("[\u4e00-\u9fff][A-Za-z0-9]|  | （", sentence), sentence
    assert seen > 100
    assert route_words.beside("這台機器", CHINESE) == "這台機器"
    assert route_words.beside("M2", CHINESE) == " M2"
    assert route_words.beside("M2", ENGLISH) == "M2"


def test_marks_are_plain() -> None:
    for said in (ENGLISH, CHINESE):
        assert [said[mark] for mark in ("ok", "no", "skip")] == ["ok", "no", "--"]


def test_every_code_in_the_source_has_its_sentence() -> None:
    folder = Path(doctor.__file__).parent
    codes = set()
    for name in ("verdict.py", "route.py"):
        text = (folder / name).read_text(encoding="utf-8")
        codes |= set(re.findall(r'Reason\(\s*"(\w+)"', text)) | set(re.findall(r'_refuse\(engine, "(\w+)"', text))
        codes |= set(re.findall(r'(?:why|code) = "(\w+)" if .* else "(\w+)"', text)[0]) if "why = " in text else set()
    checks = re.findall(r'Check\(\s*"(\w+)",\s*\w+,\s*"(\w+)"', (folder / "doctor.py").read_text(encoding="utf-8"))
    codes |= {code for _, code in checks} | {f"check_{name}" for name, _ in checks}
    assert len(codes) > 40
    assert codes - set(ENGLISH) == set()


@pytest.mark.parametrize("lang", ["en", "zh-TW"])
def test_every_reason_that_occurs_can_be_said(lang: str) -> None:
    known = registry.load({})
    heard = set()
    for path in MACHINES.iterdir():
        there = hardware.from_recording(hardware.load(path)["outputs"])
        for model in known.models.values():
            for wishes in (Wishes(), Wishes(token=True, longest_prompt=900, quantised=True)):
                for verdict in decide(model, there, engines.planned(there), wishes).verdicts:
                    for reason in verdict.reasons:
                        sentence = say(reason, lang)
                        heard.add(reason.code)
                        assert "{" not in sentence and "None" not in sentence, sentence
    assert len(heard) > 25


def test_numbers_as_people_read_them() -> None:
    facts = {"weights_bytes": 16 * 10**9, "memory_bytes": 24 << 30, "share": 0.6209, "place": "ram"}
    assert say(Reason("fits", "ok", facts), "en") == "weights of 14.9 GiB are 62% of the 24.0 GiB of memory"
    assert say(Reason("fits", "ok", facts), "zh-TW") == "權重 14.9 GiB，是記憶體（24.0 GiB）的 62%"
    raised = Reason("raise_wired_limit", "note", {"limit_mb": 229376, "share": 0.5})
    assert "=229376 " in say(raised, "en"), "a value to be typed has no separators"


def test_an_unknown_language_is_told() -> None:
    with pytest.raises(UsageError, match="no report in 'fr'"):
        route_words.words("fr")
