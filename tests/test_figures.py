"""Charts and tables say what the Result holds, in both languages, for every named starting point and for dead ends."""

import inspect
import json
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from gpudash import Scenario, evaluate, figures, load_catalogue
from gpudash.catalogue_diff import diff
from gpudash.derivation import derivation as parts_of
from gpudash.engines import engine_names
from gpudash.figures import (
    catalogue,
    compare,
    derivation,
    overview,
    own_or_api,
    owned,
    owned_count,
    purchase_mix,
    recommendation,
    scores,
    storage,
    tco,
    workload,
)
from gpudash.figures._theme import WAY_COLOURS, broken
from gpudash.figures.money import money_of, text_for
from gpudash.figures.table import Table, table_of
from gpudash.purchase_mix import COMMITMENTS, KINDS
from gpudash.result import Country, Message, Software
from gpudash.tables import DATA, read_yaml
from gpudash.text import LANGUAGES, Text
from gpudash.units import HOURS_PER_MONTH, HOURS_PER_YEAR

SHARED = {"choices", "money", "table"}  # what figures are made with
NAMES = {file.stem for file in Path(figures.__file__).parent.glob("[!_]*.py")} - SHARED
MODULES = [import_module(f"gpudash.figures.{name}") for name in sorted(NAMES)]
VIEWS = [
    function
    for module in MODULES
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if not name.startswith("_")
    and function.__module__ == module.__name__
    and list(inspect.signature(function).parameters) == ["result", "text"]
]
STARTING_POINTS = {path.stem: read_yaml(path) for path in sorted((DATA / "scenarios").glob("*.yaml"))}
DEAD_ENDS = {
    "a budget that nothing meets": {"budget": {"amount": 5}},
    "a speed that nobody reaches": {"workload": {"model": "llama-3.1-405b", "tpot_ms": 0.1}},
    "a single month": {"purchase": {"horizon_months": 1}},
    "no commitments": {"purchase": {"terms": []}},
    "yuan, and data in the EU": {"finance": {"currency": "CNY"}, "requirements": {"countries": ["EU"]}},
}
CASES = {"the defaults": {}} | STARTING_POINTS | DEAD_ENDS


def result_of(values: dict):
    return evaluate(Scenario.read(values), load_catalogue())


@pytest.fixture(scope="module")
def chat():
    """A 70B chat service with data: grows, so that reservations and on-demand both occur."""
    return result_of(
        {
            "workload": {"model": "llama-3.1-70b"},
            "traffic": {"peak_requests_per_s": 20, "growth_fraction_per_month": 0.02},
            "requirements": {"countries": ["EU"]},
            "storage": {
                "datasets": [{"name": "<b>logs</b>", "size_gb": 20_000}, {"name": "模型 & more", "size_gb": 500}]
            },
        }
    )


@pytest.mark.parametrize("case", CASES)
def test_everything_can_be_shown_of_any_result(case):
    result = result_of(CASES[case])
    for language in LANGUAGES:
        for view in VIEWS:
            shown = view(result, Text(language))
            if isinstance(shown, go.Figure):
                _check_chart(shown)
            elif isinstance(shown, Table):
                assert shown.title
                assert len({len(column.values) for column in shown.columns}) == 1
            else:
                assert not any(
                    "None" in str(line) or "nan" in str(line) for line in shown or () if isinstance(line, str)
                )


def _check_chart(chart: go.Figure) -> None:
    assert chart.layout.title.text
    assert chart.layout.meta["source"]
    drawn = json.dumps(json.loads(chart.to_json()))
    assert "NaN" not in drawn
    assert "Infinity" not in drawn
    assert "None" not in drawn
    numbers = table_of(chart)
    assert len({len(column.values) for column in numbers.columns}) == 1


def test_the_months_of_the_bill_add_up_to_the_total(chat):
    chart = tco.monthly_cost(chat, Text("en"))
    assert sum(np.sum(bar.y) for bar in chart.data) == pytest.approx(chat.recommendation.tco_usd)


