"""A loaded checkpoint: its weights, its tokenizer, where its answers end, and what it says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from twlocal.backend import Message
from twlocal.backends.mlx.folder import Folder
from twlocal.backends.mlx.library import PACKAGE, Library, installed
from twlocal.backends.mlx.settings import NATIVE
from twlocal.chat import ChatTemplate
from twlocal.decode import MARKERS
from twlocal.errors import ModelError

_PROBE = "twlocal probe of the assistant turn"
# Harmony ends each of a response's messages with <|end|>, and the response with <|return|>.
_HARMONY = ("<|return|>", "<|end|>")


class Model:
    """The checkpoint in `folder`, its floats as `dtype` (or native). Raises ModelError where mlx-lm cannot load it."""

    def __init__(self, library: Library, folder: Folder, *, dtype: str, trust_remote_code: bool) -> None:
        self.library, self.folder = library, folder
        core = library.core
        try:
            # Lazily, so that weights of another type are never in memory beside the converted ones.
            self.network, _ = library.load_model(folder.path, lazy=True, trust_remote_code=trust_remote_code)
            if dtype != NATIVE:
                self.network.set_dtype(getattr(core, dtype))
            core.eval(self.network.parameters())
            self.tokenizer = library.load_tokenizer(
                folder.path, {"trust_remote_code": trust_remote_code}, eos_token_ids=sorted(folder.ends) or None
            )
        except Exception as error:  # its files decide what comes up: ValueError, KeyError, RuntimeError, …
            raise _refusal(folder, error) from error
        if not all(hasattr(layer, "merge") for layer in library.make_prompt_cache(self.network)):
            raise ModelError(
                f"mlx-lm cannot batch the architecture {self.architecture}",
                hint="serve it one request at a time: mlx_lm.server, and http://host:port/v1#name --concurrency 1",
            )

    @property
    def architecture(self) -> str:
        """The model type in the configuration (llama, qwen3, …)."""
        return str(self.folder.config.get("model_type", ""))

    @cached_property
    def bos_id(self) -> int | None:
        """The begin token's id; None where the model has none."""
        found = self.tokenizer.bos_token_id
        return None if found is None else int(found)

    @cached_property
    def bos_token(self) -> str:
        """The begin token's text, "" for none."""
        return str(self.tokenizer.bos_token or "")

    @cached_property
    def eos_token(self) -> str:
        """The end token's text, "" for none."""
        return str(self.tokenizer.eos_token or "")

    @cached_property
    def adds_bos(self) -> bool:
        """Whether the tokenizer, left alone, begins a text with the begin token."""
        return self.bos_id is not None and list(self.tokenizer.encode("x"))[:1] == [self.bos_id]

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`; special tokens in it are read as such, none is added."""
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def text(self, tokens: Sequence[int]) -> str:
        """What `tokens` say: without special tokens, but for those that readers need (thoughts, channels)."""
        shown = [token for token in tokens if token not in self._hidden]
        # The clean-up that some tokenizers ask for takes blanks out of what the model wrote.
        return str(self.tokenizer.decode(shown, clean_up_tokenization_spaces=False))

    def ends(self, template: ChatTemplate) -> frozenset[int]:
        """All ids that end an answer: the configurations' and the tokenizer's, and what ends a turn in the template."""
        return frozenset({*self.folder.ends, *self.tokenizer.eos_token_ids, *self._turn_end(template)})

    @cached_property
    def _special(self) -> dict[int, str]:
        added = getattr(self.tokenizer, "added_tokens_decoder", {})
        special = {int(token): str(what.content) for token, what in added.items() if what.special}
        names = zip(self.tokenizer.all_special_ids, self.tokenizer.all_special_tokens, strict=False)
        return {int(token): str(name) for token, name in names} | special

    @cached_property
    def _hidden(self) -> frozenset[int]:
        return frozenset(token for token, name in self._special.items() if name not in MARKERS)

    def _turn_end(self, template: ChatTemplate) -> list[int]:
        """The special token that follows an assistant's turn: many conversions lose it from the configurations."""
        chat = [Message("user", "?"), Message("assistant", _PROBE)]
        try:
            after = template.render(chat, add_generation_prompt=False).text.partition(_PROBE)[2].lstrip()
        except ModelError:  # a template may refuse to show an answered chat
            return []
        first = self.encode(after)[:1]
        names = set(self._special.values())
        known = [token for token in first if token in self._special and token != self.bos_id]
        return [token for token in known if not (names.issuperset(_HARMONY) and self._special[token] == _HARMONY[1])]

    def describe(self) -> dict[str, Any]:
        """What a manifest needs to know of the model."""
        folder = self.folder
        said = {
            "architecture": self.architecture,
            "bytes": folder.weight_bytes,
            "dtype": folder.dtype,
            "quantisation": dict(folder.quantisation) if folder.quantisation else None,
            "context_trained": folder.context,
        }
        return {name: value for name, value in said.items() if value not in (None, "", {})}


def _refusal(folder: Folder, error: Exception) -> ModelError:
    release = f"{PACKAGE} {installed()}"
    kind = folder.config.get("model_type", "")
    if "not supported" in str(error) and str(kind) in str(error):
        return ModelError(
            f"{release} does not know the architecture {kind!r} of {folder.path.name}",
            hint=f"pip install --upgrade {PACKAGE}",
        )
    if "trust_remote_code" in str(error):
        return ModelError(
            f"{folder.path.name} wants to run code that comes with it: {error}",
            hint="read it; if you trust it: --set trust_remote_code=true",
        )
    return ModelError(
        f"{release} cannot load {folder.path.name}: {type(error).__name__}: {error}",
        hint=f"fetch the checkpoint again; if it is newer than {PACKAGE}: pip install --upgrade {PACKAGE}",
    )
