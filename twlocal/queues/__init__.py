"""Queues: models × benchmarks, planned first, then run one by one or side by side, each in a process of its own.

file.py       the TOML file → items, every fault named with its line
forecast.py   what is to be fetched and asked, where, and how long that takes as far as it was ever measured
cards.py      which graphics cards a model gets
state.py      what is done and what is not, in the database
child.py      the process of one item; it ends when the queue does
weights.py    what a queue fetched itself, and taking that away again
work.py       the loop that starts, waits, stops
words.py      what is said, in English and Chinese
"""
