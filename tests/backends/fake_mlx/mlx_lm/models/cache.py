class KVCache:
    """One layer's state: the tokens that it was computed from."""

    def __init__(self):
        self.tokens = []

    @property
    def state(self):
        return tuple(self.tokens)

    @classmethod
    def merge(cls, caches):
        return [list(cache.tokens) for cache in caches]


class ChunkedKVCache:
    """Of the kind that the real mlx-lm cannot batch."""

    tokens = ()
    state = ()


def make_prompt_cache(model, max_kv_size=None):
    return [ChunkedKVCache() if model.facts.get("unbatchable") else KVCache()]
