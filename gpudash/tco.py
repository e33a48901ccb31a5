"""Total cost of ownership: what each candidate costs over the horizon, and one candidate's bill month by month.

All candidates are priced as columns, in groups that need the same servers in the same hours; only the few that are
shown get a bill.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from gpudash.assumptions import Known
from gpudash.contracts import Taken, held_servers, still_needed
from gpudash.data_costs import DataCosts, data_costs
from gpudash.demand import inference_servers
from gpudash.demand_layers import demand_groups, needed_hours
from gpudash.finance import npv_usd, tax_usd
from gpudash.layers import Layers
from gpudash.paid_prices import Prices, dearest_usd_per_hour, paid_prices
from gpudash.purchase_mix import KINDS, Plan, best_mix, plan
from gpudash.result import Bill, Demand, TcoMonth
from gpudash.sizing import Shapes, Sized
from gpudash.support import support_usd_per_month
from gpudash.units import HOURS_PER_MONTH, MONTHS_PER_YEAR

_ROUNDING = 1e-9  # a lower bound must not lie above the cost by rounding


@dataclass(frozen=True)
class Costs:
    """All candidates over the horizon, as columns; `rows` are their offers. Infinite cost: nothing can be bought.

    `compute_usd` is net of what the sale of unfinished commitments brings.
    """

    rows: np.ndarray
    prices: Prices
    group_of: np.ndarray
    groups: tuple[Layers, ...]
    servers: np.ndarray  # at the peak of month 1
    last_servers: np.ndarray  # at the peak of the last month
    taken: Taken  # by servers bought already; groups and costs are of what is left
    compute_usd: np.ndarray
    served_hours: dict[str, np.ndarray]
    data: tuple[DataCosts, ...]
    data_row: np.ndarray
    support_usd_per_month: np.ndarray
    credit_usd: np.ndarray
    tco_usd: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def data_of(self, candidate: int) -> DataCosts:
        """What is stored and sent out where the candidate stands."""
        return self.data[self.data_row[candidate]]

    def priced(self) -> "Costs":
        """Only the candidates that can be bought at all."""
        keep = np.isfinite(self.tco_usd)
        if keep.all():
            return self
        prices = Prices(*(getattr(self.prices, field.name)[keep] for field in fields(Prices)))
        columns = {field.name: getattr(self, field.name)[keep] for field in fields(self) if field.type is np.ndarray}
        served = {kind: hours[keep] for kind, hours in self.served_hours.items()}
        taken = Taken(*(getattr(self.taken, field.name)[keep] for field in fields(Taken)))
        return replace(self, prices=prices, taken=taken, served_hours=served, **columns)


def total_costs(known: Known, shapes: Shapes, sized: Sized, rows: np.ndarray) -> Costs:
    """The cheapest purchase mix of every candidate (`rows` of the offers) and all that comes with it."""
    groups, group_of, servers, last_servers = demand_groups(known, sized, shapes.of_offer[rows])
    groups, group_of, taken = still_needed(known, rows, groups, group_of)
    return _costs(known, rows, groups, group_of, servers=servers, last_servers=last_servers, taken=taken)


def costs_of_layers(known: Known, offer: int, demand_layers: Layers) -> Costs:
    """The one offer as the only candidate, serving these layers: what is left for it when others serve a part."""
    peak = np.array([int(demand_layers.servers.sum())])
    alone, taken = np.array([offer]), Taken.nothing(1)
    group_of = np.zeros(1, dtype=int)
    return _costs(known, alone, (demand_layers,), group_of, servers=peak, last_servers=peak, taken=taken)


def _costs(
    known: Known, rows: np.ndarray, groups: tuple[Layers, ...], group_of, *, servers, last_servers, taken
) -> Costs:
    prices = paid_prices(known, rows)
    compute, creditable = np.empty(len(rows)), np.empty(len(rows))
    served = {kind: np.empty(len(rows)) for kind in KINDS}
    for group, demand_layers in enumerate(groups):
        members = np.flatnonzero(group_of == group)
        mixes = best_mix(
            demand_layers, first_periods=credit_months(known), **mix_rules(known), **prices.mix_arguments(members)
        )
        compute[members], creditable[members] = mixes.total_usd, mixes.first_usd
        for kind in KINDS:
            served[kind][members] = mixes.served_hours[kind]
    beside = _beside(known, rows, compute, creditable)
    return Costs(rows, prices, group_of, groups, servers, last_servers, taken, compute, served, **beside)


def mix_rules(known: Known) -> dict:
    """What the scenario says about commitments, as arguments of a purchase mix."""
    purchase = known.scenario.purchase
    names = ("commitment_cap_servers", "resale_fraction", "upfront_fraction")
    return {name: getattr(purchase, name) for name in names}


def credit_months(known: Known) -> int | None:
    """How many months credits last, where they end before the horizon does."""
    finance, months = known.scenario.finance, known.scenario.purchase.horizon_months
    last = finance.credit_until_month
    return last if finance.credit_usd and last is not None and last < months else None


def _beside(known: Known, rows: np.ndarray, compute_usd: np.ndarray, creditable_compute_usd: np.ndarray) -> dict:
    """All that comes with the servers, and the total: storage, traffic, support, people, one-off, less credits.

    `creditable_compute_usd` is what of the servers is paid while credits last.
    """
    data, data_row = _data(known, rows)
    months, lasting = known.scenario.purchase.horizon_months, credit_months(known)
    data_usd = np.array([one.usd(months) for one in data])[data_row]
    support = _support(known, rows, (compute_usd + data_usd) / months)
    finance = known.scenario.finance
    monthly = support + staff_usd_per_month(finance)
    gross = compute_usd + data_usd + monthly * months + finance.migration_usd
    creditable = gross
    if lasting is not None:
        first_data_usd = np.array([one.usd(lasting) for one in data])[data_row]
        creditable = creditable_compute_usd + first_data_usd + monthly * lasting + finance.migration_usd
    creditable = np.where(np.isfinite(gross), creditable, 0.0)  # nothing is billed where nothing can be bought
    credit = credits_pay_usd(finance, creditable, gross)
    return {
        "data": data, "data_row": data_row, "support_usd_per_month": support, "credit_usd": credit,
        "tco_usd": gross - credit,
    }  # fmt: skip


def credits_pay_usd(finance, creditable_usd, billed_usd):
    """What credits pay: their share of what is due while they last, at most their amount and never more than the bill.

    The bill is net of terms that are sold again; credits may have paid for those.
    """
    return np.minimum(np.minimum(finance.credit_usd, finance.credit_share_fraction * creditable_usd), billed_usd)


def staff_usd_per_month(finance) -> float:
    """People who look after rented servers: full-time equivalents × what one costs a year / 12."""
    return finance.staff_fte * finance.staff_usd_per_year / MONTHS_PER_YEAR


def least_costs(known: Known, shapes: Shapes, sized: Sized, rows: np.ndarray) -> Costs:
    """What every candidate costs at least: each server-hour that it must serve, at the lowest rate that it is sold at.

    A lower bound of `total_costs` without any purchase mix, for those who only want to know who may be first. Ways of
    buying and groups are left empty.
    """
    prices = paid_prices(known, rows)
    rates = np.vstack([getattr(prices, f"{kind}_usd_per_hour") for kind in KINDS])
    lowest = np.min(np.where(np.isnan(rates), np.inf, rates), axis=0, initial=np.inf)
    shape_of, shape_row = np.unique(shapes.of_offer[rows], return_inverse=True)
    hours, peak, last = (column[shape_row] for column in needed_hours(known, sized, shape_of))
    hours = np.maximum(hours - held_servers(known, rows).sum(axis=1) * HOURS_PER_MONTH, 0.0)
    compute = np.where(np.isfinite(lowest), hours * (1 - _ROUNDING) * np.nan_to_num(lowest, posinf=0.0), np.inf)
    nobody, nothing = np.zeros(len(rows), dtype=int), {kind: np.zeros(len(rows)) for kind in KINDS}
    return Costs(
        rows, prices, nobody, (), peak, last, Taken.nothing(len(rows)), compute, nothing,
        **_beside(known, rows, compute, compute),
    )  # fmt: skip


def mix_plan(known: Known, costs: Costs, candidate: int) -> Plan:
    """The purchase mix of one candidate in detail."""
    return plan(costs.groups[costs.group_of[candidate]], **mix_rules(known), **costs.prices.of(candidate))


def monthly_usd(known: Known, costs: Costs, candidate: int, mix: Plan) -> dict[str, np.ndarray]:
    """What one candidate costs month by month: one array [months] per kind of cost (the fields of `TcoMonth`).

    `total_usd` is the sum of the others. What the sale of commitments brings is negative, in the last month; the
    credit, negative, covers its share of every month's bill until it is used up or ends.
    """
    finance, months = known.scenario.finance, known.scenario.purchase.horizon_months
    data = costs.data_of(candidate)
    every = np.ones(months)
    parts = {f"{kind}_usd": np.asarray(mix.usd[kind], dtype=float) for kind in KINDS if kind != "monthly"}
    parts["monthly_usd"] = np.asarray(mix.usd["monthly"], dtype=float)
    parts["storage_usd"] = data.storage_usd_per_month
    parts["egress_usd"] = data.egress_usd_per_month * every
    parts["support_usd"] = costs.support_usd_per_month[candidate] * every
    parts["staff_usd"] = staff_usd_per_month(finance) * every
    parts["one_off_usd"] = np.where(np.arange(months) == 0, finance.migration_usd, 0.0)
    gross = sum(parts.values())
    covered = finance.credit_share_fraction * gross * (np.arange(months) < (credit_months(known) or months))
    left_before = np.maximum(costs.credit_usd[candidate] - (np.cumsum(covered) - covered), 0.0)
    parts["resale_usd"] = np.where(np.arange(months) == months - 1, 0 - sum(mix.resale_usd.values()), 0.0)
    parts["credit_usd"] = 0 - np.minimum(left_before, covered)
    return parts | {"total_usd": gross + parts["resale_usd"] + parts["credit_usd"]}


def bill(known: Known, costs: Costs, candidate: int, mix: Plan, choice_id: str) -> Bill:
    """Month by month what one candidate costs; the months add up to its total."""
    finance, parts = known.scenario.finance, monthly_usd(known, costs, candidate, mix)
    rows = zip(*(part.tolist() for part in parts.values()))
    list_rate = known.catalogue.offers.on_demand_usd_per_hour[costs.rows[candidate]]
    hours = sum(float(np.sum(mix.served_hours[kind])) for kind in KINDS)
    total = float(parts["total_usd"].sum())
    return Bill(
        choice_id=choice_id,
        months=tuple(TcoMonth(month=month, **dict(zip(parts, row))) for month, row in enumerate(rows, start=1)),
        list_price_usd=float(list_rate * hours) if np.isfinite(list_rate) else None,
        total_usd=total,
        tax_usd=tax_usd(total, finance.tax_fraction),
        npv_usd=float(npv_usd(parts["total_usd"], finance.discount_rate_fraction)),
    )


def demand_result(known: Known, shapes: Shapes, sized: Sized, costs: Costs, candidate: int) -> Demand:
    """The servers one candidate needs in every hour of the week and month, with the load behind them."""
    shape = shapes.of_offer[costs.rows[candidate]]
    months = known.scenario.purchase.horizon_months
    if known.is_training:
        servers = np.full((months, 1), costs.servers[candidate])
        return Demand(servers, costs.groups[costs.group_of[candidate]].hours, np.empty(0), None)
    servers = inference_servers(
        known.scenario.traffic, known.load, sized.requests_per_s[shape], sized.replicas_per_server[shape]
    )
    capacity = float(sized.requests_per_s[shape]) * known.scenario.traffic.target_utilisation_fraction
    hours = np.full(servers.shape[1:], HOURS_PER_MONTH / servers.shape[1])
    return Demand(
        servers[known.load.month_row],
        np.broadcast_to(hours, (months, len(hours))),
        known.load.requests_per_s[0],
        capacity,
    )


def _data(known: Known, rows: np.ndarray) -> tuple[tuple[DataCosts, ...], np.ndarray]:
    offers = known.catalogue.offers
    places, place_row = np.unique(offers.place_row[rows], return_inverse=True)
    made: dict[tuple[str, str], int] = {}
    keys = [(offers.places[place][0], offers.places[place][2]) for place in places]
    for key in keys:
        made.setdefault(key, len(made))
    return tuple(data_costs(known, *key) for key in made), np.array([made[key] for key in keys], dtype=int)[place_row]


def _support(known: Known, rows: np.ndarray, spend_usd_per_month: np.ndarray) -> np.ndarray:
    fees = np.zeros(len(rows))
    if known.scenario.finance.support_plan is None:
        return fees
    provider_row = known.catalogue.offers.provider_row[rows]
    for row in np.unique(provider_row):
        members = provider_row == row
        name = known.catalogue.offers.provider_names[row]
        fees[members] = support_usd_per_month(known, name, spend_usd_per_month[members])
    return fees


def peak_usd_per_hour(costs: Costs) -> np.ndarray:
    """What a candidate costs in its busiest hour of month 1: all servers at the dearest rate it can be asked to pay."""
    return (costs.servers - costs.taken.servers) * dearest_usd_per_hour(costs.prices)
