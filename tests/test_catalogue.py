"""The catalogue: prices in one unit, names forgiven, and every refusal says file and line."""

import csv
import hashlib
import shutil

import numpy as np
import pytest

from gpudash.catalogue import load_catalogue, snapshots
from gpudash.catalogue_check import check_catalogue
from gpudash.errors import GpudashError
from gpudash.records import ExchangeRate
from gpudash.tables import DATA
from gpudash.text import Text

CATALOGUE = load_catalogue()
SNAPSHOT = snapshots()[-1]
OFFER = {
    "provider": "AWS",
    "instance": "made-up.1x",
    "gpu": "L4",
    "gpus_per_server": "1",
    "gpu_fraction": "1",
    "price_unit": "server",
    "kind": "hyperscaler",
    "region": "us-east-1",
    "country": "US",
    "currency": "USD",
    "source": "invented for this test",
    "as_of": "2026-11-01",
}


@pytest.fixture
def copy(tmp_path):
    """A private copy of the data whose CSV files a test may change; `copy.offers(...)` replaces the price sheet."""
    return Copy(tmp_path / "data")


class Copy:
    def __init__(self, root):
        self.root = root
        self.prices = root / "prices" / SNAPSHOT
        shutil.copytree(DATA / "prices", root / "prices")
        for path in (*DATA.glob("*.csv"), DATA / "country_groups.yaml"):
            shutil.copy(path, root)

    def set(self, file, line, column, value):
        path = self.path(file)
        with open(path, encoding="utf-8", newline="") as content:
            rows = list(csv.reader(content))
        rows[line - 1][rows[0].index(column)] = value
        self.write(path, rows)

    def offers(self, *rows):
        path = self.path("offers.csv")
        header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
        self.write(path, [header, *([(OFFER | row).get(column, "") for column in header] for row in rows)])
        return self.load().offers

    def exchange_rate(self, currency, units_per_usd):
        path = self.path("exchange_rates.csv")
        with open(path, encoding="utf-8", newline="") as content:
            line = next(line for line, row in enumerate(csv.reader(content), start=1) if row[0] == currency)
        self.set("exchange_rates.csv", line, "units_per_usd", str(units_per_usd))

    def path(self, file):
        return self.prices / file if (self.prices / file).exists() else self.root / file

    def write(self, path, rows):
        with open(path, "w", encoding="utf-8", newline="") as content:
            csv.writer(content, lineterminator="\n").writerows(rows)
        if path.parent == self.prices:
            self.restate_checksum(path)

    def restate_checksum(self, path):
        origin = self.prices / "origin.yaml"
        lines = origin.read_text(encoding="utf-8").splitlines()
        fresh = f"  {path.name}: {hashlib.sha256(path.read_bytes()).hexdigest()}"
        lines = [fresh if line.startswith(f"  {path.name}:") else line for line in lines]
        origin.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def load(self):
        return load_catalogue(SNAPSHOT, self.root)

    def faults(self):
        return {message.code: Text("en").say(message) for message in check_catalogue(self.root)}


@pytest.mark.parametrize("cell", ["0", "", "NaN", "nan", "-3", "1e-9", "0.0009", "inf", "on request", "=1+1"])
def test_a_price_that_is_none_is_unpriced_and_never_first(copy, cell):
    offers = copy.offers({"on_demand_per_hour": cell}, {"instance": "made-up.2x", "on_demand_per_hour": "99"})
    assert np.isnan(offers.on_demand_usd_per_hour[0])
    assert np.argsort(offers.on_demand_usd_per_hour)[0] == 1


def test_yuan_become_dollars_and_the_way_back_is_exact(copy):
    copy.exchange_rate("CNY", 7.2)
    offers = copy.offers({"currency": "CNY", "on_demand_per_hour": "12.5"})
    assert offers.on_demand_usd_per_hour[0] == pytest.approx(1.736, abs=0.0005)
    assert ExchangeRate("CNY", 7.2, "test", "2026").from_usd(ExchangeRate("CNY", 7.2, "test", "2026").usd(12.5)) == 12.5
    assert offers.on_demand_per_hour[0] == 12.5
    assert offers.currency[0] == "CNY"


def test_eight_l4_cards_have_192_gb():
    hardware, offers = CATALOGUE.hardware, CATALOGUE.offers
    row = list(offers.instance).index("g2-standard-96")
    assert hardware.names[offers.gpu_row[row]] == "L4"
    assert offers.gpus_per_server[row] * hardware.memory_gb[offers.gpu_row[row]] == 192


