"""A user's price sheet: what it does not say is asked, what is wrong is named by line, no price changes its meaning."""

import csv
import io
import random
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gpudash import Scenario, evaluate, share
from gpudash.catalogue import load_catalogue
from gpudash.catalogue_import import import_offers, inspect_file, open_file
from gpudash.errors import GpudashError
from gpudash.offers import joined
from gpudash.tables import DATA
from gpudash.text import Text

CATALOGUE = load_catalogue()
FEEDS = Path(__file__).parent / "feeds"
OWN = {
    "provider": "Own Cloud",
    "instance": "l4.1x",
    "gpu": "L4",
    "gpus_per_server": "1",
    "gpu_fraction": "1",
    "price_unit": "server",
    "kind": "specialist",
    "region": "hall-1",
    "country": "DE",
    "currency": "USD",
    "on_demand_per_hour": "0.80",
    "source": "offer of our supplier",
    "as_of": "2026-11-01",
}
VENDOR = {"Flavor": "l4.1x", "Card": "L4", "Cards": "1", "Price": "0.80"}
MAPPING = {"instance": "Flavor", "gpu": "Card", "gpus_per_server": "Cards", "price": "Price"}
ANSWERS = {
    "price_unit": "server",
    "period": "hour",
    "term": "on_demand",
    "currency": "USD",
    "provider": "Own Cloud",
    "kind": "specialist",
    "region": "hall-1",
    "as_of": "2026-11-01",
}


def sheet(*rows, base=None, delimiter=","):
    """A CSV file of these rows, each over the base row; columns in order of appearance."""
    rows = [(base or {}) | row for row in rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerows([names, *([row.get(name, "") for name in names] for row in rows)])
    return text.getvalue().encode()


def own(*rows, **answers):
    return import_offers(sheet(*rows, base=OWN), "own.csv", CATALOGUE, **answers)


def vendor(*rows, mapping=None, **answers):
    content = sheet(*rows, base=VENDOR)
    return import_offers(content, "vendor.csv", CATALOGUE, mapping=MAPPING | (mapping or {}), **(ANSWERS | answers))


def reasons(report):
    """Line and English sentence of each row left out."""
    return {row.line: Text("en").say(row.because) for row in report.refused}


def test_the_shipped_price_sheet_imported_gives_the_shipped_offers():
    content = (DATA / "prices" / CATALOGUE.snapshot / "offers.csv").read_bytes()
    report = import_offers(content, "offers.csv", CATALOGUE)
    assert (report.format, report.refused, report.replaced, report.added) == ("gpudash", (), len(CATALOGUE.offers), 0)
    assert report.before == report.after
    for column in ("on_demand_usd_per_hour", "spot_usd_per_hour", "reserved_1y_usd_per_hour", "gpu_fraction"):
        np.testing.assert_array_equal(getattr(report.offers, column), getattr(CATALOGUE.offers, column))


def test_good_rows_are_kept_and_each_bad_row_is_named_with_its_line_and_reason():
    report = own({}, {"gpu": "H101", "instance": "b"}, {"as_of": "01.02.2026", "instance": "c"}, {"instance": "d"})
    assert report.offers.instance.tolist() == ["l4.1x", "d"]
    assert reasons(report).keys() == {3, 4}
    assert reasons(report)[3].startswith('own.csv, line 3: the GPU "H101"')
    assert "01.02.2026" in reasons(report)[4]
    assert dict(report.reasons()) == {"catalogue.offer_gpu": 1, "catalogue.not_a_date": 1}


def test_the_totals_of_the_catalogue_are_told_before_and_after():
    replaced = CATALOGUE.offers
    same = {"provider": replaced.provider[0], "instance": replaced.instance[0], "region": replaced.region[0]}
    report = own({"on_demand_per_hour": "2", "gpus_per_server": "2"}, same | {"on_demand_per_hour": "0.5", "gpu": "T4"})
    assert (report.rows, report.added, report.replaced) == (2, 1, 1)
    assert report.after.offers == report.before.offers + 1
    both = joined(CATALOGUE.offers, report.offers)
    assert len(both) == report.after.offers
    assert np.nansum(both.on_demand_usd_per_hour) == pytest.approx(report.after.on_demand_usd_per_hour)
    assert both.on_demand_usd_per_hour[both.id == replaced.id[0]].tolist() == [0.5]


@pytest.mark.parametrize("missing", ["price_unit", "period", "term", "currency", "provider", "region", "as_of", "kind"])
def test_what_a_vendors_sheet_does_not_say_is_asked_and_never_guessed(missing):
    with pytest.raises(GpudashError, match=missing) as asked:
        vendor({}, **{missing: None})
    assert "vendor.csv" in str(asked.value)


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("price_unit", "server, gpu"),
        ("period", "hour, month, year, term"),
        ("currency", "CNY"),
        ("term", "reserved_1y"),
    ],
)
def test_an_answer_that_is_not_allowed_is_refused_with_what_is(name, allowed):
    with pytest.raises(GpudashError, match=rf"{name}.*bitcoin.*{allowed}"):
        vendor({}, **{name: "bitcoin"})


