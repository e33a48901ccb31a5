"""The offers: what each server costs per hour, in US dollars, in read-only columns with NaN for unpriced."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

import numpy as np

from gpudash.errors import GpudashError
from gpudash.freshness import freshness_rules
from gpudash.hardware import Hardware, read_only
from gpudash.records import (
    TERM_MONTHS,
    WAYS,
    Commitment,
    ExchangeRate,
    OfferRow,
    OtherQuote,
    SpotRecord,
    first_day,
    parse_columns,
    refuse,
)
from gpudash.result import Message
from gpudash.units import HOURS_PER_MONTH

OWN_DATES = WAYS[1:]  # whose price may have a source and date of its own


@dataclass(frozen=True, eq=False)
class Offers:
    """One entry per offer (provider, instance, region); money is per whole server and hour, NaN where unpriced.

    `gpu_row` points into the hardware, `provider_row` into `provider_names`, `place_row` into `places`
    (provider, region, country). `kind` is that of the offer, which may differ from its provider's: RunPod rents out
    other people's machines as a marketplace and its own as a specialist. `gpu_fraction` is below 1 where a "GPU" is a
    slice of a card. `..._origin` is `catalogue`, `derived` (a published discount applied to the on-demand price) or
    blank. `on_demand_per_hour` is the listed price in `currency`. `source`, `as_of` and `age_days` are those of the
    on-demand price; the other prices have their own, see `source_of` and the like. `other_...` span what other sources
    ask on demand for the same machine, NaN where none is known. `doubt` is that of `records.OfferRow`; `per_card`
    marks a price per card beside which no server of several cards is named.
    """

    provider_names: tuple[str, ...]
    places: tuple[tuple[str, str, str], ...]
    provider_row: np.ndarray
    place_row: np.ndarray
    gpu_row: np.ndarray
    gpus_per_server: np.ndarray
    gpu_fraction: np.ndarray
    vcpus: np.ndarray
    memory_gb: np.ndarray
    provider: np.ndarray
    instance: np.ndarray
    region: np.ndarray
    country: np.ndarray
    kind: np.ndarray
    currency: np.ndarray
    on_demand_per_hour: np.ndarray
    on_demand_usd_per_hour: np.ndarray
    spot_usd_per_hour: np.ndarray
    reserved_1y_usd_per_hour: np.ndarray
    reserved_3y_usd_per_hour: np.ndarray
    monthly_usd_per_hour: np.ndarray
    reserved_1y_origin: np.ndarray
    reserved_3y_origin: np.ndarray
    monthly_origin: np.ndarray
    spot_source: np.ndarray
    reserved_1y_source: np.ndarray
    reserved_3y_source: np.ndarray
    monthly_source: np.ndarray
    spot_as_of: np.ndarray
    reserved_1y_as_of: np.ndarray
    reserved_3y_as_of: np.ndarray
    monthly_as_of: np.ndarray
    spot_age_days: np.ndarray
    reserved_1y_age_days: np.ndarray
    reserved_3y_age_days: np.ndarray
    monthly_age_days: np.ndarray
    interruption_fraction_per_month: np.ndarray
    interruption_band: np.ndarray
    interruption_source: np.ndarray
    interruption_as_of: np.ndarray
    other_low_usd_per_hour: np.ndarray
    other_high_usd_per_hour: np.ndarray
    doubt: np.ndarray
    per_card: np.ndarray
    age_days: np.ndarray
    secondary: np.ndarray
    date_estimated: np.ndarray
    source: np.ndarray
    as_of: np.ndarray
    notes: np.ndarray

    def __len__(self) -> int:
        return len(self.gpu_row)

    @cached_property
    def id(self) -> np.ndarray:
        """The name of an offer in results and links: provider / instance / region."""
        return read_only([" / ".join(key) for key in zip(self.provider, self.instance, self.region)], object)

    @cached_property
    def on_demand_usd_per_gpu_hour(self) -> np.ndarray:
        """On-demand price of one whole card: server price / (GPUs × fraction of a card)."""
        return read_only(self.on_demand_usd_per_hour / (self.gpus_per_server * self.gpu_fraction))

    def usd_per_hour_of(self, way: str) -> np.ndarray:
        """The price of one way of buying (`on_demand`, `spot`, `monthly`, `reserved_1y`, `reserved_3y`)."""
        return getattr(self, f"{way}_usd_per_hour")

    def origin_of(self, way: str) -> np.ndarray:
        """`catalogue` or `derived` (a discount off the on-demand price); blank where a commitment is unpriced."""
        return getattr(self, f"{way}_origin") if way in TERM_MONTHS else np.full(len(self), "catalogue", object)

    def source_of(self, way: str) -> np.ndarray:
        """Where the price of one way of buying was read; blank where unpriced."""
        return self.source if way == "on_demand" else getattr(self, f"{way}_source")

    def as_of_of(self, way: str) -> np.ndarray:
        """The date of the price of one way of buying; blank where unpriced."""
        return self.as_of if way == "on_demand" else getattr(self, f"{way}_as_of")

    def age_days_of(self, way: str) -> np.ndarray:
        """The age of the price of one way of buying on the day of the snapshot; NaN where unpriced."""
        return self.age_days if way == "on_demand" else getattr(self, f"{way}_age_days")

    def row_of(self, offer: str) -> int:
        """The row of the offer with this id, which must be among these."""
        return int(np.flatnonzero(self.id == offer)[0])

    def take(self, rows) -> "Offers":
        """These rows as offers of their own, in the given order; rows may repeat."""
        columns = {
            field.name: read_only(getattr(self, field.name)[rows]) for field in fields(self) if field.type is np.ndarray
        }
        return replace(self, **columns)


def joined(offers: Offers, more: Offers) -> Offers:
    """All of `more`, and those of `offers` that it does not replace (the same provider, instance and region)."""
    replaced = set(more.id)
    kept = offers.take([row for row, name in enumerate(offers.id) if name not in replaced])
    columns = {
        field.name: read_only(np.concatenate([getattr(kept, field.name), getattr(more, field.name)]))
        for field in fields(Offers)
        if field.type is np.ndarray
    }
    provider_names, columns["provider_row"] = _codes(columns["provider"])
    places, columns["place_row"] = _codes(zip(columns["provider"], columns["region"], columns["country"]))
    return Offers(provider_names=provider_names, places=places, **columns)


def read_offers(path: Path, hardware: Hardware, exchange_rates: Mapping[str, ExchangeRate], **context) -> Offers:
    """Offers of a price sheet; a bad cell, unknown GPU or unknown currency is refused with file and line.

    `context` is what `offers_of` asks for.
    """
    cells, faults = parse_columns(path, OfferRow)
    refuse(faults or reference_faults(path.name, cells, hardware, exchange_rates))
    return offers_of(cells, hardware, exchange_rates, **context)


def offers_of(
    cells: Mapping[str, list],
    hardware: Hardware,
    exchange_rates: Mapping[str, ExchangeRate],
    *,
    snapshot: str,
    unpriced_below_usd_per_hour: float,
    commitments: Iterable[Commitment] = (),
    spot: Iterable[SpotRecord] = (),
    other_quotes: Iterable[OtherQuote] = (),
) -> Offers:
    """Offers of checked columns, named and typed as OfferRow declares them.

    Server price = listed price × GPUs if quoted per GPU; USD = listed / units per USD; a subscription's month is 730 h.
    Age counts from the first day that `as_of` may mean to the snapshot's date. A derived price is as old as the older
    of the on-demand price and the discount.
    """
    text = {name: read_only(cells[name], object) for name in _TEXT}
    gpus_per_server = read_only(cells["gpus_per_server"], int)
    usd_per_unit = np.array([1 / exchange_rates[currency].units_per_usd for currency in cells["currency"]])
    per_server = np.where(text["price_unit"] == "gpu", gpus_per_server, 1)

    def usd(column: str) -> np.ndarray:
        amount = np.array(cells[column], float) * per_server * usd_per_unit
        return np.where(amount >= unpriced_below_usd_per_hour, amount, np.nan)

    reserved_1y, yearly = usd("reserved_1y_per_hour"), usd("monthly_subscription_1y_per_month") / HOURS_PER_MONTH
    listed = {
        "monthly": usd("monthly_subscription_per_month") / HOURS_PER_MONTH,
        "reserved_1y": np.where(np.isnan(reserved_1y), yearly, reserved_1y),
        "reserved_3y": usd("reserved_3y_per_hour"),
    }
    on_demand = usd("on_demand_per_hour")
    provider_names, provider_row = _codes(cells["provider"])
    places, place_row = _codes(zip(cells["provider"], cells["region"], cells["country"]))
    gpu_row = {gpu: hardware.index(gpu) for gpu in set(cells["gpu"])}
    spot_usd = usd("spot_per_hour")
    others = _own_dates(cells, "spot", spot_usd) | _committed(cells, on_demand, listed, list(commitments))
    return Offers(
        provider_names=provider_names,
        places=places,
        provider_row=provider_row,
        place_row=place_row,
        gpu_row=read_only([gpu_row[gpu] for gpu in cells["gpu"]], int),
        gpus_per_server=gpus_per_server,
        **{name: read_only(cells[name], float) for name in _NUMBERS},
        **{name: column for name, column in text.items() if name not in ("gpu", "price_unit")},
        on_demand_usd_per_hour=read_only(on_demand),
        spot_usd_per_hour=read_only(spot_usd),
        **{name: read_only(column) for name, column in others.items()},
        **{f"{way}_age_days": _ages(others[f"{way}_as_of"], snapshot) for way in OWN_DATES},
        **_interruptions(cells, list(spot)),
        **_other_quotes(cells, list(other_quotes), exchange_rates),
        age_days=_ages(cells["as_of"], snapshot),
        per_card=read_only((text["price_unit"] == "gpu") & (gpus_per_server == 1), bool),
        secondary=read_only(cells["secondary"], bool),
        date_estimated=read_only(cells["date_estimated"], bool),
    )


_NUMBERS = ("gpu_fraction", "vcpus", "memory_gb", "on_demand_per_hour")
_TEXT = (
    *("provider", "instance", "gpu", "price_unit", "region", "country", "kind", "currency"),
    *("source", "as_of", "notes", "doubt"),
)  # fmt: skip


def reference_faults(file: str, cells, hardware: Hardware, exchange_rates) -> list[Message]:
    """One message per offer whose GPU or currency the catalogue does not know, or whose GPU fraction makes no sense."""
    faults = []
    rows = zip(cells["gpu"], cells["currency"], cells["gpu_fraction"])
    for line, (gpu, currency, fraction) in enumerate(rows, start=2):
        try:
            hardware.index(gpu)
        except GpudashError as error:
            faults.append(Message.of("catalogue.offer_gpu", file=file, line=line, **error.values))
        if currency not in exchange_rates:
            known = ", ".join(sorted(exchange_rates))
            faults.append(Message.of("catalogue.currency", file=file, line=line, currency=currency, known=known))
        if not 0 < fraction <= 1:
            faults.append(Message.of("catalogue.gpu_fraction", file=file, line=line, value=fraction))
    return faults


def _codes(values) -> tuple[tuple, np.ndarray]:
    """The distinct values in order of appearance, and for each value its position among them."""
    positions: dict = {}
    rows = [positions.setdefault(value, len(positions)) for value in values]
    return tuple(positions), read_only(rows, int)


def _ages(dates, snapshot: str) -> np.ndarray:
    """Days from each date to the snapshot's; NaN where it is blank."""
    day = date.fromisoformat(snapshot)
    days = {as_of: (day - first_day(as_of)).days if as_of else np.nan for as_of in set(dates)}
    return read_only([days[as_of] for as_of in dates], float)


