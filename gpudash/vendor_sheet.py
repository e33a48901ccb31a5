"""A user's own sheet, in our columns or mapped from a vendor's, as rows of our columns; nothing is guessed."""

import math
from collections.abc import Mapping
from dataclasses import fields
from functools import cache

from gpudash.feeds import Context, our_sheet
from gpudash.import_answers import PRICE_UNITS, TERMS, Answers
from gpudash.offer_sheet import COLUMNS, PRICES
from gpudash.records import TERM_MONTHS, OfferRow, columns_of
from gpudash.result import Message
from gpudash.sheet_amounts import plain_amounts
from gpudash.sheets import Refused, Sheet
from gpudash.tables import DATA, read_yaml
from gpudash.units import HOURS_PER_MONTH, HOURS_PER_YEAR

_DISAGREE_ABOVE = 0.02  # our choice: a per-GPU column may be rounded to cents, not wrong by more
_COLUMN_OF = {
    "on_demand": "on_demand_per_hour",
    "spot": "spot_per_hour",
    "monthly": "monthly_subscription_per_month",
    "reserved_1y": "reserved_1y_per_hour",
    "reserved_3y": "reserved_3y_per_hour",
}


def read_ours(sheet: Sheet, given: Answers, file_name: str) -> Sheet:
    """A sheet in our columns, completed by the answers, with amounts as plain numbers."""
    columns = {name: list(sheet.columns.get(name, [""] * len(sheet))) for name in COLUMNS}
    constant = {"source": file_name} | {field.name: getattr(given, field.name) for field in fields(given)}
    for name in COLUMNS:
        if name not in sheet.columns and constant.get(name):
            columns[name] = [constant[name]] * len(sheet)
    if "gpu_fraction" not in sheet.columns:
        columns["gpu_fraction"] = ["1"] * len(sheet)
    for name, kind, _ in columns_of(OfferRow):
        if kind is bool:
            words = {cell: _yes_or_blank(cell) for cell in set(columns[name])}
            columns[name] = [words[cell] for cell in columns[name]]
    refused = list(sheet.refused)
    lines = _amounts(columns, sheet.lines, given, file_name, refused)
    return Sheet(columns, lines, tuple(refused))


def _yes_or_blank(cell: str) -> str:
    return {"true": "yes", "yes": "yes", "false": "", "no": ""}.get(cell.lower(), cell)


def _amounts(columns, lines, given: Answers, file_name: str, refused: list[Refused]) -> list[int]:
    """Read the price columns as plain numbers, in place; rows whose sign contradicts their currency are refused."""
    wrong: dict[int, str] = {}
    for name in PRICES:
        columns[name], signs = plain_amounts(
            columns[name], currency=columns["currency"], decimal=given.decimal, file=file_name, column=name
        )
        wrong |= signs
    for row, sign in wrong.items():
        because = Message.of("catalogue_import.sign", sign=sign, currency=columns["currency"][row])
        refused.append(Refused(lines[row], because))
    kept = [row for row in range(len(lines)) if row not in wrong] if wrong else range(len(lines))
    for name in columns if wrong else ():
        columns[name] = [columns[name][row] for row in kept]
    return [lines[row] for row in kept]


def read_vendor(
    sheet: Sheet, mapping: Mapping[str, str], given: Answers, context: Context
) -> tuple[Sheet, tuple[Refused, ...]]:
    """Rows of our columns from a vendor's sheet, and notes on rows whose price per GPU disagrees with the price.

    A sheet that names the way of buying in a column gives one row for each; they are brought together when checked.
    """
    notes: list[Refused] = []
    cells = {name: list(sheet.columns[heading]) for name, heading in mapping.items()}
    currency = cells.get("currency") or [given.currency] * len(sheet)
    refused = list(sheet.refused)
    wrong: dict[int, str] = {}
    for name in (*PRICES, "price", "price_per_gpu"):
        if name in cells:
            cells[name], signs = plain_amounts(
                cells[name], currency=currency, decimal=given.decimal, file=context.source, column=mapping[name]
            )
            wrong |= signs
    rows = []
    for row, line in enumerate(sheet.lines):
        if row in wrong:
            because = Message.of("catalogue_import.sign", sign=wrong[row], currency=currency[row])
            refused.append(Refused(line, because))
            continue
        result = _vendor_row({name: column[row] for name, column in cells.items()}, given)
        if isinstance(result, Message):
            refused.append(Refused(line, result))
            continue
        rows.append((line, result))
        disagreement = _disagreement(result, cells["price_per_gpu"][row] if "price_per_gpu" in cells else "", given)
        if disagreement:
            notes.append(Refused(line, disagreement))
    return our_sheet(rows, context, refused), tuple(notes)