def test_the_largest_kind_is_a_share_of_the_bill_before_credits():
    mostly_paid = result_of({"finance": {"credit_usd": 1e9, "credit_share_fraction": 0.9}})
    assert "100%" in tco.monthly_cost(mostly_paid, Text("en")).layout.title.text


def test_the_cumulative_line_of_the_winner_ends_at_its_total(chat):
    winner = overview.cumulative_cost(chat, Text("en")).data[0]
    assert winner.y[-1] == pytest.approx(chat.recommendation.tco_usd)


def test_the_waterfall_leads_from_always_on_at_list_price_to_the_total(chat):
    steps = tco.savings(chat, Text("en")).data[0]
    assert sum(steps.y[:-1]) == pytest.approx(steps.y[-1], rel=0.03)  # steps too small to see are left out
    assert steps.y[-1] == pytest.approx(chat.recommendation.tco_usd)


def test_own_servers_are_drawn_beside_the_cloud_alone():
    own = {"owned_servers": 2, "owned_gpu": "H100 SXM"}
    shown = result_of({"finance": own, "traffic": {"peak_requests_per_s": 200}})
    with_own, alone = owned.cumulative(shown, Text("en")).data
    assert with_own.y[0] == pytest.approx(shown.owned.capex_usd)
    assert with_own.y[-1] == pytest.approx(shown.owned.total_usd)
    assert alone.y[-1] == pytest.approx(shown.owned.cloud_only_usd)
    assert Text("en").money(shown.owned.capex_usd) in owned.hybrid(shown, Text("en"))[0]


def test_nothing_is_said_of_own_servers_where_there_are_none(chat):
    assert owned.cumulative(chat, Text("en")) is None
    assert owned.hybrid(chat, Text("en")) == []


def test_every_number_of_own_servers_stands_beside_the_cloud_alone_and_the_cheapest_is_named():
    own = {"owned_gpu": "H100 SXM", "owned_server_usd": 90_000, "owned_staff_fte": 0}
    work = {"workload": {"model": "llama-3.1-70b"}, "traffic": {"peak_requests_per_s": 20, "shape": "flat"}}
    scenario = {"finance": own, **work}
    rows = list(zip(*(column.values for column in owned_count.counts(result_of(scenario), Text("en")).columns)))
    servers, *_, total, saving = min(rows, key=lambda row: row[-2])
    assert saving == max(row[-1] for row in rows) > 0
    said = owned_count.best_count(result_of(scenario), Text("en"))[0]
    assert said.startswith(f"{servers} own servers") and Text("en").money(total) in said
    entered = result_of({"finance": {**own, "owned_servers": servers}, **work})
    assert entered.owned.total_usd == pytest.approx(total)


def test_that_no_number_of_own_servers_saves_anything_is_said():
    dear = result_of({"finance": {"owned_gpu": "H100 SXM", "owned_server_usd": 5_000_000}})
    assert "No number of own servers" in owned_count.best_count(dear, Text("en"))[0]
    assert all(saving < 0 for saving in owned_count.counts(dear, Text("en")).columns[-1].values)


def test_hosted_models_stand_beside_the_servers_cheapest_first(chat):
    hosted = own_or_api.hosted(chat, Text("en"))
    monthly = next(column.values for column in hosted.columns if column.label == "A month")
    assert list(monthly) == sorted(monthly)
    assert Text("en").money(monthly[0]) in own_or_api.comparison(chat, Text("en"))[1]


def test_a_model_that_nobody_hosts_and_work_without_tokens_are_said():
    assert own_or_api.comparison(result_of(STARTING_POINTS["pretrain-13b"]), Text("en")) == [
        Text("en")("own_or_api.only_tokens")
    ]
    assert own_or_api.hosted(result_of(STARTING_POINTS["pretrain-13b"]), Text("en")) is None


