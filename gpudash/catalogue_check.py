"""Checks of the shipped data: many small named ones, each message names file, line or offer, and the remedy."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gpudash import records
from gpudash.catalogue import Catalogue, load_catalogue, snapshots
from gpudash.checksums import checksum_faults
from gpudash.errors import GpudashError
from gpudash.hardware import read_hardware
from gpudash.offers import OWN_DATES, reference_faults
from gpudash.records import Price, parse_columns
from gpudash.result import Message
from gpudash.tables import DATA, read_columns

# File, the class that declares its columns, and the columns that name a row.
_SHARED = (
    ("hardware.csv", records.HardwareRow, ("gpu",)),
    ("gpu_aliases.csv", records.GpuAlias, ("alias",)),
    ("providers.csv", records.Provider, ("provider",)),
    ("regions.csv", records.Region, ("provider", "region")),
    ("hardware_prices.csv", records.HardwarePrice, ("item", "condition")),
    ("electricity.csv", records.ElectricityPrice, ("country",)),
    ("defaults.csv", records.Default, ("name",)),
    ("traffic_shapes.csv", records.TrafficShapeRow, ("shape",)),
)
_PRICES = (
    ("offers.csv", records.OfferRow, ("provider", "instance", "region")),
    ("commitments.csv", records.Commitment, ("provider", "scope", "term_months", "payment", "base")),
    ("spot.csv", records.SpotRecord, ("provider", "gpu", "instances", "region", "source")),
    ("storage.csv", records.StorageRow, ("provider", "tier", "region_note", "currency")),
    ("network.csv", records.NetworkRow, ("provider", "item", "region_note", "from_gb_per_month")),
    ("support_plans.csv", records.SupportRow, ("provider", "plan")),
    ("exchange_rates.csv", records.ExchangeRate, ("currency",)),
    ("other_quotes.csv", records.OtherQuote, ("provider", "gpu", "instances", "region", "source")),
)
_MAY_BE_MISSING = ("other_quotes.csv",)  # snapshots written before it was added


def check_catalogue(data: Path = DATA) -> list[Message]:
    """Everything wrong with the shipped data; an empty list is a clean bill.

    The files are read first (cells, sources, dates, keys, references, checksums); only if they can be loaded at all are
    the prices compared with each other.
    """
    messages = [message for file in _SHARED for message in _check_file(data / file[0], *file[1:])]
    for snapshot in snapshots(data):
        folder = data / "prices" / snapshot
        messages += [message for file in _PRICES for message in _check_file(folder / file[0], *file[1:])]
        messages += checksum_faults(folder)
        if not messages:
            messages += _check_references(data, folder)
        if not messages:
            catalogue = load_catalogue(snapshot, data)
            messages += [message for check in _CHECKS for message in check(catalogue)]
    return list(dict.fromkeys(messages))  # a missing file is found twice


def _check_file(path: Path, cls, key: tuple[str, ...]) -> Iterator[Message]:
    """Cells against the class that declares the file, price cells that are no price, and keys used twice."""
    try:
        columns, faults = parse_columns(path, cls)
    except GpudashError as error:
        yield Message.of(error.code, **error.values)
        return
    except OSError:
        if path.name not in _MAY_BE_MISSING:
            yield Message.of("catalogue.file_missing", file=path.name)
        return
    yield from faults
    if faults:
        return
    text = read_columns(path)
    for column in [name for name, kind, _ in records.columns_of(cls) if kind is Price]:
        for line, cell in enumerate(text[column], start=2):
            if cell and not records.price(cell) > 0:
                yield Message.of("catalogue.not_a_price", file=path.name, line=line, column=column, value=cell)
    first: dict[tuple, int] = {}
    for line, row in enumerate(zip(*(columns[name] for name in key)), start=2):
        if first.setdefault(row, line) != line:
            named = " / ".join(str(part) for part in row)
            yield Message.of("catalogue.repeated_key", file=path.name, line=line, named=named, first_line=first[row])


def _check_references(data: Path, folder: Path) -> Iterator[Message]:
    """GPUs, currencies, providers and regions that a price names exist in the other files."""
    hardware = read_hardware(data)
    rates = {rate.currency: rate for rate in records.read_records(folder / "exchange_rates.csv", records.ExchangeRate)}
    providers = set(read_columns(data / "providers.csv")["provider"])
    regions = read_columns(data / "regions.csv")
    places = set(zip(regions["provider"], regions["region"], regions["country"]))
    offers, _ = parse_columns(folder / "offers.csv", records.OfferRow)
    yield from reference_faults("offers.csv", offers, hardware, rates)
    for file in [name for name, _, _ in _PRICES if (folder / name).exists()]:
        columns = read_columns(folder / file)
        for line, provider in enumerate(columns.get("provider", ()), start=2):
            if provider not in providers:
                yield Message.of("catalogue.provider", file=file, line=line, provider=provider)
        for line, currency in enumerate(columns.get("currency", ()), start=2):
            if file != "offers.csv" and currency not in rates:
                known = ", ".join(sorted(rates))
                yield Message.of("catalogue.currency", file=file, line=line, currency=currency, known=known)
    for line, place in enumerate(zip(offers["provider"], offers["region"], offers["country"]), start=2):
        if place not in places:
            named = " / ".join(part for part in place if part)
            yield Message.of("catalogue.region", file="offers.csv", line=line, region=named)
    for line, gpu in enumerate(read_columns(data / "hardware_prices.csv")["gpu"], start=2):
        if gpu not in hardware.names:
            yield Message.of("catalogue.owned_gpu", file="hardware_prices.csv", line=line, gpu=gpu)


def check_discounts(catalogue: Catalogue) -> Iterator[Message]:
    """Committed and spot prices are not above on-demand; a term's total taken for an hourly rate shows up here."""
    offers = catalogue.offers
    for kind in ("spot", "monthly", "reserved_1y", "reserved_3y"):
        price = getattr(offers, f"{kind}_usd_per_hour")
        for row in np.flatnonzero(price > offers.on_demand_usd_per_hour):
            yield Message.of(
                "catalogue.above_on_demand",
                offer=offers.id[row],
                kind=kind,
                usd_per_hour=float(price[row]),
                on_demand_usd_per_hour=float(offers.on_demand_usd_per_hour[row]),
            )


