"""How firm the first place is: how far each weight may move, how often random weights agree, and what others do to it.

Of several options in first place the first listed is followed; a shared first place counts as first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpudash.scores import EQUAL, METHODS, UTILITIES, difference, normalised, ranks, snapped, squared_distances

DRAWS = 10_000
RANDOM_STATE = 20_261_130
SCORES_IN_CACHE = 500_000  # keeps a table of scores near 4 MB


# ---- how far each weight may move --------------------------------------------------------------------------------


def weight_intervals(matrix, objectives, weights, method: str = "ratio") -> np.ndarray:
    """Per criterion [low, high]: the weights at which today's winner stays first.

    One weight moves from 0 to 1, the others keep their ratio and fill up to 1 (equal shares if they are all 0).
    Exact: along this line the lead over each rival is a straight line for `ratio` and `minmax`, and a quadratic in
    (w / (1 − w))² for `topsis`. `price_performance` ignores weights, so every interval is [0, 1].
    """
    weights = normalised(weights)
    if method == "price_performance":
        return np.tile([0.0, 1.0], (len(weights), 1))
    if method != "topsis":
        return linear_weight_intervals(UTILITIES[method](matrix, objectives), weights)
    distances = squared_distances(matrix, objectives)
    winner = int(np.argmin(ranks(METHODS[method](matrix, objectives, weights))))
    lines = (_topsis_interval(distances, winner, weights, criterion) for criterion in range(len(weights)))
    return _around(weights, lines)


def linear_weight_intervals(utilities: np.ndarray, weights) -> np.ndarray:
    """The same for utilities, whose weighted sum is the score."""
    weights = normalised(weights)
    ends = np.eye(len(weights))
    lines = (straight_interval(utilities, weights, _others(weights, row), ends[row]) for row in range(len(weights)))
    return _around(weights, lines)


def straight_interval(utilities: np.ndarray, weights, start, end) -> tuple[float, float]:
    """The part of the way from the weights `start` (0) to the weights `end` (1) on which today's winner is first."""
    winner = int(np.argmin(ranks(utilities @ weights)))
    gaps = utilities[winner] - utilities
    at_start, at_end = snapped(gaps @ start), snapped(gaps @ end)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = at_start / (at_start - at_end)
    return float(crossing[at_start < 0].max(initial=0.0)), float(crossing[at_end < 0].min(initial=1.0))


def _around(weights: np.ndarray, lines: Iterator[tuple[float, float]]) -> np.ndarray:
    """The winner is first at its own weights, whatever rounding says; a criterion alone has nothing to move."""
    if len(weights) == 1:
        return np.array([[0.0, 1.0]])
    return np.array([(min(low, weight), max(high, weight)) for weight, (low, high) in zip(weights, lines)])


def _others(weights: np.ndarray, criterion: int) -> np.ndarray:
    """The weights beside one criterion when that one is 0: today's ratio, adding to 1; equal if all are 0."""
    others = weights.copy()
    others[criterion] = 0
    if not others.any():
        others = 1.0 - np.eye(len(weights))[criterion]
    return others / others.sum()


def _topsis_interval(distances, winner: int, weights, criterion: int) -> tuple[float, float]:
    """The winner leads rival i while d⁻²(winner) d⁺²(i) ≥ d⁻²(i) d⁺²(winner); all four are linear in x = (w/(1−w))²."""
    (to_best, to_worst), weight, others = distances, weights[criterion], _others(weights, criterion)
    best_slope, worst_slope = to_best[:, criterion], to_worst[:, criterion]
    best_rest, worst_rest = to_best @ others**2, to_worst @ others**2
    a = difference(worst_slope[winner] * best_slope, worst_slope * best_slope[winner])
    b = difference(
        worst_slope[winner] * best_rest + worst_rest[winner] * best_slope,
        worst_slope * best_rest[winner] + worst_rest * best_slope[winner],
    )
    c = difference(worst_rest[winner] * best_rest, worst_rest * best_rest[winner])
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


# ---- random weights ----------------------------------------------------------------------------------------------


