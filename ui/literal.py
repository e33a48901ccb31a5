"""User text and sentences shown as they are written: no Markdown, no HTML, no formula."""

import re

_ASCII_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def literal(text: str) -> str:
    r"""Text as Markdown that renders as that text: every ASCII sign that could be markup gets a backslash."""
    return _ASCII_PUNCTUATION.sub(r"\\\1", text).replace("\n", " ")


def cell(value):
    """A table cell that a spreadsheet will not run after a download; numbers stay numbers."""
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return "'" + value
    return value
