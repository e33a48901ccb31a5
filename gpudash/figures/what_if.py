"""What would change the answer, how sure it is, and what the published checklist would cost.

The first views are of a search that may still be running: they take what it has found so far.
"""

import math

import plotly.graph_objects as go

from gpudash import uncertainty
from gpudash.checklist import check
from gpudash.figures._theme import (
    CATEGORICAL,
    GREY,
    MAIN,
    WARNING,
    WAY_COLOURS,
    figure,
    marker,
    plain,
    rows_height,
    wrapped,
)
from gpudash.figures.money import money_of
from gpudash.figures.table import Table, table
from gpudash.flips import Flip, Progress
from gpudash.result import Message, Result
from gpudash.text import Text
from gpudash.uncertainty import Uncertainty

DARK, LIGHT = WAY_COLOURS["reserved_3y"], WAY_COLOURS["monthly"]  # beside MAIN, from dark to light
SHOWN = 12
LABEL_WIDTH = 26  # characters per line beside a bar
ARROWS = {"above": "\u00a0↑", "below": "\u00a0↓"}  # held to the word before them
FURTHEST_PERCENT = 300  # longer bars are cut, so that the near ones can be compared


# ---- thresholds ----------------------------------------------------------------------------------------------------


def flips(found: Progress, result: Result, text: Text) -> list[str]:
    """When the answer changes, the nearest change first."""
    return [text.say(flip.sentence) for flip in by_distance(found.flips)]


def by_distance(found: tuple[Flip, ...]) -> list[Flip]:
    """Nearest in proportion to the present value first; those without one last."""
    return sorted(found, key=lambda flip: abs(_distance(flip)) if _distance(flip) is not None else math.inf)


def _distance(flip: Flip) -> float | None:
    """How far the threshold lies from the present value, as a fraction of it."""
    return flip.threshold / flip.now - 1 if flip.now else None


def closeness(found: Progress, result: Result, text: Text) -> go.Figure | None:
    """How far each number may move before the answer changes, in percent of its present value."""
    near = [flip for flip in by_distance(found.flips) if _distance(flip) is not None][:SHOWN]
    if not near:
        return None
    first = near[0]
    labels = [wrapped(_what(flip, text) + ARROWS[flip.direction], LABEL_WIDTH) for flip in near]
    chart = figure(
        text("what_if.closeness", what=_what(first, text), change=_signed(100 * _distance(first), text)),
        source=text("what_if.closeness_source", furthest=text.number(FURTHEST_PERCENT)),
        x=text("what_if.closeness_x"),
        height=rows_height(labels) + 110,
        legend=False,
    )
    moves = [max(min(100 * _distance(flip), FURTHEST_PERCENT), -FURTHEST_PERCENT) for flip in near]
    chart.add_bar(
        x=moves,
        y=labels,
        orientation="h",
        name=plain(text("what_if.closeness_x")),
        marker=marker(MAIN),
        text=[_signed(100 * _distance(flip), text) for flip in near],
        textposition="outside",
        cliponaxis=False,
        hovertext=[wrapped(text.say(flip.sentence), 60) for flip in near],
        hoverinfo="text",
    )
    room = 1.5 * max(abs(move) for move in moves)  # for the numbers beside the bars
    chart.update_xaxes(range=[-room if min(moves) < 0 else 0, room if max(moves) > 0 else 0])
    chart.update_yaxes(autorange="reversed")
    return chart


def _what(flip, text: Text) -> str:
    return text.say(Message.of(f"flips.what.{flip.input}", subject=flip.subject))


def _signed(percent: float, text: Text) -> str:
    sign = "+" if percent > 0 else "−"
    return f"{sign}{text.percent(abs(percent) / 100)}"


def unmoved(found: Progress, result: Result, text: Text) -> list[str]:
    """Which numbers may move as far as they were searched without changing the answer."""
    if not found.unmoved:
        return []
    names = text.value([_what(lever, text) for lever in found.unmoved])
    return [text("what_if.unmoved", names=names)]


# ---- uncertainty ---------------------------------------------------------------------------------------------------


def sureness(found: Uncertainty, result: Result, text: Text) -> list[str]:
    """How often the recommendation is the right one, what else would be, and what it costs in most cases."""
    first, *others = found.options
    months, money = result.scenario.purchase.horizon_months, money_of(result, text)
    values = {"offer": _short(first.offer), "draws": text.number(found.draws)}
    key = "what_if.right" if "winner" in first.roles else "what_if.right_cheapest"
    error = text.number(100 * found.sampling_error(first.right_fraction))
    lines = [text(key, share=text.percent(first.right_fraction), error=error, **values)]
    if first.p50_usd is not None:
        low, middle, high = (money(usd / months) for usd in (first.p10_usd, first.p50_usd, first.p90_usd))
        lines.append(text("what_if.cost_band", low=low, middle=middle, high=high))
    if first.feasible_fraction < 1:
        lines.append(text("what_if.misses", share=text.percent(1 - first.feasible_fraction)))
    better = [option for option in others if option.right_fraction > 0]
    lines += [
        text("what_if.other_right", offer=_short(option.offer), share=text.percent(option.right_fraction))
        for option in sorted(better, key=lambda option: -option.right_fraction)
    ]
    if found.nothing_fraction:
        lines.append(text("what_if.nothing_meets", share=text.percent(found.nothing_fraction)))
    return lines


def _short(offer: str) -> str:
    return " · ".join(offer.split(" / ")[:2])


