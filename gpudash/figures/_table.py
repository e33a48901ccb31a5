"""A table as columns with a label and a kind; whoever shows it chooses the digits."""

from collections.abc import Sequence
from dataclasses import dataclass

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


def table(title: str, columns: Sequence[tuple], source: str = "") -> Table:
    """A Table of (label, values[, kind]) tuples."""
    return Table(title, tuple(Column(label, tuple(values), *kind) for label, values, *kind in columns), source)


def table_of(chart: go.Figure) -> Table:
    """The numbers of a chart: one row per place on its axis of categories, one column per series."""
    traces = [trace for trace in chart.data if trace.name and trace.x is not None]
    lying = any(trace.type == "bar" and trace.orientation == "h" for trace in traces)
    place, number = ("y", "x") if lying else ("x", "y")
    places = list(dict.fromkeys(item for trace in traces for item in _plain(trace[place])))
    columns = [Column(_axis_label(chart, place), tuple(places), _kind(places))]
    for trace in traces:
        at = dict(zip(_plain(trace[place]), _plain(trace[number])))
        columns.append(Column(trace.name, tuple(at.get(item) for item in places), "number"))
    return Table(chart.layout.title.text or "", tuple(columns), chart.layout.meta["source"])


def _plain(values) -> list:
    return [value.item() if hasattr(value, "item") else value for value in values]


def _axis_label(chart: go.Figure, place: str) -> str:
    axis = chart.layout.yaxis if place == "y" else chart.layout.xaxis
    return axis.title.text or ""


def _kind(values: list) -> str:
    return "text" if any(isinstance(value, str) for value in values) else "number"
