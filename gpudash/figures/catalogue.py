"""The offers a reader chose to see: their prices by GPU, their age and what speaks against them, and what changed."""

from dataclasses import dataclass
from datetime import date

import numpy as np
import plotly.graph_objects as go

from gpudash.catalogue import load_catalogue, snapshots
from gpudash.catalogue_diff import CHANGES, CatalogueDiff, diff
from gpudash.figures._theme import GREY, QUIET, figure, plain, provider_colours
from gpudash.figures.choices import price_source
from gpudash.figures.money import money_of
from gpudash.figures.table import Table, table
from gpudash.freshness import AGES, age_badges, asked_range_usd_per_hour, price_doubts
from gpudash.offers import OWN_DATES, Offers
from gpudash.records import WAYS
from gpudash.result import Result
from gpudash.text import Text

UNITS = ("gpu", "server")
MOST_GPUS = 18  # rows of the chart; more do not fit on a screen
GPU_ROW_HEIGHT = 26
LEGEND_HEIGHT = 270  # of a phone, where its entries stand below each other, and the axis
AGE_OPACITY = dict(zip(AGES, (1.0, 0.6, 0.3)))
LOG_TICKS = [step * 10**power for power in range(-2, 4) for step in (1, 2, 5)]


@dataclass(frozen=True)
class Chosen:
    """Which offers to show (an empty choice means all), priced per one of UNITS, and the day that ages count to."""

    providers: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    per: str = "gpu"
    today: date | None = None  # of the snapshot where not given


@dataclass(frozen=True, eq=False)
class _Seen:
    """The chosen offers as columns, with prices per chosen unit in the scenario's currency."""

    offers: Offers
    gpu: np.ndarray
    price: np.ndarray
    divisor: np.ndarray
    age_days: np.ndarray
    badge: np.ndarray
    doubt: np.ndarray
    since_days: int  # from the snapshot to the day that ages count to


def _seen(chosen: Chosen, result: Result, text: Text) -> _Seen:
    catalogue = result.catalogue
    rows = catalogue.rows_of(chosen.providers, chosen.gpus, chosen.countries, chosen.kinds)
    doubt = price_doubts(catalogue.offers)[rows]
    offers = catalogue.offers.take(rows)
    gpu = np.array(catalogue.hardware.names, object)[offers.gpu_row]
    divisor = offers.gpus_per_server * offers.gpu_fraction if chosen.per == "gpu" else np.ones(len(offers))
    since = (chosen.today - date.fromisoformat(result.snapshot)).days if chosen.today else 0
    age_days = offers.age_days + since
    price = money_of(result, text).amount(offers.on_demand_usd_per_hour / divisor)
    return _Seen(offers, gpu, price, divisor, age_days, age_badges(age_days), doubt, since)


def prices(chosen: Chosen, result: Result, text: Text) -> go.Figure | None:
    """On-demand price by GPU, one dot per offer: provider as colour, age as opacity, a cross where in doubt."""
    seen = _seen(chosen, result, text)
    priced = ~np.isnan(seen.price)
    names, counts = np.unique(seen.gpu[priced].astype(str), return_counts=True)
    if not len(names):
        return None
    answer = result.leading
    of_answer = names == (answer.gpu if answer is not None else "")
    most = names[np.lexsort((-counts, ~of_answer))[:MOST_GPUS]]  # the answer's GPU is always among them
    order = sorted(most, key=lambda name: np.median(seen.price[priced & (seen.gpu == name)]))
    money = money_of(result, text)
    chart = figure(
        _finding(chosen, seen, names[counts.argmax()], result, text),
        source=_source(len(names), money, result, text),
        x=text(f"catalogue_page.price_per_{chosen.per}", currency=money.currency),
        y=text("catalogue_page.column_gpu"),
        height=GPU_ROW_HEIGHT * len(order) + LEGEND_HEIGHT,
    )
    _add_dots(chart, chosen, seen, np.flatnonzero(priced & np.isin(seen.gpu.astype(str), most)), result, text)
    chart.update_xaxes(type="log", tickvals=LOG_TICKS, tickformat=",~g", showgrid=True)
    chart.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=order[::-1],
        range=[-0.6, len(order) - 0.4],
        title={"text": ""},
        showgrid=True,
        dtick=1,
    )
    provider = text("catalogue_page.column_provider")
    chart.update_layout(legend={"title": {"text": provider}, "y": 1.02, "yanchor": "bottom"})
    return chart


