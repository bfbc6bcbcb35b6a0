"""The apparatus studies: how much of a score comes from how it is measured (the paper's sections 5 and 6).

Each study holds the questions and the model and varies one part of the apparatus. Nearly all of them read stored
responses and generate nothing; those that must generate plan ordinary runs, which are stored, resumed and reported as
any other.
"""
