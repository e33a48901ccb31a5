"""Each data set lies in the cheapest tier that is fast enough, fees included."""

import itertools
import math

import numpy as np
import pytest

from gpudash import Scenario, evaluate, load_catalogue
from gpudash.errors import GpudashError
from gpudash.storage import Dataset, Tier, place, storage_usd_per_month, tiers

HOT = Tier("hot", usd_per_gb_month=0.10, latency_ms=10)
COLD = Tier("cold", usd_per_gb_month=0.01, latency_ms=50, retrieval_usd_per_gb=0.05, min_days=90)


@pytest.mark.parametrize(("reads_gb", "tier"), [(0, "cold"), (1799, "cold"), (1801, "hot")])
def test_retrieval_fees_bring_what_is_read_often_to_the_hot_tier(reads_gb, tier):
    assert place([Dataset("logs", 1000, reads_gb_per_month=reads_gb)], [HOT, COLD]).tier_by_dataset == {"logs": tier}


@pytest.mark.parametrize(("kept_days", "usd"), [(90, 10), (365, 10), (45, 20), (9, 100)])
def test_objects_that_live_shorter_than_the_minimum_pay_for_the_minimum(kept_days, usd):
    assert storage_usd_per_month(Dataset("scratch", 1000, kept_days=kept_days), COLD) == pytest.approx(usd)


def test_request_fees_are_quoted_per_thousand():
    tier = Tier("object", 0.0, 10, read_usd_per_1k=0.0004, write_usd_per_1k=0.005)
    busy = Dataset("images", 1, read_requests_per_month=2_000_000, write_requests_per_month=10_000)
    assert storage_usd_per_month(busy, tier) == pytest.approx(0.8 + 0.05)


def test_a_latency_limit_keeps_data_out_of_a_slow_tier():
    placed = place([Dataset("index", 1000, max_latency_ms=49)], [COLD, HOT])
    assert placed.tier_by_dataset == {"index": "hot"}
    assert placed.saving_fraction == 0


def test_no_tier_fast_enough_is_said_with_the_fastest_there_is():
    with pytest.raises(GpudashError, match="fastest tier, hot, needs 10 ms"):
        place([Dataset("cache", 1, max_latency_ms=1)], [COLD, HOT])


def test_the_placement_is_the_cheapest_of_all_placements():
    rng = np.random.default_rng(4)
    for _ in range(50):
        sold = [Tier(f"t{n}", *rng.uniform([0, 1], [0.2, 100]), *rng.uniform(0, [0.1, 180])) for n in range(3)]
        data = [
            Dataset(
                f"d{n}",
                *rng.uniform(0, [1000, 1000]),
                max_latency_ms=rng.uniform(100, 200),
                kept_days=rng.uniform(1, 400),
            )
            for n in range(3)
        ]
        every_way = itertools.product(sold, repeat=3)
        cheapest = min(sum(map(storage_usd_per_month, data, way)) for way in every_way)
        placed = place(data, sold)
        assert placed.monthly_usd == pytest.approx(cheapest)
        assert 0 <= placed.saving_fraction <= 1


def test_no_data_costs_nothing_and_saves_nothing():
    placed = place([], [HOT])
    assert (placed.monthly_usd, placed.all_hot_usd, placed.saving_fraction) == (0, 0, 0)


GOOD = {
    "datasets": [{"name": "logs", "size_gb": 1000, "reads_gb_per_month": 10, "max_latency_ms": None, "kept_days": 400}],
    "tiers": [{"name": "hot", "usd_per_gb_month": 0.1, "latency_ms": 10}],
}


def test_the_file_is_answered_with_its_four_figures():
    assert tiers(GOOD) == {
        "placement": {"logs": "hot"}, "monthly_usd": 100, "all_hot_usd": 100, "saving_fraction": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("group", "change", "part"),
    [
        ("datasets", {"size_gb": -1}, "size_gb of datasets[0] is -1"),
        ("datasets", {"size_gb": math.nan}, "is nan"),
        ("datasets", {"size_gb": math.inf}, "is inf"),
        ("datasets", {"size_gb": "big"}, "is big"),
        ("datasets", {"size_gb": None}, "has no size_gb"),
        ("datasets", {"kept_days": 0}, "above 0 for kept_days"),
        ("datasets", {"kept": 3}, "did you mean kept_days"),
        ("datasets", {"name": 7}, "name of datasets[0]"),
        ("tiers", {"min_days": True}, "is True"),
        ("tiers", {"latency_ms": None}, "has no latency_ms"),
    ],
)
def test_an_entry_that_cannot_be_meant_is_refused_with_its_place(group, change, part):
    with pytest.raises(GpudashError) as error:
        tiers(GOOD | {group: [GOOD[group][0] | change]})
    assert part in str(error.value)


@pytest.mark.parametrize(
    ("request_", "part"),
    [
        ([], "exactly the keys"),
        ({"datasets": []}, "exactly the keys"),
        (GOOD | {"tiers": []}, "at least one entry"),
        (GOOD | {"tiers": [3]}, "tiers[0] must be a mapping"),
        (GOOD | {"datasets": GOOD["datasets"] * 2}, "more than once"),
    ],
)
def test_a_file_of_another_shape_is_refused(request_, part):
    with pytest.raises(GpudashError) as error:
        tiers(request_)
    assert part in str(error.value)


def test_a_disk_is_not_charged_the_retrieval_fee_of_object_storage():
    """Azure publishes no retrieval fee for its disks, because there is none; Blob Cool's own is the worst known."""
    data = [{"name": "corpus", "size_gb": 20_000, "reads_gb_per_month": 40_000, "max_latency_ms": 20}]
    data += [{"name": "old", "size_gb": 80_000, "reads_gb_per_month": 500, "max_latency_ms": 1000}]
    result = evaluate(
        Scenario.read({"storage": {"datasets": data}, "requirements": {"providers_in": ["Azure"]}}), load_catalogue()
    )
    disk, cool = result.storage.tiers
    assert (disk.name, disk.retrieval_usd_per_gb, disk.read_usd_per_1k) == ("Azure Standard HDD", 0, 0)
    assert result.storage.usd_by_dataset["1. corpus"] == pytest.approx(20_000 * 0.045)
    assert cool.retrieval_usd_per_gb > 0
