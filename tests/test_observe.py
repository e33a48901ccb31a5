"""What an operator sees: a log line and counts for every calculation, routes for probes, and nothing of the users'."""

import json
import logging
import re

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

import app
import gpudash
from gpudash import Scenario, load_catalogue
from gpudash.errors import GpudashError
from gpudash.tables import DATA
from ui import observe

PRIVATE = {"about.name": "Merger Alpha", "about.author": "Grace Example", "about.notes": "do not tell anybody"}


@pytest.fixture
def lines():
    """The lines that were logged so far, read as JSON."""
    kept: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record):
            kept.append(observe.JsonLines().format(record))

    handler = Keep()
    observe.LOG.addHandler(handler)
    observe.LOG.setLevel(logging.INFO)
    yield lambda: [json.loads(line) for line in kept]
    observe.LOG.removeHandler(handler)


def count(name: str, **labels) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_a_calculation_is_one_line_with_its_time_its_stages_its_prices_and_the_version(lines):
    observe.evaluate_observed(Scenario(), load_catalogue())
    (line,) = lines()
    assert line["event"] == "evaluate"
    assert line["outcome"] == "answered"
    assert line["snapshot"] == load_catalogue().snapshot
    assert line["version"] == gpudash.__version__
    assert {"sizing", "cost", "path"} <= line["stages_ms"].keys()
    assert 0 < sum(line["stages_ms"].values()) <= line["ms"] + 1


def test_neither_a_calculation_nor_a_fault_tells_what_a_user_wrote(lines):
    scenario = Scenario().with_values(PRIVATE)
    observe.evaluate_observed(scenario, load_catalogue())
    try:
        raise KeyError(scenario.about.notes)
    except KeyError as error:
        observe.fault("tco.monthly_cost", error)
    logged = json.dumps(lines())
    assert len(lines()) == 2
    assert not [secret for secret in PRIVATE.values() if secret in logged]


def test_a_fault_is_logged_with_the_part_the_kind_of_error_and_the_places(lines):
    try:
        raise ZeroDivisionError
    except ZeroDivisionError as error:
        observe.fault("overview.headline", error)
    (line,) = lines()
    assert line["level"] == "error"
    assert (line["part"], line["error"]) == ("overview.headline", "ZeroDivisionError")
    assert "tests/test_observe.py" in line["places"][0]


@pytest.mark.parametrize(
    "outcome, values",
    [
        ("answered", {}),
        ("nothing_fits", {"budget.amount": 1}),
        (
            "refused",
            {"workload.model": "llama-3.1-70b", "finance.owned_servers": 1, "finance.owned_gpu": "no such card"},
        ),
    ],
)
def test_calculations_are_counted_by_their_outcome(outcome, values):
    before = count("gpudash_evaluations_total", outcome=outcome)
    try:
        observe.evaluate_observed(Scenario().with_values(values), load_catalogue())
    except GpudashError:
        assert outcome == "refused"
    assert count("gpudash_evaluations_total", outcome=outcome) == before + 1


def test_prometheus_can_read_the_counts():
    observe.evaluate_observed(Scenario(), load_catalogue())
    families = {family.name for family in text_string_to_metric_families(app.metrics(None).body.decode())}
    wanted = {"evaluations", "evaluation_seconds", "stage_seconds", "page_seconds", "faults", "sessions", "build_info"}
    assert {f"gpudash_{name}" for name in wanted} <= families


def test_the_dashboard_of_the_operator_asks_only_for_counts_that_exist():
    known = {family.name for family in text_string_to_metric_families(app.metrics(None).body.decode())}
    panels = json.loads((DATA.parent / "deploy" / "grafana.json").read_text(encoding="utf-8"))["panels"]
    asked = " ".join(target["expr"] for panel in panels for target in panel["targets"])
    named = {re.sub("_(bucket|count|sum|total)$", "", name) for name in re.findall(r"gpudash_\w+", asked)}
    assert named
    assert named <= known


def test_the_health_check_calculates_and_says_which_version_and_prices_it_has():
    answer = app.healthy(None)
    body = json.loads(answer.body)
    assert answer.status_code == 200
    assert body["status"] == "ok"
    assert body["version"] == gpudash.__version__
    assert body["snapshot"] == load_catalogue().snapshot


def test_the_health_check_fails_with_the_reason_where_prices_cannot_be_read(monkeypatch):
    def unreadable():
        raise GpudashError("catalogue.checksum", file="offers.csv", snapshot="2026-11-30")

    monkeypatch.setattr(observe, "load_catalogue", unreadable)
    answer = app.healthy(None)
    assert answer.status_code == 503
    assert "offers.csv has changed" in json.loads(answer.body)["because"]
