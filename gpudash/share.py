"""Links: a Scenario as address parameters and back, the same for ever.

A parameter is an input's path and its value as text (`workload.params_b=70`); inputs at their default are left out. `v`
says which version of this format wrote the link, `catalogue` pins the price snapshot. What is too long to read becomes
one compressed token `s`. Lists of words are separated by commas; lists of rows by `~`, their cells by commas in the
order in which the row's fields are declared; text that holds such a separator makes the list fall back to JSON.
"""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin
from urllib.parse import parse_qsl, quote, urlencode

from pydantic import BaseModel

from gpudash.catalogue import load_catalogue, snapshots
from gpudash.documents import parse_json
from gpudash.errors import GpudashError
from gpudash.scenario import Scenario, fields, is_optional

VERSION = "1"

# What leaving an input out meant to a link of each version, where that is not today's default. A default that changes
# needs a new VERSION here, and the old default under every older version; golden links keep watch.
DEFAULTS_OF_VERSION: Mapping[str, Mapping[str, Any]] = {"1": {}}

# Limits of our choice: a link beyond READABLE_CHARACTERS is compressed (chat programs cut at about 2,000); a compressed
# one must stay below the 8,192 bytes that common web servers take as an address; 64 kB bound a hostile token's size.
READABLE_CHARACTERS = 1500
TOKEN_CHARACTERS = 7500
ADDRESS_CHARACTERS = 60_000
DECOMPRESSED_BYTES = 64_000

COMPARED = "with"  # the parameter that holds the scenarios to compare with, each as a query of its own
MOST_COMPARED = 3

_PASSED_OVER = ("lang", "page", COMPARED)  # they belong to whoever shows the scenario
_NONE = "none"
_ROW, _CELL = "~", ","
_NEXT = "|"  # between compared scenarios; a query holds it only as %7C


def encode(scenario: Scenario) -> dict[str, str]:
    """The scenario as address parameters, `v` first and `catalogue` last; both are always there.

    Raises GpudashError when the scenario is too large for an address even when compressed.
    """
    changes = pinned(scenario).changed()
    snapshot = changes.pop("catalogue.snapshot")
    readable = {path: as_text(path, value) for path, value in changes.items()}
    parameters = {"v": VERSION, **readable, "catalogue": snapshot}
    if len(_query(parameters)) <= READABLE_CHARACTERS:
        return parameters
    token = _token(changes)
    if len(token) > TOKEN_CHARACTERS:
        raise GpudashError("share.scenario_too_large", found=len(token), limit=TOKEN_CHARACTERS)
    return {"v": VERSION, "s": token, "catalogue": snapshot}


def decode(parameters: Mapping[str, str]) -> Scenario:
    """The scenario that address parameters describe; `decode(encode(s))` is `pinned(s)`.

    Parameters written by hand may leave out `v` (the newest is meant) and `catalogue`. Raises GpudashError with one
    sentence for an unknown version, parameter, value or snapshot and for a token that cannot be read.
    """
    parameters = {name: text for name, text in parameters.items() if name not in _PASSED_OVER}
    version = parameters.pop("v", VERSION)
    if version not in DEFAULTS_OF_VERSION:
        raise GpudashError("share.unknown_version", version=version[:20], known=", ".join(DEFAULTS_OF_VERSION))
    changes = dict(DEFAULTS_OF_VERSION[version])
    if "s" in parameters:
        changes |= _changes_of_token(parameters.pop("s"))
    if "catalogue" in parameters:
        changes["catalogue.snapshot"] = parameters.pop("catalogue")
    changes |= {path: from_text(path, text) for path, text in parameters.items()}
    scenario = Scenario().with_values(changes)
    load_catalogue(scenario.catalogue.snapshot)
    encode(scenario)  # whoever opens a link must be able to pass it on
    return scenario


def url(scenario: Scenario) -> str:
    """The scenario as the query part of an address, "?v=1&...&catalogue=..."."""
    return "?" + _query(encode(scenario))


def scenario_of_url(address: str) -> Scenario:
    """The scenario of a whole address or of its query part alone."""
    if len(address) > ADDRESS_CHARACTERS:
        raise GpudashError("share.address_too_long", found=len(address), limit=ADDRESS_CHARACTERS)
    query = address.strip().partition("#")[0]
    query = query.partition("?")[2] if "?" in query else query
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=bool(query), errors="strict", max_num_fields=2 * len(fields())
        )
    except ValueError:
        raise GpudashError("share.not_a_link", found=address[:80]) from None
    names = [name for name, _ in pairs]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise GpudashError("share.repeated_parameter", name=repeated[:80])
    return decode(dict(pairs))


