"""Errors that a user can act on: a code and its values; the sentence is in data/text."""


class GpudashError(Exception):
    """A mistake of the user's, named by a text key.

    `code` is a key of data/text ("errors.unknown_model"); `values` fill the sentence's placeholders.
    The command line prints the sentence and exits with 2; a page shows it beside the field.
    """

    def __init__(self, code: str, /, **values):
        super().__init__(code, values)
        self.code = code
        self.values = values

    def __str__(self) -> str:
        from gpudash.text import Text

        return Text("en")(self.code, **self.values)