def test_before_the_import_a_file_tells_its_format_its_headings_and_what_will_be_asked():
    shape = inspect_file(open_file(sheet({}, base=VENDOR), "vendor.csv"), CATALOGUE)
    assert (shape.format, shape.headings, shape.rows) == ("vendor", ("Flavor", "Card", "Cards", "Price"), 1)
    questions = {question.name: question.allowed for question in shape.questions}
    assert questions["mapping.instance"] == shape.headings
    assert questions["price_unit"] == ("server", "gpu")
    assert {"mapping.price", "currency", "period", "provider", "region", "as_of"} <= questions.keys()
    answered = inspect_file(open_file(sheet({}, base=VENDOR), "vendor.csv"), CATALOGUE, mapping=MAPPING, **ANSWERS)
    assert answered.questions == ()


def test_a_mapping_to_a_column_that_is_not_there_is_answered_with_the_columns():
    with pytest.raises(GpudashError, match=r"Prise.*Flavor, Card, Cards, Price"):
        vendor({}, mapping={"price": "Prise"})
    with pytest.raises(GpudashError, match=r"colour.*price, term, tier"):
        vendor({}, mapping={"colour": "Card"})


# Bugs of other tools (P: price and unit, Q: further ones).


@pytest.mark.parametrize("stated_gb", ["22", "24", "22.35"])
def test_p12_eight_l4_cards_have_192_gb_whatever_memory_a_feed_states(stated_gb):
    row = {"instance_name": "l4.8x", "location": "hall-1", "price": "6.4", "gpu_count": "8", "gpu_name": "L4"}
    content = sheet(row | {"gpu_memory": stated_gb, "spot": "False"})
    report = import_offers(content, "x.csv", CATALOGUE, provider="Own Cloud", kind="specialist", as_of="2026")
    offers, hardware = report.offers, CATALOGUE.hardware
    assert offers.gpus_per_server[0] * hardware.memory_gb[offers.gpu_row[0]] == 192


@pytest.mark.parametrize(
    ("total", "term", "usd_per_month"),
    [("1771.8082", "1 Year", 147.65), ("496", "1 Year", 41.33), ("933", "3 Years", 25.92)],
)
def test_p13_the_total_of_a_reservation_is_spread_over_its_term(total, term, usd_per_month):
    row = {"Price": total, "reservationTerm": term}
    report = vendor(row, mapping={"term": "reservationTerm"}, period="term", term=None)
    usd_per_hour = {"1 Year": report.offers.reserved_1y_usd_per_hour, "3 Years": report.offers.reserved_3y_usd_per_hour}
    assert usd_per_hour[term][0] * 730 == pytest.approx(usd_per_month, abs=0.005)


def test_p13_the_total_of_a_term_taken_for_an_hourly_rate_is_blocked_and_explained():
    report = vendor({"Price": "1771.8082"}, term="reserved_1y")
    assert len(report.offers) == 0
    assert "whole term" in reasons(report)[2]
    report = own({"on_demand_per_hour": "0.3", "reserved_1y_per_hour": "0.31"})
    assert "above the on-demand price" in reasons(report)[2]


SIX_ROWS = [
    {"sku": "NC4as", "os": "Linux", "Way": "Consumption", "Price": "0.0907"},
    {"sku": "NC4as Spot", "os": "Linux", "Way": "Spot", "Price": "0.0181"},
    {"sku": "NC4as Low Priority", "os": "Linux", "Way": "Low Priority", "Price": "0.0181"},
    {"sku": "NC4as", "os": "Windows", "Way": "Consumption", "Price": "0.1827"},
    {"sku": "NC4as Spot", "os": "Windows", "Way": "Spot", "Price": "0.0365"},
    {"sku": "NC4as", "os": "Linux", "Way": "1 Year", "Price": "0.0600"},
]


def test_p14_six_rows_of_one_size_are_told_apart_by_system_term_and_kind_of_purchase():
    report = vendor(*SIX_ROWS, mapping={"term": "Way", "tier": "os"}, term=None, currency="EUR")
    offers = {name: row for row, name in enumerate(report.offers.instance)}
    linux = offers["l4.1x (Linux)"]
    euro = CATALOGUE.rate("EUR")
    assert report.offers.on_demand_per_hour[linux] * 730 == pytest.approx(66.21, abs=0.005)
    assert euro.from_usd(report.offers.spot_usd_per_hour[linux]) == pytest.approx(0.0181)
    assert euro.from_usd(report.offers.reserved_1y_usd_per_hour[linux]) == pytest.approx(0.06)
    assert report.offers.on_demand_per_hour[offers["l4.1x (Windows)"]] == 0.1827
    assert "Low Priority" in reasons(report)[4]


def test_p14_rows_that_nothing_tells_apart_are_refused_together_and_not_by_last_or_cheapest():
    report = vendor(*SIX_ROWS, mapping={"term": "Way"}, term=None)
    assert len(report.offers) == 0
    assert "lines 2, 3, 5, 6" in reasons(report)[2]
    assert "tier" in reasons(report)[2]


