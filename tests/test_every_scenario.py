"""Every scenario is answered, with an answer or with a sentence: at the bounds of every input, and at random."""

import json
import math
import random

import pytest

from gpudash.catalogue import load_catalogue
from gpudash.engines import engine_names
from gpudash.errors import GpudashError
from gpudash.evaluate import evaluate
from gpudash.model import model_names, precision_names
from gpudash.result_json import result_json
from gpudash.scenario import Scenario, bounds, choices, default, fields
from gpudash.text import Text

CATALOGUE = load_catalogue()
TEXTS = (Text("en"), Text("zh"))
NAMED = {
    "workload.model": model_names(),
    "workload.weight_precision": precision_names(),
    "workload.kv_precision": precision_names(),
    "workload.engine": engine_names(),
    "traffic.shape": tuple(CATALOGUE.traffic_shapes),
    "requirements.countries": (("EU",), ("CN", "US"), ("DE",), ()),
    "requirements.providers_in": (("AWS", "GCP"), ("Verda",), ()),
    "requirements.providers_out": (("AWS",), ()),
    "requirements.gpus_in": (("H100 SXM", "L4"), ()),
    "finance.currency": ("USD", "EUR", "CNY", "JPY"),
    "budget.currency": ("USD", "EUR", "CNY"),
    "finance.support_plan": ("Business", "Premium"),
    "purchase.terms": ((), ("reserved_3y",), ("monthly", "reserved_1y")),
    "purchase.negotiated_discounts": ({"AWS": 0.2}, {}),
    "purchase.savings_plans": (({"provider": "AWS", "reserved_1y_discount_fraction": 0.5},), ()),
    "storage.datasets": (({"name": "a", "size_gb": 1000, "reads_gb_per_month": 100, "max_latency_ms": 200},), ()),
    "priorities.framework": ("gpudash", "three_dimension", "four_dimension"),
}
NUMBERS = sorted(path for path in fields() if bounds(path)[0] is not None and path not in NAMED)
RANDOM_SCENARIOS = 200


def check(changes: dict) -> str:
    """Evaluates and reads every number of the answer; a refusal must be a sentence in both languages."""
    try:
        result = evaluate(Scenario().with_values(changes), CATALOGUE)
    except GpudashError as refusal:
        assert all(text(refusal.code, **refusal.values) for text in TEXTS), changes
        return "refused"
    for text in TEXTS:
        plain = result_json(result, text)
        json.dumps(plain, allow_nan=False)
    costs = [bill["total_usd"] for bill in plain["tco"]] + [choice["tco_usd"] for choice in plain["alternatives"]]
    assert all(cost >= 0 for cost in costs), changes
    for choice in result.alternatives:
        assert sum(choice.purchase_split.values()) == pytest.approx(1.0) or not choice.purchase_split, changes
    return "answered"


@pytest.mark.parametrize("end", [0, 1], ids=["lowest", "highest"])
@pytest.mark.parametrize("path", NUMBERS)
def test_every_input_at_its_bounds_gives_an_answer_or_a_sentence(path, end):
    value = bounds(path)[end]
    if value is None:
        pytest.skip("no bound on this side")
    try:
        Scenario().with_value(path, value)
    except GpudashError:
        value = math.nextafter(value, math.inf if end == 0 else -math.inf)  # a bound that is itself not allowed
    check({path: value})
    if path.startswith(("workload.", "traffic.runs")):
        check({path: value, "workload.kind": "training"})


def drawn(path: str, dice: random.Random):
    if path in NAMED:
        return dice.choice(NAMED[path])
    if choices(path):
        return dice.choice(choices(path))
    low, high = bounds(path)
    if low is None:
        return dice.random() < 0.5 if isinstance(default(path), bool) else default(path)
    value = math.exp(dice.uniform(math.log(max(low, 1e-6)), math.log(high))) if low >= 0 else dice.uniform(low, high)
    is_whole = isinstance(low, int) and "int" in str(fields()[path].annotation)
    return max(round(value), math.ceil(low)) if is_whole else value


def test_random_scenarios_give_an_answer_or_a_sentence():
    dice = random.Random(20261130)
    outcomes = [
        check({path: drawn(path, dice) for path in dice.sample(sorted(fields()), dice.choice((2, 5, 12)))})
        for _ in range(RANDOM_SCENARIOS)
    ]
    assert outcomes.count("answered") > RANDOM_SCENARIOS / 2  # the rest is refused, not the whole of it
