"""Where the money goes: by kind and month, added up, and from the list price to what is paid."""

import numpy as np
import plotly.graph_objects as go

from gpudash.figures._theme import (
    GREY,
    MAIN,
    OTHER_COST_COLOURS,
    WARNING,
    WAY_COLOURS,
    figure,
    marker,
    plain,
    whole,
    wrapped,
)
from gpudash.figures.choices import price_source, short_name
from gpudash.figures.money import Money, money_of
from gpudash.figures.table import Table, table
from gpudash.purchase_mix import KINDS
from gpudash.result import Bill, Result
from gpudash.text import Text

SMALLEST_SHARE = 0.005  # below it a percentage would read as zero
LABEL_WIDTH = {"en": 11, "zh": 5}  # characters per line under a bar; fits a phone
COSTS = (*KINDS, *OTHER_COST_COLOURS)
COLOURS = WAY_COLOURS | OTHER_COST_COLOURS


def by_kind(bill: Bill) -> dict[str, np.ndarray]:
    """US dollars per month of every kind of cost that occurs; credits are below zero."""
    columns = {}
    for kind in COSTS:
        usd = np.array([getattr(month, f"{kind}_usd") for month in bill.months])
        if usd.any():
            columns[kind] = usd
    return columns


def cost_label(kind: str, text: Text) -> str:
    """The name of a kind of cost or of a way of buying."""
    return text(f"common.way.{kind}" if kind in KINDS else f"common.cost.{kind}")


def monthly_cost(result: Result, text: Text) -> go.Figure | None:
    """The bill of each month, stacked by kind of cost."""
    bill = result.leading_bill
    if bill is None:
        return None
    money, columns = money_of(result, text), by_kind(bill)
    largest = max(columns, key=lambda kind: columns[kind].sum())
    share = columns[largest].sum() / sum(usd.sum() for usd in columns.values() if usd.sum() > 0)  # before credits
    chart = figure(
        text("figures.monthly", kind=cost_label(largest, text), share=text.percent(share)),
        source=price_source(result, money, text),
        x=text("figures.month"),
        y=text("figures.monthly_y", currency=money.currency),
    )
    months = [month.month for month in bill.months]
    for kind, usd in columns.items():
        label = cost_label(kind, text)
        chart.add_bar(
            x=months,
            y=money.amount(usd),
            name=plain(label),
            marker=marker(COLOURS[kind]),
            hovertext=[
                plain(text("figures.monthly_hover", month=month, kind=label, usd=money(amount)))
                for month, amount in zip(months, usd)
            ],
            hoverinfo="text",
        )
    chart.update_layout(barmode="relative", bargap=0.1)
    chart.update_xaxes(whole(len(months)))
    return chart


def savings(result: Result, text: Text) -> go.Figure | None:
    """From always on (or the runs' hours) at list price to what is paid: each measure on what the earlier ones left."""
    detail = result.purchase_detail
    if detail is None or not detail.savings:
        return None
    money, paid_usd = money_of(result, text), detail.savings[-1].left_usd
    base = "_runs" if result.leading.cost_per_run_usd is not None else ""
    steps = [(f"figures.waterfall_list{base}", detail.always_on_usd, "absolute")]
    steps += [
        (f"figures.measure_{saving.measure}", -saving.saved_usd, "relative")
        for saving in detail.savings
        if abs(saving.saved_usd) > SMALLEST_SHARE * detail.always_on_usd
    ]
    steps.append(("figures.waterfall_total", paid_usd, "total"))
    saved = 1 - paid_usd / detail.always_on_usd if detail.always_on_usd else 0
    share = text.percent(saved)
    chart = figure(
        text(f"figures.waterfall{base}" if saved > SMALLEST_SHARE else f"figures.waterfall_none{base}", saved=share),
        source=price_source(result, money, text),
        y=text("figures.total_y", currency=money.currency),
        legend=False,
    )
    _add_waterfall(chart, steps, money, text)
    return chart


def _add_waterfall(chart: go.Figure, steps, money: Money, text: Text) -> None:
    chart.add_waterfall(
        x=[wrapped(text(key), LABEL_WIDTH[text.language]) for key, _, _ in steps],
        y=[money.amount(usd) for _, usd, _ in steps],
        measure=[measure for _, _, measure in steps],
        name=text("figures.total_y", currency=money.currency),
        text=[money(usd) for _, usd, _ in steps],
        textposition="outside",
        textangle=0,
        cliponaxis=False,
        increasing={"marker": {"color": WARNING}},
        decreasing={"marker": {"color": WAY_COLOURS["spot"]}},
        totals={"marker": {"color": MAIN}},
        connector={"line": {"color": GREY, "width": 1}},
        hoverinfo="x+text",
    )


def monthly_table(result: Result, text: Text) -> Table | None:
    """The bill month by month, one column per kind of cost."""
    bill = result.leading_bill
    if bill is None:
        return None
    money, choice = money_of(result, text), result.leading
    columns = [(text("figures.month"), [month.month for month in bill.months], "number")]
    columns += [
        (cost_label(kind, text), [float(amount) for amount in money.amount(usd)], "number")
        for kind, usd in by_kind(bill).items()
    ]
    total = [float(money.amount(month.total_usd)) for month in bill.months]
    columns.append((text("tco.column_total"), total, "number"))
    title = text("tco.table_title", name=short_name(choice), currency=money.currency)
    return table(title, columns, price_source(result, money, text))


def side_by_side(result: Result, text: Text) -> Table | None:
    """The best candidates with what they cost in each sense of the word."""
    if not result.alternatives:
        return None
    money, choices = money_of(result, text), result.alternatives
    in_currency = {
        "column_monthly": [choice.monthly_usd for choice in choices],
        "column_total": [choice.tco_usd for choice in choices],
        "column_npv": [choice.npv_usd for choice in choices],
        "column_gpu_hour": [choice.cost_per_gpu_hour_usd for choice in choices],
        "column_million_tokens": [choice.cost_per_million_tokens_usd for choice in choices],
        "column_run": [choice.cost_per_run_usd for choice in choices],
        "column_unused": [choice.unused_commitment_usd for choice in choices],
    }
    columns = [
        (text("tco.column_provider"), [choice.provider for choice in choices]),
        (text("tco.column_instance"), [choice.instance for choice in choices]),
        (text("tco.column_region"), [choice.region for choice in choices]),
        (text("tco.column_gpu"), [f"{choice.gpus_per_server} × {choice.gpu}" for choice in choices]),
        (text("tco.column_servers"), [choice.servers for choice in choices], "number"),
    ]
    for name, usd in in_currency.items():
        if any(value is not None for value in usd):
            amounts = [None if value is None else money.amount(value) for value in usd]
            columns.append((text(f"tco.{name}"), amounts, "number"))
    columns.append((text("tco.column_price_of"), [text.date(choice.price_as_of) for choice in choices]))
    title = text("tco.alternatives_title", count=text.number(len(choices)), currency=money.currency)
    return table(title, columns, price_source(result, money, text))