def _vendor_row(cells: dict[str, str], given: Answers) -> dict[str, str] | Message:
    """One row of a vendor's sheet in our columns, or why it cannot be read."""
    row = {name: cell for name, cell in cells.items() if name in COLUMNS}
    for name in ("region", "currency", "price_unit"):
        row.setdefault(name, getattr(given, name))
    unit = _words()["price_units"].get(_plain_word(row["price_unit"]))
    if unit is None:
        return Message.of("catalogue_import.unit_word", value=row["price_unit"], allowed=", ".join(PRICE_UNITS))
    row["price_unit"] = unit
    if cells.get("tier"):
        row["instance"] = f"{row['instance']} ({cells['tier']})"
    fraction = _float(row["gpus_per_server"])
    if 0 < fraction < 1:
        row["gpu_fraction"], row["gpus_per_server"] = row["gpus_per_server"], "1"
    for name in PRICES:
        if row.get(name) and not name.endswith("_per_month"):
            row[name] = _in_our_unit(row[name], given.period, _term_of(name))
    if "price" in cells:
        term = given.term or _words()["terms"].get(_plain_word(cells["term"]))
        if term is None or term == "other":
            return Message.of("catalogue_import.term_word", value=cells["term"], allowed=", ".join(TERMS))
        if given.period == "term" and term not in TERM_MONTHS:
            return Message.of("catalogue_import.no_term", term=term)
        row[_COLUMN_OF[term]] = _in_our_unit(cells["price"], given.period, term)
    return row


def _term_of(column: str) -> str:
    return next(term for term, name in _COLUMN_OF.items() if name == column)


def _in_our_unit(amount: str, period: str, term: str) -> str:
    """An amount per hour, month, year or whole term as our columns hold it; what is no number stays as it is.

    Our columns are per month for a subscription, else per hour.
    """
    hours = {"hour": 1, "month": HOURS_PER_MONTH, "year": HOURS_PER_YEAR}.get(period)
    ours = HOURS_PER_MONTH if term == "monthly" else 1
    return _scaled(amount, ours / (hours or TERM_MONTHS[term] * HOURS_PER_MONTH))


def _scaled(amount: str, factor: float) -> str:
    value = _float(amount)
    return amount if math.isnan(value) or factor == 1 else repr(value * factor)


def _float(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def _disagreement(row: dict[str, str], per_gpu: str, given: Answers) -> Message | None:
    """The message for a stated price per GPU that is not the price divided by the GPUs, which is what is used."""
    price = next((_float(row[name]) for name in PRICES if row.get(name)), float("nan"))
    gpus = _float(row["gpus_per_server"]) * _float(row.get("gpu_fraction", "1"))
    computed = price if row["price_unit"] == "gpu" else price / gpus if gpus else float("nan")
    stated = _float(_in_our_unit(per_gpu, given.period, given.term or "reserved_1y")) if per_gpu else float("nan")
    if not _DISAGREE_ABOVE * computed < abs(stated - computed) < 1e12:
        return None
    return Message.of("catalogue_import.disagree", stated=stated, computed=computed, price=price)


def _plain_word(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


@cache
def _words() -> dict[str, dict[str, str]]:
    """What sheets call ways of buying and units, each word to our name, from data/import_words.yaml."""
    groups = read_yaml(DATA / "import_words.yaml")
    return {
        group: {_plain_word(word): name for name, words in groups[group].items() for word in (name, *words)}
        for group in ("terms", "price_units")
    }
