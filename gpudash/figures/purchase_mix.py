"""How the servers are bought: the load-duration curve filled by way of buying, and when a commitment pays."""

import numpy as np
import plotly.graph_objects as go

from gpudash.figures._theme import GREY, MAIN, ROW_HEIGHT, WAY_COLOURS, figure, marker, plain, whole
from gpudash.figures.choices import price_source
from gpudash.figures.money import money_of
from gpudash.figures.table import Table, table
from gpudash.purchase_mix import COMMITMENTS, KINDS, Plan, break_even_utilisation
from gpudash.result import Choice, Result
from gpudash.text import Text
from gpudash.units import HOURS_PER_MONTH, MINUTES_PER_HOUR, MONTHS_PER_YEAR

ROUNDING_HOURS = 1e-6
RATES = {
    "reserved_3y": "reserved_3y_usd_per_hour",
    "reserved_1y": "reserved_1y_usd_per_hour",
    "monthly": "monthly_subscription_usd_per_hour",
}


def screening_curve(result: Result, text: Text) -> go.Figure | None:
    """Servers over the hours of the first year, each layer filled by the way its hours are bought."""
    plan = result.purchase_mix
    if plan is None:
        return None
    hours = {kind: np.asarray(plan.curve_hours[kind])[0] for kind in KINDS}
    ends = np.asarray(plan.curve_servers, dtype=float)
    starts = np.concatenate([[0.0], ends[:-1]])
    needed = sum(hours.values()) > 0
    chart = figure(
        _mix_title(plan, int(ends[needed].max()) if needed.any() else 0, text),
        source=text("figures.curve_source"),
        x=text("figures.curve_x"),
        y=text("figures.servers"),
        height=380,
    )
    bands = [(text(f"common.way.{kind}"), hours[kind], marker(WAY_COLOURS[kind])) for kind in KINDS]
    bands.append((text("figures.unused"), unused_hours(plan), marker(GREY, unused=True)))
    for label, band, look in bands:
        if not band[needed].any():
            continue
        chart.add_bar(
            x=band[needed],
            y=((starts + ends) / 2)[needed],
            width=(ends - starts)[needed],
            orientation="h",
            name=plain(label),
            marker=look,
            hovertext=[
                plain(text("figures.curve_hover", server=text.number(int(end)), hours=text.number(hour), way=label))
                for end, hour in zip(ends[needed], band[needed])
            ],
            hoverinfo="text",
        )
    chart.update_layout(barmode="stack", bargap=0)
    chart.update_yaxes(whole(ends[needed].max() if needed.any() else 0))
    return chart


def unused_hours(plan: Plan) -> np.ndarray:
    """Hours of the first year in which one server of each layer is committed and serves nothing."""
    committed = sum(plan.held_servers[kind][:MONTHS_PER_YEAR] for kind in COMMITMENTS)
    held = HOURS_PER_MONTH * (committed >= np.asarray(plan.curve_servers)[:, None]).sum(axis=1)
    left = held - sum(np.asarray(plan.curve_hours[kind])[0] for kind in COMMITMENTS)
    return np.where(left > ROUNDING_HOURS, left, 0.0)


def _mix_title(plan, most: int, text: Text) -> str:
    """How many servers are committed to, of how many needed at most in the first year."""
    committed = int(
        max(np.max(plan.reserved_3y_servers, initial=0), 0)
        + np.max(plan.reserved_1y_servers, initial=0)
        + np.max(plan.monthly_servers, initial=0)
    )
    if committed == 0:
        return text("figures.curve_as_you_go")
    if committed >= most:
        return text("figures.curve_all_committed", most=text.number(most))
    rest = text.number(most - committed)
    return text("figures.curve_some_committed", committed=text.number(committed), most=text.number(most), rest=rest)


def ways_in_money(result: Result, text: Text) -> go.Figure | None:
    """What each way of buying costs over the whole time; the part paid for and not used is hatched."""
    plan = result.purchase_mix
    if plan is None:
        return None
    money = money_of(result, text)
    paid = {kind: usd for kind in KINDS if (usd := plan.paid_usd[kind]) > 0}
    unused = {kind: plan.unused_usd.get(kind, 0.0) for kind in paid}
    total_unused = sum(unused.values())
    key = "figures.ways_unused" if total_unused > 0 else "figures.ways_all_used"
    chart = figure(
        text(key, unused=money(total_unused), total=money(sum(paid.values()))),
        source=price_source(result, money, text),
        x=text("figures.total_y", currency=money.currency),
        height=ROW_HEIGHT * len(paid) + 130,
    )
    labels = [plain(text(f"common.way.{kind}")) for kind in paid]
    useful = [paid[kind] - unused[kind] for kind in paid]
    for name, amounts, look in (
        ("figures.used", useful, marker(MAIN) | {"color": [WAY_COLOURS[kind] for kind in paid]}),
        ("figures.unused", list(unused.values()), marker(GREY, unused=True)),
    ):
        chart.add_bar(
            x=[money.amount(usd) for usd in amounts],
            y=labels,
            orientation="h",
            name=plain(text(name)),
            marker=look,
            hovertext=[
                plain(text("figures.ways_hover", part=text(name), usd=money(usd), way=label))
                for label, usd in zip(labels, amounts)
            ],
            hoverinfo="text",
        )
    chart.update_layout(barmode="stack")
    chart.update_yaxes(autorange="reversed")
    return chart


