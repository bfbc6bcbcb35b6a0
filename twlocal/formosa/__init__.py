"""Taiwan.md → tw-formosa-bench, in stages that each are a command (section 4 of the paper).

    articles   which files of a checkout are articles, and which are hubs, translations, indexes
    markdown   an article's Markdown → blocks of prose with their place in the file; what was left out is counted
    inline     the text inside one block: links, footnote marks, wikilinks, HTML, emphasis
    sections   headings and labels that open references, further reading and captions
    sentences  where a sentence ends
    windows    blocks → paragraph-aligned windows that never end inside a sentence
    build      the stage `windows` over a checkout and into the database
    drafts     drafted items read from a file
    rules      the named screening rules; stems, answers and options have a module each
    lexicon    mainland vocabulary: longest match with exceptions; strict terms reject, review terms are shown
    measure    every term's fires on native text, and the list it belongs to
    simplified a pinned table of characters that Taiwan does not write
    screening  the stage `screen`
    permute    the order of an item's options, by the hash of its window
    prompts    what generators and judges are told; loose and drafting, judging: what their responses hold
    asking     the stages that ask a model: its runs, through the main job's backends, store and resume
    drafted    the stage `draft`; grounded: the stage `ground`; asked: what came of both, in the database
    plant      defects planted into good items; calibrate: what a judge makes of them; panel: judges beside each other
    calibrated the stage `calibrate`
    band       which items a pool finds hard; curate_pool: the pool, from stored runs and imported results
    curate     the stage `curate`: a band as a manifest and a sidecar; curated: where it is kept; recut: read back
    advantage  what a generator is ahead by on its own items
    loo        the stage `loo`: does a band transfer to a model that had no part in it
    fates      one fate for every window and draft; publish and card: the stage `build`
    baselines  what one scores without knowing anything
    accounting how many windows and items each stage took, kept and left

Generation proposes, filtering disposes: no quality is taken from a generator's word. Parsing Markdown needs the extra
`formosa` (`pip install "twlocal[formosa]"`); all else does not.
"""
