"""How long the purchase mix and the total cost take, by the number of offers and against HiGHS: `make bench`.

It only prints; processor time, and of several runs the shortest, because others may be using the machine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from timeit import repeat

import numpy as np

from bench.evaluate import RANDOM_STATE, with_synthetic_offers
from bench.highs import highs_usd
from gpudash.assumptions import Known, assume
from gpudash.catalogue import Catalogue, load_catalogue
from gpudash.demand_layers import kept_layers
from gpudash.evaluate import Fitted, fit
from gpudash.layers import layers
from gpudash.purchase_mix import Mixes, best_mix
from gpudash.scenario import Scenario
from gpudash.tco import total_costs
from gpudash.units import HOURS_PER_WEEK, MONTHS_PER_YEAR

OFFERS = (800, 1_600, 3_200, 6_400, 12_800)
YEARS, SERVERS = 3, 200
PRICES = {
    "on_demand_usd_per_hour": 10.0,
    "spot_usd_per_hour": 4.0,
    "reserved_1y_usd_per_hour": 6.5,
    "reserved_3y_usd_per_hour": 4.8,
}
MIXES = {  # periods a year and prices; a demand per month is what every scenario has
    "a demand per year": (1, PRICES),
    "a demand per month": (MONTHS_PER_YEAR, PRICES | {"monthly_usd_per_hour": 8.0}),
}


@dataclass(frozen=True)
class Work:
    """Offers that can do the work of a scenario whose demand differs in every month; `rows` are exactly the asked."""

    known: Known
    fitted: Fitted
    rows: np.ndarray


def main() -> None:
    catalogue = load_catalogue()
    for count in OFFERS:
        work = work_of(catalogue, count)
        taken = shortest_s(lambda work=work: cost(work), runs=9)
        print(f"{taken * 1000:8.1f} ms  mix and TCO, {count:,} offers x 168 hours x 36 months x 3 terms")
    for label, question in MIXES.items():
        by_layers, by_highs = mix_both_ways(*question)
        ours, highs = shortest_s(by_layers, runs=99), shortest_s(by_highs, runs=9)
        size = f"{YEARS} years x {HOURS_PER_WEEK} hours x {SERVERS} servers"
        print(
            f"{ours * 1000:8.2f} ms  one mix, {size}, {label}; HiGHS {highs * 1000:.0f} ms, "
            f"{highs / ours:.0f} times that"
        )


def mix_both_ways(periods_per_year: int, prices: dict[str, float]) -> tuple[Callable[[], Mixes], Callable[[], float]]:
    """One mix by layers, and its total by HiGHS, both from the plain demand."""
    demand = growing_demand(YEARS * periods_per_year)
    firm = demand * 7 // 10
    return (
        lambda: best_mix(layers(demand, firm, periods_per_year=periods_per_year), **prices),
        lambda: highs_usd(demand, firm, periods_per_year, prices),
    )


def work_of(catalogue: Catalogue, count: int) -> Work:
    """A growing service on a catalogue of which `count` offers can serve it."""
    scenario = Scenario().with_values(
        {
            "workload.model": "llama-3.1-70b",
            "traffic.peak_requests_per_s": 20,
            "traffic.growth_fraction_per_month": 0.02,
            "purchase.spot_fraction": 0.3,
        }
    )
    known = assume(scenario, with_synthetic_offers(catalogue, 4 * count))
    fitted = fit(known)
    return Work(known, fitted, np.flatnonzero(fitted.gates.alive)[:count])


def cost(work: Work):
    """The cheapest mix and the total cost of all offers, with nothing kept from an earlier question."""
    kept_layers.cache_clear()
    return total_costs(work.known, work.fitted.shapes, work.fitted.sized, work.rows)


def shortest_s(work: Callable[[], object], runs: int) -> float:
    """Processor time of the quickest of several runs."""
    return min(repeat(work, timer=process_time, number=1, repeat=runs))


def growing_demand(periods: int) -> np.ndarray:
    """Whole servers per period and hour of the week; the last period's busiest hour needs `SERVERS`."""
    week = np.random.default_rng(RANDOM_STATE).uniform(0.1, 1, HOURS_PER_WEEK)
    growth = np.linspace(0.6, 1, periods)
    return np.ceil(SERVERS * growth[:, None] * week / week.max()).astype(int)


if __name__ == "__main__":
    main()
