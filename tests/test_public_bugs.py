"""Bugs that users of comparable tools reported in public, as right answers of ours (prices, units, savings, decisions).

The memory cases (P01 to P12) are in golden/memory.yaml; those of price sheets (P13 to P16, P23) in the tests of import.
"""

import pytest

from gpudash import evaluate, units
from gpudash.catalogue import load_catalogue
from gpudash.demand import inference_servers, requests_load
from gpudash.figures.choices import price_source
from gpudash.figures.evidence import snapshot
from gpudash.figures.money import money_of
from gpudash.finance import stacked_saving_fraction
from gpudash.layers import layers
from gpudash.purchase_mix import best_mix
from gpudash.records import ExchangeRate
from gpudash.scenario import Scenario
from gpudash.scores import minmax, ratio
from gpudash.text import Text

CATALOGUE = load_catalogue()


@pytest.mark.parametrize(("gpus", "servers"), [(1, 1), (8, 1), (9, 2), (12, 2), (16, 2), (17, 3)])
def test_twelve_gpus_from_servers_of_eight_are_two_servers(gpus, servers):
    """P17, ftuneai 0.4.1: 12 // 8 = 1 server. One GPU serves one request per second here."""
    traffic = Scenario.read(
        {
            "traffic": {
                "peak_requests_per_s": gpus, "shape": "flat", "target_utilisation_fraction": 1,
                "scaling_delay_minutes": 0, "cold_start_minutes": 0,
            }
        }
    ).traffic  # fmt: skip
    found = inference_servers(traffic, requests_load(traffic, CATALOGUE.traffic_shapes, 1), 8.0, 8)
    assert found.max() == servers


def test_the_price_of_a_server_is_that_of_all_its_gpus():
    """P18, dstackai/dstack issue 1890: 8 x A4000 spot shown at 1.28 and billed at 10.24 an hour."""
    offers = CATALOGUE.offers
    eight = offers.take((offers.gpus_per_server == 8) & (offers.on_demand_usd_per_hour > 0))
    whole_cards = 8 * eight.gpu_fraction
    assert eight.on_demand_usd_per_gpu_hour * whole_cards == pytest.approx(eight.on_demand_usd_per_hour, rel=1e-12)
    assert (eight.on_demand_usd_per_gpu_hour < 40).all()


def test_what_has_no_price_is_never_the_cheapest():
    """P19, skypilot-org/skypilot issues 9156 and 4657: a bid floor of 0.01 and a price of 0.00 ranked first."""
    need = layers([[1] * 24] * 12)
    nan = float("nan")
    mixes = best_mix(need, on_demand_usd_per_hour=[nan, 3.45])
    assert mixes.total_usd.argmin() == 1
    assert not mixes.feasible[0]


def test_a_month_has_730_hours_and_a_year_8760_everywhere():
    """P21, opencost/opencost issue 358: 0.50 an hour is 365.00 a month, not 360, 372 or 336."""
    assert 0.50 * units.HOURS_PER_MONTH == 365.00
    assert units.HOURS_PER_YEAR == 8760
    mixes = best_mix(layers([[1]]), on_demand_usd_per_hour=[0.50])
    assert mixes.total_usd[0] == 365.00
    year = best_mix(layers([[1]] * 12), on_demand_usd_per_hour=[55.04])
    assert year.total_usd[0] == pytest.approx(482_150.40)


def test_another_currency_changes_the_value_and_the_way_back_is_exact():
    """P24, infracost issue 919 and kubecost docs 923: the label changed and the number did not."""
    yuan = ExchangeRate("CNY", 7.2, "test", "2026-11-30")
    assert yuan.usd(12.5) == pytest.approx(1.7361, abs=1e-4)
    assert yuan.from_usd(yuan.usd(12.5)) == 12.5


def test_stacked_savings_never_exceed_the_bill():
    """P25, kubecost/kubectl-cost issue 96: 225,000 saved of 42,000. Measures apply one after the other."""
    stacked = stacked_saving_fraction(0.35, 0.70, 0.68, 0.62)
    assert stacked == pytest.approx(1 - 0.65 * 0.30 * 0.32 * 0.38)
    assert 0 <= stacked < 1
    assert stacked_saving_fraction(1.0, 0.5) == 1.0


@pytest.mark.parametrize(
    ("use_percent", "usd_per_hour", "buys_commitment"),
    [(0, 0.0, False), (30, 0.30, False), (39, 0.39, False), (41, 0.40, True), (100, 0.40, True)],
)
def test_a_commitment_is_bought_only_when_it_will_be_busy_enough(use_percent, usd_per_hour, buys_commitment):
    """P26, cloudprice-mcp 0.18.3: "3-year, all upfront, saves 60 %" whatever the use. Break-even is the rate paid."""
    year = [[1] * use_percent + [0] * (100 - use_percent)] * 36
    mixes = best_mix(layers(year), on_demand_usd_per_hour=[1.0], reserved_3y_usd_per_hour=[0.40])
    assert mixes.total_usd[0] == pytest.approx(usd_per_hour * 3 * units.HOURS_PER_YEAR)
    assert (mixes.usd["reserved_3y"][0] > 0) == buys_commitment


def test_one_percent_apart_is_not_best_against_worst():
    """P27, EnergySystemsModellingLab/MUSE_OS issue 317: min-max made 10 and 10.1 a full swing."""
    options, objectives, weights = [[10.1, 1], [10, 5]], ["min", "min"], [0.5, 0.5]
    assert ratio(options, objectives, weights) == pytest.approx([0.5 * 10 / 10.1 + 0.5, 0.6])
    assert minmax(options, objectives, weights) == pytest.approx([0.5, 0.5])
    with_a_poor_third = ratio([*options, [50, 50]], objectives, weights)
    assert with_a_poor_third[0] > with_a_poor_third[1] > with_a_poor_third[2]


@pytest.mark.parametrize("currency", ["EUR", "CNY"])
def test_the_exchange_rate_beside_an_amount_is_the_one_it_was_made_with(currency):
    """0.895095 shown as 0.9 is half a percent off whoever recomputes an amount."""
    result = evaluate(Scenario.read({"finance": {"currency": currency}}), CATALOGUE)
    money = money_of(result, Text("en"))
    assert float(money.rate) == result.catalogue.rate(currency).units_per_usd
    assert money.rate in price_source(result, money, Text("en"))
    assert any(money.rate in line for line in snapshot(result, Text("en")))
