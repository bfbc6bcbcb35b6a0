"""CSV, TSV, JSON, JSON Lines, Parquet, Arrow, a folder of them, or a Hub dataset → items, with every bad row named.

Text stays text: no column is ever read through type inference, so `NA`, `None`, `007` and `1e5` are what they are.

    load.py      a source's name → its files → a Dataset          benches.py   the sources with names of their own
    encoding.py  bytes → text                                     hub.py       the Hugging Face Hub
    csv_rows.py  json_rows.py  arrow_rows.py                      text or bytes → rows of text cells
    columns.py   which cell is what                               answers.py   what the answer cell means
    rows.py      rows → items, or the reason why not              notes.py     duplicates and conflicts, counted
"""

from twlocal.dataset.benches import Bench, bench, benches
from twlocal.dataset.load import load, load_splits
from twlocal.dataset.model import Dataset, DatasetNotes, Rejected

__all__ = ["Bench", "Dataset", "DatasetNotes", "Rejected", "bench", "benches", "load", "load_splits"]
