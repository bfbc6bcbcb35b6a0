"""Engines, one file each; found through the `twlocal.backends` entry-point group."""