def _own_dates(cells, way: str, price: np.ndarray) -> dict[str, np.ndarray]:
    """Source and date of the prices of one way of buying: their own, else the row's; blank where unpriced."""
    columns = {}
    for name in ("source", "as_of"):
        own, of_row = (np.array(cells[column], object) for column in (f"{way}_{name}", name))
        columns[f"{way}_{name}"] = np.where(np.isnan(price), "", np.where(own == "", of_row, own))
    return columns


def _committed(cells, on_demand, listed, commitments) -> dict[str, np.ndarray]:
    """Committed prices: as listed, else on-demand × (1 - discount) if the provider publishes one for the GPU and term.

    Only discounts against the on-demand price, for the currency of the offer (another currency is another price list).
    """
    usable = [row for row in commitments if row.applies and row.base == "on_demand"]
    servers = list(zip(cells["provider"], cells["currency"], cells["gpu"]))
    columns = {}
    for kind, term_months in TERM_MONTHS.items():
        price = listed[kind].copy()
        origin = np.where(np.isnan(price), "", "catalogue").astype(object)
        source, as_of = _own_dates(cells, kind, price).values()
        of_term = [row for row in usable if row.term_months == term_months]
        possible = {server: [row for row in of_term if _covers(row, *server)] for server in set(servers)}
        has_discount = np.array([bool(possible[server]) for server in servers], bool)
        for row in np.flatnonzero(has_discount & np.isnan(price) & ~np.isnan(on_demand)).tolist():
            instance = cells["instance"][row]
            found = next((entry for entry in possible[servers[row]] if fnmatchcase(instance, entry.instances)), None)
            if found:
                price[row] = on_demand[row] * (1 - found.discount_fraction)
                origin[row], source[row] = "derived", found.source
                as_of[row] = min(found.as_of, cells["as_of"][row], key=first_day)
        columns |= {f"{kind}_usd_per_hour": price, f"{kind}_origin": origin}
        columns |= {f"{kind}_source": source, f"{kind}_as_of": as_of}
    return columns