def test_a_price_per_gpu_is_multiplied_by_the_cards_of_the_server(copy):
    per_gpu = {"price_unit": "gpu", "on_demand_per_hour": "4.10", "spot_per_hour": "1.28"}
    offers = copy.offers(per_gpu | {"gpus_per_server": "8"}, {"gpus_per_server": "8", "on_demand_per_hour": "4.10"})
    assert offers.on_demand_usd_per_hour.tolist() == pytest.approx([32.80, 4.10])
    assert offers.on_demand_usd_per_hour[0] * 10 == pytest.approx(328)
    assert offers.spot_usd_per_hour[0] == pytest.approx(10.24)


def test_a_sixth_of_a_card_does_not_look_cheaper_than_the_whole_card(copy):
    sixth = {"gpu": "A10", "gpu_fraction": str(1 / 6), "on_demand_per_hour": "0.454"}
    offers = copy.offers(sixth, {"gpu": "A10", "on_demand_per_hour": "2.00"})
    assert offers.on_demand_usd_per_gpu_hour.tolist() == pytest.approx([2.724, 2.00])


def test_a_monthly_subscription_is_spread_over_730_hours(copy):
    offers = copy.offers({"monthly_subscription_per_month": "730", "monthly_subscription_1y_per_month": "365"})
    assert offers.monthly_usd_per_hour[0] == 1
    assert offers.reserved_1y_usd_per_hour[0] == 0.5


def test_a_published_discount_for_the_gpu_family_gives_the_committed_price(copy):
    offers = copy.offers({"instance": "g6.xlarge", "on_demand_per_hour": "1"})
    assert offers.reserved_1y_usd_per_hour[0] == pytest.approx(1 - 0.3491)
    assert offers.reserved_3y_usd_per_hour[0] == pytest.approx(1 - 0.5408)
    assert offers.reserved_1y_origin[0] == "derived"
    assert "cloud-price-radar" in offers.reserved_1y_source[0]


@pytest.mark.parametrize(
    "offer",
    [
        pytest.param({"instance": "m7i.large"}, id="an average over CPU families"),
        pytest.param({"provider": "CoreWeave"}, id="up to so many percent"),
        pytest.param({"provider": "Hyperstack", "gpu": "L40"}, id="a from-price without a term"),
        pytest.param({"instance": "g6.xlarge", "currency": "CNY"}, id="another currency's price list"),
    ],
)
def test_a_discount_that_is_not_for_this_server_gives_no_committed_price(copy, offer):
    offers = copy.offers({"on_demand_per_hour": "5"} | offer)
    assert np.isnan(offers.reserved_1y_usd_per_hour[0])
    assert np.isnan(offers.reserved_3y_usd_per_hour[0])
    assert offers.reserved_1y_origin[0] == ""


def test_a_listed_committed_price_is_kept_and_a_one_month_term_is_a_subscription(copy):
    offers = copy.offers(
        {"instance": "g6.xlarge", "on_demand_per_hour": "1", "reserved_1y_per_hour": "0.9"},
        {"provider": "Verda", "on_demand_per_hour": "1"},
    )
    assert offers.reserved_1y_usd_per_hour.tolist() == pytest.approx([0.9, 0.92])
    assert offers.reserved_1y_origin.tolist() == ["catalogue", "derived"]
    assert offers.monthly_usd_per_hour[1] == pytest.approx(0.98)


def test_spot_prices_are_never_invented_from_a_typical_saving():
    offers = CATALOGUE.offers
    row = list(offers.id).index("AWS / g4dn.xlarge / us-east-1")
    assert np.isnan(offers.spot_usd_per_hour[row])


def test_interruptions_come_from_the_most_specific_record(copy):
    offers = copy.offers(
        {"instance": "g6e.2xlarge", "gpu": "L40S"},
        {"instance": "g6e.xlarge", "gpu": "L40S"},
        {"instance": "g6e.xlarge", "gpu": "L40S", "region": "eu-south-2", "country": "ES"},
        {"provider": "GCP", "instance": "g2-standard-4"},
    )
    assert offers.interruption_fraction_per_month[:3].tolist() == [0.075, 0.203, 0.151]
    assert np.isnan(offers.interruption_fraction_per_month[3])


