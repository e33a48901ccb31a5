"""The ledger of every number behind the answer, and every offer that fell with its reason."""

import numpy as np

from gpudash.figures.choices import name_label
from gpudash.figures.money import money_of
from gpudash.figures.table import Table, table
from gpudash.result import INPUTS, Assumption, Result
from gpudash.text import Text
from gpudash.weak_numbers import weakest_numbers

RATE = "finance.units_per_usd"


def ledger(result: Result, text: Text) -> Table:
    """Every assumption: value, unit, where it came from, source and date."""
    entries = result.assumptions
    columns = [
        (text("evidence.column_name"), [entry_name(entry, text) for entry in entries]),
        (text("evidence.column_value"), [entry_value(entry, text) for entry in entries]),
        (text("evidence.column_origin"), [text(f"common.origin.{entry.origin}") for entry in entries]),
        (text("evidence.column_date"), [text.date(entry.as_of) if entry.as_of else "" for entry in entries]),
        (text("evidence.column_source"), [entry_source(entry, text) for entry in entries]),
    ]
    return table(text("evidence.ledger_title", count=text.number(len(entries))), columns)


def entry_name(entry: Assumption, text: Text) -> str:
    """What a number of the ledger is called."""
    for key in (f"fields.{entry.name}.label", f"evidence.name.{entry.name}"):
        if text.has(key):
            return text(key)
    return entry.name.replace(".", " · ").replace("_", " ")


def entry_value(entry: Assumption, text: Text) -> str:
    """A number of the ledger as it reads beside its name."""
    if entry.value in (None, "", [], ()):
        return text("frame.not_set")
    if isinstance(entry.value, (list, tuple)):
        return text.value([_item(entry.name, item, text) for item in entry.value])
    if "_fraction" in entry.name and isinstance(entry.value, (int, float)):
        return text.percent(entry.value)
    if entry.unit == "USD":
        return text.money(entry.value)
    unit = entry.unit if entry.name == RATE else ""  # all other names say their units
    return f"{_item(entry.name, entry.value, text)} {unit}".strip()


def entry_source(entry: Assumption, text: Text) -> str:
    """Who says so: a source, the author of the scenario, or the inputs themselves."""
    return text("evidence.from_inputs") if entry.source == INPUTS else entry.source


def _item(name: str, value, text: Text) -> str:
    """A value in words; a row of an input that is a list stands for itself by its first cell."""
    if isinstance(value, dict):
        return str(next(iter(value.values())))
    return name_label(name, value, text) if isinstance(value, str) else text.value(value)


def weakest(result: Result, text: Text) -> Table | None:
    """The numbers that are least sure, what is most at stake first, each with how to make it surer."""
    weak, money = weakest_numbers(result), money_of(result, text)
    if not weak:
        return None
    at_stake = [
        text("evidence.no_number_would_do") if number.usd_per_month is None else money(number.usd_per_month)
        for number in weak
    ]
    columns = [
        (text("evidence.column_name"), [text(f"evidence.name.{number.name}") for number in weak]),
        (text("evidence.column_because"), [text.joined(*map(text.say, number.because)) for number in weak]),
        (text("evidence.column_at_stake"), at_stake),
        (text("evidence.column_remedy"), [text.say(number.remedy) for number in weak]),
    ]
    return table(text("evidence.weakest_title"), columns, text("evidence.weakest_reading"))


def rejected(result: Result, text: Text) -> Table:
    """Every offer that fell, and why."""
    offers = result.catalogue.offers
    rows = np.asarray(result.rejected.offer_rows, dtype=int)
    sentences = [text.say(reason) for reason in result.rejected.reasons]
    columns = [
        (text("evidence.column_provider"), offers.provider[rows].tolist()),
        (text("evidence.column_instance"), offers.instance[rows].tolist()),
        (text("evidence.column_region"), offers.region[rows].tolist()),
        (text("evidence.column_because"), [sentences[row] for row in result.rejected.reason_of]),
    ]
    return table(text("evidence.rejected_title", count=text.number(len(rows))), columns)


def snapshot(result: Result, text: Text) -> list[str]:
    """Which prices were used, how many, and how old they were on the day of the snapshot."""
    offers = result.catalogue.offers
    ages = offers.age_days
    lines = [
        text(
            "evidence.snapshot",
            date=text.date(result.snapshot),
            offers=text.number(len(ages)),
            providers=text.number(len(offers.provider_names)),
        ),
        text("evidence.ages", median=text.number(int(np.nanmedian(ages))), oldest=text.number(int(np.nanmax(ages)))),
    ]
    money = money_of(result, text)
    if money.currency != "USD" and money.as_of:
        said = {"currency": money.currency, "rate": money.rate, "source": money.source}
        lines.append(text("evidence.rate", **said, date=text.date(money.as_of)))
    return lines
