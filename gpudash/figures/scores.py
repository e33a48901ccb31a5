"""How the candidates rank: points by criterion, and how far each weight may move before another one wins."""

import math
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from gpudash.figures._theme import CATEGORICAL, GREY, MAIN, ROW_HEIGHT, figure, marker, plain, rows_height, wrapped
from gpudash.figures.table import Table, table
from gpudash.frameworks import load_framework, open_criteria, rebalanced
from gpudash.result import FrameworkRanking, Result
from gpudash.robustness import straight_interval
from gpudash.text import Text

PUBLISHED = ("three_dimension", "four_dimension")
SHOWN = 8
LABEL_WIDTH = 22  # characters per line beside a bar; leaves a phone room for the bar
POINTS = 100
DIGITS = 6  # hides the rounding error of a weight that was divided by a sum


def ranking_of(result: Result) -> FrameworkRanking | None:
    """The ranking in the framework that the scenario chose."""
    return result.scores.get(result.scenario.priorities.framework)


@dataclass(frozen=True)
class Weight:
    """One weight to move, in points: how far its slider goes, and between which ends the winner stays first.

    `is_fixed`: the article gives it, and it is not to be moved while its framework is meant.
    """

    criterion: str
    label: str
    points: float
    most_points: float
    low_points: float
    high_points: float
    said: str
    is_fixed: bool


def weights(result: Result, text: Text) -> list[Weight] | None:
    """The weights of the chosen framework, each with the range in which the winner stays first."""
    ranking = ranking_of(result)
    if ranking is None:
        return None
    given = {row.criterion: row.weight for row in result.scenario.priorities.weights}
    shares = {criterion["key"]: criterion["weight"] for criterion in ranking.criteria}
    points = {key: given.get(key, round(POINTS * share, DIGITS)) for key, share in shares.items()}
    is_published = ranking.framework in PUBLISHED
    if not ranking.table.eligible:
        return [
            Weight(key, _label(key, text), points[key], max(POINTS, points[key]), 0.0, 0.0, "", is_published)
            for key in points
        ]
    return [(_open_weight if is_published else _own_weight)(ranking, points, key, text) for key in points]


def _own_weight(ranking: FrameworkRanking, points: dict[str, float], key: str, text: Text) -> Weight:
    """A weight that moves alone, so that the others keep their ratio."""
    low, high = ranking.weight_intervals.get(key, (0.0, 1.0))
    others = sum(points.values()) - points[key]
    low_points, high_points = (others * end / (1 - end) if end < 1 else math.inf for end in (low, high))
    return _weight(key, points[key], max(POINTS, points[key]), (low_points, high_points), text)


def _open_weight(ranking: FrameworkRanking, points: dict[str, float], key: str, text: Text) -> Weight:
    """A weight of a published framework: it moves where the article leaves the shares of a dimension open."""
    framework = load_framework(ranking.framework)
    together = open_criteria(framework, key)
    total = sum(points[name] for name in together)
    if not total:
        is_ours = next(criterion.ours for criterion in framework.criteria if criterion.key == key)
        said = text("scores_page.weight_remainder" if is_ours else "scores_page.weight_fixed")
        return Weight(key, _label(key, text), points[key], POINTS, 0.0, POINTS, said, is_fixed=True)
    ends = [rebalanced(framework, points, key, end) for end in (0.0, total)]
    now, start, end = (np.array(list(weights.values())) / sum(points.values()) for weights in (points, *ends))
    low, high = straight_interval(ranking.table.utilities[: ranking.table.eligible], now, start, end)
    return _weight(key, points[key], total, (total * low, total * high), text)


def _weight(key: str, points: float, most: float, ends: tuple[float, float], text: Text) -> Weight:
    low, high = ends[0], min(ends[1], most)
    if low <= 0 and high >= most:
        said = text("scores_page.weight_free")
    else:
        said = text("scores_page.weight_range", low=text.number(low), high=text.number(high))
    return Weight(key, _label(key, text), points, most, low, high, said, is_fixed=False)


def _label(criterion: str, text: Text) -> str:
    return text(f"scores.criterion_{criterion}")


def points(result: Result, text: Text) -> go.Figure | None:
    """The best candidates with the points that each criterion gives them, out of 100."""
    ranking = ranking_of(result)
    if ranking is None or not ranking.rows:
        return None
    rows = ranking.rows[:SHOWN]
    labels = [wrapped(_short(row["offer"]), LABEL_WIDTH) for row in rows]
    chart = figure(
        _title(rows, text),
        source=text("figures.scores_source", framework=text(f"scores.framework_{ranking.framework}")),
        x=text("figures.points"),
        height=rows_height(labels) + 170,
    )
    for number, criterion in enumerate(ranking.criteria):
        label = text(f"scores.criterion_{criterion['key']}")
        values = [POINTS * row["contributions"][criterion["key"]] for row in rows]
        chart.add_bar(
            x=values,
            y=labels,
            orientation="h",
            name=plain(label),
            marker=marker(CATEGORICAL[number % len(CATEGORICAL)]),
            hovertext=[plain(text("figures.points_hover", criterion=label, points=text.number(v))) for v in values],
            hoverinfo="text",
        )
    chart.update_layout(barmode="stack")
    chart.update_yaxes(autorange="reversed")
    return chart


