"""How far a price can be trusted."""

from dataclasses import replace

import numpy as np
import pytest

from gpudash.catalogue import load_catalogue
from gpudash.evaluate import evaluate
from gpudash.freshness import (
    age_badges,
    certainty,
    freshness_rules,
    outdated_prices,
    price_doubts,
    usable_spot_usd_per_hour,
)
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


def test_a_spot_price_too_low_to_be_had_is_not_reckoned_with():
    """skypilot-org/skypilot issue 9156: a bid floor read as a price."""
    offers = CATALOGUE.offers
    usable = usable_spot_usd_per_hour(offers)
    dropped = np.isnan(usable) & np.isfinite(offers.spot_usd_per_hour)
    assert dropped.any()
    assert (offers.spot_usd_per_hour[dropped] <= 0.12 * offers.on_demand_usd_per_hour[dropped]).all()
    result = evaluate(Scenario.read({"workload": {"kind": "batch"}, "purchase": {"spot_fraction": 1}}), CATALOGUE)
    names = set(offers.id[dropped])
    assert all(choice.purchase_split["spot"] == 0 for choice in result.alternatives if choice.id in names)


def test_certainty_falls_with_age_with_doubt_and_with_the_width_of_the_band():
    fresh = certainty(10, False, False, 0.8)
    assert fresh == pytest.approx(0.8)
    assert certainty(90, False, False, 0.8) == pytest.approx(0.4)
    assert certainty(10, True, False, 0.8) < fresh
    assert certainty(10, False, True, 0.8) < fresh
    assert certainty(10, False, False, 0.4) < fresh


def test_an_age_is_fresh_ageing_or_stale_by_the_limits_of_the_data():
    assert age_badges([0, 44, 45, 180, 181]).tolist() == ["fresh", "fresh", "ageing", "ageing", "stale"]


def test_a_price_far_from_the_median_of_its_gpu_is_doubted_and_the_median_itself_is_not():
    offers = CATALOGUE.offers
    doubts, per_card = price_doubts(offers), offers.on_demand_usd_per_gpu_hour
    h100 = np.flatnonzero(offers.gpu_row == CATALOGUE.hardware.index("H100 SXM"))
    median = np.nanmedian(per_card[h100])
    far = h100[(per_card[h100] > 3 * median) | (per_card[h100] < median / 3)]
    near = h100[np.abs(per_card[h100] / median - 1) < 0.5]
    assert set(doubts[far]) <= {"outlier", "outdated"}
    assert "outlier" not in set(doubts[near])


def test_a_spot_price_at_an_eighth_of_the_on_demand_price_is_doubted():
    offers = CATALOGUE.offers
    row = np.flatnonzero((price_doubts(offers) == "") & ~np.isnan(offers.spot_usd_per_hour))[:1]
    one = offers.take(row)
    cheap = replace(one, spot_usd_per_hour=one.on_demand_usd_per_hour * 0.12)
    assert price_doubts(cheap).tolist() == ["spot_outlier"]


def test_every_price_that_is_paid_is_judged_by_its_own_date():
    """The T4 of Azure is listed on demand on 2026-10-01; its spot price was read on 2026-09-06 elsewhere."""
    wishes = {"workload": {"kind": "batch", "model": "bge-large-en-v1.5"}, "purchase": {"spot_fraction": 1}}
    result = evaluate(Scenario.read(wishes | {"requirements": {"providers_in": ["Azure"]}}), CATALOGUE)
    offers = CATALOGUE.offers
    for choice in result.alternatives:
        offer = list(offers.id).index(choice.id)
        paid = {way: offers.age_days_of(way)[offer] for way, share in choice.purchase_split.items() if share > 0}
        assert choice.price_age_days == max(paid.values())
        assert choice.price_as_of == offers.as_of_of(max(paid, key=paid.get))[offer]
    entries = {entry.name: entry for entry in result.assumptions if entry.name.startswith("price.")}
    winner, offer = result.recommendation, list(offers.id).index(result.recommendation.id)
    assert entries.keys() == {f"price.{way}" for way, share in winner.purchase_split.items() if share > 0}
    assert (winner.price_as_of, entries["price.spot"].as_of, offers.as_of[offer]) == ("2026-09-06",) * 2 + (
        "2026-10-01",
    )


def test_a_price_older_than_allowed_is_not_paid_although_another_of_the_offer_is_young_enough():
    offers = CATALOGUE.offers
    two_dates = offers.spot_age_days > offers.age_days + 90
    assert two_dates.sum() >= 20
    wishes = {"workload": {"kind": "batch"}, "purchase": {"spot_fraction": 1}}
    limit = int(offers.age_days[two_dates].max())
    names = set(offers.id[two_dates & (offers.spot_age_days > limit)])
    result = evaluate(Scenario.read(wishes | {"requirements": {"maximum_price_age_days": limit}}), CATALOGUE)
    assert result.alternatives and all(choice.price_age_days <= limit for choice in result.alternatives)
    assert not any(choice.purchase_split["spot"] for choice in result.alternatives if choice.id in names)
    fallen = {
        offers.id[row]: result.rejected.reasons[reason].code
        for row, reason in zip(result.rejected.offer_rows, result.rejected.reason_of)
    }
    assert not any(fallen.get(name) == "candidates.price_age" for name in names)


def test_a_derived_price_is_as_old_as_the_older_of_list_price_and_discount():
    offers = CATALOGUE.offers
    derived = offers.reserved_1y_origin == "derived"
    assert (offers.reserved_1y_age_days[derived] >= offers.age_days[derived]).all()
    assert (offers.reserved_1y_age_days[derived] > offers.age_days[derived]).any()
