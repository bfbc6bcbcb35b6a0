"""A stand-in for vLLM 0.32, for tests: its engine answers with bytes, one token a step, the newest request first."""

import multiprocessing
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from transformers import EOS, facts_of, text_of, tokens_of

from .config import StructuredOutputsConfig
from .sampling_params import RequestOutputKind, StructuredOutputsParams

started = []  # every engine, in order


@dataclass
class EngineArgs:
    model: str
    tokenizer_mode: str = "auto"
    config_format: str = "auto"
    load_format: str = "auto"
    trust_remote_code: bool = False
    dtype: str = "auto"
    seed: int = 0
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    tensor_parallel_size: int = 1
    gpu_memory_utilization: float = 0.92
    kv_cache_memory_bytes: int | None = None
    enable_prefix_caching: bool | None = None
    enforce_eager: bool = False
    generation_config: str = "auto"
    limit_mm_per_prompt: dict = field(default_factory=dict)
    disable_log_stats: bool = False
    use_tqdm_on_load: bool = True
    structured_outputs_config: StructuredOutputsConfig = field(default_factory=StructuredOutputsConfig)

    def create_engine_config(self):
        facts = facts_of(self.model)
        if error := facts.get("load_error"):
            raise ValueError(error)
        model = SimpleNamespace(max_model_len=self.max_model_len, original_max_model_len=self.max_model_len)
        if facts.get("old"):
            del model.original_max_model_len
        return SimpleNamespace(model_config=model, cache_config=SimpleNamespace(num_gpu_blocks=None, block_size=16),
                               args=self, facts=facts)  # fmt: skip


@dataclass
class SamplingParams:
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None
    max_tokens: int | None = 16
    stop_token_ids: list | None = None
    detokenize: bool = True
    output_kind: RequestOutputKind = RequestOutputKind.CUMULATIVE
    structured_outputs: StructuredOutputsParams | None = None


class LLMEngine:
    def __init__(self, config):
        self.vllm_config, self.model_config = config, config.model_config
        self.args, self.facts = config.args, config.facts
        self.active, self.given, self.aborted, self.peak, self.steps, self.down = {}, [], [], 0, 0, 0
        self.engine_core = SimpleNamespace(shutdown=self._shutdown)
        if self.facts.get("worker"):  # as where several cards share a model
            worker = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(300,), daemon=True)
            worker.start()
            with (Path(self.args.model) / "workers").open("a", encoding="utf-8") as file:
                file.write(f"{worker.pid}\n")
        room = self.facts.get("kv_tokens", 10**9)
        if self.model_config.max_model_len > room:
            if getattr(self.model_config, "original_max_model_len", None) != -1:
                raise ValueError(
                    "To serve at least one request with the models's max seq len "
                    f"({self.model_config.max_model_len}), 9.9 GiB KV cache is needed; the estimated maximum model "
                    f"length is {room}."
                )
            self.model_config.max_model_len = room
        config.cache_config.num_gpu_blocks = room // 16
        started.append(self)

    @classmethod
    def from_vllm_config(cls, vllm_config, disable_log_stats=False):
        assert disable_log_stats
        return cls(vllm_config)

    def _shutdown(self):
        self.down += 1

    def has_unfinished_requests(self):
        return bool(self.active)

    def add_request(self, request_id, prompt, params):
        tokens = prompt["prompt_token_ids"]
        assert prompt["type"] == "token" and request_id not in self.active and not self.down
        if len(tokens) + params.max_tokens > self.model_config.max_model_len:
            raise AssertionError("the backend should not have asked this")
        asked = text_of(tokens).rpartition("[user]")[2].partition("[assistant]")[0]
        if (refused := self.facts.get("refuse")) and refused in asked:
            raise ValueError(f"no {refused}")
        self.given.append((tokens, params))
        reply = self.facts.get("reply")
        answer = [*tokens_of(asked if reply is None else reply), self.facts.get("ends_with", EOS)]
        self.active[request_id] = SimpleNamespace(asked=asked, answer=answer, params=params, written=[])
        self.peak = max(self.peak, len(self.active))
        assert len(self.active) <= self.args.max_num_seqs

    def abort_request(self, request_ids):
        for request_id in request_ids:
            del self.active[request_id]
            self.aborted.append(request_id)

    def step(self):
        self.steps += 1
        outputs = []
        for request_id, one in reversed(list(self.active.items())):
            if (poison := self.facts.get("die_on")) and poison in one.asked:
                os.write(2, b"CUDA error: an illegal memory access was encountered\n")
                os.abort()
            if (poison := self.facts.get("fail_on")) and poison in one.asked:
                raise RuntimeError("CUDA error: an illegal memory access was encountered")
            one.written.append(token := one.answer[len(one.written)])
            finish = "length" if len(one.written) >= one.params.max_tokens else None
            finish = "stop" if token in one.params.stop_token_ids else finish
            finish = finish and self.facts.get("finish", finish)
            if finish:
                del self.active[request_id]
            if not finish and one.params.output_kind is RequestOutputKind.FINAL_ONLY:
                continue
            delta = one.params.output_kind is RequestOutputKind.DELTA
            answer = SimpleNamespace(token_ids=[token] if delta else list(one.written), finish_reason=finish)
            outputs.append(SimpleNamespace(request_id=request_id, outputs=[answer], finished=bool(finish)))
        return outputs
