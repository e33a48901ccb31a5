"""How each layer of a demand is bought cheapest, for many offers at once; why that is exact: `gpudash.purchase_mix`."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpudash.layers import Layers
from gpudash.units import HOURS_PER_YEAR

KINDS = ("reserved_3y", "reserved_1y", "monthly", "on_demand", "spot")
COMMITMENTS = KINDS[:3]
LONG_TERM_YEARS = 3
TERM_YEARS = {"reserved_3y": LONG_TERM_YEARS, "reserved_1y": 1}
# What an hour costs that is not sold: far above any price; unlike infinity it may be multiplied by no hours at all.
NOT_SOLD_USD_PER_HOUR = 1e250
# A commitment must be cheaper by more than rounding, so that indifference never buys one.
_CLEARLY_CHEAPER = 1 + 1e-12


@dataclass(frozen=True)
class Terms:
    """The yearly terms within a horizon: of each one the hours to pay for, and those that lie after the horizon.

    `paid_hours` are net of the share that comes back for the hours after the horizon.
    """

    paid_hours: dict[str, np.ndarray]
    beyond_hours: dict[str, np.ndarray]

    @classmethod
    def of(cls, demand_layers: Layers, resale_fraction: float) -> "Terms":
        """The terms that a demand takes to cover its horizon."""
        horizon_hours = float(demand_layers.repeats.sum()) * demand_layers.period_hours
        paid, beyond = {}, {}
        for kind, years in TERM_YEARS.items():
            whole, count = years * HOURS_PER_YEAR, -(-demand_layers.years // years)
            beyond[kind] = np.zeros(count)
            beyond[kind][-1] = count * whole - horizon_hours  # no earlier term outlasts the horizon
            paid[kind] = whole - resale_fraction * beyond[kind]
        return cls(paid, beyond)


@dataclass(frozen=True)
class LayerChoice:
    """Per offer, for how many groups of layers each commitment is cheaper than anything shorter: always the lowest.

    `usd_per_hour` (kinds, offers): the prices it rests on. Groups covered up to and including each kind are
    `reserved_3y` (offers, three-year terms), `reserved_1y` (offers, years) and `monthly` (offers, periods).
    """

    layers: Layers
    usd_per_hour: np.ndarray
    reserved_3y: np.ndarray
    cheaper_by_year: np.ndarray
    cheaper_by_month: np.ndarray | int  # none where no month is subscribed to

    @cached_property
    def reserved_1y(self) -> np.ndarray:
        """Groups covered by 1-year terms or longer ones (offers, years)."""
        return np.maximum(self.cheaper_by_year, self.reserved_3y[:, np.arange(self.layers.years) // LONG_TERM_YEARS])

    @cached_property
    def monthly(self) -> np.ndarray:
        """Groups covered by any commitment (offers, periods)."""
        return np.maximum(self.cheaper_by_month, self.reserved_1y[:, self.layers.year])

    def served_hours(self) -> dict[str, np.ndarray]:
        """Useful server-hours by kind in one of each distinct period (offers, periods)."""
        view, period = self.layers, np.arange(len(self.layers.repeats))
        needed = view.hours_above[:, 0]
        left = [view.hours_above[period, groups] for groups in self._covered()]
        hours = {kind: above - below for kind, above, below in zip(COMMITMENTS, [needed, *left], left)}
        flexible = view.flexible_hours_above[period, self.monthly]
        hours["spot"] = np.where(self._uses_spot[:, None], flexible, 0.0)
        hours["on_demand"] = view.firm_hours_above[period, self.monthly] + (flexible - hours["spot"])
        return hours

    def committed_servers(self) -> dict[str, np.ndarray]:
        """Servers bought by each commitment: (offers, three-year terms), (offers, years), (offers, periods)."""
        stacked, year = self.layers.stacked_servers, np.arange(self.layers.years)
        return {
            "reserved_3y": stacked[self.reserved_3y],
            "reserved_1y": stacked[self.reserved_1y] - stacked[self.reserved_3y[:, year // LONG_TERM_YEARS]],
            "monthly": stacked[self.monthly] - stacked[self.reserved_1y[:, self.layers.year]],
        }

    def useful_hours(self) -> dict[str, np.ndarray]:
        """Server-hours served by kind over the whole horizon, per offer."""
        return {kind: _total(hours * self.layers.repeats) for kind, hours in self.served_hours().items()}

    def billed_hours(self, terms: Terms) -> dict[str, np.ndarray]:
        """Server-hours paid for by kind, per offer: of a commitment its whole terms, net of what is sold."""
        bought = self.committed_servers()
        billed = {kind: (bought[kind] * hours).sum(axis=1) for kind, hours in terms.paid_hours.items()}
        billed["monthly"] = (bought["monthly"] * self.layers.repeats).sum(axis=1) * self.layers.period_hours
        return self.useful_hours() | billed

    def held_servers(self) -> dict[str, np.ndarray]:
        """Servers under each commitment in every period of the horizon (offers, periods)."""
        bought, period = self.committed_servers(), self.layers.periods
        year = self.layers.year[period]
        yearly = {kind: bought[kind][:, year // years] for kind, years in TERM_YEARS.items()}
        return yearly | {"monthly": bought["monthly"][:, period]}

    def cash_usd(self, upfront_fraction: float) -> dict[str, np.ndarray]:
        """What is paid in every period of the horizon, by kind (offers, periods); what it leaves unpaid is not."""
        view, bought, served = self.layers, self.committed_servers(), self.served_hours()
        billed = {kind: served[kind][:, view.periods] for kind in ("on_demand", "spot")}
        billed |= {kind: held * view.period_hours for kind, held in self.held_servers().items()}
        for kind, years in TERM_YEARS.items():
            starts = np.flatnonzero(np.diff(view.year[view.periods] // years, prepend=-1))
            billed[kind] = billed[kind] * (1 - upfront_fraction)
            billed[kind][:, starts] += upfront_fraction * bought[kind] * float(years * HOURS_PER_YEAR)
        return {kind: usd_per_hour[:, None] * billed[kind] for kind, usd_per_hour in zip(KINDS, self.usd_per_hour)}

    def curve_hours(self) -> dict[str, np.ndarray]:
        """Hours one server of each group works per year, by the way they are bought (years, groups), of one offer."""
        view, group = self.layers, np.arange(len(self.layers.servers))
        covered = [groups[0][:, None] > group for groups in self._covered()]
        kind_hours = {
            kind: np.where(now & ~before, view.hours, 0.0)
            for kind, now, before in zip(COMMITMENTS, covered, [np.zeros_like(covered[0]), *covered])
        }
        flexible = view.hours - view.firm_hours if self._uses_spot[0] else np.zeros_like(view.hours)
        kind_hours["on_demand"] = np.where(covered[-1], 0.0, view.hours - flexible)
        kind_hours["spot"] = np.where(covered[-1], 0.0, flexible)
        return {
            kind: np.add.reduceat(hours * view.repeats[:, None], view.year_starts, axis=0)
            for kind, hours in kind_hours.items()
        }

    @property
    def _uses_spot(self) -> np.ndarray:
        *_, on_demand, spot = self.usd_per_hour
        return spot < on_demand

    def _covered(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Groups covered in each period by 3-year, by 1-year or longer, and by any commitment (offers, periods)."""
        year = self.layers.year
        return self.reserved_3y[:, year // LONG_TERM_YEARS], self.reserved_1y[:, year], self.monthly


def _total(per_period: np.ndarray) -> np.ndarray:
    """Sum over periods; in one memory order, so that an offer's total has the same last digit in any table."""
    return np.ascontiguousarray(per_period).sum(axis=1)


def choose(view: Layers, usd_per_hour: np.ndarray, terms: Terms, cap: int | None) -> tuple[LayerChoice, np.ndarray]:
    """The nested choice of every layer for every offer, and what a server of each then costs (offers, terms, groups).

    `usd_per_hour` (kinds, offers) has `NOT_SOLD_USD_PER_HOUR` where a way is not sold; by the month all these offers
    are sold or none is. At most `cap` servers are committed at once.
    """
    reserved_3y, reserved_1y, monthly, on_demand, spot = usd_per_hour[:, :, None, None]
    within_cap = None if cap is None else np.searchsorted(view.stacked_servers[1:], cap, side="right")

    def commit(cheapest, usd_per_hour, term_hours):
        """Groups that are cheaper by this term, one entry per term; `cheapest` then holds the better of both."""
        lowest, term_usd = cheapest[..., :within_cap], usd_per_hour * term_hours[:, None]
        groups = (term_usd * _CLEARLY_CHEAPER < lowest).sum(axis=2)
        np.minimum(lowest, term_usd, out=lowest)
        return groups

    flexible, by_month = np.minimum(on_demand, spot), 0
    cheapest = flexible * view.hours + (on_demand - flexible) * view.firm_hours  # (offers, periods, groups)
    if monthly[0] < NOT_SOLD_USD_PER_HOUR:
        by_month = commit(cheapest, monthly, np.array([view.period_hours]))
    if view.periods_per_year > 1:
        cheapest = np.add.reduceat(cheapest * view.repeats[:, None], view.year_starts, axis=1)
    by_year = commit(cheapest, reserved_1y, terms.paid_hours["reserved_1y"])
    cheapest = np.add.reduceat(cheapest, np.arange(0, view.years, LONG_TERM_YEARS), axis=1)
    by_long_term = commit(cheapest, reserved_3y, terms.paid_hours["reserved_3y"])
    return LayerChoice(view, usd_per_hour, by_long_term, by_year, by_month), cheapest
