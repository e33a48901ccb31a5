"""Routing by prompt length: long prompts to servers of one type, the others to servers of another.

Priced are the servers alone: people, data and the network belong to the whole. Then the two groups of servers share
nothing, so each is bought in its own cheapest mix, and the cheapest pair is the cheapest offer for the one and the
cheapest for the other. That is exact over all offers. It is set against the best single type: the one offer on which
both groups together cost least. One group of that type for prompts of all lengths is not priced: it would save a
server here and there by rounding, but has to run every prompt in the layout and batches that the long ones allow.
"""

from dataclasses import dataclass

import numpy as np

from gpudash.assumptions import assume
from gpudash.catalogue import Catalogue
from gpudash.evaluate import Solved, solve
from gpudash.offers import offer_id
from gpudash.scenario import Scenario

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
    """The servers that take the prompts of one length: their offer, how many at the peak of month 1, their cost."""

    context_tokens: int
    provider: str
    offer: str
    gpu: str
    gpus_per_server: int
    servers: int
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


def has_long_prompts(scenario: Scenario) -> bool:
    """Whether a part of the requests is said to have longer prompts than the others."""
    return scenario.workload.long_context_tokens is not None and 0 < scenario.traffic.long_prompts_fraction < 1


def prompt_routing(scenario: Scenario, catalogue: Catalogue) -> PromptRouting | None:
    """Both groups at their cheapest; None where no prompts are long, for training, and where a group has no offer.

    A cap on commitments, or servers bought already, count for both groups together and would have to be split: None
    then, too. Raises what `evaluate` raises.
    """
    work, traffic, purchase = scenario.workload, scenario.traffic, scenario.purchase
    is_shared = purchase.commitment_cap_servers is not None or purchase.contracts
    if not has_long_prompts(scenario) or work.kind not in ("inference", "batch") or is_shared:
        return None
    lengths = (work.context_tokens, work.long_context_tokens)
    shares = (1 - traffic.long_prompts_fraction, traffic.long_prompts_fraction)
    groups = [_solved(scenario, catalogue, tokens, share) for tokens, share in zip(lengths, shares)]
    usd = np.array([_compute_usd(solved, len(catalogue.offers)) for solved in groups])
    if not np.isfinite(usd.min(axis=1)).all():
        return None
    short, long = (
        _group(solved, tokens, int(offer)) for solved, tokens, offer in zip(groups, lengths, usd.argmin(axis=1))
    )
    total_usd, both_usd = short.compute_usd + long.compute_usd, usd.sum(axis=0)
    best = int(both_usd.argmin())
    if not np.isfinite(both_usd[best]):
        return PromptRouting(short, long, None, total_usd, None, None, None)
    single_usd = float(both_usd[best])
    gain_usd = single_usd - total_usd
    gain_fraction = gain_usd / single_usd if single_usd else 0.0
    return PromptRouting(short, long, offer_id(catalogue.offers, best), total_usd, single_usd, gain_usd, gain_fraction)


def _solved(scenario: Scenario, catalogue: Catalogue, context_tokens: int, share: float) -> Solved:
    """The question of one group: its share of the requests, its length of prompt."""
    own = {
        "workload.context_tokens": context_tokens,
        "workload.long_context_tokens": None,
        "traffic.peak_requests_per_s": scenario.traffic.peak_requests_per_s * share,
    }
    return solve(assume(scenario.with_values(_OF_THE_WHOLE | own), catalogue))


def _compute_usd(solved: Solved, offers: int) -> np.ndarray:
    """Cost of the servers on every offer of the catalogue; infinite where it cannot do the work."""
    usd = np.full(offers, np.inf)
    usd[solved.costs.rows] = np.where(solved.allowed, solved.costs.compute_usd, np.inf)
    return usd


def _group(solved: Solved, context_tokens: int, offer: int) -> PromptGroup:
    offers, costs = solved.known.catalogue.offers, solved.costs
    candidate = int(np.flatnonzero(costs.rows == offer)[0])
    return PromptGroup(
        context_tokens=context_tokens,
        provider=str(offers.provider[offer]),
        offer=offer_id(offers, offer),
        gpu=solved.known.catalogue.hardware.names[offers.gpu_row[offer]],
        gpus_per_server=int(offers.gpus_per_server[offer]),
        servers=int(costs.servers[candidate]),
        compute_usd=float(costs.compute_usd[candidate]),
    )
