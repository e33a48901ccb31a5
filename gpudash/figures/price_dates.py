"""How the price of the answer's offer moved from snapshot to snapshot, and what the answer was at each date."""

from functools import lru_cache

import plotly.graph_objects as go

from gpudash.catalogue import snapshots
from gpudash.figures._theme import WAY_COLOURS, figure
from gpudash.figures.choices import price_source, short_name
from gpudash.figures.money import money_of
from gpudash.figures.table import Table, table
from gpudash.price_dates import DatedAnswer, dated_answers
from gpudash.records import WAYS
from gpudash.result import Result
from gpudash.scenario import Scenario
from gpudash.text import Text


def state(result: Result, text: Text) -> list[str]:
    """How many snapshots there are; with one alone, what will stand here once there is another."""
    days = snapshots()
    if len(days) == 1:
        return [text("price_dates.only_one", snapshot=text.date(days[0]))]
    return [
        text("price_dates.several", count=text.number(len(days)), first=text.date(days[0]), last=text.date(days[-1]))
    ]


def history(result: Result, text: Text) -> go.Figure | None:
    """What the answer's offer cost at each date, a line for each way of buying it; None before the second date."""
    choice, dated = result.leading, [answer for answer in _dated(result) if answer.price is not None]
    if len(dated) < 2:
        return None
    money = money_of(result, text)
    chart = figure(
        _finding(short_name(choice), dated, text),
        source=price_source(result, money, text),
        y=text("price_dates.axis", currency=money.currency),
    )
    for way in WAYS:
        usd = [getattr(answer.price, f"{way}_usd_per_hour") for answer in dated]
        if any(value is not None for value in usd):
            chart.add_scatter(
                x=[answer.snapshot for answer in dated],
                y=[None if value is None else money.amount(value) for value in usd],
                name=text(f"common.way.{way}"),
                mode="lines+markers",
                line={"color": WAY_COLOURS[way]},
            )
    return chart


def answers(result: Result, text: Text) -> Table | None:
    """What the answer was with the prices of each snapshot, the newest first; None before the second."""
    dated, money = _dated(result)[::-1], money_of(result, text)
    if len(dated) < 2:
        return None
    usd = [None if answer.choice is None else answer.choice.monthly_usd for answer in dated]
    columns = [
        (text("price_dates.column_date"), [text.date(answer.snapshot) for answer in dated]),
        (text("price_dates.column_answer"), [_answer(answer, text) for answer in dated]),
        (
            text("price_dates.column_month", currency=money.currency),
            [None if value is None else money.amount(value) for value in usd],
            "number",
        ),
    ]
    return table(text("price_dates.answers"), columns, text("price_dates.at_todays_rate"))


def _answer(answer: DatedAnswer, text: Text) -> str:
    if answer.because is not None:
        return text.say(answer.because)
    return text("price_dates.nothing") if answer.choice is None else short_name(answer.choice)


def _finding(name: str, dated: list[DatedAnswer], text: Text) -> str:
    first, last = (answer.price.on_demand_usd_per_hour for answer in (dated[0], dated[-1]))
    said = {"name": name, "first": text.date(dated[0].snapshot), "last": text.date(dated[-1].snapshot)}
    if first is None or last is None or first == last:
        return text("price_dates.finding_same", **said)
    change = text.percent(abs(last / first - 1))
    return text("price_dates.finding_dearer" if last > first else "price_dates.finding_cheaper", change=change, **said)


def _dated(result: Result) -> tuple[DatedAnswer, ...]:
    choice = result.leading
    return _answered(result.scenario, choice and choice.id, snapshots())


@lru_cache(maxsize=16)
def _answered(scenario: Scenario, offer: str | None, days: tuple[str, ...]) -> tuple[DatedAnswer, ...]:
    """Both views show the same answers, which take a moment."""
    return tuple(dated_answers(scenario, offer, days))
