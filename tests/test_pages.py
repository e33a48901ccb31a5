"""Every page in both languages, driven like a user would: what it says, and that one input moves the right number."""

import json
import re

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from gpudash import Scenario, evaluate, load_catalogue, share
from gpudash.errors import GpudashError
from gpudash.export_files import DOCUMENTS, FILES
from gpudash.figures.overview import answer, headline
from gpudash.scenario import fields
from gpudash.tables import DATA, read_yaml
from gpudash.text import LANGUAGES, Text
from ui import searches
from ui.fields import sentence
from ui.literal import cell, literal

DECIDE = ("overview", "recommendation", "compare")
UNDERSTAND = ("workload", "scores", "tco", "purchase_mix", "storage", "what_if")
PAGES = (*DECIDE, *UNDERSTAND, "catalogue", "evidence", "claims", "brief")
TITLE_TOPICS = {name: f"{name}_page" for name in ("scores", "storage", "catalogue", "claims", "brief")}


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(searches, "PAUSE_S", 0)


@pytest.fixture(autouse=True)
def fresh_caches():
    st.cache_data.clear()
    st.cache_resource.clear()


def opened(page: str = "overview", language: str = "en", **address: str) -> AppTest:
    """The dashboard as a visitor sees it who opened an address and went to a page.

    The test harness never rewrites its address as a browser's would be; it is emptied, as a change of page empties it.
    """
    app = AppTest.from_file("../ui/shell.py", default_timeout=30)
    app.query_params.update({"lang": language, **address})
    app.run()
    app.query_params.clear()
    return app if page == "overview" else app.switch_page(f"../pages/{page}.py").run()


def shown(app: AppTest) -> str:
    """All that a page says, without the backslashes that keep text from being markup."""
    elements = [*app.header, *app.subheader, *app.markdown, *app.caption, *app.error]
    return "\n".join(re.sub(r"\\(.)", r"\1", element.value) for element in elements)


