"""What a board says, in Chinese as written in Taiwan and in English. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from twlocal.html.words import Text, t

# A note beside a number: its tag, and what it means.
NOTES: Mapping[str, tuple[Text, Text]] = {
    "other_reading": (
        t("另一種讀法", "other reading"),
        t(
            "這份結果沒有排行榜所用讀法的資料，顯示的是它自己的讀法，不列入名次。",
            "The result does not tell the board's reading; its own is shown, and it has no rank.",
        ),
    ),
    "incomplete": (
        t("未完成", "incomplete"),
        t("還有題目沒有作答，不列入名次。", "Some rows are not answered; it has no rank."),
    ),
    "quantised": (
        t("量化", "quantised"),
        t(
            "這是量化檔的分數，不是原始權重的分數，不列入名次。",
            "The score of a compressed file, not of the released weights; it has no rank.",
        ),
    ),
    "protocol": (
        t("非正式協定", "not the protocol"),
        t("用的不是正式的測驗協定，不列入名次。", "Not measured under a published protocol; it has no rank."),
    ),
    "deviations": (
        t("解碼有出入", "deviates"),
        t(
            "引擎沒有照協定的設定解碼，不列入名次。",
            "The engine did not decode as the protocol asks; it has no rank.",
        ),
    ),
    "self_advantage": (
        t("出題模型", "self-advantage"),
        t(
            "這個模型參與了題目初稿的生成，分數對它自己有利。",
            "The model drafted the questions, so its own score carries an advantage.",
        ),
    ),
    "other_items": (
        t("題目不同", "other items"),
        t(
            "作答的題目與其他模型不完全相同，只能以兩個獨立樣本比較。",
            "Answered other rows than most; it is compared with them as an independent sample.",
        ),
    ),
    "protocol_unknown": (
        t("協定不明", "protocol unknown"),
        t("來源沒有說明用的是哪一種協定。", "The source does not tell its protocol."),
    ),
    "precision_unknown": (
        t("精度不明", "precision unknown"),
        t("引擎或來源沒有說明權重是否經過量化。", "Engine or source do not tell whether the weights are quantised."),
    ),
    "thinking": (
        t("思考", "thinking"),
        t("作答前先輸出思考過程。", "It thinks before it answers."),
    ),
    "repeats": (
        t("重複作答", "repeats"),
        t("每題問了不只一次，分數是平均。", "Each question was asked several times; the score is the mean."),
    ),
}

READERS: Mapping[str, tuple[Text, Text]] = {
    "box": (
        t("box（嚴格）", "box (strict)"),
        t(
            "嚴格分數只讀最終答覆裡第一個讀得出選項的 \\boxed{}；讀不出就算錯。寬鬆分數另外也讀其他明確的作答敘述，"
            "只供對照。兩者的差距是格式，不是知識。",
            "The strict score reads the first readable \\boxed{} of the final text and nothing else; what cannot be "
            "read is wrong. The lenient score also reads other explicit statements of an answer, to compare. "
            "The distance between the two is format, not knowledge.",
        ),
    ),
    "board": (
        t("公開排行榜的讀法", "the public board's reading"),
        t(
            "來自交換格式（ok、boxp、lenp）：寬鬆分數是逐層判讀答對的比例；嚴格分數是其中框選也讀得出的部分。",
            "From the exchange format (ok, boxp, lenp): the lenient score is the share that the cascade reads as "
            "right, the strict score the share of those whose box could be read as well.",
        ),
    ),
}

# What a result is, and how far it vouches for itself.
KINDS: Mapping[str, Text] = {
    "run": t("作答都在，可以重讀", "with its responses, which can be read again"),
    "bundle": t(
        "打包檔，不含作答：逐題結果照單全收", "a bundle without its responses: its rows are taken at their word"
    ),
    "runner": t(
        "公開測驗程式的結果，不含作答：逐題結果照單全收",
        "a public runner's result, without responses: its rows are taken at their word",
    ),
    "twinkle": t("Twinkle Eval 的結果", "Twinkle Eval's result"),
}

TAIWAN: Mapping[bool | None, Text] = {
    True: t("為臺灣調校", "Taiwan-tuned"),
    False: t("一般模型", "general"),
    None: t("不明", "unknown"),
}
THINKING = {"always": t("一律思考", "always"), "switch": t("可開關", "can be switched"), "": t("不明", "unknown")}

# Sizes to filter by: name, from (exclusive) and up to (inclusive) so many thousand million parameters.
SIZES: tuple[tuple[str, Text, float, float], ...] = (
    ("s4", t("40 億以下", "up to 4B"), 0, 4.5e9),
    ("s15", t("40–150 億", "4B–15B"), 4.5e9, 15e9),
    ("s40", t("150–400 億", "15B–40B"), 15e9, 40e9),
    ("s150", t("400–1,500 億", "40B–150B"), 40e9, 150e9),
    ("s999", t("1,500 億以上", "over 150B"), 150e9, float("inf")),
)

WHATS = {
    "added": t("新增", "added"),
    "changed": t("更動", "changed"),
    "removed": t("移除", "removed"),
}

FAMILIES = {"Taiwan-tuned": t("為臺灣調校", "Taiwan-tuned"), "the rest": t("其餘", "the rest")}

GROUPS = {"all": t("全部", "all")}


def group(name: str) -> Text:
    """A group of models that an agreement was counted over."""
    if name.startswith("top "):
        return t(f"前 {name[4:]} 名", name)
    if name.startswith("above "):
        return t(f"高於 {name[6:]}", name)
    return GROUPS.get(name, t(name, name))


def size(parameters: int | None) -> str:
    """The name of the size that a number of parameters falls in."""
    if parameters is None:
        return "unknown"
    return next(name for name, _, low, high in SIZES if low < parameters <= high)


def parameters(count: int | None) -> str:
    """A number of parameters as people say it: 8.0B, 135M; "" where it is not known."""
    if count is None:
        return ""
    return f"{count / 1e9:.1f}B" if count >= 1e9 else f"{count / 1e6:.0f}M"
