"""Two to four scenarios side by side: what they answer, what they cost, and in which inputs they differ."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from gpudash.figures._theme import ROW_HEIGHT, figure, marker, plain, whole, wrapped
from gpudash.figures.choices import price_source
from gpudash.figures.evidence import entry_value
from gpudash.figures.money import Money, money_of
from gpudash.figures.overview import described
from gpudash.figures.table import Table, table
from gpudash.figures.tco import COLOURS, by_kind, cost_label
from gpudash.result import Assumption, Choice, Result
from gpudash.scenario import fields
from gpudash.share import pinned
from gpudash.text import Text

NAME_WIDTH = 16  # characters per line beside a bar
VALUE_WIDTH = 80  # characters of one input; long lists are cut


@dataclass(frozen=True)
class Compared:
    """The results that stand side by side, the reader's own first, and how each is called."""

    results: tuple[Result, ...]
    names: tuple[str, ...]

    @property
    def answered(self) -> list[tuple[str, Result, Choice]]:
        """Those that have something to show: a winner, or the cheapest that works without the budget."""
        found = [(name, result, result.leading) for name, result in zip(self.names, self.results)]
        return [(name, result, choice) for name, result, choice in found if choice is not None]


def in_words(compared: Compared, text: Text) -> list[str]:
    """What each answers, and what it costs more or less than the first."""
    money = money_of(compared.results[0], text)
    own = compared.results[0].leading
    lines = []
    for number, (name, result) in enumerate(zip(compared.names, compared.results)):
        choice = result.leading
        if choice is None:
            lines.append(text("compare.nothing", name=name))
            continue
        said = {"name": name, "choice": described(choice, text), "monthly": money(choice.monthly_usd)}
        if number == 0 or own is None:
            lines.append(text("compare.answer", **said))
        else:
            difference = choice.monthly_usd - own.monthly_usd
            key = (
                "compare.answer_more" if difference > 0 else "compare.answer_less" if difference < 0 else "compare.even"
            )
            lines.append(text(key, difference=money(abs(difference)), **said))
        if result.recommendation is None:
            lines.append(text("compare.over_budget", name=name))
    return lines


def answers(compared: Compared, text: Text) -> Table:
    """The answers and their numbers, one column per scenario, in the currency of the first."""
    money = money_of(compared.results[0], text)
    columns = [_facts(result, money, text) for result in compared.results]
    labels = list(dict.fromkeys(label for facts in columns for label in facts))
    shown = [(text("compare.column_answer"), labels)]
    for name, facts in zip(compared.names, columns):
        shown.append((name, [facts.get(label, text("compare.none")) for label in labels]))
    return table(text("compare.answers_title"), shown, price_source(compared.results[0], money, text))


def _facts(result: Result, money: Money, text: Text) -> dict[str, str]:
    """What is compared of one answer, as label and words."""
    choice = result.leading
    if choice is None:
        return {}
    months = text.number(result.scenario.purchase.horizon_months)
    rows = {
        "provider": choice.provider,
        "country": text.country(choice.country),
        "gpu": choice.gpu,
        "servers": text(
            "overview.servers_gpus_value", servers=text.number(choice.servers), gpus=text.number(choice.gpus)
        ),
        "monthly": money(choice.monthly_usd),
        "total": text("compare.total_over", total=money(choice.tco_usd), months=months),
        "gpu_hour": money(choice.cost_per_gpu_hour_usd),
    }
    if choice.cost_per_million_tokens_usd is not None:
        rows["per_million"] = money(choice.cost_per_million_tokens_usd)
    if choice.cost_per_run_usd is not None:
        rows["per_run"] = money(choice.cost_per_run_usd)
    if choice.at_peak is not None:
        rows["first_token"] = text("compare.milliseconds", value=text.number(choice.at_peak.ttft_ms))
    rows["price_date"] = text.date(choice.price_as_of)
    return {text(f"compare.row_{name}"): value for name, value in rows.items()}


def inputs(compared: Compared, text: Text) -> Table | None:
    """The inputs in which they differ; what equals the first says so. None where all are the same."""
    plain_values = [_plain_inputs(result) for result in compared.results]
    differing = [path for path in fields() if any(values[path] != plain_values[0][path] for values in plain_values[1:])]
    if not differing:
        return None
    first, *others = plain_values
    columns = [
        (text("compare.column_input"), [text(f"fields.{path}.label") for path in differing]),
        (compared.names[0], [_value(path, first[path], text) for path in differing]),
    ]
    for name, values in zip(compared.names[1:], others):
        cells = [
            text("compare.same") if values[path] == first[path] else _value(path, values[path], text)
            for path in differing
        ]
        columns.append((name, cells))
    count = text.number(len(differing))
    return table(text("compare.inputs_title", count=count), columns, text("compare.inputs_source"))


