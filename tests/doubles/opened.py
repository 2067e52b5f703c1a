"""What a browser shows of a page: its size, its errors and requests, where things are, how they contrast."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from selenium.webdriver import Chrome

LEAST_CONTRAST = 4.5
"""WCAG 2.2, success criterion 1.4.3: of text and its ground."""
_PAIRS = """
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (!/, 0\\)$|transparent/.test(colour)) return colour;
  }
  return getComputedStyle(document.documentElement).colorScheme;
};
document.querySelectorAll('details').forEach((fold) => { fold.open = true; });
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const found = new Map();
while (texts.nextNode()) {
  const element = texts.currentNode.parentElement;
  if (!texts.currentNode.textContent.trim()) continue;
  const colour = getComputedStyle(element)[element instanceof SVGElement ? 'fill' : 'color'];
  found.set(`${colour} on ${ground(element)}`, `${element.tagName}.${element.getAttribute('class')}`);
}
return [...found];
"""
_BOXES = """
return [...document.querySelectorAll(arguments[0])].map((element) => {
  const box = element.getBoundingClientRect();
  return [box.left, box.top, box.right, box.bottom, element.checkVisibility(), element.innerText];
});
"""


@dataclass(frozen=True, slots=True)
class Box:
    """An element as it is seen, in CSS pixels from the window's corner."""

    left: float
    top: float
    right: float
    bottom: float
    shown: bool
    text: str


@dataclass(frozen=True, slots=True)
class Screen:
    """A window's size and its owner's taste."""

    width: int
    height: int
    scheme: str

    def __str__(self) -> str:
        return f"{self.width}x{self.height}-{self.scheme}"


class Opened:
    """A file in the browser."""

    def __init__(self, browser: Chrome, page: Path, screen: Screen) -> None:
        self._browser = browser
        self.screen = screen
        phone = screen.width < 600
        size = {"width": screen.width, "height": screen.height, "deviceScaleFactor": 1, "mobile": phone}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"features": [{"name": "prefers-color-scheme", "value": screen.scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
        for log in ("browser", "performance"):
            _log(browser, log)
        browser.get(page.as_uri())
        self.complaints = [entry["message"] for entry in _log(browser, "browser")]
        self.requests = sorted(_requested(_log(browser, "performance")))

    def overflow_px(self) -> float:
        """By how much the page is wider than the window."""
        wide = self._browser.execute_script("return document.documentElement.scrollWidth")
        return float(wide) - self.screen.width

    def boxes(self, selector: str) -> list[Box]:
        """All elements of a kind, in the order of the page."""
        return [Box(*values) for values in self._browser.execute_script(_BOXES, selector)]

    def in_sight(self, selector: str) -> str:
        """Text of the first element of a kind that lies whole within the window as it was opened."""
        width, height = self.screen.width, self.screen.height
        seen = (
            box
            for box in self.boxes(selector)
            if box.shown and box.text and box.left >= 0 and box.top >= 0
            if box.right <= width and box.bottom <= height
        )
        return next((box.text for box in seen), "nothing on the first screen")

    def links(self, selector: str) -> list[str]:
        """Where links lead, as the browser understands them."""
        script = "return [...document.querySelectorAll(arguments[0])].map((link) => link.href)"
        return list(self._browser.execute_script(script, selector))

    def texts(self, selector: str) -> list[str]:
        """Text of all elements of a kind, hidden ones too."""
        script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"
        return list(self._browser.execute_script(script, selector))

    def too_faint(self) -> list[str]:
        """Texts that contrast too little with their ground."""
        pairs: Sequence[tuple[str, str]] = self._browser.execute_script(_PAIRS)
        ratios = ((_contrast(*colours.split(" on ")), colours, where) for colours, where in pairs)
        return [
            f"{where}: {colours}: {ratio:.2f}" for ratio, colours, where in ratios if ratio < LEAST_CONTRAST
        ]


def _log(browser: Chrome, name: str) -> list[dict[str, Any]]:
    """What a log of the browser has gained since it was read last."""
    entries: list[dict[str, Any]] = browser.get_log(name)  # type: ignore[no-untyped-call] # selenium's
    return entries


def _requested(log: Sequence[dict[str, Any]]) -> Iterator[str]:
    for entry in log:
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            yield message["params"]["request"]["url"]


def _contrast(text: str, ground: str) -> float:
    """Contrast ratio of two colours as WCAG 2.2 defines it: from 1 to 21."""
    lights = sorted((_luminance(text), _luminance(ground)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _luminance(colour: str) -> float:
    """Relative luminance of ``rgb(1, 2, 3)``."""
    channels = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
