"""What stands behind a purchase mix: the use and the interruptions at which it would change, the published split beside
it, and each saving counted once from the list price down to what is paid."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from gpudash.assumptions import Known
from gpudash.layer_choice import Terms
from gpudash.layers import Layers
from gpudash.paid_prices import checkpoint_minutes, interruption_fraction, paid_fraction
from gpudash.purchase_mix import COMMITMENTS, TERM_YEARS, Plan, break_even_utilisation
from gpudash.result import Bill
from gpudash.savings_plans import plans_usd_per_hour
from gpudash.spot import break_even_interruption_h, mean_time_between_interruptions_h
from gpudash.tables import DATA, read_yaml
from gpudash.tco import Costs


@dataclass(frozen=True)
class SpotTerms:
    """Spot against on-demand on one offer; prices before rework, after negotiated discounts."""

    spot_usd_per_hour: float
    rework_fraction: float
    interruption_fraction_per_month: float  # assumed
    mean_time_between_interruptions_h: float | None  # the same in hours; None: never
    break_even_interruption_h: float | None  # below it, spot with its rework is dearer; None: it always is


@dataclass(frozen=True)
class PublishedSplit:
    """The article's split priced here, beside the cheapest mix; USD over the whole horizon, compute only.

    `is_allowed`: whether as much of the work may run on spot. Where it may not, the split can look cheaper than the
    mix, because it takes a risk that the mix may not take.
    """

    term: str
    committed_servers: tuple[int, ...]  # per year
    rest: str  # spot or on_demand
    rest_share: float  # of the server-hours
    total_usd: float
    mix_usd: float
    extra_usd: float
    is_allowed: bool
    source: str


@dataclass(frozen=True)
class SavingsPlanUse:
    """A yearly term bought as a savings plan: the most servers that it pays for at once, and what is committed to."""

    term: str
    usd_per_server_hour: float
    servers: int
    usd_per_hour: float


@dataclass(frozen=True)
class Saving:
    """One measure, acting on what the earlier ones left: `left_usd` = what was left before - `saved_usd`."""

    measure: str
    saved_usd: float
    left_usd: float


@dataclass(frozen=True)
class PurchaseDetail:
    """Break-evens, published split and savings of the recommended offer.

    `break_even_utilisation` by term: the share of its hours from which a commitment is cheaper; None where not sold.
    `savings` start from `always_on_usd` (the peak's servers all year at list price, all data in the fastest tier; for
    training the hours of the runs, because nobody keeps servers between them); empty without a list price.
    """

    break_even_utilisation: dict[str, float | None]
    spot: SpotTerms | None
    published_split: PublishedSplit | None
    savings_plans: tuple[SavingsPlanUse, ...]
    always_on_usd: float | None
    savings: tuple[Saving, ...]


def purchase_detail(known: Known, costs: Costs, candidate: int, mix: Plan, bill: Bill) -> PurchaseDetail:
    """The detail of one candidate with its mix and bill."""
    offers, row = known.catalogue.offers, costs.rows[candidate]
    on_demand = offers.on_demand_usd_per_hour[row]
    rates = {term: getattr(offers, f"{term}_usd_per_hour")[row] for term in COMMITMENTS}
    ratios = {term: float(break_even_utilisation(rate, on_demand)) for term, rate in rates.items()}
    always_on_usd, savings = _savings(known, costs, candidate, mix, bill)
    return PurchaseDetail(
        break_even_utilisation={term: ratio if np.isfinite(ratio) else None for term, ratio in ratios.items()},
        spot=_spot_terms(known, costs, candidate),
        published_split=_published_split(known, costs, candidate),
        savings_plans=_savings_plans(known, costs, candidate, mix),
        always_on_usd=always_on_usd,
        savings=savings,
    )


def _savings_plans(known: Known, costs: Costs, candidate: int, mix: Plan) -> tuple[SavingsPlanUse, ...]:
    """The terms that are bought as the user's savings plans."""
    rates = costs.prices.of(candidate)
    plans = plans_usd_per_hour(known.catalogue.offers, costs.rows[candidate], rates, mix)
    return tuple(
        SavingsPlanUse(
            term, rates[f"{term}_usd_per_hour"], int(mix.held_servers[term].max()), float(usd_per_hour.max())
        )
        for term, usd_per_hour in plans.items()
    )


def _spot_terms(known: Known, costs: Costs, candidate: int) -> SpotTerms | None:
    purchase = known.scenario.purchase
    rows = costs.rows[[candidate]]
    paid = float(paid_fraction(known, rows)[0])
    spot, on_demand = (
        float(getattr(known.catalogue.offers, f"{kind}_usd_per_hour")[rows[0]]) * paid for kind in ("spot", "on_demand")
    )
    if not np.isfinite(spot + on_demand):
        return None
    hours = float(break_even_interruption_h(spot, on_demand, checkpoint_minutes(known), purchase.restart_minutes))
    monthly = float(interruption_fraction(known, rows)[0])
    mean_time_h = float(mean_time_between_interruptions_h(monthly))
    return SpotTerms(
        spot_usd_per_hour=spot,
        rework_fraction=float(costs.prices.rework_fraction[candidate]),
        interruption_fraction_per_month=monthly,
        mean_time_between_interruptions_h=mean_time_h if np.isfinite(mean_time_h) else None,
        break_even_interruption_h=hours if np.isfinite(hours) else None,
    )