def test_p15_a_sixth_of_a_card_stays_a_sixth_in_every_format():
    a10 = CATALOGUE.hardware.index("A10")
    answers = {"provider": "Own Cloud", "kind": "specialist", "as_of": "2026"}
    reports = [
        own({"gpu": "A10", "gpu_fraction": str(1 / 6), "on_demand_per_hour": "0.454"}),
        vendor({"Card": "A10", "Cards": "0.1667", "Price": "0.454"}),
        import_offers(
            sheet({"InstanceType": "NV6", "AcceleratorName": "A10", "AcceleratorCount": "0.167"}
                  | {"Price": "0.454", "Region": "hall-1"}),
            "vms.csv", CATALOGUE, **answers,
        ),
        import_offers(
            sheet({"instance_name": "NV6", "location": "hall-1", "price": "0.454", "gpu_count": "1"}
                  | {"gpu_name": "A10", "gpu_memory": "4.0", "spot": "False"}),
            "azure.csv", CATALOGUE, **answers,
        ),
    ]  # fmt: skip
    for report in reports:
        assert report.offers.gpu_row.tolist() == [a10]
        assert report.offers.on_demand_usd_per_gpu_hour[0] == pytest.approx(2.72, abs=0.01)


def test_p16_both_conventions_are_read_and_a_sheet_without_the_unit_is_asked_for_it():
    eight = {"Card": "A100-80GB", "Cards": "8"}
    per_gpu = vendor(eight | {"Price": "4.10"}, price_unit="gpu")
    per_server = vendor(eight | {"Price": "32.80"}, price_unit="server")
    assert per_gpu.offers.on_demand_usd_per_hour[0] * 10 == pytest.approx(328)
    assert per_server.offers.on_demand_usd_per_hour[0] * 10 == pytest.approx(328)
    without = {name: value for name, value in OWN.items() if name != "price_unit"}
    with pytest.raises(GpudashError, match="price_unit"):
        import_offers(sheet(without), "own.csv", CATALOGUE)
    mixed = vendor(
        eight | {"Price": "4.10", "Unit": "per GPU", "Flavor": "a"},
        eight | {"Price": "32.80", "Unit": "instance", "Flavor": "b"},
        eight | {"Price": "32.80", "Unit": "rack", "Flavor": "c"},
        mapping={"price_unit": "Unit"},
    )
    assert mixed.offers.on_demand_usd_per_hour.tolist() == pytest.approx([32.80, 32.80])
    assert "rack" in reasons(mixed)[4]


def test_p16_a_server_that_costs_less_than_one_of_its_cards_is_blocked():
    report = own({"on_demand_per_hour": "4.10"}, {"instance": "8x", "gpus_per_server": "8", "on_demand_per_hour": "4"})
    assert report.offers.instance.tolist() == ["l4.1x"]
    assert "per GPU" in reasons(report)[3]


def test_p18_a_spot_price_per_gpu_is_multiplied_by_the_cards():
    row = {
        "gpu": "A4000",
        "gpus_per_server": "8",
        "price_unit": "gpu",
        "on_demand_per_hour": "",
        "spot_per_hour": "1.28",
    }
    assert own(row).offers.spot_usd_per_hour[0] == pytest.approx(10.24)


@pytest.mark.parametrize("cell", ["0", "0.00", "", "NaN", "-3", "1e-9", "on request", "=1+1", "n/a", "4.10/h", "∞"])
def test_p19_what_is_no_price_is_unpriced_and_a_row_without_any_price_says_so(cell):
    report = own({"on_demand_per_hour": cell}, {"instance": "b", "on_demand_per_hour": cell, "spot_per_hour": "0.4"})
    assert report.offers.instance.tolist() == ["b"]
    assert np.isnan(report.offers.on_demand_usd_per_hour[0])
    assert "No price is left" in reasons(report)[2]
    assert report.unpriced == (0 if not cell else 2)


def test_p19_an_offer_without_a_price_for_what_is_asked_is_never_recommended():
    texts = ["0", "NaN", "-3", "1e-9", "on request"]
    rows = [{"instance": f"x{n}", "on_demand_per_hour": text, "spot_per_hour": "0.4"} for n, text in enumerate(texts)]
    catalogue = CATALOGUE.with_offers(joined(CATALOGUE.offers, own(*rows).offers))
    result = evaluate(Scenario(), catalogue)
    assert {"Own Cloud"}.isdisjoint(choice.provider for choice in result.alternatives)
    fallen = set(catalogue.offers.provider[result.rejected.offer_rows])
    assert "Own Cloud" in fallen


def test_p19_a_bid_floor_is_no_price():
    report = own(
        {"gpu": "B200", "on_demand_per_hour": "0.01"}, {"gpu": "B200", "instance": "b", "on_demand_per_hour": "3.45"}
    )
    assert report.offers.on_demand_usd_per_hour.tolist() == [3.45]
    assert "outside" in reasons(report)[2]


def test_p20_a_price_keeps_its_own_date_and_is_as_old_as_it_is():
    report = own({"as_of": "2023-10"})
    assert report.offers.as_of[0] == "2023-10"
    assert report.offers.age_days[0] > 1100


def test_p23_a_price_per_gpu_that_disagrees_with_the_price_is_reported_and_the_price_recomputed():
    report = vendor(
        {"Card": "RTX 4000 Ada", "Price": "0.41", "Per GPU": "0.27", "Flavor": "a"},
        {"Card": "A5000", "Price": "0.53", "Per GPU": "0.55", "Flavor": "b"},
        {"Card": "A4000", "Cards": "8", "Price": "1.28", "Per GPU": "0.16", "Flavor": "c"},
        mapping={"price_per_gpu": "Per GPU"},
    )
    assert report.offers.on_demand_usd_per_hour.tolist() == [0.41, 0.53, 1.28]
    assert {note.line for note in report.notes} == {2, 3}
    assert "0.55" in Text("en").say(report.notes[1].because)
    assert report.offers.gpus_per_server[2] * CATALOGUE.hardware.memory_gb[report.offers.gpu_row[2]] == 128


