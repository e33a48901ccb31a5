"""Own GPUs against a hosted model: prices with their date, nothing fetched, and the use at which the answer flips."""

import builtins
import socket
import subprocess
import sys
from importlib.metadata import version

import pytest

from gpudash import api_prices as module
from gpudash.api_prices import ApiPrice, api_prices, hosted_models
from gpudash.catalogue import load_catalogue
from gpudash.errors import GpudashError
from gpudash.model import load_model, model_names
from gpudash.own_or_api import own_or_api, request_usd
from gpudash.scenario import Scenario
from gpudash.tables import DATA, read_rows, read_yaml
from gpudash.text import LANGUAGES, Text


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue()


@pytest.fixture(scope="module")
def compared(catalogue):
    scenario = {"workload": {"model": "llama-3.3-70b"}, "traffic": {"peak_requests_per_s": 20}}
    return own_or_api(Scenario.read(scenario), catalogue)


def test_every_language_model_says_who_hosts_it_or_that_nobody_does():
    languages = {name for name in model_names() if load_model(name).family == "language"}
    assert languages <= set(hosted_models())
    rows = read_rows(DATA / "hosted_models.csv")
    assert len({(row["model"], row["provider"]) for row in rows}) == len(rows)
    assert all(row["source"] and row["as_of"] for row in rows)
    assert all(load_model(name) for name in hosted_models())


def test_every_hosted_model_has_a_price_of_the_pinned_package():
    assert version("genai-prices") == read_yaml(DATA / "api_prices.yaml")["version"]
    for model in hosted_models():
        for price in api_prices(model, "2026-11-30"):
            assert 0 < price.input_usd_per_million_tokens <= price.output_usd_per_million_tokens * 1.01 < 100
            assert 0 < price.cached_input_usd_per_million_tokens <= price.input_usd_per_million_tokens
            assert price.as_of


def test_prices_are_read_without_a_network(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket, "socket", refuse)
    module._price.cache_clear()
    assert api_prices("llama-3.1-8b", "2026-11-30")


def test_where_the_price_falls_at_night_the_days_price_counts():
    day = next(price for price in api_prices("deepseek-v4-flash", "2026-11-30") if price.provider == "deepseek")
    assert day.input_usd_per_million_tokens == 0.3


def test_a_model_nobody_hosts_has_no_price():
    assert api_prices("falcon-40b", "2026-11-30") == ()
    assert api_prices("custom", "2026-11-30") == ()


