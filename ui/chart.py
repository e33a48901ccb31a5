"""A chart as a page shows it."""

from dataclasses import dataclass

import plotly.graph_objects as go

from gpudash.figures.table import Table, table_of


@dataclass(frozen=True)
class Chart:
    """A chart with its title and source taken out (as text they wrap on a phone), and its numbers."""

    drawing: go.Figure
    title: str
    source: str
    numbers: Table

    @classmethod
    def of(cls, drawing: go.Figure) -> "Chart":
        """A figure of gpudash.figures as a chart; it loses its title."""
        chart = cls(drawing, drawing.layout.title.text, drawing.layout.meta["source"], table_of(drawing))
        drawing.layout.title.text = ""
        return chart