def test_p24_an_amount_keeps_its_currency_and_comes_back_to_the_last_digit():
    report = vendor({"Price": "25.25", "Card": "A100-80GB", "Cards": "8"}, currency="EUR")
    assert (report.offers.currency[0], report.offers.on_demand_per_hour[0]) == ("EUR", 25.25)
    assert report.offers.on_demand_usd_per_hour[0] == pytest.approx(CATALOGUE.rate("EUR").usd(25.25))
    yuan = vendor({"Price": "¥12.5"}, currency="CNY")
    assert yuan.offers.on_demand_per_hour[0] == 12.5


@pytest.mark.parametrize("amount", ["€25.25", "EUR 25.25", "25.25 GBP", "£25.25"])
def test_p24_a_sign_that_contradicts_the_currency_is_refused(amount):
    report = vendor({"Price": amount, "Card": "A100-80GB", "Cards": "8"}, currency="USD")
    assert len(report.offers) == 0
    assert "currency is USD" in reasons(report)[2]


def test_p24_fen_taken_for_yuan_are_too_dear_to_be_true():
    assert "currency" in reasons(vendor({"Price": "1250"}, currency="CNY"))[2]


def test_q09_the_same_instance_in_two_regions_is_two_offers_and_no_region_is_dropped():
    report = vendor({"Where": "north"}, {"Where": "south", "Price": "0.9"}, mapping={"region": "Where"}, region=None)
    assert report.offers.region.tolist() == ["north", "south"]


def test_q10_the_tier_is_part_of_the_key_and_of_the_label():
    report = vendor(
        {"Tier": "community", "Price": "0.98"}, {"Tier": "secure", "Price": "1.52"}, mapping={"tier": "Tier"}
    )
    assert report.offers.id.tolist() == [
        "Own Cloud / l4.1x (community) / hall-1",
        "Own Cloud / l4.1x (secure) / hall-1",
    ]
    assert report.offers.on_demand_usd_per_hour.tolist() == [0.98, 1.52]


# Amounts as people write them.


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["1,50", "2,75"], [1.5, 2.75]),
        (["1.234,50", "2,75"], [1234.5, 2.75]),
        (["1,234.50", "2.75"], [1234.5, 2.75]),
        (["1 234,50", "2,75"], [1234.5, 2.75]),
        (["1'234.50", "$2.75"], [1234.5, 2.75]),
        (["1,234", "2.75"], [1234, 2.75]),
        (["1.234", "2,75"], [1234, 2.75]),
        (["1.234", "2.75"], [1.234, 2.75]),
        (["US$1.50", "2.75 USD"], [1.5, 2.75]),
        (["１．５０", "2.75"], [1.5, 2.75]),
    ],
)
def test_separators_are_read_as_the_column_uses_them(written, read):
    rows = [{"Price": amount, "Flavor": str(row), "Card": "H100", "Cards": "64"} for row, amount in enumerate(written)]
    report = vendor(*rows, period="month")
    cells = report.checked.sheet.columns["on_demand_per_hour"]
    refused = {row.line: dict(row.because.values) for row in report.refused}
    prices = [float(cell) * 730 for cell in cells]
    prices += [values["usd_per_gpu_hour"] * 64 * 730 for values in refused.values() if "usd_per_gpu_hour" in values]
    unpriced = [values for values in refused.values() if not values]
    assert unpriced == []
    assert sorted(prices) == pytest.approx(sorted(read))


def test_a_column_that_mixes_decimal_points_and_commas_is_refused():
    with pytest.raises(GpudashError, match=r'Price: "1\.50".*"2,75"'):
        vendor({"Price": "1.50"}, {"Price": "2,75", "Flavor": "b"})


def test_a_number_of_a_workbook_keeps_its_point_beside_a_text_with_a_comma():
    rows = '<row r="1"><c t="inlineStr"><is><t>a</t></is></c><c t="inlineStr"><is><t>Price</t></is></c></row>'
    rows += '<row r="2"><c><v>1</v></c><c><v>1.234</v></c></row>'
    rows += '<row r="3"><c><v>1</v></c><c t="inlineStr"><is><t>2,75</t></is></c></row>'
    with pytest.raises(GpudashError, match="decimal comma"):
        mapping = {"instance": "a", "gpu": "a", "gpus_per_server": "a", "price": "Price"}
        import_offers(xlsx(rows), "x.xlsx", CATALOGUE, mapping=mapping, **ANSWERS)


def test_a_row_that_says_the_same_again_is_counted_and_not_a_second_offer():
    report = own({}, {}, {"on_demand_per_hour": "", "spot_per_hour": "0.4"})
    assert (report.rows, len(report.offers), report.merged, report.refused) == (3, 1, 2, ())
    assert (report.offers.on_demand_usd_per_hour[0], report.offers.spot_usd_per_hour[0]) == (0.8, 0.4)


def test_an_amount_that_may_be_a_thousand_or_a_fraction_is_asked():
    with pytest.raises(GpudashError, match=r"1,234.*point or a comma"):
        vendor({"Price": "1,234"})
    assert vendor({"Price": "1,234"}, decimal=",").offers.on_demand_usd_per_hour[0] == 1.234
    assert "1,234" in reasons(vendor({"Price": "1,234"}, decimal="."))[2]


