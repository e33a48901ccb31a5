"""How sure the answer is: draws go through the same arithmetic, and without any deviation they give the same answer."""

from functools import cache

import numpy as np
import pytest

from gpudash import Scenario, evaluate, load_catalogue
from gpudash.text import LANGUAGES, Text
from gpudash.uncertainty import P90, Deviations, Field, Uncertainty, simulate, uncertainty_rules

CATALOGUE = load_catalogue()
SCENARIOS = {
    "serving": {},
    "serving 70b": {"workload": {"model": "llama-3.1-70b"}, "traffic": {"peak_requests_per_s": 20}},
    "serving with growth and spot": {
        "traffic": {"peak_requests_per_s": 20, "growth_fraction_per_month": 0.03},
        "purchase": {"spot_fraction": 0.5},
    },
    "training": {
        "workload": {"kind": "training", "model": "llama-3.1-8b", "training_tokens_b": 20, "deadline_days": 30}
    },
    "training on spot": {"workload": {"kind": "training"}, "purchase": {"spot_fraction": 1}},
    "batch": {"workload": {"kind": "batch"}},
    "images": {"workload": {"model": "resnet-50"}, "traffic": {"peak_requests_per_s": 2000}},
    "published framework": {"priorities": {"framework": "four_dimension"}},
}


@cache
def field(name: str) -> Field:
    return Field(Scenario.read(SCENARIOS[name]), CATALOGUE)


@cache
def found(name: str) -> Uncertainty:
    return simulate(Scenario.read(SCENARIOS[name]), CATALOGUE)


def cost_of_winner(name: str, factor: str, deviation: float) -> float:
    tco, _ = field(name).outcome(Deviations.of_one(field(name), factor, deviation))
    return float(tco[field(name).rows == field(name).roles["winner"]][0])


@pytest.mark.parametrize("name", SCENARIOS)
def test_without_any_deviation_the_draw_is_the_answer_of_evaluate(name):
    result = evaluate(Scenario.read(SCENARIOS[name]), CATALOGUE)
    tco, chosen = field(name).outcome(Deviations.of_one(field(name), None, 0.0))
    assert CATALOGUE.offers.id[chosen] == result.recommendation.id
    for role, choice in (("winner", result.recommendation), ("cheapest", result.cheapest)):
        row = field(name).roles[role]
        assert CATALOGUE.offers.id[row] == choice.id
        assert tco[field(name).rows == row][0] == pytest.approx(choice.tco_usd, rel=1e-12)


@pytest.mark.parametrize("name", ["serving 70b", "training"])
def test_more_work_never_costs_less_and_a_faster_card_never_more(name):
    demand = [cost_of_winner(name, "demand", deviation) for deviation in (-P90, 0, P90)]
    speed = [cost_of_winner(name, "speed", deviation) for deviation in (0, P90)]
    assert demand[0] <= demand[1] <= demand[2]
    assert demand[0] < demand[2]
    assert speed[1] <= speed[0]


def test_the_cost_follows_the_listed_price():
    dear, same = (cost_of_winner("serving", "discount", deviation) for deviation in (P90, 0))
    assert dear == pytest.approx(same * uncertainty_rules()["factors"]["discount"]["p90_factor"])


def test_the_price_of_spot_matters_only_where_spot_is_used():
    assert cost_of_winner("serving", "spot_price", P90) == cost_of_winner("serving", "spot_price", 0)
    low, high = (cost_of_winner("training on spot", "spot_price", deviation) for deviation in (-P90, P90))
    assert low < high


@pytest.mark.parametrize("name", ["serving", "training"])
def test_the_shares_and_percentiles_hang_together(name):
    uncertainty = found(name)
    assert uncertainty.draws == uncertainty.total == uncertainty_rules()["draws"]
    shares = [option.right_fraction for option in uncertainty.options]
    assert all(0 <= share <= 1 for share in shares)
    assert sum(shares) + uncertainty.nothing_fraction <= 1 + 1e-9
    for option in uncertainty.options:
        assert option.p10_usd <= option.p50_usd <= option.p90_usd
        assert option.right_fraction <= option.feasible_fraction + 1e-9


def test_the_winner_is_the_option_most_often_right_when_it_leads_clearly():
    options = found("images").options
    assert "winner" in options[0].roles
    assert options[0].right_fraction == max(option.right_fraction for option in options) > 0.5


def test_the_tornado_names_every_factor_once_widest_first():
    bars = found("serving").tornado
    assert {bar.factor for bar in bars} == set(uncertainty_rules()["factors"])
    widths = [bar.width_usd for bar in bars]
    assert widths == sorted(widths, reverse=True)


def test_the_same_scenario_gives_the_same_draws():
    assert simulate(Scenario(), CATALOGUE) == found("serving")


def test_the_draws_report_as_they_go_and_stop_when_told():
    seen = []
    last = simulate(Scenario(), CATALOGUE, progress=seen.append, should_stop=lambda: len(seen) == 2)
    assert [report.draws for report in seen] == [25, 50]
    assert last == seen[-1]
    assert last.fraction == pytest.approx(50 / uncertainty_rules()["draws"])


def test_where_nothing_can_do_the_work_there_is_nothing_to_draw():
    assert simulate(Scenario.read({"workload": {"model": "llama-3.1-70b", "tpot_ms": 0.1}}), CATALOGUE) is None


def test_a_budget_that_is_tight_is_met_only_sometimes():
    monthly = evaluate(Scenario(), CATALOGUE).cheapest.monthly_usd
    uncertainty = simulate(Scenario.read({"budget": {"amount": monthly * 1.02}}), CATALOGUE)
    assert 0.05 < uncertainty.nothing_fraction < 0.95


def test_every_distribution_names_its_source_and_date_and_every_factor_has_a_name():
    for name, row in uncertainty_rules()["factors"].items():
        assert row["source"] and row["as_of"]
        assert all(Text(language).has(f"uncertainty.factor_{name}") for language in LANGUAGES)


def test_the_drawn_speeds_fill_the_band_of_the_prediction():
    """Nine of ten draws lie within the band that the prediction states, to the step between two levels of speed."""
    sized, levels = field("batch").fitted.sized, field("batch").levels
    works = np.flatnonzero(np.isfinite(sized.requests_per_s))[0]
    gpus = len(CATALOGUE.hardware)
    ends = [levels.at(np.full(gpus, deviation), 1.0).requests_per_s[works] for deviation in (-1.645, 1.645)]
    low, high = (end / sized.requests_per_s[works] for end in ends)
    assert low == pytest.approx(sized.speed_low[works], rel=0.1)
    assert high == pytest.approx(sized.speed_high[works], rel=0.1)


def test_the_error_of_a_share_shrinks_with_the_root_of_the_draws_and_is_never_nothing():
    few, many = (Uncertainty(draws, 1600, (), 0.0, ()) for draws in (100, 1600))
    assert few.sampling_error(0.5) == pytest.approx(1.645 * 0.05, rel=0.02)  # z √(p (1 − p) / n)
    assert few.sampling_error(0.5) / many.sampling_error(0.5) == pytest.approx(4, rel=0.02)
    assert many.sampling_error(1.0) > 0
