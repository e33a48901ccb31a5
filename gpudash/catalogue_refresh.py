"""A new price snapshot from public feeds: what a feed lists is renewed, everything else keeps its price and date."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpudash.catalogue import Catalogue, load_catalogue, snapshots
from gpudash.catalogue_diff import CatalogueDiff, diff
from gpudash.catalogue_import import ImportReport
from gpudash.catalogue_write import offer_rows, write_snapshot
from gpudash.errors import GpudashError
from gpudash.feeds import Feed, Fetch, azure, cyclenerd, feed_facts, gpuhunt, retired_since, skypilot
from gpudash.offer_sheet import KEY, PRICES, WAY_OF, check_offers, origin_cells, origins
from gpudash.records import first_day
from gpudash.result import Message
from gpudash.sheets import Refused, Sheet
from gpudash.tables import DATA, read_rows
from gpudash.units import HOURS_PER_MONTH

_DATED = ("kind", "secondary", "date_estimated", "doubt")
ReadRates = Callable[[Fetch, str], dict[str, dict[str, str]]]
_ROUNDS = 3  # how often offers that fail the check may be put back to their older row before giving up


@dataclass(frozen=True)
class FeedReport:
    """What became of one feed.

    `failed` says why the whole feed could not be read; its provider's rows then keep their older date. `not_listed`
    names offers of the provider that the feed does not hold: they too keep their older price and date.
    `oldest_as_of` is the oldest price date among the provider's offers now.
    """

    feed: str
    provider: str
    failed: Message | None
    updated: int
    added: int
    not_listed: tuple[str, ...]
    refused: tuple[Refused, ...]
    oldest_as_of: str


@dataclass(frozen=True)
class RefreshReport:
    """What a refresh did; `snapshot` is None if nothing was new or the check failed (then `faults` says why).

    `put_back` names offers whose new price did not pass the check beside the others: they keep their older row.
    """

    base: str
    snapshot: str | None
    feeds: tuple[FeedReport, ...]
    put_back: tuple[Message, ...]
    faults: tuple[Message, ...]
    diff: CatalogueDiff | None


def all_feeds() -> tuple[Feed, ...]:
    """Every feed we know, in the order in which they have the say about an offer."""
    return (*azure.feeds(), *cyclenerd.feeds(), *gpuhunt.feeds(), *skypilot.feeds())


def refresh(
    feeds: Iterable[Feed], fetch: Fetch, today: str, data: Path = DATA, read_rates: ReadRates | None = None
) -> RefreshReport:
    """Build the snapshot of `today` from the newest one and the feeds; the first feed that lists an offer has the say.

    A feed that fails, an offer that no feed lists and a price that a feed does not publish keep what they had, with
    its date. New offers are added where the region is known. `read_rates` (of feeds.ecb) renews the exchange rates too.
    Nothing is written unless the whole catalogue passes its check. Raises GpudashError if today's snapshot exists.
    """
    base = snapshots(data)[-1]
    if today in snapshots(data):
        raise GpudashError("catalogue_refresh.snapshot_exists", snapshot=today)
    catalogue = load_catalogue(base, data)
    rows = _Rows(offer_rows(base, data))
    reports = [_apply(feed, fetch, today, catalogue, rows) for feed in feeds]
    reports = tuple(replace(report, oldest_as_of=rows.oldest_as_of(report.provider)) for report in reports)
    facts, rates, done = feed_facts()["origin"], (), []
    working = ", ".join(report.feed for report in reports if not report.failed)
    if rows.renewed:
        done.append(facts["what_we_did"].format(day=today, feeds=working))
    if read_rates is not None:
        rates, of_rates = _rates(read_rates, fetch, today, base, data)
        reports = (*reports, of_rates)
        if of_rates.updated:
            newest = max(rate["as_of"] for rate in rates)
            done.append(facts["rates"].format(day=today, count=of_rates.updated, as_of=newest))
    if not done:
        return RefreshReport(base, None, reports, (), (), None)
    put_back, faults = _write(
        rows,
        today,
        base=base,
        title=facts["title"].format(day=today, base=base),
        what_we_did=done,
        rates=rates,
        data=data,
    )
    if faults:
        return RefreshReport(base, None, reports, put_back, faults, None)
    return RefreshReport(base, today, reports, put_back, (), diff(catalogue, load_catalogue(today, data)))


def add_to_catalogue(report: ImportReport, today: str, data: Path = DATA) -> tuple[Message, ...]:
    """Write the snapshot of `today`: the newest one with the imported offers; what the check finds if it fails.

    Providers and regions must be known (data/providers.csv, data/regions.csv).
    """
    base = snapshots(data)[-1]
    rows = offer_rows(base, data) | _by_key(report.checked.sheet)
    facts = feed_facts()["origin"]
    return write_snapshot(
        list(rows.values()),
        today,
        base=base,
        title=facts["title"].format(day=today, base=base),
        what_we_did=[facts["imported"].format(day=today, count=len(report.offers))],
        data=data,
    )


def _rates(read: ReadRates, fetch: Fetch, today: str, base: str, data: Path):
    """The base's exchange rates with those of the feed laid over them, and what became of it.

    A rate that is older than ours, or too far from it to be true, is left out.
    """
    old = read_rows(data / "prices" / base / "exchange_rates.csv")
    name, oldest = feed_facts()["ecb"]["source"], min((row["as_of"] for row in old), key=first_day)
    try:
        new = read(fetch, today)
    except GpudashError as error:
        return (), FeedReport(name, "", Message.of(error.code, **error.values), 0, 0, (), (), oldest)
    rows, refused, updated = [], [], 0
    for line, row in enumerate(old, start=2):
        found = new.get(row["currency"], row)
        fault = _rate_fault(row, found)
        if fault:
            refused.append(Refused(line, fault))
        updated += found["as_of"] != row["as_of"] and not fault
        rows.append(row if fault else found)
    not_listed = tuple(row["currency"] for row in old if row["currency"] not in new and row["currency"] != "USD")
    oldest = min((row["as_of"] for row in rows), key=first_day)
    return rows, FeedReport(name, "", None, updated, 0, not_listed, tuple(refused), oldest)


def _rate_fault(old: dict[str, str], new: dict[str, str]) -> Message | None:
    if first_day(old["as_of"]) > first_day(new["as_of"]):
        return Message.of("catalogue_refresh.older", offer=old["currency"], old=old["as_of"], new=new["as_of"])
    change, factor = (
        float(new["units_per_usd"]) / float(old["units_per_usd"]),
        feed_facts()["ecb"]["largest_change_factor"],
    )
    if not 1 / factor <= change <= factor:
        amounts = {"old": old["units_per_usd"], "new": new["units_per_usd"]}
        return Message.of("catalogue_refresh.rate_jump", currency=old["currency"], **amounts)
    return None


@dataclass
class _Rows:
    """The offers of the base snapshot, as they are renewed; `renewed` are those a feed has decided."""

    base: dict[tuple, dict[str, str]]
    now: dict[tuple, dict[str, str]] = field(default_factory=dict)
    renewed: set[tuple] = field(default_factory=set)

    def __post_init__(self):
        self.now = dict(self.base)

    def oldest_as_of(self, provider: str) -> str:
        dates = [row["as_of"] for row in self.now.values() if row["provider"] == provider]
        return min(dates, key=first_day, default="")

    def put_back(self, keys: Iterable[tuple]) -> None:
        """Give offers the row of the base again; what the base does not hold is left out."""
        for key in keys:
            self.renewed.discard(key)
            if key in self.base:
                self.now[key] = self.base[key]
            else:
                self.now.pop(key, None)


def _apply(feed: Feed, fetch: Fetch, today: str, catalogue: Catalogue, rows: _Rows) -> FeedReport:
    try:
        checked = check_offers(feed.read(fetch, catalogue, today), catalogue, feed.name)
    except GpudashError as error:
        failed = Message.of(error.code, **error.values)
        return FeedReport(feed.name, feed.provider, failed, 0, 0, (), (), "")
    refused = [row for row in checked.sheet.refused if row.because.code != "catalogue_import.no_gpu"]
    listed = _by_key(checked.sheet)
    updated = added = 0
    for line, (key, row) in zip(checked.sheet.lines, listed.items()):
        if key in rows.renewed:
            continue
        fault = _renew(key, row, catalogue, rows)
        if fault:
            refused.append(Refused(line, fault))
        elif key in rows.base:
            updated += 1
        else:
            added += 1
    not_listed = tuple(" / ".join(key) for key in rows.base if key[0] == feed.provider and key not in listed)
    refused.sort(key=lambda row: row.line)
    return FeedReport(feed.name, feed.provider, None, updated, added, not_listed, tuple(refused), "")


def _by_key(sheet: Sheet) -> dict[tuple, dict[str, str]]:
    rows = [dict(zip(sheet.columns, cells)) for cells in zip(*sheet.columns.values())]
    return {tuple(row[name] for name in KEY): row for row in rows}


def _renew(key: tuple, row: dict[str, str], catalogue: Catalogue, rows: _Rows) -> Message | None:
    """Take over a feed's row, or say why not."""
    old, since = rows.base.get(key), retired_since(row["provider"], row["instance"])
    if since:
        return Message.of("catalogue_refresh.retired", offer=" / ".join(key), since=since)
    if (row["provider"], row["region"]) not in catalogue.regions:
        return Message.of("catalogue_refresh.unknown_region", provider=row["provider"], region=row["region"])
    if old and old["currency"] != row["currency"]:
        return Message.of("catalogue_refresh.currency", offer=" / ".join(key), old=old["currency"], new=row["currency"])
    if old and first_day(old["as_of"]) > first_day(row["as_of"]):
        return Message.of("catalogue_refresh.older", offer=" / ".join(key), old=old["as_of"], new=row["as_of"])
    rows.now[key] = _joined(old, row) if old else row
    rows.renewed.add(key)
    return None


