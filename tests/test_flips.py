"""What would change the answer: every threshold is checked by evaluating on both sides of it."""

from functools import cache

import numpy as np
import pytest

from gpudash import Scenario, evaluate, load_catalogue
from gpudash.assumptions import assume
from gpudash.evaluate import fit, price
from gpudash.flips import Answers, Flip, find_flips
from gpudash.levers import Question
from gpudash.tables import DATA, read_yaml
from gpudash.tco import least_costs
from gpudash.text import LANGUAGES, Text

CATALOGUE = load_catalogue()
SCENARIOS = {
    "serving": {},
    "serving with a budget": {"budget": {"amount": 3000}, "workload": {"output_tokens": 600}},
    "serving on spot": {
        "traffic": {"peak_requests_per_s": 20},
        "purchase": {"spot_fraction": 0.5, "negotiated_discounts": {"Verda": 0.1}},
    },
    "training": {"workload": {"kind": "training", "model": "llama-3.1-8b", "deadline_days": 30}},
    "images": {"workload": {"model": "resnet-50"}, "traffic": {"peak_requests_per_s": 2000}},
    "nothing within the budget": {"budget": {"amount": 100}},
}
BEYOND = 1.002  # a threshold is exact to 0.1 %


@cache
def answers(name: str) -> Answers:
    return Answers(Question(Scenario.read(SCENARIOS[name]), CATALOGUE))


@cache
def flips(name: str) -> tuple[Flip, ...]:
    return find_flips(Scenario.read(SCENARIOS[name]), CATALOGUE)


def recommended(question: Question) -> tuple[str, str] | None:
    choice = evaluate(question.scenario, question.catalogue).recommendation
    return choice and (choice.provider, choice.instance)


def both_sides(flip: Flip, is_whole: bool) -> tuple[float, float]:
    """A value just before the threshold and one just beyond it."""
    sign = 1 if flip.direction == "above" else -1
    if is_whole:
        return flip.threshold - sign, flip.threshold
    margin = sign * abs(flip.threshold) * (BEYOND - 1)
    return flip.threshold - margin, flip.threshold


@pytest.mark.parametrize("name", SCENARIOS)
def test_evaluate_answers_as_now_just_before_a_threshold_and_as_told_beyond_it(name):
    levers = {(lever.input, lever.subject): lever for lever in answers(name).levers}
    assert flips(name)
    for flip in flips(name):
        lever = levers[flip.input, flip.subject]
        before, beyond = both_sides(flip, lever.is_whole)
        assert recommended(lever.ask(before)) == answers(name).first, flip
        becomes = flip.becomes and tuple(flip.becomes.split(" / ")[:2])
        assert recommended(lever.ask(beyond)) == becomes != answers(name).first, flip


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_threshold_lies_on_its_side_of_the_present_value(name):
    for flip in flips(name):
        if flip.now is not None:
            assert (flip.threshold > flip.now) == (flip.direction == "above"), flip


def test_a_whole_number_flips_at_a_whole_number():
    tokens = [flip for flip in flips("serving") if flip.unit == "tokens"]
    assert tokens
    assert all(isinstance(flip.threshold, int) for flip in tokens)


def test_with_a_budget_too_small_the_search_names_the_budget_that_makes_an_answer():
    flip = next(flip for flip in flips("nothing within the budget") if flip.input == "budget.amount")
    result = evaluate(Scenario.read(SCENARIOS["nothing within the budget"]), CATALOGUE)
    assert result.recommendation is None
    assert flip.direction == "above"
    assert flip.threshold == pytest.approx(result.cheapest.monthly_usd, rel=1e-3)


def test_without_a_budget_the_threshold_is_what_the_winner_costs():
    flip = next(flip for flip in flips("serving") if flip.input == "budget.amount")
    assert flip.now is None
    assert flip.threshold == pytest.approx(evaluate(Scenario(), CATALOGUE).recommendation.monthly_usd, rel=1e-3)


def test_the_search_reports_after_each_number_and_stops_when_told():
    seen = []
    found = find_flips(Scenario(), CATALOGUE, progress=seen.append, should_stop=lambda: len(seen) == 2)
    assert [step.done for step in seen] == [1, 2]
    assert seen[0].fraction == 1 / seen[0].total
    assert found == seen[-1].flips


