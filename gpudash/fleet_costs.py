"""What a base on one offer and the peak above it on another cost, for every number of base servers.

Servers bought already are a part of their type that costs nothing more: as the base they all serve, however few are
wanted beside them; as the peak they serve first. A cap on commitments is divided between both (`shared_cap`).
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from gpudash.contracts import held_servers
from gpudash.data_costs import egress_usd_per_month
from gpudash.demand import Load, inference_servers, provisioned_requests_per_s
from gpudash.demand_layers import service_layers
from gpudash.evaluate import Solved
from gpudash.layers import Layers
from gpudash.paid_prices import dearest_usd_per_hour
from gpudash.purchase_mix import KINDS, Plan, best_mix, plan, server_usd
from gpudash.quotas import are_kept_together
from gpudash.shared_cap import first_parts, usd_by_cap
from gpudash.support import support_usd_per_month
from gpudash.tco import credit_months, credits_pay_usd, mix_rules, staff_usd_per_month
from gpudash.units import HOURS_PER_MONTH

MOST_BASES = 60  # numbers of base servers tried for one pair; all of them up to here, then evenly spread
MOST_PRICED = 1000  # pairs with a number of base servers; bounds leave more mostly where a credit blunts them
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Part:
    """The servers of one type: how many work at the peak of each month, and what has to be bought for them.

    `servers` [months] contain those bought already, `bought` does not.
    """

    candidate: int
    servers: np.ndarray
    bought: Layers
    cap_servers: int | None = None  # its part of the cap on commitments


@dataclass(frozen=True)
class Pair:
    """A base and the peak above it, with all that comes with them; USD over the horizon."""

    base: Part
    peak: Part
    total_usd: float


class FleetCosts:
    """Prices pairs of candidates of one scenario; what does not depend on the pair is worked out once."""

    def __init__(self, solved: Solved):
        self.solved, self.known, self.costs = solved, solved.known, solved.costs
        self.held = held_servers(self.known, self.costs.rows)  # [candidates, months]
        traffic, load = self.known.scenario.traffic, self.known.load
        delay = traffic.scaling_delay_minutes + traffic.cold_start_minutes
        covered = provisioned_requests_per_s(load.requests_per_s, delay, traffic.follows_demand)
        months = np.bincount(load.month_row, minlength=len(covered))
        ascending = np.argsort(covered, axis=None)
        self._loads = covered.ravel()[ascending]
        weight = np.repeat(months, covered.shape[1])[ascending]
        self._above = [np.append(x[::-1].cumsum()[::-1], 0.0) for x in (weight, weight * self._loads)]
        self._slot_hours = HOURS_PER_MONTH / covered.shape[1]
        self._priced = 0
        self._dearest_usd_per_hour = dearest_usd_per_hour(self.costs.prices)
        self._alone, self._base, self._bases = map(cache, (self._alone_servers, self._lowest, self._base_numbers))
        self._stack_usd, self._share = map(cache, (self._server_usd, self._served_fraction))

    def cheapest(self, base: int, peak: int, limit_usd: float) -> Pair | None:
        """The cheapest number of base servers of a pair if it is below the limit; the most promising numbers first."""
        best = None
        numbers, base_usd = self._bases(base)
        least_usd = self._least_peak_usd(base, numbers, peak)
        is_allowed = self._below_ceiling(base, peak, numbers)
        for at in np.argsort(base_usd + least_usd, kind="stable"):
            servers, below, above = int(numbers[at]), float(base_usd[at]), float(least_usd[at])
            if not is_allowed[at] or self._least_usd(base, peak, servers, (below, above)) >= limit_usd:
                continue
            if self._priced == MOST_PRICED:
                break
            self._priced += 1
            parts = self._base(base, servers), self._rest(base, servers, peak)
            if not self._keep_quotas(*parts):
                continue
            if self._least_usd(base, peak, servers, (below, self._part_usd(parts[1]))) >= limit_usd:
                continue
            pair = self._bought(servers, *self._with_caps(*parts))
            if pair.total_usd < limit_usd:
                best, limit_usd = pair, pair.total_usd
        return best

    def mix(self, part: Part) -> Plan:
        """How the servers of a part are bought."""
        return plan(part.bought, **self._rules(part.cap_servers), **self.costs.prices.of(part.candidate))

    # ---- servers ---------------------------------------------------------------------------------------------------

    def _alone_servers(self, candidate: int) -> np.ndarray:
        """Servers that this type would need alone [distinct months, 168]."""
        sized, shape = self.solved.sized, self._shape(candidate)
        return inference_servers(
            self.known.scenario.traffic, self.known.load, sized.requests_per_s[shape], sized.replicas_per_server[shape]
        )

    def _standing(self, base: int, servers: int) -> np.ndarray:
        """Base servers that there are month by month: as many as wanted, and all that are bought already."""
        return np.maximum(self.held[base], servers)

    def _lowest(self, base: int, servers: int) -> Part:
        """The lowest layers of the demand that the first type would have alone."""
        alone, held = self._alone(base), self.held[base]
        whole = service_layers(self.known, alone).split_at(servers)
        keep = whole.stacked_servers[1:] <= servers
        kept = (whole.servers[keep], whole.hours[:, keep], whole.firm_hours[:, keep])
        lowest = Layers(*kept, whole.repeats, whole.year, whole.periods_per_year)
        needed = alone.max(axis=1)[self.known.load.month_row]
        return Part(base, np.minimum(needed, self._standing(base, servers)), lowest.above(held))

    def _rest(self, base: int, servers: int, peak: int) -> Part:
        """What the second type has to serve above so many servers of the first."""
        month = np.stack([self.known.load.month_row, self._standing(base, servers)])
        (rows, standing), month_row = np.unique(month, axis=1, return_inverse=True)
        left = self._left(base, standing, peak, rows)
        bought = service_layers(self.known, left, month_row).above(self.held[peak])
        return Part(peak, left.max(axis=1)[month_row], bought)

    def _left(self, base: int, standing: np.ndarray, peak: int, rows: np.ndarray) -> np.ndarray:
        """Servers of the second type above so many of the first, each in one row of the load [rows, 168]."""
        sized, load, first, second = self.solved.sized, self.known.load, self._shape(base), self._shape(peak)
        return inference_servers(
            self.known.scenario.traffic,
            Load(load.requests_per_s[rows], np.arange(len(rows))),
            sized.requests_per_s[second],
            sized.replicas_per_server[second],
            served_elsewhere_requests_per_s=standing * self._capacity(base),
            replicas_elsewhere=standing * sized.replicas_per_server[first],
        )

    def _base_numbers(self, base: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of base servers to try, fewer than all, and what has to be paid for them.

        Without servers bought already a layer's cost does not depend on the layers above it, and they add up.
        """
        most, has_held = int(self._alone(base).max()), bool(self.held[base].any())
        least = 0 if has_held else 1
        count = min(most - least, MOST_BASES)
        numbers = np.unique(np.rint(np.linspace(least, most - 1, max(count, 0))).astype(int))
        if has_held:
            return numbers, np.array([self._part_usd(self._base(base, servers)) for servers in numbers.tolist()])
        return numbers, np.append(0.0, self._stack_usd(base).cumsum())[numbers]

    def _keep_quotas(self, base: Part, peak: Part) -> bool:
        rows = self.costs.rows[[base.candidate, peak.candidate]]
        servers = np.array([base.servers.max(), peak.servers.max()])
        return are_kept_together(self.known, rows, servers * self.known.catalogue.offers.gpus_per_server[rows])

    def _below_ceiling(self, base: int, peak: int, numbers: np.ndarray) -> np.ndarray:
        """Which numbers of base servers keep both parts to the hourly ceiling in the busiest hour of month 1."""
        ceiling, first_row = self.known.scenario.budget.ceiling_usd_per_hour, self.known.load.month_row[0]
        if ceiling is None:
            return np.ones(len(numbers), dtype=bool)
        standing = np.maximum(self.held[base, 0], numbers)
        needed = np.minimum(self._alone(base)[first_row].max(), standing)
        above = self._left(base, standing, peak, np.full(len(numbers), first_row)).max(axis=1)
        paid = np.maximum(np.stack([needed, above]) - self.held[[base, peak], :1], 0)
        return self._dearest_usd_per_hour[[base, peak]] @ paid <= ceiling

    # ---- money -----------------------------------------------------------------------------------------------------

    def _bought(self, servers: int, base: Part, peak: Part) -> Pair:
        """Both parts in their cheapest mix, and all that comes with them."""
        lasting = credit_months(self.known)
        mixes = [
            best_mix(
                part.bought,
                first_periods=lasting,
                **self._rules(part.cap_servers),
                **self.costs.prices.of(part.candidate),
            )
            for part in (base, peak)
        ]
        usd = tuple(float(mix.total_usd[0]) for mix in mixes)
        first_usd = None if lasting is None else sum(float(mix.first_usd[0]) for mix in mixes)
        beside_usd = self._beside_usd(base.candidate, peak.candidate, servers, usd, first_usd)
        return Pair(base, peak, sum(usd) + beside_usd)

    def _with_caps(self, base: Part, peak: Part) -> tuple[Part, Part]:
        """Both parts, with the cap on commitments divided so that the servers of both cost least."""
        cap = self.known.scenario.purchase.commitment_cap_servers
        if cap is None:
            return base, peak
        cap = min(cap, int(base.bought.servers.sum() + peak.bought.servers.sum()))
        to_base = first_parts(cap)
        usd = self._usd_by_cap(base, to_base) + self._usd_by_cap(peak, cap - to_base)
        part = int(to_base[usd.argmin()])
        return replace(base, cap_servers=part), replace(peak, cap_servers=cap - part)

    def _usd_by_cap(self, part: Part, caps_servers: np.ndarray) -> np.ndarray:
        return usd_by_cap(part.bought, caps_servers, **self._terms(), **self.costs.prices.of(part.candidate))

    def _part_usd(self, part: Part) -> float:
        """What a part costs at least: as if it had the whole cap on commitments."""
        rules = mix_rules(self.known)
        return float(best_mix(part.bought, **rules, **self.costs.prices.of(part.candidate)).total_usd[0])

    def _server_usd(self, candidate: int) -> np.ndarray:
        """Cost of each server of the stack that this type would have alone, lowest first, if none is bought already."""
        cap = self.known.scenario.purchase.commitment_cap_servers
        whole = service_layers(self.known, self._alone(candidate))
        return server_usd(whole, commitment_cap_servers=cap, **self._terms(), **self.costs.prices.of(candidate))

    def _least_usd(self, base: int, peak: int, servers: int, usd: tuple[float, float]) -> float:
        """What a pair costs at least if its servers cost at least so much.

        A credit that ends early covers no more than one that does not; where terms are sold again, what is due early
        may be more than all that they cost in the end, and the credit counts in full.
        """
        is_more = credit_months(self.known) is not None and self.known.scenario.purchase.resale_fraction > 0
        first_usd = np.inf if is_more else None
        return sum(usd) + self._beside_usd(base, peak, servers, usd, first_usd)

    def _least_peak_usd(self, base: int, numbers: np.ndarray, peak: int) -> np.ndarray:
        """What the rest above so many base servers costs at least on the second type.

        The larger of two bounds: the work left, without rounding to whole servers, at the lowest rate; and the layers
        that the second type would have alone above the base's capacity, because each layer of the rest is needed at
        least as long as the next of those (only where all work is firm and nothing is bought already, and above the
        minimum replicas).
        """
        served = np.maximum(numbers, self.held[base].max()) * self._capacity(base)
        first = np.searchsorted(self._loads, served, side="right")
        left = self._above[1][first] - served * self._above[0][first]
        hours = left * self._slot_hours / self._capacity(peak) - self.held[peak].sum() * HOURS_PER_MONTH
        by_work = np.where(hours > 0, hours * self._lowest_rate(peak), 0.0)
        purchase, traffic = self.known.scenario.purchase, self.known.scenario.traffic
        has_held = self.held[[base, peak]].any()
        if has_held or purchase.spot_fraction > 0 or purchase.commitment_cap_servers is not None:
            return by_work
        alone = np.append(0.0, self._stack_usd(peak).cumsum())
        replicas = self.solved.sized.replicas_per_server[self._shape(peak)]
        lowest = max(int(np.ceil(traffic.minimum_replicas / replicas)), 0)
        alike = np.ceil(served / self._capacity(peak) * (1 + _ROUNDING)).astype(int)
        alike = np.clip(alike, lowest, len(alone) - 1)
        return np.maximum(by_work, (alone[-1] - alone[alike]) * (1 - _ROUNDING))

    def _beside_usd(
        self, base: int, peak: int, servers: int, usd: tuple[float, float], first_usd: float | None = None
    ) -> float:
        """Storage where the base stands, traffic where it is served, support at both, people, moving, less the credit.

        `usd` is for the servers of both. The credit covers its share of everything, or, as long as it lasts, of what is
        due until then: `first_usd` of the servers, and what comes beside them.
        """
        costs, finance, months = self.costs, self.known.scenario.finance, self.known.scenario.purchase.horizon_months
        storage = costs.data_of(base).storage_usd_per_month
        egress = self._egress_usd_per_month(base, peak, servers)
        stored = float(storage.sum())
        spend: dict[str, float] = {}
        for candidate, bought, sent, kept in zip((base, peak), usd, egress, (stored, 0.0)):
            provider = str(self.known.catalogue.offers.provider[costs.rows[candidate]])
            spend[provider] = spend.get(provider, 0.0) + bought + kept + sent * months
        monthly = sum(egress) + self._support_usd_per_month(spend) + staff_usd_per_month(finance)
        gross = stored + months * monthly + finance.migration_usd
        creditable = gross + sum(usd)
        if first_usd is not None:
            lasting = credit_months(self.known)
            creditable = first_usd + float(storage[:lasting].sum()) + lasting * monthly + finance.migration_usd
        return gross - float(credits_pay_usd(finance, creditable, gross + sum(usd)))

    def _support_usd_per_month(self, spend_usd: dict[str, float]) -> float:
        """The chosen support plan at each provider, from what is spent there over the horizon."""
        if self.known.scenario.finance.support_plan is None:
            return 0.0
        months = self.known.scenario.purchase.horizon_months
        fees = (support_usd_per_month(self.known, name, np.array([usd / months])) for name, usd in spend_usd.items())
        return sum(float(fee[0]) for fee in fees)

    def _egress_usd_per_month(self, base: int, peak: int, servers: int) -> tuple[float, float]:
        """Traffic out of the base and of the peak: each sends the share of the answers that it gives."""
        costs, offers = self.costs, self.known.catalogue.offers
        whole = costs.data_of(base).egress_usd_per_month
        if costs.data_row[base] == costs.data_row[peak] or not self.known.scenario.storage.egress_gb_per_month:
            return whole, 0.0
        share = self._share(base, servers)
        places = [(str(offers.provider[row]), str(offers.country[row])) for row in costs.rows[[base, peak]]]
        return tuple(egress_usd_per_month(self.known, *place, part) for place, part in zip(places, (share, 1 - share)))

    def _served_fraction(self, base: int, servers: int) -> float:
        """The share of all requests that so many base servers answer."""
        load = self.known.load
        asked = load.requests_per_s[load.month_row]
        taken = np.minimum(asked, self._standing(base, servers)[:, None] * self._capacity(base))
        return float(taken.sum() / asked.sum())

    def _rules(self, cap_servers: int | None) -> dict:
        return mix_rules(self.known) | {"commitment_cap_servers": cap_servers}

    def _terms(self) -> dict:
        """What of the rules changes the cost of a server: neither the cap nor when it is paid."""
        return {"resale_fraction": self.known.scenario.purchase.resale_fraction}

    def _shape(self, candidate: int) -> int:
        return int(self.solved.shapes.of_offer[self.costs.rows[candidate]])

    def _capacity(self, candidate: int) -> float:
        """Requests per second of one server at the target utilisation."""
        per_server = float(self.solved.sized.requests_per_s[self._shape(candidate)])
        return per_server * self.known.scenario.traffic.target_utilisation_fraction

    def _lowest_rate(self, candidate: int) -> float:
        rates = [getattr(self.costs.prices, f"{kind}_usd_per_hour")[candidate] for kind in KINDS]
        return float(np.nanmin(rates, initial=np.inf))
