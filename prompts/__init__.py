"""Prompt texts and protocols, as data."""
