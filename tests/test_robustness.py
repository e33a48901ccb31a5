"""How firm the first place of a ranking is: the triangle of weights, random weights, rank reversals, the budget."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudash.catalogue import load_catalogue
from gpudash.evaluate import evaluate
from gpudash.figures import robustness, scores
from gpudash.frameworks import load_framework, rebalanced
from gpudash.robustness import linear_first_share, stability
from gpudash.scenario import Scenario
from gpudash.text import LANGUAGES, Text
from gpudash.weight_change import linear_change
from gpudash.weight_triangle import weight_triangle

FRAMEWORKS = ("gpudash", "three_dimension", "four_dimension")
SMALL_BUDGET = {"workload.context_tokens": 1500, "traffic.peak_requests_per_s": 6, "budget.amount": 3000}


def answered(**values):
    changes = {name.replace("__", "."): value for name, value in values.items()}
    return evaluate(Scenario().with_values(changes), CATALOGUE)


CATALOGUE = load_catalogue()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_triangle_names_the_winner_that_scoring_at_the_same_weights_names(framework):
    ranking = answered(priorities__framework=framework).scores[framework]
    triangle = weight_triangle(ranking)
    weights = np.array([criterion["weight"] for criterion in ranking.criteria])
    of = [criterion["dimension"] for criterion in ranking.criteria]
    for region in triangle.regions:
        middle = region.corners.mean(axis=0)
        moved = weights.copy()
        for dimension, share in zip(triangle.dimensions, middle):
            here = [row for row, name in enumerate(of) if name == dimension]
            moved[here] = weights[here] / weights[here].sum() * share * triangle.shared_fraction
        assert np.argmax(ranking.table.utilities @ moved) == region.row
        assert moved.sum() == pytest.approx(1)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_regions_fill_the_triangle_and_the_present_weights_lie_with_the_winner(framework):
    triangle = weight_triangle(answered(priorities__framework=framework).scores[framework])

    def area(corners):
        x, y, _ = corners.T
        return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2

    assert sum(area(region.corners) for region in triangle.regions) == pytest.approx(0.5)
    (winner,) = [region.corners for region in triangle.regions if region.row == 0]
    around = zip(winner, np.roll(winner, -1, axis=0))
    sides = [np.linalg.det(np.stack([start, end, triangle.now])) for start, end in around]
    assert min(sides) >= -1e-9 or max(sides) <= 1e-9


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_weights_are_asked_only_of_offers_that_the_budget_allows(framework):
    scenario = Scenario().with_values(SMALL_BUDGET | {"priorities.framework": framework})
    result = evaluate(scenario, CATALOGUE)
    ranking = result.scores[framework]
    assert ranking.rows[0]["offer"] == result.recommendation.id
    shares = {criterion["key"]: criterion["weight"] for criterion in ranking.criteria}
    for key, ends in ranking.weight_intervals.items():
        for end, outward in zip(ends, (-1, 1)):
            if end not in (0, 1):
                kept = [_first(scenario, shares, key, end + side * outward * 1e-3) for side in (-1, 1)]
                assert kept[0] == _name(result) != kept[1], (key, end)


def _first(scenario, shares, key, weight):
    rest = 1 - shares[key]
    moved = {name: weight if name == key else share / rest * (1 - weight) for name, share in shares.items()}
    return _name(evaluate(scenario.with_value("priorities.weights", moved), CATALOGUE))


def _name(result):
    return result.recommendation.provider, result.recommendation.instance


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_nearest_loss_of_the_first_place_is_confirmed_by_a_new_answer(framework):
    scenario = Scenario().with_value("priorities.framework", framework)
    result = evaluate(scenario, CATALOGUE)
    ranking = result.scores[framework]
    weights = np.array([criterion["weight"] for criterion in ranking.criteria])
    change = linear_change(ranking.table.utilities, weights)
    keys = [criterion["key"] for criterion in ranking.criteria]
    for beyond, same in ((0.999, True), (1.001, False)):
        moved = np.maximum(weights + beyond * (change.weights - weights), 0)
        again = evaluate(scenario.with_value("priorities.weights", dict(zip(keys, moved.tolist()))), CATALOGUE)
        assert (_name(again) == _name(result)) is same


def test_random_weights_share_out_the_first_place_of_a_whole_catalogue():
    ranking = answered().scores["gpudash"]
    shares = linear_first_share(ranking.table.utilities[: ranking.table.eligible])
    assert shares.sum() == pytest.approx(1) and len(shares) == ranking.table.eligible


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_a_poor_option_never_takes_the_first_place_by_ratio(seed):
    dice = np.random.default_rng(seed)
    values = dice.uniform(1, 9, (6, 3))
    found = stability(values, ["max", "min", "max"], [1, 1, 1], "ratio", 6, 6)
    assert found.after_poor == found.first


def test_a_loser_that_sets_the_measure_can_take_the_first_place_away_and_is_named():
    values = [[10.0, 7.0], [8.0, 9.0], [1.0, 12.0]]
    found = stability(values, ["max", "max"], [0.5, 0.5], "ratio", 3, 3)
    worsened = [(reversal.loser, reversal.criterion, reversal.first) for reversal in found.reversals]
    assert found.first == 0 and not found.is_stable and worsened == [(2, 1, 1)]


@pytest.mark.parametrize("framework", ["three_dimension", "four_dimension"])
def test_the_range_drawn_under_an_open_weight_is_where_the_answer_stays(framework):
    scenario = Scenario().with_value("priorities.framework", framework)
    result, published = evaluate(scenario, CATALOGUE), load_framework(framework)
    points = {criterion.key: criterion.weight for criterion in published.criteria}
    drawn = [weight for weight in scores.weights(result, Text("en")) if not weight.is_fixed]
    assert drawn
    for weight in drawn:
        for end, outward in ((weight.low_points, -1), (weight.high_points, 1)):
            if 0 < end < weight.most_points:
                step = outward * 1e-3 * weight.most_points
                kept = []
                for here in (end - step, end + step):
                    moved = rebalanced(published, points, weight.criterion, here)
                    assert sum(moved.values()) == pytest.approx(100)
                    kept.append(_name(evaluate(scenario.with_value("priorities.weights", moved), CATALOGUE)))
                assert kept[0] == _name(result) != kept[1], (weight.criterion, end)


def test_the_range_drawn_under_a_weight_of_ours_is_where_the_answer_stays():
    scenario = Scenario()
    result = evaluate(scenario, CATALOGUE)
    drawn = scores.weights(result, Text("en"))
    points = {weight.criterion: weight.points for weight in drawn}
    (cost,) = [weight for weight in drawn if weight.criterion == "total_cost"]
    kept = [
        _name(evaluate(scenario.with_value("priorities.weights", points | {"total_cost": here}), CATALOGUE))
        for here in (cost.low_points + 0.01, cost.low_points - 0.01)
    ]
    assert kept[0] == _name(result) != kept[1]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "changes",
    [
        {"budget.amount": 1},
        {"workload.model": "deepseek-v3", "requirements.gpus_in": ("T4",)},
        {"requirements.providers_in": ("Seeweb",), "requirements.gpus_in": ("A30",)},
        {"priorities.framework": "custom", "priorities.weights": {"total_cost": 1}},
        {"priorities.framework": "custom", "priorities.weights": {"cuda": 1, "onnx": 1}},
        {"priorities.framework": "custom", "priorities.weights": {"total_cost": 1, "sla": 0, "energy": 0}},
    ],
)
def test_nobody_one_candidate_one_criterion_and_zero_weights_are_answered_too(changes, language):
    result, text = evaluate(Scenario().with_values(changes), CATALOGUE), Text(language)
    views = (robustness.firmness, robustness.first_share, robustness.triangle, robustness.methods)
    shown = [view(result, text) for view in views]
    assert all(weight.said for weight in scores.weights(result, text)) is (result.recommendation is not None)
    if result.recommendation is None:
        assert not any(shown)
