"""How the headline numbers come about: what they are made of, and what they are at the ends of the speed's band."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpudash.assumptions import Known, assume, price_entries
from gpudash.choice import served_tokens_per_month
from gpudash.contracts import sunk_usd
from gpudash.purchase_mix import KINDS
from gpudash.result import Assumption, Choice, Result
from gpudash.sizing import Shapes
from gpudash.tco import total_costs
from gpudash.uncertainty import sized_at
from gpudash.units import HOURS_PER_MONTH, SECONDS_PER_HOUR, TOKENS_PER_MILLION

COSTS = (*KINDS, "storage", "egress", "support", "staff", "one_off", "resale", "credit")


@dataclass(frozen=True)
class SpeedBand:
    """Cost of the mean month if the cards are as fast, or as slow, as the ends of the predicted speed's 90 % band.

    `high_usd_per_month` is None where the slow end misses a target however many servers there are.
    """

    low_usd_per_month: float
    high_usd_per_month: float | None


@dataclass(frozen=True)
class Derivation:
    """What the four headline numbers of the recommended offer (or the cheapest that works) are computed from.

    `usd_by_kind` adds up to the cost of the whole time; what does not occur is left out. The fields of a load are None
    for training, those of tokens also where the work is not counted in tokens.
    """

    usd_by_kind: dict[str, float]
    prices: tuple[Assumption, ...]  # list prices of a server, of the ways of buying that are used
    contracts_usd: float  # what is bought already costs in the whole time; part of no total, but of the unit costs
    gpu_hours: float  # of servers that work, but for those
    seconds: float  # of the whole time
    peak_requests_per_s: float | None  # of the first month, with the room for bursts
    capacity_requests_per_s: float | None  # of one server at the target utilisation
    mean_requests_per_s: float | None  # of the whole time, without that room
    output_tokens_m: float | None  # millions, of the whole time


def derivation(result: Result) -> Derivation | None:
    """The parts of the headline; None where nothing can do the work.

    Cost = sum of the kinds; servers = ceil(peak / capacity), at least the minimum of replicas; tokens = mean requests
    per second × tokens of an answer × seconds.
    """
    choice = result.leading
    if choice is None:
        return None
    known = assume(result.scenario, result.catalogue)
    months = result.leading_bill.months
    usd = {kind: float(sum(getattr(month, f"{kind}_usd") for month in months)) for kind in COSTS}
    tokens = served_tokens_per_month(known)
    busy_fraction = known.scenario.traffic.target_utilisation_fraction
    seconds_per_month = HOURS_PER_MONTH * SECONDS_PER_HOUR
    return Derivation(
        usd_by_kind={kind: amount for kind, amount in usd.items() if amount},
        prices=price_entries(known, choice),
        contracts_usd=sunk_usd(known),
        gpu_hours=choice.tco_usd / choice.cost_per_gpu_hour_usd if choice.cost_per_gpu_hour_usd else 0.0,
        seconds=len(months) * seconds_per_month,
        peak_requests_per_s=None if known.is_training else float(known.load.requests_per_s[0].max()),
        capacity_requests_per_s=None if known.is_training else choice.requests_per_s_per_server * busy_fraction,
        mean_requests_per_s=None if tokens is None else tokens / known.output_tokens / seconds_per_month,
        output_tokens_m=None if tokens is None else tokens * len(months) / TOKENS_PER_MILLION,
    )


def speed_band(result: Result) -> SpeedBand | None:
    """The recommended offer (or the cheapest that works), sized, bought and billed anew at both ends of its band.

    None where nothing can do the work, or where not even the fast end can be bought.
    """
    choice = result.leading
    if choice is None:
        return None
    fast, slow = _usd_per_month(assume(result.scenario, result.catalogue), choice)
    return None if fast is None else SpeedBand(fast, slow)


def _usd_per_month(known: Known, choice: Choice) -> Iterator[float | None]:
    offers = known.catalogue.offers
    row = offers.row_of(choice.id)
    one = Shapes(
        gpu_row=offers.gpu_row[[row]],
        gpus_per_server=offers.gpus_per_server[[row]],
        gpu_fraction=offers.gpu_fraction[[row]],
        of_offer=np.zeros(len(offers), dtype=int),
    )
    for factor in (choice.speed_high, choice.speed_low):
        sized = sized_at(known, one, factor)
        costs = total_costs(known, one, sized, np.array([row])) if sized.meets_targets[0] else None
        yield None if costs is None else float(costs.tco_usd[0] / known.scenario.purchase.horizon_months)
