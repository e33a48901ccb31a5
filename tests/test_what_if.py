"""What the What-if and Claims pages show: thresholds, bands, the tornado, worked examples; also while a search runs."""

import inspect
import json
from functools import cache

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from gpudash import Scenario, evaluate, load_catalogue
from gpudash.claims import worked_examples
from gpudash.figures import claims as claims_figures
from gpudash.figures import what_if
from gpudash.figures.table import rows_where, rows_with, table_of
from gpudash.flips import FIRST, Progress, search_first_flips, search_flips
from gpudash.text import LANGUAGES, Text
from gpudash.uncertainty import Uncertainty, draw
from ui.searches import Search

CATALOGUE = load_catalogue()
SCENARIOS = {
    "serving": {},
    "training in yuan": {
        "workload": {"kind": "training", "model": "llama-3.1-8b", "training_tokens_b": 20, "deadline_days": 30},
        "finance": {"currency": "CNY"},
    },
    "nothing within the budget": {"budget": {"amount": 100}},
}
ENGLISH = Text("en")


@cache
def shown(name: str) -> tuple:
    """The result of a scenario, and its searches after their first and after their last step."""
    scenario = Scenario.read(SCENARIOS[name])
    flips, draws = list(filter(None, search_flips(scenario, CATALOGUE))), list(draw(scenario, CATALOGUE))
    return evaluate(scenario, CATALOGUE), (flips[0], flips[-1]), (draws[0], draws[-1])


def views(first_argument: type) -> list:
    functions = [function for _, function in inspect.getmembers(what_if, inspect.isfunction)]
    return [
        function
        for function in functions
        if not function.__name__.startswith("_")
        and next(iter(inspect.signature(function).parameters.values())).annotation is first_argument
    ]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_view_of_a_search_shows_at_any_moment(name, language):
    result, flips, draws = shown(name)
    drawn = 0
    for found, kind in ((flips, Progress), (draws, Uncertainty)):
        for view in views(kind):
            for step in found:
                made = view(step, result, Text(language))
                if isinstance(made, go.Figure):
                    drawn += 1
                    assert made.layout.title.text
                    assert made.layout.meta["source"]
                    content = json.dumps(json.loads(made.to_json()))
                    assert "NaN" not in content
                    assert "None" not in content
                    assert len({len(column.values) for column in table_of(made).columns}) == 1
                else:
                    assert not any("None" in line or "nan" in line or "{" in line for line in made or ())
    assert drawn


def test_the_nearest_threshold_comes_first_and_names_the_chart():
    result, (_, flips), _ = shown("serving")
    lines = what_if.flips(flips, result, ENGLISH)
    assert len(lines) == len(flips.flips)
    chart = what_if.closeness(flips, result, ENGLISH)
    moves = [abs(value) for value in chart.data[0].x]
    assert moves == sorted(moves)
    assert chart.layout.title.text.startswith("Nearest: ")


def test_the_sentences_on_sureness_give_the_share_of_the_draws():
    result, _, (_, draws) = shown("serving")
    lines = what_if.sureness(draws, result, ENGLISH)
    share = ENGLISH.percent(draws.options[0].right_fraction)
    assert lines[0].startswith(f"In {share} of {draws.draws} draws the recommendation ")


def test_the_bands_hold_the_percentiles_in_the_currency_asked_for():
    result, _, (_, draws) = shown("training in yuan")
    rate = CATALOGUE.exchange_rates["CNY"].units_per_usd
    p90, p50, p10 = (bar.x[0] for bar in what_if.bands(draws, result, ENGLISH).data)
    first = draws.options[0]
    assert (p10, p50, p90) == pytest.approx([value * rate for value in (first.p10_usd, first.p50_usd, first.p90_usd)])


def test_the_tornado_is_widest_at_the_top():
    result, _, (_, draws) = shown("training in yuan")
    low, high = what_if.tornado(draws, result, ENGLISH).data
    widths = [abs(b - a) for a, b, bar in zip(low.x, high.x, draws.tornado) if bar.low_usd and bar.high_usd]
    assert widths == sorted(widths, reverse=True)


def test_the_worked_examples_give_the_articles_figures_in_their_first_reading():
    first = {example.claim.id: example.readings[0].value for example in worked_examples()}
    expected = {"S2-49": 0.42, "S1-23": 0.6189, "S2-52": 0.68, "S2-25": 1.225}  # audit: 42 %, 61.9 %, 68.0 %, 1.225
    expected |= {"S1-09": 1 - 1.89 / 3.2, "S2-23": 148.225, "S1-29": 0.27, "S1-27": 14, "S2-54": 0.62005}
    assert first == pytest.approx(expected, abs=5e-5)
    second = {example.claim.id: example.readings[1].value for example in worked_examples()}
    assert second["S2-49"] == pytest.approx(0.66)
    assert second["S2-25"] == pytest.approx(1.15)
    assert second["S1-09"] == pytest.approx(0.047, abs=5e-4)  # audit: 4.7 % by the article's own prices
    assert second["S2-23"] == pytest.approx(110 * 1.1 * 1.15)
    assert second["S1-27"] == 28
    assert second["S2-54"] < 1  # 330 % if the six were added up