@cache
def _published() -> dict:
    return read_yaml(DATA / "published" / "purchase_split.yaml")


def _published_split(known: Known, costs: Costs, candidate: int) -> PublishedSplit | None:
    """80 % of each year's peak reserved for a year (three if only that is sold), the hours above them on spot."""
    offers, row = known.catalogue.offers, costs.rows[candidate]
    demand = costs.groups[costs.group_of[candidate]]
    paid = float(paid_fraction(known, costs.rows[[candidate]])[0])
    rate = {
        kind: float(getattr(offers, f"{kind}_usd_per_hour")[row]) * paid
        for kind in ("reserved_1y", "reserved_3y", "on_demand", "spot")
    }
    rate["spot"] *= 1 + float(costs.prices.rework_fraction[candidate])
    term = next((kind for kind in ("reserved_1y", "reserved_3y") if np.isfinite(rate[kind])), None)
    rest = next((kind for kind in ("spot", "on_demand") if np.isfinite(rate[kind])), None)
    if term is None or rest is None or not demand.hours.any():
        return None
    years = TERM_YEARS[term]
    committed = _share_of_peaks(demand, _published()["reserved_share"]["value"], years)
    hours_above = _hours_above(demand, committed)
    term_hours = float(committed[::years] @ Terms.of(demand, known.scenario.purchase.resale_fraction).paid_hours[term])
    total_usd = rate[term] * term_hours + rate[rest] * hours_above
    rest_share = hours_above / float((demand.hours_above[:, 0] * demand.repeats).sum())
    return PublishedSplit(
        term=term,
        committed_servers=tuple(int(count) for count in committed),
        rest=rest,
        rest_share=rest_share,
        total_usd=total_usd,
        mix_usd=float(costs.compute_usd[candidate]),
        extra_usd=total_usd - float(costs.compute_usd[candidate]),
        is_allowed=rest == "on_demand" or rest_share <= known.scenario.purchase.spot_fraction,
        source=_published()["source"],
    )


def _share_of_peaks(demand: Layers, share: float, years: int) -> np.ndarray:
    """Whole servers that are a share of the peak of each term of so many years, one entry per year."""
    needed = np.where(demand.hours > 0, demand.stacked_servers[1:], 0).max(axis=1)
    of_year = np.maximum.reduceat(needed, demand.year_starts)
    terms = np.arange(0, len(of_year), years)
    peaks = np.repeat(np.maximum.reduceat(of_year, terms), years)[: len(of_year)]
    return np.ceil(np.round(peaks * share, 9)).astype(int)


def _hours_above(demand: Layers, committed: np.ndarray) -> float:
    """Server-hours that more than the committed servers of each year are needed for, over the horizon."""
    above = demand.stacked_servers[None, 1:] - committed[demand.year][:, None]
    servers = np.clip(above, 0, demand.servers[None, :])
    return float((servers * demand.hours * demand.repeats[:, None]).sum())


def _savings(
    known: Known, costs: Costs, candidate: int, mix: Plan, bill: Bill
) -> tuple[float | None, tuple[Saving, ...]]:
    """From always on at list price to what is paid; each step acts on what the earlier ones left: none counts twice."""
    list_rate = float(known.catalogue.offers.on_demand_usd_per_hour[costs.rows[candidate]])
    if not np.isfinite(list_rate):
        return None, ()
    hours = {kind: float(np.sum(served)) for kind, served in mix.served_hours.items()}
    discount = 1 - float(paid_fraction(known, costs.rows[[candidate]])[0])
    on_demand = list_rate * (1 - discount)
    placement = costs.data_of(candidate).placement
    tiering = 0.0 if placement is None else placement.saving_fraction
    paid_storage = sum(month.storage_usd for month in bill.months)
    hot_storage = paid_storage / (1 - tiering) if tiering < 1 else paid_storage
    whole_hours = sum(hours.values()) if known.is_training else _hours_at_peak(costs.groups[costs.group_of[candidate]])
    always_on = list_rate * whole_hours
    beside = sum(month.egress_usd + month.support_usd + month.staff_usd + month.one_off_usd for month in bill.months)
    amounts = {
        "follow_demand": always_on - list_rate * sum(hours.values()),
        "negotiated_discount": list_rate * discount * sum(hours.values()),
        "commitments": sum(on_demand * hours[kind] - mix.paid_usd[kind] for kind in COMMITMENTS),
        "spot": on_demand * hours["spot"] - mix.paid_usd["spot"],
        "storage_tiers": hot_storage - paid_storage,
        "credit": 0.0 - sum(month.credit_usd for month in bill.months),
    }
    steps, left = [], always_on + hot_storage + beside
    start = left
    for measure, saved in amounts.items():
        left -= saved
        steps.append(Saving(measure, saved, left))
    return start, tuple(steps)


def _hours_at_peak(demand: Layers) -> float:
    """Server-hours if the most servers of each year ran all year, within the horizon."""
    needed = np.where(demand.hours > 0, demand.stacked_servers[1:], 0).max(axis=1)
    of_year = np.maximum.reduceat(needed, demand.year_starts)
    return float((of_year[demand.year] * demand.repeats).sum() * demand.period_hours)