@pytest.mark.parametrize(("period", "usd_per_hour"), [("hour", 1), ("month", 1 / 730), ("year", 1 / 8760)])
def test_the_period_of_an_amount_is_taken_as_answered(period, usd_per_hour):
    report = vendor({"Price": "876"} if period == "year" else {"Price": "73"} if period == "month" else {"Price": "1"},
                    period=period)  # fmt: skip
    amount = {"hour": 1, "month": 73, "year": 876}[period]
    assert report.offers.on_demand_usd_per_hour[0] == pytest.approx(amount * usd_per_hour)


def test_a_monthly_subscription_stays_a_month_price():
    report = vendor({"Price": "365"}, period="month", term="monthly")
    assert report.checked.sheet.columns["monthly_subscription_per_month"] == ["365"]
    assert report.offers.monthly_usd_per_hour[0] == 0.5


# Published formats.


def test_skypilots_catalogue_is_recognised_and_its_a100_has_40_gb():
    rows = [
        {
            "InstanceType": "p4d",
            "AcceleratorName": "A100",
            "AcceleratorCount": "8.0",
            "Price": "21.9",
            "SpotPrice": "9.9",
        }
        | {"Region": "us-east-1", "AvailabilityZone": "us-east-1a"},
        {
            "InstanceType": "p4d",
            "AcceleratorName": "A100",
            "AcceleratorCount": "8.0",
            "Price": "21.9",
            "SpotPrice": "8.8",
        }
        | {"Region": "us-east-1", "AvailabilityZone": "us-east-1b"},
        {"InstanceType": "c6i", "Price": "0.2", "Region": "us-east-1"},
        {"AcceleratorName": "A100", "AcceleratorCount": "8", "Price": "2.9", "Region": "us-east-1"},
    ]
    shape = inspect_file(open_file(sheet(*rows), "vms.csv"), CATALOGUE)
    assert shape.format == "skypilot"
    assert {question.name for question in shape.questions} == {"provider", "as_of"}
    report = import_offers(sheet(*rows), "vms.csv", CATALOGUE, provider="AWS", as_of="2026-11-20")
    offers = report.offers
    assert [CATALOGUE.hardware.names[row] for row in offers.gpu_row] == ["A100-40GB SXM"]
    assert (offers.on_demand_usd_per_hour[0], offers.spot_usd_per_hour[0], offers.kind[0]) == (21.9, 8.8, "hyperscaler")
    assert offers.country[0] == "US"
    assert dict(report.reasons()) == {"catalogue_import.no_gpu": 1, "catalogue_import.gpu_alone": 1}


def test_gpuhunts_catalogue_is_recognised_and_spot_is_never_taken_for_on_demand():
    base = {"instance_name": "x8", "location": "hall-1", "gpu_count": "8", "gpu_name": "A100", "gpu_memory": "40.0"}
    rows = [
        base | {"price": "9.9", "spot": "True"},
        base | {"price": "21.9", "spot": "False"},
        base | {"price": "7", "spot": "", "instance_name": "x4"},
        base | {"price": "7", "spot": "False", "instance_name": "odd", "gpu_memory": "37.5", "gpu_name": "L4"},
    ]
    report = import_offers(
        sheet(*rows), "aws.csv", CATALOGUE, provider="Own Cloud", kind="reseller", as_of="2026-11-20"
    )
    assert report.format == "gpuhunt"
    assert [CATALOGUE.hardware.names[row] for row in report.offers.gpu_row] == ["A100-40GB SXM"]
    assert (report.offers.on_demand_usd_per_hour[0], report.offers.spot_usd_per_hour[0]) == (21.9, 9.9)
    assert dict(report.reasons()) == {"catalogue_import.spot_unclear": 1, "catalogue_import.gpu_memory": 1}


def test_a_provider_that_the_catalogue_knows_needs_no_kind():
    assert vendor({}, provider="Lambda", kind=None).offers.kind[0] == "specialist"
    assert vendor({}, provider="Lambda", kind="reseller").offers.kind[0] == "reseller"


@pytest.mark.parametrize("kind", ["xlsx", "parquet"])
def test_a_workbook_and_a_parquet_file_give_the_same_offers_as_csv(kind):
    frame = pytest.importorskip("pandas").DataFrame([OWN | {"on_demand_per_hour": 0.8, "gpus_per_server": 1}])
    if kind == "xlsx":
        pytest.importorskip("openpyxl")
    content = io.BytesIO()
    frame.to_excel(content, index=False) if kind == "xlsx" else frame.to_parquet(content)
    report = import_offers(content.getvalue(), f"own.{kind}", CATALOGUE)
    assert report.refused == ()
    assert report.offers.on_demand_usd_per_hour.tolist() == own({}).offers.on_demand_usd_per_hour.tolist()
    assert report.offers.id.tolist() == own({}).offers.id.tolist()


