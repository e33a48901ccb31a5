"""A demand in whole servers cut into layers: layer k is needed whenever at least k servers are.

Neighbouring layers that are needed in the same hours form one group, so that ten thousand servers take no more room
than the distinct values of the demand; equal consecutive months are kept once.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpudash.units import HOURS_PER_YEAR, MONTHS_PER_YEAR


@dataclass(frozen=True)
class Layers:
    """Demand by layer: K groups of equally used servers, P distinct periods (runs of equal months).

    `servers` (K) counts the servers of a group, lowest layer first; `hours` and `firm_hours` (P, K) are the hours one
    such server is needed in one period, and the part of them that may not be interrupted; `repeats` (P) is how many
    consecutive periods are alike; `year` (P) numbers the year, from 0; `periods_per_year` is 12 for months.
    """

    servers: np.ndarray
    hours: np.ndarray
    firm_hours: np.ndarray
    repeats: np.ndarray
    year: np.ndarray
    periods_per_year: int

    @property
    def period_hours(self) -> float:
        """Hours of one period."""
        return HOURS_PER_YEAR / self.periods_per_year

    @property
    def years(self) -> int:
        """Years that the demand touches, the last one perhaps in part."""
        return int(self.year[-1]) + 1

    @cached_property
    def periods(self) -> np.ndarray:
        """The distinct period that each period of the horizon is alike to."""
        return np.repeat(np.arange(len(self.repeats)), self.repeats)

    @cached_property
    def year_starts(self) -> np.ndarray:
        """Index of the first distinct period of each year."""
        return np.flatnonzero(np.diff(self.year, prepend=-1))

    @cached_property
    def stacked_servers(self) -> np.ndarray:
        """Servers in the lowest 0, 1 ... K groups (K + 1)."""
        return np.concatenate(([0], np.cumsum(self.servers)))

    @cached_property
    def hours_above(self) -> np.ndarray:
        """Server-hours of one period in the groups above the lowest 0, 1 ... K (P, K + 1)."""
        return _sums_above(self.hours * self.servers)

    @cached_property
    def firm_hours_above(self) -> np.ndarray:
        """The same of the hours that may not be interrupted (P, K + 1)."""
        return _sums_above(self.firm_hours * self.servers)

    @cached_property
    def flexible_hours_above(self) -> np.ndarray:
        """The same of the hours that may be (P, K + 1)."""
        return _sums_above((self.hours - self.firm_hours) * self.servers)

    @cached_property
    def by_year(self) -> "Layers":
        """The same demand with years as periods: enough where no monthly subscription is sold."""
        if self.periods_per_year == 1:
            return self
        return Layers(
            self.servers,
            np.add.reduceat(self.hours * self.repeats[:, None], self.year_starts, axis=0),
            np.add.reduceat(self.firm_hours * self.repeats[:, None], self.year_starts, axis=0),
            np.ones(len(self.year_starts), dtype=int),
            np.arange(len(self.year_starts)),
            periods_per_year=1,
        )

    @property
    def server_hours(self) -> float:
        """Hours of all servers over all periods."""
        return float((self.hours_above[:, 0] * self.repeats).sum())

    def above(self, taken: np.ndarray) -> "Layers":
        """What is left when the lowest `taken` servers of each period (before alike ones are merged) serve elsewhere.

        Layer k of what is left is layer k + taken of the whole, in every period.
        """
        if not taken.any():
            return self
        period = np.repeat(np.arange(len(self.repeats)), self.repeats)
        levels = np.unique(np.concatenate([self.stacked_servers - count for count in np.unique(taken)] + [[0]]))
        levels = levels[(levels >= 0) & (levels < self.stacked_servers[-1])]
        group = np.searchsorted(self.stacked_servers, levels[None, :] + taken[:, None], side="right") - 1
        nothing = np.zeros((len(period), 1))
        hours, firm_hours = (
            np.take_along_axis(np.hstack([x[period], nothing]), group, axis=1) for x in (self.hours, self.firm_hours)
        )
        widths = np.diff(levels, append=self.stacked_servers[-1])
        repeats = np.ones(len(period), dtype=int)
        return Layers(widths, hours, firm_hours, repeats, self.year[period], self.periods_per_year)

    def split_at(self, server_count: int) -> "Layers":
        """The same layers with a boundary after the lowest `server_count` servers."""
        stacked = self.stacked_servers
        if server_count in stacked or not 0 < server_count < stacked[-1]:
            return self
        group = int(np.searchsorted(stacked, server_count)) - 1
        widths = np.insert(self.servers, group, server_count - stacked[group])
        widths[group + 1] -= widths[group]
        hours, firm_hours = (np.insert(x, group, x[:, group], axis=1) for x in (self.hours, self.firm_hours))
        return Layers(widths, hours, firm_hours, self.repeats, self.year, self.periods_per_year)


def layers(demand, firm=None, slot_weights=None, periods_per_year: int = MONTHS_PER_YEAR) -> Layers:
    """Run-length layers of a demand in whole servers per period and slot.

    Layer k's hours in period p = period hours x share of slots with demand[p, slot] >= k; groups of layers between
    two neighbouring distinct values are alike, so the result grows with the distinct values, not with the servers.
    `demand` and `firm` (periods, slots): whole servers, firm <= demand (`None`: nothing may be interrupted).
    `slot_weights`: relative lengths of the slots, equal if `None`; together they make up the period.
    """
    months = np.array([demand] if firm is None else [demand, firm], dtype=np.int64)
    year = np.arange(months.shape[1]) // periods_per_year
    is_new = (months[:, 1:] != months[:, :-1]).any(axis=(0, 2)) | (year[1:] != year[:-1])
    edges = np.flatnonzero(np.concatenate(([True], is_new, [True])))
    starts = edges[:-1]
    levels, hours = _hours_by_level(months.take(starts, axis=1), slot_weights, HOURS_PER_YEAR / periods_per_year)
    widths, repeats = levels[1:] - levels[:-1], edges[1:] - starts
    return Layers(widths, hours[0], hours[-1], repeats, year[starts], periods_per_year)


def _hours_by_level(servers: np.ndarray, weights, period_hours: float) -> tuple[np.ndarray, np.ndarray]:
    """The distinct numbers of servers, none first, and the hours in which at least so many are asked for.

    `servers` has the slots last; in the hours, the levels above none stand there instead.
    """
    levels, level = _levels(servers)
    shape = (*servers.shape[:-1], len(levels))
    first = np.arange(0, math.prod(shape), len(levels)).reshape(*shape[:-1], 1)
    if weights is not None:
        weights = np.broadcast_to(np.asarray(weights, dtype=float), servers.shape).ravel()
    exactly = np.bincount((first + level).ravel(), weights, math.prod(shape)).reshape(shape)
    at_least = exactly[..., ::-1].cumsum(axis=-1)[..., ::-1]
    return levels, period_hours * (at_least[..., 1:] / at_least[..., :1])


def _levels(servers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct numbers of servers, none first, and the place among them of every number.

    They are marked in a list where they are small, and sorted where they are not.
    """
    most = int(servers.max(initial=0))
    if most > servers.size:
        levels = np.union1d(0, servers)
        return levels, np.searchsorted(levels, servers)
    occurs = np.zeros(most + 1, dtype=bool)
    occurs[servers] = True
    occurs[0] = True
    return np.flatnonzero(occurs), (occurs.cumsum() - 1)[servers]


def _sums_above(server_hours: np.ndarray) -> np.ndarray:
    sums = np.zeros((server_hours.shape[0], server_hours.shape[1] + 1))
    sums[:, :-1] = server_hours[:, ::-1].cumsum(axis=1)[:, ::-1]
    return sums
