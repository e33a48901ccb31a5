"""The weakest numbers behind an answer come first, with what is at stake in money and what would make them surer."""

import numpy as np
import pytest

from gpudash import Scenario, evaluate, load_catalogue
from gpudash.derivation import speed_band
from gpudash.figures import evidence
from gpudash.freshness import freshness_rules
from gpudash.text import LANGUAGES, Text
from gpudash.weak_numbers import weakest_numbers

CATALOGUE = load_catalogue()
CHAT = evaluate(
    Scenario().with_values(
        {"workload.model": "llama-3.1-70b", "traffic.peak_requests_per_s": 20, "requirements.countries": "EU"}
    ),
    CATALOGUE,
)


def test_what_is_most_at_stake_comes_first():
    at_stake = [np.inf if weak.usd_per_month is None else weak.usd_per_month for weak in weakest_numbers(CHAT)]
    assert len(at_stake) >= 2
    assert at_stake == sorted(at_stake, reverse=True)


def test_the_speed_stakes_what_its_slow_end_would_cost_more():
    speed = next(weak for weak in weakest_numbers(CHAT) if weak.name == "speed")
    high = speed_band(CHAT).high_usd_per_month
    expected = None if high is None else high - CHAT.recommendation.monthly_usd
    assert speed.usd_per_month == (None if expected is None else pytest.approx(expected))


def test_an_old_price_stakes_what_is_paid_at_it_times_the_certainty_it_lacks():
    choice, rules = CHAT.recommendation, freshness_rules()
    offers, row = CATALOGUE.offers, int(np.flatnonzero(CATALOGUE.offers.id == choice.id)[0])
    way = max(choice.purchase_split, key=choice.purchase_split.get)
    weak = next(weak for weak in weakest_numbers(CHAT) if weak.name == f"price.{way}")
    bill = next(bill for bill in CHAT.tco if bill.choice_id == choice.id)
    paid = np.mean([getattr(month, f"{way}_usd") for month in bill.months])
    factors = [
        rules["fresh_days"] / max(offers.age_days_of(way)[row], rules["fresh_days"]),
        rules["secondary_factor"] if offers.secondary[row] else 1,
        rules["date_estimated_factor"] if offers.date_estimated[row] else 1,
        rules[f"{offers.doubt[row]}_factor"] if offers.doubt[row] else 1,
    ]
    assert weak.usd_per_month == pytest.approx(paid * (1 - np.prod(factors)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_shows_them_in_words(language):
    shown = evidence.weakest(CHAT, Text(language))
    assert len(shown) == len(weakest_numbers(CHAT))
    assert all(word for column in shown.columns for word in column.values)


def test_without_an_answer_there_is_nothing_to_doubt():
    nothing = evaluate(Scenario().with_values({"requirements.providers_in": "nobody"}), CATALOGUE)
    assert weakest_numbers(nothing) == ()
    assert evidence.weakest(nothing, Text("en")) is None
