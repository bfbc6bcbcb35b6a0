"""What `twlocal show` says of one item, in English and in Chinese as it is written in Taiwan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from twlocal.errors import UsageError

ENGLISH = {
    "title": "{run}, item {no}{named}, {subject}",
    "named": " ({id})",
    "hash": "content hash {hash}",
    "not_answered": "not answered yet",
    "no_answer": "no answer ({kind}, {when}): {error}",
    "again": "-- asked again, repeat {repeat}",
    "private": "(a private run: the question was not kept)",
    "reasoning": "[reasoning]",
    "response": "[response]",
    "finish": "finish: {finish}, {tokens}",
    "tokens": "{n:token}",
    "unknown": "tokens unknown",
    "loop": "; ends in a loop",
    "flags": "flags: {flags}",
    "order": "options shown in the order {order}: the right one ({answer} in the dataset) was shown as {shown}",
    "reader": "reader",
    "reads": "what it reads, in the letters shown",
    "right": "right",
    "wrong": "wrong",
    "unread": "unread",
    "missing": "n/a",  # a reader whose package is not installed
    "way_out": "to be installed first: {hint}",
}

CHINESE = {
    "title": "{run}，編號 {no}{named}，{subject}",
    "named": "（{id}）",
    "hash": "內容雜湊值 {hash}",
    "not_answered": "尚未作答",
    "no_answer": "沒有作答（{kind}，{when}）：{error}",
    "again": "-- 第 {repeat} 次問",
    "private": "（不公開的測驗：沒有留下題目）",
    "reasoning": "[推理]",
    "response": "[作答]",
    "finish": "結束原因：{finish}，{tokens}",
    "tokens": "{n:,} token",
    "unknown": "token 數不明",
    "loop": "；最後陷入重複",
    "flags": "註記：{flags}",
    "order": "選項依 {order} 的順序顯示：正解（題庫裡的 {answer}）顯示為 {shown}",
    "reader": "讀法",
    "reads": "讀到什麼（以顯示的字母為準）",
    "right": "答對",
    "wrong": "答錯",
    "unread": "讀不出",
    "missing": "未安裝",
    "way_out": "要先安裝：{hint}",
}

# The rules and the flags of `twlocal.readers.reading`, which says them in English.
CHINESE_WHY = {
    "box": "第一個只放一個選項字母的 \\boxed{{}} 寫的是 {letter}",
    "ordinal": "第一個放了選項的 \\boxed{{}} 寫的是甲乙丙丁，依順序是 {letter}",
    "box_decorated": "框裡是 {letter}，外面還包了別的東西",
    "statement": "最後一次明說答案時，說的是 {letter}",
    "verdict": "只有 {letter} 被說成正確的選項",
    "leading_letter": "作答一開頭就是單獨的字母 {letter}",
    "marked_answer": "標明的答案是 {letter}",
    "lone_letter": "第一個單獨出現的字母是 {letter}",
    "pattern": "Twinkle Eval 的樣式找到 {letter}",
    "empty": "沒有文字可讀",
    "no_final_text": "沒有最終答覆：作答一直停在思考裡",
    "no_box": "最終答覆裡沒有 \\boxed{{}}",
    "box_empty": "框是空的",
    "box_not_a_letter": "沒有一個框裡只放一個選項字母",
    "box_outside_labels": "框裡的字母不是這一題的選項",
    "box_several": "一個框裡寫了好幾個選項",
    "statement_several": "最後一次明說答案時，說了好幾個選項",
    "statement_outside_labels": "最後一次明說答案時，說的字母不是這一題的選項",
    "statement_withdrawn": "說了答案，後來又收回",
    "no_statement": "沒有框、沒有明說答案，也沒有單獨的字母",
    "no_pattern": "Twinkle Eval 的樣式都對不上",
    "no_letter": "找不到選項字母",
}
CHINESE_FLAGS = {
    "unclosed_thinking": "思考開始後沒有結束",
    "no_final_channel": "作答沒有 final 頻道",
    "reasoning_only": "內容是空的，所以讀的是推理欄位",
    "control_character": "文字裡有控制字元，像是跳脫字元損壞後留下的",
    "ordinal": "甲乙丙丁依順序判讀",
    "unclosed_box": "框少了右大括號",
}

_LANGUAGES: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "zh-TW": CHINESE}


def words(lang: str) -> Mapping[str, str]:
    """The templates of a language. Raises UsageError for one that is not there."""
    if lang not in _LANGUAGES:
        raise UsageError(f"nothing is said in {lang!r}", hint=f"there are: {', '.join(_LANGUAGES)}")
    return _LANGUAGES[lang]


def why(rule: str, letter: str | None, flags: Sequence[str]) -> str:
    """One Chinese sentence on how a reading came about."""
    notes = [CHINESE_FLAGS.get(flag, flag) for flag in flags]
    return CHINESE_WHY[rule].format(letter=letter) + (f"（{'；'.join(notes)}）。" if notes else "。")
