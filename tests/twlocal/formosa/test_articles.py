"""Which files are articles."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from twlocal.errors import DatasetError
from twlocal.formosa.articles import Front, Source, article, kind, knowledge, read_front, sources
from twlocal.formosa.markdown import front_matter

PROSE = "台灣的山林裡住著許多動物。" * 5


def test_every_file_of_a_checkout_has_its_kind(corpus: Path) -> None:
    kinds = Counter(kind(source, read_front(front_matter(source.text))) for source in sources(knowledge(corpus)))
    assert kinds == {"article": 3, "hub": 2, "index": 2, "translation": 2, "other language": 1}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("Food/油飯.md", "article"),
        ("Technology/justfont與台灣字體發展.md", "article"),
        ("Economy/en.md", "article"),
        ("zh-TW/Food/油飯.md", "article"),
        ("Food/_Food Hub.md", "hub"),
        ("Food/_任何.md", "hub"),
        ("ko/Food/rice.md", "translation"),
        ("zh-CN/Food/油飯.md", "translation"),
        ("About/ROADMAP.md", "index"),
        ("About/2026-roadmap.md", "index"),
        (".github/note.md", "hidden"),
    ],
)
def test_kind_by_path(path: str, expected: str) -> None:
    assert kind(Source(path, PROSE), Front()) == expected


def test_front_matter_tells_a_translation_and_another_language() -> None:
    assert kind(Source("Food/a.md", PROSE), Front({"translatedFrom": "Food/b.md"})) == "translation"
    assert kind(Source("Food/a.md", PROSE), Front({"lang": "ja"})) == "other language"
    assert kind(Source("Food/a.md", PROSE), Front({"lang": "zh-TW"})) == "article"


def test_english_links_do_not_make_an_article_foreign() -> None:
    links = "".join(f"[^{n}]: [Some long English Title of a Page](https://example.org/a/b/c)\n" for n in range(30))
    assert kind(Source("Food/a.md", PROSE + "\n\n" + links), Front()) == "article"


def test_front_matter_keeps_words_as_written_and_tells_what_it_cannot_read() -> None:
    front = read_front("title: '虎尾'\ndate: 2026-03-17\nfeatured: no\ntags: [a, b]\n")
    assert front.values == {"title": "虎尾", "date": "2026-03-17", "featured": "no"}
    assert read_front("title: [壞掉的").fault and not read_front("title: [壞掉的").values
    assert read_front("- a\n- b").fault == "the front matter is not a mapping"
    # No object is ever made of a tag.
    assert not read_front("title: !!python/object/apply:os.getcwd []").values


def test_attribution_falls_back_on_the_path() -> None:
    found = article(Source("Food/油飯.md", PROSE), Front())
    assert (found.title, found.category, found.author) == ("油飯", "Food", "")


def test_files_come_in_one_order_and_line_ends_are_kept(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_bytes("乙\r\n".encode())
    (tmp_path / "a.md").write_bytes("甲\n".encode())
    assert [(source.path, source.text) for source in sources(tmp_path)] == [("a.md", "甲\n"), ("b.md", "乙\r\n")]


def test_what_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no folder"):
        knowledge(tmp_path / "nowhere")
    with pytest.raises(DatasetError, match="no Markdown"):
        knowledge(tmp_path)
    (tmp_path / "a.md").write_bytes(b"\xa4\xa4")
    with pytest.raises(DatasetError, match=r"a\.md is not UTF-8 \(byte 0\)"):
        list(sources(tmp_path))
