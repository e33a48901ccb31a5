"""Savings plans: a commitment in money that any server of a provider may use up, at a discount off the on-demand price.

On one offer a plan is worth as many whole servers as it pays for (see `purchase_mix`), so it is a yearly rate like that
of a reservation, and the lower of the two is the one to buy. No plan's rates are shipped: the discounts are the user's.

One plan for two types of server is worth no more than one for each as long as both follow the same load and nothing
runs on spot, as in a fleet of a base and the peak above it: all that a type needs in an hour, it needs in every hour of
more load, so the plan pays for the lowest part of the load, on whichever type that runs, and no hour leaves over for
one type what the other could use. (With spot it may: a plan would pay for what must not be interrupted first, on
either type.) Servers bought already, or a reservation beside the plan, can open such gaps too.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from gpudash.catalogue import Catalogue
from gpudash.purchase_mix import Plan
from gpudash.result import INPUTS
from gpudash.scenario import SavingsPlan, Scenario

TERMS = ("reserved_1y", "reserved_3y")
ORIGIN = "entered"


def with_savings_plans(catalogue: Catalogue, scenario: Scenario) -> Catalogue:
    """The catalogue with the plan's rate as the price of a yearly term wherever that is lower, or nothing else is sold.

    Rate: on-demand price × (1 - discount). The price is dated as the on-demand price that it is taken off.
    """
    plans = scenario.purchase.savings_plans
    return _priced(catalogue, plans, scenario.about.author or INPUTS) if plans else catalogue


@lru_cache(maxsize=8)
def _priced(catalogue: Catalogue, plans: tuple[SavingsPlan, ...], author: str) -> Catalogue:
    """Kept, so that questions with the same plans share one catalogue and all that is kept by it."""
    offers, columns = catalogue.offers, {}
    for term in TERMS:
        discount = {plan.provider: getattr(plan, f"{term}_discount_fraction") for plan in plans}
        share_off = np.array([discount.get(name, 0.0) for name in offers.provider_names])[offers.provider_row]
        rate, reserved = offers.on_demand_usd_per_hour * (1 - share_off), offers.usd_per_hour_of(term)
        lower = (share_off > 0) & np.isfinite(rate) & ~(reserved <= rate)
        for name, values, ours in (
            ("usd_per_hour", reserved, rate),
            ("origin", offers.origin_of(term), ORIGIN),
            ("source", offers.source_of(term), author),
            ("as_of", getattr(offers, f"{term}_as_of"), offers.as_of),
            ("age_days", getattr(offers, f"{term}_age_days"), offers.age_days),
        ):
            columns[f"{term}_{name}"] = np.where(lower, ours, values)
    return catalogue.with_offers(replace(offers, **columns))


def plans_usd_per_hour(offers, row: int, usd_per_hour: dict[str, float], mix: Plan) -> dict[str, np.ndarray]:
    """What is committed to per hour in each month, by each yearly term of an offer that is bought as a savings plan.

    `usd_per_hour`: the prices that the mix was bought at. Rate x servers under the term.
    """
    return {
        term: usd_per_hour[f"{term}_usd_per_hour"] * mix.held_servers[term]
        for term in TERMS
        if mix.held_servers[term].any() and offers.origin_of(term)[row] == ORIGIN
    }
