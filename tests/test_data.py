"""The shipped data is complete, sourced, and plausible: data is tested like code."""

import re
from itertools import pairwise

import numpy as np
import pytest

from gpudash.catalogue import load_catalogue, snapshots
from gpudash.catalogue_check import check_catalogue
from gpudash.tables import DATA, read_columns
from gpudash.text import Text
from gpudash.units import gb_of_mib

CATALOGUE = load_catalogue()
OWNED_FILES = (
    "hardware.csv",
    "gpu_aliases.csv",
    "providers.csv",
    "regions.csv",
    "hardware_prices.csv",
    "electricity.csv",
    "defaults.csv",
    "traffic_shapes.csv",
    *(
        f"prices/{snapshot}/{path.name}"
        for snapshot in snapshots()
        for path in (DATA / "prices" / snapshot).glob("*.csv")
    ),
)


def test_the_shipped_data_has_no_fault():
    assert [Text("en").say(message) for message in check_catalogue()] == []


@pytest.mark.parametrize("file", [file for file in OWNED_FILES if file != "gpu_aliases.csv"])
def test_every_row_names_its_source_and_its_date(file):
    columns = read_columns(DATA / file)
    assert all(columns["source"])
    assert all(re.fullmatch(r"\d{4}(-\d{2}(-\d{2})?)?", as_of) for as_of in columns["as_of"])


@pytest.mark.parametrize("file", OWNED_FILES)
def test_the_data_names_no_machine_and_no_way_of_working(file):
    content = (DATA / file).read_text(encoding="utf-8").lower()
    assert not re.search(r"/work|/home/|/tmp/|\bsession\b|-cn\.csv|[^-]gpus\.csv", content)


def test_every_offer_can_be_bought_in_some_way():
    offers = CATALOGUE.offers
    ways = [offers.on_demand_usd_per_hour, offers.spot_usd_per_hour, offers.reserved_1y_usd_per_hour]
    ways += [offers.reserved_3y_usd_per_hour, offers.monthly_usd_per_hour]
    assert np.isfinite(np.array(ways)).any(axis=0).all()


def test_what_a_driver_reports_is_near_the_label_on_the_box():
    hardware = CATALOGUE.hardware
    known = ~np.isnan(hardware.memory_mib)
    ratio = gb_of_mib(hardware.memory_mib[known]) / hardware.memory_gb[known]
    assert known.sum() > 45
    assert ((ratio > 0.98) & (ratio < 1.08)).all()
    assert all(hardware.memory_mib_source[known])
    assert not any(hardware.memory_mib_source[~known])


def test_a_card_without_a_switch_or_bridge_has_no_link():
    hardware = CATALOGUE.hardware
    linked = ~np.isnan(hardware.link_gb_per_s_both_directions)
    assert set(hardware.link_scope[linked]) == {"all", "pair"}
    for gpu, scope in {
        "A10": "",
        "L4": "",
        "L40S": "",
        "A40": "pair",
        "A100-80GB PCIe": "pair",
        "H100 SXM": "all",
    }.items():
        assert hardware.link_scope[hardware.index(gpu)] == scope


@pytest.mark.parametrize("gpu", ["A10", "T4", "L4", "L40S", "RTX 4090", "V100-32GB", "MI300X"])
def test_cards_that_cannot_be_split_have_no_mig(gpu):
    assert CATALOGUE.hardware.mig_max_instances[CATALOGUE.hardware.index(gpu)] == 0


def test_lower_precision_is_never_slower_on_the_same_card():
    hardware = CATALOGUE.hardware
    for slow, fast in (("tf32", "fp16"), ("fp16", "fp8"), ("fp8", "fp4")):
        slower, faster = getattr(hardware, f"{slow}_tflops"), getattr(hardware, f"{fast}_tflops")
        assert not (faster < slower).any()


def test_every_week_of_traffic_peaks_at_one():
    for shape in CATALOGUE.traffic_shapes.values():
        assert len(shape.fraction_of_peak) == 168
        assert shape.fraction_of_peak.max() == 1
        assert shape.fraction_of_peak.min() >= 0


def test_the_amounts_of_an_egress_price_follow_each_other_without_a_gap():
    tiers = {}
    for tier in CATALOGUE.egress:
        tiers.setdefault((tier.provider, tier.item, tier.region_note), []).append(tier)
    for group in tiers.values():
        assert group[0].from_gb_per_month == 0
        assert group[-1].to_gb_per_month == np.inf
        assert all(low.to_gb_per_month == high.from_gb_per_month for low, high in pairwise(group))


def test_an_archive_that_must_be_restored_is_not_offered_for_fast_reads():
    slow = [tier for tier in CATALOGUE.storage if tier.storage_class == "archive" and tier.provider != "GCP"]
    assert slow
    assert all(tier.latency_ms >= 3_600_000 for tier in slow)


def test_country_groups_are_made_of_two_letter_codes():
    assert len(CATALOGUE.country_groups["EU"]) == 27
    assert CATALOGUE.country_groups["EU"] < CATALOGUE.country_groups["EEA"]
    assert all(
        isinstance(code, str) and len(code) == 2 for group in CATALOGUE.country_groups.values() for code in group
    )
