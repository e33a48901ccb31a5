"""Scores: options × criteria with weights; `gpudash.robustness` says how far the winner is from losing.

Methods (all take a matrix with one row per option, an objective "max" or "min" per column, and weights):
`ratio` (value against the best value, the default), `minmax`, `topsis`, `price_performance`.
A poor option added to the table never changes the order of the others under `ratio` and `price_performance`;
it can under `minmax` and `topsis`, which measure from the worst value or the spread of all values.
"""

import numpy as np

from gpudash.errors import GpudashError

OBJECTIVES = ("max", "min")
EQUAL = 1e-12  # relative difference below which two values are the same number written by two roundings


# ---- the methods -------------------------------------------------------------------------------------------------


def ratio_utilities(matrix, objectives, among=None) -> np.ndarray:
    """Each value against the best of its column, 0 to 1: x / max(x) if more is better, min(x) / x if less is better.

    Values may be 0 but not negative (a ratio has no meaning there). With "min", a 0 is perfect: it gets 1 and every
    value above it 0, the limit of min / x. A column of equal values gives 1 to all. `among` marks the options that may
    be chosen: the best is looked for among them, and another that is better still gets 1, too.
    """
    values, more = _checked(matrix, objectives, allow_negative=False)
    measure = values if among is None else values[among]
    best = np.where(more, measure.max(axis=0), measure.min(axis=0))
    values = np.where(more, np.minimum(values, best), np.maximum(values, best))
    upper = np.where(more, best, values)
    lower = np.where(more, values, best)
    return np.divide(lower, upper, out=np.ones_like(values), where=upper > 0)


def minmax_utilities(matrix, objectives) -> np.ndarray:
    """Each value by its place between the worst (0) and the best (1) of its column; equal values give 1 to all."""
    values, more = _checked(matrix, objectives)
    scaled = _scaled(values)
    low, high = scaled.min(axis=0), scaled.max(axis=0)
    span = high - low
    distance = np.where(more, scaled - low, high - scaled)
    return np.divide(distance, span, out=np.ones_like(values), where=span > EQUAL)


def ratio(matrix, objectives, weights) -> np.ndarray:
    """Weighted sum of `ratio_utilities`; weights are divided by their sum."""
    return ratio_utilities(matrix, objectives) @ normalised(weights)


def minmax(matrix, objectives, weights) -> np.ndarray:
    """Weighted sum of `minmax_utilities`; weights are divided by their sum."""
    return minmax_utilities(matrix, objectives) @ normalised(weights)


def topsis(matrix, objectives, weights) -> np.ndarray:
    """Closeness to the ideal option: d⁻ / (d⁺ + d⁻), 0 to 1.

    Columns are divided by their Euclidean length and multiplied by the weights; d⁺ and d⁻ are the Euclidean distances
    to the best and to the worst value of every column. Options that are all equal score 1.
    Source: Hwang and Yoon, Multiple Attribute Decision Making, 1981, section 3.6.
    """
    to_best, to_worst = squared_distances(matrix, objectives)
    squared_weights = normalised(weights) ** 2
    return closeness(np.sqrt(to_best @ squared_weights), np.sqrt(to_worst @ squared_weights))


def price_performance(matrix, objectives, weights=None) -> np.ndarray:
    """Product of the columns to maximise divided by the product of the columns to minimise; weights play no part.

    With one of each it is the articles' index (benchmark score / price), in its own unit and not 0 to 1.
    A price of 0 is refused.
    """
    values, more = _checked(matrix, objectives, allow_negative=False)
    price = values[:, ~more].prod(axis=1)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        index = values[:, more].prod(axis=1) / price
    if not np.isfinite(index).all():
        raise GpudashError("scores.error_index_infinite", row=int(np.flatnonzero(~np.isfinite(index))[0]) + 1)
    return index


METHODS = {"ratio": ratio, "minmax": minmax, "topsis": topsis, "price_performance": price_performance}
UTILITIES = {"ratio": ratio_utilities, "minmax": minmax_utilities}  # the methods that are linear in the weights


def normalised(weights) -> np.ndarray:
    """Weights divided by their sum; refused unless finite, none negative, and at least one above 0."""
    weights = np.asarray(weights, dtype=float)
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise GpudashError("scores.error_weights", weights=", ".join(f"{weight:g}" for weight in weights))
    weights = weights / weights.max()  # first, so that the sum of huge weights stays finite
    return weights / weights.sum()


def ranks(scores) -> np.ndarray:
    """Rank of each option, 1 is best; options with the same score share the lower number (1, 2, 2, 4)."""
    rounded = _rounded(scores)
    return 1 + len(rounded) - np.searchsorted(np.sort(rounded), rounded, side="right")


# ---- small shared steps ------------------------------------------------------------------------------------------


def _checked(matrix, objectives, allow_negative: bool = True) -> tuple[np.ndarray, np.ndarray]:
    values = np.asarray(matrix, dtype=float)
    if values.ndim != 2 or not values.size:
        raise GpudashError("scores.error_no_options")
    refused = ~np.isfinite(values)
    if refused.any():
        row, column = np.argwhere(refused)[0] + 1
        raise GpudashError("scores.error_missing", row=int(row), column=int(column))
    if not allow_negative and (values < 0).any():
        row, column = np.argwhere(values < 0)[0]
        raise GpudashError(
            "scores.error_negative", row=int(row) + 1, column=int(column) + 1, value=float(values[row, column])
        )
    return values, np.asarray(objectives) == "max"


def _scaled(values: np.ndarray) -> np.ndarray:
    """Columns divided by their largest size, so that squares and differences of huge numbers stay finite."""
    size = np.abs(values).max(axis=0)
    return values / np.where(size > 0, size, 1)


def squared_distances(matrix, objectives) -> tuple[np.ndarray, np.ndarray]:
    """Per option and criterion the squared distance to the best and to the worst value, before weights."""
    values, more = _checked(matrix, objectives)
    scaled = _scaled(values)
    length = np.sqrt((scaled**2).sum(axis=0))
    unit = scaled / np.where(length > 0, length, 1)
    low, high = unit.min(axis=0), unit.max(axis=0)
    return snapped(unit - np.where(more, high, low)) ** 2, snapped(unit - np.where(more, low, high)) ** 2


def closeness(to_best: np.ndarray, to_worst: np.ndarray) -> np.ndarray:
    """d⁻ / (d⁺ + d⁻), 1 where both are 0."""
    total = to_best + to_worst
    return np.divide(to_worst, total, out=np.ones_like(total), where=total > 0)


def snapped(differences: np.ndarray) -> np.ndarray:
    """Differences of numbers between 0 and 1 without the last-digit noise that would otherwise decide ties."""
    return np.where(np.abs(differences) < EQUAL, 0.0, differences)


def difference(minuend: np.ndarray, subtrahend: np.ndarray) -> np.ndarray:
    """minuend − subtrahend, 0 where the two differ only by rounding."""
    difference = minuend - subtrahend
    return np.where(np.abs(difference) <= EQUAL * (np.abs(minuend) + np.abs(subtrahend)), 0.0, difference)


def _rounded(scores) -> np.ndarray:
    scores = np.asarray(scores, dtype=float)
    size = np.abs(scores).max(initial=0)
    return np.round(scores / size, 12) if size > 0 else scores