def test_a_workbook_whose_cells_do_not_say_where_they_are_gives_the_same_offers():
    placed = cells(*OWN) + cells(*OWN.values(), row=2)
    unplaced = re.sub(r' r="\w+"', "", placed)
    assert unplaced != placed
    expected = own({}).offers
    for rows in (placed, unplaced):
        offers = import_offers(xlsx(rows=rows), "own.xlsx", CATALOGUE).offers
        assert offers.id.tolist() == expected.id.tolist()
        assert offers.on_demand_usd_per_hour.tolist() == expected.on_demand_usd_per_hour.tolist()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gbk"])
def test_chinese_names_survive_every_encoding_that_excel_writes(encoding):
    content = sheet({"provider": "青云算力", "notes": "含税价格，一年起租"}, base=OWN).decode().encode(encoding)
    assert import_offers(content, "报价.csv", CATALOGUE).offers.provider.tolist() == ["青云算力"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_separator_is_found_in_the_heading(delimiter):
    content = sheet({}, base=OWN, delimiter=delimiter)
    assert len(import_offers(content, "own.csv", CATALOGUE).offers) == 1


# Hostile files: a sentence each, in bounded time and memory.


def workbook(parts):
    """A zip of the parts, as XLSX files are."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return content.getvalue()


def xlsx(rows='<row r="1"><c r="A1"><v>1</v></c></row>', head="", declared="A1:B2"):
    """A minimal workbook whose one sheet has these rows as XML."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    links = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    packages = "http://schemas.openxmlformats.org/package/2006"
    office = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    return workbook(
        {
            "[Content_Types].xml": f'<Types xmlns="{packages}/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{office}.sheet.main+xml"/>'
            f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{office}.worksheet+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{packages}/relationships"><Relationship Id="r1" '
            f'Type="{links}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{links}"><sheets>'
            '<sheet name="prices" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{packages}/relationships"><Relationship Id="r1" '
            f'Type="{links}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
            "xl/worksheets/sheet1.xml": f'{head}<worksheet xmlns="{main}"><dimension ref="{declared}"/>'
            f"<sheetData>{rows}</sheetData></worksheet>",
        }
    )


def cells(*texts, row=1):
    """A row of a sheet as XML; each cell says where it is, as spreadsheet programs write it."""
    written = "".join(
        f'<c r="{chr(ord("A") + column)}{row}" t="inlineStr"><is><t>{text}</t></is></c>'
        for column, text in enumerate(texts)
    )
    return f'<row r="{row}">{written}</row>'


def parquet(columns, **options):
    import pyarrow
    from pyarrow import parquet as files

    content = io.BytesIO()
    files.write_table(pyarrow.table(columns), content, **options)
    return content.getvalue()


def repeated_text():
    """7 kB that would be 20 GB of text."""
    import pyarrow

    words = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 200_000, pyarrow.int32()), ["x" * 100_000])
    return parquet({"a": words, "b": [1] * 200_000}, store_schema=False)


def two_sheets():
    openpyxl = pytest.importorskip("openpyxl")
    book, content = openpyxl.Workbook(), io.BytesIO()
    book.create_sheet("Preise")
    book.save(content)
    return content.getvalue()


