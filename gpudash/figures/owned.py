"""Own servers with the cloud for the rest, against the cloud alone: what is paid by when, and when they pay back."""

from itertools import accumulate

import plotly.graph_objects as go

from gpudash.figures._theme import CATEGORICAL, MAIN, figure, plain, whole
from gpudash.figures.money import Money, money_of
from gpudash.figures.table import Table, table
from gpudash.owned import Owned
from gpudash.result import Result
from gpudash.text import Text

OWN = CATEGORICAL[3]
AMOUNTS = {
    **{
        name: f"{name}_usd"
        for name in ("hardware", "residual", "electricity", "hosting", "maintenance", "staff", "cloud")
    },
    "total": "total_usd",
    "alone": "cloud_only_usd",
}


def cumulative(result: Result, text: Text) -> go.Figure | None:
    """What both ways have cost by the end of each month."""
    own = result.owned
    if own is None or own.because is not None:
        return None
    money = money_of(result, text)
    chart = figure(
        _title(own, money, text),
        source=text("owned_page.source"),
        x=text("owned_page.month"),
        y=text("figures.cumulative_y", currency=money.currency),
    )
    months = [month.month for month in own.months]
    chart.update_xaxes(whole(len(months)))
    for name, field, look in (
        ("with_own", "total_usd", {"color": OWN, "width": 3}),
        ("cloud_only", "cloud_only_usd", {"color": MAIN, "width": 2, "dash": "dot"}),
    ):
        paid = list(accumulate(getattr(month, field) for month in own.months))
        label = text(f"owned_page.{name}")
        chart.add_scatter(
            x=months,
            y=[money.amount(usd) for usd in paid],
            name=plain(label),
            mode="lines",
            line=look,
            hovertext=[
                plain(text("owned_page.line_hover", name=label, month=month, paid=money(usd)))
                for month, usd in zip(months, paid)
            ],
            hoverinfo="text",
        )
    return chart


def _title(own: Owned, money: Money, text: Text) -> str:
    horizon, servers = len(own.months) - 1, text.number(own.servers)
    if own.payback_months is not None and own.payback_months <= horizon:
        return text("owned_page.pays_back", servers=servers, months=text.number(own.payback_months))
    months = text.number(horizon)
    if own.saving_usd > 0:
        return text("owned_page.saves", servers=servers, saving=money(own.saving_usd), months=months)
    return text("owned_page.loses", servers=servers, more=money(-own.saving_usd), months=months)


def hybrid(result: Result, text: Text) -> list[str]:
    """What the own servers are, what they take over, and what both ways cost; or why they cannot do this work."""
    own = result.owned
    if own is None:
        return []
    if own.because is not None:
        return [text.say(own.because)]
    money = money_of(result, text)
    what = {"servers": text.number(own.servers), "gpus": text.number(own.gpus_per_server), "gpu": own.gpu}
    payback = own.payback_months
    return [
        text(
            "owned_page.what",
            country=text.country(own.country),
            capex=money(own.capex_usd),
            residual=money(own.residual_usd),
            **what,
        ),
        text(
            "owned_page.takes",
            share=text.percent(own.served_fraction),
            busy=text.percent(own.busy_fraction),
            cloud=text.number(own.cloud_servers),
        ),
        text(
            "owned_page.totals",
            total=money(own.total_usd),
            cloud=money(own.cloud_only_usd),
            npv=money(own.npv_usd),
            cloud_npv=money(own.cloud_only_npv_usd),
        ),
        text("owned_page.never") if payback is None else text("owned_page.payback", months=text.number(payback)),
        _energy(own, text),
    ]


def _energy(own: Owned, text: Text) -> str:
    kwh = text.number(own.kwh_per_month)
    if own.kgco2e_per_month is None:
        return text("owned_page.energy_without_grid", kwh=kwh)
    return text("owned_page.energy", kwh=kwh, co2e=text.number(own.kgco2e_per_month))


def own_months(result: Result, text: Text) -> Table | None:
    """What is paid month by month with own servers, one column per kind of cost, beside the cloud alone."""
    own, money = result.owned, money_of(result, text)
    if own is None or own.because is not None:
        return None
    columns = [(text("owned_page.month"), [month.month for month in own.months], "number")]
    for name, field in AMOUNTS.items():
        amounts = [float(money.amount(getattr(month, field))) for month in own.months]
        columns.append((text(f"owned_page.{name}", currency=money.currency), amounts, "number"))
    return table(text("owned_page.months_title"), columns, text("owned_page.source"))
