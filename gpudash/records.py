"""Typed rows of the catalogue's CSV files: one frozen class per file declares its columns; bad cells become messages.

A class is the only description of its file: the field names are the columns, the annotations their types.
`str` without a default may not be blank; `float` is a finite number or blank (NaN, not sourced); `int` is a whole
number above zero; `bool` is `yes` or blank; a `Literal` lists what is allowed; `Price` is a number, and anything
else is unpriced (NaN); a field named `as_of` or `..._as_of` is a date (year, month or day). A column with a default may
be absent, so that snapshots written before it was added can still be read.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NewType, get_args, get_type_hints

from gpudash.errors import GpudashError
from gpudash.result import Message
from gpudash.tables import read_columns
from gpudash.units import MONTHS_PER_YEAR

Price = NewType("Price", float)
WAYS = ("on_demand", "spot", "monthly", "reserved_1y", "reserved_3y")  # of buying
TERM_MONTHS = {"monthly": 1, "reserved_1y": MONTHS_PER_YEAR, "reserved_3y": 3 * MONTHS_PER_YEAR}
OfferKind = Literal["hyperscaler", "specialist", "marketplace", "reseller"]
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


@dataclass(frozen=True)
class ExchangeRate:
    """A dated exchange rate; `usd` and `from_usd` are each other's inverse."""

    currency: str
    units_per_usd: float
    source: str
    as_of: str

    def usd(self, amount):
        """An amount of this currency in US dollars: amount / units_per_usd."""
        return amount / self.units_per_usd

    def from_usd(self, usd):
        """US dollars in this currency: usd × units_per_usd."""
        return usd * self.units_per_usd


@dataclass(frozen=True)
class HardwareRow:
    """A card, from its data sheet: dense rates, a link in both directions together; blank: not published."""

    gpu: str
    vendor: str
    architecture: str
    compute_capability: float
    memory_gb: float
    memory_mib: float
    memory_mib_source: str
    bandwidth_gb_per_s: float
    fp32_tflops: float
    tf32_tflops: float
    fp16_tflops: float
    fp8_tflops: float
    int8_tops: float
    fp4_tflops: float
    link_gb_per_s_both_directions: float
    interconnect: str
    link_scope: Literal["all", "pair", ""]
    mig_max_instances: float
    tdp_w: float
    launch_year: float
    source: str
    as_of: str
    notes: str = ""

    OPTIONAL = ("architecture", "memory_mib_source", "interconnect")


@dataclass(frozen=True)
class GpuAlias:
    """Another spelling of a card's name."""

    alias: str
    gpu: str


@dataclass(frozen=True)
class OfferRow:
    """`source` and `as_of` are those of the on-demand price (of every price where there is none).

    A price that was read elsewhere or on another day has its own; the 1-year ones count for a 1-year subscription too.
    `doubt`: the machine could not be had on that day, or the source is weak; the notes say why.
    """

    provider: str
    instance: str
    gpu: str
    gpus_per_server: int
    gpu_fraction: float
    price_unit: Literal["server", "gpu"]
    kind: OfferKind
    vcpus: float
    memory_gb: float
    region: str
    country: str
    currency: str
    on_demand_per_hour: Price
    spot_per_hour: Price
    reserved_1y_per_hour: Price
    reserved_3y_per_hour: Price
    monthly_subscription_per_month: Price
    monthly_subscription_1y_per_month: Price
    secondary: bool
    date_estimated: bool
    source: str
    as_of: str
    notes: str = ""
    spot_source: str = ""
    spot_as_of: str = ""
    monthly_source: str = ""
    monthly_as_of: str = ""
    reserved_1y_source: str = ""
    reserved_1y_as_of: str = ""
    reserved_3y_source: str = ""
    reserved_3y_as_of: str = ""
    doubt: Literal["", "unavailable", "weak_source"] = ""

    OPTIONAL = ("country",)


@dataclass(frozen=True)
class OtherQuote:
    """What another source asks on demand: for an instance, or for every machine of a provider with the GPU (`*`)."""

    provider: str
    gpu: str
    instances: str
    region: str
    currency: str
    on_demand_per_gpu_hour: Price
    source: str
    as_of: str
    notes: str = ""

    OPTIONAL = ("region",)


