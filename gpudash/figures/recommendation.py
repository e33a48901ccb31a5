"""Why this and not that: the way through a decision tree as a picture, who fell at each step, and the other trees."""

import numpy as np
import plotly.graph_objects as go

from gpudash.claims import claims
from gpudash.figures._theme import GREY, MAIN, broken, figure, plain
from gpudash.figures.choices import price_source, short_name
from gpudash.figures.money import money_of
from gpudash.figures.table import Table, table
from gpudash.result import Result
from gpudash.text import Text
from gpudash.tree import Path, Step
from gpudash.why_not import why_not

OURS, FIVE_STEPS, FIVE_STAGES = "gpudash", "article_five_steps", "article_five_stages"
PUBLISHED = (FIVE_STEPS, FIVE_STAGES)
# The picture in its own units: the way taken on the left, branches not taken on the right, one line of text per unit.
MAIN_LEFT, MAIN_RIGHT, SIDE_LEFT, SIDE_RIGHT = 0.0, 0.58, 0.64, 1.0
LINE_PX, GAP_LINES, PADDING_LINES = 17, 2.2, 0.8
WRAP = {"en": (30, 19), "zh": (15, 9)}  # characters per line: way taken, branch not taken; fits a phone
WIDEST_EDGE_PX = 22
HOVERED = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the width of a box


def our_tree(result: Result, text: Text) -> go.Figure | None:
    """The way through our own tree."""
    return _tree(result, OURS, text)


def five_steps(result: Result, text: Text) -> go.Figure | None:
    """The way through the first article's five steps."""
    return _tree(result, FIVE_STEPS, text)


def five_stages(result: Result, text: Text) -> go.Figure | None:
    """The way through the second article's five stages."""
    return _tree(result, FIVE_STAGES, text)


def _tree(result: Result, name: str, text: Text) -> go.Figure | None:
    """The way through one tree, top to bottom; the width of an edge is the share of candidates left."""
    path = result.path.get(name)
    if path is None:
        return None
    values = {"count": text.number(len(path.steps)), "left": text.number(len(path.left))}
    chart = figure(
        text(f"figures.tree_{name}", all=text.number(path.steps[0].candidates_before), **values),
        source=text("figures.tree_source"),
        legend=False,
    )
    y = 0.0
    for number, step in enumerate(path.steps):
        y = _draw_step(chart, step, number, y, path.steps[0].candidates_before, text)
    outcome = broken(text.say(path.outcome), WRAP[text.language][0])
    bottom = y - len(outcome) - PADDING_LINES
    _box(chart, left=MAIN_LEFT, right=MAIN_RIGHT, top=y, bottom=bottom, lines=outcome, colour=MAIN, filled=True)
    chart.update_xaxes(visible=False, range=[-0.01, 1.01])
    chart.update_yaxes(visible=False, range=[bottom - 0.2, 0.2], rangemode="normal")
    chart.update_layout(
        height=int(LINE_PX * -bottom) + 20, meta=chart.layout.meta | {"columns": _step_columns(path, text)}
    )
    return chart


def _draw_step(chart: go.Figure, step: Step, number: int, top: float, all_candidates: int, text: Text) -> float:
    """One question with its answer, the branches not taken beside it, and the edge below; the next row's top."""
    main_width, side_width = WRAP[text.language]
    asked = [f"<b>{line}</b>" for line in broken(text(step.question), main_width)]
    taken = asked + broken(text(step.branch), main_width)
    others = [broken(text(key), side_width) for key in step.not_taken]
    side_lines = sum(map(len, others)) + PADDING_LINES * len(others)
    bottom = top - max(len(taken), side_lines) - PADDING_LINES
    _box(chart, left=MAIN_LEFT, right=MAIN_RIGHT, top=top, bottom=bottom, lines=taken, colour=MAIN)
    side_top = top
    for lines in others:
        side_bottom = side_top - len(lines) - PADDING_LINES
        _box(
            chart,
            left=SIDE_LEFT,
            right=SIDE_RIGHT,
            top=side_top,
            bottom=side_bottom,
            lines=lines,
            colour=GREY,
            quiet=True,
        )
        side_top = side_bottom - 0.15
    _hover(chart, step, number, (top + bottom) / 2, text)
    _edge(chart, step, bottom, all_candidates, text)
    return bottom - GAP_LINES


