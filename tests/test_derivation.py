"""How the headline numbers come about: the parts give the very numbers that are shown, and slower cards cost more."""

from math import ceil

import pytest

from gpudash import Scenario, evaluate, load_catalogue
from gpudash.derivation import derivation, speed_band
from gpudash.figures.derivation import headline
from gpudash.text import Text


def answered(**changes):
    return evaluate(
        Scenario().with_values({path.replace("__", "."): value for path, value in changes.items()}), load_catalogue()
    )


@pytest.fixture(scope="module")
def chat():
    return answered(workload__model="llama-3.1-70b", traffic__peak_requests_per_s=20, finance__staff_fte=0.5)


def test_the_kinds_of_cost_add_up_to_the_whole_time(chat):
    parts = derivation(chat)
    assert sum(parts.usd_by_kind.values()) == pytest.approx(chat.recommendation.tco_usd)
    assert {"staff"} < parts.usd_by_kind.keys()


def test_the_peak_over_the_capacity_rounded_up_is_the_number_of_servers(chat):
    parts = derivation(chat)
    assert ceil(parts.peak_requests_per_s / parts.capacity_requests_per_s) == chat.recommendation.servers


def test_the_cost_over_the_tokens_and_over_the_hours_are_the_unit_costs(chat):
    parts, choice = derivation(chat), chat.recommendation
    assert choice.tco_usd / parts.output_tokens_m == pytest.approx(choice.cost_per_million_tokens_usd)
    hours = sum(sum(served) for served in chat.purchase_mix.served_hours.values())
    assert parts.gpu_hours == pytest.approx(hours * choice.gpus_per_server)
    seconds = chat.scenario.purchase.horizon_months * 730 * 3600
    tokens = parts.mean_requests_per_s * chat.scenario.workload.output_tokens * seconds
    assert tokens == pytest.approx(parts.output_tokens_m * 1e6)


def test_the_total_is_also_told_as_equal_yearly_payments_of_the_same_present_value(chat):
    choice, rate = chat.recommendation, chat.scenario.finance.discount_rate_fraction
    payment = choice.npv_usd / sum((1 + rate) ** -year for year in (1, 2, 3))
    said = [line for lines in headline(chat, Text("en")) for line in lines if "equal payment" in line]
    assert [Text("en").money(payment) in line for line in said] == [True]


def test_a_listed_price_stands_for_each_way_that_is_used(chat):
    parts = derivation(chat)
    paid = {f"price.{way}" for way, share in chat.recommendation.purchase_split.items() if share}
    assert {price.name for price in parts.prices} == paid
    assert all(price.value > 0 and price.source and price.as_of for price in parts.prices)


def test_slow_cards_cost_more_and_fast_ones_less(chat):
    band = speed_band(chat)
    assert band.low_usd_per_month < chat.recommendation.monthly_usd
    assert band.high_usd_per_month is None or band.high_usd_per_month > chat.recommendation.monthly_usd


def test_a_run_on_faster_cards_costs_no_more():
    run = answered(workload__kind="training", workload__deadline_days=30, workload__training_tokens_b=50.0)
    band = speed_band(run)
    assert band.low_usd_per_month <= run.recommendation.monthly_usd * (1 + 1e-9)


def test_nothing_that_works_has_neither_parts_nor_band():
    nothing = answered(requirements__providers_in=["Nebius"], requirements__gpus_in=["T4"])
    assert nothing.cheapest is None
    assert derivation(nothing) is None
    assert speed_band(nothing) is None
