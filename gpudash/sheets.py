"""Price sheets from outside, CSV, XLSX or Parquet, as text cells: bounded in bytes, rows, columns and cell length.

Every refusal is a sentence. What a file is, its first bytes decide and not its name.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from gpudash.errors import GpudashError
from gpudash.result import Message
from gpudash.sheet_limits import CELLS, CHARACTERS, COLUMNS, MEGABYTES, ROWS, UNPACKED_MEGABYTES
from gpudash.workbook import damaged, workbook_rows

_ROWS_AT_ONCE = 500  # few enough that their lists are gone before the garbage collector walks all cells
_DELIMITERS = ",;\t|"
_OTHER_KINDS = {
    b"\xd0\xcf\x11\xe0": "XLS",
    b"%PDF": "PDF",
    b"\x1f\x8b": "GZIP",
    b"BZh": "BZIP2",
    b"\xfd7zXZ": "XZ",
    b"7z\xbc\xaf": "7Z",
    b"Rar!": "RAR",
    b"\x89PNG": "PNG",
    b"<!DOC": "HTML",
    b"<html": "HTML",
    b"<?xml": "XML",
}


@dataclass(frozen=True)
class Refused:
    """A row that was left out: its line in the file (the heading is line 1) and why."""

    line: int
    because: Message


@dataclass(frozen=True)
class Sheet:
    """A table of text: one list of cells per column, where each row stands in its file, and the rows left out."""

    columns: dict[str, list[str]]
    lines: list[int]
    refused: tuple[Refused, ...] = ()

    def __len__(self) -> int:
        return len(self.lines)


def read_sheet(content: bytes, file_name: str, sheet: str | None = None) -> Sheet:
    """The cells of a CSV, XLSX or Parquet file; `sheet` names the sheet of a workbook that has several.

    A row of the wrong length or with an overlong cell is left out; a file that is too large, not one of the three
    kinds, not text, or without a heading raises GpudashError.
    """
    if len(content) > MEGABYTES * 1_000_000:
        raise GpudashError("catalogue_import.too_large", file=file_name, limit=MEGABYTES)
    if not content.strip(b"\xef\xbb\xbf \t\r\n\0"):
        raise GpudashError("catalogue_import.empty", file=file_name)
    if content.startswith(b"PK\x03\x04"):
        rows = _xlsx_rows(content, file_name, sheet)
    elif content.startswith(b"PAR1"):
        return _table(_parquet_rows(content, file_name), file_name)
    else:
        rows = _csv_rows(content, file_name)
    return _table(rows, file_name)


def _table(rows: Iterable[tuple[int, list[str]]], file_name: str) -> Sheet:
    """Numbered rows as columns; the first is the heading. Equal cells of a column are one object."""
    rows = iter(rows)
    heading = [cell.strip() for cell in next(rows, (1, []))[1]]
    while heading and not heading[-1]:
        heading.pop()
    _check_heading(heading, file_name)
    lines, refused = [], []
    columns: dict[str, list[str]] = {name: [] for name in heading}
    first_seen: list[dict[str, str]] = [{} for _ in heading]
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        kept = []
        for line, row in some:
            while len(row) > len(heading) and not row[-1].strip():
                row.pop()
            if len(row) == len(heading):
                lines.append(line)
                kept.append(row)
            elif any(row):
                because = Message.of("catalogue_import.row_length", expected=len(heading), found=len(row))
                refused.append(Refused(line, because))
        if len(lines) + len(refused) > ROWS or len(lines) * len(heading) > CELLS:
            raise GpudashError("catalogue_import.too_many_rows", file=file_name, limit=ROWS, cells=CELLS)
        for column, seen, cells in zip(columns.values(), first_seen, zip(*kept)):
            column.extend(map(seen.setdefault, cells, cells))
    return _tidied(columns, lines, refused)


def _tidied(columns: dict[str, list[str]], lines: list[int], refused: list[Refused]) -> Sheet:
    """The cells without the spaces around them; blank rows and rows with an overlong cell are left out."""
    dropped, filled = set(), set()
    for name, cells in columns.items():
        distinct = set(cells)
        if max(map(len, distinct), default=0) > CHARACTERS:
            dropped.update(row for row, cell in enumerate(cells) if len(cell) > CHARACTERS)
        if any(cell != cell.strip() for cell in distinct):
            shared = {cell: cell.strip() for cell in distinct}
            columns[name] = [shared[cell] for cell in cells]
        if len(filled) < len(lines):
            filled.update(row for row, cell in enumerate(columns[name]) if cell)
    refused += [Refused(lines[row], Message.of("catalogue_import.long_cell", limit=CHARACTERS)) for row in dropped]
    if dropped or len(filled) < len(lines):
        rows = [row for row in range(len(lines)) if row in filled and row not in dropped]
        columns = {name: [cells[row] for row in rows] for name, cells in columns.items()}
        lines = [lines[row] for row in rows]
    return Sheet(columns, lines, tuple(refused))


def _check_heading(heading: list[str], file_name: str) -> None:
    if len(heading) > COLUMNS:
        raise GpudashError("catalogue_import.too_many_columns", file=file_name, limit=COLUMNS)
    if len(heading) < 2:
        raise GpudashError("catalogue_import.no_table", file=file_name)
    if not all(heading) or max(map(len, heading)) > 100:
        raise GpudashError("catalogue_import.heading_blank", file=file_name)
    repeated = sorted({name for name in heading if heading.count(name) > 1})
    if repeated:
        raise GpudashError("catalogue_import.heading_repeated", file=file_name, columns=", ".join(repeated))


def _csv_rows(content: bytes, file_name: str) -> Iterator[tuple[int, list[str]]]:
    text = _decoded(content, file_name)
    first_line = text.lstrip("\r\n").partition("\n")[0]
    if len(first_line) > COLUMNS * 100:
        raise GpudashError("catalogue_import.no_table", file=file_name)
    delimiter = max(_DELIMITERS, key=first_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row or reader.line_num > 1:
                yield reader.line_num, row
    except csv.Error as error:
        raise GpudashError(
            "catalogue_import.quotes", file=file_name, line=reader.line_num, problem=str(error)
        ) from None


def _decoded(content: bytes, file_name: str) -> str:
    """The text of a CSV file: UTF-8, UTF-16 with its mark, or Chinese GBK; anything else is refused, not guessed."""
    kind = next((name for start, name in _OTHER_KINDS.items() if content[:8].lower().startswith(start.lower())), None)
    if kind:
        raise GpudashError("catalogue_import.other_kind", file=file_name, kind=kind)
    try:
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            text = content.decode("utf-16")
        else:
            text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = _chinese(content, file_name)
    if "\0" in text:
        raise GpudashError("catalogue_import.binary", file=file_name)
    return text


def _chinese(content: bytes, file_name: str) -> str:
    """GBK text, recognised by its characters: nearly all of them belong to the everyday set GB 2312.

    Western text in Latin-1 can be read as GBK too, but then gives rare characters.
    """
    try:
        text = content.decode("gbk")
    except UnicodeDecodeError as error:
        raise GpudashError("catalogue_import.encoding", file=file_name, position=error.start) from None
    characters = "".join(character for character in text if ord(character) > 127)
    everyday = characters.encode("gb2312", errors="ignore").decode("gb2312")
    if len(everyday) < 0.9 * len(characters):
        position = next(position for position, byte in enumerate(content) if byte > 127)
        raise GpudashError("catalogue_import.encoding", file=file_name, position=position)
    return text


def _xlsx_rows(content: bytes, file_name: str, sheet: str | None) -> Iterator[tuple[int, list[str]]]:
    for line, row in workbook_rows(content, file_name, sheet):
        yield line, [cell if type(cell) is str else _text(cell) for cell in row]


def _parquet_rows(content: bytes, file_name: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a Parquet file; texts stay in its dictionary, because a few repeated ones may fill the memory."""
    import pyarrow
    from pyarrow import parquet

    limits = {"thrift_string_size_limit": 20_000_000, "thrift_container_size_limit": 200_000}
    try:
        file = parquet.ParquetFile(io.BytesIO(content), **limits)
        _check_parquet(file, file_name)
        texts = [field.name for field in file.schema_arrow if field.type in (pyarrow.string(), pyarrow.large_string())]
        file = parquet.ParquetFile(io.BytesIO(content), read_dictionary=texts, **limits)
        yield 1, list(file.schema_arrow.names)
        line = 1
        for batch in file.iter_batches(batch_size=20_000):
            batch.validate(full=True)
            for row in zip(*map(_texts, batch.columns)):
                line += 1
                yield line, list(row)
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
        raise damaged(file_name, "Parquet", error) from None