def test_a_claim_comes_out_only_in_the_reading_that_gives_the_printed_figure():
    for example in worked_examples():
        verdicts = [example.verdict(reading.value) for reading in example.readings]
        assert verdicts[0] in ("reproduces", None) and "reproduces" not in verdicts[1:]
        for reading in example.readings:
            assert set(reading.inputs) == set(example.bounds)
            assert example.value(reading.inputs) == reading.value


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_verdict_follows_the_numbers_that_a_reader_moves(language):
    (example,) = [example for example in worked_examples() if example.claim.id == "S2-49"]
    printed = example.readings[0].inputs
    said = [
        claims_figures.outcome(example, inputs, Text(language))
        for inputs in (printed, printed | {"spot_pays_fraction": 0.9})
    ]
    assert "42" in said[0][0] and "30" in said[1][0] and said[0] != said[1]


@pytest.mark.parametrize(("utilisation", "coefficient", "physics"), [(0.5, "1.15", "1.2"), (0.3, "1.45", "2")])
def test_beside_the_articles_penalty_stands_what_a_useful_hour_really_costs(utilisation, coefficient, physics):
    """Audit S2-25: a useful hour costs 60/u times as much, 2.0 at 30 % where the formula has 1.45."""
    for name in ("S2-23", "S2-25"):
        (example,) = [example for example in worked_examples() if example.claim.id == name]
        inputs = example.readings[0].inputs | {"utilisation_fraction": utilisation}
        _, beside = claims_figures.outcome(example, inputs, ENGLISH)
        assert f"costs {physics} times" in beside and f"puts {coefficient} for it" in beside
        idle = claims_figures.outcome(example, inputs | {"utilisation_fraction": 0.0}, ENGLISH)[1]
        assert "without end" in idle


def test_the_table_of_claims_can_be_searched_in_both_languages():
    result, *_ = shown("serving")
    english = claims_figures.audit(result, ENGLISH)
    assert len(rows_with(english, "NVLINK PCIe")) == 1
    assert len(rows_with(english, "")) == len(english) == 116
    chinese = claims_figures.audit(result, Text("zh"))
    assert 0 < len(rows_with(chinese, "显存")) < 116
    label = ENGLISH("claims_page.column_verdict")
    reproduced = rows_where(english, label, {ENGLISH("claims.verdict_reproduces")})
    assert len(reproduced) == 24


def test_a_search_goes_on_where_it_stopped_and_is_made_once():
    steps, seen = Search(search_flips(Scenario(), CATALOGUE)), []
    while not steps.is_done:
        steps.step()
        seen.append(steps.found)
    assert seen[0] is None  # one value tried, and nothing to tell yet
    numbers = list(dict.fromkeys(found.done for found in seen if found))
    assert numbers == list(range(1, numbers[-1] + 1))
    assert len(seen) > 3 * len(numbers)  # nobody who needs an answer waits longer than for one value
    last = steps.found
    steps.step()
    assert steps.found is last
    assert last.fraction == 1


def test_a_search_that_finds_nothing_is_done():
    steps = Search(iter(()))
    steps.step()
    assert steps.is_done
    assert steps.found is None


def test_holding_the_search_shows_what_was_found_so_far():
    app = AppTest.from_file("../ui/shell.py", default_timeout=60)
    app.query_params.update({"lang": "en", "traffic.peak_requests_per_s": "1.5", "v": "1"})
    app.run()
    app.query_params.clear()
    app.session_state["what_if.search_flips.on"] = False
    app.session_state["what_if.draw.on"] = False
    app.switch_page("../pages/what_if.py").run()
    assert not app.exception
    assert {toggle.label for toggle in app.toggle} == {ENGLISH("frame.search")}
    app.toggle(key="what_if.search_flips.on").set_value(True).run()
    assert not app.exception
    assert any("The answer changes to " in element.value for element in app.markdown)


def test_the_short_search_ends_with_the_first_few_changes_of_the_long_one():
    short = Search(search_first_flips(Scenario(), CATALOGUE))
    while not short.is_done:
        short.step()
    whole = next(step for step in search_flips(Scenario(), CATALOGUE) if step and len(step.flips) >= FIRST)
    assert short.found.flips == whole.flips
    assert short.found.done == whole.done < whole.total


def test_the_overview_searches_by_itself_for_what_would_change_the_answer():
    app = AppTest.from_file("../ui/shell.py", default_timeout=60)
    app.query_params.update({"lang": "en", "traffic.peak_requests_per_s": "7"})
    app.run()
    assert not app.exception
    assert any("The answer changes to " in element.value for element in app.markdown)
