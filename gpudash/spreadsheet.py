"""Tables as CSV and XLSX: text that no spreadsheet program runs, numbers that stay numbers with every digit."""

import csv
import io
import math
import re
from typing import Any
from unicodedata import east_asian_width

from gpudash.bill_sheet import Formula, Worksheet, bill_sheet, column_letter
from gpudash.brief import Brief, Part
from gpudash.figures.table import Table
from gpudash.owned_sheet import own_sheets

BOM = "\ufeff"  # without it spreadsheet programs read UTF-8 as the local code page
_FORMULA_STARTS = ("=", "+", "-", "@", "|", "%", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
_SHEET_NAME_FORBIDDEN = re.compile(r"[\[\]:*?/\\]")
_SHEET_NAME_CHARACTERS = 31
_WIDEST_COLUMN, _NARROWEST_COLUMN, _CALCULATED_COLUMN = 60, 10, 18
_BROKEN_LINES = 1.15  # a line ends at a word, not where the column does
_ACROSS = 6  # columns that words under a table may take
_LINE_POINTS, _TALLEST_ROW_POINTS = 15, 409  # of a line of text; the most that spreadsheet programs allow
_FORMATS = {"percent": "0.0%", "whole": "#,##0", "number": "#,##0.00", "small": "#,##0.0000"}


def safe_text(text: str) -> str:
    """Text that a spreadsheet shows and does not run: an apostrophe before whatever could begin a formula."""
    text = _CONTROL.sub(" ", text)
    return "'" + text if text.lstrip(" \u00a0\u3000").startswith(_FORMULA_STARTS) else text


def csv_cell(value: Any) -> str:
    """A value as the text of a CSV cell: numbers with every digit, text made safe, blank where there is nothing."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(value)
    return safe_text(str(value))


def csv_bytes(header: list[str], rows: list[list[Any]]) -> bytes:
    """A CSV file in UTF-8 with a byte order mark."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(map(csv_cell, header))
    writer.writerows([csv_cell(value) for value in row] for row in rows)
    return (BOM + stream.getvalue()).encode("utf-8")


def table_csv(table: Table, brief: Brief) -> bytes:
    """One table as it is on the screen, then where it is from, its prices and the link to the decision."""
    rows = [list(row) for row in zip(*(column.values for column in table.columns))]
    return csv_bytes([column.label for column in table.columns], [*rows, [], *_origin(table, brief)])


def _origin(table: Table, brief: Brief) -> list[list[str]]:
    """What stands under a table, each line with its name: the table's own source, the prices, the link."""
    named = {"prices": brief.prices, "link": brief.link}
    lines = [[brief.text(f"brief.about_{name}"), words] for name, words in named.items()]
    if table.source in ("", brief.prices):
        return lines
    return [[brief.text("export_files.column_source"), table.source], *lines]


def brief_csv(brief: Brief) -> bytes:
    """The whole brief as one long table: part, row, column, value, source; made to be filtered."""
    header = [brief.text(f"export_files.column_{name}") for name in ("part", "row", "column", "value", "source")]
    rows = [row for part in (brief.about, *brief.parts) for row in _long(part, brief)]
    return csv_bytes(header, rows)


def _long(part: Part, brief: Brief) -> list[list[Any]]:
    """One row per cell; a row is called by its first cell, a sentence by its number."""
    columns, source = part.table.columns, part.table.source
    if len(columns) == 1:
        return [
            [part.title, row, columns[0].label, value, source] for row, value in enumerate(columns[0].values, start=1)
        ]
    return [
        [part.title, columns[0].values[row], column.label, column.values[row], source]
        for row in range(len(part.table))
        for column in columns[1:]
    ]


def brief_xlsx(brief: Brief) -> bytes:
    """A workbook with one sheet per part: typed cells, frozen header, totals as formulas; then the bills worked out."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    book.properties.title = _CONTROL.sub(" ", brief.title)
    book.properties.creator = brief.made
    for part in (brief.about, *brief.parts):
        _sheet(book, part, brief)
    calculated = bill_sheet(brief)
    if calculated is not None:
        for made in (calculated, *own_sheets(brief, calculated)):
            _calculated(book, made, brief)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _calculated(book, made: Worksheet, brief: Brief) -> None:
    """A sheet of values and formulas with its headings in bold."""
    from openpyxl.styles import Font

    sheet, bold = book.create_sheet(_sheet_name(made.title)), Font(bold=True)
    for number, row in enumerate(made.rows, start=1):
        for position, value in enumerate(row, start=1):
            cell = sheet.cell(number, position)
            if isinstance(value, Formula):
                cell.value, cell.number_format = f"={value.words}", _FORMATS["number"]
            else:
                _write(cell, value)
            if number in made.headings:
                cell.font = bold
    sheet.column_dimensions["A"].width = _WIDEST_COLUMN
    for position in range(2, max(map(len, made.rows)) + 1):
        sheet.column_dimensions[column_letter(position)].width = _CALCULATED_COLUMN
    for position, words in enumerate((brief.prices, brief.link), start=len(made.rows) + 2):
        _write(sheet.cell(position, 1), words)
    _fit_to_paper(sheet)


def _sheet_name(title: str) -> str:
    return _SHEET_NAME_FORBIDDEN.sub(" ", title)[:_SHEET_NAME_CHARACTERS]


def _sheet(book, part: Part, brief: Brief) -> None:
    from openpyxl.styles import Font

    sheet = book.create_sheet(_sheet_name(part.title))
    bold = Font(bold=True)
    for number, column in enumerate(part.table.columns, start=1):
        _write(sheet.cell(1, number), column.label)
        sheet.cell(1, number).font = bold
        for row, value in enumerate(column.values, start=2):
            _write(sheet.cell(row, number), value, column.kind)
    sheet.freeze_panes = "A2"
    _fit(sheet, part.table)
    last = len(part.table) + 1
    if part.summed:
        _totals(sheet, part.table, last, bold, brief)
    for row, (label, words) in enumerate(_origin(part.table, brief), start=last + 3):
        _write(sheet.cell(row, 1), label)
        _write_across(sheet, row, words, max(len(part.table.columns), _ACROSS))


def _totals(sheet, table: Table, last: int, bold, brief: Brief) -> None:
    """A row of sums under the numbers; the first column names the rows and is not added up."""
    _write(sheet.cell(last + 1, 1), brief.text("export_files.total"))
    sheet.cell(last + 1, 1).font = bold
    for number, column in enumerate(table.columns[1:], start=2):
        if column.kind == "number":
            letter = column_letter(number)
            cell = sheet.cell(last + 1, number, f"=SUM({letter}2:{letter}{last})")
            cell.number_format, cell.font = _FORMATS["number"], bold


def _write(cell, value: Any, kind: str = "text") -> None:
    """A typed cell: text is stored as text whatever it begins with, a number with a format that shows its size."""
    from openpyxl.styles import Alignment

    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        cell.value, cell.number_format = value, _number_format(value, kind)
        cell.alignment = Alignment(vertical="top")
        return
    text = _CONTROL.sub(" ", str(value))
    cell.value = text
    cell.data_type = "s"
    cell.quotePrefix = text.startswith(_FORMULA_STARTS)  # also after somebody edits the cell
    cell.alignment = Alignment(wrap_text=True, vertical="top")


def _number_format(value: float, kind: str) -> str:
    if kind == "percent":
        return _FORMATS["percent"]
    if float(value).is_integer():
        return _FORMATS["whole"]
    return _FORMATS["number" if abs(value) >= 0.1 else "small"]


def _fit(sheet, table: Table) -> None:
    """Columns as wide as their words, longer ones in several lines; on paper as wide as a sheet."""
    for number, column in enumerate(table.columns, start=1):
        longest = max(_width(str(value)) for value in (column.label, *column.values))
        sheet.column_dimensions[column_letter(number)].width = min(max(longest, _NARROWEST_COLUMN), _WIDEST_COLUMN)
    for row, values in enumerate(zip(*(column.values for column in table.columns)), start=2):
        words = max((value for value in values if isinstance(value, str)), key=_width, default="")
        sheet.row_dimensions[row].height = _height_points(words, _WIDEST_COLUMN)
    _fit_to_paper(sheet)


def _fit_to_paper(sheet) -> None:
    sheet.page_setup.orientation, sheet.page_setup.fitToHeight = "landscape", 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True


def _write_across(sheet, row: int, words: str, last: int) -> None:
    """Words that may be long, from the second column to the last, in as many lines as they need."""
    _write(sheet.cell(row, 2), words)
    sheet.merge_cells(start_row=row, start_column=2, end_row=row, end_column=last)
    room = sum(sheet.column_dimensions[column_letter(number)].width for number in range(2, last + 1))
    sheet.row_dimensions[row].height = _height_points(words, room)


def _height_points(words: str, width: float) -> float:
    """Of a row in which these words stand in a column of this width."""
    return min(_LINE_POINTS * max(math.ceil(_BROKEN_LINES * _width(words) / width), 1), _TALLEST_ROW_POINTS)


def _width(text: str) -> int:
    """Width in letters; a Chinese sign takes two."""
    return sum(1 + (east_asian_width(sign) in "WF") for sign in text)
