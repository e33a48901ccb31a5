"""Where the data lies: everything in the fastest tier against each data set in the cheapest one that is fast enough."""

import plotly.graph_objects as go

from gpudash.figures._theme import CATEGORICAL, GREY, figure, marker, plain
from gpudash.figures.choices import price_source
from gpudash.figures.money import money_of
from gpudash.figures.table import Table, table
from gpudash.result import Result
from gpudash.scenario import Dataset
from gpudash.text import Text


def before_and_after(result: Result, text: Text) -> go.Figure | None:
    """Storage per month with everything hot, and as placed, stacked by data set."""
    placed = result.storage
    if placed is None or not placed.usd_by_dataset:
        return None
    money = money_of(result, text)
    key = "figures.storage_saving" if placed.saving_fraction > 0 else "figures.storage_no_saving"
    chart = figure(
        text(key, saving=text.percent(placed.saving_fraction), monthly=money(placed.monthly_usd)),
        source=price_source(result, money, text),
        y=text("figures.monthly_y", currency=money.currency),
        height=360,
    )
    hot, now = plain(text("figures.storage_hot")), plain(text("figures.storage_placed"))
    chart.add_bar(
        x=[hot],
        y=[money.amount(placed.all_hot_usd)],
        name=plain(text("figures.storage_all_hot")),
        marker=marker(GREY),
        hovertext=[plain(money(placed.all_hot_usd))],
        hoverinfo="text",
    )
    for number, (dataset, tier, usd) in enumerate(_placed(result)):
        words = {"dataset": dataset.name, "tier": tier, "usd": money(usd)}
        chart.add_bar(
            x=[now],
            y=[money.amount(usd)],
            name=plain(dataset.name),
            marker=marker(CATEGORICAL[number % len(CATEGORICAL)]),
            hovertext=[plain(text("figures.storage_hover", **words))],
            hoverinfo="text",
        )
    chart.update_layout(barmode="stack", bargap=0.4)
    return chart


def placements(result: Result, text: Text) -> Table | None:
    """Each data set with its tier and monthly cost."""
    placed = result.storage
    if placed is None or not placed.usd_by_dataset:
        return None
    money, rows = money_of(result, text), _placed(result)
    columns = [
        (text("storage_page.column_dataset"), [dataset.name for dataset, _, _ in rows]),
        (text("storage_page.column_size"), [dataset.size_gb for dataset, _, _ in rows], "number"),
        (text("storage_page.column_tier"), [tier for _, tier, _ in rows]),
        (
            text("storage_page.column_price", currency=money.currency),
            [money.amount(tier.usd_per_gb_month) for tier in placed.tiers],
            "number",
        ),
        (
            text("storage_page.column_monthly", currency=money.currency),
            [money.amount(usd) for _, _, usd in rows],
            "number",
        ),
    ]
    return table(text("storage_page.placements_title"), columns, price_source(result, money, text))


def egress(result: Result, text: Text) -> list[str]:
    """What the data sent out costs a month; nothing where none is."""
    amount_gb, choice, bill = result.scenario.storage.egress_gb_per_month, result.leading, result.leading_bill
    if not amount_gb or bill is None:
        return []
    usd = money_of(result, text)(bill.months[0].egress_usd)
    return [text("storage_page.egress", gb=text.number(amount_gb), usd=usd, provider=choice.provider)]


def _placed(result: Result) -> list[tuple[Dataset, str, float]]:
    """Each data set with its tier and monthly cost; the placement keeps the order of the data sets."""
    placed = result.storage
    return list(zip(result.scenario.storage.datasets, placed.tier_by_dataset.values(), placed.usd_by_dataset.values()))
