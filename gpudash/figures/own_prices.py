"""What an imported price sheet brings: the catalogue before and after, and the rows left out, each with why."""

from itertools import islice

from gpudash.catalogue_import import ImportReport, PriceFile
from gpudash.figures.table import Table, table
from gpudash.sheets import Refused
from gpudash.text import Text


def beginning(file: PriceFile, rows: int, text: Text) -> Table:
    """The first rows of a file, as they stand there."""
    columns = [(heading, tuple(islice(cells, rows))) for heading, cells in file.cells.columns.items()]
    return table(text("own_prices.beginning", file=file.name, rows=text.number(len(file.cells))), columns)


def totals(report: ImportReport, text: Text) -> Table:
    """What the catalogue holds without and with the sheet."""
    rows = ("offers", "gpus", "on_demand_usd_per_hour")
    parts = {"before": report.before, "after": report.after}
    columns = [(text("own_prices.column_total"), [text(f"own_prices.total_{row}") for row in rows])]
    columns += [
        (text(f"own_prices.column_{name}"), [float(getattr(part, row)) for row in rows], "number")
        for name, part in parts.items()
    ]
    said = {name: text.number(getattr(report, name)) for name in ("added", "replaced", "merged", "unpriced")}
    return table(text("own_prices.totals", **said), columns)


def left_out(report: ImportReport, text: Text) -> Table | None:
    """The rows that were left out, with their lines in the file; None where all were kept."""
    count = text.number(len(report.refused))
    return _by_line(report.refused, text("own_prices.left_out", count=count, rows=text.number(report.rows)), text)


def noted(report: ImportReport, text: Text) -> Table | None:
    """The rows that were kept though two of their columns disagree."""
    return _by_line(report.notes, text("own_prices.noted", count=text.number(len(report.notes))), text)


def _by_line(rows: tuple[Refused, ...], title: str, text: Text) -> Table | None:
    if not rows:
        return None
    columns = [
        (text("own_prices.column_line"), [row.line for row in rows], "number"),
        (text("own_prices.column_because"), [text.say(row.because) for row in rows]),
    ]
    return table(title, columns)
