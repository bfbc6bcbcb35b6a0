"""Ministry of Examination PDFs → questions and keys, by geometry (section 3 of the paper).

    reader    a PDF file → pages; pdfium, drawn: by pdfium's text layer, and by its page objects; plumbed: by pdfplumber
    page      a PDF page as plain data: characters and boxes in points, y down; chars: characters in columns
    glyphs    private-use characters, compatibility ideographs, letters and digits in any width
    numerals  25, 二十五
    order     the order in which characters are read (rows, fake bold, superscripts)
    compose   characters → visual lines (spaces); blanks: underlined blanks; lines: one line
    layout    columns, running headers and footers, the sections of a mixed paper
    folios    whether the pages are all there, in their order
    header    what a paper says about itself: subject, codes, stated count
    number    question numbers: one increasing chain, phantoms refused
    options   option markers
    assembly  the lines of an item → stem and four options
    groups    passages shared by several items, and items that continue another
    figures   pictures, drawings and tables that an item leans on
    item      one item with its doubts, and the reasons that keep it out
    paper     all of these → Paper: items, flags, rejections with their reasons
    key       answer keys and corrections → number → cell, by page coordinates
    notes     the grammar of a key's 備註
    pair      paper + key + correction → keyed items
    limits    the same in a child process, under a time and a memory limit

and from there to a benchmark (sections 3.1 to 3.4), stage by stage, each accounted for in one database:

    catalogue, fetching   `exam fetch`: search pages → documents → files, slowly, each once
    listing      which papers there are: a manifest, or file names
    ledger, rows      the build's database, and how papers and keys are kept in it
    parsing      `exam parse`: documents → papers with their official answers; goes on where it stopped
    version      which parser and which rules made what is there
    subjects, titles  paper titles → subjects; `exam subjects`
    filters      the rules that keep an item out, and those that withdraw a published one
    decide       the fate of every raw item: filtered, folded, published, withdrawn
    accounting   fates → the accounting table
    publish, card     `exam build`: data, withdrawal list, accounting, card, manifest; and `exam check`
    printings    what `exam audit` compares

Importing this package imports no PDF library; what reads a document does (`pip install "twlocal[exam]"`).
"""
