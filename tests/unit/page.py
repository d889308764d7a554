"""Reads a page as a browser and a screen reader do, as far as that needs neither."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "input", "hr"}


@dataclass
class Element:
    """An element of a page, with what is in it."""

    tag: str
    attributes: dict[str, str]
    parent: "Element | None" = None
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text in it, with single spaces."""
        parts = [each if isinstance(each, str) else each.text for each in self.children]
        return " ".join(" ".join(parts).split())

    def all(self, *tags: str) -> list["Element"]:
        """Return the elements in it with one of these tags, in their order."""
        inside = [each for each in self.children if isinstance(each, Element)]
        return [
            found
            for each in inside
            for found in ([each] if each.tag in tags else []) + each.all(*tags)
        ]

    def within(self, tag: str) -> bool:
        """Whether it is inside an element of this tag."""
        return self.parent is not None and (
            self.parent.tag == tag or self.parent.within(tag)
        )


class Page(HTMLParser):
    """The tree of a page; each element must be closed in its place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.root = self._open = Element("page", {})
        self.feed(text)
        self.close()
        assert self._open is self.root, f"<{self._open.tag}> is never closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        element = Element(tag, values, self._open)
        self._open.children.append(element)
        if tag not in VOID:
            self._open = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.tag == tag, f"</{tag}> closes <{self._open.tag}>"
        assert self._open.parent
        self._open = self._open.parent

    def handle_data(self, data: str) -> None:
        self._open.children.append(data)

    def all(self, *tags: str) -> list[Element]:
        """Return the elements with one of these tags."""
        return self.root.all(*tags)

    @property
    def ids(self) -> dict[str, Element]:
        """Id -> the element; there must be only one."""
        found: dict[str, Element] = {}
        for element in self.all(*{each.tag for each in _every(self.root)}):
            if name := element.attributes.get("id"):
                assert name not in found, f"two elements have the id {name}"
                found[name] = element
        return found


def _every(element: Element) -> list[Element]:
    inside = [each for each in element.children if isinstance(each, Element)]
    return [found for each in inside for found in [each, *_every(each)]]