def encode_compared(scenario: Scenario, others: Sequence[Scenario]) -> dict[str, str]:
    """As `encode`, with the scenarios that are compared with it; without them where they do not fit into an address."""
    alone = encode(scenario)
    together = alone | {COMPARED: _NEXT.join(_query(encode(other)) for other in others)}
    return together if others and len(_query(together)) <= TOKEN_CHARACTERS else alone


def decode_compared(parameters: Mapping[str, str]) -> tuple[Scenario, ...]:
    """The scenarios that address parameters compare with; none where they name none. Raises as `decode` does."""
    queries = [query for query in parameters.get(COMPARED, "").split(_NEXT) if query]
    if len(queries) > MOST_COMPARED:
        raise GpudashError("compare.too_many", limit=MOST_COMPARED)
    return tuple(scenario_of_url(query) for query in queries)


def compared_url(scenario: Scenario, others: Sequence[Scenario]) -> str:
    """As `url`, with the scenarios that are compared with it."""
    return "?" + _query(encode_compared(scenario, others))


def pinned(scenario: Scenario) -> Scenario:
    """The same scenario with its price snapshot named: its own, else the newest there is today."""
    if scenario.catalogue.snapshot is not None:
        return scenario
    return scenario.with_value("catalogue.snapshot", snapshots()[-1])


def as_text(path: str, value: Any) -> str:
    """One input's plain value (as `Scenario.changed` gives it) as text that `from_text` reads back unchanged."""
    if value is None:
        return _NONE
    if isinstance(value, list):
        return _list_text(path, value)
    return _word(value)


def from_text(path: str, text: str) -> Any:
    """Text of a link or of `--set` as a value for `Scenario.with_value`, which checks it."""
    if path not in fields():
        return text  # refused by the Scenario, with the nearest names
    if text == _NONE and is_optional(path) and not _is_free_text(path):
        return None
    if not _is_list(path):
        return text
    if text.startswith(("[", "{")):
        return _json(text, path)
    row = _row_fields(path)
    if row is None or not text:
        return text or []  # the Scenario splits words at their commas
    return [_row_of(cells.split(_CELL), row, path) for cells in text.split(_ROW)]


def _list_text(path: str, values: list) -> str:
    row = _row_fields(path)
    if row is None:
        words, separators = [_word(value) for value in values], _CELL
        text = _CELL.join(words)
    else:
        words = [_word(value) for item in values for value in item.values()]
        separators = _CELL + _ROW
        text = _ROW.join(_CELL.join(_word(item.get(name, "")) for name in row).rstrip(_CELL) for item in values)
    is_plain = all(word.strip() == word != "" and not any(mark in word for mark in separators) for word in words)
    return text if is_plain and not text.startswith(("[", "{")) else _compact_json(values)


def _row_of(cells: list[str], row: tuple[str, ...], path: str) -> dict[str, str]:
    if len(cells) > len(row):
        raise GpudashError("share.too_many_cells", path=path, found=len(cells), fields=", ".join(row))
    return {name: cell for name, cell in zip(row, cells) if cell}


def _word(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value).removesuffix(".0")


def _is_list(path: str) -> bool:
    return get_origin(fields()[path].annotation) is tuple


def _is_free_text(path: str) -> bool:
    """Whether an optional input holds words of the user's, where "none" may be one of them."""
    return any(part is str or str in get_args(part) for part in get_args(fields()[path].annotation))


def _row_fields(path: str) -> tuple[str, ...] | None:
    """The names of a row's cells when the input is a list of rows."""
    entry = get_args(fields()[path].annotation)[0]
    is_row = isinstance(entry, type) and issubclass(entry, BaseModel)
    return tuple(entry.model_fields) if is_row else None


def _query(parameters: Mapping[str, str]) -> str:
    return urlencode(parameters, quote_via=quote, safe=_CELL + _ROW + ":")


def _token(changes: Mapping[str, Any]) -> str:
    """Sorted JSON, raw deflate, base64url without padding."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    content = packed.compress(_compact_json(changes).encode()) + packed.flush()
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _changes_of_token(token: str) -> dict[str, Any]:
    if len(token) > TOKEN_CHARACTERS:
        raise GpudashError("share.token_too_long", found=len(token), limit=TOKEN_CHARACTERS)
    unpacked = zlib.decompressobj(-15)
    try:
        packed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        content = unpacked.decompress(packed, DECOMPRESSED_BYTES).decode()
    except (binascii.Error, zlib.error, ValueError):
        raise GpudashError("share.token_unreadable") from None
    if not unpacked.eof or unpacked.unused_data:
        raise GpudashError("share.token_unreadable")
    changes = _json(content, "s")
    if not isinstance(changes, dict):
        raise GpudashError("share.token_unreadable")
    return changes


def _json(text: str, name: str) -> Any:
    try:
        return parse_json(text, name)
    except (GpudashError, ValueError, RecursionError):
        raise GpudashError("share.bad_json", name=name) from None
