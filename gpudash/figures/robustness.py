"""How firm the first place is: random weights, the triangle of three dimensions, the nearest loss, other methods."""

from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go

from gpudash.errors import GpudashError
from gpudash.figures._theme import CATEGORICAL, GREY, MAIN, ROW_HEIGHT, TEXT, figure, marker, plain, wrapped
from gpudash.figures.scores import POINTS, ranking_of
from gpudash.figures.table import Table, table
from gpudash.result import FrameworkRanking, Result
from gpudash.robustness import DRAWS, Reversal, linear_first_share, stability
from gpudash.scores import EQUAL, METHODS
from gpudash.text import Text
from gpudash.weight_change import linear_change
from gpudash.weight_triangle import Region, weight_triangle

SHOWN = 8
LOSERS = 20  # candidates that the rank reversal test makes worse, beside whoever holds the best value of a criterion
LABEL_WIDTH = 26  # characters per line beside a bar
LEGEND_WIDTH = 34
TRIANGLE_HEIGHT = 460


def scored(result: Result) -> FrameworkRanking | None:
    """The ranking in the chosen framework, if anybody can be first in it."""
    ranking = ranking_of(result)
    return ranking if ranking is not None and ranking.table.eligible else None


def _names(result: Result, ranking: FrameworkRanking) -> Callable[[int], str]:
    """Provider and instance of a row of the table; each stands there once."""
    offers = result.catalogue.offers

    def name(row: int) -> str:
        offer = ranking.table.offer_rows[row]
        return f"{offers.provider[offer]} · {offers.instance[offer]}"

    return name


def _weights(ranking: FrameworkRanking) -> np.ndarray:
    return np.array([criterion["weight"] for criterion in ranking.criteria])


def _eligible(ranking: FrameworkRanking) -> np.ndarray:
    return ranking.table.utilities[: ranking.table.eligible]


def firmness(result: Result, text: Text) -> list[str]:
    """The nearest way to lose the first place, and whether losers can take it away without getting better."""
    ranking = scored(result)
    if ranking is None or ranking.table.eligible < 2:
        return []
    return [_nearest_loss(result, ranking, text), *_reversals(result, ranking, text)]


def _nearest_loss(result: Result, ranking: FrameworkRanking, text: Text) -> str:
    change = linear_change(_eligible(ranking), _weights(ranking))
    if change is None:
        return text("scores_page.no_loss")
    rival = _names(result, ranking)(change.rival)
    if change.moved_fraction < EQUAL:
        return text("scores_page.shared_first", rival=rival)
    moves = {
        criterion["key"]: POINTS * move for criterion, move in zip(ranking.criteria, change.weights - _weights(ranking))
    }
    taker = max(moves, key=moves.get)
    givers = [key for key, move in moves.items() if move < 0]
    return text(
        "scores_page.nearest_loss",
        points=text.number(POINTS * change.moved_fraction),
        givers=text.value([text(f"scores.criterion_{key}") for key in givers]),
        taker=text(f"scores.criterion_{taker}"),
        rival=rival,
    )


def _reversals(result: Result, ranking: FrameworkRanking, text: Text) -> list[str]:
    found = _stability(ranking, "ratio")
    tried = text.number(found.tried)
    if found.is_stable:
        return [text("scores_page.stable", tried=tried)]
    name = _names(result, ranking)
    lines = (
        [text("scores_page.unstable", count=text.number(len(found.reversals)), tried=tried)] if found.reversals else []
    )
    return lines + [_reversal(reversal, ranking, name, text) for reversal in found.reversals[:1]]


def _reversal(reversal: Reversal, ranking: FrameworkRanking, name: Callable[[int], str], text: Text) -> str:
    criterion = text(f"scores.criterion_{ranking.criteria[reversal.criterion]['key']}")
    values = {"loser": name(reversal.loser), "first": name(reversal.first)}
    return text("scores_page.reversal", criterion=criterion, **values)


def _stability(ranking: FrameworkRanking, method: str):
    objectives = [criterion["objective"] for criterion in ranking.criteria]
    eligible = ranking.table.eligible
    return stability(ranking.table.values, objectives, _weights(ranking), method, eligible, LOSERS)


def first_share(result: Result, text: Text) -> go.Figure | None:
    """In how many of 10,000 random weight sets each candidate is first."""
    ranking = scored(result)
    if ranking is None or ranking.table.eligible < 2:
        return None
    shares, name = linear_first_share(_eligible(ranking)), _names(result, ranking)
    often = [int(row) for row in np.argsort(-shares, kind="stable") if shares[row] > 0]
    shown = often[:SHOWN]
    labels, values = [wrapped(name(row), LABEL_WIDTH) for row in shown], [float(shares[row]) for row in shown]
    others = len(often) - len(shown)
    if others:
        labels.append(plain(text("scores_page.others", count=text.number(others))))
        values.append(float(shares[often[SHOWN:]].sum()))
    winner = {"winner": name(0), "share": text.percent(shares[0])}
    key = "first_share_most" if often[0] == 0 else "first_share_other"
    chart = figure(
        text(f"scores_page.{key}", most=name(often[0]), most_share=text.percent(shares[often[0]]), **winner),
        source=text("scores_page.first_share_source", draws=text.number(DRAWS)),
        x=text("scores_page.first_share_x"),
        height=ROW_HEIGHT * len(labels) + 90,
        legend=False,
    )
    chart.add_bar(
        x=[POINTS * share for share in values],
        y=labels,
        orientation="h",
        name=plain(text("scores_page.first_share_x")),
        marker=marker(MAIN) | {"color": [MAIN if row == 0 else GREY for row in shown] + [GREY] * bool(others)},
        text=[text.percent(share) for share in values],
        textposition="outside",
        cliponaxis=False,
        hoverinfo="skip",
    )
    chart.update_xaxes(range=[0, 115 * max(values)], ticksuffix="%")
    chart.update_yaxes(autorange="reversed")
    return chart


