"""twlocal: measure language models on Taiwanese four-option questions, under one protocol, with every response kept."""

__version__ = "0.1.0"