@pytest.mark.parametrize(("as_of", "days"), [("2026-11-29", 1), ("2026-11", 29), ("2026", 333), ("2024-11-30", 730)])
def test_the_age_of_a_price_counts_from_the_first_day_its_date_may_mean(copy, as_of, days):
    assert copy.offers({"as_of": as_of}).age_days[0] == days


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("h100-sxm", "H100 SXM"),
        ("  L4 ", "L4"),
        ("rtx4090", "RTX 4090"),
        ("A100", "A100-80GB SXM"),
        ("A100-80GB", "A100-80GB SXM"),
        ("RTX PRO 6000 BSE", "RTX PRO 6000 Blackwell"),
        ("GH200 96GB", "GH200"),
        ("Ascend-910B", "Ascend 910B"),
    ],
)
def test_a_gpu_is_found_however_it_is_spelt(written, meant):
    hardware = CATALOGUE.hardware
    assert hardware.names[hardware.index(written)] == meant


def test_an_unknown_gpu_is_answered_with_the_nearest_ones():
    with pytest.raises(GpudashError, match=r"H1000.*H100 SXM"):
        CATALOGUE.hardware.index("H1000")
    with pytest.raises(GpudashError):
        CATALOGUE.hardware.index("")


def test_an_unknown_snapshot_is_answered_with_the_nearest():
    with pytest.raises(GpudashError, match=SNAPSHOT):
        load_catalogue("2026-12-24")
    with pytest.raises(GpudashError, match=SNAPSHOT):
        load_catalogue("../..")


def test_offers_are_listed_by_what_was_chosen_and_an_empty_choice_means_all():
    offers, groups = CATALOGUE.offers, CATALOGUE.country_groups
    assert CATALOGUE.rows_of().tolist() == list(range(len(offers)))
    rows = CATALOGUE.rows_of(providers=("AWS", "Azure"), gpus=("H100 SXM",), countries=("EU",), kinds=("hyperscaler",))
    gpu = CATALOGUE.hardware.index("H100 SXM")
    meant = [
        row
        for row in range(len(offers))
        if offers.provider[row] in ("AWS", "Azure") and offers.gpu_row[row] == gpu
        and offers.country[row] in groups["EU"] and offers.kind[row] == "hyperscaler"
    ]  # fmt: skip
    assert rows.tolist() == meant and meant
    assert len(CATALOGUE.rows_of(providers=("Nobody",))) == 0


def test_the_newest_snapshot_is_read_once():
    assert load_catalogue() is load_catalogue(SNAPSHOT)


