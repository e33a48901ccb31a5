"""Scores: options × criteria with weights, and how far the winner is from losing.

Methods (all take a matrix with one row per option, an objective "max" or "min" per column, and weights):
`ratio` (value against the best value, the default), `minmax`, `topsis`, `price_performance`.
A poor option added to the table never changes the order of the others under `ratio` and `price_performance`;
it can under `minmax` and `topsis`, which measure from the worst value or the spread of all values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpudash.errors import GpudashError
from gpudash.result import Message

OBJECTIVES = ("max", "min")
DRAWS = 10_000
RANDOM_STATE = 20_261_130
EQUAL = 1e-12  # relative difference below which two values are the same number written by two roundings


# ---- the methods -------------------------------------------------------------------------------------------------


def ratio_utilities(matrix, objectives) -> np.ndarray:
    """Each value against the best of its column, 0 to 1: x / max(x) if more is better, min(x) / x if less is better.

    Values may be 0 but not negative (a ratio has no meaning there). With "min", a 0 is perfect: it gets 1 and every
    value above it 0, the limit of min / x. A column of equal values gives 1 to all.
    """
    values, more = _checked(matrix, objectives, allow_negative=False)
    best = np.where(more, values.max(axis=0), values.min(axis=0))
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
    to_best, to_worst = _squared_distances(matrix, objectives)
    squared_weights = normalised(weights) ** 2
    return _closeness(np.sqrt(to_best @ squared_weights), np.sqrt(to_worst @ squared_weights))


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
_UTILITIES = {"ratio": ratio_utilities, "minmax": minmax_utilities}  # the methods that are linear in the weights


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


# ---- how firm the winner is --------------------------------------------------------------------------------------


def weight_intervals(matrix, objectives, weights, method: str = "ratio") -> np.ndarray:
    """Per criterion [low, high]: the weights at which today's winner stays first (a shared first place counts).

    One weight moves from 0 to 1, the others keep their ratio and fill up to 1 (equal shares if they are all 0).
    Exact: along this line the lead over each rival is a straight line for `ratio` and `minmax`, and a quadratic in
    (w / (1 − w))² for `topsis`. `price_performance` ignores weights, so every interval is [0, 1].
    Of several options in first place the first listed is followed.
    """
    weights = normalised(weights)
    intervals = np.tile([0.0, 1.0], (len(weights), 1))
    if method == "price_performance" or len(weights) == 1:
        return intervals
    winner = int(np.argmin(ranks(METHODS[method](matrix, objectives, weights))))
    interval, table = (
        (_topsis_interval, _squared_distances(matrix, objectives))
        if method == "topsis"
        else (_linear_interval, _UTILITIES[method](matrix, objectives))
    )
    for criterion, weight in enumerate(weights):
        low, high = interval(table, winner, weights, criterion)
        intervals[criterion] = min(low, weight), max(high, weight)  # the winner is first at its own weights
    return intervals


def _others(weights: np.ndarray, criterion: int) -> np.ndarray:
    """The weights beside one criterion when that one is 0: today's ratio, adding to 1; equal if all are 0."""
    others = weights.copy()
    others[criterion] = 0
    if not others.any():
        others = 1.0 - np.eye(len(weights))[criterion]
    return others / others.sum()


def _linear_interval(utilities, winner: int, weights, criterion: int) -> tuple[float, float]:
    at_zero = _snapped((utilities[winner] - utilities) @ _others(weights, criterion))
    at_one = _snapped(utilities[winner, criterion] - utilities[:, criterion])
    starts_behind, ends_behind = at_zero < 0, at_one < 0
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = at_zero / (at_zero - at_one)
    return crossing[starts_behind].max(initial=0.0), crossing[ends_behind].min(initial=1.0)