def check_price_per_gpu(catalogue: Catalogue) -> Iterator[Message]:
    """A whole card costs between the two bounds of data/defaults.csv per hour, on demand."""
    offers = catalogue.offers
    low = catalogue.defaults["plausible_usd_per_gpu_hour_minimum"].value
    high = catalogue.defaults["plausible_usd_per_gpu_hour_maximum"].value
    price = offers.on_demand_usd_per_gpu_hour
    for row in np.flatnonzero((price < low) | (price > high)):
        yield Message.of(
            "catalogue.implausible", offer=offers.id[row], usd_per_gpu_hour=float(price[row]), low=low, high=high
        )


def check_larger_servers(catalogue: Catalogue) -> Iterator[Message]:
    """A server with several cards is not cheaper than one card alone: the sign of a price per GPU in a server's row."""
    offers = catalogue.offers
    single: dict[tuple, float] = {}
    keys = list(zip(offers.provider, offers.gpu_row.tolist(), offers.region))
    for row in np.flatnonzero((offers.gpus_per_server == 1) & (offers.gpu_fraction == 1)):
        price = offers.on_demand_usd_per_hour[row]
        if not np.isnan(price):
            single[keys[row]] = min(price, single.get(keys[row], np.inf))
    for row in np.flatnonzero(offers.gpus_per_server > 1):
        if offers.on_demand_usd_per_hour[row] < single.get(keys[row], -np.inf):
            yield Message.of(
                "catalogue.server_below_card",
                offer=offers.id[row],
                gpu_count=int(offers.gpus_per_server[row]),
                usd_per_hour=float(offers.on_demand_usd_per_hour[row]),
                single_usd_per_hour=float(single[keys[row]]),
            )


def check_slices(catalogue: Catalogue) -> Iterator[Message]:
    """MIG slices are offered only on cards that can be split into MIG instances."""
    offers, hardware = catalogue.offers, catalogue.hardware
    for row in np.flatnonzero(~(hardware.mig_max_instances[offers.gpu_row] > 0)):
        if re.search(r"\bMIG\b", offers.instance[row], re.IGNORECASE):
            yield Message.of("catalogue.no_mig", offer=offers.id[row], gpu=hardware.names[offers.gpu_row[row]])


def check_fractions(catalogue: Catalogue) -> Iterator[Message]:
    """Discounts, interruption rates and support fees are fractions from 0 to 1; percent written by mistake is not."""
    for row in catalogue.commitments:
        if not 0 <= row.discount_fraction < 1:
            yield Message.of("catalogue.fraction", file="commitments.csv", item=row.scope, value=row.discount_fraction)
    for row in catalogue.spot:
        for value in (row.interruption_fraction_per_month, row.typical_saving_fraction):
            if value < 0 or value > 1:
                yield Message.of("catalogue.fraction", file="spot.csv", item=row.instances, value=value)


def check_dates(catalogue: Catalogue) -> Iterator[Message]:
    """No price is younger than the snapshot that holds it."""
    offers = catalogue.offers
    for way in ("on_demand", *OWN_DATES):
        for row in np.flatnonzero(offers.age_days_of(way) < 0):
            as_of = offers.as_of_of(way)[row]
            yield Message.of("catalogue.future", offer=offers.id[row], as_of=as_of, snapshot=catalogue.snapshot)


_CHECKS = (
    check_discounts,
    check_price_per_gpu,
    check_larger_servers,
    check_slices,
    check_fractions,
    check_dates,
)