def first_share(matrix, objectives, method: str = "ratio") -> np.ndarray:
    """Share of 10,000 random weight sets in which each option is first; the shares add to 1.

    Weights are uniform over all non-negative weights that add to 1 (exponential draws; dividing them by their sum
    changes no order), with a fixed random state. Options with the same values share their wins equally.
    Time and memory grow with the number of options: some 15 ms for 800 options and 9 criteria.
    """
    if method == "price_performance":
        first = ranks(METHODS[method](matrix, objectives)) == 1
        return first / first.sum()
    if method != "topsis":
        return linear_first_share(UTILITIES[method](matrix, objectives))
    to_best, to_worst = squared_distances(matrix, objectives)
    draws = _weight_draws(to_best.shape[1]) ** 2

    def closest(features: np.ndarray, some: np.ndarray, room: np.ndarray) -> np.ndarray:
        best, worst = np.split(features, 2, axis=1)
        scores, total = np.matmul(some, worst.T, out=room[0]), np.matmul(some, (best + worst).T, out=room[1])
        with np.errstate(invalid="ignore"):  # all options equal in all that counts: the first of them
            return np.divide(scores, total, out=scores).argmax(axis=1)

    return _shares(np.hstack([to_best, to_worst]), draws, closest)


def linear_first_share(utilities: np.ndarray) -> np.ndarray:
    """The same for utilities, whose weighted sum is the score."""

    def highest(features: np.ndarray, some: np.ndarray, room: np.ndarray) -> np.ndarray:
        return np.matmul(some, features.T, out=room[0]).argmax(axis=1)

    return _shares(utilities, _weight_draws(utilities.shape[1]), highest)


def _shares(features: np.ndarray, draws: np.ndarray, first_of) -> np.ndarray:
    """Share of the draws in which each row of the features is first, by blocks that fit the processor's cache.

    `first_of` gets the features, a block of draws and room for two tables of scores: asking the system for such tables
    block by block takes longer than filling them.
    """
    distinct, same = np.unique(np.round(features, 12), axis=0, return_inverse=True)
    same = same.reshape(len(features))
    wins = np.zeros(len(distinct))
    block = max(1, SCORES_IN_CACHE // len(distinct))
    room = np.empty((2, block, len(distinct)))
    for start in range(0, len(draws), block):
        some = draws[start : start + block]
        wins += np.bincount(first_of(distinct, some, room[:, : len(some)]), minlength=len(distinct))
    return (wins / np.bincount(same))[same] / len(draws)


@lru_cache(maxsize=32)
def _weight_draws(criteria: int) -> np.ndarray:
    draws = np.random.default_rng(RANDOM_STATE).exponential(size=(DRAWS, criteria))
    draws.setflags(write=False)
    return draws


# ---- what other options do to the winner -------------------------------------------------------------------------


@dataclass(frozen=True)
class Reversal:
    """A loser that becomes worst in one criterion, and the option that is first then; rows and column of the table."""

    loser: int
    criterion: int
    first: int


@dataclass(frozen=True)
class Stability:
    """The first two by one method, and whether the others can take the first place away without getting better.

    `after_poor` is the first once an option that is worst in everything is added. `reversals` are all the cases, of
    `tried`, in which a loser gets worse and the winner is another one.
    """

    first: int
    second: int | None
    after_poor: int
    tried: int
    reversals: tuple[Reversal, ...]

    @property
    def is_stable(self) -> bool:
        """Whether no other option can take the first place without getting better."""
        return self.after_poor == self.first and not self.reversals


def stability(matrix, objectives, weights, method: str, eligible: int, losers: int) -> Stability:
    """The rank reversal test: a poor option added, and each loser made worst in each criterion in turn.

    Only the first `eligible` options can be first. Tried are the best `losers` of them and whoever holds the best value
    of a criterion. Raises what the method raises.
    """
    values, score = np.asarray(matrix, dtype=float), METHODS[method]

    def ranked(table) -> np.ndarray:
        return np.argsort(ranks(score(table, objectives, weights)[:eligible]), kind="stable")

    order = ranked(values)
    more = np.asarray(objectives) == "max"
    worst = np.where(more, values.min(axis=0), values.max(axis=0))
    holders = np.where(more, values.argmax(axis=0), values.argmin(axis=0))
    tested = [row for row in dict.fromkeys([*order[: losers + 1], *holders]) if row != order[0]]
    cases = [(row, column) for row in tested for column in range(len(worst)) if values[row, column] != worst[column]]
    reversals = []
    for loser, criterion in cases:
        worsened = values.copy()
        worsened[loser, criterion] = worst[criterion]
        first = ranked(worsened)[0]
        if first != order[0]:
            reversals.append(Reversal(int(loser), criterion, int(first)))
    second = int(order[1]) if eligible > 1 else None
    poor = int(ranked(np.vstack([values, worst]))[0])
    return Stability(int(order[0]), second, poor, len(cases), tuple(reversals))
