"""A page as a parser of HTML reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from rackwright.verdict.report import html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.doubles.reported import Reported

VOID = frozenset({"meta", "br", "path", "rect", "polyline", "img", "link"})


@dataclass(slots=True)
class Element:
    """A tag with what is in it."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """Every element of a tag within this one, in the order of the page."""
        return [element for element in self.walk() if element.tag == tag]

    def walk(self) -> Iterator[Element]:
        """This element and all within."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def of(self, css: str) -> list[Element]:
        """Every element of a class."""
        return [one for one in self.walk() if css in one.attributes.get("class", "").split()]

    @property
    def text(self) -> str:
        """All text within, one space between words."""
        parts = (child if isinstance(child, str) else child.text for child in self.children)
        return " ".join(" ".join(parts).split())


class _Reader(HTMLParser):
    """Refuses what a browser would put right in silence."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("page")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice: {tag} {attrs}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"{tag} closes {self.open[-1].tag}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


@pytest.fixture(scope="session")
def read() -> Callable[[str], Element]:
    """Reads a page, strictly: every tag is closed in its place."""

    def read_text(text: str) -> Element:
        reader = _Reader()
        reader.feed(text)
        reader.close()
        assert len(reader.open) == 1
        return reader.open[0]

    return read_text


@pytest.fixture(scope="session")
def page(read: Callable[[str], Element]) -> Callable[[Reported], Element]:
    """The report of a run, read."""
    return lambda subject: read(text_of(subject))


@pytest.fixture(scope="session")
def text() -> Callable[[Reported], str]:
    """The report of a run."""
    return text_of


def text_of(subject: Reported) -> str:
    return html(subject.verdict, subject.run, subject.measurements, subject.expectations)
