"""What queues and the live view say, in English and in Chinese as it is written in Taiwan. Both take the same names."""

from __future__ import annotations

from collections.abc import Mapping

from twlocal.errors import UsageError

ENGLISH = {
    # the plan
    "plan": "{name}: {count:item}",
    "column_no": "#",
    "column_model": "model",
    "column_bench": "benchmark",
    "column_engine": "engine",
    "column_fetch": "to fetch",
    "column_ask": "to ask",
    "column_time": "time",
    "nothing": "-",
    "unknown": "unknown",
    "cards": "{engine}, cards: {count}",
    "cannot": "cannot run here",
    "done_before": "done before",
    "left_of": "{left} of {all}",
    "like": "{time} (as on {bench})",
    "fetch_total": "To fetch: {size}; free on the disk: {free}.",
    "fetch_total_some": "To fetch: {size} and what could not be looked up; free on the disk: {free}.",
    "fetch_nothing": "Nothing to fetch.",
    "fetch_too_much": "The disk does not hold all of it at once: --reclaim gives each model's room back after its last "
    "item.",
    "time_none": "Nothing to ask.",
    "time_total": "Asking takes about {time}, without fetching and loading.",
    "time_total_some": "Asking takes about {time}, without fetching and loading, and without the items whose speed was "
    "never measured here.",
    "time_unknown": "How long it takes is not known: none of it was measured here before.",
    # the end
    "column_result": "result",
    "column_protocol": "protocol",
    "column_answered": "answered",
    "column_strict": "strict (95% CI)",
    "column_box": "box rate",
    "ok": "OK",
    "skipped": "skipped",
    "failed": "failed",
    "waiting": "waiting",
    "fetching": "fetching",
    "running": "running",
    "sums": "{ok} OK, {skipped} skipped, {failed} failed",
    "sums_waiting": "{ok} OK, {skipped} skipped, {failed} failed, {waiting} still to do",
    "why": "{no} {state}, {model} on {bench}: {reason}",
    "go_on": "The same command goes on.",
    # while it works
    "begun": "[{no}] {model} on {bench}: begun ({on})",
    "begun_on_cards": "{engine}, cards {cards}",
    "finished": "[{no}] {model} on {bench}: done",
    "finished_badly": "[{no}] {model} on {bench}: {state}: {reason}",
    "fetches": "{model}: fetching {repository}",
    "fetches_of": "{model}: fetching {repository}, {size}",
    "given_back": "{repository}: {size} given back",
    "stopping": "stopping after what is running (Ctrl-C again stops it too; what it stored stays)",
    "not_begun": "its process could not be begun: {problem}",
    "not_fetched": "its weights could not be fetched: {problem}",
    "ended_by": "its process ended by {name}",
    "ended_by_memory": "its process ended by {name} (the system kills the largest process when memory runs out)",
    "last_words": "; its last words: {words}",
    "ended_with": "it ended with exit code {code}",
    # live
    "queue": "queue {name}: {ended} of {all} dealt with",
    "queue_over": "queue {name}: ended, {ended} of {all} dealt with",
    "queue_stopped": "queue {name}: not being worked on, {ended} of {all} dealt with; the same command goes on",
    "column_state": "state",
    "column_rate": "speed",
    "column_left": "left",
    "state_running": "running",
    "state_complete": "complete",
    "state_stopped": "not being worked on",
    "rate": "{rate:.2f}/s",
    "minutes_left": "{time} left",
    "score": "strict {share:.1%} (95% CI {low:.1f}–{high:.1f}, n = {n:,}), box rate {box:.1%}",
    "some_failed": "{count} without an answer",
    "last": "last answers",
    "right": "right",
    "wrong": "wrong",
    "unread": "unread",
    "alarm": "ALARM {kind}: ",
    "loading": "the engine is loading, or weights are being fetched",
    "comma": ", ",
    "seconds": "{s} s",
    "minutes": "{m} min {s:02d} s",
    "hours": "{h} h {m:02d} min",
}

