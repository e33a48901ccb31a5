"""From traffic to whole servers in every hour."""

import numpy as np
import pytest

from gpudash.catalogue import load_catalogue
from gpudash.demand import (
    firm_servers,
    inference_servers,
    longest_run_hours,
    provisioned_requests_per_s,
    requests_load,
    run_hours_per_month,
    weekly_shape,
)
from gpudash.errors import GpudashError
from gpudash.scenario import Scenario

SHAPES = load_catalogue().traffic_shapes


def traffic(**changes):
    calm = {"shape": "flat", "target_utilisation_fraction": 1, "scaling_delay_minutes": 0, "cold_start_minutes": 0}
    return Scenario.read({"traffic": calm | changes}).traffic


def servers(given, capacity_requests_per_s, replicas_per_server=1):
    return inference_servers(given, requests_load(given, SHAPES, 12), capacity_requests_per_s, replicas_per_server)


@pytest.mark.parametrize(("requests", "expected"), [(1, 1), (8, 1), (8.001, 2), (9, 2), (16, 2), (17, 3)])
def test_servers_are_whole_and_a_load_that_just_fits_is_not_rounded_up(requests, expected):
    assert servers(traffic(peak_requests_per_s=requests), 8.0).max() == expected


def test_headroom_and_bursts_add_servers():
    assert servers(traffic(peak_requests_per_s=10, target_utilisation_fraction=0.5), 10.0).max() == 2
    assert servers(traffic(peak_requests_per_s=10, burst_factor=3), 10.0).max() == 3


def test_each_of_many_shapes_gets_its_own_servers():
    found = servers(traffic(peak_requests_per_s=10), np.array([10.0, 5.0, 1.0]), np.array([1, 1, 1]))
    assert found.shape == (3, 1, 168)
    assert found.max(axis=(1, 2)).tolist() == [1, 2, 10]


def test_growth_compounds_monthly_and_no_growth_needs_one_row():
    grown = requests_load(traffic(peak_requests_per_s=100, growth_fraction_per_month=0.1), SHAPES, 12)
    assert grown.requests_per_s[11].max() == pytest.approx(100 * 1.1**11)
    assert len(requests_load(traffic(), SHAPES, 12).requests_per_s) == 1


def test_minimum_replicas_hold_through_the_night_unless_the_service_may_sleep():
    night_off = [1.0] * 8 + [0.0] * 160
    asked = {"hourly_shape": night_off, "minimum_replicas": 2, "peak_requests_per_s": 1}
    assert servers(traffic(**asked), 10.0).min() == 2
    asleep = servers(traffic(**asked, scale_to_zero=True), 10.0)
    assert (asleep.min(), asleep.max()) == (0, 2)
    assert servers(traffic(**asked), 10.0, replicas_per_server=8).max() == 1


def test_a_slow_start_covers_the_coming_rise_in_the_hour_before():
    week = np.zeros(168)
    week[10] = 100.0
    for delay, before, two_before in ((0, 0, 0), (15, 25, 0), (60, 100, 0), (90, 100, 50)):
        covered = provisioned_requests_per_s(week, delay, follows_demand=True)
        assert (covered[9], covered[8], covered[10]) == pytest.approx((before, two_before, 100))


def test_without_following_the_hours_the_peak_holds_all_week():
    week = np.arange(168.0)
    assert (provisioned_requests_per_s(week, 5, follows_demand=False) == 167).all()


def test_a_shape_recorded_in_utc_moves_to_the_users_time_zone():
    here, there = (weekly_shape(traffic(shape="azure_conversation_2024", utc_offset_hours=h), SHAPES) for h in (0, 8))
    assert there[8] == here[0]
    assert (
        (weekly_shape(traffic(shape="office_hours", utc_offset_hours=8), SHAPES)[0])
        == SHAPES["office_hours"].fraction_of_peak[0]
    )


def test_an_unknown_shape_is_refused_with_the_known_ones():
    with pytest.raises(GpudashError, match="office_hours"):
        weekly_shape(traffic(shape="lunar"), SHAPES)


def test_the_part_that_may_not_run_on_spot_is_rounded_up():
    assert firm_servers(np.array([0, 1, 3, 10]), 0.5).tolist() == [0, 1, 2, 5]
    assert firm_servers(np.array([7]), 1.0).tolist() == [0]
    assert firm_servers(np.array([7]), 0.0).tolist() == [7]


def test_runs_are_spread_evenly_and_their_hours_add_up():
    assert run_hours_per_month(100, 1, 3).tolist() == [100, 0, 0]
    assert run_hours_per_month(1000, 1, 3).tolist() == [730, 270, 0]
    assert run_hours_per_month(10, 12, 12) == pytest.approx([10] * 12)
    assert run_hours_per_month(300, 24, 12).sum() == pytest.approx(7200)


def test_a_run_must_end_before_the_next_one_starts():
    assert longest_run_hours(None, 12, 12) == 730
    assert longest_run_hours(1, 12, 12) == 24
    assert longest_run_hours(365, 12, 12) == 730


def test_minimum_replicas_stand_beside_others_that_take_all_the_load_until_the_service_sleeps():
    given = traffic(hourly_shape=[1.0] * 8 + [0.0] * 160, minimum_replicas=3, peak_requests_per_s=1, scale_to_zero=True)
    left = inference_servers(
        given, requests_load(given, SHAPES, 12), 10.0, 1, served_elsewhere_requests_per_s=10.0, replicas_elsewhere=1
    )
    assert left[0, :8].tolist() == [2] * 8
    assert left[0, 8:].max() == 0