def result_of(**changes):
    return evaluate(
        Scenario().with_values({path.replace("__", "."): value for path, value in changes.items()}), load_catalogue()
    )


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("place", PAGES)
def test_a_page_says_its_title_and_fails_nowhere(place, language):
    app, text = opened(place, language), Text(language)
    assert not app.exception
    assert not app.error
    if place != "overview":
        assert text(f"{TITLE_TOPICS.get(place, place)}.title") in shown(app)
    assert app.sidebar.number_input(key="traffic.peak_requests_per_s").value == 1
    assert [path for path in fields() if path in shown(app)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_overview_gives_the_answer_of_evaluate(language):
    app, text, result = opened(language=language), Text(language), result_of()
    for line in answer(result, text):
        assert line in shown(app)
    assert [metric.value for metric in app.metric] == [literal(metric.value) for metric in headline(result, text)]


def test_more_traffic_moves_the_monthly_cost():
    app = opened()
    before = app.metric[0].value
    app.sidebar.number_input(key="traffic.peak_requests_per_s").set_value(50.0).run()
    expected = headline(result_of(traffic__peak_requests_per_s=50), Text("en"))
    assert app.metric[0].value == literal(expected[0].value) != before


def test_a_value_keeps_through_a_change_of_page():
    app = opened()
    app.sidebar.number_input(key="workload.output_tokens").set_value(700).run()
    app.switch_page("../pages/tco.py").run()
    assert app.sidebar.number_input(key="workload.output_tokens").value == 700
    app.switch_page("../pages/overview.py").run()
    assert app.sidebar.number_input(key="workload.output_tokens").value == 700


def test_a_refused_value_says_why_beside_the_field_and_keeps_the_old_one():
    app = opened()
    app.sidebar.number_input(key="traffic.peak_requests_per_s").set_value(-3.0).run()
    refusal = re.sub(r"\\(.)", r"\1", app.sidebar.error[0].value)
    assert '"Peak requests per second"' in refusal
    assert "traffic." not in refusal
    assert app.sidebar.number_input(key="traffic.peak_requests_per_s").value == 1
    app.sidebar.number_input(key="traffic.peak_requests_per_s").set_value(3.0).run()
    assert not app.sidebar.error


def test_the_last_edit_can_be_undone_and_then_the_one_before():
    app = opened()
    assert app.button(key="icon_undo").disabled
    app.sidebar.number_input(key="workload.output_tokens").set_value(700).run()
    app.sidebar.number_input(key="traffic.peak_requests_per_s").set_value(9.0).run()
    app.button(key="icon_undo").click().run()
    assert app.sidebar.number_input(key="traffic.peak_requests_per_s").value == 1
    assert app.sidebar.number_input(key="workload.output_tokens").value == 700
    app.button(key="icon_undo").click().run()
    assert app.sidebar.number_input(key="workload.output_tokens").value == 300
    assert app.button(key="icon_undo").disabled


def test_resetting_a_page_leaves_the_inputs_of_the_others():
    app = opened("purchase_mix", **{"purchase.spot_fraction": "0.25", "workload.output_tokens": "700"})
    app.button(key="icon_reset").click().run()
    assert app.slider(key="purchase.spot_fraction").value == 0
    assert app.sidebar.number_input(key="workload.output_tokens").value == 700
    assert app.button(key="icon_reset").disabled


def test_resetting_the_first_page_resets_everything():
    app = opened(**{"purchase.spot_fraction": "0.25", "workload.output_tokens": "700"})
    app.button(key="icon_reset").click().run()
    assert app.session_state.desk.scenario == Scenario()


def test_a_refused_cell_of_a_table_is_named_as_the_table_names_it():
    rows = [{"name": "logs", "size_gb": 1}, {"name": "more", "size_gb": -1}]
    with pytest.raises(GpudashError) as refused:
        Scenario().with_value("storage.datasets", rows)
    assert sentence(refused.value, Text("en")).startswith('"Size (GB)" in row 2 of "Data sets" is -1')


def test_an_optional_number_may_be_emptied():
    app = opened(**{"budget.amount": "5000"})
    assert app.sidebar.number_input(key="budget.amount").value == 5000
    app.sidebar.number_input(key="budget.amount").set_value(None).run()
    assert app.session_state.desk.scenario.budget.amount is None


def test_a_share_is_shown_in_percent_and_kept_as_a_fraction():
    app = opened("purchase_mix", **{"purchase.spot_fraction": "0.25"})
    assert app.slider(key="purchase.spot_fraction").value == 25
    app.slider(key="purchase.spot_fraction").set_value(40.0).run()
    assert app.session_state.desk.scenario.purchase.spot_fraction == 0.4


def test_a_budget_that_nothing_meets_names_the_cheapest_and_the_gap():
    app, text = opened(**{"budget.amount": "20"}), Text("en")
    result = result_of(budget__amount=20)
    assert result.recommendation is None
    for line in answer(result, text):
        assert line in shown(app)
    assert text("overview.nothing_meets_budget") in shown(app)
    assert text.money(result.gap_usd_per_month) in shown(app)


@pytest.mark.parametrize("place", PAGES)
def test_a_page_has_something_to_say_where_nothing_meets_the_budget(place):
    assert not opened(place, **{"budget.amount": "20"}).exception


def test_a_link_that_cannot_be_read_says_so_and_shows_the_defaults():
    app = opened(**{"v": "1", "traffic.peak_requests_per_s": "many"})
    assert len(app.error) == 1
    assert app.session_state.desk.scenario == Scenario()


def test_a_starting_point_fills_in_all_inputs():
    app = opened()
    app.sidebar.selectbox(key="start").select("chat-70b-around-the-clock").run()
    assert app.session_state.desk.scenario.workload.model == "llama-3.1-70b"
    assert app.sidebar.selectbox(key="start").value == "chat-70b-around-the-clock"


def test_the_inputs_asked_for_follow_the_kind_of_work():
    app = opened()
    app.sidebar.selectbox(key="workload.kind").select("fine_tuning").run()
    keys = {widget.key for widget in app.sidebar.number_input}
    assert "workload.training_tokens_b" in keys
    assert "traffic.peak_requests_per_s" not in keys


def test_money_and_names_of_users_are_no_markup():
    name = "saved $420,000 of $680,000 <b>bold</b> [link](http://x) **x** :red[y]"
    app = opened(**{"about.name": name})
    assert app.header[0].value == literal(name)
    assert "$" not in literal(name).replace("\\$", "")
    assert name in shown(app)


def test_a_cell_that_a_spreadsheet_would_run_is_text_and_a_number_stays_one():
    assert [cell(value) for value in ("=1+1", "@A1", "plain", -11.4)] == ["'=1+1", "'@A1", "plain", -11.4]


def test_moving_a_weight_makes_the_scoring_ones_own():
    app = opened("scores", **{"priorities.framework": "custom", "priorities.weights": "total_cost,60~sla,40"})
    assert not app.exception
    assert app.session_state.desk.scenario.priorities.framework == "custom"


def test_a_scoring_of_ones_own_starts_from_ours_and_its_criteria_can_be_chosen():
    app = opened("scores", **{"priorities.framework": "custom"})
    app.session_state["scores_page.weights"] = True
    app.run()
    assert not app.exception
    chosen = app.multiselect(key="weight.criteria")
    assert "total_cost" in chosen.value and "energy" not in chosen.value
    chosen.select("energy").run()
    weights = {row.criterion: row.weight for row in app.session_state.desk.scenario.priorities.weights}
    assert weights["total_cost"] == 55 and weights["energy"] == pytest.approx(100 / 6)


def test_a_published_weight_stands_and_an_open_share_moves_within_its_dimension():
    app = opened("scores", **{"priorities.framework": "three_dimension"})
    app.session_state["scores_page.weights"] = True
    app.run()
    assert app.slider(key="weight.benchmark").disabled and not app.slider(key="weight.storage_price").disabled
    app.slider(key="weight.storage_price").set_value(15.0).run()
    priorities = app.session_state.desk.scenario.priorities
    weights = {row.criterion: row.weight for row in priorities.weights}
    assert priorities.framework == "three_dimension" and weights["benchmark"] == 40
    assert weights["on_demand_price"] + weights["network_price"] == pytest.approx(20)
    app.selectbox(key="priorities.framework").set_value("gpudash").run()
    assert app.session_state.desk.scenario.priorities.weights == ()


def test_every_input_is_asked_for_somewhere():
    """Folds draw their inputs only when open, so the places are read from the source."""
    from pathlib import Path

    root = Path(__file__).resolve().parents[1]
    source = "".join(path.read_text() for folder in ("ui", "pages") for path in (root / folder).glob("*.py"))
    assert {path for path in fields() if f'"{path}"' not in source} == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_brief_offers_every_file_and_the_link_by_mail(language):
    app = opened("brief", language, **{"about.name": "A&B 50% =x 杭州"})
    assert not app.exception
    files = [button for button in app.get("download_button") if "brief_page.file" in button.proto.id]
    assert len(files) == len(FILES)
    (mail,) = app.get("link_button")
    assert mail.proto.url.startswith("mailto:?subject=A%26B%2050%25%20%3Dx%20%E6%9D%AD%E5%B7%9E&body=")


def test_the_brief_of_something_impossible_offers_what_can_be_read_and_says_why_nothing_can_be_run():
    app = opened("brief", **{"workload.tpot_ms": "0.001"})
    assert not app.exception
    files = [button for button in app.get("download_button") if "brief_page.file" in button.proto.id]
    assert len(files) == len(DOCUMENTS) + 1  # the calendar of the reviews is never refused
    assert Text("en")("launch.nothing_to_run") in shown(app)


def test_the_catalogue_narrows_to_what_is_chosen_and_shows_prices_per_server():
    app = opened("catalogue")
    app.multiselect(key="catalogue_page.filter_providers").select("AWS").run()
    app.segmented_control(key="catalogue_page.per").set_value("server").run()
    assert not app.exception
    count = (load_catalogue().offers.provider == "AWS").sum()
    assert Text("en")("catalogue_page.offers_per_server", count=count, currency="USD") in shown(app)


LINK_TO_COMPARE = "http://elsewhere.example/?v=1&workload.model=llama-3.1-70b&about.name=Theirs"


def test_a_pasted_link_stands_beside_the_inputs_with_its_differences_and_becomes_part_of_the_link():
    app = opened("compare")
    app.text_input(key="compare.pasted").set_value(LINK_TO_COMPARE).run()
    assert not app.exception
    assert not app.error
    assert "B · Theirs: " in shown(app)
    assert Text("en")("compare.inputs_title", count=2) in shown(app)  # the model and the name
    desk = app.session_state.desk
    written = share.encode_compared(desk.scenario, desk.compared)
    assert share.decode_compared(written) == desk.compared == (share.pinned(share.scenario_of_url(LINK_TO_COMPARE)),)
    assert app.text_input(key="compare.pasted").value == ""


def test_the_same_inputs_are_compared_for_single_providers_and_taken_away_again():
    app = opened("compare", **{"requirements.countries": "CN", "workload.model": "qwen2.5-7b"})
    app.multiselect(key="compare.providers").select("AWS").select("Alibaba Cloud").run()
    assert not app.exception
    desk = app.session_state["desk"]
    providers = [scenario.requirements.providers_in for scenario in desk.compared]
    assert providers == [("AWS",), ("Alibaba Cloud",)]
    for scenario in desk.compared:
        assert scenario.requirements.countries == ("CN",)
        assert Text("en")("compare.only", provider=scenario.requirements.providers_in[0]) in shown(app)
    app.query_params.clear()
    app.multiselect(key="compare.providers").unselect("AWS").run()
    left = [scenario.requirements.providers_in for scenario in app.session_state["desk"].compared]
    assert left == [("Alibaba Cloud",)]


def test_a_single_provider_stands_in_one_chooser_and_the_other_keeps_it():
    app = opened("compare")
    app.multiselect(key="compare.providers").select("AWS").run()
    assert app.multiselect(key="compare.chosen").value == []
    point = share.url(Scenario.read(read_yaml(DATA / "scenarios" / "chat-70b-around-the-clock.yaml")))
    app.query_params.clear()
    app.multiselect(key="compare.chosen").select(point).run()
    assert app.multiselect(key="compare.chosen").value == [point]
    assert app.multiselect(key="compare.providers").value == ["AWS"]
    assert len(app.session_state["desk"].compared) == 2


def test_a_starting_point_is_compared_and_taken_away_again():
    app = opened("compare", "zh")
    point = share.url(Scenario.read(read_yaml(DATA / "scenarios" / "chat-70b-around-the-clock.yaml")))
    app.multiselect(key="compare.chosen").select(point).run()
    assert len(app.session_state.desk.compared) == 1
    assert Text("zh")("scenarios.chat-70b-around-the-clock") in shown(app)
    app.multiselect(key="compare.chosen").unselect(point).run()
    assert app.session_state.desk.compared == ()
    assert Text("zh")("compare.nothing_yet") in shown(app)


@pytest.mark.parametrize(
    "pasted",
    [
        "hello",
        "?v=99",
        "?v=1&workload.model=no-such-model",
        "?v=1&s=" + "A" * 8000,
        "?v=1&traffic.peak_requests_per_s=1e999",
        "javascript:alert(1)?<script>alert(1)</script>",
        "?v=1&catalogue=../../etc",
        "?v=1&" + "a=1&" * 5000,
    ],
)
def test_a_hostile_link_pasted_is_answered_with_a_sentence_and_changes_nothing(pasted):
    app = opened("compare")
    app.text_input(key="compare.pasted").set_value(pasted).run()
    assert not app.exception
    assert len(app.error) == 1
    assert app.session_state.desk.compared == ()
    assert app.session_state.desk.scenario == Scenario()


def test_a_link_to_a_comparison_opens_all_of_its_scenarios():
    others = (Scenario().with_value("workload.model", "llama-3.1-70b"), Scenario().with_value("budget.amount", 20))
    app = opened("compare", **share.encode_compared(Scenario(), others))
    assert not app.exception
    assert app.session_state.desk.compared == tuple(map(share.pinned, others))
    assert Text("en")("compare.over_budget", name="C · a link with llama-3.1-8b") in shown(app)


@pytest.mark.parametrize("compared", ["v=1|v=1|v=1|v=1", "v=99", "%%%"])
def test_a_comparison_that_cannot_be_read_says_so_and_shows_the_defaults(compared):
    app = opened("compare", **{"v": "1", "with": compared})
    assert not app.exception
    assert len(app.error) == 1
    assert app.session_state.desk.compared == ()


def test_a_compared_scenario_that_has_no_answer_says_why_and_the_others_stay():
    app = opened("compare", **{"v": "1", "with": "v=1&workload.model=nothing|v=1&traffic.peak_requests_per_s=9"})
    assert not app.exception
    assert len(app.error) == 1
    assert "C · " in shown(app)


def test_a_fourth_scenario_to_compare_with_is_refused_with_a_sentence():
    others = [Scenario().with_value("traffic.peak_requests_per_s", rate) for rate in (2, 3, 4)]
    app = opened("compare", **share.encode_compared(Scenario(), others))
    app.text_input(key="compare.pasted").set_value(LINK_TO_COMPARE).run()
    assert Text("en")("compare.too_many", limit=3) in shown(app)
    assert len(app.session_state.desk.compared) == 3


def test_where_nothing_can_do_the_work_the_reasons_are_those_of_the_offers_that_came_furthest():
    """DeepSeek V3 in China: that Finland is not in China helps nobody, that no server there holds the model does."""
    page = shown(opened("overview", **{"workload.model": "deepseek-v3", "requirements.countries": "CN"}))
    assert "Nothing in the catalogue can do this" in page
    assert "DeepSeek V3 in FP8 needs" in page
    assert "data must stay in China" not in page


@pytest.mark.parametrize("place", ["recommendation", "purchase_mix", "catalogue"])
def test_numbers_in_tables_are_rounded_as_in_sentences_and_not_cut(place):
    """A `step` would make the browser cut off what lies behind it: 21,162.9 read 21,162 beside a card with 21,163."""
    app = opened(place, **{"workload.model": "llama-3.1-70b"})
    tables = [frame.proto for frame in app.dataframe if frame.proto.editing_mode == frame.proto.READ_ONLY]
    kinds = [column.get("type_config", {}) for proto in tables for column in json.loads(proto.columns).values()]
    numbers = [kind for kind in kinds if kind.get("type") == "number"]
    assert numbers
    assert all(re.fullmatch(r"%,?\.[0124]f(%%)?", kind["format"]) and kind.get("step") is None for kind in numbers)


@pytest.mark.parametrize(
    ("kind", "shown", "hidden"), [("training", "training", "traffic"), ("batch", "traffic", "training")]
)
def test_inputs_that_do_nothing_for_this_work_are_not_offered(kind, shown, hidden):
    app, text = opened("workload", **{"workload.kind": kind}), Text("en")
    labels = [fold.label for fold in app.expander]
    assert text(f"workload.more_{shown}") in labels
    assert text(f"workload.more_{hidden}") not in labels
