"""What only the user knows: offers that cannot be had, quotas, discounts for one GPU, servers bought already."""

import numpy as np
import pytest

from gpudash import Scenario, evaluate, load_catalogue
from gpudash.derivation import derivation
from gpudash.figures.derivation import headline
from gpudash.layers import layers
from gpudash.purchase_mix import best_mix
from gpudash.share import scenario_of_url, url
from gpudash.text import Text

CATALOGUE = load_catalogue()
CHAT = {"workload": {"model": "llama-3.1-70b"}, "traffic": {"peak_requests_per_s": 20}}


def answered(**groups):
    scenario = {name: dict(CHAT.get(name, {})) | groups.get(name, {}) for name in CHAT.keys() | groups.keys()}
    return evaluate(Scenario.read(scenario), CATALOGUE)


def fallen(result):
    """The reason of every offer that fell."""
    reasons = [Text("en").say(reason) for reason in result.rejected.reasons]
    names = CATALOGUE.offers.id[result.rejected.offer_rows]
    return {name: reasons[row] for name, row in zip(names, result.rejected.reason_of)}


def test_an_offer_struck_out_is_refused_with_this_as_the_reason_and_the_next_one_is_recommended():
    free = answered()
    winner = free.recommendation
    struck = answered(requirements={"offers_out": [f"{winner.provider} / {winner.instance}"]})
    assert struck.recommendation.id == free.runner_up.id
    assert fallen(struck)[winner.id].startswith("Struck out by you")
    assert not struck.warnings[:1] or "struck out" not in Text("en").say(struck.warnings[0])


def test_one_region_of_an_instance_can_be_struck_out_alone():
    offers = CATALOGUE.offers
    name = "AWS / p5.48xlarge / us-east-1"
    out = fallen(answered(requirements={"offers_out": [name]}))
    struck = {other for other, reason in out.items() if reason.startswith("Struck out")}
    assert struck == {name} and (offers.instance == "p5.48xlarge").sum() > 1


def test_a_name_that_means_no_offer_is_answered_with_the_nearest():
    result = answered(requirements={"offers_out": ["AWS / p5.48xlarg"]})
    said = [Text("en").say(warning) for warning in result.warnings]
    assert any("AWS / p5.48xlarg," in sentence and "AWS / p5.48xlarge / " in sentence for sentence in said)


def test_a_quota_refuses_what_needs_more_gpus_in_its_busiest_hour():
    free = answered()
    winner = free.recommendation
    quota = {"provider": winner.provider, "gpus": winner.gpus, "gpu": winner.gpu}
    assert answered(requirements={"quotas": [quota]}).recommendation.id == winner.id
    tight = answered(requirements={"quotas": [quota | {"gpus": winner.gpus - 1}]})
    assert tight.recommendation.id != winner.id
    reason = fallen(tight)[winner.id]
    assert f"needs {winner.gpus} GPUs" in reason and f"is {winner.gpus - 1}" in reason and winner.provider in reason


def test_a_quota_for_one_region_or_gpu_leaves_the_others_alone():
    offers = CATALOGUE.offers
    result = answered(requirements={"quotas": [{"provider": "AWS", "gpus": 0, "region": "us-east-1"}]})
    out = [name for name, reason in fallen(result).items() if "your quota" in reason]
    assert out and all(name.startswith("AWS / ") and name.endswith(" / us-east-1") for name in out)
    result = answered(requirements={"quotas": [{"provider": "AWS", "gpus": 0, "gpu": "h100 sxm"}]})
    rows = [row for row, name in enumerate(offers.id) if "your quota" in fallen(result).get(name, "")]
    assert rows and {CATALOGUE.hardware.names[row] for row in offers.gpu_row[rows]} == {"H100 SXM"}


