"""The paper's prompts, as they stand in its appendix."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from twlocal import protocol
from twlocal.formosa import prompts

SHA256 = {
    "draft": "644f406798dcbcaa378297786af13c6aa927f164744463a2e72b8ab32bd3d4f9",
    "judge": "e557c43eba0666530a9a498f150ead6cd25eb93702d5f5f2ab5dd2064bccba8c",
}


@pytest.mark.parametrize("name", SHA256)
def test_the_texts_do_not_change_unnoticed(name: str) -> None:
    prompt = prompts.load(name)
    assert hashlib.sha256(prompt.protocol.system.encode()).hexdigest() == SHA256[name]
    assert prompt.protocol.decoding.temperature == 0 and prompt.protocol.decoding.max_tokens == 4096
    assert list(prompt.schema["properties"]) == prompt.schema["required"], "an engine writes them in this order"


@pytest.mark.parametrize("name", SHA256)
def test_they_are_the_papers(name: str, shared: Path) -> None:
    said = [re.sub(r"\s", "", path.read_text(encoding="utf-8")) for path in (shared / "paper").glob("*.txt")]
    text = re.sub(r"\s", "", prompts.load(name).protocol.system)
    assert any(text in one for one in said), "but for white space, the paper holds this text"


def test_they_are_no_protocols_of_a_benchmark() -> None:
    assert not [name for name in protocol.names() if "formosa" in name or name in SHA256]
