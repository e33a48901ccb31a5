"""Routing by prompt length: long prompts to servers of one type, the others to servers of another.

Priced are the servers alone: people, data and the network belong to the whole. Then the two groups of servers share
only what is limited for both: servers bought already and a cap on commitments, which are divided between them, and
quotas. Under each division the groups are bought apart, each in its own cheapest mix, and the cheapest pair is the
cheapest offer for the one and the cheapest for the other (or the cheapest that keep to the quotas together); over all
divisions that is exact for all offers. It is set against the best single type: the one offer on which both groups
together cost least. One group of that type for prompts of all lengths is not priced: it would save a server here and
there by rounding, but has to run every prompt in the layout and batches that the long ones allow.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from gpudash.assumptions import assume
from gpudash.catalogue import Catalogue
from gpudash.contracts import held_servers, servers_of
from gpudash.evaluate import solve
from gpudash.offers import offer_id
from gpudash.quotas import covered
from gpudash.scenario import Contract, Scenario
from gpudash.shared_cap import first_parts, usd_by_cap
from gpudash.tco import total_costs

MOST_DIVISIONS = 100  # of what is bought already between both groups; all of them up to here, then evenly spread
MOST_DIVIDED = 6  # contracts that both groups could use

# What both groups share, or what is decided about the whole; left out of the price of a group.
_OF_THE_WHOLE = {
    "storage.datasets": (),
    "storage.egress_gb_per_month": 0.0,
    "finance.staff_fte": 0.0,
    "finance.migration_usd": 0.0,
    "finance.credit_usd": 0.0,
    "finance.support_plan": None,
    "budget.amount": None,
    "budget.ceiling_usd_per_hour": None,
}


@dataclass(frozen=True)
class PromptGroup:
    """The servers that take the prompts of one length: their offer, how many at the peak of month 1, their cost.

    `contract_servers` of them are bought already and in no cost.
    """

    context_tokens: int
    provider: str
    offer: str
    gpu: str
    gpus_per_server: int
    servers: int
    contract_servers: int
    compute_usd: float


@dataclass(frozen=True)
class PromptRouting:
    """The cheapest offer for each length of prompt, against the best single one; USD for servers over the horizon.

    `single` and the gain are None where no offer can take prompts of both lengths.
    """

    short: PromptGroup
    long: PromptGroup
    single: str | None
    total_usd: float
    single_usd: float | None
    gain_usd: float | None
    gain_fraction: float | None

    @property
    def one_provider(self) -> bool:
        """Whether both groups are rented from one provider."""
        return self.short.provider == self.long.provider


@dataclass(frozen=True)
class _Pair:
    """An offer for each length under one division: cost of its servers, and what of the contracts each group has."""

    rows: tuple[int, int]
    usd: tuple[float, float]
    contracts: tuple[tuple[Contract, ...], tuple[Contract, ...]]

    @property
    def total_usd(self) -> float:
        return sum(self.usd)


def has_long_prompts(scenario: Scenario) -> bool:
    """Whether a part of the requests is said to have longer prompts than the others."""
    return scenario.workload.long_context_tokens is not None and 0 < scenario.traffic.long_prompts_fraction < 1


def prompt_routing(scenario: Scenario, catalogue: Catalogue) -> PromptRouting | None:
    """Both groups at their cheapest; None where no prompts are long, for training, and where a group has no offer.

    None, too, where more than `MOST_DIVIDED` contracts could serve both. Raises what `evaluate` raises.
    """
    work, traffic = scenario.workload, scenario.traffic
    if not has_long_prompts(scenario) or work.kind not in ("inference", "batch"):
        return None
    short = _Group(scenario, catalogue, work.context_tokens, 1 - traffic.long_prompts_fraction)
    long = _Group(scenario, catalogue, work.long_context_tokens, traffic.long_prompts_fraction)
    divisions = _divisions(short, long)
    if divisions is None:
        return None
    to_short, to_long = _caps(short, long)
    together = _kept_together(short, long)
    both = single = None
    for ours, theirs in divisions:
        usd = short.usd(ours, to_short), long.usd(theirs, to_long)
        rows_of = (_cheapest_rows(*usd, together, _usd(both)), _cheapest_row(*usd, together))
        both, single = (_cheaper(found, rows, usd, (ours, theirs)) for found, rows in zip((both, single), rows_of))
    return None if both is None else _answer(short, long, both, single)


class _Group:
    """The prompts of one length: which offers can take them, and what their servers cost."""

    def __init__(self, scenario: Scenario, catalogue: Catalogue, context_tokens: int, share: float):
        own = {
            "workload.context_tokens": context_tokens,
            "workload.long_context_tokens": None,
            "traffic.peak_requests_per_s": scenario.traffic.peak_requests_per_s * share,
        }
        solved = solve(assume(scenario.with_values(_OF_THE_WHOLE | own), catalogue))
        self.context_tokens, self.known, self.costs = context_tokens, solved.known, solved.costs
        self._shapes, self._sized = solved.shapes, solved.sized
        self.rows = solved.costs.rows[solved.allowed]
        servers = np.zeros(len(catalogue.offers), dtype=int)
        servers[solved.costs.rows] = np.maximum(solved.costs.servers, solved.costs.last_servers)
        self.most_servers, self.gpus = int(servers.max()), servers * catalogue.offers.gpus_per_server
        contracts = solved.known.scenario.purchase.contracts
        self.uses = np.array([servers_of(solved.known, one, self.rows) > 0 for one in contracts], dtype=bool)
        self.uses = self.uses.reshape(len(contracts), len(self.rows))
        self._priced: dict[tuple, np.ndarray] = {}

    def usd(self, contracts: tuple[Contract, ...], caps_servers: np.ndarray | None) -> np.ndarray:
        """Cost of the servers on every offer of the catalogue with so much of the contracts [offers, caps].

        A column for each cap on commitments, a single one without any; infinite where an offer cannot do the work.
        """
        patterns, pattern_of = np.unique(self.uses, axis=1, return_inverse=True)
        usd = np.full((len(self.gpus), 1 if caps_servers is None else len(caps_servers)), np.inf)
        for pattern in range(patterns.shape[1]):
            own = tuple(contract for contract, is_used in zip(contracts, patterns[:, pattern]) if is_used)
            members = self.rows[pattern_of.ravel() == pattern]
            if (pattern, own) not in self._priced:
                self._priced[pattern, own] = self._usd_of(members, own, caps_servers)
            usd[members] = self._priced[pattern, own]
        return usd

    def _usd_of(self, rows: np.ndarray, contracts: tuple[Contract, ...], caps_servers: np.ndarray | None) -> np.ndarray:
        known = self.known_with(contracts)
        costs = total_costs(known, self._shapes, self._sized, rows)
        if caps_servers is None:
            return costs.compute_usd[:, None]
        resale = known.scenario.purchase.resale_fraction
        return np.stack(
            [
                usd_by_cap(costs.groups[group], caps_servers, resale_fraction=resale, **costs.prices.of(candidate))
                for candidate, group in enumerate(costs.group_of)
            ]
        )

    def known_with(self, contracts: tuple[Contract, ...]):
        """The question of this group with so much of the contracts."""
        scenario = self.known.scenario
        return replace(self.known, scenario=scenario.with_value("purchase.contracts", contracts))


def _caps(short: _Group, long: _Group) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    """What each group has of the cap on commitments under each way to divide it; None where it binds nobody."""
    cap = short.known.scenario.purchase.commitment_cap_servers
    if cap is None or cap >= short.most_servers + long.most_servers:
        return None, None
    to_short = first_parts(cap)
    return to_short, cap - to_short


def _divisions(short: _Group, long: _Group) -> Iterator[tuple[tuple[Contract, ...], tuple[Contract, ...]]] | None:
    """What of each contract the group of short prompts has, and what the other; None where there are too many.

    A contract that only one group can use is all its own.
    """
    contracts = short.known.scenario.purchase.contracts
    is_shared = [bool(ours.any() and theirs.any()) for ours, theirs in zip(short.uses, long.uses)]
    if sum(is_shared) > MOST_DIVIDED:
        return None
    ends = [contract.count if shared else 0 for contract, shared in zip(contracts, is_shared)]
    is_few = math.prod(end + 1 for end in ends) <= MOST_DIVISIONS
    most = MOST_DIVISIONS if is_few else max(int(MOST_DIVISIONS ** (1 / sum(is_shared))), 2)
    counts = []
    for contract, shared in zip(contracts, is_shared):
        steps = np.linspace(0, contract.count, min(contract.count + 1, most)) if shared else [contract.count]
        counts.append(np.unique(np.rint(steps)).astype(int).tolist())
    return (
        (
            tuple(_part(contract, count) for contract, count in zip(contracts, ours)),
            tuple(
                _part(contract, contract.count - count if shared else count)
                for contract, count, shared in zip(contracts, ours, is_shared)
            ),
        )
        for ours in product(*counts)
    )


def _part(contract: Contract, count: int) -> Contract:
    return contract.model_copy(update={"count": count})


def _kept_together(short: _Group, long: _Group) -> np.ndarray | None:
    """Whether two offers, one for short and one for long prompts, keep to every quota; None where there is none."""
    quotas = short.known.scenario.requirements.quotas
    if not quotas:
        return None
    every = np.arange(len(short.gpus))
    kept = np.ones((len(every), len(every)), dtype=bool)
    for quota in quotas:
        counted = covered(short.known, quota, every)
        kept &= (short.gpus * counted)[:, None] + (long.gpus * counted) <= quota.gpus
    return kept


def _cheapest_rows(short_usd, long_usd, together: np.ndarray | None, limit_usd: float) -> tuple[int, int, int] | None:
    """The cheapest offer for each length and their part of the cap; None where no pair is below the limit."""
    least_usd, best = short_usd.min(axis=0) + long_usd.min(axis=0), None
    for cap in np.argsort(least_usd, kind="stable").tolist():
        if least_usd[cap] >= limit_usd:
            break
        short, long = int(short_usd[:, cap].argmin()), int(long_usd[:, cap].argmin())
        if together is not None and not together[short, long]:
            usd = np.where(together, short_usd[:, cap, None] + long_usd[:, cap], np.inf)
            short, long = (int(row) for row in np.unravel_index(usd.argmin(), usd.shape))
            if usd[short, long] >= limit_usd:
                continue
        best, limit_usd = (short, long, cap), float(short_usd[short, cap] + long_usd[long, cap])
    return best


def _cheapest_row(short_usd, long_usd, together: np.ndarray | None) -> tuple[int, int, int]:
    """The one offer on which both lengths cost least, and the part of the cap."""
    usd = short_usd + long_usd
    if together is not None:
        usd = np.where(together.diagonal()[:, None], usd, np.inf)
    row, cap = np.unravel_index(usd.argmin(), usd.shape)
    return int(row), int(row), int(cap)


def _cheaper(found: _Pair | None, rows: tuple[int, int, int] | None, usd, contracts) -> _Pair | None:
    """The pair found under this division if it is the cheapest so far; None while there is none at all."""
    if rows is None:
        return found
    short, long, cap = rows
    pair = _Pair((short, long), (float(usd[0][short, cap]), float(usd[1][long, cap])), contracts)
    return pair if pair.total_usd < _usd(found) else found


def _usd(found: _Pair | None) -> float:
    return np.inf if found is None else found.total_usd


def _answer(short: _Group, long: _Group, both: _Pair, single: _Pair | None) -> PromptRouting:
    groups = [
        _prompt_group(group, row, usd, contracts)
        for group, row, usd, contracts in zip((short, long), both.rows, both.usd, both.contracts)
    ]
    if single is None:
        return PromptRouting(*groups, None, both.total_usd, None, None, None)
    gain_usd = single.total_usd - both.total_usd
    gain_fraction = gain_usd / single.total_usd if single.total_usd else 0.0
    name = offer_id(short.known.catalogue.offers, single.rows[0])
    return PromptRouting(*groups, name, both.total_usd, single.total_usd, gain_usd, gain_fraction)


def _prompt_group(group: _Group, offer: int, usd: float, contracts: tuple[Contract, ...]) -> PromptGroup:
    offers, costs = group.known.catalogue.offers, group.costs
    servers = int(costs.servers[np.flatnonzero(costs.rows == offer)[0]])
    held = held_servers(group.known_with(contracts), np.array([offer]))[0, 0]
    return PromptGroup(
        context_tokens=group.context_tokens,
        provider=str(offers.provider[offer]),
        offer=offer_id(offers, offer),
        gpu=group.known.catalogue.hardware.names[offers.gpu_row[offer]],
        gpus_per_server=int(offers.gpus_per_server[offer]),
        servers=servers,
        contract_servers=min(int(held), servers),
        compute_usd=usd,
    )
