"""What a report says, in English and in Chinese as it is written in Taiwan.

Templates are filled with `str.format`; both languages take the same names.
"""

from __future__ import annotations

from collections.abc import Mapping

from twlocal import alarms, alphabets
from twlocal.errors import UsageError

ENGLISH = {
    "strict": "strict {accuracy} (95% CI {low}–{high}, {n})",
    "read_by": "{reader} {accuracy} (95% CI {low}–{high}, {n})",
    "n": "n = {n:,}",
    "n_repeats": "n = {items:question}, {n:response}",
    "lenient": "lenient {accuracy} ({low}–{high}), for comparison only",
    "no_score": "no score: none of {planned:response} is in yet",
    "incomplete": "INCOMPLETE {n:,} of {planned:,}: {rest}. The same command goes on where it stopped.",
    "failed": "{count:,} failed ({kinds})",
    "to_come": "{count:,} to come",
    "not_publishable": "NOT PUBLISHABLE: {why}",
    "why_protocol": "the protocol {name} is not the published one",
    "why_reader": "read with {reader}, and the protocol is read with {own}",
    "why_incomplete": "the run is incomplete",
    "why_quantised": "the weights are quantised",
    "why_stop_at_box": "answers were ended at their box (--stop-at-box)",
    "quantised": "QUANTISED: this is the score of a compressed file, not of the released weights.",
    "at_chance": "NOT ABOVE CHANCE: {correct:,} of {parsed:readable answer} right, "
    "which does not differ significantly from guessing (25%).",
    "run": "run",
    "model": "model",
    "bench": "dataset",
    "bench_value": "{bench}, {items:question}{withdrawn}",
    "withdrawn": " ({drawn:,} drawn, {count:,} withdrawn{since})",
    "withdrawn_since": ", {count:,} of them since it was asked",
    "protocol": "protocol",
    "protocol_value": "{name} ({title}), sha256 {sha}",
    "engine": "engine",
    "quantised_mark": "quantised",
    "rates": "box rate {box}, parse rate {parse}, lenient parse rate {lenient}",
    "responses": "responses",
    "truncated": "{count:,} cut by the budget",
    "budget": " of {tokens:token}",
    "refused": "{count:,} refused",
    "filtered": "{count:,} filtered",
    "loops": "{count:,} looping",
    "no_final": "{count:,} without a final text",
    "ordinal": "{count:,} read from 甲乙丙丁",
    "empty": "{count:,} empty",
    "tokens": "tokens",
    "tokens_value": "{prompt:,} in, {completion:,} out{reasoning}{untold}",
    "tokens_unknown": "not told by the engine",
    "reasoning": " ({count:,} of them reasoning)",
    "untold": ", not told by {count:,}",
    "time": "time",
    "time_value": "{time}{sittings}{started}",
    "sittings": " in {count:sitting}",
    "started": ", begun {when}",
    "repeats": "repeats",
    "repeats_value": "{asked} a question: {accuracies}; the same option each time in {same:,} of {compared:,}",
    "duration_h": "{h} h {m:02d} min",
    "duration_m": "{m} min {s:02d} s",
    "duration_s": "{s:.1f} s",
    "unknown": "unknown",
    "alarm": "ALARM {kind}: ",
    "subject": "subject",
    "column_n": "n",
    "column_strict": "strict",
    "column_interval": "95% CI",
    "column_lenient": "lenient",
    "column_box": "box",
    "column_parse": "parsed",
    "column_cut": "cut",
    "no_subject": "(none)",
    "list": ", ",
    "reasons": "; ",
}