def _topsis_interval(distances, winner: int, weights, criterion: int) -> tuple[float, float]:
    """The winner leads rival i while d⁻²(winner) d⁺²(i) ≥ d⁻²(i) d⁺²(winner); all four are linear in x = (w/(1−w))²."""
    (to_best, to_worst), weight, others = distances, weights[criterion], _others(weights, criterion)
    best_slope, worst_slope = to_best[:, criterion], to_worst[:, criterion]
    best_rest, worst_rest = to_best @ others**2, to_worst @ others**2
    a = _difference(worst_slope[winner] * best_slope, worst_slope * best_slope[winner])
    b = _difference(
        worst_slope[winner] * best_rest + worst_rest[winner] * best_slope,
        worst_slope * best_rest[winner] + worst_rest * best_slope[winner],
    )
    c = _difference(worst_rest[winner] * best_rest, worst_rest * best_rest[winner])
    with np.errstate(divide="ignore", invalid="ignore"):
        half = -0.5 * (b + np.copysign(np.sqrt(b**2 - 4 * a * c), b))
        roots = np.stack([half / a, c / half])
    roots[~np.isfinite(roots)] = -1.0  # no crossing; only roots from 0 on are weights
    slope = 2 * a * roots + b
    slope = np.where(np.abs(slope) < 1e-9 * (np.abs(2 * a * roots) + np.abs(b)), 0.0, slope)
    loses_after = np.where(slope == 0, a, slope) < 0  # at a double root the lead has the sign of a on both sides
    lost_before = np.where(slope == 0, a, -slope) < 0
    here = (weight / (1 - weight)) ** 2 if weight < 1 else np.inf
    usable = roots >= 0
    low = roots[usable & lost_before & (roots <= here * (1 + EQUAL))].max(initial=0.0)
    high = roots[usable & loses_after & (roots >= here * (1 - EQUAL))].min(initial=np.inf)
    if weight == 1 and ((a == 0) & ((b < 0) | ((b == 0) & (c < 0)))).any():
        low = np.inf  # a tie in the only criterion that counts, lost as soon as any other one counts
    return tuple(1.0 if np.isinf(x) else float(np.sqrt(x) / (1 + np.sqrt(x))) for x in (low, high))


@dataclass(frozen=True)
class WeightChange:
    """The smallest move of weight that gives `rival` (row of the matrix) the first place.

    `moved_fraction` is the share of all weight that changes hands; `weights` are the weights at which the two tie.
    """

    rival: int
    moved_fraction: float
    weights: np.ndarray


def smallest_change(matrix, objectives, weights, method: str = "ratio") -> WeightChange | None:
    """The least weight that must change hands before another option is first; None if no weights can do it.

    Weight goes from the criteria in which the winner leads the rival most to the one in which it trails most, until
    the two tie: the optimum of half the sum of absolute changes, as in a fractional knapsack. Only for the methods
    that are linear in the weights (`ratio`, `minmax`); None for the others, whose `weight_intervals` say as much as
    can be said in closed form.
    """
    weights = normalised(weights)
    if method not in _UTILITIES:
        return None
    utilities = _UTILITIES[method](matrix, objectives)
    winner = int(np.argmin(ranks(utilities @ weights)))
    gaps = _snapped(utilities[winner] - utilities)
    rivals = np.flatnonzero(gaps.min(axis=1) < 0)
    if not len(rivals):
        return None
    gaps = gaps[rivals]
    order = np.argsort(-gaps, axis=1, kind="stable")
    given = weights[order]
    gain = np.take_along_axis(gaps, order, axis=1) - gaps.min(axis=1, keepdims=True)
    gained_before = np.cumsum(given * gain, axis=1) - given * gain
    lead = np.maximum(gaps @ weights, 0)[:, None]
    needed = np.divide(lead - gained_before, gain, out=np.zeros_like(gain), where=gain > 0)
    taken = np.clip(needed, 0, given)
    moved = taken.sum(axis=1)
    nearest = int(np.argmin(moved))
    after = weights.copy()
    after[order[nearest]] -= taken[nearest]
    after[np.argmin(gaps[nearest])] += moved[nearest]
    return WeightChange(int(rivals[nearest]), float(moved[nearest]), after)


