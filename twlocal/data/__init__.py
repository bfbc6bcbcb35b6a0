"""Data that ships with twlocal."""
