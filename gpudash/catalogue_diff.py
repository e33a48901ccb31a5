"""What changed between two price snapshots, and what one offer has cost over all of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from gpudash.catalogue import Catalogue
from gpudash.errors import GpudashError
from gpudash.records import WAYS

CHANGES = ("new", "gone", "dearer", "cheaper")
_SAME_WITHIN = 1e-9  # relative; two prices that differ by less differ only in how they were rounded


@dataclass(frozen=True)
class PriceChange:
    """One price of one server that appeared, disappeared or moved; money per server and hour, None where there is none.

    `change_fraction` is after / before - 1 in the currency the provider bills in, so that a moving exchange rate alone
    is no change of price.
    """

    offer: str
    provider: str
    instance: str
    region: str
    gpu: str
    gpus_per_server: int
    way: str  # one of WAYS
    change: str  # one of CHANGES
    before_usd_per_hour: float | None
    after_usd_per_hour: float | None
    change_fraction: float | None


@dataclass(frozen=True)
class ChangeCount:
    """How many prices of one provider, GPU and way of buying changed, and by how much those that moved did."""

    provider: str
    gpu: str
    way: str
    new: int
    gone: int
    dearer: int
    cheaper: int
    median_change_fraction: float | None


@dataclass(frozen=True)
class RateChange:
    """An exchange rate that moved between the snapshots."""

    currency: str
    before_units_per_usd: float
    after_units_per_usd: float


@dataclass(frozen=True)
class CatalogueDiff:
    """Every change from one snapshot to another; `rows` by provider, GPU, offer and way of buying."""

    before: str
    after: str
    rows: tuple[PriceChange, ...]
    rates: tuple[RateChange, ...]

    def counts(self) -> tuple[ChangeCount, ...]:
        """The changes counted by provider, GPU and way of buying."""
        groups: dict[tuple[str, str, str], list[PriceChange]] = {}
        for row in self.rows:
            groups.setdefault((row.provider, row.gpu, row.way), []).append(row)
        return tuple(ChangeCount(*key, **_counted(rows)) for key, rows in groups.items())


@dataclass(frozen=True)
class PricePoint:
    """The prices of an offer in one snapshot, per server and hour; all None where the snapshot does not hold it."""

    snapshot: str
    as_of: str | None
    on_demand_usd_per_hour: float | None
    spot_usd_per_hour: float | None
    monthly_usd_per_hour: float | None
    reserved_1y_usd_per_hour: float | None
    reserved_3y_usd_per_hour: float | None


def diff(before: Catalogue, after: Catalogue) -> CatalogueDiff:
    """Prices that are new, gone, dearer or cheaper in `after`.

    A server is the same if provider, instance, region, GPU, number of GPUs and fraction of a card are; an instance
    that comes back with another GPU is gone and new.
    """
    old, new = _servers(before), _servers(after)
    rows = []
    for server in sorted(old.keys() | new.keys()):
        for way in WAYS:
            row = _change(server, way, (before, old.get(server)), (after, new.get(server)))
            if row:
                rows.append(row)
    rows.sort(key=lambda row: (row.provider, row.gpu, row.offer, WAYS.index(row.way)))
    return CatalogueDiff(before.snapshot, after.snapshot, tuple(rows), tuple(_rates(before, after)))


def price_history(offer: str, catalogues: Iterable[Catalogue]) -> tuple[PricePoint, ...]:
    """What an offer (its id: provider / instance / region) cost in each snapshot, in the order given.

    Raises GpudashError naming the nearest offers if no snapshot holds it.
    """
    points, known = [], set()
    for catalogue in catalogues:
        offers = catalogue.offers
        known.update(offers.id)
        row = next(iter(np.flatnonzero(offers.id == offer)), None)
        prices = {f"{way}_usd_per_hour": None if row is None else _price(offers, way, row) for way in WAYS}
        points.append(PricePoint(catalogue.snapshot, None if row is None else offers.as_of[row], **prices))
    if offer not in known:
        of_provider = [other for other in known if other.startswith(offer.partition(" / ")[0])]
        nearest = get_close_matches(offer, sorted(of_provider or known), n=3, cutoff=0) or ("-",)
        raise GpudashError("catalogue_diff.unknown_offer", offer=offer, nearest=", ".join(nearest))
    return tuple(points)


def _servers(catalogue: Catalogue) -> dict[tuple, int]:
    """The row of each server, by what makes it the same server in another snapshot."""
    offers = catalogue.offers
    gpus = [catalogue.hardware.names[row] for row in offers.gpu_row]
    parts = zip(
        offers.provider, gpus, offers.instance, offers.region, offers.gpus_per_server.tolist(), offers.gpu_fraction
    )
    return {key: row for row, key in enumerate(parts)}


def _price(offers, way: str, row: int | None) -> float | None:
    if row is None:
        return None
    usd_per_hour = float(getattr(offers, f"{way}_usd_per_hour")[row])
    return None if np.isnan(usd_per_hour) else usd_per_hour


def _change(server, way: str, *sides: tuple[Catalogue, int | None]) -> PriceChange | None:
    """The change of one price between two sides, each a catalogue and the server's row in it (None: not offered)."""
    old, new = (_price(catalogue.offers, way, row) for catalogue, row in sides)
    if old is None and new is None:
        return None
    fraction = None
    if old is None or new is None:
        change = "new" if old is None else "gone"
    else:
        listed = [_listed(catalogue, row, usd) for (catalogue, row), usd in zip(sides, (old, new))]
        fraction = listed[1] / listed[0] - 1
        if abs(fraction) < _SAME_WITHIN:
            return None
        change = "dearer" if fraction > 0 else "cheaper"
    provider, gpu, instance, region, gpus_per_server, _ = server
    return PriceChange(
        offer=" / ".join((provider, instance, region)),
        provider=provider,
        instance=instance,
        region=region,
        gpu=gpu,
        gpus_per_server=gpus_per_server,
        way=way,
        change=change,
        before_usd_per_hour=old,
        after_usd_per_hour=new,
        change_fraction=fraction,
    )


def _listed(catalogue: Catalogue, row: int, usd_per_hour: float) -> float:
    return catalogue.rate(catalogue.offers.currency[row]).from_usd(usd_per_hour)


def _rates(before: Catalogue, after: Catalogue):
    for currency, rate in sorted(after.exchange_rates.items()):
        old = before.exchange_rates.get(currency)
        if old and old.units_per_usd != rate.units_per_usd:
            yield RateChange(currency, old.units_per_usd, rate.units_per_usd)


def _counted(rows: list[PriceChange]) -> dict:
    moved = [row.change_fraction for row in rows if row.change_fraction is not None]
    counts = {change: sum(row.change == change for row in rows) for change in CHANGES}
    return counts | {"median_change_fraction": float(np.median(moved)) if moved else None}