def test_without_the_package_the_reader_is_told_how_to_get_it(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest, **more):
        if name.startswith("genai_prices"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    module._packaged.cache_clear()
    module._price.cache_clear()
    with pytest.raises(GpudashError, match="pip install genai-prices") as refusal:
        api_prices("llama-3.1-8b", "2026-11-30")
    module._packaged.cache_clear()
    for language in LANGUAGES:
        assert "genai-prices" in Text(language)(refusal.value.code, **refusal.value.values)


def test_evaluate_does_not_read_the_package():
    check = "import sys, gpudash; gpudash.evaluate(gpudash.Scenario(), gpudash.load_catalogue()); "
    check += "assert not any(name.startswith('genai_prices') for name in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True, cwd=DATA.parent)


def test_a_request_pays_for_each_kind_of_token():
    price = ApiPrice("p", "m", 2.0, 0.5, 8.0, "", "2026")
    assert request_usd(price, 700_000, 300_000, 100_000) == pytest.approx(1.4 + 0.15 + 0.8)


def test_the_bill_of_the_hosted_model_is_requests_times_the_price_of_one(compared):
    for offer in compared.offers:
        assert offer.usd_per_month == pytest.approx(compared.requests_per_month * offer.usd_per_request)
        assert offer.saving_of_own_usd_per_month == pytest.approx(offer.usd_per_month - compared.own_usd_per_month)
    assert [offer.usd_per_month for offer in compared.offers] == sorted(
        offer.usd_per_month for offer in compared.offers
    )


def test_without_extras_own_gpus_cost_what_the_recommendation_costs(compared):
    assert compared.own_usd_per_month == pytest.approx(compared.choice.monthly_usd)


def test_at_the_break_even_utilisation_a_request_costs_the_same_either_way(compared):
    """Own cost per request falls as 1 / utilisation, so at the break-even it equals the hosted price."""
    found = [offer for offer in compared.offers if offer.break_even_utilisation is not None]
    assert found
    for offer in found:
        own_at = compared.own_usd_per_request * compared.utilisation_fraction / offer.break_even_utilisation
        assert own_at == pytest.approx(offer.usd_per_request)


def test_above_the_break_even_volume_own_gpus_are_cheaper_and_just_below_they_are_not(compared, catalogue):
    offer = next(o for o in compared.offers if o.break_even_requests_per_month is not None)
    peak_per_request = 20 / compared.requests_per_month

    def own_saves(requests: float) -> float:
        peak = requests * peak_per_request
        scenario = Scenario.read(
            {
                "workload": {"model": "llama-3.3-70b"},
                "traffic": {"peak_requests_per_s": peak},
                "requirements": {"providers_in": [compared.choice.provider], "gpus_in": [compared.choice.gpu]},
            }
        )
        again = own_or_api(scenario, catalogue)
        assert again.choice.id == compared.choice.id
        return next(o for o in again.offers if o.price == offer.price).saving_of_own_usd_per_month

    assert own_saves(offer.break_even_requests_per_month * 1.0001) >= 0
    assert own_saves(offer.break_even_requests_per_month * 0.9999) <= 0


def test_one_percent_above_the_break_even_volume_no_further_server_makes_own_gpus_dearer_again(catalogue):
    """Against groq the first crossing, at 43.5 requests/s, is followed by dearer volumes at 43.9."""
    groups = {
        "workload": {"model": "llama-3.1-70b"},
        "traffic": {"peak_requests_per_s": 5, "shape": "evening_consumer", "prefix_cache_hit_fraction": 0.3},
        "finance": {"staff_fte": 0.5},
    }
    found = own_or_api(Scenario.read(groups), catalogue)
    for offer in found.offers:
        if not offer.break_even_requests_per_month:
            continue
        peak = 5 * 1.01 * offer.break_even_requests_per_month / found.requests_per_month
        only = {"providers_in": [found.choice.provider], "gpus_in": [found.choice.gpu]}
        traffic = groups["traffic"] | {"peak_requests_per_s": peak}
        again = own_or_api(Scenario.read(groups | {"traffic": traffic, "requirements": only}), catalogue)
        assert again.choice.id == found.choice.id
        same = next(o for o in again.offers if o.price == offer.price)
        assert same.saving_of_own_usd_per_month >= 0, offer.price.provider


def test_a_cheaper_cache_makes_the_hosted_model_cheaper(catalogue):
    def cheapest(hit):
        groups = {"workload": {"model": "deepseek-v4-pro"}, "traffic": {"prefix_cache_hit_fraction": hit}}
        found = own_or_api(Scenario.read(groups), catalogue)
        return next(o.usd_per_request for o in found.offers if o.price.provider == "deepseek")

    assert cheapest(0.8) < cheapest(0.0)


def test_what_is_not_counted_in_tokens_is_not_compared(catalogue):
    assert own_or_api(Scenario.read({"workload": {"kind": "training"}}), catalogue) is None
    assert own_or_api(Scenario.read({"workload": {"model": "resnet-50"}}), catalogue) is None


def test_a_model_nobody_hosts_is_compared_with_nothing(catalogue):
    alone = own_or_api(Scenario.read({"workload": {"model": "falcon-40b", "context_tokens": 500}}), catalogue)
    assert alone.offers == ()
    assert alone.own_usd_per_month > 0