def _covers(entry: Commitment, provider: str, currency: str, gpu: str) -> bool:
    return (
        entry.provider == provider and entry.currency == currency and (not entry.gpus or gpu in entry.gpus.split(";"))
    )


def _interruptions(cells, spot) -> dict[str, np.ndarray]:
    """Share of spot servers taken back per month, from the most specific record: region, then instance, then GPU.

    With the published band it stands for, its source and its date; blank where nothing is published.
    """
    known = [row for row in spot if not np.isnan(row.interruption_fraction_per_month)]
    known.sort(key=lambda row: (row.region == "", "*" in row.instances, row.gpu == ""))
    servers = list(zip(cells["provider"], cells["region"], cells["gpu"]))
    possible = {server: [record for record in known if _tells(record, *server)] for server in set(servers)}
    fractions = np.full(len(servers), np.nan)
    words = {name: np.full(len(servers), "", object) for name in ("band", "source", "as_of")}
    for row, (server, instance) in enumerate(zip(servers, cells["instance"])):
        found = next((record for record in possible[server] if fnmatchcase(instance, record.instances)), None)
        if found:
            fractions[row] = found.interruption_fraction_per_month
            words["band"][row] = found.interruption_band
            words["source"][row], words["as_of"][row] = found.source, found.as_of
    columns = {"fraction_per_month": fractions} | words
    return {f"interruption_{name}": read_only(column) for name, column in columns.items()}