def _add_dots(chart: go.Figure, chosen: Chosen, seen: _Seen, rows: np.ndarray, result: Result, text: Text) -> None:
    """One trace per coloured provider, one for all others, and a ring around the answer."""
    colours, provider = provider_colours(), seen.offers.provider
    others = text("catalogue_page.other_providers")
    rows = rows[np.lexsort((seen.age_days[rows], seen.doubt[rows] != ""))]  # the legend looks like the first dot
    group = np.array([name if name in colours else others for name in provider[rows]], object)
    for name in (others, *colours):
        of_group = rows[group == name]
        if not len(of_group):
            continue
        chart.add_scatter(
            x=seen.price[of_group],
            y=seen.gpu[of_group],
            name=plain(name),
            mode="markers",
            marker={
                "color": colours.get(name, GREY),
                "size": 10,
                "opacity": [AGE_OPACITY[badge] for badge in seen.badge[of_group]],
                "symbol": ["x" if doubt else "circle" for doubt in seen.doubt[of_group]],
            },
            hovertext=[_hover(chosen, seen, row, result, text) for row in of_group],
            hoverinfo="text",
        )
    choice = result.leading
    ring = [row for row in rows if choice is not None and seen.offers.id[row] == choice.id]
    if ring:
        chart.add_scatter(
            x=seen.price[ring],
            y=seen.gpu[ring],
            name=text("catalogue_page.the_answer"),
            mode="markers",
            marker={"symbol": "circle-open", "size": 18, "color": QUIET, "line": {"width": 3}},
            hoverinfo="skip",
        )


def _hover(chosen: Chosen, seen: _Seen, row: int, result: Result, text: Text) -> str:
    offers, currency = seen.offers, result.scenario.finance.currency
    return plain(
        text(
            f"catalogue_page.hover_{chosen.per}",
            provider=offers.provider[row],
            instance=offers.instance[row],
            region=offers.region[row],
            price=text.money(seen.price[row], currency),
            check=_check(seen, row, text),
        )
    )


def _check(seen: _Seen, row: int, text: Text) -> str:
    """The badges of one price, as words."""
    age = text(f"catalogue_page.age_{seen.badge[row]}", days=text.number(int(seen.age_days[row])))
    if not seen.doubt[row]:
        return age
    return text("catalogue_page.age_and_doubt", age=age, doubt=text(f"catalogue_page.doubt_{seen.doubt[row]}"))


def _checks(seen: _Seen, row: int, text: Text) -> str:
    """The badges of an offer, with the age of each price that has a date of its own."""
    offers, said = seen.offers, _check(seen, row, text)
    for way in OWN_DATES:
        as_of = offers.as_of_of(way)[row]
        if as_of and as_of != offers.as_of[row]:
            days = offers.age_days_of(way)[row] + seen.since_days
            age = text(f"catalogue_page.age_{age_badges(days)}", days=text.number(int(days)))
            said = text("catalogue_page.checks", checks=said, way=text(f"common.way.{way}"), age=age)
    return said


def _range(seen: _Seen, row: int, money, text: Text) -> str:
    """From the lowest to the highest that any source asks on demand, where they disagree."""
    low, high = (prices[row] / seen.divisor[row] for prices in asked_range_usd_per_hour(seen.offers))
    return text("catalogue_page.range", low=money(low), high=money(high)) if low < high else ""


def _interruptions(offers: Offers, row: int, text: Text) -> str:
    """The published band of spot servers taken back in a month, else the share, with its date."""
    share = offers.interruption_fraction_per_month[row]
    if np.isnan(share) or np.isnan(offers.spot_usd_per_hour[row]):
        return ""
    band = offers.interruption_band[row] or text.percent(share)
    return text("catalogue_page.dated", value=band, date=text.date(offers.interruption_as_of[row]))


def _finding(chosen: Chosen, seen: _Seen, most_offered: str, result: Result, text: Text) -> str:
    """Whether the answer's price is a good one for its GPU; without it, what half of the most offered GPU costs."""
    currency, choice = result.scenario.finance.currency, result.leading
    own = seen.price[(seen.offers.id == choice.id) & ~np.isnan(seen.price)] if choice is not None else ()
    gpu = choice.gpu if len(own) else most_offered
    of_gpu = seen.price[(seen.gpu == gpu) & ~np.isnan(seen.price)]
    said = {"gpu": gpu, "count": text.number(len(of_gpu))}
    if len(of_gpu) == 1:
        return text(f"catalogue_page.finding_only_{chosen.per}", price=text.money(of_gpu[0], currency), **said)
    if not len(own):
        median = text.money(float(np.median(of_gpu)), currency)
        return text(f"catalogue_page.finding_median_{chosen.per}", median=median, **said)
    cheaper = text.number(int((of_gpu < own[0]).sum()))
    price = text.money(own[0], currency)
    return text(f"catalogue_page.finding_answer_{chosen.per}", price=price, cheaper=cheaper, **said)


