"""Names of the places in a page, for the list of contents and for links."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from temper.report.document import (
    Block,
    Detail,
    Document,
    Framed,
    PageOnly,
    Section,
)


@dataclass(frozen=True)
class Place:
    """An entry of the list of contents."""

    heading: str
    anchor: str
    inside: Sequence["Place"] = ()


class Anchors:
    """The names of all documents of a page, of their parts and their named details."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._taken: set[str] = set()
        self._of: dict[int, str] = {}
        self._named: dict[tuple[int, str], str] = {}
        self.contents = [self._document(document) for document in documents]

    def of(self, block: Document | Block) -> str:
        """Return the name of a document or a block; empty if nothing refers to it."""
        return self._of.get(id(block), "")

    def target(self, document: Document, name: str) -> str:
        """Return where the detail of a document is that has this name, or nothing."""
        return self._named.get((id(document), name), "")

    def _document(self, document: Document) -> Place:
        anchor = self._name(document, document.heading)
        inside = [
            Place(_title(part), self._name(part, f"{anchor} {_short(part)}"))
            for part in _parts(document.blocks)
        ]
        for detail in _named(document.blocks):
            found = self.of(detail) or self._name(detail, f"{anchor} {detail.name}")
            self._named[id(document), detail.name] = found
        return Place(document.heading, anchor, inside)

    def _name(self, block: Document | Block, title: str) -> str:
        plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        name, number = plain, 2
        while name in self._taken:
            name, number = f"{plain}-{number}", number + 1
        self._taken.add(name)
        self._of[id(block)] = name
        return name


def _title(part: Section | Detail) -> str:
    return part.heading if isinstance(part, Section) else part.summary


def _short(part: Section | Detail) -> str:
    return part.name or part.summary if isinstance(part, Detail) else part.heading


def _parts(blocks: Iterable[Block]) -> Iterable[Section | Detail]:
    """Yield the blocks with a heading of the highest level."""
    for block in blocks:
        match block:
            case Section() | Detail():
                yield block
            case PageOnly() | Framed():
                yield from _parts(block.blocks)


def _named(blocks: Iterable[Block]) -> Iterable[Detail]:
    """Yield the details that cells refer to, however deep they are."""
    for block in blocks:
        if isinstance(block, Detail) and block.name:
            yield block
        if isinstance(block, Section | Detail | PageOnly | Framed):
            yield from _named(block.blocks)