CHINESE = {
    "strict": "嚴格讀法 {accuracy}（95% 信賴區間 {low}–{high}，{n}）",
    "read_by": "{reader} 讀法 {accuracy}（95% 信賴區間 {low}–{high}，{n}）",
    "n": "n={n:,}",
    "n_repeats": "n={items:,} 題、{n:,} 次作答",
    "lenient": "寬鬆讀法 {accuracy}（{low}–{high}），僅供對照，不能取代嚴格讀法",
    "no_score": "還沒有分數：{planned:,} 次作答都還沒有結果",
    "incomplete": "未完成 {n:,}／{planned:,}：{rest}。再下一次同樣的指令，就會從中斷的地方接著做。",
    "failed": "{count:,} 題失敗（{kinds}）",
    "to_come": "{count:,} 題尚未作答",
    "not_publishable": "不可發表：{why}",
    "why_protocol": "{name} 不是正式的測驗協定",
    "why_reader": "用的是 {reader} 讀法，協定規定的是 {own}",
    "why_incomplete": "測驗尚未完成",
    "why_quantised": "模型權重經過量化",
    "why_stop_at_box": "讀到框選的答案就停止生成（--stop-at-box）",
    "quantised": "量化模型：這是壓縮檔的分數，不是原始權重的分數。",
    "at_chance": "未高於猜答：讀得出的 {parsed:,} 個答案中答對 {correct:,} 個，與隨機猜答（25%）沒有顯著差異。",
    "run": "測驗",
    "model": "模型",
    "bench": "題庫",
    "bench_value": "{bench}，{items:,} 題{withdrawn}",
    "withdrawn": "（抽樣 {drawn:,} 題，撤題 {count:,} 題{since}）",
    "withdrawn_since": "，其中 {count:,} 題於作答後撤題",
    "protocol": "協定",
    "protocol_value": "{name}（{title}），sha256 {sha}",
    "engine": "引擎",
    "quantised_mark": "量化",
    "rates": "寫框率 {box}，可讀率 {parse}，寬鬆可讀率 {lenient}",
    "responses": "作答",
    "truncated": "{count:,} 則被長度上限截斷",
    "budget": "（{tokens:,} token）",
    "refused": "{count:,} 則拒答",
    "filtered": "{count:,} 則遭過濾",
    "loops": "{count:,} 則陷入重複",
    "no_final": "{count:,} 則沒有最終答覆",
    "ordinal": "{count:,} 則由甲乙丙丁判讀",
    "empty": "{count:,} 則空白",
    "tokens": "token",
    "tokens_value": "輸入 {prompt:,}，輸出 {completion:,}{reasoning}{untold}",
    "tokens_unknown": "引擎未回報",
    "reasoning": "（其中推理 {count:,}）",
    "untold": "，不含未回報的 {count:,} 則",
    "time": "時間",
    "time_value": "{time}{sittings}{started}",
    "sittings": "（分 {count:,} 次執行）",
    "started": "，{when} 開始",
    "repeats": "重複",
    "repeats_value": "每題 {asked} 次：{accuracies}；{compared:,} 題中有 {same:,} 題每次都選同一個選項",
    "duration_h": "{h} 小時 {m:02d} 分",
    "duration_m": "{m} 分 {s:02d} 秒",
    "duration_s": "{s:.1f} 秒",
    "unknown": "不明",
    "alarm": "警示 {kind}：",
    "subject": "科目",
    "column_n": "作答",
    "column_strict": "嚴格",
    "column_interval": "95% 區間",
    "column_lenient": "寬鬆",
    "column_box": "寫框",
    "column_parse": "可讀",
    "column_cut": "截斷",
    "no_subject": "（無）",
    "list": "、",
    "reasons": "；",
}

