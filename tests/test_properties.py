"""Laws of money that hold whatever is asked: prices up, totals not down; months add up; savings stay below the bill."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudash import units
from gpudash.catalogue import load_catalogue
from gpudash.evaluate import evaluate
from gpudash.finance import npv_usd
from gpudash.layers import layers
from gpudash.purchase_mix import best_mix, plan
from gpudash.scenario import Scenario

CATALOGUE = load_catalogue()
PRICES = ("on_demand", "spot", "reserved_1y", "reserved_3y", "monthly")

scenarios = st.fixed_dictionaries(
    {
        "workload": st.fixed_dictionaries(
            {"model": st.sampled_from(["llama-3.1-8b", "llama-3.1-70b", "qwen3-30b-a3b"]), "kind": st.just("inference")}
        ),
        "traffic": st.fixed_dictionaries(
            {
                "peak_requests_per_s": st.floats(0.1, 100),
                "shape": st.sampled_from(["flat", "office_hours", "bursty"]),
                "growth_fraction_per_month": st.sampled_from([0.0, 0.04, -0.03]),
            }
        ),
        "purchase": st.fixed_dictionaries(
            {
                "horizon_months": st.sampled_from([1, 7, 12, 36, 41]),
                "spot_fraction": st.sampled_from([0.0, 0.3, 1.0]),
                "terms": st.sampled_from([(), ("reserved_1y",), ("monthly", "reserved_1y", "reserved_3y")]),
                "savings_plans": st.sampled_from([(), ({"provider": "AWS", "reserved_1y_discount_fraction": 0.7},)]),
                "upfront_fraction": st.sampled_from([0.0, 0.5]),
                "resale_fraction": st.sampled_from([0.0, 0.4, 1.0]),
            }
        ),
        "storage": st.fixed_dictionaries({"egress_gb_per_month": st.sampled_from([0.0, 5000.0])}),
        "finance": st.fixed_dictionaries(
            {
                "discount_rate_fraction": st.sampled_from([0.0, 0.08]),
                "staff_fte": st.sampled_from([0.0, 0.5]),
                "credit_usd": st.sampled_from([0.0, 1000.0, 1e9]),
                "credit_share_fraction": st.sampled_from([1.0, 0.3, 0.0]),
                "credit_until_month": st.sampled_from([None, 1, 9, 36]),
                "owned_servers": st.sampled_from([0, 1]),
                "owned_gpu": st.just("H100 SXM"),
            }
        ),
    }
)  # fmt: skip


@given(scenarios)
@settings(max_examples=25)
def test_cash_flows_sum_to_the_total_and_at_no_discount_rate_present_value_is_the_sum(groups):
    result = evaluate(Scenario.read(groups), CATALOGUE)
    for bill in result.tco:
        months = [month.total_usd for month in bill.months]
        assert len(months) == result.scenario.purchase.horizon_months
        assert sum(months) == pytest.approx(bill.total_usd, abs=1e-6)
        assert npv_usd(months, 0.0) == pytest.approx(bill.total_usd, abs=1e-6)
        if result.scenario.finance.discount_rate_fraction == 0:
            assert bill.npv_usd == pytest.approx(bill.total_usd, abs=1e-6)
        else:
            assert bill.npv_usd <= bill.total_usd + 1e-6
    chosen = result.recommendation
    assert result.tco[0].total_usd == pytest.approx(chosen.tco_usd, abs=1e-6)
    own = result.owned
    if own is not None and own.because is None:
        assert sum(month.total_usd for month in own.months) == pytest.approx(own.total_usd, abs=1e-6)


@given(scenarios)
@settings(max_examples=25)
def test_what_is_saved_lies_between_nothing_and_the_bill(groups):
    detail = evaluate(Scenario.read(groups), CATALOGUE).purchase_detail
    saved = sum(step.saved_usd for step in detail.savings)
    assert -1e-6 <= saved <= (detail.always_on_usd or 0) + 1e-6
    assert all(step.saved_usd >= -1e-6 and step.left_usd >= -1e-6 for step in detail.savings)


@given(scenarios, st.sampled_from(PRICES), st.floats(1.0, 3.0))
@settings(max_examples=25)
def test_a_higher_price_never_lowers_the_cost_of_the_cheapest(groups, kind, factor):
    scenario = Scenario.read(groups)
    column = f"{kind}_usd_per_hour"
    dearer = replace(CATALOGUE.offers, **{column: getattr(CATALOGUE.offers, column) * factor})
    before, after = (
        evaluate(scenario, catalogue).cheapest.tco_usd for catalogue in (CATALOGUE, CATALOGUE.with_offers(dearer))
    )
    assert after >= before - 1e-6


demands = st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 36), st.integers(1, 24), st.integers(0, 12))
rates = st.fixed_dictionaries({f"{kind}_usd_per_hour": st.floats(0.1, 50) for kind in PRICES})


@given(demands, rates)
def test_the_mix_never_costs_more_than_the_best_single_way(drawn, prices):
    seed, months, slots, most = drawn
    need = layers(np.random.default_rng(seed).integers(0, most + 1, (months, slots)))
    total = best_mix(need, **prices).total_usd[0]
    for kind in PRICES:
        if kind != "spot":  # nothing here may be interrupted
            alone = {
                f"{other}_usd_per_hour": prices[f"{kind}_usd_per_hour"] if other == kind else np.nan for other in PRICES
            }
            assert total <= best_mix(need, **alone).total_usd[0] * (1 + 1e-12)


@given(rates, st.integers(1, 36))
def test_where_nothing_is_used_nothing_is_bought(prices, months):
    bought = plan(layers(np.zeros((months, 24), dtype=int)), **prices)
    assert bought.total_usd == 0
    assert not bought.reserved_3y_servers.any()
    assert not bought.reserved_1y_servers.any()
    assert not bought.monthly_servers.any()


@given(st.integers(1, 99), st.floats(0.5, 100))
def test_at_use_equal_to_the_rate_paid_both_ways_cost_the_same_and_none_is_committed(percent, on_demand):
    """A commitment at x % of list, used x % of the year: indifferent, and then the free choice is kept."""
    need = layers(np.tile([1] * percent + [0] * (100 - percent), (12, 1)))
    reserved = on_demand * percent / 100
    committed = best_mix(need, on_demand_usd_per_hour=np.nan, reserved_1y_usd_per_hour=reserved).total_usd[0]
    as_you_go = best_mix(need, on_demand_usd_per_hour=on_demand).total_usd[0]
    assert committed == pytest.approx(as_you_go)
    chosen = plan(need, on_demand_usd_per_hour=on_demand, reserved_1y_usd_per_hour=reserved)
    assert chosen.total_usd == pytest.approx(as_you_go)
    assert not chosen.reserved_1y_servers.any()


@given(st.floats(0.01, 1e6))
def test_a_price_per_month_becomes_one_per_hour_and_back_without_loss(usd_per_month):
    """P13: 1,771.8082 for a year is 147.65 a month, not 1,293,420."""
    per_hour = usd_per_month / units.HOURS_PER_MONTH
    month = best_mix(layers([[1]]), on_demand_usd_per_hour=np.nan, monthly_usd_per_hour=per_hour)
    assert month.total_usd[0] == pytest.approx(usd_per_month, rel=1e-15)


# ---- the calendar ----


def test_a_leap_year_is_billed_like_any_other():
    """P21: 55.04 x 8,784 h would be 483,471.36; the year of 8,760 h is 482,150.40, 0.27 % less."""
    year = best_mix(layers(np.ones((12, 1), dtype=int)), on_demand_usd_per_hour=55.04).total_usd[0]
    assert year == pytest.approx(482_150.40)
    assert 55.04 * 8784 - year == pytest.approx(1_320.96)


def test_twelve_months_are_a_year_and_the_days_of_23_and_25_hours_cancel():
    assert units.HOURS_PER_MONTH * units.MONTHS_PER_YEAR == units.HOURS_PER_YEAR
    assert 23 + 25 + 363 * units.HOURS_PER_DAY == units.HOURS_PER_YEAR
    assert units.HOURS_PER_WEEK == 7 * units.HOURS_PER_DAY


ROOT = Path(__file__).resolve().parents[1]
CALENDAR = {8760, 8784, 730, 744, 720, 672}
MODULES = [
    path for folder in ("gpudash", "ui", "pages") for path in (ROOT / folder).rglob("*.py") if path.name != "units.py"
]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_hours_of_a_month_and_a_year_are_written_in_one_place(path):
    numbers = {
        node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant)
    }
    assert not CALENDAR & {
        number for number in numbers if isinstance(number, (int, float)) and not isinstance(number, bool)
    }
