"""The cheapest split over 3-year, 1-year, monthly, on-demand and spot purchase of a known demand, exact.

Servers are interchangeable, so the demand is cut into layers: layer k is needed whenever at least k servers are.
A plan that holds C committed servers in a period serves the layers 1 to C with them; stacking the 3-year servers
lowest, then the 1-year ones, then the monthly ones, gives every layer exactly one way of buying per period, and the
plan's cost is the sum over the layers. So no plan is below the sum of each layer's own minimum. That minimum is
attained, because a higher layer is needed in fewer hours: what it pays as you go falls with k, hence each kind of
commitment is worth buying for the lowest layers only, and those are again stacks. Inside one layer the choice is
nested: a month is bought by subscription or as you go; a year is reserved or is the sum of its best months; three
years are reserved or are the sum of their best years. The sum of minima is therefore the optimum of the
mixed-integer program, whatever the prices.

A commitment in money (a savings plan) on one offer is the same thing at the plan's rate: between two whole numbers of
servers its cost is a straight line, because what the plan does not cover is billed by the hour, so a whole number is
always among the cheapest.

Rules of the terms: a commitment is paid in full even where the horizon ends inside it; a share of the price of the
rest may come back by its sale then, which only changes the term's price; terms start at the beginning
of a year (1 year), of every third year (3 years) or of a month (subscription). A pay-as-you-go hour costs on-demand
where it is firm (may not be interrupted) and the lower of on-demand and spot elsewhere. Spot prices here already
carry their rework: see `gpudash.spot`.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gpudash.errors import GpudashError
from gpudash.layers import Layers
from gpudash.units import HOURS_PER_YEAR

KINDS = ("reserved_3y", "reserved_1y", "monthly", "on_demand", "spot")
COMMITMENTS = KINDS[:3]
LONG_TERM_YEARS = 3
TERM_YEARS = {"reserved_3y": LONG_TERM_YEARS, "reserved_1y": 1}
# A commitment must be cheaper by more than rounding, so that indifference never buys one.
_CLEARLY_CHEAPER = 1 + 1e-12
# Cells (offers x periods x layers) worked on at once: a few arrays of this size stay in the processor's cache.
_CHUNK_CELLS = 200_000


@dataclass(frozen=True)
class Mixes:
    """The cheapest mix of every offer, as columns; where not `feasible`, the total is infinite and the rest NaN.

    `usd` and `served_hours` hold one column per kind of purchase (`KINDS`); a served hour goes to a commitment first.
    `unused_usd`, per kind of commitment, is paid for hours that serve nothing, those after the horizon included, less
    what their sale brings. `first_usd` is the part of the total that is due in the first periods, as many as asked for.
    """

    total_usd: np.ndarray
    usd: dict[str, np.ndarray]
    served_hours: dict[str, np.ndarray]
    unused_usd: dict[str, np.ndarray]
    first_usd: np.ndarray
    feasible: np.ndarray

    @property
    def unused_commitment_usd(self) -> np.ndarray:
        return sum(self.unused_usd.values())


@dataclass(frozen=True)
class Plan:
    """The cheapest mix of one offer in detail; `usd`, `served_hours`, `held_servers` are per period (month) and kind.

    Yearly commitments are paid in equal parts over their term, after a share up front in the term's first period; what
    the horizon leaves unpaid falls due in its last period, is contained in `usd` there, and is shown apart in
    `beyond_horizon_usd` by kind. `resale_usd`, by kind, comes back in the last period and is not in `usd`: the total is
    the sum of `usd` less it. `curve_hours` (years, layers) per
    kind is the load-duration curve with the way each layer's hours are bought; its steps end at `curve_servers`.
    """

    total_usd: float
    reserved_3y_servers: np.ndarray
    reserved_1y_servers: np.ndarray
    monthly_servers: np.ndarray
    usd: dict[str, np.ndarray]
    served_hours: dict[str, np.ndarray]
    unused_usd: dict[str, float]
    beyond_horizon_usd: dict[str, float]
    resale_usd: dict[str, float]
    held_servers: dict[str, np.ndarray]
    curve_servers: np.ndarray
    curve_hours: dict[str, np.ndarray]

    @property
    def paid_usd(self) -> dict[str, float]:
        """What each way of buying costs over the whole time, less what the sale of unfinished terms brings."""
        return {kind: float(np.sum(usd)) - self.resale_usd.get(kind, 0.0) for kind, usd in self.usd.items()}

    @property
    def unused_commitment_usd(self) -> float:
        return sum(self.unused_usd.values())


@dataclass(frozen=True)
class _Prices:
    """USD per hour of one server, one entry per offer; NaN = not sold."""

    reserved_3y: np.ndarray
    reserved_1y: np.ndarray
    monthly: np.ndarray
    on_demand: np.ndarray
    spot: np.ndarray

    @classmethod
    def of(cls, **rates) -> "_Prices":
        columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(rate, dtype=float)) for rate in rates.values()))
        return cls(**dict(zip(rates, columns)))

    def take(self, rows: np.ndarray) -> "_Prices":
        return _Prices(*(getattr(self, kind)[rows] for kind in KINDS))

    @cached_property
    def flexible(self) -> np.ndarray:
        """What an hour costs that may be interrupted."""
        return np.fmin(self.on_demand, self.spot)

    @cached_property
    def uses_spot(self) -> np.ndarray:
        return ~np.isnan(self.spot) & ~(self.on_demand <= self.spot)


@dataclass(frozen=True)
class _Choice:
    """Per offer, how many groups of layers are covered by commitments up to and including each kind."""

    reserved_3y: np.ndarray  # (offers, three-year terms)
    reserved_1y: np.ndarray  # (offers, years)
    monthly: np.ndarray  # (offers, periods)
    layer_usd: np.ndarray  # (offers, groups), the cheapest purchase of one server over all periods

    @property
    def feasible(self) -> np.ndarray:
        return np.isfinite(self.layer_usd).all(axis=1)

    def by_period(self, demand_layers: Layers) -> "_Choice":
        """A choice made year by year, where no month is subscribed to, told period by period."""
        return replace(self, monthly=self.monthly[:, demand_layers.year])


@dataclass(frozen=True)
class Terms:
    """The yearly terms within a horizon: of each one the hours to pay for, and those that lie after the horizon.

    `paid_hours` are net of the share that comes back for the hours after the horizon.
    """

    paid_hours: dict[str, np.ndarray]
    beyond_hours: dict[str, np.ndarray]

    @classmethod
    def of(cls, demand_layers: Layers, resale_fraction: float) -> "Terms":
        periods = np.add.reduceat(demand_layers.repeats, demand_layers.year_starts)
        paid, beyond = {}, {}
        for kind, years in TERM_YEARS.items():
            within = np.add.reduceat(periods, np.arange(0, len(periods), years)) * demand_layers.period_hours
            whole = float(years * HOURS_PER_YEAR)
            beyond[kind] = whole - within
            paid[kind] = whole - resale_fraction * beyond[kind]
        return cls(paid, beyond)


def best_mix(
    demand_layers: Layers,
    *,
    on_demand_usd_per_hour,
    spot_usd_per_hour=np.nan,
    reserved_1y_usd_per_hour=np.nan,
    reserved_3y_usd_per_hour=np.nan,
    monthly_usd_per_hour=np.nan,
    commitment_cap_servers: int | None = None,
    resale_fraction: float = 0.0,
    upfront_fraction: float = 0.0,
    first_periods: int | None = None,
) -> Mixes:
    """The cheapest mix for every offer, all serving the same layers: the sum over layers of their cheapest purchase.

    Prices: USD per server-hour, one entry per offer or one number for all, NaN where not sold; spot with its rework.
    `commitment_cap_servers`: at most so many committed servers at once. `resale_fraction`: share of the price of a
    commitment's hours after the horizon that comes back. `upfront_fraction` moves payments of the yearly terms to their
    start, which matters for `first_usd` alone: the part due in the `first_periods` (in all of them if None).
    """
    prices = _Prices.of(
        reserved_3y=reserved_3y_usd_per_hour,
        reserved_1y=reserved_1y_usd_per_hour,
        monthly=monthly_usd_per_hour,
        on_demand=on_demand_usd_per_hour,
        spot=spot_usd_per_hour,
    )
    if commitment_cap_servers is not None:
        demand_layers = demand_layers.split_at(commitment_cap_servers)
    terms = Terms.of(demand_layers, resale_fraction)
    count = len(prices.on_demand)
    usd, served, unused = ({kind: np.zeros(count) for kind in kinds} for kinds in (KINDS, KINDS, COMMITMENTS))
    first_usd, feasible = np.full(count, np.nan), np.empty(count, dtype=bool)
    has_months = ~np.isnan(prices.monthly)
    for rows, view in ((has_months, demand_layers), (~has_months, demand_layers.by_year)):
        for chunk in _chunks(np.flatnonzero(rows), view):
            few = prices.take(chunk)
            choice = _choose(view, few, terms, commitment_cap_servers)
            per_period = _served_hours(view, few, choice)
            useful = {kind: _total(hours * view.repeats) for kind, hours in per_period.items()}
            billed = useful | _committed_hours(view, _committed_servers(view, choice), terms)
            feasible[chunk] = choice.feasible
            if first_periods is not None:
                monthly = choice if view is demand_layers else choice.by_period(demand_layers)
                cash = _cash_usd(demand_layers, few, monthly, upfront_fraction)
                first_usd[chunk] = sum(paid[:, :first_periods].sum(axis=1) for paid in cash.values())
            for kind in KINDS:
                served[kind][chunk] = useful[kind]
                usd[kind][chunk] = _money(getattr(few, kind), billed[kind])
            for kind in COMMITMENTS:
                unused[kind][chunk] = _money(getattr(few, kind), billed[kind] - useful[kind])
    for column in (*usd.values(), *served.values(), *unused.values()):
        column[~feasible] = np.nan
    total_usd = np.where(feasible, sum(usd.values()), np.inf)
    if first_periods is None:
        first_usd = total_usd
    return Mixes(total_usd, usd, served, unused, first_usd, feasible)


def plan(
    demand_layers: Layers,
    *,
    commitment_cap_servers: int | None = None,
    resale_fraction: float = 0.0,
    upfront_fraction: float = 0.0,
    **usd_per_hour: float,
) -> Plan:
    """The mix of `best_mix` for one offer in detail: servers per term, cash and hours per month, the curve's bands.

    `usd_per_hour`: the prices of `best_mix`, one number each. The total is the very number of `best_mix`, whatever
    share of the yearly commitments is paid up front.
    Raises `mix.nothing_covers` where no way of buying serves an hour.
    """
    columns = best_mix(
        demand_layers,
        commitment_cap_servers=commitment_cap_servers,
        resale_fraction=resale_fraction,
        **usd_per_hour,
    )
    if not columns.feasible[0]:
        raise GpudashError("mix.nothing_covers")
    prices = _Prices.of(**{kind: usd_per_hour.get(f"{kind}_usd_per_hour", np.nan) for kind in KINDS})
    if commitment_cap_servers is not None:
        demand_layers = demand_layers.split_at(commitment_cap_servers)
    terms = Terms.of(demand_layers, resale_fraction)
    choice = _choose(demand_layers, prices, terms, commitment_cap_servers)
    bought = _committed_servers(demand_layers, choice)
    held = {kind: servers[0] for kind, servers in _held_servers(demand_layers, bought).items()}
    usd = {kind: paid[0] for kind, paid in _cash_usd(demand_layers, prices, choice, upfront_fraction).items()}
    rate = {kind: float(_filled(getattr(prices, kind), 0.0)[0]) for kind in TERM_YEARS}
    beyond = {kind: rate[kind] * float(bought[kind][0] @ hours) for kind, hours in terms.beyond_hours.items()}
    for kind, whole_usd in beyond.items():
        usd[kind][-1] += (1 - upfront_fraction) * whole_usd
    return Plan(
        total_usd=float(columns.total_usd[0]),
        reserved_3y_servers=bought["reserved_3y"][0],
        reserved_1y_servers=bought["reserved_1y"][0],
        monthly_servers=held["monthly"],
        usd=usd,
        served_hours={
            kind: hours[0][_periods(demand_layers)]
            for kind, hours in _served_hours(demand_layers, prices, choice).items()
        },
        unused_usd={kind: float(columns.unused_usd[kind][0]) for kind in COMMITMENTS},
        beyond_horizon_usd={"monthly": 0.0} | {kind: (1 - upfront_fraction) * usd for kind, usd in beyond.items()},
        resale_usd={kind: resale_fraction * usd for kind, usd in beyond.items()},
        held_servers=held,
        curve_servers=demand_layers.stacked_servers[1:],
        curve_hours=_curve_hours(demand_layers, prices, choice),
    )


def server_usd(
    demand_layers: Layers,
    *,
    commitment_cap_servers: int | None = None,
    resale_fraction: float = 0.0,
    **usd_per_hour: float,
) -> np.ndarray:
    """What each server of the stack costs in the cheapest mix of one offer, lowest layer first; infinite if not sold.

    The sum of the first n is the cheapest mix of the lowest n layers; of all of them, the total of `best_mix`.
    """
    if commitment_cap_servers is not None:
        demand_layers = demand_layers.split_at(commitment_cap_servers)
    prices = _Prices.of(**{kind: usd_per_hour.get(f"{kind}_usd_per_hour", np.nan) for kind in KINDS})
    terms = Terms.of(demand_layers, resale_fraction)
    view = demand_layers if np.isfinite(prices.monthly[0]) else demand_layers.by_year
    return np.repeat(_choose(view, prices, terms, commitment_cap_servers).layer_usd[0], demand_layers.servers)


def break_even_utilisation(committed_usd_per_hour, on_demand_usd_per_hour):
    """Share of its hours a commitment must be busy to cost the same as on-demand: rate paid / on-demand rate."""
    return committed_usd_per_hour / on_demand_usd_per_hour


def _total(per_period: np.ndarray) -> np.ndarray:
    """Sum over periods; in one memory order, so that an offer's total has the same last digit in any table."""
    return np.ascontiguousarray(per_period).sum(axis=1)


