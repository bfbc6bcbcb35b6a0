"""A loaded GGUF model: its vocabulary, its metadata, and what it says of itself."""

from __future__ import annotations

import ctypes
from functools import cached_property
from typing import Any

from twlocal.backends.llama_cpp import gguf
from twlocal.backends.llama_cpp.grammar import Held
from twlocal.backends.llama_cpp.library import LOG, installed
from twlocal.backends.llama_cpp.sampling import Pick
from twlocal.decode import MARKERS
from twlocal.errors import ModelError

_TEMPLATE = "tokenizer.chat_template"


class Model:
    """Weights and vocabulary; `close` gives them back. Raises ModelError when the file cannot be loaded."""

    def __init__(self, api: Any, path: str, *, gpu_layers: int, repack: bool) -> None:
        files = gguf.parts(path)
        self.api = api
        params = api.llama_model_default_params()
        params.n_gpu_layers = gpu_layers
        params.use_extra_bufts = repack
        LOG.clear()
        self.handle = api.llama_model_load_from_file(str(files[0]).encode("utf-8"), params)
        if not self.handle:
            raise gguf.refusal(files[0], LOG.errors(), installed())
        try:
            if api.llama_model_has_encoder(self.handle) or not api.llama_model_has_decoder(self.handle):
                raise ModelError(
                    f"{files[0].name} is not a decoder-only language model: it cannot answer questions here"
                )
            self._vocab = api.llama_model_get_vocab(self.handle)
            self.vocabulary_size = int(api.llama_vocab_n_tokens(self._vocab))
            self.context_trained = int(api.llama_model_n_ctx_train(self.handle))
            self.metadata = self._read_metadata()
            self.tensor_types = gguf.tensor_types(getattr(api, "_lib", None), files)
            self._pieces: dict[int, bytes] = {}
            self._markers = self._find_markers()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Free the weights; safe to call twice."""
        if self.handle:
            self.api.llama_model_free(self.handle)
            self.handle = None

    # -- vocabulary ----------------------------------------------------------------------------------------------------

    @cached_property
    def bos_id(self) -> int | None:
        """The begin token's id; None where the model has none."""
        return self._token(self.api.llama_vocab_bos(self._vocab))

    @cached_property
    def bos_token(self) -> str:
        """The begin token's text, "" for none."""
        return self._text(self.bos_id)

    @cached_property
    def eos_token(self) -> str:
        """The end token's text, "" for none."""
        return self._text(self._token(self.api.llama_vocab_eos(self._vocab)))

    @cached_property
    def adds_bos(self) -> bool:
        """Whether a prompt begins with the begin token (`tokenizer.ggml.add_bos_token`, or the vocabulary's way)."""
        return bool(self.api.llama_vocab_get_add_bos(self._vocab))

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`; special tokens in it are read as such, none is added."""
        data = text.encode("utf-8")
        room = len(data) + 16
        while True:
            buffer = (ctypes.c_int32 * room)()
            count = self.api.llama_tokenize(self._vocab, data, len(data), buffer, room, False, True)
            if count >= 0:
                return buffer[:count]
            room = -count

    def ends(self, token: int) -> bool:
        """Whether `token` ends the answer."""
        return bool(self.api.llama_vocab_is_eog(self._vocab, token))

    def held(self, grammar: str, pick: Pick) -> Held:
        """A pick for one answer that keeps to `grammar` (GBNF). Raises UsageError."""
        return Held(self.api, self._vocab, grammar, pick)

    def piece(self, token: int) -> bytes:
        """The bytes that `token` stands for: perhaps a part of a character, nothing for most control tokens."""
        known = self._pieces.get(token)
        if known is None:
            known = self._pieces[token] = self._piece(token, special=token in self._markers)
        return known

    def _piece(self, token: int, *, special: bool) -> bytes:
        room = 64
        while True:
            buffer = ctypes.create_string_buffer(room)
            count = self.api.llama_token_to_piece(self._vocab, token, buffer, room, 0, special)
            if count >= 0:
                return buffer.raw[:count]
            room = -count

    def _find_markers(self) -> frozenset[int]:
        single = (ids[0] for ids in map(self.encode, MARKERS) if len(ids) == 1)
        return frozenset(token for token in single if self.api.llama_vocab_is_control(self._vocab, token))

    def _token(self, token: int) -> int | None:
        return int(token) if 0 <= token < self.vocabulary_size else None

    def _text(self, token: int | None) -> str:
        if token is None:
            return ""
        return (self.api.llama_vocab_get_text(self._vocab, token) or b"").decode("utf-8", errors="replace")

    # -- what it says of itself ----------------------------------------------------------------------------------------

    def chat_templates(self) -> dict[str, str]:
        """The chat templates in the metadata by name; the unnamed one is "default"."""
        named = {
            key[len(_TEMPLATE) + 1 :]: text for key, text in self.metadata.items() if key.startswith(_TEMPLATE + ".")
        }
        if self.metadata.get(_TEMPLATE):
            named["default"] = self.metadata[_TEMPLATE]
        return named

    @property
    def architecture(self) -> str:
        """The architecture's name in the metadata (llama, qwen3, …)."""
        return self.metadata.get("general.architecture", "")

    @property
    def context_switch(self) -> int:
        """Above this context size the model rotates positions otherwise (LongRoPE); 0 for nearly all models."""
        scaling = self.metadata.get(f"{self.architecture}.rope.scaling.type", "longrope")
        original = self.metadata.get(f"{self.architecture}.rope.scaling.original_context_length", "0")
        return int(original) if scaling == "longrope" and original.isdigit() else 0

    @property
    def quantised(self) -> bool | None:
        """Whether weights are stored in less than 16 bits; None when nothing tells."""
        return gguf.is_quantised(self._file_type, self.tensor_types)

    @property
    def _file_type(self) -> int | None:
        said = self.metadata.get("general.file_type", "")
        return int(said) if said.isdigit() else None

    def describe(self) -> dict[str, Any]:
        """What a manifest needs to know of the model."""
        said = {
            "architecture": self.architecture,
            "name": self.metadata.get("general.name"),
            "license": self.metadata.get("general.license"),
            "parameters": int(self.api.llama_model_n_params(self.handle)),
            "bytes": int(self.api.llama_model_size(self.handle)),
            "file_type": self._file_type,
            "quantisation": self._quantisation(),
            "tensor_types": self.tensor_types,
            "context_trained": self.context_trained,
        }
        return {name: value for name, value in said.items() if value not in (None, "", {})}

    def _quantisation(self) -> str | None:
        buffer = ctypes.create_string_buffer(256)
        self.api.llama_model_desc(self.handle, buffer, 256)
        # "llama 256M Q4_1": the size in the middle is llama.cpp's guess, the end is the file type's name.
        words = buffer.value.decode("utf-8", errors="replace").split(" ", 2)
        return words[2] if len(words) == 3 else None

    def _read_metadata(self) -> dict[str, str]:
        found = {}
        for place in range(self.api.llama_model_meta_count(self.handle)):
            key = self._meta(self.api.llama_model_meta_key_by_index, place)
            found[key] = self._meta(self.api.llama_model_meta_val_str_by_index, place)
        return found

    def _meta(self, read: Any, place: int) -> str:
        room = 512
        while True:
            buffer = ctypes.create_string_buffer(room)
            size = read(self.handle, place, buffer, room)
            if size < room:
                return buffer.value.decode("utf-8", errors="replace")
            room = size + 1
