"""A question paper's PDF → `Paper`. Every step is a function of the step before and can be looked at by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from . import assembly, figures, folios, groups, layout, number, options
from .assembly import Draft
from .compose import page_lines
from .glyphs import fold
from .groups import Group
from .header import read_header
from .item import Reading, make_item, stretch
from .lines import Line, join
from .model import Header, Paper, PaperItem, Rejection
from .number import Chain, Number
from .options import Mark
from .page import Box, Page, UnreadablePdf
from .reader import collector_paused, read_pages

_ESSAY = re.compile(r"^[一二三四五]\s*、|申論")
_MULTIPLE = re.compile(r"^(?:[一二三四甲乙丙丁壹貳參]\s*、\s*)?(?:複選題|多選題|多重選擇題|複選部分)")


def parse_paper(source: str | Path | bytes) -> Paper:
    """Parses a question paper given as a path or as a file's bytes.

    Never raises for what a file contains: a file that cannot be parsed with confidence comes back with `rejections`.
    Raises `OSError` when the path cannot be read.
    """
    with collector_paused():
        try:
            pages = read_pages(source)
        except UnreadablePdf as error:
            return Paper(rejections=(Rejection(error.reason, error.detail),))
        return parse_pages(pages)


# What an item was made from: the lines of its part of the paper, its number, its stem and options, its option marks.
Trace = Callable[[Sequence[Line], Number, Draft, Sequence[Mark]], None]


def parse_pages(pages: Sequence[Page], trace: Trace | None = None) -> Paper:
    """Parses the pages of a question paper. `trace` is told of every item as it is made."""
    found = page_lines(pages)
    body = layout.body(pages, found)
    bare = _without_text(pages, found)
    rejections = [Rejection("no_text_layer", f"page {n} has no text layer") for n in bare]
    if (astray := folios.misplaced(pages, found)) is not None:
        rejections.append(Rejection("incomplete", astray))
    zone = layout.choice_zone(body.lines)
    if zone is None:
        return _refused(pages, body, rejections, "essay_only")
    lines = body.lines[zone.start : zone.stop]
    heading = body.lines[zone.heading] if zone.heading is not None else None
    boxes: dict[int, Sequence[Box]] = {page.number: page.boxes for page in pages}

    style, marks = options.find_marks(lines)
    images = options.image_marks(lines, boxes)
    painted = style == "none" or len(images.marks) > len(marks)
    if painted:
        marks = [m._replace(letter="ABCD"[k % 4]) for k, m in enumerate(images.marks)]
    hidden = [next((k for k, line in enumerate(lines) if line.page > n), len(lines)) for n in bare]
    chain = number.find_chain(number.candidates(lines), marks, hidden)
    before = body.lines[: zone.start - 1] if heading else lines[: chain.numbers[0].line if chain.numbers else 40]
    notes = lines[: chain.numbers[0].line] if chain.numbers else lines[:12]
    header = read_header(before, heading, body.heads, notes)
    # The signs of the notes above the first question are of the same make as the marks.
    if painted and any(k >= (chain.numbers[0].line if chain.numbers else 0) for k in images.clipped):
        rejections.append(Rejection("missing_option_text", "option text is painted through images"))
    chain = _with_image_numbers(chain, lines, boxes, marks, header)
    if not chain.numbers or not marks:
        essay = heading is None and not header.stated_counts and any(_ESSAY.search(line.text) for line in body.lines)
        if not rejections:
            rejections.append(Rejection("essay_only" if essay else "no_questions"))
        return Paper(header, _stated(header, 0), pages=len(pages), rejections=tuple(rejections))
    if painted:
        starts = [(n.line, n.stop) for n in chain.numbers]
        marks = [mark for mark in marks if (mark.line, mark.start) >= starts[0]]
        lettered = options.letter_in_order(marks, starts)
        if lettered is None:
            # In a short paper few marks stand at one left edge. If all images are marks, every item has four.
            every = options.image_marks(lines, boxes, least=1)
            lettered = options.letter_in_order([m for m in every.marks if (m.line, m.start) >= starts[0]], starts)
            images = every if lettered is not None else images
        if lettered is not None:
            marks = lettered
        elif not rejections:
            rejections.append(Rejection("image_markers", f"{len(marks)} image marks, {len(chain.numbers)} questions"))

    rejections += _outside(lines, marks, chain)
    elsewhere = [*body.lines[: max(0, zone.start - 1)], *body.lines[zone.stop :]]
    others = options.STYLES[style](elsewhere) if elsewhere and style in options.STYLES else []
    if options.whole_sets(elsewhere, others) > 1:
        rejections.append(Rejection("incomplete", "questions stand outside the multiple-choice part"))
    stated = _stated(header, len(chain.numbers))
    short = _counts(chain, stated, header.stated_counts)
    flags: list[str] = []
    if stated is not None and not short:
        # Every stated question is there: a page without text is a page of figures.
        flags += [f"page_without_text:{n}" for n in bare]
        rejections = [r for r in rejections if r.reason != "no_text_layer"]
    rejections += short
    signs = set(images.other) if painted else set()
    reading = Reading(
        lines,
        marks,
        chain,
        {page.number: page for page in pages},
        _margin(lines, pages),
        _body_size(lines),
        signs,
        painted,
        body.head_bottoms,
    )
    items, shared = _items(reading, trace)
    flags += [] if stated is not None else ["no_stated_count"]
    flags += ["image_numbers"] if chain.images else []
    flags += ["image_markers"] if painted else []
    return Paper(header, stated, tuple(items), tuple(shared), len(pages), tuple(flags), tuple(rejections))


def _refused(pages: Sequence[Page], body: layout.Body, rejections: list[Rejection], reason: str) -> Paper:
    header = read_header(body.lines, None, body.heads, ())
    if not rejections:
        rejections = [Rejection(reason)]
    return Paper(header, pages=len(pages), rejections=tuple(rejections))


def _without_text(pages: Sequence[Page], found: Sequence[Sequence[Line]]) -> list[int]:
    """Pages that are pictures, by number. An empty page without a picture is only empty."""
    bare = []
    for page, lines in zip(pages, found, strict=True):
        area = sum(b.width * b.height for b in page.boxes if b.kind == "image")
        if sum(map(len, lines)) < 40 and area > 0.4 * page.width * page.height:
            bare.append(page.number)
    return bare if bare or any(found) else [page.number for page in pages]


def _stated(header: Header, count: int) -> int | None:
    """The number of items the paper states. Of several statements, the one that was met."""
    if not header.stated_counts:
        return None
    return count if count in header.stated_counts else header.stated_counts[0]


def _outside(lines: Sequence[Line], marks: Sequence[Mark], chain: Chain) -> list[Rejection]:
    """Questions that no number of the chain belongs to: the numbers begin anew, or one was not seen."""
    cuts = number.marks_before(chain.numbers, marks)
    found: list[Rejection] = []
    if options.whole_sets(lines, marks[: cuts[0]]):
        found.append(Rejection("incomplete", "options stand before question 1"))
    for this, begin, end in zip(chain.numbers, cuts, [*cuts[1:], len(marks)], strict=True):
        if end - begin >= 8 and (sets := options.whole_sets(lines, marks[begin:end])) > 1:
            found.append(Rejection("incomplete", f"question {this.number} has the options of {sets} questions"))
    return found


def _counts(chain: Chain, stated: int | None, statements: Sequence[int]) -> list[Rejection]:
    numbers = [n.number for n in chain.numbers]
    found: list[Rejection] = []
    if chain.missing:
        missing = ", ".join(map(str, chain.missing[:12])) + (" …" if len(chain.missing) > 12 else "")
        found.append(Rejection("incomplete", f"missing question {missing}"))
    if stated is None:
        return found
    if len(set(statements)) > 1 and len(numbers) not in statements:
        stated = max(statements)
    if numbers[-1] < stated:
        found.append(Rejection("incomplete", f"{numbers[-1]} of {stated} stated questions were found"))
    elif numbers[-1] > stated:
        found.append(Rejection("count_mismatch", f"{numbers[-1]} questions were found, the paper states {stated}"))
    return found


def _with_image_numbers(
    chain: Chain, lines: Sequence[Line], boxes: dict[int, Sequence[Box]], marks: Sequence[Mark], header: Header
) -> Chain:
    """Numbers that are pictures, when the digits of the text layer do not make a chain that the paper agrees with."""
    numbers = [n.number for n in chain.numbers]
    sets = sum(mark.letter == "D" for mark in marks)
    if numbers and numbers[0] == 1 and not chain.missing and len(numbers) in (header.stated_counts or (sets,)):
        return chain
    pictured = number.image_candidates(lines, boxes)
    first = next((m.line for m in marks), 0)
    # Pictures above the first item (signs of the notes) are no numbers: the last one before the first mark counts.
    start = max((k for k, n in enumerate(pictured) if n.line <= first), default=0)
    pictured = [n._replace(number=k + 1) for k, n in enumerate(pictured[start:])]
    if pictured and len(pictured) in (*header.stated_counts, sets) and len(pictured) > len(numbers):
        return Chain(tuple(pictured), images=True)
    return chain


def _margin(lines: Sequence[Line], pages: Sequence[Page]) -> float:
    """The right edge of the text. Of many lines not the very last edge: hanging punctuation is none.

    Where no line is long it is not known, but no page leaves two fifths of its width empty.
    """
    edges = sorted((line.x1 for line in lines), reverse=True)
    least = 0.6 * max(page.width for page in pages)
    return max(least, edges[min(2, len(edges) // 20)]) if edges else least


def _body_size(lines: Sequence[Line]) -> float:
    sizes = sorted(line.size for line in lines)
    return sizes[len(sizes) // 2] if sizes else 0.0


def _items(reading: Reading, trace: Trace | None) -> tuple[list[PaperItem], list[Group]]:
    chain, lines, marks = reading.chain.numbers, reading.lines, reading.marks
    leads = groups.leads([line.text for line in lines])
    shared: list[Group] = []
    if chain:
        shared += _group(reading, leads, range(chain[0].line), chain[0].number, chain[0])
    items: list[PaperItem] = []
    loose_before = reading.chain.doubtful and not shared
    answers_many = False
    astray = number.astray(reading.chain, lines)
    cuts = number.marks_before(chain, marks)
    for here, after, begin, end in zip(chain, [*chain[1:], None], cuts, [*cuts[1:], len(marks)], strict=True):
        last = after.line if after else len(lines)
        own = marks[begin:end]
        own = options.one_set(lines, own) if len(own) > 4 else own
        draft = assembly.assemble(
            lines, (here.line, here.stop), last, own, reading.margin, _stops(lines, leads, here, last, own)
        )
        if trace:
            trace(lines, here, draft, own)
        found = _group(reading, leads, draft.loose, here.number + 1, after) if draft.loose else []
        shared += found
        headed = next((m for m in draft.loose if _MULTIPLE.match(lines[m].text)), None)
        heading = bool(draft.loose) and layout.is_heading(lines[draft.loose[0]].text)
        unexplained = bool(draft.loose) and not found and not heading
        item = make_item(reading, here, after, draft, own)
        if {here.number, after.number if after else 0} & astray:
            item = replace(item, excluded=(*item.excluded, "number_astray"))
        doubtful = bool(draft.loose) and not heading and draft.loose[0] not in leads
        if doubtful and assembly.may_go_on(lines, own, draft.loose[0], reading.margin, unexplained):
            item = replace(item, excluded=(*item.excluded, "cut_option"))
        flags = ["loose_text_before"] if loose_before else []
        flags += ["loose_text_after"] if unexplained and headed is None else []
        if flags or answers_many:
            excluded = (*item.excluded, "multiple_answers") if answers_many else item.excluded
            item = replace(item, flags=(*item.flags, *flags), excluded=excluded)
        items.append(item)
        loose_before = unexplained and headed is None
        answers_many = answers_many or headed is not None
    return _with_groups(items, shared), shared


def _stops(
    lines: Sequence[Line], leads: dict[int, tuple[int, int]], here: Number, last: int, own: Sequence[Mark]
) -> Callable[[int], bool]:
    """Which lines after the options of an item, whose lines end before `last`, begin something that is not its own."""
    ahead = next((k for k in range(here.line, last) if k in leads and leads[k][0] == here.number + 1), -1)

    def stops(k: int) -> bool:
        text = lines[k].text
        if (k in leads and leads[k][0] > here.number) or layout.is_heading(text) or bool(_MULTIPLE.match(text)):
            return True
        # The lead may be the last sentence of its passage. What stands before it is the option's only when set in.
        return k < ahead and not assembly.set_in(lines, own, lines[k])

    return stops


def _group(
    reading: Reading, leads: dict[int, tuple[int, int]], between: Sequence[int], first: int, after: Number | None
) -> list[Group]:
    """The group that begins with item `first`, if a lead among the lines `between` says so."""
    for k in between:
        if k in leads and leads[k][0] == first:
            # The lead is a line of its own above the passage, or the passage's own last sentence.
            start, stop = leads[k]
            own = [k] if groups.lead(reading.lines[k].text) else [k, k + 1]
            text = join(reading.lines[m].text for m in own)
            alone = k == between[0] or reading.lines[k - 1].x1 < reading.margin - 4 * reading.size
            chosen = [m for m in between if m not in own or not alone]
            passage = fold(join(reading.lines[m].text for m in chosen))
            if not passage:
                passage = fold(text)
            kind = groups.kind_of(join(reading.lines[m].text for m in between if m not in own), start, stop)
            drawn = figures.figures(stretch(reading, between[0] if k > between[0] else k, after), reading.pages)
            return [Group(start, stop, kind, fold(text).rstrip(":："), passage, drawn)]
    return []


def _with_groups(items: Sequence[PaperItem], shared: Sequence[Group]) -> list[PaperItem]:
    """Marks the items of each group. What the passage shows, or its first item does, is before the eyes in all."""
    out = list(items)
    place = {item.number: k for k, item in enumerate(items)}
    for group in shared:
        members = [place[n] for n in range(group.first, group.last + 1) if n in place]
        seen = [*group.flags, *(out[members[0]].flags if members else ())]
        figure = ("figure_in_group",) if any(flag in ("figure", "drawing", "table") for flag in seen) else ()
        for k in members:
            out[k] = replace(
                out[k],
                group=(group.first, group.last),
                flags=tuple(dict.fromkeys((*out[k].flags, *figure))),
                excluded=tuple(reason for reason in out[k].excluded if reason != "empty_stem"),
            )
    return out
