"""Ministry of Examination PDFs → questions and keys, by geometry (section 3 of the paper).

    page      a PDF page as plain data: characters and boxes in points, y down
    glyphs    private-use characters, compatibility ideographs, letters and digits in any width
    lines     characters → visual lines (fake bold, superscripts, spaces, underlined blanks)
    layout    columns, running headers and footers, the sections of a mixed paper
    header    what a paper says about itself: subject, codes, stated count
    number    question numbers: one increasing chain, phantoms refused
    options   option markers, and the lines of an item → stem and four options
    groups    passages shared by several items, and items that continue another
    figures   pictures, drawings and tables that an item leans on
    paper     all of these → Paper: items, flags, rejections with their reasons
    key       answer keys and corrections → number → cell, by page coordinates
    notes     the grammar of a key's 備註
    pair      paper + key + correction → keyed items
    limits    the same in a child process, under a time and a memory limit

Importing this package imports no PDF library; opening a document does (`pip install "twlocal[exam]"`).
"""