def test_the_last_month_of_a_growing_service_counts_for_the_quota():
    winner = answered(traffic={"growth_fraction_per_month": 0.03}).recommendation
    assert winner.last_servers > winner.servers
    most = winner.last_servers * winner.gpus_per_server
    quota = {"provider": winner.provider, "gpus": most - 1, "gpu": winner.gpu}
    result = answered(traffic={"growth_fraction_per_month": 0.03}, requirements={"quotas": [quota]})
    assert f"needs {most} GPUs" in fallen(result)[winner.id]


def test_a_discount_for_one_gpu_stands_instead_of_the_one_for_all_and_is_taken_off_once():
    asked = {"requirements": {"providers_in": ["AWS"], "gpus_in": ["H100 SXM"]}, "purchase": {"terms": []}}
    plain = answered(**asked).recommendation
    both = [{"provider": "AWS", "discount_fraction": 0.1}, {"provider": "AWS", "discount_fraction": 0.3, "gpu": "H100"}]
    for discounts, left in ((both, 0.7), (both[:1], 0.9), ([both[1] | {"gpu": "A100-80GB SXM"}], 1.0)):
        asked["purchase"] = {"terms": [], "negotiated_discounts": discounts}
        assert answered(**asked).recommendation.tco_usd == pytest.approx(left * plain.tco_usd)


def test_own_terms_travel_in_a_link():
    scenario = Scenario.read(
        {
            "requirements": {
                "offers_out": ["AWS / p5.48xlarge", "Verda / 8xB200 / FIN"],
                "quotas": [{"provider": "AWS", "gpus": 16, "gpu": "H100 SXM"}, {"provider": "GCP", "gpus": 8}],
            },
            "purchase": {"negotiated_discounts": [{"provider": "AWS", "discount_fraction": 0.2, "gpu": "H100 SXM"}]},
        }
    )
    link = url(scenario)
    assert "requirements.quotas=AWS,16,H100" in link.replace("%20", " ").replace("+", " ")
    opened = scenario_of_url(link)
    assert opened.requirements == scenario.requirements and opened.purchase == scenario.purchase
    assert np.size(opened.requirements.quotas) == 2


HELD = {"provider": "AWS", "instance_or_gpu": "p5.48xlarge", "count": 2, "months_left": 12, "usd_per_hour": 30.0}
ON_AWS = {"requirements": {"providers_in": ["AWS"], "gpus_in": ["H100 SXM"]}}


def with_contracts(*contracts, **groups):
    purchase = groups.pop("purchase", {}) | {"contracts": list(contracts)}
    return answered(**(ON_AWS | groups), purchase=purchase)


def p5(result):
    return next(choice for choice in result.alternatives if choice.instance == "p5.48xlarge")


def test_servers_bought_already_serve_first_and_only_the_rest_is_bought():
    alone, held = p5(with_contracts()), p5(with_contracts(HELD))
    assert (held.servers, held.contract_servers) == (alone.servers, 2)
    assert held.tco_usd < alone.tco_usd
    all_year = p5(with_contracts(HELD | {"months_left": 36}))
    assert all_year.tco_usd < held.tco_usd
    on_demand_only = {"purchase": {"terms": [], "horizon_months": 12}}
    saved = p5(with_contracts(**on_demand_only)).tco_usd - p5(with_contracts(HELD, **on_demand_only)).tco_usd
    assert 0 < saved <= 2 * 12 * 730 * 55.04


def test_on_demand_hours_saved_are_those_of_the_lowest_two_servers():
    """Flat demand, nothing but on demand: two servers are not bought for the months of the contract."""
    flat = {"traffic": {"peak_requests_per_s": 20, "shape": "flat"}, "purchase": {"terms": [], "horizon_months": 24}}
    alone, held = p5(with_contracts(**flat)), p5(with_contracts(HELD, **flat))
    assert alone.tco_usd - held.tco_usd == pytest.approx(2 * 12 * 730 * 55.04)


