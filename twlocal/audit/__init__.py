"""Duplicates, the keys' agreement, cross-split repeats and contamination, by content (the paper's sections 2 and 3.2).

    fingerprint   a question without its typography and without the order of its options
    references    what a stem points at: a figure, another item, a passage, a table
    groups        printings of one question, compared by what their answers say, never by their letters
    conflicts     groups that disagree, each with a proposed class for a person to judge
    verdicts      the table in which a person writes the judgement
    overlap       rows of one set that are in another: splits of a dataset, or two datasets
    report        all of these over one dataset, as one value

Pure: no I/O, no clock, no global state.
"""