def _box(chart, *, left, right, top, bottom, lines: list[str], colour: str, filled=False, quiet=False) -> None:
    fill = (
        "rgba(74, 143, 208, 0.28)" if filled else "rgba(128, 128, 128, 0.06)" if quiet else "rgba(74, 143, 208, 0.10)"
    )
    chart.add_shape(
        type="rect",
        x0=left,
        x1=right,
        y0=top,
        y1=bottom,
        fillcolor=fill,
        line={"color": colour, "width": 1 if quiet else 2, "dash": "dot" if quiet else "solid"},
    )
    chart.add_annotation(
        x=left,
        y=(top + bottom) / 2,
        text="<br>".join(lines),
        showarrow=False,
        xanchor="left",
        align="left",
        xshift=6,
        font={"size": 11 if quiet else 12},
    )


def _edge(chart, step: Step, top: float, all_candidates: int, text: Text) -> None:
    share = step.candidates_left / max(all_candidates, 1)
    middle = (MAIN_LEFT + MAIN_RIGHT) / 8
    chart.add_shape(
        type="line",
        x0=middle,
        x1=middle,
        y0=top,
        y1=top - GAP_LINES,
        line={"color": MAIN, "width": max(1.5, WIDEST_EDGE_PX * share)},
    )
    fell = step.candidates_before - step.candidates_left
    key = "figures.tree_left_fell" if fell else "figures.tree_left"
    chart.add_annotation(
        x=middle,
        y=top - GAP_LINES / 2,
        text=plain(text(key, left=text.number(step.candidates_left), fell=text.number(fell))),
        showarrow=False,
        xanchor="left",
        xshift=18,
        font={"size": 12},
    )


def _hover(chart, step: Step, number: int, y: float, text: Text) -> None:
    """Unseen points along a box that answer with the margin, who fell, and the source; a click names the step."""
    words = [text.say(message) for message in (step.margin_words, step.because) if message is not None]
    words.append(text("figures.tree_hover_source", source=step.source))
    chart.add_scatter(
        x=[MAIN_LEFT + part * (MAIN_RIGHT - MAIN_LEFT) for part in HOVERED],
        y=[y] * len(HOVERED),
        mode="markers",
        marker={"size": 40, "opacity": 0},
        unselected={"marker": {"opacity": 0}},
        customdata=[number] * len(HOVERED),
        hovertext=["<br>".join(line for sentence in words for line in broken(sentence, 60))] * len(HOVERED),
        hoverinfo="text",
    )


def steps(result: Result, text: Text) -> Table | None:
    """Our tree as a table: question, answer, margin, who is left, who fell and why, source."""
    path = result.path.get(OURS)
    return path and _steps_table(path, text("recommendation.steps_title"), text)


def _steps_table(path: Path, title: str, text: Text) -> Table:
    return table(title, _step_columns(path, text))


def _step_columns(path: Path, text: Text) -> list[tuple]:
    return [
        (text("recommendation.column_question"), [text(step.question) for step in path.steps]),
        (text("recommendation.column_answer"), [text(step.branch) for step in path.steps]),
        (text("recommendation.column_margin"), [_said(step.margin_words, text) for step in path.steps]),
        (text("recommendation.column_left"), [step.candidates_left for step in path.steps], "number"),
        (text("recommendation.column_fell"), [len(step.fell) for step in path.steps], "number"),
        (text("recommendation.column_because"), [_said(step.because, text) for step in path.steps]),
        (text("recommendation.column_source"), [step.source for step in path.steps]),
    ]


def _said(message, text: Text) -> str:
    return text.say(message) if message is not None else ""


def fallen(result: Result, text: Text) -> Table | None:
    """The reasons for which offers fell, the most frequent first, each with an example."""
    rejected = result.rejected
    if not len(rejected.reasons):
        return None
    offers = result.catalogue.offers
    reason_of = np.asarray(rejected.reason_of, dtype=int)
    first = {int(reason): int(rejected.offer_rows[row]) for row, reason in reversed(list(enumerate(reason_of)))}
    counts = rejected.counts()
    columns = [
        (text("recommendation.column_fell"), [count for _, count in counts], "number"),
        (text("recommendation.column_because"), [text.say(rejected.reasons[reason]) for reason, _ in counts]),
        (text("recommendation.column_example"), [offers.id[first[reason]] for reason, _ in counts]),
    ]
    return table(text("recommendation.fallen_title", count=text.number(len(reason_of))), columns)


def agreement(result: Result, text: Text) -> list[str]:
    """What each published tree ends with, and whether our answer is among its candidates."""
    return [_agreement(result, result.path[name], text) for name in PUBLISHED if name in result.path]


