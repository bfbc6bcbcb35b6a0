"""Continuous batching as mlx-lm does it: every step one token for each sequence, finished ones leave."""

from types import SimpleNamespace

from .utils import VOCABULARY

made = []


def generate(model, tokenizer, prompt, max_tokens, sampler):
    raise AssertionError("not used: it has one sequence only")


class BatchGenerator:
    def __init__(
        self,
        model,
        *,
        max_tokens=128,
        stop_tokens=None,
        sampler=None,
        completion_batch_size=32,
        prefill_batch_size=8,
        prefill_step_size=2048,
        max_kv_size=None,
    ):
        self.model, self.size, self.sampler = model, completion_batch_size, sampler
        self.stops = {tuple(sequence) for sequence in stop_tokens}
        self.active, self.inserted, self.count, self.steps, self.peak, self.closed = {}, [], 0, 0, 0, False
        made.append(self)

    def insert(self, prompts, max_tokens=None, caches=None, all_tokens=None, samplers=None):
        uids = []
        for prompt, budget, cache, sampler in zip(prompts, max_tokens, caches, samplers, strict=True):
            assert prompt and budget > 0
            before = list(cache[0].merge([cache[0]])[0]) if cache else []
            self.inserted.append((len(before), [*before, *prompt]))
            answer = self.model.answer([*before, *prompt])
            self.active[self.count] = SimpleNamespace(answer=answer, written=0, budget=budget, sampler=sampler)
            uids.append(self.count)
            self.count += 1
        self.peak = max(self.peak, len(self.active))
        assert len(self.active) <= self.size
        return uids

    def next_generated(self):
        self.steps += 1
        responses = []
        # The newest first: the order of what comes back says nothing about which request it belongs to.
        for uid, one in sorted(self.active.items(), reverse=True):
            row = [-9.0] * VOCABULARY
            row[one.answer[one.written]] = -0.1
            (token,) = one.sampler([row])
            one.written += 1
            finish = "length" if one.written >= one.budget else None
            finish = "stop" if (token,) in self.stops else finish
            if self.model.facts.get("not_a_number"):
                row = [float("nan")] * VOCABULARY
            responses.append(SimpleNamespace(uid=uid, token=token, logprobs=row, finish_reason=finish))
            if finish:
                del self.active[uid]
        return responses

    def remove(self, uids):
        for uid in uids:
            del self.active[uid]

    def close(self):
        self.closed = True
