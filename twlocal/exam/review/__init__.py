"""A local page on which a person looks at the items of a build beside the pages that they were read from.

decided.py   people's decisions in the build's database: noting them, taking them back
desk.py      the items of the last build in the order in which they are looked at, and all that is known of one
sight.py     pages as pictures and parts of items with their places, from a process of its own under limits
words.py     flags and rules in two languages
pages.py     what the pages show, as HTML
serve.py     the server: this machine only, this page only
"""
