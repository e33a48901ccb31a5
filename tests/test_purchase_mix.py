"""The purchase mix is the optimum, whoever computes it, and never buys what the demand cannot fill."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from bench.highs import highs_usd
from gpudash.errors import GpudashError
from gpudash.layers import layers
from gpudash.mix_request import mix
from gpudash.purchase_mix import KINDS, best_mix, break_even_utilisation, plan
from gpudash.spot import break_even_interruption_h, mean_time_between_interruptions_h, spot_rework_fraction

YEAR = 8760
MONTH = 730


def random_case(rng, months_as_periods=False):
    """A demand, its firm part and prices, some of them missing or upside down; something always serves every hour."""
    periods_per_year = 12 if months_as_periods else 1
    periods = int(rng.integers(1, 25 if months_as_periods else 4))
    slots = int(rng.integers(1, 12 if months_as_periods else 169))
    shape = rng.integers(0, rng.integers(1, 30) + 1, slots)
    growth = 1 + rng.uniform(0, 1) * np.arange(periods)[:, None] / periods
    demand = np.floor(shape * growth).astype(int)
    firm = np.floor(demand * rng.choice([0.0, 1.0, rng.uniform()], size=demand.shape)).astype(int)
    on_demand = rng.uniform(0.5, 90)
    sold = rng.uniform(size=5) > 0.25
    prices = {
        "on_demand_usd_per_hour": on_demand if sold[0] else math.nan,
        "spot_usd_per_hour": on_demand * rng.uniform(0.2, 1.3) if sold[1] else math.nan,
        "reserved_1y_usd_per_hour": on_demand * rng.uniform(0.4, 1.05) if sold[2] else math.nan,
        "reserved_3y_usd_per_hour": on_demand * rng.uniform(0.2, 1.0) if sold[3] else math.nan,
    }
    if months_as_periods:
        prices["monthly_usd_per_hour"] = on_demand * rng.uniform(0.4, 1.1) if sold[4] else math.nan
    if not sold[0] and not sold[2] and not sold[3]:
        prices["on_demand_usd_per_hour"] = on_demand
    return demand, firm, periods_per_year, prices


@pytest.mark.parametrize("batch", range(10))
def test_the_mix_equals_the_mixed_integer_optimum(batch):
    rng = np.random.default_rng(batch)
    for _ in range(50):
        demand, firm, periods_per_year, prices = random_case(rng)
        ours = best_mix(layers(demand, firm, periods_per_year=periods_per_year), **prices)
        assert ours.total_usd[0] == pytest.approx(highs_usd(demand, firm, periods_per_year, prices), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("batch", range(5))
def test_with_monthly_subscriptions_the_mix_equals_the_mixed_integer_optimum(batch):
    rng = np.random.default_rng(100 + batch)
    for _ in range(100):
        case = random_case(rng, months_as_periods=True)
        ours = best_mix(layers(*case[:2], periods_per_year=case[2]), **case[3])
        assert ours.total_usd[0] == pytest.approx(highs_usd(*case), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("batch", range(5))
def test_with_a_cap_on_commitments_the_mix_equals_the_mixed_integer_optimum(batch):
    rng = np.random.default_rng(200 + batch)
    for number in range(100):
        demand, firm, periods_per_year, prices = random_case(rng, months_as_periods=number % 2 == 0)
        prices["on_demand_usd_per_hour"] = 50.0
        cap = int(rng.integers(0, demand.max() + 2))
        ours = best_mix(
            layers(demand, firm, periods_per_year=periods_per_year), commitment_cap_servers=cap, **prices
        ).total_usd[0]
        assert ours == pytest.approx(highs_usd(demand, firm, periods_per_year, prices, cap), rel=1e-9, abs=1e-6)


LIST = YEAR * 55.04  # 8 x H100, 60 % off for three years


@pytest.mark.parametrize("batch", range(5))
def test_with_a_commitment_in_money_the_mix_of_whole_servers_is_still_the_optimum(batch):
    """HiGHS may commit to any part of a server's rate for a year; its own tolerance is 1e-7."""
    rng = np.random.default_rng(400 + batch)
    for _ in range(100):
        demand, firm, periods_per_year, prices = random_case(rng, months_as_periods=True)
        ours = best_mix(layers(demand, firm, periods_per_year=periods_per_year), **prices)
        highs = highs_usd(demand, firm, periods_per_year, prices, in_money=True)
        assert ours.total_usd[0] == pytest.approx(highs, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("batch", range(5))
def test_where_the_rest_of_a_term_is_sold_the_mix_equals_the_mixed_integer_optimum(batch):
    rng = np.random.default_rng(300 + batch)
    for _ in range(100):
        demand, firm, periods_per_year, prices = random_case(rng, months_as_periods=True)
        resale = rng.uniform()
        ours = best_mix(layers(demand, firm, periods_per_year=periods_per_year), resale_fraction=resale, **prices)
        highs = highs_usd(demand, firm, periods_per_year, prices, resale_fraction=resale)
        assert ours.total_usd[0] == pytest.approx(highs, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("busy_slots", "reserved", "usd_per_year"),
    [(0, 0, 0), (30, 0, 0.30 * LIST), (40, 0, 0.40 * LIST), (41, 1, 0.40 * LIST), (100, 1, 0.40 * LIST)],
)
def test_a_commitment_is_bought_only_when_busier_than_its_break_even(busy_slots, reserved, usd_per_year):
    demand = [[1] * busy_slots + [0] * (100 - busy_slots)] * 3
    prices = {"on_demand_usd_per_hour": 55.04, "reserved_3y_usd_per_hour": 22.016}
    answer = mix({"demand": demand, "firm": demand} | prices)
    assert answer["reserved_3y_servers"] == reserved
    assert answer["total_usd"] == pytest.approx(3 * usd_per_year, rel=1e-12)
    assert answer["unused_commitment_usd"] == pytest.approx(reserved * (1 - busy_slots / 100) * 3 * YEAR * 22.016)
    assert answer["break_even_utilisation"] == {"reserved_1y": None, "reserved_3y": pytest.approx(0.40)}


def test_spot_dearer_than_on_demand_is_not_used():
    request = {"demand": [[3, 1]], "firm": [[1, 0]], "on_demand_usd_per_hour": 2.0, "spot_usd_per_hour": 2.5}
    answer = mix(request)
    assert (answer["spot_usd"], answer["on_demand_usd"]) == (0, 4 * YEAR / 2 * 2.0)


def test_without_on_demand_commitments_cover_all_demand_even_where_spot_would_be_cheaper():
    request = {"demand": [[3, 1]], "firm": [[2, 0]], "reserved_1y_usd_per_hour": 9.0, "spot_usd_per_hour": 1.0}
    answer = mix(request | {"on_demand_usd_per_hour": None})
    assert answer["reserved_1y_servers"] == [3]
    assert answer["spot_usd"] == 0


def test_a_three_year_term_is_paid_in_full_within_one_year():
    answer = mix({"demand": [[2]], "firm": [[2]], "on_demand_usd_per_hour": 4.0, "reserved_3y_usd_per_hour": 1.0})
    assert answer["reserved_3y_servers"] == 2
    assert answer["total_usd"] == 2 * 3 * YEAR
    assert answer["unused_commitment_usd"] == 2 * 2 * YEAR


GOOD = {"demand": [[2, 1], [3, 1]], "firm": [[1, 1], [1, 1]], "on_demand_usd_per_hour": 2.0}


@pytest.mark.parametrize(
    ("change", "code", "part"),
    [
        ({"firm": [[1, 1], [4, 1]]}, "mix.firm_above_demand", "year 2, slot 1"),
        ({"demand": [[2, 1], [3]]}, "mix.ragged", "demand, year 2, has 1 slots"),
        ({"demand": [[2, 1]]}, "mix.shapes_differ", "1 x 2"),
        ({"demand": [[2, -1], [3, 1]]}, "mix.servers", "year 1, slot 2, is -1"),
        ({"demand": [[2, 1.5], [3, 1]]}, "mix.servers", "1.5"),
        ({"demand": [[2, math.inf], [3, 1]]}, "mix.servers", "inf"),
        ({"demand": [[2, 10**40], [3, 1]]}, "mix.servers", "slot 2"),
        ({"demand": [[2, True], [3, 1]]}, "mix.servers", "True"),
        ({"demand": [[1]] * 4, "firm": [[1]] * 4}, "mix.years", "4 years"),
        ({"demand": 3}, "mix.not_lists", "demand"),
        ({"demand": [[], []]}, "mix.ragged", "0 slots"),
        ({"on_demand_usd_per_hour": 0}, "mix.price", "on_demand_usd_per_hour is 0"),
        ({"on_demand_usd_per_hour": "2"}, "mix.price", "or null"),
        ({"spot_usd_per_hour": math.nan}, "mix.price", "spot_usd_per_hour"),
        ({"spot_price": 1.0}, "mix.unknown_key", "did you mean spot_usd_per_hour"),
        ({"on_demand_usd_per_hour": None}, "mix.nothing_covers", "Give an on-demand"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_with_its_place(change, code, part):
    with pytest.raises(GpudashError) as error:
        mix(GOOD | change)
    assert error.value.code == code
    assert part in str(error.value)


def test_a_file_that_is_a_list_is_refused():
    with pytest.raises(GpudashError, match="mapping"):
        mix([1, 2])


def weekly(months=36, growth=0.02, seed=3):
    shape = np.random.default_rng(seed).integers(0, 20, 168)
    demand = np.ceil(shape * (1 + growth) ** np.arange(months)[:, None]).astype(int)
    return demand, demand // 3


PRICES = {
    "on_demand_usd_per_hour": 10.0,
    "spot_usd_per_hour": 5.0,
    "reserved_1y_usd_per_hour": 6.0,
    "reserved_3y_usd_per_hour": 4.0,
    "monthly_usd_per_hour": 7.0,
}


@pytest.mark.parametrize("months", [1, 6, 12, 30, 36, 60])
def test_the_months_of_a_plan_add_up_to_its_total(months):
    chosen = plan(layers(*weekly(months)), **PRICES)
    assert sum(chosen.usd[kind].sum() for kind in KINDS) == pytest.approx(chosen.total_usd, rel=1e-12)
    assert all(len(chosen.usd[kind]) == months for kind in KINDS)
    served = sum(hours.sum() for hours in chosen.served_hours.values())
    assert served == pytest.approx(weekly(months)[0].sum() * MONTH / 168, rel=1e-12)


def test_the_plan_of_one_offer_is_the_number_in_the_table():
    demand_layers = layers(*weekly())
    spot = np.linspace(1, 11, 50)
    table = best_mix(demand_layers, **PRICES | {"spot_usd_per_hour": spot})
    chosen = plan(demand_layers, **PRICES | {"spot_usd_per_hour": spot[17]})
    assert chosen.total_usd == table.total_usd[17]
    assert chosen.unused_commitment_usd == table.unused_commitment_usd[17]
    for kind in KINDS:
        assert chosen.usd[kind].sum() == pytest.approx(table.usd[kind][17], rel=1e-12)
        assert chosen.served_hours[kind].sum() == pytest.approx(table.served_hours[kind][17], rel=1e-12)


def test_the_parts_of_every_mix_add_up_to_its_total():
    rng = np.random.default_rng(500)
    for _ in range(200):
        demand, firm, periods_per_year, prices = random_case(rng, months_as_periods=True)
        need = layers(demand, firm, periods_per_year=periods_per_year)
        terms = {"commitment_cap_servers": int(rng.integers(0, 40)), "resale_fraction": rng.uniform()}
        mixes = best_mix(need, **prices, **terms)
        parts, hours = (sum(column[0] for column in columns.values()) for columns in (mixes.usd, mixes.served_hours))
        if mixes.feasible[0]:
            assert parts == pytest.approx(mixes.total_usd[0], rel=1e-12)
            assert hours == pytest.approx(demand.sum() * MONTH / demand.shape[1], rel=1e-12)
            assert all(column[0] >= 0 for column in (*mixes.usd.values(), *mixes.unused_usd.values()))
        else:
            assert math.isnan(parts) and math.isnan(hours) and math.isinf(mixes.total_usd[0])


def test_a_term_beyond_the_horizon_is_due_in_the_last_month_and_shown_apart():
    demand = np.full((30, 4), 2)
    prices = {"on_demand_usd_per_hour": 10.0, "reserved_3y_usd_per_hour": 1.0}
    chosen = plan(layers(demand), **prices)
    assert chosen.beyond_horizon_usd["reserved_3y"] == 2 * 6 * MONTH
    assert list(chosen.usd["reserved_3y"][[0, -1]]) == [2 * MONTH, 2 * 7 * MONTH]
    assert chosen.unused_usd["reserved_3y"] == 2 * 6 * MONTH
    one_year = plan(layers(demand), on_demand_usd_per_hour=10.0, reserved_1y_usd_per_hour=1.0)
    assert list(one_year.reserved_1y_servers) == [2, 2, 2]
    assert one_year.beyond_horizon_usd["reserved_1y"] == 2 * 6 * MONTH


def test_half_the_value_of_the_rest_of_a_term_comes_back_in_the_last_month():
    need = layers(np.ones((6, 1), dtype=int))
    prices = {"on_demand_usd_per_hour": 1.0, "reserved_1y_usd_per_hour": 0.6}
    assert plan(need, **prices).reserved_1y_servers[0] == 0, "0.6 x 8760 h is more than half a year at 1"
    sold = plan(need, resale_fraction=0.5, **prices)
    assert sold.reserved_1y_servers[0] == 1
    assert sold.resale_usd["reserved_1y"] == pytest.approx(0.5 * 0.6 * YEAR / 2)
    assert sold.total_usd == pytest.approx(0.6 * YEAR - sold.resale_usd["reserved_1y"])
    assert sum(sold.paid_usd.values()) == pytest.approx(sold.total_usd)
    assert sum(usd.sum() for usd in sold.usd.values()) == pytest.approx(0.6 * YEAR)


@pytest.mark.parametrize("upfront", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("resale", [0.0, 0.7])
@pytest.mark.parametrize("subscribed", [False, True])
def test_what_is_due_in_the_first_months_is_what_the_plan_pays_in_them(upfront, resale, subscribed):
    need = layers(*weekly(months=30))
    prices = PRICES if subscribed else PRICES | {"monthly_usd_per_hour": math.nan}
    terms = {"upfront_fraction": upfront, "resale_fraction": resale}
    paid = sum(plan(need, **prices, **terms).usd.values())
    for first in (1, 5, 12, 29):
        columns = best_mix(need, first_periods=first, **prices, **terms)
        assert columns.first_usd[0] == pytest.approx(paid[:first].sum(), rel=1e-12)


@pytest.mark.parametrize("upfront", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("months", [1, 12, 30, 41])
def test_paying_up_front_moves_money_in_time_and_changes_no_total(months, upfront):
    as_billed, early = (plan(layers(*weekly(months)), upfront_fraction=share, **PRICES) for share in (0.0, upfront))
    assert early.total_usd == as_billed.total_usd
    for kind in KINDS:
        assert early.usd[kind].sum() == pytest.approx(as_billed.usd[kind].sum(), rel=1e-12)
        assert (early.usd[kind].cumsum() >= as_billed.usd[kind].cumsum() - 1e-6).all()
    assert early.beyond_horizon_usd["reserved_1y"] == pytest.approx(
        (1 - upfront) * as_billed.beyond_horizon_usd["reserved_1y"]
    )


def test_a_year_paid_up_front_is_paid_in_its_first_month():
    paid = plan(
        layers(np.ones((24, 1))), upfront_fraction=1.0, on_demand_usd_per_hour=10.0, reserved_1y_usd_per_hour=1.0
    )
    assert list(np.flatnonzero(paid.usd["reserved_1y"])) == [0, 12]
    assert paid.usd["reserved_1y"][12] == YEAR


@given(st.integers(0, 2**32 - 1), st.floats(0.2, 0.95))
def test_a_commitment_in_money_never_beats_whole_servers_at_its_rate(seed, rate):
    """A savings plan of c servers' worth: c x rate in every hour, what it does not cover by the hour at list price."""
    demand = np.random.default_rng(seed).integers(0, 8, (12, 20))
    whole = best_mix(layers(demand), on_demand_usd_per_hour=1.0, reserved_1y_usd_per_hour=rate).total_usd[0]
    for committed in np.linspace(0, 8, 33):  # quarters of a server's rate
        in_money = YEAR * (committed * rate + np.maximum(demand - committed, 0).mean())
        assert in_money >= whole * (1 - 1e-12)


@pytest.mark.parametrize("batch", range(5))
def test_one_commitment_in_money_for_two_types_that_follow_one_load_costs_no_less_than_one_for_each(batch):
    """HiGHS commits to any sums for a year and for three, which both types use up; its own tolerance is 1e-7."""
    rng = np.random.default_rng(600 + batch)
    for _ in range(40):
        years, slots = int(rng.integers(1, 4)), int(rng.integers(1, 8))
        load = rng.uniform(0, 100, (12 * years, slots)) * rng.uniform(0.3, 1, (12 * years, 1))
        base, whole = np.ceil(load / 7), int(rng.integers(0, 12))
        demands = np.minimum(base, whole), np.ceil(np.maximum(load - 7 * whole, 0) / 5)
        list_price, (off_1y, off_3y) = rng.uniform(1, 60, 2), rng.uniform(0.05, 0.8, 2)
        each = sum(
            best_mix(
                layers(demand),
                on_demand_usd_per_hour=price,
                reserved_1y_usd_per_hour=price * (1 - off_1y),
                reserved_3y_usd_per_hour=price * (1 - off_3y),
            ).total_usd[0]
            for demand, price in zip(demands, list_price)
        )
        listed = sum(demand * price for demand, price in zip(demands, list_price))
        assert each == pytest.approx(pooled_plan_usd(listed, off_1y, off_3y), rel=1e-6, abs=1e-6)


def pooled_plan_usd(listed_usd_per_hour, off_1y, off_3y):
    """The least cost of use (months, slots) worth so much at list price, with one plan per term for all of it."""
    months, slots = listed_usd_per_hour.shape
    years, cells, month = months // 12, months * slots, np.repeat(np.arange(months), slots)
    covers = np.zeros((cells, years + 1 + cells))  # what a dollar an hour of each plan is worth, and of none
    covers[np.arange(cells), month // 12] = 1 / (1 - off_1y)
    covers[:, years] = 1 / (1 - off_3y)
    covers[:, years + 1 :] = np.eye(cells)
    cost = [YEAR] * years + [3 * YEAR] + [MONTH / slots] * cells
    return linprog(cost, A_ub=-covers, b_ub=-listed_usd_per_hour.ravel()).fun


def test_three_year_terms_are_renewed_after_three_years():
    chosen = plan(layers(np.full((72, 4), 2)), on_demand_usd_per_hour=10.0, reserved_3y_usd_per_hour=1.0)
    assert list(chosen.reserved_3y_servers) == [2, 2]
    assert chosen.total_usd == 2 * 6 * YEAR


def test_the_curve_holds_every_served_hour_once():
    chosen = plan(layers(*weekly()), **PRICES)
    servers = np.diff(chosen.curve_servers, prepend=0)
    for kind in KINDS:
        assert (chosen.curve_hours[kind] * servers).sum() == pytest.approx(chosen.served_hours[kind].sum(), rel=1e-12)


def test_a_long_table_gives_the_same_as_its_rows_one_by_one():
    rng = np.random.default_rng(7)
    count = 3000
    columns = {key: np.where(rng.uniform(size=count) < 0.2, np.nan, rng.uniform(1, 10, count)) for key in PRICES}
    demand_layers = layers(*weekly())
    table = best_mix(demand_layers, **columns)
    for row in range(0, count, 157):
        single = best_mix(demand_layers, **{key: column[row] for key, column in columns.items()})
        assert single.total_usd[0] == table.total_usd[row]


def test_an_offer_without_a_price_is_infeasible_and_never_cheapest():
    table = best_mix(layers([[1, 2]]), on_demand_usd_per_hour=[math.nan, 3.0])
    assert list(table.feasible) == [False, True]
    assert table.total_usd.argmin() == 1
    assert math.isinf(table.total_usd[0])


def test_no_demand_buys_nothing_even_where_nothing_is_sold():
    table = best_mix(layers(np.zeros((36, 168))), **PRICES | {"on_demand_usd_per_hour": [10.0, math.nan]})
    assert list(table.total_usd) == [0, 0]
    assert sum(servers.sum() for servers in [plan(layers(np.zeros((3, 2))), **PRICES).monthly_servers]) == 0


def test_ten_thousand_servers_cost_no_more_layers_than_their_distinct_values():
    demand = np.random.default_rng(1).integers(0, 10_000, 168)
    demand_layers = layers(np.tile(demand, (36, 1)))
    assert demand_layers.hours.shape == (3, len(np.unique(demand[demand > 0])))
    assert demand_layers.stacked_servers[-1] == demand.max()


def test_slots_of_unequal_length_weigh_as_much_as_they_last():
    job = layers([[4, 0]], slot_weights=[300, 430])
    answer = best_mix(job, on_demand_usd_per_hour=2.0)
    assert answer.total_usd[0] == pytest.approx(4 * 300 * 2.0)


@given(st.integers(0, 10_000), st.floats(1.0, 3.0), st.sampled_from(sorted(PRICES)))
def test_a_higher_price_never_lowers_the_total_and_no_single_way_is_cheaper(seed, factor, dearer):
    demand_layers = layers(*weekly(months=13, seed=seed))
    total = best_mix(demand_layers, **PRICES).total_usd[0]
    assert best_mix(demand_layers, **PRICES | {dearer: PRICES[dearer] * factor}).total_usd[0] >= total * (1 - 1e-12)
    for key in ("on_demand_usd_per_hour", "reserved_1y_usd_per_hour", "reserved_3y_usd_per_hour"):
        alone = {"on_demand_usd_per_hour": math.nan} | {key: PRICES[key]}
        assert best_mix(demand_layers, **alone).total_usd[0] >= total * (1 - 1e-12)


def test_rework_is_lowest_at_youngs_interval():
    mean_h, checkpoint_h, restart_h = 50.0, 5 / 60, 10 / 60
    interval_h = np.linspace(0.5, 20, 5000)
    extra = checkpoint_h / interval_h + interval_h / (2 * mean_h) + restart_h / mean_h
    assert spot_rework_fraction(mean_h, 5, 10) == pytest.approx(extra.min(), rel=1e-6)


def test_rework_has_no_surprises_at_its_edges():
    assert spot_rework_fraction(math.inf, 5, 10) == 0
    assert spot_rework_fraction(10.0, 0, 6) == pytest.approx(0.01)
    assert spot_rework_fraction(np.array([10.0, math.inf]), 0, 6) == pytest.approx([0.01, 0])
    assert mean_time_between_interruptions_h(0) == math.inf
    assert mean_time_between_interruptions_h(1 - math.exp(-1)) == pytest.approx(MONTH)
    with pytest.raises(GpudashError, match="below 1"):
        mean_time_between_interruptions_h([0.1, 1.0])


def test_at_the_break_even_interruption_spot_costs_as_much_as_on_demand():
    for checkpoint_minutes, restart_minutes in ((5, 10), (5, 0), (0, 10)):
        mean_h = break_even_interruption_h(0.3, 1.0, checkpoint_minutes, restart_minutes)
        assert 0.3 * (1 + spot_rework_fraction(mean_h, checkpoint_minutes, restart_minutes)) == pytest.approx(1.0)
    assert break_even_interruption_h(1.2, 1.0, 5, 10) == math.inf
    assert break_even_interruption_h(0.3, 1.0, 0, 0) == 0


def test_break_even_use_is_the_rate_paid():
    assert break_even_utilisation(np.array([22.016, 55.04]), 55.04) == pytest.approx([0.40, 1.0])
