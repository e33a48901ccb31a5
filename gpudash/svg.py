"""Charts for paper: the same series, colours and labels as a chart on the pages, drawn as a small SVG.

Understands what a brief shows: lines, standing and lying bars, stacked. Text stays text, so that it can be searched.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape, unescape
from typing import Any

WIDTH, PLOT_HEIGHT, ROW_HEIGHT = 640, 190, 26
FONT_SIZE, LINE_HEIGHT, GAP = 10, 13, 8
FONT = "Noto Sans CJK SC, sans-serif"
INK, QUIET, RULE = "#22262b", "#5b636d", "#d5d9de"
TICKS = 5
_DASHES = {"dot": "2 3", "dash": "6 4"}
_WIDE_FROM = "\u2e80"  # from here on signs are as wide as they are high
_NARROW = 0.56  # width of a Latin letter in units of the font size


@dataclass(frozen=True)
class _Scale:
    """Numbers from `low` to `high` on the pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


@dataclass(frozen=True)
class _Series:
    """One trace of a chart: places on one axis, numbers on the other, and how it looks."""

    name: str
    places: list
    values: list[float]
    colours: list[str]
    width: float = 0
    dash: str = ""


def svg(chart: Any) -> str:
    """A chart (its `data` and `layout`, as plotly holds them) as an SVG without its title and source."""
    bars = any(trace.type == "bar" for trace in chart.data)
    lying = bars and any(trace.orientation == "h" for trace in chart.data)
    series = [_series(trace, lying) for trace in chart.data if trace.name]
    draw = _lying if lying else _standing if bars else _lines
    body, height = draw(series, chart.layout)
    legend, height = _legend(series, height, bars) if chart.layout.showlegend else ([], height)
    content = "".join([*body, *legend])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH} {height:.0f}" font-family="{FONT}" font-size="{FONT_SIZE}">{content}</svg>'
    )


def _series(trace: Any, lying: bool) -> _Series:
    places, values = (trace.y, trace.x) if lying else (trace.x, trace.y)
    values = [float(value) for value in values]
    if trace.type == "bar":
        colour = trace.marker.color
        colours = [colour] * len(values) if isinstance(colour, str) else list(colour)
        return _Series(unescape(trace.name), list(places), values, colours)
    line = trace.line
    return _Series(unescape(trace.name), list(places), values, [line.color] * len(values), line.width, line.dash or "")


def _stacks(series: Iterable[_Series]) -> list[tuple[Any, float, float, str]]:
    """Every bar with its place, where it begins and ends, and its colour; what is below zero hangs from zero."""
    above: dict[Any, float] = {}
    below: dict[Any, float] = {}
    bars = []
    for one in series:
        for place, value, colour in zip(one.places, one.values, one.colours):
            ends = above if value >= 0 else below
            begin = ends.get(place, 0.0)
            ends[place] = begin + value
            bars.append((place, begin, begin + value, colour))
    return bars


def ticks(low: float, high: float) -> list[float]:
    """Round numbers from below `low` to above `high`, about five of them."""
    span = (high - low) or abs(high) or 1.0
    rough = span / TICKS
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * number for number in range(first, max(last, first + 1) + 1)]


def _number(value: float, step: float) -> str:
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if step < 1 else 0
    digits += 1 if round(step * 10**digits, 9) % 1 else 0
    return f"{value:,.{digits}f}"


def _labels(marks: list[float], suffix: str = "") -> list[str]:
    return [_number(mark, marks[1] - marks[0]) + suffix for mark in marks]


def _standing(series: list[_Series], layout: Any) -> tuple[list[str], float]:
    """Bars over places, stacked."""
    bars = _stacks(series)
    places = list(dict.fromkeys(place for place, *_ in bars))
    marks = ticks(min(0.0, *(end for _, _, end, _ in bars)), max(0.0, *(end for _, _, end, _ in bars)))
    body, left, up = _number_axis(marks, layout)
    slot = (WIDTH - left) / len(places)
    for place, begin, end, colour in bars:
        x = left + slot * (places.index(place) + 0.1)
        top, bottom = sorted((up(begin), up(end)))
        body.append(_rect(x, top, slot * 0.8, bottom - top, colour))
    every = max(1, math.ceil(len(places) / 12))
    for number in range(0, len(places), every):
        body.append(_text(left + slot * (number + 0.5), PLOT_HEIGHT + LINE_HEIGHT, _words(places[number]), "middle"))
    return body, _axis_title(body, layout.xaxis.title.text, left)


