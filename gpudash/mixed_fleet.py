"""Two GPU types side by side for serving: a base on one offer, the peak above it on another, each in its cheapest mix.

The base is n servers of the first type, which take the lowest part of every hour's load; servers of the second type
take the rest. A layer's cost does not depend on the layers above it, so the base of n servers costs the sum of its n
layers' cheapest purchases; the rest is sized and bought anew. All n are tried for every pair of the best candidates,
except where a bound already shows that the pair cannot be cheaper: what is left at the second type's lowest rate and
without rounding to whole servers. So the answer is the cheapest of this form among these candidates; it need not be
the cheapest of all forms (two types that swap roles by the hour, or more than two).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpudash.assumptions import assume
from gpudash.catalogue import Catalogue
from gpudash.demand import inference_servers, provisioned_requests_per_s
from gpudash.evaluate import Solved, solve
from gpudash.layers import Layers
from gpudash.offers import offer_id
from gpudash.purchase_mix import KINDS, Plan, best_mix, plan, server_usd
from gpudash.quotas import are_kept_together
from gpudash.scenario import Scenario
from gpudash.support import support_usd_per_month
from gpudash.tco import credit_months, mix_rules, service_layers, staff_usd_per_month
from gpudash.units import HOURS_PER_MONTH

BEST = 12  # candidates that are paired, one per provider, country and server shape
BEST_OF_PROVIDER = 6  # and of the cheapest one's provider, so that a fleet in one place is looked for too
_ROUNDING = 1e-9
MOST_BASES = 60  # numbers of base servers tried for one pair; all of them up to here, then evenly spread


@dataclass(frozen=True)
class FleetPart:
    """One of the two types: its offer, its servers at the peak of the horizon, and how they are bought."""

    offer: str
    provider: str
    gpu: str
    gpus_per_server: int
    servers: int
    served_hours: float
    compute_usd: float
    mix: Plan


@dataclass(frozen=True)
class MixedFleet:
    """The cheapest pair of types against the cheapest single type; USD over the horizon, all costs included.

    `base` and `peak` are None where no pair is cheaper; then `gain_usd` is 0. `one_provider` says whether both stand at
    one provider; if not, traffic is spread over two, which nothing here prices.
    """

    single: str
    single_usd: float
    base: FleetPart | None
    peak: FleetPart | None
    total_usd: float
    gain_usd: float
    gain_fraction: float
    one_provider: bool
    pairs_tried: int


@dataclass(frozen=True)
class _Pair:
    base: int
    peak: int
    servers: int
    total_usd: float
    rest: Layers


def mixed_fleet(scenario: Scenario, catalogue: Catalogue, one_provider: bool = False) -> MixedFleet | None:
    """The cheapest base and peak on two offers; None for training, where nothing is feasible,
    and beside servers bought already, which are a type of their own.

    `one_provider`: only pairs of one provider in one country. Raises what `evaluate` raises.
    """
    solved = solve(assume(scenario, catalogue))
    pool = _pool(solved)
    if not len(pool) or solved.known.is_training or scenario.purchase.contracts:
        return None
    single = int(pool[0])
    best, tried = None, 0
    limit = float(solved.costs.tco_usd[single])
    fleet = _Fleet(solved)
    for base, peak in _pairs(solved, pool, one_provider):
        tried += 1
        found = fleet.cheapest(base, peak, limit)
        if found is not None:
            best, limit = found, found.total_usd
    return _answer(fleet, single, best, tried)


def _pool(solved: Solved) -> np.ndarray:
    """Candidates by total cost, one per provider, country and server shape."""
    costs, offers = solved.costs, solved.known.catalogue.offers
    allowed = np.flatnonzero(solved.allowed)
    ordered = allowed[np.lexsort((offers.id[costs.rows[allowed]].astype(str), costs.tco_usd[allowed]))]
    seen, chosen, of_first = set(), [], 0
    for candidate in ordered:
        offer = costs.rows[candidate]
        provider = offers.provider[offer]
        key = (provider, offers.country[offer], solved.shapes.of_offer[offer])
        is_first = bool(chosen) and provider == offers.provider[costs.rows[chosen[0]]]
        if key in seen or (len(chosen) >= BEST and not (is_first and of_first < BEST_OF_PROVIDER)):
            continue
        seen.add(key)
        chosen.append(int(candidate))
        of_first += is_first
    return np.array(chosen, dtype=int)


def _pairs(solved: Solved, pool: np.ndarray, one_provider: bool) -> Iterator[tuple[int, int]]:
    """Ordered pairs of different server shapes, the cheapest together first."""
    costs, offers = solved.costs, solved.known.catalogue.offers
    place = [(offers.provider[costs.rows[c]], offers.country[costs.rows[c]]) for c in pool]
    shape = solved.shapes.of_offer[costs.rows[pool]]
    pairs = [
        (float(costs.tco_usd[pool[a]] + costs.tco_usd[pool[b]]), int(pool[a]), int(pool[b]))
        for a in range(len(pool))
        for b in range(len(pool))
        if shape[a] != shape[b] and (not one_provider or place[a] == place[b])
    ]
    return ((base, peak) for _, base, peak in sorted(pairs))


class _Fleet:
    """Prices bases and the rest above them; what does not depend on the pair is worked out once."""

    def __init__(self, solved: Solved):
        self.solved, self.known, self.costs = solved, solved.known, solved.costs
        traffic, load = self.known.scenario.traffic, self.known.load
        delay = traffic.scaling_delay_minutes + traffic.cold_start_minutes
        covered = provisioned_requests_per_s(load.requests_per_s, delay, traffic.follows_demand)
        months = np.bincount(load.month_row, minlength=len(covered))
        ascending = np.argsort(covered, axis=None)
        self.loads = covered.ravel()[ascending]
        weight = np.repeat(months, covered.shape[1])[ascending]
        self._above = [np.append(x[::-1].cumsum()[::-1], 0.0) for x in (weight, weight * self.loads)]
        self.slot_hours = HOURS_PER_MONTH / covered.shape[1]
        self._base_usd: dict[int, np.ndarray] = {}

    def cheapest(self, base: int, peak: int, limit: float) -> _Pair | None:
        """The cheapest number of base servers of a pair if it is below the limit; the most promising numbers first."""
        best = None
        numbers = _bases(len(self._bases_usd(base)) - 1)
        base_usd, least_usd = self._bases_usd(base)[numbers], self._least_peak_usd(base, numbers, peak)
        for at in np.argsort(base_usd + least_usd, kind="stable"):
            servers, below = int(numbers[at]), float(base_usd[at])
            if below + least_usd[at] + self._beside_usd(base, peak, below, float(least_usd[at])) >= limit:
                continue
            rest = self._rest(base, servers, peak)
            if not self._is_within_quotas(base, servers, peak, int(rest.servers.sum())):
                continue
            lasting = credit_months(self.known)
            mix = best_mix(rest, first_periods=lasting, **self._rules(servers), **self._rates(peak))
            above, creditable = float(mix.total_usd[0]), None
            if lasting is not None:
                creditable = self._base_first_usd(base, servers, lasting) + float(mix.first_usd[0])
            total = below + above + self._beside_usd(base, peak, below, above, creditable)
            if total < limit:
                best, limit = _Pair(base, peak, servers, total, rest), total
        return best

    def _is_within_quotas(self, base: int, base_servers: int, peak: int, peak_servers: int) -> bool:
        rows, servers = self.costs.rows[[base, peak]], np.array([base_servers, peak_servers])
        return are_kept_together(self.known, rows, servers * self.known.catalogue.offers.gpus_per_server[rows])

    def base_layers(self, base: int, servers: int) -> Layers:
        """The lowest layers of the demand that the first type would have alone."""
        whole = self.costs.groups[self.costs.group_of[base]].split_at(servers)
        keep = whole.stacked_servers[1:] <= servers
        kept = (whole.servers[keep], whole.hours[:, keep], whole.firm_hours[:, keep])
        return Layers(*kept, whole.repeats, whole.year, whole.periods_per_year)

    def part(self, candidate: int, demand: Layers, base_servers: int = 0) -> FleetPart:
        """One type with its layers, bought in the cheapest mix; below it stand so many servers of the other type."""
        offers, offer = self.known.catalogue.offers, int(self.costs.rows[candidate])
        mix = plan(demand, **self._rules(base_servers), **self._rates(candidate))
        return FleetPart(
            offer=offer_id(offers, offer),
            provider=str(offers.provider[offer]),
            gpu=self.known.catalogue.hardware.names[offers.gpu_row[offer]],
            gpus_per_server=int(offers.gpus_per_server[offer]),
            servers=int(demand.servers[(demand.hours > 0).any(axis=0)].sum()),
            served_hours=sum(float(hours.sum()) for hours in mix.served_hours.values()),
            compute_usd=mix.total_usd,
            mix=mix,
        )

    def _bases_usd(self, base: int) -> np.ndarray:
        """Cost of a base of 0, 1 ... all servers: each layer's cheapest purchase, summed up."""
        if base not in self._base_usd:
            whole, rules = self.costs.groups[self.costs.group_of[base]], self._rules(0)
            del rules["upfront_fraction"]  # when it is paid changes no total
            each = server_usd(whole, **rules, **self._rates(base))
            self._base_usd[base] = np.concatenate(([0.0], each.cumsum()))
        return self._base_usd[base]

    def _rates(self, candidate: int) -> dict[str, float]:
        return {name: float(rate[0]) for name, rate in self.costs.prices.mix_arguments([candidate]).items()}

    def _least_peak_usd(self, base: int, numbers: np.ndarray, peak: int) -> np.ndarray:
        """What the rest above so many base servers costs at least on the second type.

        The larger of two bounds: the work left, without rounding to whole servers, at the lowest rate; and the layers
        that the second type would have alone above the base's capacity, because each layer of the rest is needed at
        least as long as the next of those (only where all work is firm, and above the minimum replicas).
        """
        served = numbers * self._capacity(base)
        first = np.searchsorted(self.loads, served, side="right")
        left = self._above[1][first] - served * self._above[0][first]
        hours = left * self.slot_hours / self._capacity(peak)
        by_work = hours * self._lowest_rate(peak)
        purchase, traffic = self.known.scenario.purchase, self.known.scenario.traffic
        if purchase.spot_fraction > 0 or purchase.commitment_cap_servers is not None:
            return by_work
        alone = self._bases_usd(peak)
        replicas = self.solved.sized.replicas_per_server[self._shape(peak)]
        lowest = max(int(np.ceil(traffic.minimum_replicas / replicas)), 0)
        alike = np.ceil(served / self._capacity(peak) * (1 + _ROUNDING)).astype(int)
        alike = np.clip(alike, lowest, len(alone) - 1)
        return np.maximum(by_work, (alone[-1] - alone[alike]) * (1 - _ROUNDING))

    def _rest(self, base: int, servers: int, peak: int) -> Layers:
        sized, known = self.solved.sized, self.known
        first, second = self._shape(base), self._shape(peak)
        left = inference_servers(
            known.scenario.traffic,
            known.load,
            sized.requests_per_s[second],
            sized.replicas_per_server[second],
            served_elsewhere_requests_per_s=servers * self._capacity(base),
            replicas_elsewhere=servers * sized.replicas_per_server[first],
        )
        return service_layers(known, left)

    def _base_first_usd(self, base: int, servers: int, months: int) -> float:
        """What of a base of so many servers is due in the first months."""
        mix = best_mix(self.base_layers(base, servers), first_periods=months, **self._rules(0), **self._rates(base))
        return float(mix.first_usd[0])

    def _beside_usd(
        self, base: int, peak: int, base_usd: float, peak_usd: float, creditable_compute_usd: float | None = None
    ) -> float:
        """Storage and traffic where the base stands, support at both, people, moving, less the credit.

        The credit covers its share of everything, or, as long as it lasts, of what is due until then: the given part of
        the servers and what comes beside them.
        """
        costs, finance = self.costs, self.known.scenario.finance
        months = self.known.scenario.purchase.horizon_months
        data = costs.data_of(base)
        stored = data.usd(months)
        spend: dict[str, float] = {}
        for candidate, usd in ((base, base_usd + stored), (peak, peak_usd)):
            provider = str(self.known.catalogue.offers.provider[costs.rows[candidate]])
            spend[provider] = spend.get(provider, 0.0) + usd
        support = 0.0
        if finance.support_plan is not None:
            fees = (support_usd_per_month(self.known, name, np.array([usd / months])) for name, usd in spend.items())
            support = sum(float(fee[0]) for fee in fees)
        monthly = support + staff_usd_per_month(finance)
        gross = stored + months * monthly + finance.migration_usd
        creditable = gross + base_usd + peak_usd
        if creditable_compute_usd is not None:
            lasting = credit_months(self.known)
            creditable = creditable_compute_usd + data.usd(lasting) + lasting * monthly + finance.migration_usd
        return gross - min(finance.credit_usd, finance.credit_share_fraction * creditable)

    def _rules(self, base_servers: int) -> dict:
        """The scenario's rules of commitments, with what the base leaves of the cap."""
        return mix_rules(self.known) | {"commitment_cap_servers": self._cap_left(base_servers)}

    def _cap_left(self, servers: int) -> int | None:
        """What the base leaves of the cap on commitments; its own servers are counted as if all were committed."""
        cap = self.known.scenario.purchase.commitment_cap_servers
        return None if cap is None else max(cap - servers, 0)

    def _shape(self, candidate: int) -> int:
        return int(self.solved.shapes.of_offer[self.costs.rows[candidate]])

    def _capacity(self, candidate: int) -> float:
        """Requests per second of one server at the target utilisation."""
        per_server = float(self.solved.sized.requests_per_s[self._shape(candidate)])
        return per_server * self.known.scenario.traffic.target_utilisation_fraction

    def _lowest_rate(self, candidate: int) -> float:
        rates = [getattr(self.costs.prices, f"{kind}_usd_per_hour")[candidate] for kind in KINDS]
        return float(np.nanmin(rates))


def _bases(most: int) -> np.ndarray:
    """Numbers of base servers to try: fewer than all, at least one."""
    return (
        np.unique(np.rint(np.linspace(1, most - 1, min(most - 1, MOST_BASES)))).astype(int)
        if most > 1
        else np.array([], int)
    )


def _answer(fleet: _Fleet, single: int, best: _Pair | None, tried: int) -> MixedFleet:
    costs, offers = fleet.costs, fleet.known.catalogue.offers
    single_usd = float(costs.tco_usd[single])
    total = single_usd if best is None else best.total_usd
    base = peak = None
    one_provider = True
    if best is not None:
        base = fleet.part(best.base, fleet.base_layers(best.base, best.servers))
        peak = fleet.part(best.peak, best.rest, best.servers)
        one_provider = base.provider == peak.provider
    return MixedFleet(
        single=offer_id(offers, costs.rows[single]),
        single_usd=single_usd,
        base=base,
        peak=peak,
        total_usd=total,
        gain_usd=single_usd - total,
        gain_fraction=1 - total / single_usd if single_usd else 0.0,
        one_provider=one_provider,
        pairs_tried=tried,
    )
