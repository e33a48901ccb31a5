"""Files from outside: YAML or JSON as plain values, CSV tables as columns of text; bounded and never trusted."""

import csv
import datetime
import io
import json
import math
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from gpudash.errors import GpudashError
from gpudash.tables import columns_of, parse_yaml

# Limits of our choice: the largest honest document (three years of hourly demand) is below 1 MB, 60,000 values, 4 deep.
MEGABYTES = 5
VALUES = 300_000
DEPTH = 10
LARGEST_WHOLE = 2**63  # numpy has no larger whole numbers
TABLE_MEGABYTES = 50  # our choice as well: 10,000 rows of set-ups take 3 MB


def read_document(file: str) -> Any:
    """The values in a file, or in what is piped in for "-"."""
    return decode_document(read_bytes(file, MEGABYTES), "stdin" if file == "-" else file)


def read_bytes(file: str, megabytes: int) -> bytes:
    """A file's bytes, and no more than one beyond the limit: enough to see that it is too large."""
    most = megabytes * 1_000_000 + 1
    with _readable(file):
        if file == "-":
            return sys.stdin.buffer.read(most)
        with Path(file).open("rb") as stream:
            return stream.read(most)


def read_table(file: str) -> dict[str, list[str]]:
    """A CSV file in UTF-8 as one list of text per column; `-` is what is piped in."""
    content = read_bytes(file, TABLE_MEGABYTES)
    if len(content) > TABLE_MEGABYTES * 1_000_000:
        raise GpudashError("errors.document_too_large", file=file, limit=TABLE_MEGABYTES)
    with _readable(file):
        return columns_of(content.decode("utf-8-sig"), Path(file).name)


def write_table(file: str, columns: Mapping[str, list[str]]) -> None:
    """Columns of text as a CSV file in UTF-8."""
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values()))
    write_text(file, content.getvalue())


def write_text(file: str, content: str) -> None:
    """A file in UTF-8, its line ends as they are."""
    write_bytes(file, content.encode())


def write_bytes(file: str, content: bytes) -> None:
    """A file, whole or not at all: killed or out of disk, what stood there before stands there still."""
    try:
        path = Path(file).resolve()
        if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
            path.write_bytes(content)
        else:
            _replace(path, content)
    except OSError as error:
        raise GpudashError("errors.file_unwritable", file=file, problem=error.strerror) from None


def _replace(path: Path, content: bytes) -> None:
    part = path.with_name(f".gpudash-{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            shutil.copymode(path, part)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def _readable(file: str) -> Iterator[None]:
    """What a file can fail with, as sentences."""
    try:
        yield
    except FileNotFoundError:
        raise GpudashError("errors.file_missing", file=file) from None
    except OSError as error:
        raise GpudashError("errors.file_unreadable", file=file, problem=error.strerror) from None
    except UnicodeDecodeError as error:
        raise GpudashError("errors.document_not_text", file=file, position=error.start) from None
    except csv.Error as error:
        raise GpudashError("errors.not_a_table", file=file, problem=str(error)) from None


def decode_document(content: bytes, name: str) -> Any:
    """The values in a file's bytes; `name` is what the sentence calls the file.

    Raises GpudashError when it is too large or nested, not UTF-8 text, not YAML or JSON, or holds a reference.
    """
    if len(content) > MEGABYTES * 1_000_000:
        raise GpudashError("errors.document_too_large", file=name, limit=MEGABYTES)
    with _readable(name):
        text = content.decode("utf-8-sig")
    return parse_document(text, name)


def parse_document(text: str, name: str) -> Any:
    """YAML or JSON text as plain values; dates become text, as the Scenario holds them."""
    if text.lstrip().startswith(("{", "[")):
        with suppress(ValueError, RecursionError):  # YAML in brackets, or neither: the YAML reader says which line
            return parse_json(text, name)
    return _plain(_yaml(text, name), name)


def parse_json(text: str, name: str) -> Any:
    """JSON text as plain values; raises ValueError or RecursionError where it is none."""
    return _plain(json.loads(text, object_pairs_hook=_unique, parse_constant=float), name)


def _yaml(text: str, name: str) -> Any:
    try:
        _refuse_references(text, name)
        return parse_yaml(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise GpudashError(
            "errors.document_unreadable", file=name, line=mark.line + 1 if mark else 1, problem=error.problem
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise GpudashError("errors.document_not_yaml", file=name) from None


def _refuse_references(text: str, name: str) -> None:
    """A few aliases can unfold to more values than memory holds; nothing here needs them."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for count, event in enumerate(yaml.parse(text, Loader=loader)):
        if isinstance(event, yaml.AliasEvent):
            raise GpudashError("errors.document_reference", file=name, line=event.start_mark.line + 1)
        if count > VALUES:
            raise GpudashError("errors.document_too_many_values", file=name, limit=VALUES)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        raise GpudashError("errors.json_repeated_key", name=next(key for key in keys if keys.count(key) > 1))
    return values


def _plain(value: Any, name: str, depth: int = 0) -> Any:
    if depth > DEPTH:
        raise GpudashError("errors.document_too_deep", file=name, limit=DEPTH)
    if isinstance(value, dict):
        return {key: _plain(item, name, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, name, depth + 1) for item in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, int) and abs(value) >= LARGEST_WHOLE:
        return float(value) if abs(value) < sys.float_info.max else math.inf  # whoever reads it refuses what is endless
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise GpudashError("errors.document_kind_of_value", file=name, value=str(value)[:80])
