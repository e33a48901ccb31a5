"""When something breaks: the rest stands, one sentence says what is missing, and nothing is lost."""

import functools
import importlib
import json

import pytest
from streamlit.testing.v1 import AppTest

from gpudash import Scenario, evaluate, load_catalogue
from gpudash.__main__ import main
from gpudash.figures import overview, tco
from gpudash.stages import Stages
from gpudash.text import LANGUAGES, Text
from ui.literal import literal
from ui.memo import SHARED

# Stage -> the function of gpudash.evaluate that does its work.
OPTIONAL = {
    "owned": "owned",
    "demand": "demand_result",
    "purchase_detail": "purchase_detail",
    "rankings": "ranking",
    "path": "walk_trees",
    "warnings": "result_warnings",
}
PAGES = ("overview", "recommendation", "scores", "tco", "purchase_mix", "workload", "what_if", "evidence", "brief")
evaluation = importlib.import_module("gpudash.evaluate")


def failing(function):
    """The same function by name, which the program fails in."""

    @functools.wraps(function)
    def fails(*_arguments):
        raise ZeroDivisionError

    return fails


@pytest.fixture
def without(monkeypatch):
    """Make one function of the program fail; answers kept from before or meanwhile are forgotten."""

    def forget():
        SHARED.forget()

    def break_one(module, function: str) -> None:
        monkeypatch.setattr(module, function, failing(getattr(module, function)))
        forget()

    yield break_one
    monkeypatch.undo()
    forget()


def opened(page: str, language: str = "en") -> AppTest:
    app = AppTest.from_file("../ui/shell.py", default_timeout=30)
    app.query_params["lang"] = language
    app.run()
    app.query_params.clear()
    return app if page == "overview" else app.switch_page(f"../pages/{page}.py").run()


@pytest.mark.parametrize("stage", OPTIONAL)
def test_a_stage_that_fails_is_named_first_among_the_warnings_and_the_choice_stays(without, stage):
    whole = evaluate(Scenario(), load_catalogue())
    without(evaluation, OPTIONAL[stage])
    stages = Stages()
    result = evaluate(Scenario(), load_catalogue(), stages)
    assert result.recommendation == whole.recommendation
    assert result.tco == whole.tco
    assert Text("en")(f"stages.{stage}") in Text("en").say(result.warnings[0])
    assert list(stages.failures) == [stage]


def test_scores_in_the_other_frameworks_may_fail_and_the_chosen_one_decides_as_before(without, monkeypatch):
    whole = evaluate(Scenario(), load_catalogue())
    rank = evaluation.rank

    def rank_the_chosen_one(solved, *, only_chosen=False):
        return rank(solved, only_chosen) if only_chosen else failing(rank)()

    monkeypatch.setattr(evaluation, "rank", rank_the_chosen_one)
    result = evaluate(Scenario(), load_catalogue())
    assert result.recommendation == whole.recommendation
    assert list(result.scores) == [Scenario().priorities.framework]
    assert result.warnings[0].code == "stages.missing"


def test_what_no_answer_can_do_without_is_not_hidden(without):
    without(evaluation, "price")
    with pytest.raises(ZeroDivisionError):
        evaluate(Scenario(), load_catalogue())


def test_the_command_line_answers_without_the_part_that_fails_and_says_so(without, capsys):
    without(evaluation, "walk_trees")
    assert main(["evaluate"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["recommendation"]["offer"]
    assert "decision path" in answer["warnings"][0]
    assert answer["path"] == {}


@pytest.mark.parametrize("stage", OPTIONAL)
def test_every_page_is_drawn_without_the_stage_that_fails(without, stage):
    without(evaluation, OPTIONAL[stage])
    for page in PAGES:
        app = opened(page)
        assert not app.exception
        assert [error.value for error in app.error] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_part_of_a_page_that_fails_says_so_in_its_place_and_the_rest_is_drawn(without, language):
    without(tco, "monthly_cost")
    app, text = opened("tco", language), Text(language)
    assert [error.value for error in app.error] == [literal(text("frame.part_failed", part="tco.monthly_cost"))]
    assert len(app.metric) == 4
    assert app.sidebar.number_input(key="traffic.peak_requests_per_s").value == 1


def test_without_an_answer_a_page_fails_once_and_not_part_by_part(without):
    without(evaluation, "price")
    app = opened("tco")
    assert len(app.exception) == 1
    assert [error.value for error in app.error] == []


def test_an_answer_that_cannot_be_shown_leaves_the_numbers_under_it(without):
    without(overview, "answer")
    app = opened("overview")
    assert len(app.error) == 1
    assert len(app.metric) == 4
