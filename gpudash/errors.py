"""Errors that a user can act on: a code and its values; the sentence is in data/text."""

from typing import Any

QUOTED_CHARACTERS = 400  # our choice: a sentence that quotes more of what was entered helps nobody


class GpudashError(Exception):
    """A mistake of the user's, named by a text key.

    `code` is a key of data/text ("errors.unknown_model"); `values` fill the sentence's placeholders.
    The command line prints the sentence and exits with 2; a page shows it beside the field.
    """

    def __init__(self, code: str, /, **values):
        values = {name: _quoted(value) for name, value in values.items()}
        super().__init__(code, values)
        self.code = code
        self.values = values

    def __str__(self) -> str:
        from gpudash.text import Text

        return Text("en")(self.code, **self.values)


def _quoted(value: Any) -> Any:
    """A value as a sentence can hold it: words are not endless, and half a sign (a lone surrogate) can be printed."""
    if not isinstance(value, str):
        return value
    if len(value) > QUOTED_CHARACTERS:
        value = value[: QUOTED_CHARACTERS - 3] + "..."
    return value if value.isprintable() else value.encode(errors="backslashreplace").decode()
