"""What a view may answer beside a chart and sentences: a table as columns of a kind, or the way to another page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import plotly.graph_objects as go


@dataclass(frozen=True)
class Column:
    """One column; `kind` is `text`, `number` or `percent` (fractions 0 to 1)."""

    label: str
    values: tuple
    kind: str = "text"


@dataclass(frozen=True)
class Table:
    """Columns of equal length, a title that says what they show, and where they come from."""

    title: str
    columns: tuple[Column, ...]
    source: str = ""

    def __len__(self) -> int:
        return len(self.columns[0].values)


@dataclass(frozen=True)
class PageLink:
    """The way to another page, in the words of the reader."""

    page: str
    label: str


def table(title: str, columns: Sequence[tuple], source: str = "") -> Table:
    """A Table of (label, values[, kind]) tuples."""
    return Table(title, tuple(Column(label, tuple(values), *kind) for label, values, *kind in columns), source)


def rows_where(shown: Table, label: str, wanted: set) -> Table:
    """The rows whose cell in a column is one of the wanted ones."""
    values = next(column.values for column in shown.columns if column.label == label)
    return _rows(shown, [row for row, value in enumerate(values) if value in wanted])


def rows_with(shown: Table, words: str) -> Table:
    """The rows that hold all of the words somewhere, whatever their case."""
    sought = words.casefold().split()
    cells = [" ".join(map(str, row)).casefold() for row in zip(*(column.values for column in shown.columns))]
    return _rows(shown, [row for row, cell in enumerate(cells) if all(word in cell for word in sought)])


def _rows(shown: Table, kept: list[int]) -> Table:
    columns = (replace(column, values=tuple(column.values[row] for row in kept)) for column in shown.columns)
    return replace(shown, columns=tuple(columns))


def table_of(chart: go.Figure) -> Table:
    """The numbers of a chart: one row per place on its axis of categories, one column per series.

    Where many dots share a place, one row per dot; a picture without such axes brings its columns along.
    """
    if "columns" in chart.layout.meta:
        return table(chart.layout.title.text, chart.layout.meta["columns"], chart.layout.meta["source"])
    if chart.layout.yaxis.type == "category":
        return _dots_of(chart)
    traces = [trace for trace in chart.data if trace.name and trace.x is not None]
    lying = any(trace.type == "bar" and trace.orientation == "h" for trace in traces)
    place, number = ("y", "x") if lying else ("x", "y")
    places = list(dict.fromkeys(item for trace in traces for item in _plain(trace[place])))
    columns = [Column(_axis_label(chart, place), tuple(places), _kind(places))]
    for trace in traces:
        at = dict(zip(_plain(trace[place]), _plain(trace[number])))
        columns.append(Column(trace.name, tuple(at.get(item) for item in places), "number"))
    return Table(chart.layout.title.text or "", tuple(columns), chart.layout.meta["source"])


def _dots_of(chart: go.Figure) -> Table:
    """Place, series (named by the legend's title) and number of every dot; what has no hover only marks a dot."""
    traces = [trace for trace in chart.data if trace.hoverinfo != "skip"]
    dots = [(y, trace.name, x) for trace in traces for y, x in zip(_plain(trace.y), _plain(trace.x))]
    places, names, numbers = zip(*sorted(dots)) if dots else ((), (), ())
    columns = (
        Column(_axis_label(chart, "y"), places),
        Column(chart.layout.legend.title.text, names),
        Column(_axis_label(chart, "x"), numbers, "number"),
    )
    return Table(chart.layout.title.text, columns, chart.layout.meta["source"])


def _plain(values) -> list:
    return [value.item() if hasattr(value, "item") else value for value in values]


def _axis_label(chart: go.Figure, place: str) -> str:
    axis = chart.layout.yaxis if place == "y" else chart.layout.xaxis
    return axis.title.text or ""


def _kind(values: list) -> str:
    return "text" if any(isinstance(value, str) for value in values) else "number"
