"""What routing and the preflight say, in English and in Chinese as it is written in Taiwan.

Templates are filled with `str.format`; both languages take the same names. Facts whose names end in `_bytes` are shown
in GiB, `share` as a percentage, other whole numbers with separators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twlocal.errors import UsageError
from twlocal.hardware import GIB
from twlocal.verdict import Reason

_CONVERT = "convert it yourself, once (convert_hf_to_gguf.py of llama.cpp, --outtype bf16) and name the .gguf file"
_CONVERT_ZH = "自行轉檔一次（llama.cpp 的 convert_hf_to_gguf.py，--outtype bf16），再指定那個 .gguf 檔"

ENGLISH = {
    # why not
    "not_wished": "you asked for {wished}",
    "engine_missing": "not installed here: pip install 'twlocal[{extra}]'",
    "wrong_machine": "needs an {needs} machine, which this is not",
    "no_gpu": "needs an NVIDIA card, and there is none to use{hidden}{problem}",
    "no_gpu_hidden": "; CUDA_VISIBLE_DEVICES hides {hidden}",
    "no_gpu_problem": "; nvidia-smi says: {problem}",
    "gated": "{repo} is gated: accept its terms at https://huggingface.co/{repo}, then set HF_TOKEN",
    "architecture_unknown": "{engine} {version} does not know the architecture {name}: upgrade {engine}",
    "architecture_unknown_since": "{engine} {version} does not know {name}; {engine} {since} does",
    "newer_needs_driver": "vLLM {since} needs an NVIDIA driver from {needed} on, and this one is {driver}",
    "gguf_only": "this is a GGUF file, which of these only llama.cpp reads",
    "vision_tower": "{repo} loads as a Llama only once its vision tower is taken away: "
    "save its language model as a checkpoint of its own, and name that folder",
    "remote_code": "{repo} runs Python code of its own when it is loaded ({files}): "
    "read it, then allow it for this model with --trust-remote-code",
    "context_too_short": "its context of {context} tokens has no room for an answer after prompts of up to {prompt}",
    "too_big": "weights of {weights_bytes} are {share} of the {memory_bytes} of {place}; above 85% it does not start",
    "heads": "more cards would hold it, but a group must divide its head counts ({heads}): "
    "of {cards} cards at most {size} can share it",
    "driver_too_old": "the NVIDIA driver {driver} is too old for every CUDA 12 build: update it to {needed} or newer",
    "driver_too_old_for_build": "the installed build uses CUDA {cuda}, which needs an NVIDIA driver from {needed} on, "
    "and this one is {driver}: update the driver, or pip install '{install}' (CUDA {toolkit})",
    "capability_too_old": "{gpu} has compute capability {capability}; CUDA {cuda} builds start at {needed}",
    "no_dtype": "{gpu} ({capability}) cannot compute in bfloat16, {family} overflows in float16, and quantised weights "
    "are not computed in float32: take the unquantised model, or a card from compute capability 8.0 on",
    "translated": "this Python is one for Intel processors, which runs translated (Rosetta) and reaches no Metal: "
    "install one for arm64 and twlocal in it",
    "format_too_new": "{dtype} weights need a card from compute capability 8.0 on; {gpu} has {capability}",
    "kv_short": "beside the weights there is room for {tokens} tokens, and one answer may need {context}: "
    "lower --max-tokens, or use more cards",
    "mlx_fp8": "mlx-lm does not read FP8 weights as they are, and unpacked they are another format: use vLLM",
    "only_quantised": "the GGUF file that is known ({file}) is quantised: allow it with --quantised, or " + _CONVERT,
    "gguf_unnamed": "{repo} holds GGUF files whose names are not in the registry: name one as {repo}:FILE.gguf",
    "no_gguf": "no GGUF file of {repo} is known: " + _CONVERT,
    "later_in_order": "could run it too; {taken} comes first on such a machine",
    "slower_device": "could run it on the CPU; {taken} is faster",
    # good to know
    "gate_unknown": "{repo} may be gated (not known); if it cannot be fetched, accept its terms and set HF_TOKEN",
    "architecture_unchecked": "whether this {engine} knows the architecture could not be checked",
    "remote_code_trusted": "Python code of {repo} ({files}) may run, as you allowed",
    "budget_short": "answers may have {budget} tokens; it thinks, and is usually given {cap} (--max-tokens)",
    "context_shared": "its context is {context} tokens, which prompt and answer share; the run would like {wanted}",
    "context_short": "its context is {context} tokens and the run would like {wanted}: "
    "answers are cut after {room} tokens beside the longest prompt",
    "fit_unchecked": "whether it fits {place} could not be checked: a size is not known",
    "tight": "tight: weights of {weights_bytes} are {share} of the {memory_bytes} of {place}; few answers run at once",
    "disk_short": "weights of {weights_bytes} and only {disk_bytes} free on the disk, unless they are there already",
    "cpu_build": "this build of {engine} computes on the CPU",
    "driver_unchecked": "the driver could not be checked (needed: {needed} or newer)",
    "busy": "other processes hold {held_bytes} of {gpu} now: an idle card is taken first, else what they leave",
    "heads_unchecked": "its head counts are not known: {size} cards may not be able to share it",
    "capability_unchecked": "the compute capability of {gpu} is not known: {dtype} could not be checked",
    "fp8_emulated": "{gpu} ({capability}) has no FP8 units: weights stay FP8, sums are made in 16 bits; recorded",
    "float16": "{gpu} ({capability}) cannot compute in bfloat16: float16 instead, noted in the run's record",
    "float32": "{gpu} ({capability}) cannot compute in bfloat16, and {family} overflows in float16: float32 instead, "
    "twice the memory",
    "mlx_cpu": "without Metal, MLX computes on the CPU, slowly (float32 weights and OpenBLAS help)",
    "quantised": "{file} is quantised: the score is marked so and is not published",
    "raise_wired_limit": "sudo sysctl iogpu.wired_limit_mb={limit_mb} lets Metal hold more: it would then be {share}",
    "cards_too_small": "weights of {weights_bytes} are {share} of {place}: computed on the CPU instead, slowly",
    # in order
    "fits": "weights of {weights_bytes} are {share} of the {memory_bytes} of {place}",
    "driver": "NVIDIA driver {driver} starts CUDA {cuda}",
    "kv": "beside the weights there is room for {tokens} tokens, {sequences} answers of full length at once",
    "context": "context of {context} tokens: {budget} for the answer, the rest for the prompt",
    "context_measured": "context of {context} tokens: the longest prompt of {prompt} and {budget} for the answer",
    # the page
    "title": "{model} on {machine}",
    "this_machine": "this machine",
    "taken": "runs on {engine} ({device})",
    "nowhere": "cannot run here; a server elsewhere that has it can be asked: http(s)://host/v1#name",
    "thinks": "It thinks before it answers; its chat template has a switch: --template-variable {variable}=VALUE",
    "registry_facts": "What the registry says of models is general knowledge, not yet compared with their config.json.",
    "source": "from {source}",
    "settings": "settings",
    "not_taken": "not {engine}",
    "if_installed": "If it were installed, {engine} could run it: pip install 'twlocal[{extra}]'",
    "assumed": "The recording names no engines: those that one would install there are assumed.",
    "metal": "what Metal may hold",
    "ram": "memory",
    "note_wsl": "Linux under Windows: memory is what .wslconfig gives",
    "note_mig": "a card is divided (MIG): how much of it a process gets is not known",
    "note_device_order": "different cards and CUDA_VISIBLE_DEVICES by number: set CUDA_DEVICE_ORDER=PCI_BUS_ID, "
    "or the numbers may mean other cards",
    "note_no_such_device": "CUDA_VISIBLE_DEVICES names a card that is not there; it and what follows are ignored",
    # the preflight
    "ok": "ok",
    "no": "no",
    "skip": "--",
    "check_python": "Python",
    "check_machine": "machine",
    "check_gpu": "graphics",
    "check_cache": "disk for models",
    "check_database": "database folder",
    "check_token": "Hub token",
    "check_access": "gated access",
    "check_hub": "fetching",
    "check_engines": "engines",
    "check_wired": "Metal limit",
    "python_ok": "{version}",
    "python_old": "{version}; twlocal needs {needed}: install a newer Python",
    "machine": "{what}",
    "gpu_ok": "{what}, driver {driver}",
    "gpu_old": "{what}, driver {driver}: too old for current vLLM (needs {needed}); update it, or {install}",
    "gpu_too_old": "{what}, driver {driver}: too old for every vLLM; update it to {needed} or newer",
    "gpu_problem": "nvidia-smi says: {problem}; install or repair the NVIDIA driver",
    "gpu_updated": "nvidia-smi says: {problem}; the driver was updated while it was in use: restart the machine",
    "gpu_hidden": "CUDA_VISIBLE_DEVICES hides {hidden}: unset it to use them",
    "gpu_none": "no NVIDIA card; llama_cpp computes on the CPU",
    "cache_ok": "{free_bytes} free",
    "cache_unknown": "not known",
    "cache_low": "{free_bytes} free, and the largest model that fits this machine takes {weights_bytes}: "
    "free some, or set HF_HOME to a larger disk",
    "database_ok": "can be written, {free_bytes} free",
    "database_low": "only {free_bytes} free: free at least {needed_bytes}, or put the database elsewhere with --db",
    "database_denied": "cannot be written: choose another folder with --db, or change its permissions",
    "token_ok": "present",
    "token_missing": "none: create one at https://huggingface.co/settings/tokens and set HF_TOKEN, for gated models",
    "access_offline": "not checked: the Hub cannot be reached",
    "access_off": "not checked: HF_HUB_OFFLINE is set",
    "hub_missing": "models below are fetched from the Hub, which needs an extra: pip install 'twlocal[hub]'",
    "access_no_hub": "not checked: pip install 'twlocal[hub]'",
    "access_no_token": "not checked: there is no token",
    "access_granted": "{count} of {total} gated models of the registry",
    "access_denied": "not for {repos}: accept the terms on their pages, https://huggingface.co/OWNER/NAME",
    "engines_ok": "{what}",
    "engines_none": "none, only servers by HTTP: pip install 'twlocal[{extra}]'",
    "wired_ok": "Metal may hold {limit_bytes}",
    "wired_low": "Metal may hold {limit_bytes}; sudo sysctl iogpu.wired_limit_mb={limit_mb} for larger models "
    "(until the next start)",
    "models": "models of the registry that run here",
    "models_not": "and those that do not; a server elsewhere that has one can be asked: http(s)://host/v1#name",
    "too_big_all": "too large for {place} ({memory_bytes}): {models}",
    "no_gguf_all": "no GGUF file is known of {models}. " + _CONVERT[0].upper() + _CONVERT[1:],
    "column_model": "model",
    "column_engine": "engine",
    "colon": ": ",
    "with_engine": "{engine}, if installed",
    "tight_mark": "tight",
    "list": ", ",
}

CHINESE = {
    "not_wished": "指定要用 {wished}",
    "engine_missing": "這裡沒有安裝：pip install 'twlocal[{extra}]'",
    "wrong_machine": "需要 {needs} 的機器",
    "no_gpu": "需要 NVIDIA 顯示卡，但沒有可用的卡{hidden}{problem}",
    "no_gpu_hidden": "；CUDA_VISIBLE_DEVICES 藏住了 {hidden} 張",
    "no_gpu_problem": "；nvidia-smi 說：{problem}",
    "gated": "{repo} 需先同意授權條款：到 https://huggingface.co/{repo} 同意後，設定 HF_TOKEN",
    "architecture_unknown": "{engine} {version} 不認得 {name} 架構：請升級 {engine}",
    "architecture_unknown_since": "{engine} {version} 不認得 {name}；{engine} {since} 起才支援",
    "newer_needs_driver": "vLLM {since} 需要 {needed} 以上的 NVIDIA 驅動程式，這裡是 {driver}",
    "gguf_only": "這是 GGUF 檔，這幾個引擎裡只有 llama.cpp 讀得懂",
    "vision_tower": "{repo} 要先拿掉視覺塔，才能當成 Llama 載入：把語言模型另存成一份檢查點，再指定那個資料夾",
    "remote_code": "{repo} 載入時會執行它自己的 Python 程式（{files}）：先讀過，再以 --trust-remote-code 准許這個模型",
    "context_too_short": "上下文只有 {context} token，放進最長 {prompt} token 的提示詞後，已容不下作答",
    "too_big": "權重 {weights_bytes}，是{place}（{memory_bytes}）的 {share}；超過 85% 無法啟動",
    "heads": "卡數雖然夠，但一組卡的張數必須整除它的各種 head 數（{heads}）：{cards} 張卡最多只能合用 {size} 張",
    "driver_too_old": "NVIDIA 驅動程式 {driver} 太舊，任何 CUDA 12 版本都跑不動：請更新到 {needed} 以上",
    "driver_too_old_for_build": "安裝的版本用 CUDA {cuda}，需要 {needed} 以上的 NVIDIA 驅動程式，這裡是 {driver}："
    "更新驅動程式，或 pip install '{install}'（CUDA {toolkit}）",
    "capability_too_old": "{gpu} 的運算能力是 {capability}；CUDA {cuda} 版本從 {needed} 起才支援",
    "no_dtype": "{gpu}（{capability}）不能以 bfloat16 計算，{family} 在 float16 會溢位，"
    "量化的權重又不能以 float32 計算：請用未量化的模型，或運算能力 8.0 以上的卡",
    "translated": "這個 Python 是給 Intel 處理器的，經由 Rosetta 轉譯執行，用不到 Metal："
    "請安裝 arm64 的 Python，再在裡面安裝 twlocal",
    "format_too_new": "{dtype} 權重需要運算能力 8.0 以上的卡；{gpu} 是 {capability}",
    "kv_short": "權重以外只剩 {tokens} token 的空間，一則作答卻可能要 {context}：調低 --max-tokens，或用更多卡",
    "mlx_fp8": "mlx-lm 不能直接讀 FP8 權重，解開後又是另一種格式：請用 vLLM",
    "only_quantised": "已知的 GGUF 檔（{file}）經過量化：以 --quantised 准許，或" + _CONVERT_ZH,
    "gguf_unnamed": "{repo} 有 GGUF 檔，但登記表裡沒有檔名：請寫成 {repo}:檔名.gguf",
    "no_gguf": "登記表裡沒有 {repo} 的 GGUF 檔：" + _CONVERT_ZH,
    "later_in_order": "也跑得動；這種機器優先用 {taken}",
    "slower_device": "可以用 CPU 跑；{taken} 比較快",
    "gate_unknown": "不知道 {repo} 是否需要同意條款；若下載不了，請到它的頁面同意，並設定 HF_TOKEN",
    "architecture_unchecked": "無法確認這個 {engine} 認不認得它的架構",
    "remote_code_trusted": "依你的准許，可能執行 {repo} 的 Python 程式（{files}）",
    "budget_short": "作答最多 {budget} token；它會思考，通常給 {cap}（--max-tokens）",
    "context_shared": "上下文只有 {context} token，由提示詞和作答共用；這次測驗想要 {wanted}",
    "context_short": "上下文只有 {context} token，這次測驗想要 {wanted}：遇到最長的提示詞，作答在 {room} token 處截斷",
    "fit_unchecked": "有大小不明，無法確認放不放得進{place}",
    "tight": "吃緊：權重 {weights_bytes}，是{place}（{memory_bytes}）的 {share}，同時只能跑少數幾則作答",
    "disk_short": "權重 {weights_bytes}，磁碟只剩 {disk_bytes}（若已經下載就沒關係）",
    "cpu_build": "這個 {engine} 是用 CPU 計算的版本",
    "driver_unchecked": "無法確認驅動程式版本（需要 {needed} 以上）",
    "busy": "其他程式正占用 {gpu} 的 {held_bytes}：有閒置的卡會先用，否則用剩下的",
    "heads_unchecked": "不知道它的各種 head 數：{size} 張卡不一定能合用",
    "capability_unchecked": "不知道 {gpu} 的運算能力：無法確認 {dtype}",
    "fp8_emulated": "{gpu}（{capability}）沒有 FP8 運算單元：權重仍是 FP8，以 16 位元計算；會記錄下來",
    "float16": "{gpu}（{capability}）不能以 bfloat16 計算：改用 float16，並記錄在測驗裡",
    "float32": "{gpu}（{capability}）不能以 bfloat16 計算，而 {family} 在 float16 會溢位：改用 float32，記憶體加倍",
    "mlx_cpu": "沒有 Metal，MLX 改用 CPU，很慢（float32 權重加 OpenBLAS 會好一些）",
    "quantised": "{file} 經過量化：分數會標明，不能發表",
    "raise_wired_limit": "sudo sysctl iogpu.wired_limit_mb={limit_mb} 可讓 Metal 多放一些：屆時是 {share}",
    "cards_too_small": "權重 {weights_bytes}，是{place} 的 {share}：改用 CPU 計算，很慢",
    "fits": "權重 {weights_bytes}，是{place}（{memory_bytes}）的 {share}",
    "driver": "NVIDIA 驅動程式 {driver} 可以啟動 CUDA {cuda}",
    "kv": "權重以外還有 {tokens} token 的空間，同時容得下 {sequences} 則最長的作答",
    "context": "上下文 {context} token：作答 {budget}，其餘留給提示詞",
    "context_measured": "上下文 {context} token：最長的提示詞 {prompt}，作答 {budget}",
    "title": "{model}，在{machine}",
    "this_machine": "這台機器",
    "taken": "用 {engine} 跑（{device}）",
    "nowhere": "這裡跑不動；別處的伺服器有它的話，可以問那裡：http(s)://host/v1#name",
    "registry_facts": "登記表所記的模型資料是一般所知，尚未與模型的 config.json 核對。",
    "thinks": "它會先思考再作答；對話模板有開關：--template-variable {variable}=VALUE",
    "source": "取自 {source}",
    "settings": "設定",
    "not_taken": "不用 {engine}",
    "if_installed": "若安裝 {engine} 就能跑：pip install 'twlocal[{extra}]'",
    "assumed": "錄下的機器沒有寫安裝了哪些引擎：以適合安裝的版本計。",
    "metal": "Metal 可用的記憶體",
    "ram": "記憶體",
    "note_wsl": "Windows 裡的 Linux：記憶體大小由 .wslconfig 決定",
    "note_mig": "有卡分割成 MIG：不知道一個程式能用多少",
    "note_device_order": "卡的型號不同，CUDA_VISIBLE_DEVICES 又用編號："
    "請設 CUDA_DEVICE_ORDER=PCI_BUS_ID，否則編號可能是別張卡",
    "note_no_such_device": "CUDA_VISIBLE_DEVICES 寫了不存在的卡；它和後面的都不算",
    "ok": "ok",
    "no": "no",
    "skip": "--",
    "check_python": "Python",
    "check_machine": "機器",
    "check_gpu": "顯示卡",
    "check_cache": "模型的磁碟空間",
    "check_database": "資料庫資料夾",
    "check_token": "Hub 權杖",
    "check_access": "條款許可",
    "check_hub": "下載",
    "check_engines": "引擎",
    "check_wired": "Metal 上限",
    "python_ok": "{version}",
    "python_old": "{version}；twlocal 需要 {needed}：請安裝較新的 Python",
    "machine": "{what}",
    "gpu_ok": "{what}，驅動程式 {driver}",
    "gpu_old": "{what}，驅動程式 {driver}：對目前的 vLLM 太舊（需要 {needed}）；更新它，或 {install}",
    "gpu_too_old": "{what}，驅動程式 {driver}：對任何 vLLM 都太舊；請更新到 {needed} 以上",
    "gpu_problem": "nvidia-smi 說：{problem}；請安裝或修復 NVIDIA 驅動程式",
    "gpu_updated": "nvidia-smi 說：{problem}；驅動程式在使用中被更新了：請重新開機",
    "gpu_hidden": "CUDA_VISIBLE_DEVICES 藏住了 {hidden} 張：要用就取消它",
    "gpu_none": "沒有 NVIDIA 顯示卡；llama_cpp 會用 CPU 計算",
    "cache_ok": "剩 {free_bytes}",
    "cache_unknown": "不明",
    "cache_low": "剩 {free_bytes}，這台機器放得下的最大模型要 {weights_bytes}：清出空間，或把 HF_HOME 設到較大的磁碟",
    "database_ok": "可以寫入，剩 {free_bytes}",
    "database_low": "只剩 {free_bytes}：至少清出 {needed_bytes}，或以 --db 把資料庫放到別處",
    "database_denied": "無法寫入：以 --db 換一個資料夾，或更改權限",
    "token_ok": "有",
    "token_missing": "沒有：到 https://huggingface.co/settings/tokens 建立，設為 HF_TOKEN，才能下載需同意條款的模型",
    "access_offline": "未檢查：連不上 Hub",
    "access_off": "未檢查：設了 HF_HUB_OFFLINE",
    "hub_missing": "下列模型要從 Hub 下載，還缺一個 extra：pip install 'twlocal[hub]'",
    "access_no_hub": "未檢查：pip install 'twlocal[hub]'",
    "access_no_token": "未檢查：沒有權杖",
    "access_granted": "登記表裡需同意條款的 {total} 個模型，{count} 個已許可",
    "access_denied": "還不能下載 {repos}：到各自的頁面 https://huggingface.co/OWNER/NAME 同意條款",
    "engines_ok": "{what}",
    "engines_none": "沒有，只能用 HTTP 伺服器：pip install 'twlocal[{extra}]'",
    "wired_ok": "Metal 可用 {limit_bytes}",
    "wired_low": "Metal 可用 {limit_bytes}；較大的模型可用 "
    "sudo sysctl iogpu.wired_limit_mb={limit_mb}（到下次開機為止）",
    "models": "登記表裡這台機器跑得動的模型",
    "models_not": "這台機器跑不動的；別處的伺服器有的話，可以問那裡：http(s)://host/v1#name",
    "too_big_all": "{place}（{memory_bytes}）放不下：{models}",
    "no_gguf_all": "登記表裡沒有 GGUF 檔：{models}。可以" + _CONVERT_ZH,
    "column_model": "模型",
    "column_engine": "引擎",
    "colon": "：",
    "with_engine": "{engine}（需安裝）",
    "tight_mark": "吃緊",
    "list": "、",
}

LANGUAGES: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "zh-TW": CHINESE}
PLAIN = frozenset({"limit_mb", "needed", "cuda", "hidden", "size", "cards"})


def words(lang: str) -> Mapping[str, str]:
    """The templates of a language. Raises UsageError for one that is not there."""
    if lang not in LANGUAGES:
        raise UsageError(f"there is no report in {lang!r}", hint=f"there are: {', '.join(LANGUAGES)}")
    return LANGUAGES[lang]


def shown(facts: Mapping[str, Any], lang: str) -> dict[str, str]:
    """Facts as a sentence shows them: sizes in GiB, shares in percent, places and numbers in words."""
    said = words(lang)
    return {name: _shown(name, value, said) for name, value in facts.items()}


def beside(name: str, said: Mapping[str, str]) -> str:
    """A name that follows a word of ours: in Chinese one that begins in Latin letters is set off by a space."""
    return f" {name}" if said is CHINESE and name[:1].isascii() else name


def _shown(name: str, value: Any, said: Mapping[str, str]) -> str:
    if name.endswith("_bytes"):
        return f"{value / GIB:,.1f} GiB"
    if name == "share":
        return f"{value:.0%}"
    if name == "place":
        return beside(said.get(value, value), said)
    if isinstance(value, int) and name not in PLAIN:
        return f"{value:,}"
    return str(value)


def say(reason: Reason, lang: str) -> str:
    """A reason as a sentence."""
    said = words(lang)
    facts = shown(reason.facts, lang)
    if reason.code == "no_gpu":
        # Two additions that are there or not.
        for name in ("hidden", "problem"):
            facts[name] = said[f"no_gpu_{name}"].format_map(facts) if reason.facts.get(name) else ""
    return said[reason.code].format_map(facts)
