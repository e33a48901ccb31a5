"""How far a price can be trusted."""

import numpy as np
import pytest

from gpudash.catalogue import load_catalogue
from gpudash.evaluate import evaluate
from gpudash.freshness import certainty, freshness_rules, outdated_prices
from gpudash.scenario import Scenario

CATALOGUE = load_catalogue()


def test_a_price_that_its_provider_has_raised_since_is_put_aside():
    """The provider's one-card B200 of April 2026 is cheaper per card than its B200 prices of July 2026."""
    result = evaluate(Scenario.read({"workload": {"model": "llama-3.1-70b"}}), CATALOGUE)
    old = "Verda / 1B200.30V / FIN-03"
    ids = CATALOGUE.offers.id[result.rejected.offer_rows]
    reason = result.rejected.reasons[result.rejected.reason_of[list(ids).index(old)]]
    assert reason.code == "candidates.outdated_price"
    assert old not in {choice.id for choice in result.alternatives}


def test_only_clearly_older_and_clearly_cheaper_prices_are_outdated():
    offers, rules = CATALOGUE.offers, freshness_rules()
    found = outdated_prices(offers)
    price = offers.on_demand_usd_per_gpu_hour
    assert 0 < found.is_outdated.sum() < 20
    for offer in np.flatnonzero(found.is_outdated):
        same = (offers.provider_row == offers.provider_row[offer]) & (offers.gpu_row == offers.gpu_row[offer])
        younger = same & (offers.age_days < offers.age_days[offer] - rules["outdated_after_days"])
        assert (price[younger] > price[offer] * (1 + rules["outdated_rise_fraction"])).any()


def test_certainty_falls_with_age_with_doubt_and_with_the_width_of_the_band():
    fresh = certainty(10, False, False, 0.8)
    assert fresh == pytest.approx(0.8)
    assert certainty(90, False, False, 0.8) == pytest.approx(0.4)
    assert certainty(10, True, False, 0.8) < fresh
    assert certainty(10, False, True, 0.8) < fresh
    assert certainty(10, False, False, 0.4) < fresh
