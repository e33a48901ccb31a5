"""When something breaks: the rest stands, one sentence says what is missing, and nothing is lost."""

import functools
import importlib
import json
import pkgutil
from inspect import getmembers, isfunction, signature
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from gpudash import Scenario, evaluate, figures, load_catalogue
from gpudash.__main__ import main
from gpudash.brief import Brief
from gpudash.export_files import FILES
from gpudash.figures import overview, tco
from gpudash.figures.money import text_for
from gpudash.stages import Stages
from gpudash.tables import DATA, read_yaml
from gpudash.text import LANGUAGES, Text
from ui.literal import literal
from ui.memo import SHARED

OPTIONAL = sorted(read_yaml(DATA / "text" / "en" / "stages.yaml").keys() - {"missing"})
PAGES = sorted(page.stem for page in (Path(__file__).parents[1] / "pages").glob("*.py"))
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


@pytest.fixture
def without_stage(without, monkeypatch):
    """Make the program fail in stages that an answer can do without."""
    run = Stages.optional

    def break_stages(*stages: str) -> None:
        def optional(self, name, otherwise, make, *arguments):
            return run(self, name, otherwise, failing(make) if name in stages else make, *arguments)

        SHARED.forget()
        monkeypatch.setattr(Stages, "optional", optional)

    return break_stages


def views():
    """Every function of gpudash.figures that shows something of an answer and asks for nothing else."""
    for module in pkgutil.iter_modules(figures.__path__, "gpudash.figures."):
        for name, view in getmembers(importlib.import_module(module.name), isfunction):
            is_shown = view.__module__ == module.name and name[0] != "_"
            if is_shown and [*signature(view).parameters] == ["result", "text"]:
                yield view


def opened(page: str, language: str = "en") -> AppTest:
    app = AppTest.from_file("../ui/shell.py", default_timeout=30)
    app.query_params["lang"] = language
    app.run()
    app.query_params.clear()
    return app if page == "overview" else app.switch_page(f"../pages/{page}.py").run()


@pytest.mark.parametrize("stage", OPTIONAL)
def test_a_stage_that_fails_is_named_first_among_the_warnings_and_the_choice_stays(without_stage, stage):
    whole = evaluate(Scenario(), load_catalogue())
    without_stage(stage)
    stages = Stages()
    result = evaluate(Scenario(), load_catalogue(), stages)
    assert result.recommendation == whole.recommendation
    assert result.tco == whole.tco
    assert Text("en")(f"stages.{stage}") in Text("en").say(result.warnings[0])
    assert list(stages.failures) == [stage]


def test_scores_in_the_other_frameworks_may_fail_and_the_chosen_one_is_still_shown(without_stage):
    without_stage("frameworks")
    assert list(evaluate(Scenario(), load_catalogue()).scores) == [Scenario().priorities.framework]


@pytest.mark.parametrize("stage", OPTIONAL)
@pytest.mark.parametrize("start", ["chat-7b-office-hours", "pretrain-13b"])
def test_every_view_and_every_file_is_made_without_the_stage_that_fails(without_stage, stage, start):
    without_stage(stage)
    scenario = Scenario.read(read_yaml(DATA / "scenarios" / f"{start}.yaml"))
    result = evaluate(scenario, load_catalogue())
    said = text_for(result.scenario, result.catalogue, "en")
    for view in views():
        view(result, said)
    for make in FILES.values():
        assert make(Brief(result, said, ""))


def test_what_no_answer_can_do_without_is_not_hidden(without):
    without(evaluation, "price")
    with pytest.raises(ZeroDivisionError):
        evaluate(Scenario(), load_catalogue())


@pytest.mark.parametrize("stage", OPTIONAL)
def test_the_command_line_answers_without_the_part_that_fails_and_says_so(without_stage, capsys, stage):
    without_stage(stage)
    assert main(["evaluate"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["recommendation"]["offer"]
    assert Text("en")(f"stages.{stage}") in answer["warnings"][0]


@pytest.mark.parametrize("tree", ["gpudash", "article_five_steps", "article_five_stages"])
def test_a_tree_whose_path_fails_is_answered_with_the_sentence_and_exit_code_1(without_stage, capsys, tree):
    without_stage("path")
    assert main(["tree", tree]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["tree"] == tree
    assert "decision path" in answer["faults"][0]


@pytest.mark.parametrize("half", [0, 1])
def test_every_page_is_drawn_without_the_stages_that_fail(without_stage, half):
    """Every other stage at once: what each alone takes away from a view is tried above, in a tenth of the time."""
    without_stage(*OPTIONAL[half::2])
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