def test_a_number_that_changes_nothing_is_named_as_such():
    seen = []
    find_flips(Scenario(), CATALOGUE, progress=seen.append)
    names = {lever.input for lever in seen[-1].unmoved}
    assert names
    assert not names & {flip.input for flip in seen[-1].flips}


def test_what_has_no_effect_on_the_work_is_not_searched():
    assert "purchase.interruption_fraction_per_month" not in {lever.input for lever in answers("serving").levers}
    searched = {lever.input for lever in answers("images").levers}
    assert not searched & {"workload.context_tokens", "workload.output_tokens", "workload.tpot_ms"}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_threshold_reads_as_a_sentence(name, language):
    for flip in flips(name):
        sentence = Text(language).say(flip.sentence)
        assert "{" not in sentence
        assert "_" not in sentence.replace(flip.subject, "").replace((flip.becomes or "").split(" / ")[-2:][0], "")


def test_a_threshold_names_the_offer_and_the_value():
    flip = next(flip for flip in flips("serving") if flip.input == "workload.tpot_ms")
    provider, instance, _ = flip.becomes.split(" / ")
    shown = Text("en").number(flip.threshold)
    assert Text("en").say(flip.sentence) == (
        f"The answer changes to {provider} {instance} when the time allowed per token falls below {shown} ms."
    )


def test_every_lever_and_unit_of_the_data_can_be_said():
    rules = read_yaml(DATA / "flips.yaml")
    rows = rules["inputs"] | rules["prices"]
    for language in LANGUAGES:
        assert all(Text(language).has(f"flips.what.{name}") for name in rows)
        units = {row["unit"] for row in rows.values()} - {"money"}
        assert all(Text(language).has(f"flips.value.{unit}") for unit in units)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_least_cost_never_lies_above_the_cost(name):
    scenario = Scenario.read(SCENARIOS[name])
    known = assume(scenario, CATALOGUE)
    fitted = fit(known)
    costs, rows = price(known, fitted), np.flatnonzero(fitted.gates.alive)
    least = least_costs(known, fitted.shapes, fitted.sized, rows)
    assert (least.rows == costs.rows).all()
    assert (least.tco_usd <= costs.tco_usd).all()
    assert (least.servers == costs.servers).all()
    assert (least.last_servers == costs.last_servers).all()


def test_the_budget_is_the_first_thing_that_would_change_the_answer_only_where_there_is_none():
    """That nothing is left below what the answer costs is no news; the card says what it costs."""
    for name in ("serving", "serving with a budget"):
        inputs = [lever.input for lever in answers(name).levers if not lever.subject]
        assert inputs[-1] == "budget.amount"
    inputs = [lever.input for lever in answers("nothing within the budget").levers]
    assert inputs.index("budget.amount") < inputs.index("workload.tpot_ms")


def test_nothing_is_said_to_exceed_all_of_it():
    """Where the answer changes only if all work may run on spot, the share reaches 100 %: it cannot exceed it."""
    for name in SCENARIOS:
        for flip in flips(name):
            if flip.unit == "fraction" and flip.threshold in (0, 1):
                assert "exceeds" not in Text("en").say(flip.sentence)
    asked = Scenario.read(read_yaml(DATA / "scenarios" / "startup-3000-usd.yaml"))
    spot = [flip for flip in find_flips(asked, CATALOGUE) if flip.input == "purchase.spot_fraction"]
    assert [Text("en").say(flip.sentence).rpartition(" when ")[2] for flip in spot] == [
        "the share that may run on spot reaches 100%."
    ]


def test_the_budget_that_would_do_is_named_however_far_it_is():
    asked = Scenario.read({"budget": {"amount": 10}})
    result = evaluate(asked, CATALOGUE)
    (needed,) = [flip for flip in find_flips(asked, CATALOGUE) if flip.input == "budget.amount"]
    assert needed.threshold == pytest.approx(result.cheapest.monthly_usd, rel=1e-5)
    assert needed.becomes == result.cheapest.id