CHINESE = {
    "plan": "{name}：{count} 項",
    "column_no": "#",
    "column_model": "模型",
    "column_bench": "題庫",
    "column_engine": "引擎",
    "column_fetch": "要下載",
    "column_ask": "要問",
    "column_time": "時間",
    "nothing": "-",
    "unknown": "不明",
    "cards": "{engine}，{count} 張卡",
    "cannot": "這裡跑不動",
    "done_before": "先前已完成",
    "left_of": "{all} 之中的 {left}",
    "like": "{time}（依 {bench} 推算）",
    "fetch_total": "要下載 {size}；磁碟剩 {free}。",
    "fetch_total_some": "要下載 {size}，另有查不到大小的；磁碟剩 {free}。",
    "fetch_nothing": "不必下載。",
    "fetch_too_much": "磁碟無法同時放下全部：加上 --reclaim，每個模型做完最後一項就歸還空間。",
    "time_none": "沒有要問的題目。",
    "time_total": "作答約需 {time}，不含下載和載入。",
    "time_total_some": "作答約需 {time}，不含下載和載入，也不含從未在這台機器量過速度的項目。",
    "time_unknown": "需時不明：都沒有在這台機器量過。",
    "column_result": "結果",
    "column_protocol": "協定",
    "column_answered": "已答",
    "column_strict": "嚴格（95% 區間）",
    "column_box": "寫框率",
    "ok": "完成",
    "skipped": "略過",
    "failed": "失敗",
    "waiting": "等候",
    "fetching": "下載中",
    "running": "進行中",
    "sums": "完成 {ok}，略過 {skipped}，失敗 {failed}",
    "sums_waiting": "完成 {ok}，略過 {skipped}，失敗 {failed}，還有 {waiting} 項未做",
    "why": "{no} {state}，{model} × {bench}：{reason}",
    "go_on": "同一個指令會接著做。",
    "begun": "[{no}] {model} × {bench}：開始（{on}）",
    "begun_on_cards": "{engine}，顯示卡 {cards}",
    "finished": "[{no}] {model} × {bench}：完成",
    "finished_badly": "[{no}] {model} × {bench}：{state}：{reason}",
    "fetches": "{model}：正在下載 {repository}",
    "fetches_of": "{model}：正在下載 {repository}，{size}",
    "given_back": "{repository}：歸還 {size}",
    "stopping": "做完正在進行的就停（再按一次 Ctrl-C 連它也停；已存的會留著）",
    "not_begun": "無法啟動它的程序：{problem}",
    "not_fetched": "權重下載失敗：{problem}",
    "ended_by": "它的程序被 {name} 結束",
    "ended_by_memory": "它的程序被 {name} 結束（記憶體用完時，系統會結束最大的程序）",
    "last_words": "；最後的輸出：{words}",
    "ended_with": "結束代碼 {code}",
    "queue": "佇列 {name}：{all} 項處理了 {ended} 項",
    "queue_over": "佇列 {name}：結束，{all} 項處理了 {ended} 項",
    "queue_stopped": "佇列 {name}：目前沒有在跑，{all} 項處理了 {ended} 項；同一個指令會接著做",
    "column_state": "狀態",
    "column_rate": "速度",
    "column_left": "還要",
    "state_running": "進行中",
    "state_complete": "完成",
    "state_stopped": "目前沒有在跑",
    "rate": "每秒 {rate:.2f} 題",
    "minutes_left": "還要 {time}",
    "score": "嚴格 {share:.1%}（95% 信賴區間 {low:.1f}–{high:.1f}，n={n:,}），寫框率 {box:.1%}",
    "some_failed": "{count} 題沒有回答",
    "last": "最近的作答",
    "right": "對",
    "wrong": "錯",
    "unread": "讀不出",
    "alarm": "警示 {kind}：",
    "loading": "引擎載入中，或權重下載中",
    "comma": "，",
    "seconds": "{s} 秒",
    "minutes": "{m} 分 {s:02d} 秒",
    "hours": "{h} 小時 {m:02d} 分",
}

LANGUAGES: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "zh-TW": CHINESE}


def words(lang: str) -> Mapping[str, str]:
    """The templates of a language. Raises UsageError for one that is not there."""
    if lang not in LANGUAGES:
        raise UsageError(f"there is no page in {lang!r}", hint=f"there are: {', '.join(LANGUAGES)}")
    return LANGUAGES[lang]


def duration(seconds: float, said: Mapping[str, str]) -> str:
    """A time as people say it."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return said["hours"].format(h=hours, m=minutes)
    return said["minutes"].format(m=minutes, s=rest) if minutes else said["seconds"].format(s=rest)


def size(count: int) -> str:
    """Bytes as people say them."""
    return f"{count / (1 << 30):,.1f} GiB" if count >= 1 << 27 else f"{count / (1 << 20):,.1f} MiB"