def _joined(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    """The old row with the new prices; a price that the feed does not publish is kept with its source and date.

    A kept price above the new on-demand price cannot be true any more and is left out.
    """
    dated = old if old["on_demand_per_hour"] and not new["on_demand_per_hour"] else new
    joined = old | {name: dated.get(name, "") for name in _DATED} | {"price_unit": new["price_unit"]}
    per_server = int(old["gpus_per_server"]) if old["price_unit"] == "gpu" else 1
    for name in PRICES:
        kept = repr(float(old[name]) * per_server) if old[name] and per_server > 1 else old[name]
        joined[name] = new[name] or kept
        if _above_on_demand(name, joined, new["on_demand_per_hour"]):
            joined[name] = ""
    kept = {name for name in PRICES if joined[name] and not new[name]}
    notes = [note for note in old["notes"].split("; ") if not _about(note) or _about(note) & kept]
    priced = {WAY_OF[name] for name in PRICES if joined[name]}
    of_prices = {way: origin for way, origin in (origins(old) | origins(new)).items() if way in priced}
    return joined | origin_cells(of_prices) | {"notes": "; ".join(notes)}


def _about(note: str) -> set[str]:
    """The price columns that a note speaks of: it begins with the column's name or first word ("spot: ...")."""
    subject = re.split(r"\s*[:=]", note, maxsplit=1)[0]
    return {name for name in PRICES if subject in (name, name.partition("_")[0])}


def _above_on_demand(name: str, row: dict[str, str], on_demand_per_hour: str) -> bool:
    hours = HOURS_PER_MONTH if name.endswith("_per_month") else 1
    return bool(row[name] and on_demand_per_hour) and float(row[name]) / hours > float(on_demand_per_hour)


def _write(rows: _Rows, today: str, **details) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Write the rows, putting back those that fail the check; what was put back, and the faults if it was in vain."""
    put_back: list[Message] = []
    for _ in range(_ROUNDS):
        faults = write_snapshot(list(rows.now.values()), today, **details)
        suspects = {key: fault for fault in faults for key in _suspects(fault, rows)}
        if not suspects:
            break
        put_back += dict.fromkeys(suspects.values())
        rows.put_back(suspects)
    return tuple(put_back), faults


def _suspects(fault: Message, rows: _Rows) -> list[tuple]:
    """The renewed offers that a fault may come from: the one it names, else those of its provider, region and GPU."""
    named = tuple(str(dict(fault.values).get("offer", "")).split(" / "))
    if named in rows.renewed or named not in rows.now:
        return [named] if named in rows.renewed else []
    same = ("provider", "region", "gpu")
    return [key for key in rows.renewed if all(rows.now[key][name] == rows.now[named][name] for name in same)]
