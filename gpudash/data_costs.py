"""What data cost at a provider in one country: stored in its own tiers, and sent out to the internet."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpudash.assumptions import Known
from gpudash.catalogue import Catalogue
from gpudash.errors import GpudashError
from gpudash.result import Message
from gpudash.storage import Dataset, Placement, Tier, place
from gpudash.tables import DATA, read_rows

INTERNET_EGRESS = ("egress_internet", "egress_vm_internet")


@dataclass(frozen=True)
class DataCosts:
    """Storage and traffic of one provider in one country; USD per month of month 1 unless the name says otherwise.

    `stand_in` names what this provider publishes no price for: the dearest known price stands in, and is said.
    """

    placement: Placement | None
    storage_usd_per_month: np.ndarray  # [months]
    egress_usd_per_month: float
    stand_in: tuple[str, ...]

    def usd(self, months: int) -> float:
        """What storage and traffic cost in the first so many months."""
        return float(self.storage_usd_per_month[:months].sum() + self.egress_usd_per_month * months)


def data_costs(known: Known, provider: str, country: str) -> DataCosts:
    """Storage placed in the provider's own tiers and egress by its own prices, in that country where it lists them."""
    placement, storage_known = _placement(known, provider, country)
    egress, egress_known = _egress(known, provider, country)
    stand_in = [name for name, found in (("storage", storage_known), ("egress", egress_known)) if not found]
    return DataCosts(placement, _storage_by_month(known, placement), egress, tuple(stand_in))


@lru_cache(maxsize=1)
def _noted_countries() -> dict[str, frozenset[str]]:
    rows = read_rows(DATA / "region_notes.csv")
    return {row["region_note"]: frozenset(row["countries"].split(";")) for row in rows}


def _in_country(known: Known, provider: str, country: str, rows):
    """Rows of a provider that hold in a country: its own and those for everywhere; all of them if there is none."""
    own = [row for row in rows if row.provider == provider]

    def holds(note: str) -> bool:
        region = known.catalogue.regions.get((provider, note))
        return (
            not note
            or (region is not None and region.country == country)
            or country in _noted_countries().get(note, ())
        )

    return [row for row in own if holds(row.region_note)], own


def _placement(known: Known, provider: str, country: str) -> tuple[Placement | None, bool]:
    """The cheapest placement, and whether the provider's own prices made it."""
    datasets = known.scenario.storage.datasets
    if not datasets:
        return None, True
    mean_size = [_mean_growth(dataset, known.scenario.purchase.horizon_months) for dataset in datasets]
    wanted = tuple(
        Dataset(
            name=f"{position}. {dataset.name}",  # two data sets may bear one name
            size_gb=dataset.size_gb * growth,
            reads_gb_per_month=dataset.reads_gb_per_month * growth,
            max_latency_ms=dataset.max_latency_ms,
            kept_days=dataset.kept_days,
            read_requests_per_month=dataset.read_requests_per_month * growth,
            write_requests_per_month=dataset.write_requests_per_month * growth,
        )
        for position, (dataset, growth) in enumerate(zip(datasets, mean_size), start=1)
    )
    here, anywhere = _in_country(known, provider, country, known.catalogue.storage)
    placements = [placed for rows in (here, anywhere) if (placed := _try(known, wanted, rows)) is not None]
    if placements:
        return placements[0], True
    others = dict.fromkeys(row.provider for row in known.catalogue.storage)
    rows_of = [[row for row in known.catalogue.storage if row.provider == name] for name in others]
    stand_ins = [placed for rows in rows_of if (placed := _try(known, wanted, rows)) is not None]
    if not stand_ins:
        place(wanted, [_tier(known, row) for row in known.catalogue.storage])  # raises what is too fast for every tier
    return max(stand_ins, key=lambda placed: placed.monthly_usd), False


def _try(known: Known, wanted, rows) -> Placement | None:
    try:
        return place(wanted, [_tier(known, row) for row in rows if not row.commitment_months > 0])
    except GpudashError:
        return None


def _tier(known: Known, row) -> Tier:
    """A catalogue tier with what its provider does not publish set to the worst known of its kind and class.

    Of its kind too: what nobody asks for a disk, retrieval for one, is no fee of a disk.
    """
    worst = _worst_fees(known.catalogue)[row.kind, row.storage_class]

    def fee(name: str) -> float:
        value = getattr(row, name)
        return worst[name] if np.isnan(value) else value

    return Tier(
        name=f"{row.provider} {row.tier}",
        usd_per_gb_month=row.usd_per_gb_month,
        latency_ms=row.latency_ms,
        retrieval_usd_per_gb=fee("retrieval_usd_per_gb"),
        min_days=fee("minimum_days"),
        read_usd_per_1k=fee("read_usd_per_1k"),
        write_usd_per_1k=fee("write_usd_per_1k"),
    )


