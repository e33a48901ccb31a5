"""Prices and answers over time: the same question at each snapshot's prices, and the price of the answer's offer."""

from dataclasses import replace

import numpy as np
import pytest

from gpudash import Scenario, evaluate, load_catalogue, price_dates
from gpudash.figures import catalogue as catalogue_views
from gpudash.figures import price_dates as views
from gpudash.hardware import read_only
from gpudash.records import WAYS
from gpudash.text import LANGUAGES, Text

TODAY = load_catalogue()
SCENARIO = Scenario().with_values({"requirements.countries": "DE", "finance.currency": "EUR"})
RESULT = evaluate(SCENARIO, TODAY)
WINNER = RESULT.recommendation
LATER, LAST = "2027-01-11", "2027-02-08"


def scaled(snapshot, factor):
    """Today's catalogue of another day, with the winner's server at other prices."""
    factors = np.where(TODAY.offers.id == WINNER.id, factor, 1.0)
    prices = {f"{way}_usd_per_hour": getattr(TODAY.offers, f"{way}_usd_per_hour") * factors for way in WAYS}
    offers = replace(TODAY.offers, **{name: read_only(usd) for name, usd in prices.items()})
    return replace(TODAY, snapshot=snapshot, offers=offers)


@pytest.fixture
def three_snapshots(monkeypatch):
    held = {TODAY.snapshot: TODAY, LATER: scaled(LATER, 1.1), LAST: scaled(LAST, 20)}
    monkeypatch.setattr(price_dates, "load_catalogue", held.__getitem__)
    monkeypatch.setattr(views, "snapshots", lambda: tuple(held))
    views._answered.cache_clear()
    yield held
    views._answered.cache_clear()


def test_each_date_has_the_answer_that_its_prices_give(three_snapshots):
    found = list(price_dates.dated_answers(SCENARIO, WINNER.id, three_snapshots))
    assert [answer.snapshot for answer in found] == [TODAY.snapshot, LATER, LAST]
    assert found[0].choice.monthly_usd == pytest.approx(WINNER.monthly_usd)
    for answer in found:
        expected = evaluate(SCENARIO, three_snapshots[answer.snapshot]).recommendation
        assert answer.choice.id == expected.id
        assert answer.choice.monthly_usd == pytest.approx(expected.monthly_usd)
    assert found[-1].choice.id != WINNER.id


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_chart_follows_the_offer_and_its_title_says_how_it_moved(three_snapshots, language):
    text = Text(language)
    chart = views.history(RESULT, text)
    rate = TODAY.exchange_rates["EUR"].units_per_usd
    line = next(trace for trace in chart.data if trace.name == text("common.way.on_demand"))
    expected = WINNER.on_demand_usd_per_hour * rate
    assert line.y == pytest.approx([expected, 1.1 * expected, 20 * expected])
    assert "1,900" in chart.layout.title.text
    shown = views.answers(RESULT, text)
    assert shown.columns[2].values[-1] == pytest.approx(WINNER.monthly_usd * rate)
    assert len(shown) == 3


def test_one_snapshot_alone_is_said_and_draws_nothing():
    assert "one snapshot" in views.state(RESULT, Text("en"))[0]
    assert views.history(RESULT, Text("en")) is None
    assert views.answers(RESULT, Text("en")) is None


def test_what_an_imported_sheet_changes_is_shown_in_place_of_the_snapshots_change():
    offers = TODAY.offers.take(np.flatnonzero(TODAY.offers.id == WINNER.id))
    cheaper = replace(offers, on_demand_usd_per_hour=read_only(offers.on_demand_usd_per_hour * 0.5),
                      on_demand_per_hour=read_only(offers.on_demand_per_hour * 0.5))  # fmt: skip
    result = evaluate(SCENARIO, TODAY.with_sheet("quote.csv (12345678)", cheaper))
    shown = catalogue_views.changes(result, Text("en"))
    assert "quote.csv" in shown.title
    counts = {column.label: column.values for column in shown.columns}
    assert sum(counts["cheaper"]) >= 1