CHINESE_ALARMS = {
    "zero_score": (
        "{n} 題沒有一題答對，連瞎猜都幾乎不可能如此（p = {p:.1g}）：先讀幾則作答，並檢查寫框率與答案，再談 0 分。"
    ),
    "below_chance": (
        "讀得出的答案只有 {share:.1%} 答對，明顯低於瞎猜（p = {p:.1g}）：先懷疑答案移位或選項標錯，再懷疑模型。"
    ),
    "low_box_rate": "只有 {rate:.1%} 的作答寫了 \\boxed{{}}，嚴格分數量到的有一半是格式：請與寬鬆分數一起看。",
    "wrong_alphabet": (
        "{share:.1%} 的作答在框裡寫的是{alphabet}（例如 {example}），不是 A–D："
        "檢查系統提示詞有沒有寫錯的範例字，以及模型看到的選項標號。"
    ),
    "subject_parse_outlier": (
        "{subjects} 科中有 {count} 科的可讀率與其他科差太多（最明顯的是「{subject}」：{rate:.1%}，"
        "其餘 {rest:.1%}），多半是測量工具的問題：比較分數以前，先讀「{subject}」的作答。"
    ),
    "position_bias": (
        "選項已經打散，讀得出的答案卻有 {share:.1%} 都是 {letter}，等於沒有看題目：檢查對話範本，"
        "並看一則實際送出的提示詞。"
    ),
    "identical_replies": (
        "不同的題目有 {share:.1%} 得到一模一樣的作答（{example}），像是沒有收到題目：檢查對話範本，"
        "並看一則實際送出的提示詞。"
    ),
    "empty_replies": "{share:.1%} 的作答是空白，算答錯：檢查對話範本、停止字串與伺服器紀錄。",
    "reasoning_only": (
        "{share:.1%} 的作答只有推理欄位，推理自行結束的才會讀："
        "另外跑一次較大的長度上限，或檢查伺服器怎麼切開推理與答覆。"
    ),
    "unclosed_thought": ("{share:.1%} 的作答沒有結束思考，因此沒有最終答覆：另外跑一次，提高長度上限或減少思考。"),
    "silent_context": (
        "{count} 則作答在提示詞加作答約 {context:,} token 時被截斷，還沒到長度上限：引擎的上下文太短，請加"
        "大（num_ctx、--ctx-size、--max-model-len）再跑一次。"
    ),
    "silent_cap": (
        "要求 {max_tokens:,} token，卻有 {count} 則在約 {tokens:,} token 就被截斷：伺服器自己設了上限，"
        "請在那裡調高，或註明實際的上限。"
    ),
    "truncation": (
        "{share:.1%} 的作答被長度上限截斷，截斷前沒有寫框的都算錯：先看是不是陷入重複，若不是，另外跑一次較大的上限。"
    ),
    "loops": (
        "{share:.1%} 的作答陷入重複（例如 {example}），提高上限也救不了：檢查權重精度、對話範本與實際送出的解碼參數。"
    ),
    "refusals": "{share:.1%} 的作答遭拒答或過濾，算答錯：這個分數包含了供應商的政策，引用時請一併說明。",
    "temperature_not_honoured": (
        "{share:.1%} 的作答不是照要求的溫度產生的，因為伺服器不接受：引用分數時請註明，重跑的分數會不一樣。"
    ),
    "not_reproducible": (
        "溫度 0 重問的 {again} 則提示詞，有 {count} 則得到不同的作答：伺服器可能沒有照溫度執行，"
        "或批次運算不可重現，重跑的分數會不一樣。"
    ),
}

CHINESE_NAMES = {
    "zero_score": "零分",
    "below_chance": "低於瞎猜",
    "low_box_rate": "寫框率低",
    "wrong_alphabet": "用了別的字母",
    "subject_parse_outlier": "有的科目讀不出",
    "position_bias": "總選同一個字母",
    "identical_replies": "作答都一樣",
    "empty_replies": "空白作答",
    "reasoning_only": "只有推理",
    "unclosed_thought": "思考沒有結束",
    "silent_context": "上下文太短",
    "silent_cap": "伺服器另設上限",
    "truncation": "截斷",
    "loops": "陷入重複",
    "refusals": "拒答",
    "temperature_not_honoured": "沒有照溫度",
    "not_reproducible": "不可重現",
}

CHINESE_ALPHABETS = {
    alphabets.ORDINALS: "甲乙丙丁",
    "circled digits": "圈號數字",
    "digits": "數字",
    "Chinese numerals": "國字數字",
    "full-width letters": "全形字母",
    "Roman numerals": "羅馬數字",
    "Greek letters": "希臘字母",
    "bopomofo": "注音符號",
    alphabets.NOTHING: "空白",
    alphabets.RANGE: "A–D 以外的字母",
    alphabets.SEVERAL: "好幾個字母",
    alphabets.DECORATED: "加了裝飾的字母",
}

LANGUAGES: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "zh-TW": CHINESE}


def words(lang: str) -> Mapping[str, str]:
    """The templates of a language. Raises UsageError for one that is not there."""
    if lang not in LANGUAGES:
        raise UsageError(f"there is no report in {lang!r}", hint=f"there are: {', '.join(LANGUAGES)}")
    return LANGUAGES[lang]


def alarm_name(kind: str, lang: str) -> str:
    """An alarm's name in a language; the Chinese one keeps the code, by which JSON and the documentation know it."""
    return f"{CHINESE_NAMES[kind]}（{kind}）" if lang == "zh-TW" and kind in CHINESE_NAMES else kind


def alarm(found: alarms.Alarm, lang: str) -> str:
    """What an alarm says, in a language."""
    if lang == "en" or found.kind not in CHINESE_ALARMS:
        return found.message
    evidence = dict(found.evidence)
    if "alphabet" in evidence:
        evidence["alphabet"] = CHINESE_ALPHABETS[evidence["alphabet"]]
    return CHINESE_ALARMS[found.kind].format_map(evidence)
