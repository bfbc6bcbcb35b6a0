"""What the report of an imported result says, in English and in Chinese as it is written in Taiwan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from twlocal.errors import UsageError

ENGLISH = {
    "imported": "IMPORTED: measured elsewhere, and taken over as it came.",
    "ok_bundle": "public board's reading {accuracy} (95% CI {low}–{high}, n = {n:,})",
    "ok_runner": "public board's reading {accuracy} (95% CI {low}–{high}, n = {n:,})",
    "ok_twinkle": "Twinkle Eval's reading {accuracy} (95% CI {low}–{high}, n = {n:,})",
    "rates_board": "board's box rate {box}, its lenient parse rate {lenient}",
    "no_rows": "no row tells whether it is right",
    "no_strict": "There is no strict score: the rows do not tell what the published reader read.",
    "name": "result",
    "model": "model",
    "bench": "dataset",
    "protocol": "protocol",
    "source": "source",
    "source_value": "{source} ({kind}), imported {when} UTC",
    "kind_bundle": "a bundle without responses",
    "kind_runner": "a public runner's results",
    "kind_twinkle": "Twinkle Eval's results",
    "rows": "rows",
    "rows_value": "{n:,}",
    "rows_repeated": ", {count:,} of them with the stem hash of another",
    "marks": "marked",
    "checksum": "checksum",
    "incomplete": "INCOMPLETE as far as its source tells: there is no .done marker.",
    "unknown": "not known",
    "notes": "note",
}
ENGLISH_UNKNOWN = {
    "responses": "the responses: nothing can be read again, shown or exported",
    "strict": "the published score (the strict reading)",
    "content_hash": "which question a row is, where stems repeat (rows without a content hash)",
    "complete": "whether it is complete",
    "precision": "whether the weights are quantised",
    "protocol": "the protocol",
    "subjects": "scores by subject",
}
ENGLISH_MARKS = {
    "quantised": "quantised weights",
    "precision_unknown": "precision not told by the engine",
    "protocol": "not a published protocol",
    "deviations": "the engine did not decode as the protocol asks",
    "private_text": "holds responses to private questions",
}

CHINESE = {
    "imported": "匯入：這是別處測得的結果，照原樣收錄。",
    "ok_bundle": "公開榜讀法 {accuracy}（95% 信賴區間 {low}–{high}，n={n:,}）",
    "ok_runner": "公開榜讀法 {accuracy}（95% 信賴區間 {low}–{high}，n={n:,}）",
    "ok_twinkle": "Twinkle Eval 讀法 {accuracy}（95% 信賴區間 {low}–{high}，n={n:,}）",
    "rates_board": "公開榜寫框率 {box}，寬鬆可讀率 {lenient}",
    "no_rows": "沒有一列說明是否答對",
    "no_strict": "沒有嚴格分數：這些列沒有記錄正式讀法讀到什麼。",
    "name": "結果",
    "model": "模型",
    "bench": "題庫",
    "protocol": "協定",
    "source": "來源",
    "source_value": "{source}（{kind}），{when} UTC 匯入",
    "kind_bundle": "不含作答的打包檔",
    "kind_runner": "公開測驗程式的結果",
    "kind_twinkle": "Twinkle Eval 的結果",
    "rows": "列數",
    "rows_value": "{n:,}",
    "rows_repeated": "，其中 {count:,} 列的題幹雜湊與別列相同",
    "marks": "註記",
    "checksum": "檢查碼",
    "incomplete": "來源沒有 .done 標記：可能尚未完成。",
    "unknown": "無從得知",
    "notes": "附註",
}
CHINESE_UNKNOWN = {
    "responses": "作答原文：無法重讀、顯示或匯出",
    "strict": "正式分數（嚴格讀法）",
    "content_hash": "題幹相同的各列分別是哪一題（沒有內容雜湊）",
    "complete": "是否完成",
    "precision": "權重是否經過量化",
    "protocol": "協定",
    "subjects": "各科分數",
}
CHINESE_MARKS = {
    "quantised": "權重經過量化",
    "precision_unknown": "引擎未說明權重精度",
    "protocol": "不是正式的測驗協定",
    "deviations": "引擎沒有照協定解碼",
    "private_text": "含有不公開題目的作答",
}


def marked(marks: Sequence[str]) -> str:
    """What follows the name of a result in an English line: its marks in words, "" where it has none."""
    return f"; marked: {', '.join(ENGLISH_MARKS.get(mark, mark) for mark in marks)}" if marks else ""


_LANGUAGES = {
    "en": (ENGLISH, ENGLISH_UNKNOWN, ENGLISH_MARKS),
    "zh-TW": (CHINESE, CHINESE_UNKNOWN, CHINESE_MARKS),
}


def words(lang: str) -> tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]]:
    """Templates, what may be unknown, and marks in a language. Raises UsageError for one that is not there."""
    if lang not in _LANGUAGES:
        raise UsageError(f"there is no report in {lang!r}", hint=f"there are: {', '.join(_LANGUAGES)}")
    return _LANGUAGES[lang]
