"""Public price feeds: one module per source turns its published format into rows of our columns.

A module reads what was fetched and nothing else; gpudash/offer_sheet.py checks the rows like a user's own sheet.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, cached_property

from gpudash.catalogue import Catalogue
from gpudash.errors import GpudashError
from gpudash.hardware import Hardware
from gpudash.offer_sheet import COLUMNS
from gpudash.result import Message
from gpudash.sheets import Refused, Sheet
from gpudash.tables import DATA, read_yaml

Fetch = Callable[[str], bytes]


@dataclass(frozen=True)
class Context:
    """What the rows of a source do not say themselves."""

    catalogue: Catalogue
    provider: str
    source: str
    as_of: str
    kind: str = ""  # blank: what the catalogue knows
    date_estimated: bool = False

    @cached_property
    def machines(self) -> dict[str, tuple[str, str, str, str, str]]:
        """The provider's instances that the catalogue knows: GPU, GPUs per server, fraction, vCPUs and memory."""
        offers, names = self.catalogue.offers, self.catalogue.hardware.names
        return {
            offers.instance[row]: (
                names[offers.gpu_row[row]],
                str(offers.gpus_per_server[row]),
                *(_plain(getattr(offers, name)[row]) for name in ("gpu_fraction", "vcpus", "memory_gb")),
            )
            for row in range(len(offers))
            if offers.provider[row] == self.provider
        }

    def country_of(self, provider: str, region: str) -> str:
        """The country of a region that the catalogue knows, else blank."""
        place = self.catalogue.regions.get((provider, region))
        return place.country if place else ""

    def kind_of(self, provider: str, instance: str) -> str:
        """Marketplace, reseller, ...: as said, else the instance's in data/feeds.yaml, else the provider's."""
        if self.kind:
            return self.kind
        for exception in feed_facts()["kinds"]:
            if exception["provider"] == provider and fnmatchcase(instance, exception["instances"]):
                return exception["kind"]
        known = self.catalogue.providers.get(provider)
        return known.kind if known else ""


def retired_since(provider: str, instance: str) -> str:
    """The day on which the provider switched a machine off that it still lists (data/feeds.yaml), else blank."""
    return next(
        (
            row["since"]
            for row in feed_facts()["retired"]
            if row["provider"] == provider and fnmatchcase(instance, row["instances"])
        ),
        "",
    )


@dataclass(frozen=True)
class Feed:
    """One source of prices of one provider; `read` fetches it and answers with rows of our columns."""

    name: str
    provider: str
    read: Callable[[Fetch, Catalogue, str], Sheet]


@cache
def feed_facts() -> Mapping:
    """Addresses and names of the feeds, from data/feeds.yaml."""
    return read_yaml(DATA / "feeds.yaml")


def our_sheet(rows: Iterable[tuple[int, dict[str, str]]], context: Context, refused: Iterable[Refused] = ()) -> Sheet:
    """Rows of our columns from (line, cells), with what the context knows filled in where a row says nothing."""
    constant = {
        "provider": context.provider,
        "gpu_fraction": "1",
        "price_unit": "server",
        "currency": "USD",
        "source": context.source,
        "as_of": context.as_of,
        "date_estimated": "yes" if context.date_estimated else "",
    }
    columns: dict[str, list[str]] = {name: [] for name in COLUMNS}
    lines = []
    for line, cells in rows:
        lines.append(line)
        provider = cells.get("provider") or context.provider
        known = {
            "country": context.country_of(provider, cells["region"]),
            "kind": context.kind_of(provider, cells["instance"]),
        }
        for name, column in columns.items():
            column.append(cells.get(name) or known.get(name) or constant.get(name, ""))
    return Sheet(columns, lines, tuple(refused))


def with_heading(sheet: Sheet, heading: Collection[str], file: str) -> Sheet:
    """The sheet if it has the columns a feed publishes, else GpudashError."""
    missing = sorted(set(heading) - sheet.columns.keys())
    if missing:
        raise GpudashError("catalogue_refresh.not_the_format", file=file, expected=", ".join(missing))
    return sheet


def machine(context: Context, instance: str) -> dict[str, str] | None:
    """The hardware of an instance that the catalogue knows, as cells."""
    known = context.machines.get(instance)
    return dict(zip(("gpu", "gpus_per_server", "gpu_fraction", "vcpus", "memory_gb"), known)) if known else None


def cards(
    hardware: Hardware, gpu: str, count: str, *, names: Mapping[str, str], instance: str, memory_gb: str = ""
) -> dict[str, str]:
    """GPU, number and fraction of a card as cells, from what a feed writes.

    `names` translates the feed's names. The form factor is what the instance's name says (PCIe), the size of the card
    what the stated memory says. A count below 1, or a memory that is a whole part of the card's (1/2 to 1/16), is a
    slice of one card. Raises GpudashError for an unknown GPU and ValueError if the memory fits no card of that name.
    """
    row = hardware.index(names.get(gpu, gpu))
    row = _form_factor(hardware, row, instance)
    fraction = 1.0
    if memory_gb:
        row, fraction = _size(hardware, row, float(memory_gb))
    number = float(count)
    if not 0 < number < 1e6:
        raise ValueError(count)
    if number < 1:
        fraction, number = number * fraction, 1.0
    return {"gpu": hardware.names[row], "gpus_per_server": _plain(number), "gpu_fraction": _plain(_part(fraction))}


def _form_factor(hardware: Hardware, row: int, instance: str) -> int:
    name = hardware.names[row]
    pcie = name.replace(" SXM", " PCIe")
    return hardware.names.index(pcie) if "pcie" in instance.lower() and pcie in hardware.names else row


def _size(hardware: Hardware, row: int, memory_gb: float) -> tuple[int, float]:
    """The card of that name with the memory stated (within 10 %, drivers count differently), and what part of it."""
    if _near(memory_gb, hardware.memory_gb[row], 0.1):
        return row, 1.0
    stem = hardware.names[row].replace("-", " ").split()[0]
    same = [other for other, name in enumerate(hardware.names) if name.replace("-", " ").split()[0] == stem]
    form = hardware.names[row].split()[-1]
    same.sort(key=lambda other: hardware.names[other].split()[-1] != form)
    for other in same:
        if "MIG" not in hardware.names[other] and _near(memory_gb, hardware.memory_gb[other], 0.1):
            return other, 1.0
    part = _part(memory_gb / hardware.memory_gb[row])
    if 1 / 17 < part < 1 and _near(1 / part, round(1 / part), 1e-9):
        return row, part
    raise ValueError(memory_gb)


def _part(fraction: float) -> float:
    """A rounded fraction like 0.167 as the exact part of a card that it stands for (1/2 to 1/16), else as it is."""
    parts = [1 / whole for whole in range(1, 17)]
    return next((part for part in parts if _near(fraction, part, 0.01)), fraction)


def _near(value: float, other: float, within: float) -> bool:
    return abs(value - other) <= within * other


def _plain(number: float) -> str:
    """A number as a cell: blank for NaN, without a point if it is whole."""
    if math.isnan(number):
        return ""
    return str(int(number)) if number == int(number) else repr(float(number))


def per_hour(amount, hours: float = 1) -> str:
    """An amount for so many hours as an hourly cell, blank if it is no number above zero."""
    try:
        value = float(amount) / hours
    except (TypeError, ValueError):
        return ""
    return repr(round(value, 8)) if 0 < value < float("inf") else ""


def left_out(line: int, code: str, **values) -> Refused:
    """A row of a feed that is left out, with its reason."""
    return Refused(line, Message.of(f"catalogue_import.{code}", **values))