def _lines(series: list[_Series], layout: Any) -> tuple[list[str], float]:
    """Lines over numbers; a single point is drawn as a dot."""
    values = [value for one in series for value in one.values]
    places = [place for one in series for place in one.places]
    marks = ticks(min(0.0, *values), max(0.0, *values))
    body, left, up = _number_axis(marks, layout)
    across = _Scale(min(places), max(places) if max(places) > min(places) else min(places) + 1, left + 4, WIDTH - 8)
    for one in series:
        points = [(across(place), up(value)) for place, value in zip(one.places, one.values)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashes = f' stroke-dasharray="{_DASHES[one.dash]}"' if one.dash in _DASHES else ""
        look = f'stroke="{one.colours[0]}" stroke-width="{one.width / 1.5:.1f}" fill="none"{dashes}'
        body.append(f'<polyline points="{path}" {look}/>')
        if len(points) == 1:
            body.append(f'<circle cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="3" fill="{one.colours[0]}"/>')
    months = sorted(set(places))
    every = max(1, math.ceil(len(months) / 12))
    for month in months[::every]:
        body.append(_text(across(month), PLOT_HEIGHT + LINE_HEIGHT, _words(month), "middle"))
    return body, _axis_title(body, layout.xaxis.title.text, left)


def _number_axis(marks: list[float], layout: Any) -> tuple[list[str], float, Callable[[float], float]]:
    """Grid and labels of a standing axis of numbers, with its title above; the left edge of the plot and its scale."""
    labels = _labels(marks)
    left = max(map(_width, labels)) + GAP
    up = _Scale(marks[0], marks[-1], PLOT_HEIGHT, LINE_HEIGHT * 1.8)
    body = [_text(0, FONT_SIZE, unescape(layout.yaxis.title.text or ""), colour=QUIET)]
    for mark, label in zip(marks, labels):
        body.append(_rule(left, up(mark), WIDTH, up(mark)))
        body.append(_text(left - GAP / 2, up(mark) + FONT_SIZE / 3, label, "end"))
    return body, left, up


def _axis_title(body: list[str], title: str | None, left: float) -> float:
    """The title under the places; how high the plot has become."""
    if title:
        body.append(_text((left + WIDTH) / 2, PLOT_HEIGHT + 2.2 * LINE_HEIGHT, unescape(title), "middle", QUIET))
    return PLOT_HEIGHT + 2.6 * LINE_HEIGHT


def _lying(series: list[_Series], layout: Any) -> tuple[list[str], float]:
    """Bars beside places, stacked; the first place is on top."""
    bars = _stacks(series)
    places = list(dict.fromkeys(place for place, *_ in bars))
    suffix = layout.xaxis.ticksuffix or ""
    limits = layout.xaxis.range or (0, max(end for _, _, end, _ in bars))
    marks = ticks(min(0.0, float(limits[0])), float(limits[1]))
    labels = _labels(marks, suffix)
    left = max(_width(labels[0]) / 2, *(_width(_words(place)) + GAP for place in places))
    across = _Scale(marks[0], marks[-1], left, WIDTH - _width(labels[-1]) / 2)
    bottom = ROW_HEIGHT * len(places)
    body = [_rule(across(mark), 0, across(mark), bottom) for mark in marks]
    for place, begin, end, colour in bars:
        row = places.index(place) * ROW_HEIGHT
        start, stop = sorted((across(begin), across(end)))
        body.append(_rect(start, row + 3, stop - start, ROW_HEIGHT - 6, colour))
    for number, place in enumerate(places):
        middle = ROW_HEIGHT * (number + 0.5) + FONT_SIZE / 3
        body.append(_text(left - GAP / 2, middle, _words(place), "end"))
    for mark, label in zip(marks, labels):
        body.append(_text(across(mark), bottom + LINE_HEIGHT, label, "middle"))
    title = unescape(layout.xaxis.title.text or "")
    body.append(_text((left + WIDTH) / 2, bottom + 2.2 * LINE_HEIGHT, title, "middle", QUIET))
    return body, bottom + 2.6 * LINE_HEIGHT


def _legend(series: list[_Series], top: float, bars: bool) -> tuple[list[str], float]:
    """A key per series, in as many lines as it takes; where the chart ends."""
    body, x, y = [], 0.0, top + LINE_HEIGHT
    for one in series:
        wide = _width(one.name) + 30
        if x and x + wide > WIDTH:
            x, y = 0.0, y + LINE_HEIGHT * 1.3
        key = (
            _rect(x, y - 7, 12, 8, one.colours[0])
            if bars
            else _rule(x, y - 3, x + 14, y - 3, colour=one.colours[0], width=2)
        )
        body += [key, _text(x + 18, y, one.name)]
        x += wide
    return body, y + LINE_HEIGHT / 2


def _words(place: Any) -> str:
    """A place on an axis as one line of text."""
    return unescape(str(place).replace("<br>", " "))


def _width(text: str) -> float:
    return FONT_SIZE * sum(1.0 if sign >= _WIDE_FROM else _NARROW for sign in text)


def _text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def _rect(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" fill="{colour}"/>'


def _rule(x1: float, y1: float, x2: float, y2: float, *, colour: str = RULE, width: float = 0.7) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'