def bands(found: Uncertainty, result: Result, text: Text) -> go.Figure | None:
    """Cost over the whole time of each option: exceeded in nine, in five and in one of ten cases."""
    options = [option for option in found.options if option.p50_usd is not None]
    if not options:
        return None
    money, first = money_of(result, text), options[0]
    labels = [wrapped(_short(option.offer), LABEL_WIDTH) for option in options]
    chart = figure(
        text("what_if.bands", offer=_short(first.offer), low=money(first.p10_usd), high=money(first.p90_usd)),
        source=_draws_source(found, text),
        x=text("what_if.bands_x", currency=money.currency),
        height=rows_height(labels) + 170,
    )
    for name, colour in (("p90", LIGHT), ("p50", MAIN), ("p10", DARK)):
        values = [money.amount(getattr(option, f"{name}_usd")) for option in options]
        chart.add_bar(
            x=values,
            y=labels,
            orientation="h",
            name=plain(text(f"what_if.{name}")),
            marker=marker(colour),
            hovertext=[plain(f"{text(f'what_if.{name}')}: {money(getattr(o, f'{name}_usd'))}") for o in options],
            hoverinfo="text",
        )
    chart.update_layout(barmode="overlay")
    chart.update_yaxes(autorange="reversed")
    return chart


def _draws_source(found: Uncertainty, text: Text) -> str:
    return text("what_if.draws_source", draws=text.number(found.draws))


def tornado(found: Uncertainty, result: Result, text: Text) -> go.Figure | None:
    """What one factor at its low and its high end does to the cost of the recommendation."""
    choice = result.leading
    bars = [bar for bar in found.tornado if bar.width_usd > 0]
    if choice is None or not bars:
        return None
    money = money_of(result, text)
    widest = text(f"uncertainty.factor_{bars[0].factor}")
    labels = [wrapped(text(f"uncertainty.factor_{bar.factor}"), LABEL_WIDTH) for bar in bars]
    chart = figure(
        text("what_if.tornado", factor=widest, offer=f"{choice.provider} · {choice.instance}"),
        source=text("what_if.tornado_source"),
        x=text("what_if.tornado_x", currency=money.currency),
        height=rows_height(labels) + 130,
    )
    for end, colour in (("low", CATEGORICAL[1]), ("high", MAIN)):
        ends = [(getattr(bar, f"{end}_usd"), getattr(bar, f"{end}_answer")) for bar in bars]
        chart.add_bar(
            x=[0 if usd is None else money.amount(usd - choice.tco_usd) for usd, _ in ends],
            y=labels,
            orientation="h",
            name=plain(text(f"what_if.{end}_end")),
            marker=marker(colour)
            | {"line": {"color": [WARNING if answer != choice.id else GREY for _, answer in ends], "width": 1.5}},
            hovertext=[_end_hover(usd, answer, choice.id, money, text) for usd, answer in ends],
            hoverinfo="text",
        )
    chart.update_layout(barmode="relative")
    chart.update_yaxes(autorange="reversed")
    return chart


def _end_hover(usd: float | None, answer: str | None, winner: str, money, text: Text) -> str:
    cost = text("what_if.cannot") if usd is None else money(usd)
    if answer == winner:
        return plain(cost)
    key = "what_if.then_nothing" if answer is None else "what_if.then"
    return plain(f"{cost}. {text(key, offer=_short(answer or ''))}")


def factors(result: Result, text: Text) -> Table:
    """What is drawn, how far it may lie from the value used, and who says so."""
    rows = uncertainty.uncertainty_rules()["factors"]
    columns = [
        (text("what_if.column_factor"), [text(f"uncertainty.factor_{name}") for name in rows]),
        (text("what_if.column_spread"), [_spread(row, text) for row in rows.values()]),
        (text("what_if.column_source"), [row["source"] for row in rows.values()]),
        (text("what_if.column_date"), [text.date(str(row["as_of"])) for row in rows.values()]),
    ]
    return table(text("what_if.factors_title"), columns)


def _spread(row: dict, text: Text) -> str:
    if "p90_factor" in row:
        return text("what_if.spread_factor", share=text.percent(row["p90_factor"] - 1))
    if "p90_more_per_month" in row:
        return text("what_if.spread_points", share=text.percent(row["p90_more_per_month"]))
    if "log_deviation_per_root_month" in row:
        spreads = row["log_deviation_per_root_month"].values()
        return text("what_if.spread_age", low=text.percent(min(spreads)), high=text.percent(max(spreads)))
    return text("what_if.spread_band")


# ---- the published checklist ---------------------------------------------------------------------------------------


def checklist(result: Result, text: Text) -> Table:
    """The nine items: asked for or not, whether they make sense here, and what insisting on each would do."""
    lines = check(result.scenario, result.catalogue)
    columns = [
        (text("what_if.column_item"), [text(line.item.name) for line in lines]),
        (text("what_if.column_on"), [text.value(line.is_on) for line in lines]),
        (text("what_if.column_applies"), [text.value(line.applies) for line in lines]),
        (text("what_if.column_left"), [_left(line, text) for line in lines]),
        (text("what_if.column_answer"), [_answer(line, text) for line in lines]),
        (text("what_if.column_lost"), [text.value(list(line.lost_gpus)) for line in lines]),
        (text("what_if.column_why"), [text.say(line.why) if line.why else "" for line in lines]),
    ]
    return table(text("what_if.checklist_title"), columns, text("what_if.checklist_source"))


def _left(line, text: Text) -> str:
    with_it, without = text.number(line.candidates_with), text.number(line.candidates_without)
    return text("what_if.left", with_it=with_it, without=without)


def _answer(line, text: Text) -> str:
    if line.answer_with is None:
        return text("what_if.answer_nothing")
    return _short(line.answer_with) if line.changes_answer else text("what_if.answer_same")
