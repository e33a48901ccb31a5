"""Amounts as people write them in price sheets, as plain numbers: separators and currency signs, never guessed."""

import re
import unicodedata
from functools import cache

from gpudash.errors import GpudashError
from gpudash.tables import DATA, read_yaml

DECIMALS = (".", ",")
_SPACES = dict.fromkeys(map(ord, " '’_\t"))
_AMOUNT = re.compile(r"([^\d.,+-]{0,5})([+-]?[\d.,]+(?:[eE][+-]?\d{1,3})?)([^\d.,]{0,5})")
_GROUPED = {
    ".": re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?"),
    ",": re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d*)?"),
}


def plain_amounts(
    cells: list[str], *, currency: list[str], decimal: str | None, file: str, column: str
) -> tuple[list[str], dict[int, str]]:
    """Cells as `float` reads them, and for each row whose sign contradicts its currency, that sign.

    A thousands separator is left out and a decimal comma becomes a point. Which of the two a comma is, the column's
    unmistakable amounts tell (`1,50`, `1.234,50`); a column that mixes both, or says nothing but `1,234`, raises
    GpudashError unless `decimal` is given. `1.234` alone is a little more than one, as in every CSV file. What is no
    amount stays as it is (and is unpriced).
    """
    parts = {cell: _parts(cell) for cell in set(cells)}
    numbers = {number for _, number in parts.values() if number}
    if decimal is None:
        decimal = _decimal_of(numbers, file, column)
    plain = {cell: _plain(number, decimal) if number else cell for cell, (_, number) in parts.items()}
    signs = {cell: sign for cell, (sign, _) in parts.items() if sign}
    wrong = {}
    for row, cell in enumerate(cells) if signs else ():
        if cell in signs and currency[row] not in _meanings(signs[cell]):
            wrong[row] = signs[cell]
    return [plain[cell] for cell in cells], wrong


def _parts(cell: str) -> tuple[str, str]:
    """The currency sign and the number of a cell; both blank if it is no amount."""
    match = _AMOUNT.fullmatch(unicodedata.normalize("NFKC", cell).translate(_SPACES))
    if not match:
        return "", ""
    before, number, after = match.groups()
    signs = [sign for sign in (before, after) if sign]
    if any(not _meanings(sign) for sign in signs) or not any(character.isdigit() for character in number):
        return "", ""
    if len(signs) == 2 and not _meanings(before) & _meanings(after):
        return before + after, number
    return (signs[-1] if signs else ""), number


@cache
def _meanings(sign: str) -> frozenset[str]:
    """The currencies that a sign or code can mean."""
    if re.fullmatch(r"[A-Z]{3}", sign):
        return frozenset([sign])
    return frozenset(read_yaml(DATA / "import_words.yaml")["currency_signs"].get(sign, ()))


def _decimal_of(numbers: set[str], file: str, column: str) -> str:
    votes: dict[str, str] = {}
    unclear = ""
    for number in sorted(numbers):
        vote = _vote(number)
        if vote:
            votes.setdefault(vote, number)
        elif "," in number:
            unclear = number
    if len(votes) == 2:
        raise GpudashError(
            "catalogue_import.mixed_decimals", file=file, column=column, first=votes["."], second=votes[","]
        )
    if unclear and not votes:
        raise GpudashError("catalogue_import.decimal", file=file, column=column, amount=unclear)
    return next(iter(votes), ".")


def _vote(number: str) -> str:
    """The decimal separator if the number leaves no doubt, else blank."""
    points, commas = number.count("."), number.count(",")
    if points and commas:
        return "." if number.rfind(".") > number.rfind(",") else ","
    if points > 1 or commas > 1:
        return "," if points else "."
    if commas:
        whole, _, rest = number.partition(",")
        return "" if len(rest) == 3 and 1 <= len(whole.lstrip("+-")) <= 3 and whole.lstrip("+-") != "0" else ","
    if points:
        whole, _, rest = number.partition(".")
        return "" if len(rest) == 3 and 1 <= len(whole.lstrip("+-")) <= 3 and whole.lstrip("+-") != "0" else "."
    return ""


def _plain(number: str, decimal: str) -> str:
    thousands = "," if decimal == "." else "."
    if thousands in number and not _GROUPED[decimal].fullmatch(number):
        return number.replace(",", "?")  # separators in odd places: no amount
    return number.replace(thousands, "").replace(decimal, ".")
