"""Every number the articles print comes out of our own functions, under the assumption written beside it."""

from pathlib import Path

import numpy as np
import pytest

from gpudash import published, waits
from gpudash.catalogue import load_catalogue
from gpudash.errors import GpudashError
from gpudash.evaluate import evaluate
from gpudash.finance import payback_months
from gpudash.formula import dynamic_cost
from gpudash.layers import layers
from gpudash.purchase_mix import plan
from gpudash.scenario import Scenario
from gpudash.storage import tiers
from gpudash.tables import DATA, read_yaml
from gpudash.text import Text
from gpudash.units import HOURS_PER_YEAR

CASES = read_yaml(Path(__file__).parent / "golden" / "published.yaml")


def framework_criteria(framework):
    return read_yaml(DATA / "frameworks.yaml")["frameworks"][framework]["criteria"]


def framework_weights(framework):
    totals = {}
    for criterion in framework_criteria(framework).values():
        totals[criterion["dimension"]] = totals.get(criterion["dimension"], 0) + criterion["weight"]
    return totals


def reserved_spot_mix(**shares):
    paid = published.paid_fraction(**shares)
    return {"paid": paid, "saved": published.saving_fraction(1, paid)}


def slice_packing(**slices):
    cost = published.slice_cost_fraction(**slices)
    return {"cost": cost, "saved": published.saving_fraction(1, cost)}


def reserved_servers_round_the_clock(months, **prices):
    return plan(layers(np.ones((months, 1))), **prices).reserved_1y_servers[0]


CALCULATIONS = {
    "price_performance_index": published.price_performance_index,
    "framework_weights": framework_weights,
    "criterion_weight": lambda framework, criterion: framework_criteria(framework)[criterion]["weight"],
    "dynamic_cost": dynamic_cost,
    "reserved_spot_mix": reserved_spot_mix,
    "storage_tiers": lambda **request: tiers(request),
    "saving_fraction": published.saving_fraction,
    "hours_billed_per_day": published.hours_billed_per_day,
    "slice_packing": slice_packing,
    "always_on_per_year": lambda price_per_hour: price_per_hour * HOURS_PER_YEAR,
    "reserved_servers_round_the_clock": reserved_servers_round_the_clock,
    "payback_months": payback_months,
    "step_ms_for_gain": waits.step_ms_for_gain,
    "step_ms_for_less_time": waits.step_ms_for_less_time,
    "wait_saving": waits.saved_fraction,
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_published_number_comes_out(case):
    assert case["source"]
    answer = CALCULATIONS[case["calculation"]](**case["inputs"])
    answer = answer if isinstance(answer, dict) else {"value": answer}
    expected = case["expected"]
    assert {key: answer[key] for key in expected} == pytest.approx(expected, rel=case.get("tolerance", 1e-6))


def test_the_articles_index_ranks_c_before_b_before_a():
    a, b, c = (
        published.price_performance_index(score, price) for score, price in ((9876, 12.5), (6721, 8.2), (3421, 3.8))
    )
    assert c > b > a


def test_the_published_waits_are_worth_hours_and_money_on_a_run_of_ones_own():
    data = {"datasets": [{"name": "corpus", "size_gb": 50_000}]}  # costs as much however long a run waits
    run = {"workload": {"kind": "training", "training_tokens_b": 10}, "storage": data}
    result = evaluate(Scenario.read(run), load_catalogue())
    choice, found = result.recommendation, waits.waits_of(result)
    gpu_hours = choice.run_hours * choice.gpus
    assert [wait.name for wait in found] == ["io", "io", "all_reduce"]
    for wait in found:
        assert wait.gpu_hours_saved == pytest.approx(gpu_hours * (wait.before_ms - wait.after_ms) / wait.step_ms)
        servers_usd = sum(result.purchase_mix.paid_usd.values())
        assert wait.usd_saved == pytest.approx(wait.saved_fraction * servers_usd)
        assert wait.usd_saved < servers_usd < choice.cost_per_run_usd
        assert all(f"{wait.step_ms:.0f}"[:2] in Text(language).say(wait.assumption) for language in ("en", "zh"))


def test_where_nothing_is_trained_no_wait_is_priced():
    assert waits.waits_of(evaluate(Scenario(), load_catalogue())) == ()


@pytest.mark.parametrize(("step", "before", "after"), [(10, 12, 3), (40, 3, 12), (40, 12, -1), (0, 0, 0)])
def test_a_wait_that_does_not_fit_into_its_step_is_refused(step, before, after):
    with pytest.raises(GpudashError, match="part of the step"):
        waits.saved_fraction(step, before, after)