def test_a_published_split_on_spot_that_is_not_allowed_is_called_so():
    case = {"workload": {"model": "llama-3.1-70b"}, "requirements": {"providers_in": ["AWS"]}}
    shown = result_of(case | {"traffic": {"peak_requests_per_s": 20}})
    split, lines = shown.purchase_detail.published_split, purchase_mix.published_split(shown, Text("en"))
    assert Text("en").money(split.total_usd) in lines[0]
    assert Text("en").money(split.mix_usd) in lines[1]
    assert any("may not" in line for line in lines) == (not split.is_allowed)


def test_the_area_of_the_load_duration_curve_is_the_server_hours_of_the_first_year(chat):
    chart = purchase_mix.screening_curve(chat, Text("en"))
    used = [bar for bar in chart.data if bar.name != "Paid for, not used"]
    area = sum(np.sum(np.array(bar.x) * np.array(bar.width)) for bar in used)
    served = sum(np.sum(chat.purchase_mix.served_hours[kind][:12]) for kind in KINDS)
    assert area == pytest.approx(served)
    assert max(max(bar.x) for bar in chart.data) <= HOURS_PER_YEAR + 1e-6


def test_the_split_shows_every_way_of_buying_in_its_own_colour(chat):
    chart = overview.purchase_split(chat, Text("en"))
    assert sum(bar.x[0] for bar in chart.data) == pytest.approx(100)
    split = {way: share for way, share in chat.recommendation.purchase_split.items() if share}
    assert [bar.marker.color for bar in chart.data] == [WAY_COLOURS[way] for way in KINDS if way in split]


