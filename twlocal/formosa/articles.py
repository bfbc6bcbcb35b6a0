"""Which files of a Taiwan.md checkout are articles, and what their front matter says. Pure: paths and text in.

Hubs, indexes, roadmaps and translations are no articles; each file that is passed over has a reason, so that the
accounting adds up to the number of files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from twlocal.errors import DatasetError

ARTICLE = "article"
HUB = "hub"
INDEX = "index"
TRANSLATION = "translation"
HIDDEN = "hidden"
OTHER_LANGUAGE = "other language"

# A folder named as a language: knowledge/en, knowledge/zh-CN. Categories are capitalised words.
_LANGUAGE_FOLDER = re.compile(r"[a-z]{2,3}([-_][A-Za-z]{2,4})?")
# The Chinese that the corpus is written in.
_OURS = re.compile(r"zh|zh[-_](tw|hant)", re.IGNORECASE)
_INDEX_NAME = re.compile(
    r"(readme|index|home|summary|changelog|contributing|license|toc|sitemap|template|roadmap)", re.IGNORECASE
)
_INDEX_PART = re.compile(r"(^|[-_ .])roadmap([-_ .]|$)|路線圖$", re.IGNORECASE)
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fa]")
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]{2,}")
_NO_PROSE = re.compile(r"^\[\^[^\]\n]+\]:.*$|\]\([^)\n]*\)|https?://\S+|<[^>\n]+>", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Source:
    """One Markdown file: `path` with slashes, relative to the checkout; `text` as decoded, line ends untouched."""

    path: str
    text: str

    @property
    def sha256(self) -> str:
        """Of the text as UTF-8; line ends count, because spans do."""
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()


@dataclass(frozen=True, slots=True)
class Article:
    """What is kept of an article for attribution; every value as the front matter spells it, "" where it is silent."""

    path: str
    sha256: str
    title: str
    category: str
    author: str
    date: str
    license: str = "CC BY-SA 4.0"


@dataclass(frozen=True, slots=True)
class Front:
    """Front matter as text values. `fault` says why it could not be read; then `values` is empty."""

    values: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""


def knowledge(root: Path) -> Path:
    """The folder of articles in a checkout: its `knowledge/`, or the given folder where it has none.

    Raises DatasetError where there is no folder, or no Markdown in it.
    """
    if not root.is_dir():
        raise DatasetError(f"there is no folder {root}", hint="name a checkout of the Taiwan.md corpus")
    place = root / "knowledge" if (root / "knowledge").is_dir() else root
    if not any(place.rglob("*.md")):
        raise DatasetError(f"there is no Markdown file under {place}", hint="name a checkout of the Taiwan.md corpus")
    return place


def sources(root: Path) -> Iterator[Source]:
    """Every Markdown file under `root`, in the order of its path's code points, the same on every system.

    Raises DatasetError for a file that is not UTF-8.
    """
    found = sorted((path.relative_to(root).as_posix(), path) for path in root.rglob("*.md") if path.is_file())
    for name, path in found:
        try:
            # Line ends are left as they are: a window's span counts them.
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise DatasetError(
                f"{path} is not UTF-8 (byte {error.start})", hint="save it as UTF-8, or take it out of the checkout"
            ) from error
        yield Source(name, text)


def kind(source: Source, front: Front) -> str:
    """Whether a file is an ARTICLE, or why it is not."""
    path = PurePosixPath(source.path)
    if any(part.startswith(".") for part in path.parts):
        return HIDDEN
    folders = path.parts[:-1]
    if any(_LANGUAGE_FOLDER.fullmatch(part) and not _OURS.fullmatch(part) for part in folders):
        return TRANSLATION
    if front.values.get("translatedFrom"):
        return TRANSLATION
    stem = path.stem
    if stem.startswith("_") or stem.endswith(" Hub"):
        return HUB
    if _INDEX_NAME.fullmatch(stem) or _INDEX_PART.search(stem):
        return INDEX
    language = front.values.get("lang") or front.values.get("language") or ""
    if language and not _OURS.fullmatch(language):
        return OTHER_LANGUAGE
    return ARTICLE if _is_chinese(source.text) else OTHER_LANGUAGE


def _is_chinese(text: str) -> bool:
    # Titles of links are often English or Japanese in a Chinese article, so it takes a majority to be foreign.
    body = _NO_PROSE.sub(" ", text)
    han = len(_HAN.findall(body))
    kana = len(_KANA.findall(body))
    return han > len(_LATIN.findall(body)) and kana * 3 < han and len(_HANGUL.findall(body)) < han


def article(source: Source, front: Front) -> Article:
    """An article's attribution."""
    values = front.values
    path = PurePosixPath(source.path)
    folder = path.parts[0] if len(path.parts) > 1 else ""
    return Article(
        source.path,
        source.sha256,
        values.get("title") or path.stem,
        values.get("category") or folder,
        values.get("author", ""),
        values.get("date", ""),
    )


def read_front(text: str) -> Front:
    """Front matter (the text between the `---` lines, without them) as text values; lists and maps are left out.

    What YAML cannot read is a fault to be shown, not an article lost.
    """
    if not text.strip():
        return Front()
    import yaml

    try:
        # BaseLoader: 2026-03-17 and `no` stay the words they are, and no Python object is ever made.
        loaded = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        return Front(fault=str(error).split("\n", 1)[0])
    if not isinstance(loaded, dict):
        return Front(fault="the front matter is not a mapping")
    return Front({str(name): value.strip() for name, value in loaded.items() if isinstance(value, str)})
