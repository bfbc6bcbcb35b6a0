"""A stand-in for mlx-lm 0.32, for tests. Like the real one it hides a module behind a function of the same name."""

from .generate import generate

__all__ = ["generate"]
