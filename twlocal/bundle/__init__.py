"""What leaves this machine, and what comes back.

loose.py     what can be checked of results without a bundle
exchange.py  the public board's format: a line a row, no question in it (pure)
readings.py  twlocal's own readings as rows without a word of text, and every number made of them (pure)
scrub.py     what may not leave: paths, addresses, names of machines and people (pure)
strict.py    JSON from strangers (pure)
manifest.py  a run's apparatus as it may be shown to others, its provenance and its marks
eligible.py  whether a run may be bundled, and what the bundle is marked with
text.py      responses as rows, and rows as records again
sums.py      checksums
pack.py      a folder or an archive, written whole or not at all, always with the same bytes
unpack.py    a folder or an archive of a stranger, opened without trusting it
write.py     runs → a bundle
verify.py    a bundle → findings
itemset.py   whether a run has the rows that a dataset gives (pure)
runner.py    the public runners' results directories
twinkle.py   Twinkle Eval's result files
importing.py any of the three → the database
stored.py    what was imported, in the database
known.py     what can be said of an imported result, and what cannot (pure)
terminal.py  that, for a terminal
words.py     its words, in English and Chinese
"""
