"""The break-evens, the published split and the savings behind a recommended mix, recomputed by hand."""

import numpy as np
import pytest

from gpudash.catalogue import load_catalogue
from gpudash.evaluate import evaluate
from gpudash.scenario import Scenario
from gpudash.spot import spot_rework_fraction

AWS = {
    "workload": {"model": "llama-3.1-70b"},
    "traffic": {"peak_requests_per_s": 50},
    "requirements": {"providers_in": ["AWS"], "gpus_in": ["H100 SXM"]},
}


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue()


def run(catalogue, groups=AWS, **changes):
    scenario = Scenario.read(groups).with_values({path.replace("__", "."): value for path, value in changes.items()})
    return evaluate(scenario, catalogue)


@pytest.fixture(scope="module")
def result(catalogue):
    return run(catalogue)


def test_break_even_use_is_the_rate_paid_against_the_on_demand_rate(result):
    choice, detail = result.recommendation, result.purchase_detail
    ratio = choice.reserved_3y_usd_per_hour / choice.on_demand_usd_per_hour
    assert detail.break_even_utilisation["reserved_3y"] == pytest.approx(ratio)


def test_a_term_that_is_not_sold_has_no_break_even(result):
    assert result.recommendation.monthly_subscription_usd_per_hour is None
    assert result.purchase_detail.break_even_utilisation["monthly"] is None


def test_at_the_break_even_interruption_spot_with_its_rework_costs_what_on_demand_costs(result):
    spot = result.purchase_detail.spot
    rework = spot_rework_fraction(spot.break_even_interruption_h, 0.0, result.scenario.purchase.restart_minutes)
    assert spot.spot_usd_per_hour * (1 + rework) == pytest.approx(result.recommendation.on_demand_usd_per_hour)
    assert spot.mean_time_between_interruptions_h > spot.break_even_interruption_h


def test_the_published_split_reserves_four_fifths_of_the_peak_and_puts_the_rest_on_spot(result):
    split, choice = result.purchase_detail.published_split, result.recommendation
    committed = int(np.ceil(0.8 * choice.servers))
    assert split.committed_servers == (committed,) * 3
    servers = result.demand.servers
    above = np.maximum(servers - committed, 0).sum() * 730 / 168
    terms = {"reserved_1y": choice.reserved_1y_usd_per_hour, "reserved_3y": choice.reserved_3y_usd_per_hour}
    rate = choice.spot_usd_per_hour * (1 + result.purchase_detail.spot.rework_fraction)
    assert split.total_usd == pytest.approx(committed * 3 * 8760 * terms[split.term] + above * rate)
    assert split.extra_usd == pytest.approx(split.total_usd - split.mix_usd)


def test_the_published_split_is_never_cheaper_than_the_mix_where_as_much_may_run_on_spot(catalogue):
    for peak in (5, 50, 200):
        for growth in (0.0, 0.05):
            split = run(
                catalogue, purchase__spot_fraction=1.0, traffic__peak_requests_per_s=peak,
                traffic__growth_fraction_per_month=growth,
            ).purchase_detail.published_split  # fmt: skip
            assert split.is_allowed
            assert split.extra_usd >= -1e-6


def test_a_split_that_runs_on_spot_what_may_not_says_so(result):
    assert result.purchase_detail.published_split.rest == "spot"
    assert not result.purchase_detail.published_split.is_allowed


FULL = {
    "purchase__negotiated_discounts": {"AWS": 0.1},
    "purchase__spot_fraction": 0.5,
    "storage__datasets": [
        {"name": "logs", "size_gb": 50_000, "max_latency_ms": 1e8},
        {"name": "index", "size_gb": 2_000, "reads_gb_per_month": 500},
    ],
    "storage__egress_gb_per_month": 3000,
    "finance__credit_usd": 25_000,
    "finance__staff_fte": 1,
    "finance__migration_usd": 10_000,
}


def test_the_savings_lead_from_the_list_price_to_what_is_paid_and_none_counts_twice(catalogue):
    result = run(catalogue, **FULL)
    detail, left = result.purchase_detail, result.purchase_detail.always_on_usd
    for step in detail.savings:
        left -= step.saved_usd
        assert step.left_usd == pytest.approx(left)
    assert left == pytest.approx(result.recommendation.tco_usd)
    saved = {step.measure: step.saved_usd for step in detail.savings}
    assert {"negotiated_discount", "commitments", "follow_demand", "storage_tiers", "credit"} <= set(saved)
    assert all(usd >= -1e-6 for usd in saved.values())
    assert 0 <= sum(saved.values()) <= detail.always_on_usd
    assert saved["negotiated_discount"] > 0
    assert saved["storage_tiers"] > 0
    assert saved["credit"] == pytest.approx(25_000)


def test_a_negotiated_discount_is_one_step_and_a_tenth_of_the_hours_at_list_price(catalogue):
    result = run(catalogue, **FULL)
    hours = sum(served.sum() for served in result.purchase_mix.served_hours.values())
    saved = {step.measure: step.saved_usd for step in result.purchase_detail.savings}
    assert saved["negotiated_discount"] == pytest.approx(0.1 * hours * result.recommendation.on_demand_usd_per_hour)


def test_without_traffic_control_nothing_is_saved_by_following_the_demand(catalogue):
    saved = run(catalogue, traffic__follows_demand=False).purchase_detail.savings[0]
    assert saved.measure == "follow_demand"
    assert saved.saved_usd == pytest.approx(0)


def test_the_savings_on_runs_do_not_count_servers_that_nobody_would_keep_between_them(catalogue):
    asked = {"workload": {"kind": "fine_tuning", "model": "llama-3-8b", "training_method": "lora"}}
    detail = evaluate(Scenario.read(asked), catalogue).purchase_detail
    saved = {step.measure: step.saved_usd for step in detail.savings}
    assert saved["follow_demand"] == pytest.approx(0)
    assert detail.always_on_usd < 1000, "one run of hours, not servers for three years"


def test_a_savings_plan_is_taken_where_it_is_cheaper_than_a_reservation(catalogue):
    plans = {"purchase__savings_plans": [{"provider": "AWS", "reserved_3y_discount_fraction": 0.8}]}
    plain, planned = run(catalogue), run(catalogue, **plans)
    used = planned.purchase_detail.savings_plans
    on_demand = planned.recommendation.on_demand_usd_per_hour
    assert [use.term for use in used] == ["reserved_3y"]
    assert used[0].usd_per_server_hour == pytest.approx(0.2 * on_demand)
    assert used[0].usd_per_hour == pytest.approx(used[0].usd_per_server_hour * used[0].servers)
    assert planned.recommendation.tco_usd < plain.recommendation.tco_usd
    assert not plain.purchase_detail.savings_plans


def test_a_savings_plan_dearer_than_the_reservation_changes_nothing(catalogue):
    plans = {"purchase__savings_plans": [{"provider": "AWS", "reserved_3y_discount_fraction": 0.05}]}
    plain, planned = run(catalogue), run(catalogue, **plans)
    assert planned.recommendation.tco_usd == plain.recommendation.tco_usd
    assert not planned.purchase_detail.savings_plans
