"""The rows of an XLSX workbook's sheet, as the values last calculated; formulas are never evaluated.

A plain workbook, as spreadsheet programs write them, is read by calamine, which holds the sheet as one block from the
first to the last cell. Whatever could make that block larger than the file is read row by row by openpyxl instead.
"""

import io
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator

from gpudash.errors import GpudashError
from gpudash.sheet_limits import CELLS, COLUMNS, ROWS, UNPACKED_MEGABYTES

# What the standard library raises for a damaged, encrypted or unknown zip.
ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
)
_BYTES_AT_ONCE = 1 << 22
_CELL_OR_ROW = re.compile(rb"<(?:c|row)[ \t\r\n/>]")
_PLAIN_CELL = re.compile(rb'<c r="([A-Z]{1,2})(?:[1-9]\d{0,4}|1\d{5}|2[0-4]\d{4})"')  # down to row ROWS
_PLAIN_ROW = re.compile(rb'<row r="([1-9]\d{0,5})"')

Row = tuple[int, list]


def workbook_rows(content: bytes, file_name: str, sheet: str | None) -> Iterator[Row]:
    """Row numbers and cell values of the sheet named, or of the only one; GpudashError where that is not possible."""
    try:
        read = _all_at_once if _is_plain(content, file_name) else _row_by_row
        yield from read(content, file_name, sheet)
    except GpudashError:
        raise
    except BaseException as error:  # a damaged workbook is answered with whatever its parts raise, panics among it
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise damaged(file_name, "XLSX", error) from None


def damaged(file_name: str, kind: str, problem: object) -> GpudashError:
    """The sentence for a file that a library cannot read, with the first words of its complaint."""
    said = (str(problem).partition("\n")[0] or type(problem).__name__)[:120]
    return GpudashError("catalogue_import.damaged", file=file_name, kind=kind, problem=said)


def _is_plain(content: bytes, file_name: str) -> bool:
    """Whether every cell says where it is, and from the first to the last there are not too many.

    Refuses what unpacks to too much, holds a document type, or is no workbook at all. Every part is unpacked whole,
    so that no size and no checksum is believed.
    """
    columns, last_row, is_plain = set(), 0, True
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
            if len(parts) > 1000 or sum(part.file_size for part in parts) > UNPACKED_MEGABYTES * 1_000_000:
                raise GpudashError("catalogue_import.unpacked", file=file_name, limit=UNPACKED_MEGABYTES)
            if "xl/workbook.xml" not in archive.namelist():
                raise GpudashError("catalogue_import.other_kind", file=file_name, kind="ZIP")
            for part in parts:
                for piece in _pieces(archive, part, file_name):
                    cells, rows = _PLAIN_CELL.findall(piece), _PLAIN_ROW.findall(piece)
                    every = len(_CELL_OR_ROW.findall(piece))
                    is_plain &= len(cells) + len(rows) == every and b":worksheet" not in piece
                    columns.update(cells)
                    last_row = max(last_row, max(map(int, rows), default=0))
    except ARCHIVE_ERRORS as error:
        raise damaged(file_name, "XLSX", error) from None
    width = max(map(_column_number, columns), default=0)
    return is_plain and width <= COLUMNS and last_row <= ROWS and last_row * width <= CELLS


def _pieces(archive: zipfile.ZipFile, part: zipfile.ZipInfo, file_name: str) -> Iterator[bytes]:
    """A part in pieces that end between two tags."""
    with archive.open(part) as opened:
        start = opened.read(1000)
        if b"<!" in start:
            raise damaged(file_name, "XLSX", f"DOCTYPE in {part.filename}")
        rest = start
        while more := opened.read(_BYTES_AT_ONCE):
            piece, tag, rest = (rest + more).rpartition(b"<")
            yield piece
            rest = tag + rest
        yield rest


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number


def _all_at_once(content: bytes, file_name: str, sheet: str | None) -> Iterator[Row]:
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    book = CalamineWorkbook.from_filelike(io.BytesIO(content))
    names = [page.name for page in book.sheets_metadata if page.typ == SheetTypeEnum.WorkSheet]
    rows = book.get_sheet_by_name(_chosen(names, sheet, file_name)).iter_rows()
    yield from ((line, row) for line, row in enumerate(rows, start=1) if row.count("") < len(row))


def _row_by_row(content: bytes, file_name: str, sheet: str | None) -> Iterator[Row]:
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    page = book[_chosen([page.title for page in book.worksheets], sheet, file_name)]
    width = 0
    page.reset_dimensions()  # what the file declares may be a million empty rows of 16,384 columns
    for line, row in enumerate(page.iter_rows(values_only=True), start=1):
        if line > ROWS:
            raise GpudashError("catalogue_import.too_many_rows", file=file_name, limit=ROWS, cells=CELLS)
        if len(row) > 10 * COLUMNS:
            raise GpudashError("catalogue_import.too_many_columns", file=file_name, limit=COLUMNS)
        cells = list(row[: COLUMNS + 1])
        width = width or len(cells)
        if any(cell is not None for cell in cells):
            yield line, cells + [None] * (width - len(cells))


def _chosen(names: list[str], sheet: str | None, file_name: str) -> str:
    if len(names) != 1 and sheet not in names:
        raise GpudashError("catalogue_import.sheet", file=file_name, sheets=", ".join(names) or "-")
    return sheet or names[0]