def test_what_is_left_above_is_the_demand_less_what_serves_in_every_period():
    random = np.random.default_rng(3)
    prices = {"on_demand": 4.0, "spot": 2.0, "monthly": 3.0, "reserved_1y": 2.5, "reserved_3y": 1.6}
    rates = {f"{way}_usd_per_hour": np.array([price]) for way, price in prices.items()}
    for _ in range(30):
        months, slots = random.integers(1, 40), 12
        demand = random.integers(0, 9, size=(months, slots))
        taken = random.integers(0, 5, size=months)
        firm = np.ceil(demand * 0.5).astype(int)
        left = layers(demand, firm).above(taken)
        anew = layers(np.maximum(demand - taken[:, None], 0), np.maximum(firm - taken[:, None], 0))
        assert left.server_hours == pytest.approx(anew.server_hours)
        costs = [best_mix(some, commitment_cap_servers=None, **rates).total_usd[0] for some in (left, anew)]
        assert costs[0] == pytest.approx(costs[1])


def test_what_contracts_cost_is_in_no_total_but_in_the_cost_of_a_token_and_is_told_apart():
    cheap, dear = (with_contracts(HELD | {"usd_per_hour": usd}) for usd in (1.0, 100.0))
    assert p5(cheap).tco_usd == p5(dear).tco_usd
    assert [choice.id for choice in cheap.alternatives] == [choice.id for choice in dear.alternatives]
    assert p5(dear).cost_per_million_tokens_usd > p5(cheap).cost_per_million_tokens_usd
    (entry,) = [entry for entry in dear.assumptions if entry.name == "contracts.sunk_usd"]
    assert entry.value == pytest.approx(2 * 100 * 12 * 730)
    assert any("$1,752,000" in Text("en").say(warning) for warning in dear.warnings)


def test_a_contract_that_covers_everything_leaves_nothing_to_buy():
    result = with_contracts(HELD | {"count": 50, "months_left": 36})
    assert result.recommendation.instance == "p5.48xlarge"
    assert result.recommendation.tco_usd == pytest.approx(0.0)
    assert result.recommendation.servers == result.recommendation.contract_servers


def test_a_contract_for_cards_gives_whole_servers_of_them_and_only_where_it_is():
    cards = HELD | {"instance_or_gpu": "H100 SXM", "count": 17, "region": "us-east-1"}
    held = p5(with_contracts(cards))
    assert (held.region, held.contract_servers) == ("us-east-1", 2)
    in_us = {"countries": ["US"], "gpus_in": ["H100"]}
    elsewhere = with_contracts(cards | {"region": "eu-north-1"}, requirements=in_us)
    assert all(choice.contract_servers == 0 for choice in elsewhere.alternatives)


def test_a_contract_that_nothing_can_use_is_named():
    said = [Text("en").say(warning) for warning in with_contracts(HELD | {"instance_or_gpu": "p9.48xlarge"}).warnings]
    assert any("p9.48xlarge of AWS" in sentence for sentence in said)


def test_runs_of_training_use_servers_bought_already():
    run = {"workload": {"kind": "training", "model": "llama-3.1-8b", "training_tokens_b": 20.0}}
    alone, held = p5(with_contracts(**run)), p5(with_contracts(HELD | {"months_left": 36}, **run))
    assert held.contract_servers == min(alone.servers, 2)
    assert held.tco_usd == pytest.approx(alone.tco_usd * (alone.servers - held.contract_servers) / alone.servers)


def test_the_bill_of_the_months_adds_up_beside_contracts():
    result = with_contracts(HELD)
    bill = result.tco[0]
    assert bill.total_usd == pytest.approx(result.recommendation.tco_usd)
    assert sum(month.total_usd for month in bill.months) == pytest.approx(result.recommendation.tco_usd)


def test_the_formula_of_the_cost_of_a_token_names_what_is_bought_already():
    result = with_contracts(HELD)
    parts, choice = derivation(result), result.recommendation
    assert (choice.tco_usd + parts.contracts_usd) / parts.output_tokens_m == pytest.approx(
        choice.cost_per_million_tokens_usd
    )
    assert any("bought already" in line for lines in headline(result, Text("en")) for line in lines)
