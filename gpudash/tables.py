"""Reading the project's CSV and YAML files: text columns in, refusal with file and line out."""

import csv
import io
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from gpudash.errors import GpudashError

DATA = Path(__file__).resolve().parents[1] / "data"


def read_columns(path: Path) -> dict[str, list[str]]:
    """A CSV file as one list of text per column, cells stripped; a ragged or repeated header is refused."""
    return columns_of(path.read_bytes().decode("utf-8-sig"), path.name)


def columns_of(content: str, name: str) -> dict[str, list[str]]:
    """The text of a CSV file as `read_columns` gives it; `name` is what a refusal calls the file."""
    reader = csv.reader(io.StringIO(content, newline=""))
    header = next(reader, None)
    if not header or len(set(header)) != len(header):
        raise GpudashError("errors.table_header", file=name)
    rows = []
    for row in reader:
        if len(row) != len(header):
            counts = {"expected": len(header), "found": len(row)}
            raise GpudashError("errors.table_row_length", file=name, line=reader.line_num, **counts)
        rows.append(row)
    columns = zip(*rows) if rows else [()] * len(header)
    return {name: [cell.strip() for cell in column] for name, column in zip(header, columns)}


def read_rows(path: Path) -> list[dict[str, str]]:
    """A CSV file as one dictionary of text per row."""
    columns = read_columns(path)
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def numbers(cells: list[str], path: Path, column: str) -> np.ndarray:
    """Text cells as floats; blank becomes NaN (not sourced); what is no number is refused with its line."""
    values = np.full(len(cells), np.nan)
    for index, cell in enumerate(cells):
        if cell:
            try:
                values[index] = float(cell)
            except ValueError:
                raise GpudashError(
                    "errors.table_not_a_number", file=path.name, line=index + 2, column=column, value=cell
                ) from None
    return values


class _UniqueKeyLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Safe YAML that refuses a key written twice (a silent last-one-wins otherwise)."""


def _unique_mapping(loader, node, deep=False):
    seen = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=deep)
        if isinstance(key, (dict, list, set)):
            raise yaml.constructor.ConstructorError(None, None, "a key must be a plain word", key_node.start_mark)
        if key in seen:
            raise GpudashError("errors.yaml_repeated_key", key=str(key), line=key_node.start_mark.line + 1)
        seen.add(key)
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_mapping)


def read_yaml(path: Path):
    """A YAML file of ours; repeated keys are refused."""
    return parse_yaml(path.read_text(encoding="utf-8"))


@cache
def sourced_values(name: str) -> Mapping[str, Any]:
    """The values of data/<name>.yaml by name, whose entries have a `value`, its `source` and its date."""
    return {key: entry["value"] for key, entry in read_yaml(DATA / f"{name}.yaml").items()}


def parse_yaml(content: str):
    """YAML (or JSON) text as plain values; only plain types, no repeated keys."""
    return yaml.load(content, Loader=_UniqueKeyLoader)