def first_share(matrix, objectives, method: str = "ratio") -> np.ndarray:
    """Share of 10,000 random weight sets in which each option is first; the shares add to 1.

    Weights are uniform over all non-negative weights that add to 1 (exponential draws; dividing them by their sum
    changes no order), with a fixed random state. Options with the same values share their wins equally.
    Time and memory grow with the number of options: some 30 ms for 800 options and 9 criteria.
    """
    count = len(matrix)
    if method == "price_performance":
        first = ranks(price_performance(matrix, objectives)) == 1
        return first / first.sum()
    draws = _weight_draws(np.shape(matrix)[1])
    if method == "topsis":
        features, draws = np.hstack(_squared_distances(matrix, objectives)), draws**2
    else:
        features = _UTILITIES[method](matrix, objectives)
    distinct, same = np.unique(np.round(features, 12), axis=0, return_inverse=True)
    same = same.reshape(count)
    wins = np.zeros(len(distinct))
    block = max(1, 2_000_000 // len(distinct))  # keeps the table of scores near 16 MB, inside the processor's cache
    for start in range(0, DRAWS, block):
        some = draws[start : start + block]
        if method == "topsis":
            best, worst = np.split(distinct, 2, axis=1)
            scores = _closeness(some @ best.T, some @ worst.T)
        else:
            scores = some @ distinct.T
        wins += np.bincount(scores.argmax(axis=1), minlength=len(distinct))
    return (wins / np.bincount(same))[same] / DRAWS


@lru_cache(maxsize=32)
def _weight_draws(criteria: int) -> np.ndarray:
    draws = np.random.default_rng(RANDOM_STATE).exponential(size=(DRAWS, criteria))
    draws.setflags(write=False)
    return draws


# ---- a table from a user -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scores:
    """What `score` answers; one entry per option or criterion, in the order given."""

    scores: tuple[float, ...]
    ranks: tuple[int, ...]
    weight_intervals: Mapping[str, tuple[float, float]]
    first_share: Mapping[str, float]
    smallest_change: Mapping | None  # {"rival": name, "moved_fraction", "weights": {criterion: weight}}
    warnings: tuple[Message, ...]


def score(options: Sequence, criteria: Sequence[Mapping], matrix, method: str = "ratio") -> Scores:
    """Scores, ranks and the firmness of the winner for a table of the user's.

    `criteria` are mappings with `name`, `objective` ("max" or "min") and `weight`. Refused with a sentence: an unknown
    method or objective, repeated names, a table that does not match the names, a cell that is no finite number
    (a missing value must be filled in visibly by whoever asks), weights that are negative or all 0.
    Weights that do not add to 1 are divided by their sum, with a warning.
    """
    if str(method) not in METHODS:
        raise GpudashError("scores.error_method", method=str(method), allowed=", ".join(METHODS))
    options = _names(options, "options")
    names, objectives, weights = _criteria(criteria)
    values = _cells(options, names, matrix)
    shares = normalised(weights)
    scores = METHODS[method](values, objectives, shares)
    change = smallest_change(values, objectives, shares, method)
    intervals = weight_intervals(values, objectives, shares, method)
    return Scores(
        scores=tuple(scores.tolist()),
        ranks=tuple(ranks(scores).tolist()),
        weight_intervals={name: tuple(pair) for name, pair in zip(names, intervals.tolist())},
        first_share=dict(zip(options, first_share(values, objectives, method).tolist())),
        smallest_change=change
        and {
            "rival": options[change.rival],
            "moved_fraction": change.moved_fraction,
            "weights": dict(zip(names, change.weights.tolist())),
        },
        warnings=_warnings(options, criteria, values, method),
    )


def _warnings(options, criteria, values, method) -> tuple[Message, ...]:
    said = []
    total = float(sum(criterion["weight"] for criterion in criteria))
    if abs(total - 1) > 1e-9:
        said.append(Message.of("scores.weights_renormalised", total=total))
    if len(options) == 1:
        said.append(Message.of("scores.single_option", option=options[0]))
    if method == "price_performance":
        said.append(Message.of("scores.weights_ignored"))
    if method == "ratio":
        for criterion, column in zip(criteria, values.T):
            if criterion["objective"] == "min" and column.min() == 0 < column.max():
                said.append(Message.of("scores.zero_is_best", criterion=str(criterion["name"])))
    return tuple(said)


def _names(names, what: str) -> list[str]:
    names = [str(name) for name in names] if isinstance(names, (list, tuple)) else []
    if not names:
        raise GpudashError(f"scores.error_no_{what}")
    if len(set(names)) < len(names):
        raise GpudashError("scores.error_repeated", name=next(name for name in names if names.count(name) > 1))
    return names


def _criteria(criteria) -> tuple[list[str], list[str], list[float]]:
    wanted = {"name", "objective", "weight"}
    if not isinstance(criteria, (list, tuple)):
        raise GpudashError("scores.error_no_criteria")
    for position, criterion in enumerate(criteria, start=1):
        if not isinstance(criterion, Mapping) or set(criterion) != wanted:
            raise GpudashError("scores.error_criterion_keys", position=position, wanted=", ".join(sorted(wanted)))
        if criterion["objective"] not in OBJECTIVES:
            raise GpudashError("scores.error_objective", name=str(criterion["name"]), value=str(criterion["objective"]))
        if not _is_number(criterion["weight"]):
            raise GpudashError("scores.error_weight", name=str(criterion["name"]), value=str(criterion["weight"]))
    names = _names([criterion["name"] for criterion in criteria], "criteria")
    return names, [c["objective"] for c in criteria], [float(c["weight"]) for c in criteria]


def _cells(options: list[str], names: list[str], matrix) -> np.ndarray:
    rows = _length(matrix)
    if rows != len(options):
        raise GpudashError("scores.error_rows", found=rows, expected=len(options))
    for option, row in zip(options, matrix):
        if _length(row) != len(names):
            raise GpudashError("scores.error_cells", option=option, found=_length(row), expected=len(names))
        for name, cell in zip(names, row):
            if not _is_number(cell) or not np.isfinite(cell):
                raise GpudashError("scores.error_cell", option=option, criterion=name, value=str(cell))
    return np.array(matrix, dtype=float)


def _length(row) -> int:
    return len(row) if isinstance(row, (list, tuple, np.ndarray)) else 0


def _is_number(value) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


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


def _squared_distances(matrix, objectives) -> tuple[np.ndarray, np.ndarray]:
    """Per option and criterion the squared distance to the best and to the worst value, before weights."""
    values, more = _checked(matrix, objectives)
    scaled = _scaled(values)
    length = np.sqrt((scaled**2).sum(axis=0))
    unit = scaled / np.where(length > 0, length, 1)
    low, high = unit.min(axis=0), unit.max(axis=0)
    return _snapped(unit - np.where(more, high, low)) ** 2, _snapped(unit - np.where(more, low, high)) ** 2


def _closeness(to_best: np.ndarray, to_worst: np.ndarray) -> np.ndarray:
    total = to_best + to_worst
    return np.divide(to_worst, total, out=np.ones_like(total), where=total > 0)


def _snapped(differences: np.ndarray) -> np.ndarray:
    """Differences of numbers between 0 and 1 without the last-digit noise that would otherwise decide ties."""
    return np.where(np.abs(differences) < EQUAL, 0.0, differences)


def _difference(minuend: np.ndarray, subtrahend: np.ndarray) -> np.ndarray:
    """minuend − subtrahend, 0 where the two differ only by rounding."""
    difference = minuend - subtrahend
    return np.where(np.abs(difference) <= EQUAL * (np.abs(minuend) + np.abs(subtrahend)), 0.0, difference)


def _rounded(scores) -> np.ndarray:
    scores = np.asarray(scores, dtype=float)
    size = np.abs(scores).max(initial=0)
    return np.round(scores / size, 12) if size > 0 else scores