def _tells(record: SpotRecord, provider: str, region: str, gpu: str) -> bool:
    return record.provider == provider and record.region in ("", region) and record.gpu in ("", gpu)


def _other_quotes(cells, quotes: list[OtherQuote], exchange_rates) -> dict[str, np.ndarray]:
    """The lowest and highest that other sources ask for each server, but for quotes much older than its price."""
    low, high = np.full(len(cells["gpu"]), np.nan), np.full(len(cells["gpu"]), np.nan)
    rows_of: dict[tuple[str, str], list[int]] = {}
    for row, server in enumerate(zip(cells["provider"], cells["gpu"])) if quotes else ():
        rows_of.setdefault(server, []).append(row)
    for quote in quotes:
        per_gpu = exchange_rates[quote.currency].usd(quote.on_demand_per_gpu_hour)
        for row in rows_of.get((quote.provider, quote.gpu), ()):
            days_older = (first_day(cells["as_of"][row]) - first_day(quote.as_of)).days
            if (
                quote.region in ("", cells["region"][row])
                and fnmatchcase(cells["instance"][row], quote.instances)
                and days_older <= freshness_rules()["fresh_days"]
            ):
                usd = per_gpu * cells["gpus_per_server"][row] * cells["gpu_fraction"][row]
                low[row], high[row] = np.fmin(low[row], usd), np.fmax(high[row], usd)
    return {"other_low_usd_per_hour": read_only(low), "other_high_usd_per_hour": read_only(high)}


def offer_id(offers, offer: int) -> str:
    """The name of one offer: provider / instance / region."""
    return " / ".join((offers.provider[offer], offers.instance[offer], offers.region[offer]))


def named(offers: Offers, name: str) -> np.ndarray:
    """Offers that a name means: provider / instance / region, or only its beginning (all regions of an instance)."""
    parts = [part.strip() for part in name.split(" / ")]
    is_meant = np.full(len(offers), len(parts) <= 3)
    for column, part in zip((offers.provider, offers.instance, offers.region), parts):
        is_meant = is_meant & (column == part)
    return is_meant