def break_even(result: Result, text: Text) -> Table | None:
    """From which use on each commitment is cheaper than paying by the hour on demand."""
    choice = result.leading
    if choice is None or choice.on_demand_usd_per_hour is None:
        return None
    money = money_of(result, text)
    rates = {kind: rate for kind, name in RATES.items() if (rate := getattr(choice, name)) is not None}
    columns = [
        (text("purchase_mix.column_way"), [text(f"common.way.{kind}") for kind in ("on_demand", *rates)]),
        (
            text("purchase_mix.column_rate", currency=money.currency),
            [money.amount(rate) for rate in (choice.on_demand_usd_per_hour, *rates.values())],
            "number",
        ),
        (text("purchase_mix.column_break_even"), [None, *_break_even_fractions(choice, rates)], "percent"),
    ]
    missing = [text(f"common.way.{kind}") for kind in COMMITMENTS if kind not in rates]
    title = text("purchase_mix.break_even_title")
    source = price_source(result, money, text)
    if missing:
        source = text.joined(source, text("purchase_mix.not_sold", ways=text.value(missing)))
    return table(title, columns, source)


def spot_terms(result: Result, text: Text) -> list[str]:
    """What spot costs with the work that is repeated, and how often it may be interrupted before it is dearer."""
    choice, spot = result.leading, result.purchase_detail and result.purchase_detail.spot
    if not spot:
        return []
    money = money_of(result, text)
    lines = [
        text(
            "purchase_mix.spot",
            spot=money(spot.spot_usd_per_hour),
            on_demand=money(choice.on_demand_usd_per_hour),
            rework=text.percent(spot.rework_fraction),
            share=text.percent(spot.interruption_fraction_per_month),
        )
    ]
    if spot.break_even_interruption_h is None:
        return [*lines, text("purchase_mix.spot_always_dearer")]
    hours = spot.break_even_interruption_h
    key, often = ("_minutes", hours * MINUTES_PER_HOUR) if hours < 1 else ("", hours)
    return [*lines, text(f"purchase_mix.spot_break_even{key}", often=text.number(often))]


def savings_plans(result: Result, text: Text) -> list[str]:
    """The yearly terms that are bought as savings plans, with what is committed to per hour."""
    choice, detail, money = result.leading, result.purchase_detail, money_of(result, text)
    return [
        text(
            "purchase_mix.savings_plan",
            term=text(f"common.way.{use.term}"),
            usd=money(use.usd_per_hour),
            servers=text.number(use.servers),
            rate=money(use.usd_per_server_hour),
            provider=choice.provider,
        )
        for use in (detail.savings_plans if detail else ())
    ]


def published_split(result: Result, text: Text) -> list[str]:
    """The article's split priced here beside the cheapest mix, and why it may not be taken."""
    split = result.purchase_detail and result.purchase_detail.published_split
    if not split:
        return []
    money = money_of(result, text)
    servers = dict.fromkeys(split.committed_servers)
    lines = [
        text(
            "purchase_mix.published",
            servers=text.value(list(servers)),
            term=text(f"common.way.{split.term}"),
            share=text.percent(split.rest_share),
            rest=text(f"common.way.{split.rest}"),
            total=money(split.total_usd),
        ),
        text(
            "purchase_mix.published_dearer" if split.extra_usd >= 0 else "purchase_mix.published_cheaper",
            mix=money(split.mix_usd),
            difference=money(abs(split.extra_usd)),
        ),
    ]
    if not split.is_allowed:
        allowed = text.percent(result.scenario.purchase.spot_fraction)
        lines.append(text("purchase_mix.published_not_allowed", share=text.percent(split.rest_share), allowed=allowed))
    return [*lines, text("purchase_mix.published_source", source=split.source)]


def _break_even_fractions(choice: Choice, rates: dict[str, float]) -> list[float]:
    return [float(break_even_utilisation(rate, choice.on_demand_usd_per_hour)) for rate in rates.values()]
