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

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gpudash.errors import GpudashError
from gpudash.layer_choice import COMMITMENTS, KINDS, NOT_SOLD_USD_PER_HOUR, TERM_YEARS, LayerChoice, Terms, choose
from gpudash.layers import Layers

# What needs a way that is not sold costs more than this, however short the need is; nothing else ever does.
_MOST_USD = 1e200
_ROUNDING = 1e-9  # a smaller share of the hours paid for is a difference of last digits, and no idle hour
# Cells (offers x periods x layers) worked on at once: a few arrays of this size stay in the processor's cache.
_CHUNK_CELLS = 200_000


@dataclass(frozen=True)
class Mixes:
    """The cheapest mix of every offer, as columns; where not `feasible`, the total is infinite and the rest NaN.

    Only the total is worked out for all; what it is made of, when it is asked for. `usd` and `served_hours` hold one
    column per kind of purchase (`KINDS`); a served hour goes to a commitment first. `unused_usd`, per kind of
    commitment, is paid for hours that serve nothing, those after the horizon included, less what their sale brings.
    `first_usd` is the part of the total that is due in the first periods, as many as asked for.
    """

    total_usd: np.ndarray
    usd_per_hour: np.ndarray  # (kinds, offers)
    choices: tuple[tuple[np.ndarray, LayerChoice], ...]  # with the rows of the offers they are of
    demand_layers: Layers
    terms: Terms
    upfront_fraction: float
    first_periods: int | None

    @property
    def feasible(self) -> np.ndarray:
        """Whether every hour can be bought, per offer."""
        return np.isfinite(self.total_usd)

    @cached_property
    def usd(self) -> dict[str, np.ndarray]:
        """What is paid, by kind."""
        return {kind: rate * self._billed_hours[kind] for kind, rate in zip(KINDS, self.usd_per_hour)}

    @cached_property
    def served_hours(self) -> dict[str, np.ndarray]:
        """Useful server-hours, by kind."""
        return self._columns(LayerChoice.useful_hours)

    @cached_property
    def unused_usd(self) -> dict[str, np.ndarray]:
        """What is paid for hours that serve nothing, by kind of commitment."""
        idle = {kind: self._billed_hours[kind] - self.served_hours[kind] for kind in COMMITMENTS}
        return {
            kind: rate * np.where(idle[kind] <= _ROUNDING * self._billed_hours[kind], 0.0, idle[kind])
            for kind, rate in zip(COMMITMENTS, self.usd_per_hour)
        }

    @property
    def unused_commitment_usd(self) -> np.ndarray:
        """What is paid for hours that serve nothing."""
        return sum(self.unused_usd.values())

    @cached_property
    def first_usd(self) -> np.ndarray:
        """What is due in the first periods."""
        if self.first_periods is None:
            return self.total_usd
        return sum(self._columns(self._first_usd).values())

    @cached_property
    def _billed_hours(self) -> dict[str, np.ndarray]:
        return self._columns(lambda choice: choice.billed_hours(self.terms))

    def _first_usd(self, choice: LayerChoice) -> dict[str, np.ndarray]:
        cash = replace(choice, layers=self.demand_layers).cash_usd(self.upfront_fraction)
        return {kind: paid[:, : self.first_periods].sum(axis=1) for kind, paid in cash.items()}

    def _columns(self, of_choice: Callable[[LayerChoice], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """One column per kind of purchase, put together from those of the choices."""
        columns = {kind: np.full(len(self.total_usd), np.nan) for kind in KINDS}
        for rows, choice in self.choices:
            for kind, values in of_choice(choice).items():
                columns[kind][rows] = np.where(self.feasible[rows], values, np.nan)
        return columns


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
        """What is paid for hours that serve nothing."""
        return sum(self.unused_usd.values())


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
    usd_per_hour = _price_table(
        reserved_3y_usd_per_hour,
        reserved_1y_usd_per_hour,
        monthly_usd_per_hour,
        on_demand_usd_per_hour,
        spot_usd_per_hour,
    )
    if commitment_cap_servers is not None:
        demand_layers = demand_layers.split_at(commitment_cap_servers)
    terms = Terms.of(demand_layers, resale_fraction)
    total_usd, choices = np.empty(usd_per_hour.shape[1]), []
    for rows, view in _views(demand_layers, usd_per_hour):
        choice, usd = choose(view, usd_per_hour[:, rows], terms, commitment_cap_servers)
        total_usd[rows] = (usd * view.servers).sum(axis=(1, 2))
        choices.append((rows, choice))
    total_usd[total_usd > _MOST_USD] = np.inf
    return Mixes(total_usd, usd_per_hour, tuple(choices), demand_layers, terms, upfront_fraction, first_periods)


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
    mixes = best_mix(
        demand_layers,
        commitment_cap_servers=commitment_cap_servers,
        resale_fraction=resale_fraction,
        **usd_per_hour,
    )
    if not mixes.feasible[0]:
        raise GpudashError("mix.nothing_covers")
    ((_, choice),) = mixes.choices
    choice = replace(choice, layers=mixes.demand_layers)  # told by month even if made by year
    bought = choice.committed_servers()
    held = {kind: servers[0] for kind, servers in choice.held_servers().items()}
    usd = {kind: paid[0] for kind, paid in choice.cash_usd(upfront_fraction).items()}
    beyond = {
        kind: float(rate[0]) * float(bought[kind][0] @ mixes.terms.beyond_hours[kind])
        for kind, rate in zip(KINDS, mixes.usd_per_hour)
        if kind in TERM_YEARS
    }
    for kind, whole_usd in beyond.items():
        usd[kind][-1] += (1 - upfront_fraction) * whole_usd
    return Plan(
        total_usd=float(mixes.total_usd[0]),
        reserved_3y_servers=bought["reserved_3y"][0],
        reserved_1y_servers=bought["reserved_1y"][0],
        monthly_servers=held["monthly"],
        usd=usd,
        served_hours={kind: hours[0][choice.layers.periods] for kind, hours in choice.served_hours().items()},
        unused_usd={kind: float(mixes.unused_usd[kind][0]) for kind in COMMITMENTS},
        beyond_horizon_usd={"monthly": 0.0} | {kind: (1 - upfront_fraction) * usd for kind, usd in beyond.items()},
        resale_usd={kind: resale_fraction * usd for kind, usd in beyond.items()},
        held_servers=held,
        curve_servers=choice.layers.stacked_servers[1:],
        curve_hours=choice.curve_hours(),
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
    prices = _price_table(*(usd_per_hour.get(f"{kind}_usd_per_hour", np.nan) for kind in KINDS))
    ((_, view),) = _views(demand_layers, prices)
    _, by_term = choose(view, prices, Terms.of(demand_layers, resale_fraction), commitment_cap_servers)
    usd = by_term[0].sum(axis=0)
    return np.repeat(np.where(usd > _MOST_USD, np.inf, usd), demand_layers.servers)


def break_even_utilisation(committed_usd_per_hour, on_demand_usd_per_hour):
    """Share of its hours a commitment must be busy to cost the same as on-demand: rate paid / on-demand rate."""
    return committed_usd_per_hour / on_demand_usd_per_hour


def _price_table(*usd_per_hour) -> np.ndarray:
    """Prices of `KINDS` for every offer (kinds, offers)."""
    return np.fmin(np.broadcast_arrays(*usd_per_hour), NOT_SOLD_USD_PER_HOUR).reshape(len(KINDS), -1)


def _views(demand_layers: Layers, usd_per_hour: np.ndarray) -> Iterator[tuple[np.ndarray, Layers]]:
    """Rows of offers to work on at once, with the periods that matter to them: years if no month is subscribed to."""
    has_months = usd_per_hour[KINDS.index("monthly")] < NOT_SOLD_USD_PER_HOUR
    for (rows,), view in ((has_months.nonzero(), demand_layers), ((~has_months).nonzero(), demand_layers.by_year)):
        step = max(1, _CHUNK_CELLS // max(1, view.hours.size))
        for start in range(0, len(rows), step):
            yield rows[start : start + step], view