@lru_cache(maxsize=8)
def _worst_fees(catalogue: Catalogue) -> dict[tuple[str, str], dict[str, float]]:
    """By kind and class, the highest of each fee that anybody publishes; 0 where nobody does."""
    names = ("retrieval_usd_per_gb", "minimum_days", "read_usd_per_1k", "write_usd_per_1k")
    worst: dict[tuple[str, str], dict[str, float]] = {}
    for row in catalogue.storage:
        fees = worst.setdefault((row.kind, row.storage_class), dict.fromkeys(names, 0.0))
        for fee in names:
            fees[fee] = max(fees[fee], float(np.nan_to_num(getattr(row, fee))))
    return worst


def _mean_growth(dataset, horizon_months: int) -> float:
    """Mean size over the horizon, as a multiple of the first month's."""
    return float(((1 + dataset.growth_fraction_per_month) ** np.arange(horizon_months)).mean())


def _storage_by_month(known: Known, placement: Placement | None) -> np.ndarray:
    """Cost month by month: a data set stays in its tier, its size and use grow."""
    months = known.scenario.purchase.horizon_months
    total = np.zeros(months)
    if placement is not None:
        for dataset, usd in zip(known.scenario.storage.datasets, placement.usd_by_dataset.values()):
            growth = (1 + dataset.growth_fraction_per_month) ** np.arange(months)
            total += usd * growth / growth.mean()
    return total


def _egress(known: Known, provider: str, country: str) -> tuple[float, bool]:
    """Monthly cost of traffic to the internet by the provider's tiers, and whether it publishes any."""
    if not known.scenario.storage.egress_gb_per_month:
        return 0.0, True
    is_published = egress_tiers(known, provider, country)[0].provider == provider
    return egress_usd_per_month(known, provider, country), is_published


def egress_usd_per_month(known: Known, provider: str, country: str, share_fraction: float = 1.0) -> float:
    """What a share of the scenario's traffic to the internet costs by the provider's price steps."""
    amount_gb = share_fraction * known.scenario.storage.egress_gb_per_month
    return _tiered_usd(egress_tiers(known, provider, country), amount_gb)


def egress_tiers(known: Known, provider: str, country: str) -> list:
    """The provider's price steps of traffic to the internet; where it publishes none, those that cost most."""
    internet = [row for row in known.catalogue.egress if row.item in INTERNET_EGRESS]
    here, anywhere = _in_country(known, provider, country, internet)
    if anywhere:
        return _first_list(here or anywhere)
    providers = dict.fromkeys(row.provider for row in internet)
    lists = [_first_list([row for row in internet if row.provider == name]) for name in providers]
    return max(lists, key=lambda tiers: _tiered_usd(tiers, known.scenario.storage.egress_gb_per_month))


def _first_list(rows) -> list:
    """Of several price lists of a provider, the first."""
    first = (rows[0].item, rows[0].region_note)
    return [row for row in rows if (row.item, row.region_note) == first]


def _tiered_usd(tiers, amount_gb: float) -> float:
    """Each tier's part of the amount at its price."""
    return sum(
        max(0.0, min(amount_gb, tier.to_gb_per_month) - tier.from_gb_per_month) * tier.usd_per_gb for tier in tiers
    )


def stand_in_warnings(costs: DataCosts, provider: str) -> tuple[Message, ...]:
    """What another provider's price stands in for."""
    return tuple(Message.of(f"data_costs.stand_in_{name}", provider=provider) for name in costs.stand_in)


REFERENCE_EGRESS_GB = 1000  # the amount at which providers' traffic prices are compared


def reference_egress_usd_per_gb(known: Known, provider: str) -> float:
    """What the first 1,000 GB a month to the internet cost per GB; NaN where the provider publishes no price."""
    rows = [row for row in known.catalogue.egress if row.provider == provider and row.item in INTERNET_EGRESS]
    return _tiered_usd(_first_list(rows), REFERENCE_EGRESS_GB) / REFERENCE_EGRESS_GB if rows else np.nan


def reference_storage_usd_per_gb_month(known: Known, provider: str) -> float:
    """The provider's cheapest hot object storage without a commitment; NaN where it publishes none."""
    prices = [
        row.usd_per_gb_month
        for row in known.catalogue.storage
        if row.provider == provider
        and (row.kind, row.storage_class) == ("object", "hot")
        and not row.commitment_months > 0
    ]
    return min(prices, default=np.nan)
