"""Scores, ranks, and how firm the winner is; the frameworks and the visible filling of missing facts."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudash.catalogue import load_catalogue
from gpudash.errors import GpudashError
from gpudash.evaluate import evaluate
from gpudash.frameworks import custom_framework, framework_names, load_framework, score_candidates, sla_level
from gpudash.robustness import first_share, weight_intervals
from gpudash.scenario import Scenario
from gpudash.score_table import score
from gpudash.scores import METHODS, minmax, price_performance, ranks, ratio, ratio_utilities, topsis
from gpudash.tables import read_yaml
from gpudash.text import Text
from gpudash.weight_change import smallest_change

CASES = read_yaml(Path(__file__).parent / "golden" / "scores.yaml")
COUNTED_BY_WEIGHT = ["ratio", "minmax", "topsis"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_published_and_hand_computed_cases(case):
    given_, expected = case["inputs"], case["expected"]
    assert case["source"]
    method, arguments = given_["method"], (given_["matrix"], given_["objectives"], given_["weights"])
    scores = METHODS[method](*arguments)
    assert scores == pytest.approx(expected["scores"], rel=case.get("tolerance", 1e-9))
    assert ranks(scores).tolist() == expected["ranks"]
    if "weight_intervals" in expected:
        assert weight_intervals(*arguments, method) == pytest.approx(np.array(expected["weight_intervals"]))


def tables(low=0.1):
    """Tables of 2 to 6 options and 2 to 4 criteria, on a coarse grid so that ties do occur."""

    def of_shape(shape):
        options, criteria = shape
        cells = st.integers(1, 12).map(lambda steps: low * steps)
        row = st.lists(cells, min_size=criteria, max_size=criteria)
        objectives = st.lists(st.sampled_from(["max", "min"]), min_size=criteria, max_size=criteria)
        weights = st.lists(st.integers(0, 5), min_size=criteria, max_size=criteria).filter(any)
        return st.tuples(st.lists(row, min_size=options, max_size=options), objectives, weights)

    return st.tuples(st.integers(2, 6), st.integers(2, 4)).flatmap(of_shape)


def with_weight(weights, criterion: int, weight: float):
    """The weights when one of them is set and the others keep their ratio (equal if they are all 0)."""
    others = np.array(weights, dtype=float)
    others[criterion] = 0
    others = others if others.any() else 1.0 - np.eye(len(weights))[criterion]
    moved = others / others.sum() * (1 - weight)
    moved[criterion] = weight
    return moved


@settings(max_examples=150, deadline=None, derandomize=True)
@given(tables(), st.sampled_from(COUNTED_BY_WEIGHT))
def test_the_winner_stays_first_inside_its_interval_and_loses_just_outside(table, method):
    matrix, objectives, weights = table
    winner = np.argmin(ranks(METHODS[method](matrix, objectives, weights)))

    def is_first(criterion, weight):
        return ranks(METHODS[method](matrix, objectives, with_weight(weights, criterion, weight)))[winner] == 1

    step = 1e-6
    for criterion, (low, high) in enumerate(weight_intervals(matrix, objectives, weights, method)):
        assert 0 <= low <= weights[criterion] / sum(weights) <= high <= 1
        assert is_first(criterion, min(low + step, high)) and is_first(criterion, max(high - step, low))
        assert low - step <= 0 or not is_first(criterion, low - step)
        assert high + step >= 1 or not is_first(criterion, high + step)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(tables(), st.sampled_from(["ratio", "minmax"]))
def test_the_smallest_change_ties_winner_and_rival_and_none_smaller_does(table, method):
    matrix, objectives, weights = table
    scores = METHODS[method](matrix, objectives, weights)
    winner = int(np.argmin(ranks(scores)))
    change = smallest_change(matrix, objectives, weights, method)
    shares = np.array(weights) / sum(weights)
    single = weight_intervals(matrix, objectives, weights, method)
    moves = np.concatenate([shares - single[:, 0], single[:, 1] - shares])[np.r_[single[:, 0] > 0, single[:, 1] < 1]]
    if change is None:
        assert not len(moves)
        return
    after = METHODS[method](matrix, objectives, change.weights)
    assert after[winner] == pytest.approx(after[change.rival])
    assert change.weights.sum() == pytest.approx(1) and (change.weights >= -1e-12).all()
    assert np.abs(change.weights - shares).sum() / 2 == pytest.approx(change.moved_fraction)
    assert change.moved_fraction <= moves.min(initial=1) + 1e-9


@settings(max_examples=60, deadline=None, derandomize=True)
@given(tables(), st.integers(0, 10**6))
def test_the_smallest_change_found_for_topsis_holds_just_inside_and_just_outside(table, seed):
    matrix, objectives, weights = table
    shares = np.array(weights) / sum(weights)
    winner = int(np.argmin(ranks(topsis(matrix, objectives, shares))))
    change = smallest_change(matrix, objectives, weights, "topsis")
    others = np.random.default_rng(seed).dirichlet(np.ones(len(weights)), 300)
    dethroned = [w for w in others if ranks(topsis(matrix, objectives, w))[winner] > 1]
    if change is None:
        assert not dethroned
        return
    move = change.weights - shares
    assert np.abs(move).sum() / 2 == pytest.approx(change.moved_fraction)
    inside, outside = shares + (1 - 1e-3) * move, shares + (1 + 1e-3) * move
    if change.moved_fraction > 1e-6:  # else the two share the first place already
        assert ranks(topsis(matrix, objectives, inside))[winner] == 1
        assert (outside < 0).any() or ranks(topsis(matrix, objectives, outside))[winner] > 1
    assert change.moved_fraction <= min((np.abs(w - shares).sum() / 2 for w in dethroned), default=1) + 1e-9


@settings(max_examples=100, deadline=None, derandomize=True)
@given(tables(), st.integers(1, 12))
def test_a_poor_option_added_never_changes_the_order_of_the_others_by_ratio(table, badness):
    matrix, objectives, weights = table
    columns = np.array(matrix).T
    poor = [c.min() / badness if o == "max" else c.max() * badness for c, o in zip(columns, objectives)]
    before = ratio(matrix, objectives, weights)
    after = ratio([*matrix, poor], objectives, weights)
    assert after[:-1] == pytest.approx(before)


def test_a_poor_third_option_does_not_flip_the_first_two():
    scores = ratio([[10.1, 1], [10, 5], [100, 100]], ["min", "min"], [0.5, 0.5])
    assert ranks(scores).tolist() == [1, 2, 3]


@pytest.mark.parametrize("method", COUNTED_BY_WEIGHT)
def test_a_loser_that_gets_worse_leaves_the_winner_first(method):
    matrix = np.array([[9.0, 5.0], [7.0, 8.0], [3.0, 3.0]])
    winner = ranks(METHODS[method](matrix, ["max", "max"], [0.5, 0.5])).argmin()
    matrix[2] = 0.5
    assert ranks(METHODS[method](matrix, ["max", "max"], [0.5, 0.5])).argmin() == winner


@pytest.mark.parametrize("method", COUNTED_BY_WEIGHT)
def test_equal_columns_score_equal_for_all(method):
    scores = METHODS[method]([[3, 7], [3, 7], [3, 7]], ["max", "min"], [0.5, 0.5])
    assert scores.tolist() == [1, 1, 1]
    one_differs = METHODS[method]([[0.1 + 0.2, 7], [0.3, 9]], ["max", "min"], [0.9, 0.1])
    assert np.isfinite(one_differs).all() and one_differs[0] > one_differs[1]


@pytest.mark.parametrize("method", METHODS)
def test_a_single_option_is_first_whatever_the_weights(method):
    answer = score(["only"], [{"name": "cost", "objective": "min", "weight": 1}], [[4]], method)
    assert answer.ranks == (1,) and answer.first_share == {"only": 1} and answer.weight_intervals == {"cost": (0, 1)}
    assert "scores.single_option" in [warning.code for warning in answer.warnings]
    assert answer.smallest_change is None


def test_a_weight_of_zero_counts_for_nothing_and_has_its_interval():
    matrix, objectives = [[2, 1], [1, 9]], ["max", "max"]
    assert ratio(matrix, objectives, [1, 0]).tolist() == [1, 0.5]
    low, high = weight_intervals(matrix, objectives, [1, 0])[1]
    assert low == 0 and high == pytest.approx(0.5 / (0.5 + 8 / 9))


def test_zero_is_a_perfect_value_where_less_is_better_and_is_said():
    assert ratio([[0], [2], [4]], ["min"], [1]).tolist() == [1, 0, 0]
    assert ratio([[0], [0]], ["min"], [1]).tolist() == ratio([[0], [0]], ["max"], [1]).tolist() == [1, 1]
    answer = score(["a", "b"], [{"name": "fee", "objective": "min", "weight": 1}], [[0], [2]])
    assert "scores.zero_is_best" in [warning.code for warning in answer.warnings]


def test_negative_values_are_compared_by_distance_but_not_by_ratio():
    matrix = [[-2.0], [4.0], [1.0]]
    assert minmax(matrix, ["max"], [1]).tolist() == [0, 1, 0.5]
    assert topsis(matrix, ["max"], [1]) == pytest.approx([0, 1, 0.5])
    for method in (ratio, price_performance):
        with pytest.raises(GpudashError) as refused:
            method(matrix, ["max"], [1])
        assert refused.value.code == "scores.error_negative"


@pytest.mark.parametrize("method", METHODS)
def test_huge_and_tiny_values_give_finite_scores(method):
    scores = METHODS[method]([[1e200, 1e-200], [2e200, 3e-200]], ["max", "max"], [0.5, 0.5])
    assert np.isfinite(scores).all() and scores[1] > scores[0]


def test_random_weights_share_the_first_places_out_completely_and_repeatably():
    matrix = np.random.default_rng(5).uniform(1, 9, (12, 4))
    objectives = ["max", "min", "max", "min"]
    for method in METHODS:
        share = first_share(matrix, objectives, method)
        assert share.sum() == pytest.approx(1) and (share >= 0).all()
        assert (share == first_share(matrix, objectives, method)).all()


def test_two_mirrored_options_are_first_about_half_of_the_time_and_twins_share():
    share = first_share([[2, 1], [1, 2]], ["max", "max"])
    assert share == pytest.approx([0.5, 0.5], abs=0.02)
    twins = first_share([[2, 1], [1, 2], [1, 2]], ["max", "max"])
    assert twins[1] == twins[2] == pytest.approx(share[1] / 2)


def test_first_share_agrees_with_scoring_each_weight_set_by_itself():
    matrix, objectives = [[9, 2, 4], [6, 5, 3], [3, 8, 2], [5, 5, 9]], ["max", "max", "min"]
    draws = np.random.default_rng(1).dirichlet(np.ones(3), 4000)
    for method in COUNTED_BY_WEIGHT:
        wins = np.bincount([METHODS[method](matrix, objectives, w).argmax() for w in draws], minlength=4) / len(draws)
        assert first_share(matrix, objectives, method) == pytest.approx(wins, abs=0.03)


CRITERIA = [{"name": "speed", "objective": "max", "weight": 0.5}, {"name": "cost", "objective": "min", "weight": 0.5}]


def test_weights_that_do_not_add_to_one_are_divided_by_their_sum_and_said():
    percent = [{**criterion, "weight": 40} for criterion in CRITERIA]
    answer = score(["a", "b"], percent, [[3, 2], [1, 1]])
    assert answer.scores == score(["a", "b"], CRITERIA, [[3, 2], [1, 1]]).scores
    assert [warning.code for warning in answer.warnings] == ["scores.weights_renormalised"]
    assert Text("en").say(answer.warnings[0]) == "The weights add to 80, not to 1; each was divided by that sum."


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"options": []}, "scores.error_no_options"),
        ({"criteria": []}, "scores.error_no_criteria"),
        ({"criteria": 3}, "scores.error_no_criteria"),
        ({"options": ["a", "a"]}, "scores.error_repeated"),
        ({"method": "guess"}, "scores.error_method"),
        ({"matrix": [[1, 2]]}, "scores.error_rows"),
        ({"matrix": 7}, "scores.error_rows"),
        ({"matrix": [[1, 2], [3]]}, "scores.error_cells"),
        ({"matrix": [[1, 2], [3, None]]}, "scores.error_cell"),
        ({"matrix": [[1, 2], [3, float("nan")]]}, "scores.error_cell"),
        ({"matrix": [[1, 2], [3, "4"]]}, "scores.error_cell"),
        ({"matrix": [[1, 2], [3, -4]]}, "scores.error_negative"),
        ({"matrix": [[1, 0], [3, 4]], "method": "price_performance"}, "scores.error_index_infinite"),
        ({"criteria": [{**CRITERIA[0], "objective": "more"}, CRITERIA[1]]}, "scores.error_objective"),
        ({"criteria": [{**CRITERIA[0], "weight": "half"}, CRITERIA[1]]}, "scores.error_weight"),
        ({"criteria": [{**CRITERIA[0], "weight": -1}, CRITERIA[1]]}, "scores.error_weights"),
        ({"criteria": [{**criterion, "weight": 0} for criterion in CRITERIA]}, "scores.error_weights"),
        ({"criteria": [{"name": "speed"}, CRITERIA[1]]}, "scores.error_criterion_keys"),
    ],
)
def test_a_table_that_cannot_be_scored_is_refused_with_its_reason(change, code):
    table = {"options": ["a", "b"], "criteria": CRITERIA, "matrix": [[1, 2], [3, 4]], **change}
    with pytest.raises(GpudashError) as refused:
        score(**table)
    assert refused.value.code == code
    assert all(Text(language).has(code) for language in ("en", "zh"))


# ---- frameworks --------------------------------------------------------------------------------------------------


def columns(framework, candidates=6):
    facts = np.random.default_rng(2).uniform(1, 9, (len(framework.criteria), candidates))
    return {criterion.fact: fact for criterion, fact in zip(framework.criteria, facts)}


@pytest.mark.parametrize("name", framework_names())
def test_the_weights_of_a_framework_add_to_its_published_dimensions(name):
    framework = load_framework(name)
    for dimension, points in framework.dimensions.items():
        assert sum(c.weight for c in framework.criteria if c.dimension == dimension) == points
    assert sum(framework.dimensions.values()) == 100
    assert all(criterion.source for criterion in framework.criteria)


def test_the_published_frameworks_have_the_published_dimensions():
    assert load_framework("three_dimension").dimensions == {"performance": 40, "cost": 35, "ecosystem": 25}
    assert list(load_framework("four_dimension").dimensions.values()) == [40, 30, 20, 10]


@pytest.mark.parametrize("name", framework_names())
def test_everything_a_framework_may_say_has_a_sentence_in_both_languages(name):
    framework = load_framework(name)
    keys = {framework.name} | {c.name for c in framework.criteria} | {c.dimension_name for c in framework.criteria}
    for criterion in framework.criteria:
        if criterion.missing != "refuse":
            keys |= {f"scores.missing_{criterion.missing}_{criterion.key}", f"scores.unknown_{criterion.key}"}
    assert all(Text(language).has(key) for language in ("en", "zh") for key in keys)


@pytest.mark.parametrize("name", framework_names())
def test_contributions_add_up_to_the_score_and_agree_with_the_plain_method(name):
    framework = load_framework(name)
    answer = score_candidates(framework, columns(framework))
    assert answer.contributions.sum(axis=1) == pytest.approx(answer.scores)
    assert answer.scores == pytest.approx(ratio(answer.values, answer.objectives, answer.weights))
    assert not answer.imputed.any() and not answer.warnings


def test_a_missing_fact_is_filled_by_its_rule_marked_and_said():
    framework = load_framework("four_dimension")
    facts = columns(framework, candidates=4)
    facts["sla_level"] = np.array([5, 3, np.nan, 2.0])
    facts["watts_per_tflops"] = np.array([2.0, np.nan, 4.0, 9.0])
    facts["spot_usd_per_gpu_hour"] = np.array([1.0, 2.0, np.nan, 3.0])
    answer = score_candidates(framework, facts)
    place = {criterion.key: i for i, criterion in enumerate(framework.criteria)}
    assert answer.values[2, place["sla"]] == 2
    assert answer.values[1, place["energy"]] == 4
    assert answer.values[2, place["burst_price"]] == 3
    assert answer.imputed.sum() == 3
    said = {warning.code: dict(warning.values) for warning in answer.warnings}
    assert said["scores.missing_worst_sla"] == {"value": 2, "missing": 1, "candidates": 4}
    assert all(Text(language).say(warning) for language in ("en", "zh") for warning in answer.warnings)


def test_a_fact_nobody_knows_scores_equal_for_all_and_is_said():
    framework = load_framework("gpudash")
    facts = {**columns(framework), "support_response_minutes": np.full(6, np.nan)}
    answer = score_candidates(framework, facts)
    place = [criterion.key for criterion in framework.criteria].index("support_response")
    assert len(set(answer.contributions[:, place])) == 1
    assert [warning.code for warning in answer.warnings] == ["scores.unknown_support_response"]


def test_an_unknown_total_cost_is_refused():
    framework = load_framework("gpudash")
    with pytest.raises(GpudashError) as refused:
        score_candidates(framework, {**columns(framework), "tco_usd": np.array([1, 2, np.nan, 4, 5, 6.0])})
    assert refused.value.code == "scores.error_fact_missing"


def test_no_candidates_give_empty_tables():
    framework = load_framework("gpudash")
    answer = score_candidates(framework, columns(framework, candidates=0))
    assert answer.scores.shape == answer.ranks.shape == (0,)


def test_a_users_weights_replace_points_and_are_renormalised_aloud():
    framework = load_framework("gpudash")
    answer = score_candidates(framework, columns(framework), {"total_cost": 0, "sla": 35})
    assert answer.weights.sum() == pytest.approx(1) and answer.weights[0] == 0
    assert [warning.code for warning in answer.warnings] == ["scores.points_renormalised"]
    with pytest.raises(GpudashError, match="looks"):
        score_candidates(framework, columns(framework), {"looks": 3})


def test_a_criterion_without_weight_needs_no_facts():
    framework = load_framework("gpudash")
    facts = {**columns(framework), "tco_usd": np.full(6, np.nan)}
    answer = score_candidates(framework, facts, {"total_cost": 0, "sla": 65})
    assert np.isfinite(answer.scores).all() and not answer.warnings


def test_a_users_own_framework_takes_any_criteria():
    framework = custom_framework({"total_cost": 3, "energy": 1})
    answer = score_candidates(framework, columns(framework))
    assert answer.weights.tolist() == [0.75, 0.25]
    with pytest.raises(GpudashError, match="looks"):
        custom_framework({"looks": 1})


def test_an_unknown_framework_is_answered_with_the_known_ones():
    with pytest.raises(GpudashError) as refused:
        load_framework("two_dimension")
    assert all(name in str(refused.value) for name in framework_names())


def test_availability_becomes_one_of_five_levels():
    levels = sla_level([98.0, 99.5, 99.9, 99.94, 99.95, 99.99, np.nan])
    assert levels[:-1].tolist() == [1, 2, 3, 3, 4, 5] and np.isnan(levels[-1])
    assert sla_level(99.9) == 3


def test_what_is_over_the_budget_does_not_decide_what_counts_as_fast_or_sure():
    """The fastest of all costs many times the budget; the measure is the fastest that may be chosen."""
    asked = {"workload": {"model": "llama-3.1-8b"}, "traffic": {"peak_requests_per_s": 6}}
    free, bound = (
        evaluate(Scenario.read(asked | {"budget": {"amount": amount}}), load_catalogue()) for amount in (None, 1200)
    )
    for result in (free, bound):
        for ranking in result.scores.values():
            counted = [place for place, criterion in enumerate(ranking.criteria) if criterion["weight"] > 0]
            utilities = ranking.table.utilities[: ranking.table.eligible, counted]
            assert utilities.max(axis=0) == pytest.approx(1, abs=0.01)  # the best region may not be the one listed
            assert ranking.table.utilities.max() <= 1
    speed = [criterion["key"] for criterion in free.scores["gpudash"].criteria].index("speed_margin")
    fastest = [result.scores["gpudash"].table.values[:, speed].max() for result in (free, bound)]
    eligible = bound.scores["gpudash"].table.values[: bound.scores["gpudash"].table.eligible, speed].max()
    assert fastest[0] == fastest[1] > eligible


def test_an_option_that_may_not_be_chosen_is_compared_but_is_no_measure():
    """10 of 10 instead of 10 of 20: the 20 may not be chosen, and gets no more than the best."""
    matrix, objectives = [[10, 2], [5, 1], [20, 0.5]], ["max", "min"]
    found = ratio_utilities(matrix, objectives, among=np.array([True, True, False]))
    assert found.tolist() == [[1, 0.5], [0.5, 1], [1, 1]]