def _money(usd_per_hour, hours):
    """Price x hours, where hours that are not bought cost nothing even if they have no price."""
    return np.where(hours > 0, usd_per_hour * hours, 0.0)


def _filled(usd_per_hour: np.ndarray, where_not_sold: float) -> np.ndarray:
    return np.where(np.isnan(usd_per_hour), where_not_sold, usd_per_hour)


def _chunks(rows: np.ndarray, view: Layers):
    step = max(1, _CHUNK_CELLS // max(1, view.hours.size))
    return (rows[start : start + step] for start in range(0, len(rows), step))


def _choose(view: Layers, prices: _Prices, terms: Terms, cap: int | None) -> _Choice:
    """The nested choice of every layer, for every offer at once; see the module's description."""
    beyond_cap = np.zeros(len(view.servers))
    if cap is not None:
        beyond_cap[view.stacked_servers[1:] > cap] = np.inf

    def groups_committed(usd_per_hour, term_hours):
        """How many groups are cheaper by this term, one entry per term; `cheapest` then holds the better of both."""
        term_usd = _filled(usd_per_hour[:, None] * term_hours, np.inf)[:, :, None] + beyond_cap
        count = (term_usd * _CLEARLY_CHEAPER < cheapest).sum(axis=2)
        np.minimum(cheapest, term_usd, out=cheapest)
        return count

    cheapest = _pay_as_you_go_usd(view, prices)  # (offers, periods, groups)
    monthly = groups_committed(prices.monthly, np.array([view.period_hours]))
    cheapest = np.add.reduceat(cheapest * view.repeats[:, None], view.year_starts, axis=1)
    reserved_1y = groups_committed(prices.reserved_1y, terms.paid_hours["reserved_1y"])
    year = np.arange(len(view.year_starts))
    cheapest = np.add.reduceat(cheapest, year[::LONG_TERM_YEARS], axis=1)
    reserved_3y = groups_committed(prices.reserved_3y, terms.paid_hours["reserved_3y"])

    reserved_1y = np.maximum(reserved_1y, reserved_3y[:, year // LONG_TERM_YEARS])
    monthly = np.maximum(monthly, reserved_1y[:, view.year])
    return _Choice(reserved_3y, reserved_1y, monthly, cheapest.sum(axis=1))


def _pay_as_you_go_usd(view: Layers, prices: _Prices) -> np.ndarray:
    """Cost of one server of each layer in each period if nothing is committed; infinite where nothing is sold."""
    flexible = _filled(prices.flexible, 0.0)[:, None, None]
    extra_if_firm = _filled(prices.on_demand, 0.0)[:, None, None] - flexible
    usd = flexible * view.hours
    usd += extra_if_firm * view.firm_hours
    for missing, hours in (
        (np.isnan(prices.on_demand), view.firm_hours),
        (np.isnan(prices.flexible), view.hours),
    ):
        if missing.any():
            usd[missing] = np.where(hours > 0, np.inf, usd[missing])
    return usd


def _covered(view: Layers, choice: _Choice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups covered in each period by 3-year, by 1-year or longer, and by any commitment (offers, periods)."""
    return choice.reserved_3y[:, view.year // LONG_TERM_YEARS], choice.reserved_1y[:, view.year], choice.monthly


def _served_hours(view: Layers, prices: _Prices, choice: _Choice) -> dict[str, np.ndarray]:
    """Useful server-hours by kind in one of each distinct period (offers, periods)."""
    period = np.arange(len(view.repeats))
    needed = view.hours_above[:, 0]
    left = [view.hours_above[period, groups] for groups in _covered(view, choice)]
    hours = {kind: above - below for kind, above, below in zip(COMMITMENTS, [needed, *left], left)}
    flexible = view.flexible_hours_above[period, choice.monthly]
    hours["spot"] = np.where(prices.uses_spot[:, None], flexible, 0.0)
    hours["on_demand"] = view.firm_hours_above[period, choice.monthly] + (flexible - hours["spot"])
    return hours


def _committed_servers(view: Layers, choice: _Choice) -> dict[str, np.ndarray]:
    """Servers bought by each commitment: (offers, three-year terms), (offers, years), (offers, periods)."""
    stacked = view.stacked_servers
    year = np.arange(len(view.year_starts))
    return {
        "reserved_3y": stacked[choice.reserved_3y],
        "reserved_1y": stacked[choice.reserved_1y] - stacked[choice.reserved_3y[:, year // LONG_TERM_YEARS]],
        "monthly": stacked[choice.monthly] - stacked[choice.reserved_1y[:, view.year]],
    }


def _committed_hours(view: Layers, servers: dict[str, np.ndarray], terms: Terms) -> dict[str, np.ndarray]:
    """Server-hours paid by each commitment over its whole terms, net of those that are sold again, per offer."""
    yearly = {kind: (servers[kind] * hours).sum(axis=1) for kind, hours in terms.paid_hours.items()}
    return yearly | {"monthly": (servers["monthly"] * view.repeats).sum(axis=1) * view.period_hours}


def _periods(demand_layers: Layers) -> np.ndarray:
    """The distinct period that each period of the horizon is alike to."""
    return np.repeat(np.arange(len(demand_layers.repeats)), demand_layers.repeats)


def _held_servers(demand_layers: Layers, bought: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Servers under each commitment in every period of the horizon (offers, periods)."""
    period = _periods(demand_layers)
    year = demand_layers.year[period]
    yearly = {kind: bought[kind][:, year // years] for kind, years in TERM_YEARS.items()}
    return yearly | {"monthly": bought["monthly"][:, period]}


def _cash_usd(
    demand_layers: Layers, prices: _Prices, choice: _Choice, upfront_fraction: float
) -> dict[str, np.ndarray]:
    """What is paid in every period of the horizon, by kind (offers, periods); what it leaves unpaid is not in it."""
    period = _periods(demand_layers)
    year = demand_layers.year[period]
    bought = _committed_servers(demand_layers, choice)
    served = _served_hours(demand_layers, prices, choice)
    billed = {kind: served[kind][:, period] for kind in ("on_demand", "spot")}
    billed |= {kind: held * demand_layers.period_hours for kind, held in _held_servers(demand_layers, bought).items()}
    for kind, years in TERM_YEARS.items():
        starts = np.flatnonzero(np.diff(year // years, prepend=-1))
        billed[kind] = billed[kind] * (1 - upfront_fraction)
        billed[kind][:, starts] += upfront_fraction * bought[kind] * float(years * HOURS_PER_YEAR)
    return {kind: _filled(getattr(prices, kind), 0.0)[:, None] * billed[kind] for kind in KINDS}


def _curve_hours(view: Layers, prices: _Prices, choice: _Choice) -> dict[str, np.ndarray]:
    """Hours one server of each group works per year, by the way they are bought (years, groups), of a single offer."""
    group = np.arange(len(view.servers))
    covered = [groups[0][:, None] > group for groups in _covered(view, choice)]
    kind_hours = {
        kind: np.where(now & ~before, view.hours, 0.0)
        for kind, now, before in zip(COMMITMENTS, covered, [np.zeros_like(covered[0]), *covered])
    }
    flexible = view.hours - view.firm_hours if prices.uses_spot[0] else np.zeros_like(view.hours)
    kind_hours["on_demand"] = np.where(covered[-1], 0.0, view.hours - flexible)
    kind_hours["spot"] = np.where(covered[-1], 0.0, flexible)
    return {
        kind: np.add.reduceat(hours * view.repeats[:, None], view.year_starts, axis=0)
        for kind, hours in kind_hours.items()
    }
