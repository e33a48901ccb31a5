"""Present values, annuities, payback and stacked savings."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.errors import GpudashError
from gpudash.finance import (
    annuity_usd_per_year,
    monthly_rate_fraction,
    npv_usd,
    payback_months,
    stacked_saving_fraction,
    tax_usd,
)


def test_twelve_months_compound_to_the_yearly_rate():
    assert (1 + monthly_rate_fraction(0.08)) ** 12 == pytest.approx(1.08)


def test_a_payment_in_the_twelfth_month_is_discounted_by_one_year():
    assert npv_usd([0.0] * 11 + [108.0], 0.08) == pytest.approx(100)


def test_without_a_discount_rate_present_value_is_the_sum():
    assert npv_usd([10.0, -3.0, 5.0], 0.0) == 12.0


def test_rows_of_flows_and_of_rates_give_the_same_as_one_by_one():
    flows = np.random.default_rng(1).uniform(-100, 100, (4, 36))
    rates = np.array([0.0, 0.03, 0.08, 0.2])
    assert npv_usd(flows, rates) == pytest.approx([npv_usd(flow, rate) for flow, rate in zip(flows, rates)])
    assert npv_usd(flows, 0.08) == pytest.approx([npv_usd(flow, 0.08) for flow in flows])
    assert npv_usd(flows[0], rates) == pytest.approx([npv_usd(flows[0], rate) for rate in rates])


@given(st.floats(0, 0.5), st.floats(0.001, 0.5), st.integers(1, 60))
def test_costs_followed_by_savings_are_worth_less_at_a_higher_rate(rate, more, months):
    savings = [50.0] * months
    assert -1000 + npv_usd(savings, rate + more) < -1000 + npv_usd(savings, rate)


def test_the_annuity_is_worth_what_it_replaces():
    payment = annuity_usd_per_year(1000.0, 0.08, 5)
    assert sum(payment / 1.08**year for year in range(1, 6)) == pytest.approx(1000)


def test_the_annuity_at_no_rate_and_for_ever():
    assert annuity_usd_per_year(1000.0, 0.0, 5) == 200
    assert annuity_usd_per_year(1000.0, 0.08, math.inf) == pytest.approx(80)
    assert annuity_usd_per_year(1000.0, np.array([0.0, 1e-9]), 5) == pytest.approx([200, 200], rel=1e-6)


def test_payback_is_investment_over_saving_and_never_comes_without_one():
    assert payback_months(280_000, np.array([10_000, 20_000, 0, -5])).tolist() == [28, 14, math.inf, math.inf]
    assert payback_months(0, 0) == 0


def test_tax_is_an_amount_of_its_own():
    assert tax_usd(1000.0, 0.13) == 130


@pytest.mark.parametrize("rate", [-1, -2, math.nan])
def test_a_rate_of_minus_one_hundred_percent_is_refused(rate):
    with pytest.raises(GpudashError, match="above -1"):
        npv_usd([1.0], rate)
    with pytest.raises(GpudashError, match="above -1"):
        annuity_usd_per_year(1.0, rate, 3)


def test_years_must_be_above_zero():
    with pytest.raises(GpudashError, match="above 0"):
        annuity_usd_per_year(1.0, 0.08, 0)


def test_savings_stacked_in_sequence_stay_below_the_bill():
    total = stacked_saving_fraction(0.35, 0.70, 0.68, 0.62)
    assert total == pytest.approx(1 - 0.65 * 0.30 * 0.32 * 0.38)
    assert total < 1


@given(st.lists(st.floats(0, 1)))
def test_stacked_savings_stay_between_nothing_and_everything(savings):
    total = stacked_saving_fraction(*savings)
    assert max(savings, default=0) - 1e-12 <= total <= 1


@pytest.mark.parametrize("saving", [-0.01, 1.01, 35, math.nan])
def test_a_saving_that_is_no_share_is_refused(saving):
    with pytest.raises(GpudashError, match="Saving number 2"):
        stacked_saving_fraction(0.5, saving)