def _source(gpus: int, money, result: Result, text: Text) -> str:
    reading = text("catalogue_page.reading")
    if gpus > MOST_GPUS:
        reading = text.joined(
            reading, text("catalogue_page.most_offered", shown=text.number(MOST_GPUS), all=text.number(gpus))
        )
    return text.joined(reading, price_source(result, money, text))


def offers(chosen: Chosen, result: Result, text: Text) -> Table:
    """Every chosen offer with its prices, badges, date and source; the cheapest on demand first, unpriced last."""
    seen, money = _seen(chosen, result, text), money_of(result, text)
    order = np.argsort(seen.price, kind="stable")  # NaN goes last
    shown = seen.offers
    dates = {as_of: text.date(as_of) for as_of in set(shown.as_of)}

    def listed(column) -> list:
        return [column[row] for row in order]

    columns = [
        (text("catalogue_page.column_gpu"), listed(seen.gpu)),
        (text("catalogue_page.column_gpus"), listed(shown.gpus_per_server.tolist()), "number"),
        (text("catalogue_page.column_provider"), listed(shown.provider)),
        (text("catalogue_page.column_instance"), listed(shown.instance)),
        (text("catalogue_page.column_region"), listed(shown.region)),
        (text("catalogue_page.column_country"), [text.country(code) for code in listed(shown.country)]),
        (text("catalogue_page.column_kind"), [text(f"common.kind.{kind}") for kind in listed(shown.kind)]),
    ]
    for way in WAYS:
        amounts = money.amount(getattr(shown, f"{way}_usd_per_hour") / seen.divisor)
        values = [None if np.isnan(amount) else float(amount) for amount in listed(amounts)]
        columns.append((text(f"common.way.{way}"), values, "number"))
    columns += [
        (text("catalogue_page.column_range"), [_range(seen, row, money, text) for row in order]),
        (text("catalogue_page.column_interruptions"), [_interruptions(shown, row, text) for row in order]),
        (text("catalogue_page.column_check"), [_checks(seen, row, text) for row in order]),
        (text("catalogue_page.column_date"), [dates[as_of] for as_of in listed(shown.as_of)]),
        (text("catalogue_page.column_source"), listed(shown.source)),
    ]
    title = text(f"catalogue_page.offers_per_{chosen.per}", count=text.number(len(shown)), currency=money.currency)
    return table(title, columns, price_source(result, money, text))


def changes(result: Result, text: Text) -> Table | None:
    """What an imported sheet changes, else what changed since the snapshot before; None for the first snapshot."""
    if result.catalogue.own_sheet is not None:
        title = text("catalogue_page.changes_by_sheet", sheet=result.catalogue.own_sheet)
        return changes_table(diff(load_catalogue(result.snapshot), result.catalogue), title, text)
    known = snapshots()
    place = known.index(result.snapshot)
    if place == 0:
        return None
    days = {"before": text.date(known[place - 1]), "after": text.date(result.snapshot)}
    found = diff(load_catalogue(known[place - 1]), result.catalogue)
    return changes_table(found, text("catalogue_page.changes_title", **days), text)


def changes_table(found: CatalogueDiff, title: str, text: Text) -> Table:
    """The changes counted by provider, GPU and way of buying."""
    counts = found.counts()
    columns = [
        (text("catalogue_page.column_provider"), [count.provider for count in counts]),
        (text("catalogue_page.column_gpu"), [count.gpu for count in counts]),
        (text("catalogue_page.column_way"), [text(f"common.way.{count.way}") for count in counts]),
    ]
    for change in CHANGES:
        columns.append(
            (text(f"catalogue_diff.change.{change}"), [getattr(count, change) for count in counts], "number")
        )
    columns.append(
        (text("catalogue_page.column_median_change"), [count.median_change_fraction for count in counts], "percent")
    )
    return table(title, columns)
