"""The catalogue: everything that was looked up, of one dated snapshot, read once and never changed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import numpy as np

from gpudash.checksums import refuse_changed
from gpudash.errors import GpudashError
from gpudash.hardware import Hardware, read_hardware, read_only
from gpudash.offers import Offers, joined, read_offers
from gpudash.records import (
    Commitment,
    Default,
    ElectricityPrice,
    ExchangeRate,
    HardwarePrice,
    NetworkRow,
    OtherQuote,
    Provider,
    Region,
    SpotRecord,
    StorageRow,
    SupportRow,
    TrafficShapeRow,
    read_records,
)
from gpudash.tables import DATA, read_yaml
from gpudash.units import HOURS_PER_WEEK


@dataclass(frozen=True)
class StorageTier:
    """A storage tier in US dollars; NaN where a fee is not sourced. `latency_origin` is `catalogue` or `default`."""

    provider: str
    tier: str
    kind: str
    storage_class: str
    region_note: str
    usd_per_gb_month: float
    retrieval_usd_per_gb: float
    read_usd_per_1k: float
    write_usd_per_1k: float
    minimum_days: float
    latency_ms: float
    latency_origin: str
    commitment_months: float
    source: str
    as_of: str
    notes: str


@dataclass(frozen=True)
class EgressTier:
    """Price of traffic leaving the provider, for the part of a month between two amounts (the last has no end)."""

    provider: str
    item: str
    region_note: str
    from_gb_per_month: float
    to_gb_per_month: float
    usd_per_gb: float
    source: str
    as_of: str
    notes: str


@dataclass(frozen=True)
class SupportPlan:
    """A support plan: the larger of the minimum fee and the share of spend; NaN where not sourced."""

    provider: str
    plan: str
    minimum_fee_usd_per_month: float
    fee_fraction_of_spend: float
    response_minutes: float
    source: str
    as_of: str
    notes: str


@dataclass(frozen=True, eq=False)
class TrafficShape:
    """Demand of each hour of the week (hour 0 is Monday 00:00) as a share of the peak."""

    shape: str
    kind: str
    time_zone: str
    fraction_of_peak: np.ndarray
    source: str
    as_of: str
    notes: str


@dataclass(frozen=True, eq=False)
class Catalogue:
    """One snapshot of prices with the facts that do not belong to a snapshot (hardware, providers, regions, defaults).

    `regions` is keyed by (provider, region); `storage` holds priced tiers only.
    """

    snapshot: str
    hardware: Hardware
    offers: Offers
    providers: Mapping[str, Provider]
    regions: Mapping[tuple[str, str], Region]
    storage: tuple[StorageTier, ...]
    egress: tuple[EgressTier, ...]
    support_plans: tuple[SupportPlan, ...]
    commitments: tuple[Commitment, ...]
    spot: tuple[SpotRecord, ...]
    other_quotes: tuple[OtherQuote, ...]
    exchange_rates: Mapping[str, ExchangeRate]
    hardware_prices: tuple[HardwarePrice, ...]
    electricity: Mapping[str, ElectricityPrice]
    defaults: Mapping[str, Default]
    traffic_shapes: Mapping[str, TrafficShape]
    country_groups: Mapping[str, frozenset[str]]
    origin: Mapping[str, object]
    own_sheet: str | None = None  # the name of the imported price sheet whose offers are among these

    def with_offers(self, offers: Offers) -> "Catalogue":
        """The same catalogue with other offers: of another price, or so many that they measure speed."""
        return replace(self, offers=offers)

    def with_sheet(self, name: str, offers: Offers) -> "Catalogue":
        """The same catalogue with the offers of an imported price sheet, in place of those that they replace."""
        return replace(self, offers=joined(self.offers, offers), own_sheet=name)

    def rows_of(self, providers=(), gpus=(), countries=(), kinds=()) -> np.ndarray:
        """Rows of the offers that are in every choice, in the catalogue's order; an empty choice means all.

        `countries` may name a group of countries; GPUs are named as in the hardware.
        """
        offers = self.offers
        places = [country for _, _, country in offers.places]
        named = [country for name in countries for country in self.country_groups.get(name, (name,))]
        kept = np.ones(len(offers), dtype=bool)
        for wanted, known, row_of in (
            (providers, offers.provider_names, offers.provider_row),
            (gpus, self.hardware.names, offers.gpu_row),
            (named, places, offers.place_row),
        ):
            if len(wanted):
                kept &= np.isin(known, wanted)[row_of]
        if len(kinds):
            kept &= np.isin(offers.kind.astype(str), kinds)
        return np.flatnonzero(kept)

    def rate(self, currency: str) -> ExchangeRate:
        """The snapshot's exchange rate of a currency; an unknown currency is refused with the known ones."""
        if currency not in self.exchange_rates:
            known = ", ".join(sorted(self.exchange_rates))
            raise GpudashError("catalogue.unknown_currency", currency=currency, known=known)
        return self.exchange_rates[currency]


