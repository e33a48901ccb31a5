"""What only the user knows: offers that cannot be had, quotas, discounts for one GPU, servers bought already."""

import numpy as np
import pytest

from gpudash import Scenario, evaluate, load_catalogue
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
