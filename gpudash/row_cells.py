"""Cells of the tables that the batch commands read, as numbers; what cannot be meant is refused with its text."""

import math

import numpy as np


def finite(cell: str) -> float:
    """The cell as a number; text, infinity and NaN raise ValueError with the cell itself."""
    try:
        value = float(cell)
    except ValueError:
        raise ValueError(cell) from None
    if not math.isfinite(value):
        raise ValueError(cell)
    return value


def check_counts(*cells: str, lowest: int = 1) -> None:
    """Refuses counts below the lowest with a ValueError; text such as "max" counts as not stated, as blank does."""
    for cell in cells:
        try:
            count = float(cell or lowest)
        except ValueError:
            continue
        if not lowest <= count < math.inf:
            raise ValueError(cell)


def numbers_or(cells, otherwise) -> np.ndarray:
    """Cells as numbers; blank and text (such as "max") take the other value: one for all, or one per cell."""
    values = np.array(np.broadcast_to(otherwise, len(cells)), dtype=float)
    for index, cell in enumerate(cells):
        try:
            values[index] = float(cell)
        except ValueError:
            continue
    return values