@dataclass(frozen=True)
class Commitment:
    """A discount for a term; only rows marked `applies` are ever used to derive a price."""

    provider: str
    scope: str
    gpus: str
    instances: str
    currency: str
    term_months: float
    payment: str
    discount_fraction: float
    base: Literal["on_demand", "monthly_subscription", "monthly_pack"]
    applies: bool
    date_estimated: bool
    source: str
    as_of: str
    notes: str = ""

    OPTIONAL = ("gpus", "payment")


@dataclass(frozen=True)
class SpotRecord:
    """How often a provider takes spot servers back, and what spot usually saves."""

    provider: str
    gpu: str
    instances: str
    region: str
    interruption_band: str
    interruption_fraction_per_month: float
    typical_saving_fraction: float
    sample_count: float
    date_estimated: bool
    source: str
    as_of: str
    notes: str = ""

    OPTIONAL = ("gpu", "region", "interruption_band")


@dataclass(frozen=True)
class StorageRow:
    """A tier of storage as the provider lists it, in its own currency."""

    provider: str
    tier: str
    kind: Literal["object", "block", "file"]
    storage_class: Literal["hot", "warm", "cold", "archive"]
    region_note: str
    currency: str
    storage_per_gb_month: Price
    retrieval_per_gb: float
    minimum_days: float
    write_per_1k_requests: float
    read_per_1k_requests: float
    latency_ms: float
    latency_source: str
    commitment_months: float
    secondary: bool
    date_estimated: bool
    source: str
    as_of: str
    notes: str = ""

    OPTIONAL = ("region_note", "latency_source")


@dataclass(frozen=True)
class NetworkRow:
    """A step of a provider's price for traffic, in its own currency."""

    provider: str
    item: Literal["egress_internet", "egress_vm_internet", "egress_object_storage", "egress_inter_region"]
    region_note: str
    from_gb_per_month: float
    to_gb_per_month: float
    currency: str
    price_per_gb: float
    secondary: bool
    source: str
    as_of: str
    notes: str = ""

    OPTIONAL = ("region_note",)


@dataclass(frozen=True)
class SupportRow:
    """A support plan as the provider lists it, in its own currency."""

    provider: str
    plan: str
    currency: str
    minimum_fee_per_month: float
    fee_fraction_of_spend: float
    response_minutes: float
    secondary: bool
    date_estimated: bool
    source: str
    as_of: str
    notes: str = ""


@dataclass(frozen=True)
class Provider:
    """What a provider promises; blank or NaN where no public source was found."""

    provider: str
    kind: OfferKind
    sla_percent: float
    support_response_minutes: float
    support_24x7: bool
    compliance: str
    kubernetes_gpu: bool
    hybrid_cloud: str
    gpu_monitoring_api: bool
    pretrained_models: float
    green_certification: str
    source: str
    as_of: str
    notes: str = ""

    OPTIONAL = ("compliance", "hybrid_cloud", "green_certification")


@dataclass(frozen=True)
class Region:
    """Where a provider's servers stand: country, grid carbon and power usage effectiveness."""

    provider: str
    region: str
    country: str
    grid_gco2_per_kwh: float
    country_gco2_per_kwh: float
    pue: float
    source: str
    pue_source: str
    as_of: str
    notes: str = ""

    OPTIONAL = ("country", "pue_source")


@dataclass(frozen=True)
class HardwarePrice:
    """What a card, server or rack costs to buy; low and high span the sources, they are no quantiles."""

    item: str
    kind: Literal["card", "server", "rack"]
    gpu: str
    gpu_count: int
    condition: Literal["new", "used"]
    low_usd: float
    typical_usd: float
    high_usd: float
    source: str
    as_of: str
    notes: str = ""


@dataclass(frozen=True)
class ElectricityPrice:
    """Electricity per country: large industrial users without tax, and small businesses with it."""

    country: str
    large_business_usd_per_kwh: float
    basis: str
    small_business_incl_tax_usd_per_kwh: float
    small_business_source: str
    source: str
    as_of: str
    notes: str = ""

    OPTIONAL = ("small_business_source", "basis")


@dataclass(frozen=True)
class Default:
    """A number used where the user says nothing, with the range the sources give."""

    name: str
    value: float
    low: float
    high: float
    unit: str
    source: str
    as_of: str
    notes: str = ""


@dataclass(frozen=True)
class TrafficShapeRow:
    """A week's demand by the hour, 168 shares of the peak in one cell."""

    shape: str
    kind: Literal["constructed", "measured"]
    time_zone: Literal["local", "utc"]
    source: str
    as_of: str
    notes: str
    fraction_of_peak_by_hour_of_week: str