def _texts(column) -> list[str]:
    """A column of a Parquet file as text, equal cells as one object."""
    if not hasattr(column, "dictionary"):
        return [_text(value) for value in column.to_pylist()]
    words = [_text(value) for value in column.dictionary.to_pylist()]
    return ["" if index is None else words[index] for index in column.indices.to_pylist()]


def _check_parquet(file, file_name: str) -> None:
    from pyarrow import types

    details = file.metadata
    if details.num_rows > ROWS or details.num_rows * details.num_columns > CELLS:
        raise GpudashError("catalogue_import.too_many_rows", file=file_name, limit=ROWS, cells=CELLS)
    if details.num_columns > COLUMNS:
        raise GpudashError("catalogue_import.too_many_columns", file=file_name, limit=COLUMNS)
    unpacked = sum(details.row_group(group).total_byte_size for group in range(details.num_row_groups))
    if unpacked > UNPACKED_MEGABYTES * 1_000_000:
        raise GpudashError("catalogue_import.unpacked", file=file_name, limit=UNPACKED_MEGABYTES)
    odd = [field.name for field in file.schema_arrow if types.is_nested(field.type) or types.is_binary(field.type)]
    if odd:
        problem = f"{odd[0]}: {file.schema_arrow.field(odd[0]).type}"
        raise damaged(file_name, "Parquet", problem)


def _text(value) -> str:
    """A cell as a person would type it; whole numbers without a point, dates as ISO."""
    if value is None:
        return ""
    if isinstance(value, float):
        return _number_text(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()[:10]
    return str(value)


@lru_cache(maxsize=1 << 16)
def _number_text(value: float) -> str:
    text = repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    # A fourth decimal, so that beside texts like "2,75" nobody takes the point of 1.234 for a thousands separator.
    return text + "0" if len(text.partition(".")[2]) == 3 and "e" not in text else text
