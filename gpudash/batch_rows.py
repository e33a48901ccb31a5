"""What every table of set-ups is read with: cells as numbers, a row's model and card, and why a row cannot be read.

The batch commands, the fits and the accuracy report read rows alike.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpudash.errors import GpudashError
from gpudash.model import Model, custom_model, load_model
from gpudash.result import Message

Headings = Mapping[str, Sequence[str]]  # column -> other headings under which it is published
_NO_COUNTS = ("params_b", "active_params_b")


@dataclass(frozen=True, eq=False)
class Predictions:
    """What each row should measure, and its band; NaN where `because` says why not. The unit is the row's own."""

    predicted: np.ndarray
    low: np.ndarray
    high: np.ndarray
    because: tuple[Message | None, ...]

    @classmethod
    def of(cls, predicted: np.ndarray, factor, because: Iterable[Message | None]) -> "Predictions":
        """A band from predicted / factor to predicted × factor."""
        return cls(predicted, predicted / factor, predicted * factor, tuple(because))


def named_columns(columns: Mapping[str, list[str]], names: Iterable[str], headings: Headings) -> dict[str, list[str]]:
    """The columns of these names, each under its own heading or another one; blank where there is none."""
    blank = [""] * row_count(columns)
    found = {name: [heading for heading in (name, *headings.get(name, ())) if heading in columns] for name in names}
    return {name: columns[present[0]] if present else blank for name, present in found.items()}


def row_count(columns: Mapping[str, list[str]]) -> int:
    """How many rows a table has."""
    return len(next(iter(columns.values()), []))


def finite(cell: str) -> float:
    """The cell as a number; text, infinity and NaN raise ValueError with the cell itself."""
    try:
        value = float(cell)
    except ValueError:
        raise ValueError(cell) from None
    if not math.isfinite(value):
        raise ValueError(cell)
    return value


def count_refusals(cells: Mapping[str, list[str]], lowest: Mapping[str, int]) -> list[Message | None]:
    """Why the counts of each row cannot be meant: the first below its lowest or without an end; None where they can.

    `lowest` names the columns. Text such as "max" counts as not stated, as blank does.
    """
    because: list[Message | None] = [None] * row_count(cells)
    for name, least in reversed(lowest.items()):
        counts = numbers_or(cells[name], least)
        for row in np.flatnonzero(~((counts >= least) & (counts < np.inf))):
            because[row] = Message.of("batch_rows.unreadable_row", cell=cells[name][row])
    return because


def numbers_or(cells, otherwise) -> np.ndarray:
    """Cells as numbers; blank and text (such as "max") take the other value: one for all, or one per cell."""
    values = np.broadcast_to(otherwise, len(cells)).tolist()
    for index, cell in enumerate(cells):
        try:
            values[index] = float(cell)
        except ValueError:
            continue
    return np.array(values, dtype=float)


def where_readable(cells, because) -> list[str]:
    """The cells of the rows that can be read; those of the others count as blank, so that no formula meets them."""
    return ["" if reason else cell for cell, reason in zip(cells, because)]


def row_model(name: str, geometry: Mapping[str, str]) -> Model:
    """The model of a row: its own geometry where given, else the preset's, else estimated from the parameters.

    Raises ValueError with a cell that is no number, and what `load_model` and `custom_model` raise.
    """
    given = {field: finite(cell) for field, cell in geometry.items() if cell}
    given |= {field: round(value) for field, value in given.items() if field not in _NO_COUNTS}
    preset = _preset(name)
    if isinstance(preset, Model):
        return preset.with_overrides(**given)
    if not given:
        raise GpudashError(preset.code, **preset.values)
    return custom_model(name=name, **given)


@lru_cache(maxsize=4096)
def _preset(name: str) -> Model | GpudashError:
    """The preset of that name, or why there is none: looking for the nearest names takes milliseconds."""
    try:
        return load_model(name)
    except GpudashError as error:
        return error


def row_gpu(hardware, name: str) -> int:
    """The row of the catalogue's hardware for a card as tables name it; what stands in brackets behind is no name."""
    return hardware.index(re.sub(r"\s*\(.*\)$", "", name))


def reason_of(error: Exception) -> Message:
    """Why a row cannot be read, from what reading it raised: a GpudashError, or a ValueError with the cell."""
    if isinstance(error, GpudashError):
        return Message.of(error.code, **error.values)
    return Message.of("batch_rows.unreadable_row", cell=str(error))


def speed_reasons(because: Iterable[Message | None], predicted: np.ndarray) -> list[Message | None]:
    """Why a speed is not predicted: the row could not be read, or the card's figures are not published."""
    unpublished = Message.of("speed.unpublished_figures_row")
    return [reason or (None if known else unpublished) for reason, known in zip(because, np.isfinite(predicted))]
