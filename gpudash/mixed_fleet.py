"""Two GPU types side by side for serving: a base on one offer, the peak above it on another, each in its cheapest mix.

The base is n servers of the first type, which take the lowest part of every hour's load; servers of the second type
take the rest. All n are tried for every pair of the best candidates, except where a bound already shows that the pair
cannot be cheaper: what is left at the second type's lowest rate and without rounding to whole servers. So the answer is
the cheapest of this form among these candidates (of the thousand most promising, where bounds leave more); it need not
be the cheapest of all forms (two types that swap roles by the hour, or more than two).

Servers bought already join in: as the base they all serve, as the peak they serve first. Two offers that could use the
same contract are not paired, because it would have to be divided.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpudash.assumptions import assume
from gpudash.catalogue import Catalogue
from gpudash.contracts import servers_of
from gpudash.evaluate import Solved, solve
from gpudash.fleet_costs import FleetCosts, Pair, Part
from gpudash.offers import offer_id
from gpudash.quotas import exceeded
from gpudash.savings_plans import plans_usd_per_hour
from gpudash.scenario import Scenario

BEST = 12  # candidates that are paired, one per provider, country and server shape
BEST_OF_PROVIDER = 6  # and of the cheapest one's provider, so that a fleet in one place is looked for too
_CENT_USD = 0.01  # what saves less is no cheaper: it is rounding


@dataclass(frozen=True)
class FleetPart:
    """One of the two types: its offer, its servers at the peak of the horizon, and how the bought ones are bought.

    `contract_servers` of them are bought already; the others work `served_hours`, and `compute_usd` is for them.
    `purchase_split`: way of buying -> share of those hours.
    """

    offer: str
    provider: str
    gpu: str
    gpus_per_server: int
    servers: int
    contract_servers: int
    served_hours: float
    purchase_split: dict[str, float]
    compute_usd: float


@dataclass(frozen=True)
class MixedFleet:
    """The cheapest pair of types against the cheapest single type; USD over the horizon, all costs included.

    `single` is None where no single type keeps within the budget, the ceiling and the quotas, but a pair does. `base`
    and `peak` are None where no pair is cheaper; then `gain_usd` is 0. `one_provider` says whether both stand at one
    provider; if not, data and traffic between the two are not priced.

    `shared_plan_usd_per_hour`: yearly term -> what is committed to at most by one savings plan, if it pays for both.
    """

    single: str | None
    single_usd: float | None
    base: FleetPart | None
    peak: FleetPart | None
    total_usd: float
    gain_usd: float | None
    gain_fraction: float | None
    one_provider: bool
    shared_plan_usd_per_hour: dict[str, float]
    pairs_tried: int


def mixed_fleet(scenario: Scenario, catalogue: Catalogue, one_provider: bool = False) -> MixedFleet | None:
    """The cheapest base and peak on two offers; None for training, and where nothing is feasible in any way.

    `one_provider`: only pairs of one provider in one country. Raises what `evaluate` raises.
    """
    known = assume(scenario, catalogue)
    if known.is_training:
        return None
    solved = solve(known)
    fleet = FleetCosts(solved)
    allowed_usd = np.where(solved.allowed, solved.costs.tco_usd, np.inf)
    single = int(allowed_usd.argmin()) if solved.allowed.any() else None
    best, tried = None, 0
    limit_usd = float(allowed_usd[single]) - _CENT_USD if single is not None else _most_usd(solved)
    for base, peak in _pairs(fleet, _pool(fleet), one_provider):
        tried += 1
        found = fleet.cheapest(base, peak, limit_usd)
        if found is not None:
            best, limit_usd = found, found.total_usd
    return None if single is None and best is None else _answer(fleet, single, best, tried)


def _most_usd(solved: Solved) -> float:
    """What may be spent over the horizon."""
    known = solved.known
    is_limited = known.budget_usd_per_month is not None and known.scenario.budget.hard
    return known.budget_usd_per_month * known.scenario.purchase.horizon_months if is_limited else np.inf


def _pool(fleet: FleetCosts) -> list[int]:
    """Candidates by total cost, one per provider, country and server shape; all shapes that are bought already, once.

    What alone is too dear, or more than a quota allows, may still be a part; not what a quota forbids altogether.
    """
    solved, costs, offers = fleet.solved, fleet.costs, fleet.known.catalogue.offers
    one_server = offers.gpus_per_server[costs.rows]
    forbidden = [falls for _, falls in exceeded(fleet.known, costs.rows, one_server)]
    usable = np.flatnonzero(~np.any(forbidden, axis=0)) if forbidden else np.arange(len(costs))
    ordered = usable[np.lexsort((offers.id[costs.rows[usable]].astype(str), costs.tco_usd[usable]))]
    seen, chosen, of_first = set(), [], 0
    for candidate in ordered.tolist():
        offer, has_held = costs.rows[candidate], fleet.held[candidate].any()
        provider = offers.provider[offer]
        key = (provider, "" if has_held else offers.country[offer], solved.shapes.of_offer[offer])
        is_first = bool(chosen) and provider == offers.provider[costs.rows[chosen[0]]]
        has_place = len(chosen) < BEST or (is_first and of_first < BEST_OF_PROVIDER) or has_held
        if key not in seen and has_place:
            seen.add(key)
            chosen.append(candidate)
            of_first += is_first
    return chosen


def _pairs(fleet: FleetCosts, pool: list[int], one_provider: bool) -> Iterator[tuple[int, int]]:
    """Ordered pairs of different server shapes, or of any beside what is bought already; the cheapest first."""
    known, costs, offers = fleet.known, fleet.costs, fleet.known.catalogue.offers
    rows = costs.rows[pool]
    place = list(zip(offers.provider[rows], offers.country[rows]))
    shape, has_held = fleet.solved.shapes.of_offer[rows], fleet.held[pool].any(axis=1)
    served = np.array([servers_of(known, contract, rows) > 0 for contract in known.scenario.purchase.contracts])
    pairs = [
        (float(costs.tco_usd[pool[a]] + costs.tco_usd[pool[b]]), pool[a], pool[b])
        for a in range(len(pool))
        for b in range(len(pool))
        if a != b
        and (shape[a] != shape[b] or has_held[a] or has_held[b])
        and not (len(served) and (served[:, a] & served[:, b]).any())
        and (not one_provider or place[a] == place[b])
    ]
    return ((base, peak) for _, base, peak in sorted(pairs))


def _part(fleet: FleetCosts, part: Part) -> FleetPart:
    offers, offer, mix = fleet.known.catalogue.offers, int(fleet.costs.rows[part.candidate]), fleet.mix(part)
    hours = {kind: float(served.sum()) for kind, served in mix.served_hours.items()}
    served_hours = sum(hours.values())
    return FleetPart(
        offer=offer_id(offers, offer),
        provider=str(offers.provider[offer]),
        gpu=fleet.known.catalogue.hardware.names[offers.gpu_row[offer]],
        gpus_per_server=int(offers.gpus_per_server[offer]),
        servers=int(part.servers.max()),
        contract_servers=int(np.minimum(part.servers, fleet.held[part.candidate]).max()),
        served_hours=served_hours,
        purchase_split={kind: served / served_hours for kind, served in hours.items()} if served_hours else {},
        compute_usd=mix.total_usd,
    )


def _answer(fleet: FleetCosts, single: int | None, best: Pair | None, tried: int) -> MixedFleet:
    base, peak = (None, None) if best is None else (_part(fleet, best.base), _part(fleet, best.peak))
    single_usd = None if single is None else float(fleet.costs.tco_usd[single])
    total = single_usd if best is None else best.total_usd
    one_provider = best is None or base.provider == peak.provider
    gain = None if single is None else single_usd - total
    return MixedFleet(
        single=None if single is None else offer_id(fleet.known.catalogue.offers, fleet.costs.rows[single]),
        single_usd=single_usd,
        base=base,
        peak=peak,
        total_usd=total,
        gain_usd=gain,
        gain_fraction=gain and gain / single_usd,
        one_provider=one_provider,
        shared_plan_usd_per_hour={} if best is None or not one_provider else _shared_plans(fleet, best),
        pairs_tried=tried,
    )


def _shared_plans(fleet: FleetCosts, pair: Pair) -> dict[str, float]:
    """One savings plan per term for both types pays for what one for each would: see `gpudash.savings_plans`."""
    offers, costs = fleet.known.catalogue.offers, fleet.costs
    base, peak = (
        plans_usd_per_hour(offers, costs.rows[part.candidate], costs.prices.of(part.candidate), fleet.mix(part))
        for part in (pair.base, pair.peak)
    )
    return {term: float((base[term] + peak[term]).max()) for term in base if term in peak}
