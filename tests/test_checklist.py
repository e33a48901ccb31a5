"""The published checklist as switches: what each item costs, and the matrix of providers beside the article's own."""

from functools import cache

import pytest

from gpudash import Scenario, evaluate, load_catalogue
from gpudash.checklist import Checked, check, items
from gpudash.provider_matrix import article_matrix, capabilities
from gpudash.scenario import fields
from gpudash.text import LANGUAGES, Text

CATALOGUE = load_catalogue()
SCENARIOS = {
    "serving": {},
    "serving that insists on the SLA": {"requirements": {"minimum_sla_fraction": 0.9995}},
    "training": {"workload": {"kind": "training", "model": "llama-3.1-8b"}},
}


@cache
def checked(name: str) -> dict[str, Checked]:
    return {line.item.key: line for line in check(Scenario.read(SCENARIOS[name]), CATALOGUE)}


def answer(scenario: Scenario) -> str | None:
    choice = evaluate(scenario, CATALOGUE).recommendation
    return choice and choice.id


def test_the_checklist_has_the_nine_published_items_and_each_is_an_input():
    assert len(items()) == 9
    assert all(item.path in fields() for item in items())
    limits = {item.key: item.value for item in items()}
    assert (limits["fp16"], limits["bandwidth"], limits["sla"], limits["pretrained_models"]) == (10, 800, 0.9995, 1000)


@pytest.mark.parametrize("name", SCENARIOS)
def test_switching_an_item_gives_the_answer_that_evaluate_gives(name):
    scenario = Scenario.read(SCENARIOS[name])
    for line in checked(name).values():
        assert line.answer_with == answer(line.item.switched(scenario, True)), line.item.key
        assert line.answer_without == answer(line.item.switched(scenario, False)), line.item.key
        assert line.candidates_with <= line.candidates_without


def test_the_bandwidth_item_rules_out_the_cards_that_the_articles_recommend():
    assert {"A10", "T4"} <= set(checked("serving")["bandwidth"].lost_gpus)
    assert not checked("serving")["bandwidth"].applies
    assert "A10" in Text("en").say(checked("serving")["bandwidth"].why)


def test_an_item_says_whether_it_applies_to_the_kind_of_work():
    assert checked("training")["nvlink"].applies
    assert not checked("serving")["nvlink"].applies
    assert checked("serving")["sla"].applies
    assert not checked("training")["sla"].applies


def test_an_item_that_is_asked_for_is_shown_as_on_and_a_stricter_one_too():
    assert checked("serving that insists on the SLA")["sla"].is_on
    assert not checked("serving")["sla"].is_on
    stricter = Scenario.read({"requirements": {"minimum_bandwidth_gb_per_s": 2000}})
    bandwidth = next(item for item in items() if item.key == "bandwidth")
    assert bandwidth.is_on(stricter)
    assert bandwidth.switched(stricter, True) == stricter


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_item_has_a_name_and_a_reason_why_it_may_not_apply(language):
    text = Text(language)
    for item in items():
        assert text(item.name)
        assert text(f"checklist.{item.key}_not")


def test_every_provider_that_publishes_something_is_in_the_matrix_with_its_source():
    rows = capabilities(CATALOGUE)
    assert {row.provider for row in rows} == set(CATALOGUE.providers)
    assert all(row.source and row.as_of for row in rows)
    assert sum(row.offers for row in rows) <= len(CATALOGUE.offers)
    aws = next(row for row in rows if row.provider == "AWS")
    assert "T4" in aws.gpus
    assert aws.sla_percent == 99.5


def test_the_articles_matrix_contradicts_the_data_sheets_and_itself():
    columns = article_matrix(CATALOGUE.hardware)
    said = {column.provider: [message.code for message in column.contradictions] for column in columns}
    assert (
        said["AWS"].count("provider_matrix.same_card") == said["Tencent Cloud"].count("provider_matrix.same_card") == 1
    )
    assert said["Huawei Cloud"] == ["provider_matrix.unknown_part"]
    assert {"provider_matrix.fp16_tflops", "provider_matrix.bandwidth_gb_per_s"} <= set(said["AWS"])
    assert "provider_matrix.bandwidth_gb_per_s" in said["Alibaba Cloud"]
    for column in columns:
        assert all(Text(language).say(message) for language in LANGUAGES for message in column.contradictions)


def test_the_articles_bandwidth_column_is_a_multiple_of_its_speed_column():
    """Audit S2-47: 72.7, 80, 80 and 83.5 times the TFLOPS are a pattern and no measurement."""
    ratios = [column.bandwidth_gb_per_s / column.fp16_tflops for column in article_matrix(CATALOGUE.hardware)]
    assert ratios == pytest.approx([72.7, 80, 80, 83.5], abs=0.05)