def test_an_old_price_is_marked_and_a_fresh_one_is_not(chat):
    aged = {days: replace(chat, recommendation=replace(chat.recommendation, price_age_days=days)) for days in (3, 300)}
    assert overview.old_price(aged[3], Text("en")) == ""
    assert "300" in overview.old_price(aged[300], Text("en"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_headline_number_opens_to_a_formula_that_ends_in_it(chat, language):
    text = Text(language)
    opened, shown = derivation.headline(chat, text), overview.headline(chat, text)
    assert len(opened) == len(shown)
    for lines, metric in zip(opened[:3], shown):
        assert any(metric.value in line for line in lines)
    assert any(text.number(chat.recommendation.gpus) in line for line in opened[3])
    assert all(any(price.source in line for line in opened[0]) for price in parts_of(chat).prices)


def test_the_sieve_begins_with_all_offers_and_never_grows(chat):
    counts = [int(count) for count in re.findall(r"[0-9]+", overview.sieve(chat, Text("en"))[0])]
    assert counts[0] == len(load_catalogue().offers)
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 1


def test_the_memory_of_a_card_is_the_sum_of_its_parts(chat):
    chart = workload.memory_per_gpu(chat, Text("en"))
    assert sum(bar.x[0] for bar in chart.data) == pytest.approx(float(chat.sizing.memory.per_gpu_gb))


def test_points_add_up_to_the_score(chat):
    chart = scores.points(chat, Text("en"))
    first = sum(bar.x[0] for bar in chart.data)
    assert first == pytest.approx(100 * chat.recommendation.score)


def test_amounts_are_converted_at_the_dated_rate_of_the_snapshot():
    yuan, dollars = result_of({"finance": {"currency": "CNY"}}), result_of({})
    rate = load_catalogue().exchange_rates["CNY"].units_per_usd
    in_yuan, in_dollars = (tco.monthly_cost(result, Text("en")).data[0].y[0] for result in (yuan, dollars))
    assert in_yuan == pytest.approx(in_dollars * rate)
    assert "CNY" in tco.monthly_cost(yuan, Text("en")).layout.yaxis.title.text


def test_a_rate_of_ones_own_replaces_that_of_the_snapshot():
    result = result_of({"finance": {"currency": "CNY", "units_per_usd": 10}})
    assert money_of(result, Text("en")).amount(7) == 70


def test_names_of_data_sets_are_text_in_a_chart_and_not_html(chat):
    names = [bar.name for bar in storage.before_and_after(chat, Text("en")).data]
    assert "&lt;b&gt;logs&lt;/b&gt;" in names
    assert "模型 &amp; more" in names


def test_the_table_of_a_chart_holds_its_numbers(chat):
    chart = overview.cumulative_cost(chat, Text("en"))
    numbers = table_of(chart)
    assert list(numbers.columns[0].values) == list(chart.data[0].x)
    assert list(numbers.columns[1].values) == pytest.approx(list(chart.data[0].y))


def test_the_published_trees_are_said_to_agree_or_to_differ(chat):
    said = recommendation.agreement(chat, Text("en"))
    assert len(said) == 2
    assert all("agrees" in line or "differs" in line for line in said)


CHOICES = {
    "everything": catalogue.Chosen(),
    "one provider per server": catalogue.Chosen(providers=("AWS",), per="server"),
    "one GPU in the EU": catalogue.Chosen(gpus=("H100 SXM",), countries=("EU",)),
    "a single offer": catalogue.Chosen(gpus=("A30",)),
    "nothing": catalogue.Chosen(providers=("AWS",), kinds=("marketplace",)),
}


@pytest.mark.parametrize("case", CHOICES)
def test_the_catalogue_shows_exactly_the_offers_chosen(chat, case):
    chosen, offers = CHOICES[case], load_catalogue().offers
    for language in LANGUAGES:
        chart = catalogue.prices(chosen, chat, Text(language))
        shown = catalogue.offers(chosen, chat, Text(language))
        if chart is None:
            assert len(shown) == 0
            continue
        _check_chart(chart)
    if case == "one provider per server":
        assert len(shown) == (offers.provider == "AWS").sum()
    if case == "one GPU in the EU":
        in_eu = np.isin(offers.country.astype(str), sorted(load_catalogue().country_groups["EU"]))
        assert len(shown) == (in_eu & (offers.gpu_row == load_catalogue().hardware.index("H100 SXM"))).sum()


def test_a_server_costs_as_much_as_its_cards_together(chat):
    chosen = {per: catalogue.Chosen(providers=("Lambda",), gpus=("H100 SXM",), per=per) for per in catalogue.UNITS}
    per_gpu, per_server = (catalogue.offers(choice, chat, Text("en")) for choice in chosen.values())

    def by_instance(shown):
        instance, gpus, price = (shown.columns[place].values for place in (3, 1, 7))
        return {name: (count, usd) for name, count, usd in zip(instance, gpus, price)}

    for name, (count, usd) in by_instance(per_server).items():
        assert usd == pytest.approx(count * by_instance(per_gpu)[name][1])


def test_the_chart_says_how_many_offers_of_its_gpu_are_cheaper_than_the_answer(chat):
    offers, choice = load_catalogue().offers, chat.recommendation
    of_gpu = offers.gpu_row == load_catalogue().hardware.index(choice.gpu)
    own = offers.on_demand_usd_per_gpu_hour[offers.id == choice.id][0]
    title = catalogue.prices(catalogue.Chosen(), chat, Text("en")).layout.title.text
    cheaper = (offers.on_demand_usd_per_gpu_hour[of_gpu] < own).sum()
    assert f"{cheaper} of " in title


def test_what_changed_between_two_snapshots_is_counted_by_provider_and_gpu():
    today = load_catalogue()
    before = today.with_offers(today.offers.take(np.flatnonzero(today.offers.provider != "Lambda")))
    shown = catalogue.changes_table(diff(before, today), "Changes", Text("en"))
    assert set(shown.columns[0].values) == {"Lambda"}
    assert sum(shown.columns[3].values) > 0  # new
    assert sum(shown.columns[4].values) == 0  # gone


@pytest.mark.parametrize("language", LANGUAGES)
def test_scenarios_stand_side_by_side_whatever_they_answer(language):
    results = tuple(result_of(values) for values in ({}, *DEAD_ENDS.values()))[:4]
    compared = compare.Compared(results, tuple("ABCD"))
    text = Text(language)
    assert len(compare.in_words(compared, text)) >= len(results)
    _check_chart(compare.mean_month(compared, text))
    for chart in compare.months(compared, text):
        _check_chart(chart)
    assert len(compare.answers(compared, text).columns) == len(compare.inputs(compared, text).columns) == 5


def test_months_side_by_side_have_the_same_axes(chat):
    compared = compare.Compared((chat, result_of({"purchase": {"horizon_months": 12}})), ("A", "B"))
    charts = compare.months(compared, Text("en"))
    assert len({(chart.layout.yaxis.range, chart.layout.xaxis.range) for chart in charts}) == 1


def test_the_bars_side_by_side_are_the_costs_of_a_month(chat):
    bars = table_of(compare.mean_month(compare.Compared((chat, result_of({})), ("A", "B")), Text("en")))
    totals = [sum(column.values[row] or 0 for column in bars.columns[1:]) for row in range(2)]
    own = {"A": chat, "B": result_of({})}
    for name, total in zip(bars.columns[0].values, totals):
        assert total == pytest.approx(own[name].recommendation.monthly_usd)


def test_equal_scenarios_differ_in_no_input(chat):
    assert compare.inputs(compare.Compared((chat, chat), ("A", "B")), Text("en")) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_money_in_a_message_is_in_the_currency_of_the_page(language):
    catalogue = load_catalogue()
    scenario = Scenario().with_values({"finance.currency": "CNY", "finance.units_per_usd": 7.0, "budget.amount": 3000})
    result = evaluate(scenario, catalogue)
    spare_usd = 3000 - result.recommendation.monthly_usd
    said = " ".join(overview.answer(result, text_for(scenario, catalogue, language)))
    assert Text(language).money(spare_usd * 7, "CNY") in said
    assert Text(language).money(spare_usd) not in said


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_line_of_a_label_begins_with_a_closing_mark(language):
    english, chinese = "No offer holds the model, so nothing is left.", "没有报价装得下模型。剩下的，都太慢！"
    sentence = english if language == "en" else chinese
    for width in range(3, 20):
        lines = broken(sentence, width)
        assert not [line for line in lines if line[0] in "，。！,."]
        assert "".join(lines).replace(" ", "") == sentence.replace(" ", "")


def test_a_commitment_that_is_used_in_every_hour_wastes_nothing():
    """The difference of two sums of hours is not quite zero; no page may speak of 0.0000 dollars."""
    scenario = Scenario.read({"workload": {"model": "llama-3.1-70b"}, "traffic": {"peak_requests_per_s": 50}})
    result = evaluate(scenario, load_catalogue())
    assert result.recommendation.purchase_split["reserved_1y"] > 0
    assert result.recommendation.unused_commitment_usd == 0
    text = Text("en")
    assert overview.purchase_split(result, text).layout.meta["source"] == text("figures.split_all_used")


def test_a_country_reads_as_in_a_sentence_and_software_as_its_makers_write_it():
    text = Text("en")
    said = Message.of("candidates.residency", country=Country("US"), allowed=(Country("EU"), Country("FI")))
    assert text.say(said) == "It stands in the United States; data must stay in the EU, Finland."
    assert text.say(Message.of("warnings.speed_not_measured", engine=Software("vllm"), gpu="L4")).count("vLLM") == 1
    assert {engine for engine in engine_names() if text.software(engine) == engine} == {"llama.cpp"}


def test_the_hatched_part_of_the_curve_is_what_is_held_in_the_first_year_and_serves_nothing():
    plans = [{"provider": "Tencent Cloud", "reserved_3y_discount_fraction": 0.6}]
    purchase = {"savings_plans": plans, "commitment_cap_servers": 9, "horizon_months": 30}
    places = {"mainland_china": True, "providers_in": ["Tencent Cloud"]}
    result = result_of({"traffic": {"peak_requests_per_s": 120}, "purchase": purchase, "requirements": places})
    plan = result.purchase_mix
    held = HOURS_PER_MONTH * sum(plan.held_servers[kind][:12].sum() for kind in COMMITMENTS)
    served = sum(plan.served_hours[kind][:12].sum() for kind in COMMITMENTS)
    *_, hatched = purchase_mix.screening_curve(result, Text("en")).data
    assert sum(hours * servers for hours, servers in zip(hatched.x, hatched.width)) == pytest.approx(held - served)
    assert held > served