def _agreement(result: Result, path: Path, text: Text) -> str:
    """Agrees, or the step at which the published tree lost our answer."""
    choice, offers = result.leading, result.catalogue.offers
    said = {"tree": text(f"common.tree.{path.tree}"), "outcome": text.say(path.outcome)}
    if choice is None:
        return text("recommendation.outcome", **said)
    said |= {"choice": short_name(choice), "gpu": choice.gpu}
    row = offers.row_of(choice.id)
    if row in path.left:
        return text("recommendation.agrees", **said)
    lost = next(step for step in path.steps if row in step.fell)
    said |= {"question": text(lost.question), "because": _said(lost.because, text), "fault": _at_fault(lost, text)}
    return text("recommendation.differs", **said)


def _at_fault(step: Step, text: Text) -> str:
    """The claim that a step of a published tree stands on, with its verdict; or that the step is our own reading."""
    claim = next((claim for claim in claims() if claim.id == step.claim), None)
    if claim is None:
        return text("recommendation.our_reading")
    values = {"claim": text.say(claim.claim), "verdict": text(f"claims.verdict_{claim.verdict}")}
    needed = text.say(claim.assumption) if claim.assumption else ""
    return text("recommendation.at_fault", number=claim.id, needed=needed, **values).strip()


def fallen_steps(result: Result, text: Text) -> dict[str, dict[int, str]]:
    """Per tree the steps at which offers fell: the number of the step, its question and how many fell."""
    return {
        name: {
            number: text("recommendation.fell_at", question=text(step.question), count=text.number(len(step.fell)))
            for number, step in enumerate(path.steps)
            if len(step.fell)
        }
        for name, path in result.path.items()
    }


def fallen_at(result: Result, text: Text, tree: str, number: int) -> Table:
    """The offers that fell at one step of a tree; ours has a reason for each, a published one the same for all."""
    step, offers, hardware = result.path[tree].steps[number], result.catalogue.offers, result.catalogue.hardware
    reasons = dict(zip(result.rejected.offer_rows.tolist(), result.rejected.reason_of.tolist())) if tree == OURS else {}
    sentences = [text.say(reason) for reason in result.rejected.reasons]
    rows = step.fell.tolist()
    common = _said(step.because, text)
    columns = [
        (text("recommendation.column_provider"), [str(offers.provider[row]) for row in rows]),
        (text("recommendation.column_instance"), [str(offers.instance[row]) for row in rows]),
        (text("recommendation.column_region"), [str(offers.region[row]) for row in rows]),
        (text("recommendation.column_gpu"), [_cards(offers, hardware, row) for row in rows]),
        (
            text("recommendation.column_because"),
            [sentences[reasons[row]] if row in reasons else common for row in rows],
        ),
    ]
    title = text("recommendation.fell_at", question=text(step.question), count=text.number(len(rows)))
    return table(title, columns, text("figures.tree_hover_source", source=step.source))


def _cards(offers, hardware, row: int) -> str:
    return f"{offers.gpus_per_server[row]:g} × {hardware.names[offers.gpu_row[row]]}"


def alternatives(result: Result, text: Text) -> Table | None:
    """The best candidates: what they are, what they cost, how they score."""
    choices = result.alternatives
    if not choices:
        return None
    money = money_of(result, text)
    columns = [
        (text("recommendation.column_rank"), [choice.rank for choice in choices], "number"),
        (text("recommendation.column_provider"), [choice.provider for choice in choices]),
        (text("recommendation.column_kind"), [text(f"common.kind.{choice.kind}") for choice in choices]),
        (text("recommendation.column_instance"), [choice.instance for choice in choices]),
        (text("recommendation.column_region"), [choice.region for choice in choices]),
        (text("recommendation.column_gpu"), [f"{choice.gpus_per_server} × {choice.gpu}" for choice in choices]),
        (text("recommendation.column_servers"), [choice.servers for choice in choices], "number"),
        (
            text("recommendation.column_monthly", currency=money.currency),
            [money.amount(choice.monthly_usd) for choice in choices],
            "number",
        ),
        (text("recommendation.column_score"), [100 * choice.score for choice in choices], "number"),
        (text("recommendation.column_regions"), [", ".join(choice.other_regions) for choice in choices]),
    ]
    key = "alternatives_nothing_meets" if result.recommendation is None else "alternatives_title"
    title = text(f"recommendation.{key}", count=text.number(len(choices)))
    return table(title, columns, price_source(result, money, text))


def another_gpu(gpu: str, result: Result, text: Text) -> list[str]:
    """Why the answer is not this GPU."""
    return [text.say(said) for said in why_not(result, gpu)]
