"""Colours with one meaning everywhere, and the bare layout that every chart shares."""

import textwrap
from functools import lru_cache
from html import escape

import plotly.graph_objects as go

from gpudash.tables import DATA, read_yaml

WAY_COLOURS = {
    "reserved_3y": "#1b4f8a",
    "reserved_1y": "#4a8fd0",
    "monthly": "#9cc7ec",
    "on_demand": "#e6a323",
    "spot": "#3fa66b",
    "unused": "#b0b0b0",
}
OTHER_COST_COLOURS = {
    "storage": "#7a5ea8",
    "egress": "#2a9d9d",
    "support": "#a0602c",
    "staff": "#c06c9c",
    "one_off": "#6b8e23",
    "resale": "#8fbf9f",
    "credit": "#3fa66b",
}
CATEGORICAL = (
    "#1b4f8a",
    "#e6a323",
    "#3fa66b",
    "#7a5ea8",
    "#4a8fd0",
    "#a0602c",
    "#c06c9c",
    "#6b8e23",
    "#2a9d9d",
    "#8a8f98",
)
GREY = "#b0b0b0"
QUIET = "#8a929c"  # lines that show on light and on dark
TEXT = "#000037"  # the colour that Streamlit replaces by its text colour, so that words read on light and on dark
WARNING = "#c8442f"
MAIN = "#4a8fd0"  # the one line or bar that matters
HEIGHT = 340
BESIDE_THE_PLOT = 100  # pixels of a height that axis, legend and margins take
LEGEND_BELOW = 62  # pixels from the plot to a legend under its axis
ROW_HEIGHT = 30
MOST_SINGLE_TICKS = 12
LINE_HEIGHT = 15  # of a label of several lines
CLOSING_MARKS = "，。；：、！？）”》,.;:!?)"
_OUTLINE = "rgba(128, 128, 128, 0.55)"


def figure(
    title: str, *, source: str, x: str = "", y: str = "", height: int = HEIGHT, legend: bool = True
) -> go.Figure:
    """An empty chart: the finding as its title, units on its axes, the source as a line for the caption.

    Axes do not zoom by touch, so that a phone scrolls past the chart.
    """
    words = {"color": TEXT}
    axis = {"fixedrange": True, "automargin": True, "tickfont": words}
    return go.Figure(
        layout={
            "title": {"text": plain(title)},
            "meta": {"source": source},
            "font": words,
            "height": height,
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "showlegend": legend,
            "legend": {
                "orientation": "h",
                "y": -LEGEND_BELOW / max(height - BESIDE_THE_PLOT, LEGEND_BELOW),
                "yanchor": "top",
                "x": 0,
                "traceorder": "normal",
            },
            "uirevision": "keep",
            "dragmode": False,
            "hovermode": "closest",
            "separators": ".,",
            "bargap": 0.25,
            "xaxis": axis | {"title": {"text": plain(x), "font": words}},
            "yaxis": axis | {"title": {"text": plain(y), "font": words}, "rangemode": "tozero"},
        }
    )


@lru_cache(maxsize=1)
def provider_colours() -> dict[str, str]:
    """The providers that have a colour of their own; the others are GREY."""
    return read_yaml(DATA / "provider_colours.yaml")


def marker(colour: str, *, unused: bool = False) -> dict:
    """Fill of a bar; what is paid for and not used is hatched."""
    look = {"color": colour, "line": {"color": _OUTLINE, "width": 0.5}}
    return look | {"pattern": {"shape": "/", "fgcolor": QUIET, "size": 6}} if unused else look


def plain(text: str) -> str:
    """Text that Plotly shows as it is written, although it reads HTML."""
    return escape(str(text), quote=False)


def broken(text: str, width: int) -> list[str]:
    """Text broken into lines of about so many characters, none of which begins with a closing mark."""
    found: list[str] = []
    for line in textwrap.wrap(text, width):
        rest = line.lstrip(CLOSING_MARKS) if found else line
        if found:
            found[-1] += line.removesuffix(rest)
        if rest:
            found.append(rest)
    return [plain(line) for line in found]


def wrapped(text: str, width: int) -> str:
    """Text in lines as one label, for labels that must not be cut or turned."""
    return "<br>".join(broken(text, width))


def rows_height(labels: list[str]) -> int:
    """Pixels for one bar per label, so that labels of several lines stay apart."""
    lines = max(label.count("<br>") + 1 for label in labels)
    return LINE_HEIGHT * (lines + 1) * len(labels)


def whole(largest: float) -> dict:
    """Axis settings for a count (months, servers): no ticks between whole numbers, however few there are."""
    return {"dtick": 1} if largest <= MOST_SINGLE_TICKS else {}