def _plain_inputs(result: Result) -> dict[str, object]:
    plain_values = pinned(result.scenario).model_dump(mode="json")
    return {f"{group}.{name}": value for group, names in plain_values.items() for name, value in names.items()}


def _value(path: str, value, text: Text) -> str:
    words = entry_value(Assumption(path, value, "", "", "", ""), text)
    return words if len(words) <= VALUE_WIDTH else words[:VALUE_WIDTH] + "…"


def mean_month(compared: Compared, text: Text) -> go.Figure | None:
    """One bar per scenario: what a month costs on average, by kind of cost."""
    shown = compared.answered
    if not shown:
        return None
    money = money_of(compared.results[0], text)
    cheapest = min(shown, key=lambda item: item[2].monthly_usd)
    dearest = max(shown, key=lambda item: item[2].monthly_usd)
    chart = figure(
        text(
            "compare.mean_month" if len(shown) > 1 else "compare.mean_month_single",
            name=cheapest[0],
            monthly=money(cheapest[2].monthly_usd),
            difference=money(dearest[2].monthly_usd - cheapest[2].monthly_usd),
        ),
        source=price_source(compared.results[0], money, text),
        x=text("figures.monthly_y", currency=money.currency),
        height=2 * ROW_HEIGHT * len(shown) + 170,
    )
    bills = [(wrapped(name, NAME_WIDTH), result.leading_bill) for name, result, _ in shown]
    means = {name: {kind: float(usd.mean()) for kind, usd in by_kind(bill).items()} for name, bill in bills}
    for kind, colour in COLOURS.items():
        paid = {name: money.amount(kinds[kind]) for name, kinds in means.items() if kind in kinds}
        if not paid:
            continue
        label = cost_label(kind, text)
        chart.add_bar(
            x=list(paid.values()),
            y=list(paid),
            orientation="h",
            name=plain(label),
            marker=marker(colour),
            hovertext=[
                plain(text("compare.mean_hover", kind=label, usd=text.money(usd, money.currency)))
                for usd in paid.values()
            ],
            hoverinfo="text",
        )
    chart.update_layout(barmode="relative")
    chart.update_yaxes(categoryorder="array", categoryarray=[name for name, _ in bills[::-1]])
    return chart


def months(compared: Compared, text: Text) -> tuple[go.Figure, ...]:
    """Small multiples: the bill of each month of each scenario, all on the same axes."""
    money = money_of(compared.results[0], text)
    charts, highest, lowest, longest = [], 0.0, 0.0, 0
    for name, result, choice in compared.answered:
        columns = {kind: money.amount(usd) for kind, usd in by_kind(result.leading_bill).items()}
        stacked = np.array(list(columns.values()))
        highest = max(highest, float(stacked.clip(min=0).sum(axis=0).max()))
        lowest = min(lowest, float(stacked.clip(max=0).sum(axis=0).min()))
        longest = max(longest, stacked.shape[1])
        charts.append(_month_by_month(name, columns, choice, money, text))
    for chart in charts:
        chart.update_yaxes(range=[lowest * 1.05, highest * 1.05])
        chart.update_xaxes(whole(longest), range=[0.4, longest + 0.6])
    return tuple(charts)


def _month_by_month(name: str, columns: dict[str, np.ndarray], choice: Choice, money: Money, text: Text) -> go.Figure:
    chart = figure(
        text("compare.months", name=name, monthly=money(choice.monthly_usd)),
        source=text("compare.same_axes"),
        x=text("figures.month"),
        y=text("figures.monthly_y", currency=money.currency),
        legend=False,
    )
    for kind, amounts in columns.items():
        label = cost_label(kind, text)
        numbers = list(range(1, len(amounts) + 1))
        chart.add_bar(
            x=numbers,
            y=amounts,
            name=plain(label),
            marker=marker(COLOURS[kind]),
            hovertext=[
                plain(text("figures.monthly_hover", month=month, kind=label, usd=text.money(amount, money.currency)))
                for month, amount in zip(numbers, amounts)
            ],
            hoverinfo="text",
        )
    chart.update_layout(barmode="relative", bargap=0.1)
    return chart