def declared_gigabyte():
    """A zip whose directory says that a part has 1 GB."""
    content = bytearray(xlsx())
    entry = content.find(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (10**9).to_bytes(4, "little")
    return bytes(content)


HEAD = ",".join(OWN)
ROW = ",".join(OWN.values())
BILLION_LAUGHS = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
REFUSED = {
    "nothing": b"",
    "only a byte order mark": b"\xef\xbb\xbf",
    "only spaces and line ends": b" \r\n\t\n" * 100,
    "only zero bytes": b"\0" * 1000,
    "zero bytes inside": f"{HEAD}\n{ROW}\n".replace("L4", "L\x004").encode(),
    "random bytes": bytes((17 * n * n + 3 * n) % 256 for n in range(5000)),
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "a PDF": b"%PDF-1.7\n1 0 obj",
    "a gzip": b"\x1f\x8b\x08\x00" + b"x" * 100,
    "an old workbook or one with a password": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0x" * 300,
    "a web page": b"<!DOCTYPE html><html><table><tr><td>a</td></tr></table></html>",
    "an XML file": BILLION_LAUGHS.encode(),
    "one column": b"price\n1\n2\n",
    "one long line": b"a" * 3_000_000,
    "one long line of commas": b"," * 3_000_000,
    "a heading of 5,000 columns": ",".join(f"c{n}" for n in range(5000)).encode(),
    "101 columns": ",".join(f"c{n}" for n in range(101)).encode() + b"\n",
    "a heading twice": f"{HEAD},gpu\n{ROW},L4\n".encode(),
    "a blank heading": f"{HEAD},,x\n{ROW},1,2\n".encode(),
    "a title above the heading": b"Price list 2026\nprovider,instance\n",
    "an open quotation mark": f'{HEAD}\n{ROW}\n"{ROW}\n'.encode(),
    "an open quotation mark and a megabyte after it": f'{HEAD}\n"{ROW}\n'.encode() + b"a,b\n" * 300_000,
    "text after a closing quotation mark": f'{HEAD}\n"Own" Cloud{ROW}\n'.encode(),
    "Latin-1": f"{HEAD}\n{ROW}\n".replace("Own Cloud", "Zürich Wölkchen").encode("latin-1"),
    "UTF-16 without its mark": f"{HEAD}\n{ROW}\n".encode("utf-16-le"),
    "half a UTF-16 character": b"\xff\xfe" + f"{HEAD}\n".encode("utf-16-le") + b"\x41",
    "UTF-8 cut in the middle of a character": f"{HEAD}\n{ROW}青".encode()[:-1],
    "a misspelt column": f"{HEAD}\n{ROW}\n".replace("currency", "currancy").encode(),
    "an unknown column": f"{HEAD},colour\n{ROW},red\n".encode(),
    "too many bytes": b"a,b\n" * 16_000_000,
    "too many rows": b"a,b\n" + b"1,2\n" * 260_000,
    "mixed decimal marks": f"{HEAD}\n{ROW}\n{ROW}\n".replace("0.80", '"0,80"', 1).encode(),
    "only thousands or fractions": f"{HEAD}\n{ROW}\n".replace("0.80", '"1,234"').encode(),
    "a zip that is no workbook": workbook({"prices.csv": HEAD}),
    "half a zip": xlsx()[:300],
    "a zip bomb in a workbook": workbook({"xl/workbook.xml": b"0" * 200_000_000}),
    "a gigabyte declared": declared_gigabyte(),
    "2,000 parts": workbook({"xl/workbook.xml": "<x/>"} | {f"xl/{n}.xml": "" for n in range(2000)}),
    "a workbook of empty parts": workbook({"xl/workbook.xml": "", "[Content_Types].xml": ""}),
    "a workbook with entities": xlsx(head=BILLION_LAUGHS),
    "a workbook of broken XML": xlsx(rows="<row><c></row>"),
    "a workbook with an empty sheet": xlsx(rows=""),
    "a workbook that declares 17 billion cells": xlsx(declared="A1:XFD1048576"),
    "a workbook whose second row is the millionth": xlsx(rows=cells("a", "b") + cells("1", "2", row=1_000_000)),
    "a workbook with a cell in the last column": xlsx(rows='<row r="1"><c r="XFD1"><v>1</v></c></row>'),
    "a workbook with a far cell in a near row": xlsx(rows='<row r="1"><c r="A1"/><c r="CV1048576"><v>1</v></c></row>'),
    "a workbook with far cells under another prefix": xlsx(
        rows='<row r="1"><c r="A1"/></row></sheetData><x:sheetData xmlns:x="x"><x:c r="XFD1048576"/></x:sheetData>'
        "<sheetData>"
    ),
    "a workbook with two sheets": two_sheets,
    "a Parquet mark alone": b"PAR1" + b"\0" * 50 + b"PAR1",
    "half a Parquet file": lambda: parquet({"a": [1], "b": [2]})[:-20],
    "a Parquet file of 300,000 rows": lambda: parquet({"a": [1] * 300_000, "b": [1] * 300_000}),
    "a Parquet file of 200 columns": lambda: parquet({f"c{n}": [1] for n in range(200)}),
    "a Parquet file that unpacks to 150 MB": lambda: parquet(
        {"a": [f"{n:03000}" for n in range(50_000)], "b": [1] * 50_000}
    ),
    "a Parquet file of one long text, 200,000 times": repeated_text,
    "a Parquet file with lists": lambda: parquet({"provider": [["a"]], "instance": [{"b": 1}]}),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_hostile_file_is_answered_with_a_sentence(kind):
    content = REFUSED[kind]
    with pytest.raises(GpudashError) as refusal:
        import_offers(content() if callable(content) else content, "prices.bin", CATALOGUE)
    for language in ("en", "zh"):
        sentence = Text(language)(refusal.value.code, **refusal.value.values)
        assert "prices.bin" in sentence
        assert len(sentence) < 1000
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize(
    ("cell", "value", "says"),
    [
        ("instance", '=HYPERLINK("http://x")', "formula"),
        ("provider", "+1+1", "formula"),
        ("notes", "@SUM(A1)", "formula"),
        ("instance", "a\u202eb", "control character"),
        ("instance", "a\x07b", "control character"),
        ("instance", "x" * 5000, "2,000 characters"),
        ("gpus_per_server", "1e999", "gpus_per_server"),
        ("gpus_per_server", "0", "gpus_per_server"),
        ("gpu_fraction", "nan", "gpu_fraction"),
        ("gpu_fraction", "2", "gpu_fraction"),
        ("vcpus", "inf", "vcpus"),
        ("as_of", "9999-99-99", "as_of"),
        ("kind", "friend", "kind"),
        ("price_unit", "", "price_unit"),
        ("gpu", "H101", "hardware table"),
    ],
)
def test_a_hostile_cell_costs_its_row_and_no_other(cell, value, says):
    report = own({cell: value}, {"instance": "good"})
    assert report.offers.instance.tolist() == ["good"]
    assert says in reasons(report)[2]


def test_rows_of_the_wrong_length_are_left_out_and_blank_lines_passed_over():
    content = f"{HEAD}\n{ROW}\n\n{ROW},1,2\na,b\n,,,,,,,,,,,,\n{ROW.replace('l4.1x', 'c')},,\n".encode()
    report = import_offers(content, "own.csv", CATALOGUE)
    assert report.offers.instance.tolist() == ["l4.1x", "c"]
    assert reasons(report).keys() == {4, 5}


def test_a_formula_in_a_workbook_is_never_evaluated():
    openpyxl = pytest.importorskip("openpyxl")
    book, content = openpyxl.Workbook(), io.BytesIO()
    book.active.append(list(OWN))
    book.active.append(list((OWN | {"on_demand_per_hour": "=0.4*2"}).values()))
    book.save(content)
    report = import_offers(content.getvalue(), "own.xlsx", CATALOGUE)
    assert "No price is left" in reasons(report)[2]


def test_every_reason_can_be_said_in_both_languages():
    report = own(
        {"gpu": "H101"},
        {"as_of": "x"},
        {"on_demand_per_hour": "0"},
        {"on_demand_per_hour": "99", "instance": "b"},
        {"region": ""},
    )
    assert len(report.refused) == 5
    assert all(Text(language).say(row.because) for row in report.refused for language in ("en", "zh"))


def damaged(content, dice):
    """The content with a few bytes changed, taken out, or put in."""
    content = bytearray(content)
    for _ in range(dice.choice([1, 2, 5, 20])):
        position = dice.randrange(len(content) or 1)
        length = dice.choice([0, 1, 1, 20])
        pieces = [
            b"",
            b'"',
            b",",
            b"\n",
            b"1e308",
            b"\0",
            b"nan",
            b"\xe9",
            b"1,234",
            b"$",
            bytes([dice.randrange(256)]),
        ]
        content[position : position + length] = dice.choice(pieces)
    return bytes(content)


@pytest.mark.parametrize("kind", ["own", "vendor", "skypilot", "gpuhunt", "xlsx", "parquet"])
def test_whatever_is_damaged_in_a_file_is_answered_with_rows_and_sentences(kind):
    samples = {
        "own": lambda: sheet({}, {"instance": "b"}, base=OWN),
        "vendor": lambda: sheet({}, {"Flavor": "b"}, base=VENDOR),
        "skypilot": (FEEDS / "skypilot_aws.csv").read_bytes,
        "gpuhunt": (FEEDS / "gpuhunt_aws.csv").read_bytes,
        "xlsx": lambda: xlsx(rows=cells(*OWN) + cells(*OWN.values(), row=2)),
        "parquet": lambda: parquet({name: [value, value] for name, value in OWN.items()}),
    }
    content, dice = samples[kind](), random.Random(8)
    mapping = MAPPING if kind == "vendor" else None
    for _ in range(150):
        try:
            report = import_offers(damaged(content, dice), "x", CATALOGUE, mapping=mapping, **ANSWERS)
        except GpudashError as error:
            sentences = [str(error)]
        else:
            sentences = [Text("zh").say(row.because) for row in (*report.refused, *report.notes)]
        assert all(sentences)


def test_rows_of_one_offer_that_were_read_on_different_days_keep_a_date_for_each_price():
    spot = {"on_demand_per_hour": "", "spot_per_hour": "0.30", "as_of": "2026-06-01", "source": "an older list"}
    offers = own({}, spot).offers
    assert len(offers) == 1
    assert (offers.as_of[0], offers.spot_as_of[0]) == ("2026-11-01", "2026-06-01")
    assert (offers.source[0], offers.spot_source[0]) == ("offer of our supplier", "an older list")
    assert offers.spot_age_days[0] > offers.age_days[0]


def test_a_sheet_may_state_a_date_for_each_price_and_a_bad_one_is_refused_with_its_column():
    offers = own({"reserved_1y_per_hour": "0.5", "reserved_1y_as_of": "2026-03"}).offers
    assert (offers.reserved_1y_as_of[0], offers.as_of[0]) == ("2026-03", "2026-11-01")
    assert not offers.spot_as_of[0] and np.isnan(offers.spot_age_days[0])
    (refused,) = own({"reserved_1y_per_hour": "0.5", "reserved_1y_as_of": "last spring"}).refused
    assert "reserved_1y_as_of" in Text("en").say(refused.because)


def test_an_imported_sheet_decides_and_the_answer_says_so():
    question = Scenario().with_values({"workload.model": "llama-3.1-70b", "traffic.peak_requests_per_s": 20})
    report = own({"gpu": "H200 SXM", "instance": "h200.4x", "gpus_per_server": "4", "on_demand_per_hour": "6.00"})
    prices, scenario = report.applied(CATALOGUE), question.with_value("catalogue.own_sheet", report.sheet)
    result = evaluate(scenario, prices)
    assert result.recommendation.provider == "Own Cloud"
    assert result.recommendation.on_demand_usd_per_hour == 6.00
    assert len(prices.offers) == len(CATALOGUE.offers) + 1
    assert "catalogue_import.used" in [warning.code for warning in result.warnings]


def test_a_link_names_the_sheet_it_cannot_carry_and_who_opens_it_is_told():
    report = own({})
    named = Scenario().with_value("catalogue.own_sheet", report.sheet)
    opened = share.scenario_of_url(share.url(named))
    assert opened.catalogue.own_sheet == report.sheet
    without = evaluate(opened, CATALOGUE)
    assert without.recommendation == evaluate(Scenario(), CATALOGUE).recommendation
    missing = next(warning for warning in without.warnings if warning.code == "catalogue_import.missing")
    assert "own.csv" in Text("en").say(missing)
    assert "catalogue_import.missing" not in [w.code for w in evaluate(opened, report.applied(CATALOGUE)).warnings]


def test_another_content_under_the_same_name_is_another_sheet():
    assert own({}).sheet != own({"on_demand_per_hour": "0.81"}).sheet
    assert own({}).sheet == own({}).sheet
