"""A verdict and what it rests on in, one HTML file out: it asks no host for anything.

Everything the page shows is decided here and handed to templates/report/ as frozen values; the
templates only lay it out. Same input, same bytes.
"""

from rackwright.verdict.report.page import html

__all__ = ["html"]