def triangle(result: Result, text: Text) -> go.Figure | None:
    """Who is first at every share-out of the weight among the three heaviest dimensions."""
    ranking = scored(result)
    found = ranking and weight_triangle(ranking)
    if not found:
        return None
    kind = "criterion" if found.are_criteria else "dimension"
    corners = [text(f"scores.{kind}_{key}") for key in found.dimensions]
    name = _names(result, ranking)
    key = "triangle_source" if found.shared_fraction > 1 - 1e-9 else "triangle_source_rest"
    chart = figure(
        text("scores_page.triangle", first=corners[0], second=corners[1], third=corners[2]),
        source=text(f"scores_page.{key}", share=text.percent(found.shared_fraction)),
        height=TRIANGLE_HEIGHT,
    )
    for number, region in enumerate(found.regions):
        _fill(chart, region, name(region.row), CATEGORICAL[number % len(CATEGORICAL)])
    now = [POINTS * float(share) for share in found.now]
    chart.add_scatterternary(
        a=now[:1], b=now[1:2], c=now[2:],
        mode="markers",
        name=plain(text("figures.weight_now")),
        marker={"color": "white", "size": 13, "line": {"color": "black", "width": 3}},
        hovertext=[wrapped(text("scores_page.triangle_now", shares=_shares(corners, found.now, text)), LEGEND_WIDTH)],
        hoverinfo="text",
    )  # fmt: skip
    axes = {f"{axis}axis": _axis(label) for axis, label in zip("abc", corners)}
    chart.update_layout(
        ternary={"sum": POINTS, "bgcolor": "rgba(0, 0, 0, 0)"} | axes,
        margin={"l": 40, "r": 40, "t": 50, "b": 40},
        legend={"y": -0.12},
        meta=chart.layout.meta | {"columns": _corner_columns(found.regions, corners, name, text)},
    )
    return chart


def _fill(chart: go.Figure, region: Region, name: str, colour: str) -> None:
    closed = POINTS * np.vstack([region.corners, region.corners[:1]])
    a, b, c = closed.T.tolist()
    chart.add_scatterternary(
        a=a, b=b, c=c,
        mode="lines",
        fill="toself",
        fillcolor=colour,
        opacity=0.75,
        line={"color": "white", "width": 1},
        name=wrapped(name, LEGEND_WIDTH),
        hoveron="fills",
        hoverinfo="name",
    )  # fmt: skip


def _axis(label: str) -> dict:
    words = {"color": TEXT}
    ticks = {"tickfont": words | {"size": 10}, "ticksuffix": "%", "nticks": 5}
    return ticks | {"title": {"text": wrapped(label, 16), "font": words}, "gridcolor": GREY}


def _shares(corners: list[str], shares: np.ndarray, text: Text) -> str:
    return text.value([f"{corner} {text.percent(float(share))}" for corner, share in zip(corners, shares)])


def _corner_columns(regions, corners: list[str], name: Callable[[int], str], text: Text) -> list[tuple]:
    """The picture in numbers: every region by its corners."""
    points = [(name(region.row), *corner) for region in regions for corner in region.corners.tolist()]
    who, *shares = zip(*points)
    return [(text("scores_page.column_first"), who), *((label, s, "percent") for label, s in zip(corners, shares))]


def methods(result: Result, text: Text) -> Table | None:
    """Who is first by the other ways to score, and whether losers can change that."""
    ranking = scored(result)
    if ranking is None or ranking.table.eligible < 2:
        return None
    name, rows = _names(result, ranking), []
    for method in METHODS:
        title, help_ = text(f"scores.method_{method}"), text(f"scores.method_{method}_help")
        try:
            found = _stability(ranking, method)
        except GpudashError:  # a value of 0 where less is better has no price-performance index
            rows.append((title, text("scores_page.no_index"), "", "", "", help_))
            continue
        poor = text("scores_page.stays") if found.after_poor == found.first else name(found.after_poor)
        worse = text("scores_page.changes_in", count=text.number(len(found.reversals)), tried=text.number(found.tried))
        rows.append((title, name(found.first), name(found.second), poor, worse, help_))
    labels = ("method", "first", "second", "poor_added", "loser_worse", "method_help")
    columns = [(text(f"scores_page.column_{label}"), values) for label, values in zip(labels, zip(*rows))]
    return table(text("scores_page.methods_title"), columns)
