"""Make `twlocal/formosa/simplified.txt` from OpenCC's STCharacters.txt (Apache-2.0), the same bytes every time.

    python scripts/derive_simplified.py STCharacters.txt > twlocal/formosa/simplified.txt

A character is Simplified-only when OpenCC turns it into others and never leaves it, GB 2312 has it, and Big5 has not.
Big5's first level is what Taiwan writes every day. Of its second level, which also holds rare homographs of Simplified
characters (体, 机), those below were picked by hand; all others are left alone. The codecs are
Python's and do not change.
"""

from __future__ import annotations

import sys
from pathlib import Path

# Of Big5's second level: in a text of today these are Simplified. The others (庄 粽 凄 栖 洼 瓮 炖 …) are not.
SECOND_LEVEL = "与优体圣复岭异怀惊扰机构洁网触离忏怜宁蚕吨"
# Variants and misprints that native text was found to hold (signs and maps write 凉麵, 猫囒山, 葱油餅, 叠), and forms
# that differ from Taiwan's only in the drawing.
REVIEW = (
    "强温虚迹踪脉烟疱腭眦恒韵撑糍咤毁悦税脱内没录黄吴吕茎结"
    "凉冲猫葱叠厨厦晋脚碱净况决减凑猪胆泪弃却册叙够抛换宫侣彦奥滚瑶摇遥户别静争"
)
# Words of Japanese, names, and the Book of Changes, that native text holds with such a character.
EXCEPTIONS = (
    "弁当",
    "学芸大学",
    "担仔",
    "担担麵",
    "王添灯",
    "添灯",
    "无咎",
    "无妄",
    "无悔",
    "无不利",
    "无首",
    "无攸",
    "无極",
)
COLUMNS = 50


def has(char: str, codec: str) -> bool:
    try:
        return len(char.encode(codec)) == 2
    except UnicodeEncodeError:
        return False


def derive(table: str) -> str:
    pairs = [line.split("\t") for line in table.splitlines() if line and not line.startswith("#")]
    only = {char for char, targets in pairs if char not in targets.split(" ") and has(char, "gb2312")}
    candidates = {char for char in only if not has(char, "big5")} | set(SECOND_LEVEL)
    strict = sorted(candidates - set(REVIEW))
    review = sorted(candidates & set(REVIEW))
    lines = [
        "# Characters that Taiwan does not write. Made by scripts/derive_simplified.py; do not edit.",
        "# Derived from OpenCC's STCharacters.txt, Copyright BYVoid and contributors, Apache License 2.0.",
        "[strict]",
        *("".join(strict[at : at + COLUMNS]) for at in range(0, len(strict), COLUMNS)),
        "[review]",
        "".join(review),
        "[exceptions]",
        *EXCEPTIONS,
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(derive(Path(sys.argv[1]).read_text(encoding="utf-8")).encode("utf-8"))