@lru_cache(maxsize=4096)
def first_day(as_of: str) -> date:
    """The first day that `2026`, `2026-04` or `2026-04-17` may mean; ValueError if it is none of them."""
    if not _DATE.fullmatch(as_of):
        raise ValueError(as_of)
    return date(*([int(part) for part in as_of.split("-")] + [1, 1])[:3])


def price(cell: str) -> float:
    """A price cell as a number; text, infinity and whatever else is not a number are unpriced (NaN)."""
    try:
        number = float(cell)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _number(cell: str) -> float:
    number = float(cell) if cell else math.nan
    if math.isinf(number) or (cell and math.isnan(number)):
        raise ValueError(cell)
    return number


def _whole(cell: str) -> int:
    number = _number(cell)
    if number != int(number) or not 1 <= number < 2**31:
        raise ValueError(cell)
    return int(number)


_READERS = {str: str, float: _number, int: _whole, bool: lambda cell: {"yes": True, "": False}[cell], Price: price}
_ALLOWED = {float: "number", int: "whole_number", bool: "yes_or_blank"}
_choices = cache(get_args)


@cache
def columns_of(cls) -> tuple[tuple[str, object, bool], ...]:
    """Name, type and whether a value is required, for each column that the class declares."""
    types, optional = get_type_hints(cls), getattr(cls, "OPTIONAL", ())
    return tuple(
        (field.name, types[field.name], field.default is MISSING and field.name not in optional)
        for field in fields(cls)
    )


@cache
def may_be_absent(cls) -> frozenset[str]:
    """Columns that a file need not have."""
    return frozenset(field.name for field in fields(cls) if field.default is not MISSING)


def parse_columns(path: Path, cls) -> tuple[dict[str, list], list[Message]]:
    """The file's columns as the class declares them, and one message per bad cell with file, line and column.

    Columns the class does not know are refused, so that a misspelt heading is never silently empty.
    """
    cells = read_columns(path)
    declared = columns_of(cls)
    missing = [name for name, _, _ in declared if name not in cells and name not in may_be_absent(cls)]
    unknown = [name for name in cells if name not in {name for name, _, _ in declared}]
    if missing or unknown:
        differing = {"missing": ", ".join(missing), "unknown": ", ".join(unknown)}
        return {}, [Message.of("catalogue.columns", file=path.name, **differing)]
    faults: list[Message] = []
    columns, blank = {}, [""] * len(next(iter(cells.values())))
    for name, kind, required in declared:
        place = {"file": path.name, "column": name}
        columns[name] = list(_values(cells.get(name, blank), kind, required, place, faults))
    return columns, faults


def _values(cells, kind, required, place, faults) -> Iterator:
    """Each cell as a value of its column's type; a bad one is None and adds a message to `faults`."""
    for line, cell in enumerate(cells, start=2):
        value, fault, details = read_cell(cell, kind, required, dated=is_dated(place["column"]))
        if fault:
            faults.append(Message.of(fault, **place, line=line, **details))
        yield value


def is_dated(column: str) -> bool:
    """Whether a column holds dates."""
    return column.endswith("as_of")


def read_cell(cell: str, kind, required: bool, *, dated: bool = False) -> tuple[object, str, dict]:
    """A cell as a value of its column's type, else None with the fault's text key and the values of its sentence.

    `dated` asks for a date; the key is blank where there is no fault.
    """
    choices, read = _choices(kind), _READERS.get(kind, str)
    if choices and cell not in choices:
        return None, "catalogue.not_allowed", {"value": cell, "allowed": ", ".join(filter(None, choices))}
    if kind is str and required and not cell:
        return None, "catalogue.blank", {}
    try:
        value = read(cell)
        if dated and (cell or required):
            first_day(cell)
    except (ValueError, KeyError):
        return None, f"catalogue.not_a_{_ALLOWED.get(kind, 'date')}", {"value": cell}
    return value, "", {}


def read_records(path: Path, cls) -> list:
    """The file's rows as objects of the class; the first bad cell is refused with file, line and column."""
    columns, faults = parse_columns(path, cls)
    refuse(faults)
    return [cls(*row) for row in zip(*columns.values())]


def refuse(faults: list[Message]) -> None:
    """Raise the first message as the user's error; nothing when there is none."""
    if faults:
        raise GpudashError(faults[0].code, **dict(faults[0].values))