def snapshots(data: Path = DATA) -> tuple[str, ...]:
    """Dates of the price snapshots, oldest first."""
    folder = data / "prices"
    return _listed(folder, folder.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _listed(folder: Path, _changed_ns: int) -> tuple[str, ...]:
    """Listed again when the folder has changed; pages ask for it many times."""
    return tuple(sorted(entry.name for entry in folder.iterdir() if entry.is_dir()))


def load_catalogue(snapshot: str | None = None, data: Path = DATA) -> Catalogue:
    """The catalogue of a snapshot (the newest without a date), read once; an unknown date is answered with the nearest.

    A bad row stops the load and is named with file and line; a file that has changed since its snapshot was made, too.
    """
    known = snapshots(data)
    if snapshot is None:
        snapshot = known[-1]
    if snapshot not in known:
        raise GpudashError("catalogue.unknown_snapshot", snapshot=snapshot, nearest=_nearest(snapshot, known))
    return _load(snapshot, data)


def _nearest(snapshot: str, known: tuple[str, ...]) -> str:
    try:
        wanted = date.fromisoformat(snapshot)
    except ValueError:
        return known[-1]
    return min(known, key=lambda day: abs(date.fromisoformat(day) - wanted))


@lru_cache(maxsize=8)
def _load(snapshot: str, data: Path) -> Catalogue:
    prices = data / "prices" / snapshot
    refuse_changed(prices)
    hardware = read_hardware(data)
    rates = {rate.currency: rate for rate in read_records(prices / "exchange_rates.csv", ExchangeRate)}
    defaults = {default.name: default for default in read_records(data / "defaults.csv", Default)}
    commitments = tuple(read_records(prices / "commitments.csv", Commitment))
    spot = tuple(read_records(prices / "spot.csv", SpotRecord))
    quotes = prices / "other_quotes.csv"
    other_quotes = tuple(read_records(quotes, OtherQuote)) if quotes.exists() else ()  # older snapshots have none
    offers = read_offers(
        prices / "offers.csv",
        hardware,
        rates,
        snapshot=snapshot,
        unpriced_below_usd_per_hour=defaults["unpriced_below_usd_per_hour"].value,
        commitments=commitments,
        spot=spot,
        other_quotes=other_quotes,
    )
    groups = read_yaml(data / "country_groups.yaml")["groups"]
    electricity = read_records(data / "electricity.csv", ElectricityPrice)
    return Catalogue(
        snapshot=snapshot,
        hardware=hardware,
        offers=offers,
        providers=_by(read_records(data / "providers.csv", Provider), "provider"),
        regions=_by(read_records(data / "regions.csv", Region), "provider", "region"),
        storage=_storage(prices / "storage.csv", rates, defaults),
        egress=_egress(prices / "network.csv", rates),
        support_plans=_support_plans(prices / "support_plans.csv", rates),
        commitments=commitments,
        spot=spot,
        other_quotes=other_quotes,
        exchange_rates=MappingProxyType(rates),
        hardware_prices=tuple(read_records(data / "hardware_prices.csv", HardwarePrice)),
        electricity=_by(electricity, "country"),
        defaults=MappingProxyType(defaults),
        traffic_shapes=_traffic_shapes(data / "traffic_shapes.csv"),
        country_groups=MappingProxyType({name: frozenset(countries) for name, countries in groups.items()}),
        origin=MappingProxyType(read_yaml(prices / "origin.yaml")),
    )


def _by(records, *names) -> Mapping:
    if len(names) == 1:
        return MappingProxyType({getattr(record, names[0]): record for record in records})
    return MappingProxyType({tuple(getattr(record, name) for name in names): record for record in records})


def _usd(rates, record, amount: float) -> float:
    if record.currency not in rates:
        raise GpudashError("catalogue.unknown_currency", currency=record.currency, known=", ".join(sorted(rates)))
    return rates[record.currency].usd(amount)


def _storage(path: Path, rates, defaults) -> tuple[StorageTier, ...]:
    tiers = []
    for row in read_records(path, StorageRow):
        usd_per_gb_month = _usd(rates, row, row.storage_per_gb_month)
        if not usd_per_gb_month > 0:
            continue
        stated = not np.isnan(row.latency_ms)
        tiers.append(
            StorageTier(
                provider=row.provider,
                tier=row.tier,
                kind=row.kind,
                storage_class=row.storage_class,
                region_note=row.region_note,
                usd_per_gb_month=usd_per_gb_month,
                retrieval_usd_per_gb=_usd(rates, row, row.retrieval_per_gb),
                read_usd_per_1k=_usd(rates, row, row.read_per_1k_requests),
                write_usd_per_1k=_usd(rates, row, row.write_per_1k_requests),
                minimum_days=row.minimum_days,
                latency_ms=row.latency_ms if stated else defaults[_latency_name(row)].value,
                latency_origin="catalogue" if stated else "default",
                commitment_months=row.commitment_months,
                source=row.source,
                as_of=row.as_of,
                notes=row.notes,
            )
        )
    return tuple(tiers)


def _latency_name(row: StorageRow) -> str:
    """The default that stands in for a latency the provider does not state."""
    if row.kind == "file":
        return "storage_file_latency_ms"
    if row.kind == "block":
        return f"storage_block_{'hot' if row.storage_class == 'hot' else 'warm'}_latency_ms"
    return f"storage_object_{'archive' if row.storage_class == 'archive' else 'online'}_latency_ms"


def _egress(path: Path, rates) -> tuple[EgressTier, ...]:
    return tuple(
        EgressTier(
            provider=row.provider,
            item=row.item,
            region_note=row.region_note,
            from_gb_per_month=row.from_gb_per_month,
            to_gb_per_month=np.inf if np.isnan(row.to_gb_per_month) else row.to_gb_per_month,
            usd_per_gb=_usd(rates, row, row.price_per_gb),
            source=row.source,
            as_of=row.as_of,
            notes=row.notes,
        )
        for row in read_records(path, NetworkRow)
    )


def _support_plans(path: Path, rates) -> tuple[SupportPlan, ...]:
    return tuple(
        SupportPlan(
            provider=row.provider,
            plan=row.plan,
            minimum_fee_usd_per_month=_usd(rates, row, row.minimum_fee_per_month),
            fee_fraction_of_spend=row.fee_fraction_of_spend,
            response_minutes=row.response_minutes,
            source=row.source,
            as_of=row.as_of,
            notes=row.notes,
        )
        for row in read_records(path, SupportRow)
    )


def _traffic_shapes(path: Path) -> Mapping[str, TrafficShape]:
    shapes = {}
    for line, row in enumerate(read_records(path, TrafficShapeRow), start=2):
        values = row.fraction_of_peak_by_hour_of_week.split()
        if len(values) != HOURS_PER_WEEK:
            raise GpudashError("catalogue.traffic_hours", file=path.name, line=line, found=len(values))
        shapes[row.shape] = TrafficShape(
            row.shape, row.kind, row.time_zone, read_only(values, float), row.source, row.as_of, row.notes
        )
    return MappingProxyType(shapes)
