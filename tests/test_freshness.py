"""How far a price can be trusted."""

from dataclasses import replace

import numpy as np
import pytest

from gpudash.catalogue import load_catalogue
from gpudash.evaluate import evaluate
from gpudash.freshness import (
    age_badges,
    asked_range_usd_per_hour,
    certainty,
    freshness_rules,
    oldest_used,
    outdated_prices,
    price_doubts,
    usable_spot_usd_per_hour,
    usual_usd_per_gpu_hour,
)
from gpudash.offers import offers_of
from gpudash.records import OfferRow, parse_columns
from gpudash.scenario import Scenario
from gpudash.tables import DATA

CATALOGUE = load_catalogue()
SHEET = DATA / "prices" / CATALOGUE.snapshot / "offers.csv"


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
    sound = CATALOGUE.offers.take([list(CATALOGUE.offers.id).index("AWS / p5.48xlarge / us-east-1")])

    def of(offers=sound, age_days=10, speed_low=0.8, **columns):
        columns = {name: np.array([value], object) for name, value in columns.items()}
        changed = replace(offers, age_days=np.array([age_days]), **columns)
        return certainty(changed, [0], {"on_demand": np.ones(1)}, speed_low)[0]

    assert of() == pytest.approx(0.8)
    assert of(age_days=90) == pytest.approx(0.4)
    assert of(speed_low=0.4) == pytest.approx(0.4)
    for doubt in ({"secondary": True}, {"date_estimated": True}, {"doubt": "unavailable"}, {"doubt": "weak_source"}):
        assert of(**doubt) < 0.8


def test_a_price_counts_by_the_hours_that_it_pays_for():
    """AWS p5 in us-east-1: on demand 66 days old, the 3-year price 152 days."""
    offers = CATALOGUE.offers
    row = list(offers.id).index("AWS / p5.48xlarge / us-east-1")

    def of(on_demand, reserved_3y):
        return certainty(offers, [row], {"on_demand": np.array([on_demand]), "reserved_3y": np.array([reserved_3y])}, 1)

    assert of(1.0, 0.0) == pytest.approx(45 / 66)
    assert of(0.0, 1.0) == pytest.approx(45 / 152)
    assert of(3.0, 1.0) == pytest.approx((3 * 45 / 66 + 45 / 152) / 4)


def test_sources_that_disagree_are_a_range_and_make_the_price_less_certain():
    """Azure's two-card A100 in eastus: 7.346 an hour in one public list, 9.554 in another; both stay visible."""
    offers = CATALOGUE.offers
    row = list(offers.id).index("Azure / Standard_NC48ads_A100_v4 / eastus")
    low, high = asked_range_usd_per_hour(offers)
    assert (low[row], high[row]) == pytest.approx((7.346, 9.554))
    assert price_doubts(offers)[row] == "disputed"
    assert certainty(offers, [row], {"reserved_1y": np.ones(1)}, 1.0)[0] == pytest.approx(45 / 152 * 7.346 / 9.554)


def test_a_quote_much_older_than_the_price_does_not_dispute_it():
    offers = CATALOGUE.offers
    row = list(offers.id).index("OCI / BM.GPU.A100-v2.8 / us-ashburn-1")
    assert offers.other_high_usd_per_hour[row] == pytest.approx(40)
    old = [replace(quote, as_of="2025-01-01") for quote in CATALOGUE.other_quotes]
    cells = {name: list(column) for name, column in parse_columns(SHEET, OfferRow)[0].items()}
    read_anew = offers_of(
        cells,
        CATALOGUE.hardware,
        CATALOGUE.exchange_rates,
        snapshot=CATALOGUE.snapshot,
        unpriced_below_usd_per_hour=0.001,
        other_quotes=old,
    )
    assert np.isnan(read_anew.other_high_usd_per_hour[row])


def test_an_age_is_fresh_ageing_or_stale_by_the_limits_of_the_data():
    assert age_badges([0, 44, 45, 180, 181]).tolist() == ["fresh", "fresh", "ageing", "ageing", "stale"]


def test_a_price_far_from_the_median_of_its_gpu_is_doubted_and_the_median_itself_is_not():
    offers = CATALOGUE.offers
    doubts, per_card = price_doubts(offers), offers.on_demand_usd_per_gpu_hour
    h100 = np.flatnonzero((offers.gpu_row == CATALOGUE.hardware.index("H100 SXM")) & ~np.isnan(per_card))
    providers = offers.provider[h100].astype(str)
    medians = [np.median(per_card[h100][providers == name]) for name in np.unique(providers)]
    usual = np.median(medians)
    far = h100[(per_card[h100] > 3 * usual) | (per_card[h100] < usual / 3)]
    near = h100[np.abs(per_card[h100] / usual - 1) < 0.5]
    assert set(doubts[far]) <= {"outlier", "outdated", "weak_source"}
    assert "outlier" not in set(doubts[near])


def test_one_provider_with_many_regions_does_not_decide_what_is_usual():
    offers = CATALOGUE.offers
    gpu = CATALOGUE.hardware.index("H100 SXM")
    row = np.flatnonzero((offers.gpu_row == gpu) & (offers.provider == "Azure"))[:1]
    more = offers.take(np.concatenate([np.arange(len(offers)), np.repeat(row, 300)]))
    before, after = (usual_usd_per_gpu_hour(some)[some.gpu_row == gpu][0] for some in (offers, more))
    assert after == pytest.approx(before, rel=0.02)


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


def test_a_supposed_price_without_a_date_is_as_old_as_its_row():
    offers = CATALOGUE.offers
    row = list(offers.id).index("Nebius / gpu-h100-sxm_8gpu-128vcpu-1600gb / eu-north1")
    assert np.isnan(offers.reserved_3y_age_days[row])
    served = {"on_demand": np.zeros(1), "reserved_3y": np.ones(1)}
    (way,), (age_days,) = oldest_used(offers, [row], served)
    assert (way, age_days) == ("reserved_3y", offers.age_days[row])
    assert np.isfinite(certainty(offers, [row], served, 1.0)[0])
