"""An answer held to a JSON schema, by llama.cpp's grammars.

The model's own choice is tried first; only where the grammar does not take it is the whole vocabulary looked through.
So an answer that keeps to the schema by itself is the one that it would have been without.
"""

from __future__ import annotations

import ctypes
import json
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from twlocal.backends.llama_cpp.library import LOG
from twlocal.backends.llama_cpp.sampling import Pick
from twlocal.errors import UsageError

_ROOT = b"root"
_ANY, _PRINTED = r'[^"\\]', r'[^"\\\x7F\x00-\x1F]'
_TOKEN = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


def of_schema(schema: Mapping[str, Any]) -> str:
    """The schema as a grammar (GBNF); members come in the order of its `properties`. Raises UsageError."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    try:
        made = str(json_schema_to_gbnf(json.dumps(schema, ensure_ascii=False)))
    except Exception as error:  # the converter raises whatever its code happens to meet
        raise UsageError(f"the setting json_schema is no schema that llama.cpp can follow: {error}") from error
    # Python's copy of the converter lets line breaks into a text, which llama.cpp's own does not, nor JSON.
    return made.replace(_ANY, _PRINTED)


class Held:
    """A Pick for one answer that never leaves the grammar. Raises UsageError for one that llama.cpp does not take."""

    def __init__(self, api: Any, vocab: Any, grammar: str, pick: Pick) -> None:
        self._api, self._pick = api, pick
        LOG.clear()
        self._grammar = api.llama_sampler_init_grammar(vocab, grammar.encode("utf-8"), _ROOT)
        if not self._grammar:
            raise UsageError(f"llama.cpp does not take the grammar of json_schema: {LOG.errors() or 'no reason given'}")
        # It goes with the answer, however that ends.
        weakref.finalize(self, api.llama_sampler_free, self._grammar)

    def __call__(self, logits: Any) -> int:
        token = self._pick(logits)
        if not self._left(np.array([token]), logits[[token]]).size:
            ids = np.arange(len(logits))
            allowed = self._left(ids, logits)
            if not allowed.size:
                return token  # a grammar without a way on; what follows is read as it comes
            held: Any = np.full(len(logits), -np.inf, dtype=np.float32)
            held[allowed] = logits[allowed]
            token = self._pick(held)
        self._api.llama_sampler_accept(self._grammar, token)
        return token

    def _left(self, ids: Any, logits: Any) -> Any:
        """Those of the tokens that the grammar takes next."""
        data: Any = np.zeros(len(ids), dtype=_TOKEN)
        data["id"], data["logit"] = ids, logits
        pointer = ctypes.cast(data.ctypes.data, ctypes.POINTER(self._api.llama_token_data))
        array = self._api.llama_token_data_array(data=pointer, size=len(ids), selected=-1, sorted=False)
        self._api.llama_sampler_apply(self._grammar, ctypes.byref(array))
        # What is refused gets the logit -inf.
        return data["id"][: array.size][np.isfinite(data["logit"][: array.size])]