def test_nobody_can_change_the_catalogue_by_accident():
    with pytest.raises(ValueError, match="read-only"):
        CATALOGUE.offers.on_demand_usd_per_hour[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        CATALOGUE.hardware.usable_gb[0] = 0
    with pytest.raises(TypeError):
        CATALOGUE.exchange_rates["CNY"] = 1


@pytest.mark.parametrize(
    ("file", "column", "value", "says"),
    [
        ("offers.csv", "gpu", "H101", "offers.csv, line 5: the GPU"),
        ("offers.csv", "currency", "XXX", "offers.csv, line 5: there is no exchange rate"),
        ("offers.csv", "gpus_per_server", "7.5", "offers.csv, line 5: gpus_per_server"),
        ("offers.csv", "gpus_per_server", "inf", "offers.csv, line 5: gpus_per_server"),
        ("offers.csv", "gpus_per_server", "1e300", "offers.csv, line 5: gpus_per_server"),
        ("offers.csv", "gpus_per_server", "", "offers.csv, line 5: gpus_per_server"),
        ("offers.csv", "gpu_fraction", "0", "offers.csv, line 5: gpu_fraction"),
        ("offers.csv", "price_unit", "node", "offers.csv, line 5: price_unit"),
        ("offers.csv", "kind", "friend", "offers.csv, line 5: kind"),
        ("offers.csv", "source", "", "offers.csv, line 5: source is blank"),
        ("offers.csv", "as_of", "", "offers.csv, line 5: as_of is blank"),
        ("offers.csv", "as_of", "2026-13-01", "offers.csv, line 5: as_of"),
        ("offers.csv", "as_of", "01.02.2026", "offers.csv, line 5: as_of"),
        ("offers.csv", "secondary", "maybe", "offers.csv, line 5: secondary"),
        ("hardware.csv", "memory_gb", "lots", "hardware.csv, line 5: memory_gb"),
        ("hardware.csv", "tdp_w", "inf", "hardware.csv, line 5: tdp_w"),
        ("storage.csv", "storage_class", "lukewarm", "storage.csv, line 5: storage_class"),
        ("gpu_aliases.csv", "gpu", "nothing", "gpu_aliases.csv, line 5"),
        ("traffic_shapes.csv", "fraction_of_peak_by_hour_of_week", "1 1 1", "traffic_shapes.csv, line 5"),
    ],
)
def test_a_bad_cell_stops_the_load_and_is_named_with_file_and_line(copy, file, column, value, says):
    copy.set(file, 5, column, value)
    with pytest.raises(GpudashError) as refusal:
        copy.load()
    assert str(refusal.value).startswith(says)


def test_a_misspelt_column_is_refused(copy):
    path = copy.path("offers.csv")
    path.write_text(path.read_text(encoding="utf-8").replace("spot_per_hour", "spot_price", 1), encoding="utf-8")
    copy.restate_checksum(path)
    with pytest.raises(GpudashError, match=r"missing: spot_per_hour; not known: spot_price"):
        copy.load()


def test_the_check_names_every_implausible_price(copy):
    copy.offers(
        {"instance": "bid floor", "on_demand_per_hour": "0.01"},
        {"instance": "term total", "on_demand_per_hour": "0.3", "reserved_1y_per_hour": "1771.8"},
        {"instance": "dear spot", "on_demand_per_hour": "0.3", "spot_per_hour": "0.31"},
        {"instance": "per GPU taken for the server", "on_demand_per_hour": "0.25", "gpus_per_server": "8"},
        {"instance": "g6.xlarge MIG 1g", "on_demand_per_hour": "0.3"},
        {"instance": "tomorrow", "on_demand_per_hour": "0.3", "as_of": "2026-12-01"},
    )
    found = [Text("en").say(message) for message in check_catalogue(copy.root)]
    for code, offer in (
        ("outside", "bid floor"),
        ("reserved_1y", "term total"),
        ("spot", "dear spot"),
        ("cannot be split", "g6.xlarge MIG 1g"),
        ("later than", "tomorrow"),
    ):
        assert any(code in sentence and sentence.startswith(f"AWS / {offer} /") for sentence in found)


def test_the_check_finds_a_server_that_is_cheaper_than_one_of_its_cards(copy):
    copy.offers(
        {"instance": "one", "on_demand_per_hour": "4.10"},
        {"instance": "eight", "on_demand_per_hour": "4.00", "gpus_per_server": "8"},
    )
    assert "8 GPUs cost 4" in copy.faults()["catalogue.server_below_card"]


@pytest.mark.parametrize(
    ("file", "column", "value", "code"),
    [
        ("offers.csv", "on_demand_per_hour", "on request", "catalogue.not_a_price"),
        ("offers.csv", "on_demand_per_hour", "0", "catalogue.not_a_price"),
        ("offers.csv", "provider", "Nobody", "catalogue.provider"),
        ("offers.csv", "region", "atlantis", "catalogue.region"),
        ("offers.csv", "country", "DE", "catalogue.region"),
        ("offers.csv", "source", "", "catalogue.blank"),
        ("storage.csv", "currency", "XXX", "catalogue.currency"),
        ("commitments.csv", "discount_fraction", "35", "catalogue.fraction"),
        ("hardware_prices.csv", "gpu", "H101", "catalogue.owned_gpu"),
    ],
)
def test_the_check_finds_a_single_bad_cell(copy, file, column, value, code):
    copy.set(file, 5, column, value)
    assert code in copy.faults()


def test_the_check_finds_a_key_used_twice(copy):
    copy.offers({"on_demand_per_hour": "0.5"}, {"on_demand_per_hour": "0.6"})
    assert "line 3: AWS / made-up.1x / us-east-1 already stands in line 2" in copy.faults()["catalogue.repeated_key"]


def test_the_check_finds_a_snapshot_that_was_edited(copy):
    with open(copy.path("spot.csv"), "a", encoding="utf-8") as content:
        content.write("\n")
    assert "spot.csv has changed" in copy.faults()["catalogue.checksum"]


def test_the_check_finds_missing_and_unlisted_files(copy):
    copy.path("spot.csv").rename(copy.prices / "more.csv")
    assert {"catalogue.file_missing", "catalogue.file_unlisted"} <= copy.faults().keys()