def _title(rows, text: Text) -> str:
    first = {"name": _short(rows[0]["offer"]), "points": text.number(POINTS * rows[0]["score"])}
    if len(rows) == 1:
        return text("figures.scores_single", **first)
    lead = POINTS * (rows[0]["score"] - rows[1]["score"])
    return text("figures.scores_lead", second=_short(rows[1]["offer"]), lead=text.number(lead), **first)


def _short(offer: str) -> str:
    """Provider, instance and region of an offer's id, separated for reading."""
    return " · ".join(offer.split(" / "))


def weight_intervals(result: Result, text: Text) -> go.Figure | None:
    """The range of each weight in which the winner stays first, and the weight as it is."""
    ranking = ranking_of(result)
    if ranking is None or not ranking.weight_intervals:
        return None
    total = sum(criterion["weight"] for criterion in ranking.criteria)
    shares = {criterion["key"]: criterion["weight"] / total for criterion in ranking.criteria}
    always = all(tuple(interval) == (0.0, 1.0) for interval in ranking.weight_intervals.values())
    chart = figure(
        text("figures.intervals_always" if always else "figures.intervals"),
        source=text("figures.intervals_source"),
        x=text("figures.weight"),
        height=ROW_HEIGHT * len(shares) + 110,
    )
    labels = [plain(text(f"scores.criterion_{key}")) for key in shares]
    intervals = [ranking.weight_intervals[key] for key in shares]
    chart.add_bar(
        x=[POINTS * (high - low) for low, high in intervals],
        base=[POINTS * low for low, _ in intervals],
        y=labels,
        orientation="h",
        name=plain(text("figures.winner_holds")),
        marker=marker(MAIN) | {"opacity": 0.45},
        hovertext=[
            plain(text("figures.interval_hover", low=text.percent(low), high=text.percent(high)))
            for low, high in intervals
        ],
        hoverinfo="text",
    )
    chart.add_scatter(
        x=[POINTS * share for share in shares.values()],
        y=labels,
        mode="markers",
        name=plain(text("figures.weight_now")),
        marker={"color": CATEGORICAL[1], "size": 11, "line": {"color": GREY, "width": 1}},
        hovertext=[plain(text("figures.weight_hover", share=text.percent(share))) for share in shares.values()],
        hoverinfo="text",
    )
    chart.update_xaxes(range=[0, 100], ticksuffix="%")
    chart.update_yaxes(autorange="reversed")
    return chart


def frameworks(result: Result, text: Text) -> Table | None:
    """Which candidate each framework puts first and second."""
    shown = {name: ranking for name, ranking in result.scores.items() if ranking.rows}
    if not shown:
        return None
    columns = [
        (text("scores_page.column_framework"), [text(f"scores.framework_{name}") for name in shown]),
        (text("scores_page.column_first"), [_at(ranking, 0) for ranking in shown.values()]),
        (text("scores_page.column_second"), [_at(ranking, 1) for ranking in shown.values()]),
    ]
    return table(text("scores_page.frameworks_title"), columns)


def _at(ranking: FrameworkRanking, place: int) -> str:
    return _short(ranking.rows[place]["offer"]) if len(ranking.rows) > place else ""


def criteria(result: Result, text: Text) -> Table | None:
    """The chosen framework: criteria, dimensions, weights, and where a fact was filled in."""
    ranking = ranking_of(result)
    if ranking is None:
        return None
    total = sum(criterion["weight"] for criterion in ranking.criteria)
    columns = [
        (
            text("scores_page.column_criterion"),
            [text(f"scores.criterion_{criterion['key']}") for criterion in ranking.criteria],
        ),
        (
            text("scores_page.column_dimension"),
            [text(f"scores.dimension_{criterion['dimension']}") for criterion in ranking.criteria],
        ),
        (
            text("scores_page.column_weight"),
            [criterion["weight"] / total for criterion in ranking.criteria],
            "percent",
        ),
        (
            text("scores_page.column_objective"),
            [text(f"scores_page.objective_{criterion['objective']}") for criterion in ranking.criteria],
        ),
    ]
    return table(text("scores_page.criteria_title"), columns)


def notes(result: Result, text: Text) -> list[str]:
    """What was filled in or renormalised in the chosen framework."""
    ranking = ranking_of(result)
    return [text.say(message) for message in ranking.warnings] if ranking else []
