"""Long prompts on servers of their own: each group on its cheapest offer, against the best single one."""

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

CONTRACT = {"provider": "AWS", "instance_or_gpu": "L4", "count": 2, "usd_per_hour": 1.0, "months_left": 9}


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
        {"purchase__commitment_cap_servers": 3},
        {"purchase__contracts": [CONTRACT]},
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
