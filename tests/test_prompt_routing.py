"""Long prompts on servers of their own: each group on its cheapest offer, against the best single one."""

from itertools import product

import numpy as np
import pytest

from gpudash.assumptions import assume
from gpudash.catalogue import load_catalogue
from gpudash.evaluate import evaluate, solve
from gpudash.prompt_routing import prompt_routing
from gpudash.scenario import Scenario

LONG = {
    "workload.model": "llama-3.1-8b",
    "traffic.peak_requests_per_s": 60,
    "traffic.long_prompts_fraction": 0.1,
    "workload.long_context_tokens": 30_000,
    "workload.ttft_ms": 6000,
}

CONTRACT = {"provider": "AWS", "instance_or_gpu": "L4", "count": 8, "usd_per_hour": 1.0, "months_left": 9}
FEW = {"requirements__providers_in": ("AWS", "GCP"), "requirements__gpus_in": ("L4", "A100-40GB SXM")}


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue()


def asked(**changes) -> Scenario:
    return Scenario().with_values(LONG | {path.replace("__", "."): value for path, value in changes.items()})


def alone(catalogue, **changes) -> np.ndarray:
    """Cost of the servers per offer for one length of prompt, asked as a question of its own."""
    solved = solve(assume(asked(traffic__long_prompts_fraction=0, **changes), catalogue))
    usd = np.full(len(catalogue.offers), np.inf)
    usd[solved.costs.rows] = solved.costs.compute_usd
    return usd


def test_each_length_goes_to_its_cheapest_offer_and_the_single_type_serves_both(catalogue):
    found = prompt_routing(asked(), catalogue)
    short = alone(catalogue, traffic__peak_requests_per_s=54)
    long = alone(catalogue, traffic__peak_requests_per_s=6, workload__context_tokens=30_000)
    assert found.short.compute_usd == pytest.approx(short.min())
    assert found.long.compute_usd == pytest.approx(long.min())
    assert found.single_usd == pytest.approx((short + long).min())
    assert found.gain_usd == pytest.approx(found.single_usd - found.total_usd)
    assert found.gain_usd >= 0


def test_what_the_whole_shares_does_not_change_the_gain(catalogue):
    shared = {
        "storage__datasets": [{"name": "a", "size_gb": 1000}],
        "finance__staff_fte": 2,
        "finance__credit_usd": 1e6,
        "budget__amount": 10,
    }
    assert prompt_routing(asked(**shared), catalogue) == prompt_routing(asked(), catalogue)


@pytest.mark.parametrize(
    "changes",
    [
        {"traffic__long_prompts_fraction": 0},
        {"workload__long_context_tokens": None},
        {"workload__kind": "fine_tuning"},
        {"purchase__contracts": [CONTRACT | {"count": count} for count in range(8, 17)]},
        {"workload__model": "deepseek-v3", "requirements__gpus_in": ("T4",)},
    ],
)
def test_without_long_prompts_or_offers_there_is_nothing_to_route(catalogue, changes):
    assert prompt_routing(asked(**changes), catalogue) is None


def test_the_recommendation_says_that_it_counts_no_long_prompts_and_is_what_it_was(catalogue):
    plain = evaluate(asked(traffic__long_prompts_fraction=0), catalogue)
    with_long = evaluate(asked(), catalogue)
    assert "prompt_routing.not_in_answer" in [message.code for message in with_long.warnings]
    assert "prompt_routing.not_in_answer" not in [message.code for message in plain.warnings]
    assert with_long.recommendation.tco_usd == plain.recommendation.tco_usd


def by_hand(catalogue, contracts, cap, **changes) -> tuple[float, float]:
    """The cheapest pair and the cheapest single offer, each division of contracts and cap asked as questions."""
    pair = single = np.inf
    counts = [range(contract["count"] + 1) for contract in contracts]
    for ours in product(*counts):
        for to_short in range(cap + 1) if cap is not None else [None]:
            short = alone(
                catalogue, traffic__peak_requests_per_s=18, purchase__commitment_cap_servers=to_short,
                purchase__contracts=[one | {"count": count} for one, count in zip(contracts, ours)], **changes,
            )  # fmt: skip
            long = alone(
                catalogue, traffic__peak_requests_per_s=2, workload__context_tokens=30_000,
                purchase__commitment_cap_servers=None if cap is None else cap - to_short,
                purchase__contracts=[one | {"count": one["count"] - n} for one, n in zip(contracts, ours)], **changes,
            )  # fmt: skip
            pair, single = min(pair, short.min() + long.min()), min(single, (short + long).min())
    return float(pair), float(single)


P4D = {"provider": "AWS", "instance_or_gpu": "p4d.24xlarge", "count": 1, "usd_per_hour": 9.0, "months_left": 20}


@pytest.mark.parametrize(
    ("contracts", "cap"), [([], 3), ([CONTRACT], None), ([CONTRACT, P4D], None), ([CONTRACT | {"count": 4}, P4D], 1)]
)
def test_contracts_and_a_cap_are_divided_so_that_both_lengths_cost_least(catalogue, contracts, cap):
    limits = {"purchase__contracts": contracts, "purchase__commitment_cap_servers": cap}
    found = prompt_routing(asked(traffic__peak_requests_per_s=20, **limits, **FEW), catalogue)
    pair, single = by_hand(catalogue, contracts, cap, **FEW)
    assert found.total_usd == pytest.approx(pair, rel=1e-9)
    assert found.single_usd == pytest.approx(single, rel=1e-9)
    assert found.total_usd == pytest.approx(found.short.compute_usd + found.long.compute_usd)


def test_both_lengths_together_stay_within_a_quota(catalogue):
    free = prompt_routing(asked(**FEW), catalogue)
    counted = {"provider": free.short.provider, "gpus": free.short.servers * free.short.gpus_per_server}
    bound = prompt_routing(asked(**FEW, requirements__quotas=[counted]), catalogue)
    used = sum(
        group.servers * group.gpus_per_server
        for group in (bound.short, bound.long)
        if group.provider == counted["provider"]
    )
    assert used <= counted["gpus"]
    assert bound.total_usd >= free.total_usd
