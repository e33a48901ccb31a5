"""The smallest change of weights that gives another option the first place."""

from dataclasses import dataclass

import numpy as np

from gpudash.scores import EQUAL, METHODS, UTILITIES, difference, normalised, ranks, snapped, squared_distances

SEARCHED = 400  # random weight sets towards which the search goes, beside the criteria themselves
STEPS = 40  # steps of one way before the crossing is halved in
HALVINGS = 60
IMPROVEMENTS = 30
FURTHER = 2.0  # how far beyond a straight guess the crossing is looked for
RANDOM_STATE = 20_261_130


@dataclass(frozen=True)
class WeightChange:
    """The smallest move of weight that gives `rival` (row of the table) the first place.

    `moved_fraction` is the share of all weight that changes hands; `weights` are the weights at which the two tie.
    """

    rival: int
    moved_fraction: float
    weights: np.ndarray


def smallest_change(matrix, objectives, weights, method: str = "ratio") -> WeightChange | None:
    """The least weight that must change hands before another option is first; None if no weights can do it.

    Exact for `ratio` and `minmax`. For `topsis`, whose lead is no straight line, it is searched for: no way that moves
    weight from one criterion to another, or towards any of several hundred weight sets, gets there with less.
    None for `price_performance`, which has no weights.
    """
    weights = normalised(weights)
    if method == "price_performance":
        return None
    if method != "topsis":
        return linear_change(UTILITIES[method](matrix, objectives), weights)
    winner = int(np.argmin(ranks(METHODS[method](matrix, objectives, weights))))
    return _Topsis(*squared_distances(matrix, objectives), winner).change(weights)


def linear_change(utilities: np.ndarray, weights) -> WeightChange | None:
    """The same for utilities, whose weighted sum is the score.

    Weight goes from the criteria in which the winner leads the rival most to the one in which it trails most, until
    the two tie: the optimum of half the sum of absolute changes, as in a fractional knapsack.
    """
    weights = normalised(weights)
    winner = int(np.argmin(ranks(utilities @ weights)))
    gaps = snapped(utilities[winner] - utilities)
    rivals = np.flatnonzero(gaps.min(axis=1) < 0)
    if not len(rivals):
        return None
    gaps = gaps[rivals]
    after, moved = _least_moves(gaps, np.maximum(gaps @ weights, 0), weights)
    nearest = int(np.argmin(moved))
    return WeightChange(int(rivals[nearest]), float(moved[nearest]), after[nearest])


def _least_moves(slopes: np.ndarray, leads: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per row the weights nearest to `weights` at which a lead of `leads` with these slopes is used up.

    Everything goes to the criterion with the lowest slope, from the highest slopes first. Returns weights and share
    moved.
    """
    order = np.argsort(-slopes, axis=1, kind="stable")
    given = weights[order]
    lowest = slopes.min(axis=1, keepdims=True)
    gain = np.take_along_axis(slopes, order, axis=1) - lowest
    gained_before = np.cumsum(given * gain, axis=1) - given * gain
    needed = np.divide(leads[:, None] - gained_before, gain, out=np.zeros_like(gain), where=gain > 0)
    taken = np.clip(needed, 0, given)
    after = np.tile(weights, (len(slopes), 1))
    np.put_along_axis(after, order, given - taken, axis=1)
    after[np.arange(len(slopes)), slopes.argmin(axis=1)] += taken.sum(axis=1)
    return after, taken.sum(axis=1)


class _Topsis:
    """The leads of one option under TOPSIS, d⁻²(winner) d⁺²(i) − d⁻²(i) d⁺²(winner) for every rival i."""

    def __init__(self, to_best: np.ndarray, to_worst: np.ndarray, winner: int):
        self.to_best, self.to_worst, self.winner = to_best, to_worst, winner

    def leads(self, weights: np.ndarray) -> np.ndarray:
        """A row per weight set, a column per option; the sign says who is ahead."""
        best, worst = weights**2 @ self.to_best.T, weights**2 @ self.to_worst.T
        return difference(worst[:, [self.winner]] * best, worst * best[:, [self.winner]])

    def slopes(self, weights: np.ndarray, rival: int) -> np.ndarray:
        """How the lead over one rival grows with each weight."""
        best, worst = self.to_best @ weights**2, self.to_worst @ weights**2
        gains = self.to_worst[self.winner] * best[rival] + worst[self.winner] * self.to_best[rival]
        losses = self.to_worst[rival] * best[self.winner] + worst[rival] * self.to_best[self.winner]
        return 2 * weights * (gains - losses)

    def change(self, weights: np.ndarray) -> WeightChange | None:
        crossings = [found for end in self._ends(weights) if (found := self._crossing(weights, end)) is not None]
        if not crossings:
            return None
        best = min(crossings, key=lambda change: change.moved_fraction)
        for _ in range(IMPROVEMENTS):
            better = self._improved(weights, best)
            if better is None or better.moved_fraction >= best.moved_fraction - EQUAL:
                break
            best = better
        return best

    def _ends(self, weights: np.ndarray) -> np.ndarray:
        """Where the search goes: all of one weight given to another, all given to one, and random weight sets."""
        unit = np.eye(len(weights))
        pairs = [weights + weight * (other - own) for own, weight in zip(unit, weights) for other in unit if weight > 0]
        random = np.random.default_rng(RANDOM_STATE).dirichlet(np.ones(len(weights)), SEARCHED)
        return np.vstack([*pairs, unit, random])

    def _crossing(self, weights: np.ndarray, end: np.ndarray) -> WeightChange | None:
        """The first place on the straight way to `end` at which somebody else is ahead."""
        way = np.linspace(0, 1, STEPS + 1)
        behind = (self.leads(weights + way[:, None] * (end - weights)) < 0).any(axis=1)
        if not behind.any():
            return None
        other = way[behind.argmax()]
        same = max(other - 1 / STEPS, 0.0)
        for _ in range(HALVINGS):
            middle = (same + other) / 2
            if (self.leads((weights + middle * (end - weights))[None]) < 0).any():
                other = middle
            else:
                same = middle
        reached = weights + other * (end - weights)
        return WeightChange(int(self.leads(reached[None])[0].argmin()), _moved(weights, reached), reached)

    def _improved(self, weights: np.ndarray, found: WeightChange) -> WeightChange | None:
        """The least move if the lead were straight at the place found, followed until somebody is in fact ahead."""
        slopes = self.slopes(found.weights, found.rival)
        lead = max(float(slopes @ (weights - found.weights)), 0.0)
        (end,), _ = _least_moves(slopes[None], np.array([lead]), weights)
        given = end < weights
        further = (weights[given] / (weights - end)[given]).min(initial=FURTHER)  # as far as the weights reach
        return self._crossing(weights, weights + further * (end - weights))


def _moved(before: np.ndarray, after: np.ndarray) -> float:
    return float(np.abs(after - before).sum() / 2)
