"""A loaded checkpoint: its weights and its tokenizer."""

from __future__ import annotations

from twlocal.backends.mlx.library import PACKAGE, Library, installed
from twlocal.backends.mlx.settings import NATIVE
from twlocal.errors import ModelError
from twlocal.folder import Folder
from twlocal.vocabulary import Vocabulary


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
        self.vocabulary = Vocabulary(self.tokenizer, {*folder.ends, *self.tokenizer.eos_token_ids})
        if not all(hasattr(layer, "merge") for layer in library.make_prompt_cache(self.network)):
            raise ModelError(
                f"mlx-lm cannot batch the architecture {folder.architecture}",
                hint="serve it one request at a time: mlx_lm.server, and http://host:port/v1#name --concurrency 1",
            )


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
