"""The full examination corpus beyond one machine: a simulation of continuous batching on one or many GPUs.

    python scripts/simulate_scale.py                        the table of docs/scale.md
    python scripts/simulate_scale.py --lengths lengths.txt  with answer lengths (tokens, a number a line) of a real run

A GPU's decode step takes as long as reading the weights and every active request's keys and values once, at a share
of the memory's bandwidth; reading a prompt takes two operations a parameter and token, at a share of the arithmetic.
Both shares are assumptions (`--bandwidth-share`, `--arithmetic-share`), and so are the lengths where none are given:
what the simulation is good for is the shape (what the tail costs, what pulling buys over splitting, what a lost GPU and
too many slots cost), and to put a machine's own figures in. Nothing here was measured on a GPU.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ITEMS = 253_674  # rows of the full examination benchmark
CAP = 16_384


@dataclass(frozen=True)
class Gpu:
    """Bytes of memory, bytes a second of its bandwidth, operations a second in bf16 (the maker's data sheet)."""

    name: str
    memory: float
    bandwidth: float
    arithmetic: float


@dataclass(frozen=True)
class Model:
    """Parameters, bytes of its weights, bytes of keys and values a token of context."""

    name: str
    parameters: float
    weights: float
    kv: float


@dataclass(frozen=True)
class Shares:
    """How much of the data sheet an engine reaches: assumptions."""

    bandwidth: float
    arithmetic: float


@dataclass
class Sat:
    """What a simulation came to. seconds: to the last answer. idle: of all GPU seconds, those without work.

    full: most of a GPU's room for context that was taken, as a share. evicted: requests that were put back because it
    was full, their text to be read again. lost: answers that were begun again after a lost GPU.
    """

    seconds: float = 0.0
    idle: float = 0.0
    full: float = 0.0
    tokens: int = 0
    evicted: int = 0
    lost: int = 0


H200 = Gpu("H200", 141e9, 4.8e12, 989e12)
MODELS = (
    Model("8B dense (32 layers, 8 KV heads of 128), bf16", 8.0e9, 16.1e9, 2 * 32 * 8 * 128 * 2),
    Model("32B dense (64 layers, 8 KV heads of 128), bf16", 32.8e9, 65.5e9, 2 * 64 * 8 * 128 * 2),
)
SHARED, OWN = 120, 200  # tokens of a prompt: what all have in common and is computed once, and the question's
Work = tuple[int, int]  # tokens to read, tokens to write


class Worker:
    """One GPU: requests in slots, advanced from one finished answer to the next."""

    def __init__(self, gpu: Gpu, model: Model, shares: Shares, slots: int) -> None:
        self.gpu, self.model, self.shares, self.slots = gpu, model, shares, slots
        self.room = int((0.9 * gpu.memory - model.weights) / model.kv)
        if self.room < SHARED + OWN + CAP:
            raise SystemExit(f"{model.name} leaves no room for one answer of {CAP:,} tokens on a {gpu.name}")
        self.clock = 0.0
        self.step = 0
        self.context = SHARED
        self.active: list[tuple[int, int, int, int]] = []  # step at which it ends, begun, read, to write
        self.full = 0.0
        self.evicted = 0

    def wants(self, work: Work) -> bool:
        """Whether it has a free slot, and with this request a tenth of the room left for all to grow."""
        return len(self.active) < self.slots and (not self.active or self.context + work[0] < 0.9 * self.room)

    def take(self, work: Work) -> None:
        """Begin a request: read its prompt, or all it had written when it was put back."""
        read, write = work
        self.clock += 2 * self.model.parameters * read / (self.gpu.arithmetic * self.shares.arithmetic)
        heapq.heappush(self.active, (self.step + write, self.step, read, write))
        self.context += read

    def advance(self, queue: list[Work]) -> int:
        """Write until the next answer ends, putting the youngest back whenever the room is full; tokens written."""
        written = 0
        while True:
            end, _, read, write = self.active[0]
            many, steps = len(self.active), end - self.step
            steps = min(steps, max((self.room - self.context) // many, 0))
            self._write(many, steps)
            written += many * steps
            if self.step == end:
                heapq.heappop(self.active)
                self.context -= read + write
                return written
            youngest = max(self.active, key=lambda one: one[1])
            self.active.remove(youngest)
            heapq.heapify(self.active)
            end, begun, read, write = youngest
            done = self.step - begun
            self.context -= read + done
            self.evicted += 1
            queue.append((read + done, write - done))

    def _write(self, many: int, steps: int) -> None:
        mean = self.context + many * steps / 2
        moved = self.model.weights + mean * self.model.kv
        seconds = moved / (self.gpu.bandwidth * self.shares.bandwidth)
        work = 2 * self.model.parameters * many / (self.gpu.arithmetic * self.shares.arithmetic)
        self.clock += steps * max(seconds, work)
        self.step += steps
        self.context += many * steps
        self.full = max(self.full, self.context / self.room)


def simulate(lengths: Sequence[int], workers: Sequence[Worker], *, pull: bool, lose_at: float | None = None) -> Sat:
    """All requests answered. pull: each GPU asks for the next as it has room; else each has its share from the start.

    lose_at: second at which the first GPU is gone for good; what it had begun is given out again (with `pull`).
    """
    parts = [lengths] if pull else [lengths[n :: len(workers)] for n in range(len(workers))]
    queues: list[list[Work]] = [[(OWN, length) for length in reversed(part)] for part in parts]
    sat = Sat()
    alive = [(worker.clock, n) for n, worker in enumerate(workers)]
    ends = []
    while alive:
        _, n = heapq.heappop(alive)
        worker, queue = workers[n], queues[0 if pull else n]
        if lose_at is not None and n == 0 and worker.clock >= lose_at:
            sat.lost = len(worker.active)
            queue.extend((read, write) for _, _, read, write in worker.active)
            ends.append(worker.clock)
            lose_at = None
            continue
        while queue and worker.wants(queue[-1]):
            worker.take(queue.pop())
        if not worker.active:
            ends.append(worker.clock)
            continue
        sat.tokens += worker.advance(queue)
        heapq.heappush(alive, (worker.clock, n))
    sat.seconds = max(ends)
    sat.idle = 1 - sum(ends) / (len(ends) * sat.seconds)
    sat.full = max(worker.full for worker in workers)
    sat.evicted = sum(worker.evicted for worker in workers)
    return sat


def lengths(kind: str, count: int, seed: int) -> list[int]:
    """Answer lengths of a made-up model. plain: a short explanation; thinking: long, 3% looping to the cap."""
    chance = random.Random(seed)
    if kind == "plain":
        return [min(CAP, 1 + int(chance.lognormvariate(math.log(150), 0.8))) for _ in range(count)]
    return [
        CAP if chance.random() < 0.03 else min(CAP, 1 + int(chance.lognormvariate(math.log(1_800), 0.9)))
        for _ in range(count)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--slots", type=int, default=256, help="requests at once on a GPU")
    parser.add_argument("--bandwidth-share", type=float, default=0.6)
    parser.add_argument("--arithmetic-share", type=float, default=0.4)
    parser.add_argument("--lengths", type=Path, help="answer lengths in tokens, a number a line, of a real run")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    shares = Shares(options.bandwidth_share, options.arithmetic_share)
    kinds = {kind: lengths(kind, options.items, options.seed) for kind in ("plain", "thinking")}
    if options.lengths:
        known = [int(line) for line in options.lengths.read_text(encoding="utf-8").split()]
        kinds = {options.lengths.name: random.Random(options.seed).choices(known, k=options.items)}
    print(f"{options.items:,} items, cap {CAP:,}, {options.slots} slots a GPU, {H200.name}, {shares}\n")
    print(
        "| model | answers | GPUs | given out | hours | tokens a second | idle | room taken | put back | begun again |"
    )
    print("|---|---|---:|---|---:|---:|---:|---:|---:|---:|")
    for model in MODELS:
        for kind, made in kinds.items():
            whole: float | None = None
            for count, pull, lose in ((1, True, 0.0), (8, True, 0.0), (8, False, 0.0), (8, True, 0.5), (32, True, 0.0)):
                lose_at = lose * whole if lose and whole else None
                sat = simulate(
                    made, [Worker(H200, model, shares, options.slots) for _ in range(count)], pull=pull, lose_at=lose_at
                )
                whole = sat.seconds if count == 8 and pull else whole
                how = "as asked for" if pull else "split before"
                how += ", one lost half-way" if lose_at else ""
                print(
                    f"| {model.name} | {kind} | {count} | {how} | {sat.seconds / 3600:.2f} "
                    f"| {sat.tokens / sat.seconds:,.0f} | {100 * sat.idle:.1f}% | {100 * sat.full:.0f}% "
                    f"| {sat.evicted:,} | {sat.lost} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
