"""Two snapshots are compared price by price, in the currency the provider bills in."""

from dataclasses import replace

import numpy as np
import pytest

from gpudash.catalogue import load_catalogue
from gpudash.catalogue_diff import diff, price_history
from gpudash.errors import GpudashError
from gpudash.hardware import read_only
from gpudash.records import ExchangeRate

CATALOGUE = load_catalogue()
OFFERS = CATALOGUE.offers
BOTH = np.flatnonzero(~np.isnan(OFFERS.on_demand_usd_per_hour) & ~np.isnan(OFFERS.spot_usd_per_hour))
ROW = int(BOTH[0])


def with_prices(catalogue, snapshot="2026-12-07", **columns):
    """The catalogue as a later snapshot with some prices replaced: column={row: price}."""
    offers = catalogue.offers
    changed = {}
    for name, cells in columns.items():
        column = np.array(getattr(offers, name))
        for row, value in cells.items():
            column[row] = value
        changed[name] = read_only(column)
    return replace(catalogue, snapshot=snapshot, offers=replace(offers, **changed))


def test_a_snapshot_compared_with_itself_has_no_change():
    same = diff(CATALOGUE, CATALOGUE)
    assert same.rows == same.rates == same.counts() == ()


def test_a_price_that_rises_is_dearer_and_the_other_prices_of_the_server_are_left_alone():
    price = OFFERS.on_demand_usd_per_hour[ROW]
    (row,) = diff(CATALOGUE, with_prices(CATALOGUE, on_demand_usd_per_hour={ROW: price * 1.25})).rows
    assert (row.offer, row.way, row.change) == (OFFERS.id[ROW], "on_demand", "dearer")
    assert row.gpu == CATALOGUE.hardware.names[OFFERS.gpu_row[ROW]]
    assert (row.before_usd_per_hour, row.after_usd_per_hour) == (price, price * 1.25)
    assert row.change_fraction == pytest.approx(0.25)


def test_a_price_that_falls_is_cheaper_and_swapping_the_snapshots_turns_it_round():
    price = OFFERS.spot_usd_per_hour[ROW]
    later = with_prices(CATALOGUE, spot_usd_per_hour={ROW: price / 2})
    assert [row.change for row in diff(CATALOGUE, later).rows] == ["cheaper"]
    (back,) = diff(later, CATALOGUE).rows
    assert (back.change, back.change_fraction) == ("dearer", pytest.approx(1.0))


def test_a_price_that_is_no_longer_listed_is_gone_and_a_first_price_is_new():
    later = with_prices(CATALOGUE, spot_usd_per_hour={ROW: np.nan})
    (gone,) = diff(CATALOGUE, later).rows
    assert (gone.way, gone.change, gone.after_usd_per_hour, gone.change_fraction) == ("spot", "gone", None, None)
    assert [row.change for row in diff(later, CATALOGUE).rows] == ["new"]


def test_a_server_that_is_no_longer_offered_loses_each_of_its_prices():
    later = replace(CATALOGUE, snapshot="2026-12-07", offers=OFFERS.take(np.delete(np.arange(len(OFFERS)), ROW)))
    rows = diff(CATALOGUE, later).rows
    assert {row.offer for row in rows} == {OFFERS.id[ROW]}
    assert {row.change for row in rows} == {"gone"}
    assert {"on_demand", "spot"} <= {row.way for row in rows}


def test_an_instance_that_comes_back_with_another_gpu_is_another_server():
    other = (OFFERS.gpu_row[ROW] + 1) % len(CATALOGUE.hardware)
    rows = diff(CATALOGUE, with_prices(CATALOGUE, gpu_row={ROW: other})).rows
    assert {(row.gpu, row.change) for row in rows} == {
        (CATALOGUE.hardware.names[OFFERS.gpu_row[ROW]], "gone"),
        (CATALOGUE.hardware.names[other], "new"),
    }


def test_a_moving_exchange_rate_is_shown_once_and_is_no_change_of_price():
    yuan = CATALOGUE.exchange_rates["CNY"].units_per_usd
    rows = np.flatnonzero(OFFERS.currency == "CNY")
    cheaper_dollars = {
        f"{way}_usd_per_hour": {row: getattr(OFFERS, f"{way}_usd_per_hour")[row] / 1.1 for row in rows}
        for way in ("on_demand", "spot", "monthly", "reserved_1y", "reserved_3y")
    }
    later = with_prices(CATALOGUE, **cheaper_dollars)
    rates = dict(CATALOGUE.exchange_rates) | {"CNY": ExchangeRate("CNY", yuan * 1.1, "test", "2026-12-07")}
    changes = diff(CATALOGUE, replace(later, exchange_rates=rates))
    assert changes.rows == ()
    assert [(rate.currency, rate.after_units_per_usd) for rate in changes.rates] == [("CNY", yuan * 1.1)]


def test_changes_are_counted_by_provider_gpu_and_way_of_buying():
    provider, gpu = OFFERS.provider[ROW], OFFERS.gpu_row[ROW]
    rows = [row for row in BOTH if OFFERS.provider[row] == provider and OFFERS.gpu_row[row] == gpu][:2]
    prices = {row: OFFERS.on_demand_usd_per_hour[row] * factor for row, factor in zip(rows, (1.2, 0.9))}
    later = with_prices(CATALOGUE, on_demand_usd_per_hour=prices, spot_usd_per_hour={rows[0]: np.nan})
    counts = {count.way: count for count in diff(CATALOGUE, later).counts()}
    assert (counts["on_demand"].provider, counts["on_demand"].gpu) == (provider, CATALOGUE.hardware.names[gpu])
    assert (counts["on_demand"].dearer, counts["on_demand"].cheaper) == (1, 1)
    assert counts["on_demand"].median_change_fraction == pytest.approx(0.05)
    assert (counts["spot"].gone, counts["spot"].median_change_fraction) == (1, None)


def test_the_history_of_an_offer_has_one_point_per_snapshot_and_a_gap_where_it_was_not_offered():
    price = OFFERS.on_demand_usd_per_hour[ROW]
    without = replace(CATALOGUE, snapshot="2026-12-07", offers=OFFERS.take(np.arange(ROW + 1, len(OFFERS))))
    later = with_prices(CATALOGUE, "2026-12-14", on_demand_usd_per_hour={ROW: price * 2})
    points = price_history(OFFERS.id[ROW], [CATALOGUE, without, later])
    assert [point.on_demand_usd_per_hour for point in points] == [price, None, price * 2]
    assert [point.snapshot for point in points] == [CATALOGUE.snapshot, "2026-12-07", "2026-12-14"]
    assert [point.as_of for point in points] == [OFFERS.as_of[ROW], None, OFFERS.as_of[ROW]]


def test_the_history_of_an_unknown_offer_is_answered_with_the_nearest():
    with pytest.raises(GpudashError, match=r"g4dn\.xlarg.*AWS / g4dn\.xlarge / us-east-1"):
        price_history("AWS / g4dn.xlarg / us-east-1", [CATALOGUE])
