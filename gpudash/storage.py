"""Where each data set is stored most cheaply, given how fast and how often it is read and how long it is kept."""

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from gpudash.errors import GpudashError

REQUESTS_PER_PRICED_UNIT = 1000  # request fees are quoted per 1,000
LARGEST_AMOUNT = 10**15  # of any figure in a file; keeps absurd ones from overflowing


@dataclass(frozen=True)
class Dataset:
    """A data set as its owner uses it; `kept_days` is how long one object lives, infinite if it is never deleted."""

    name: str
    size_gb: float
    reads_gb_per_month: float = 0.0
    max_latency_ms: float = math.inf
    kept_days: float = math.inf
    read_requests_per_month: float = 0.0
    write_requests_per_month: float = 0.0


@dataclass(frozen=True)
class Tier:
    """A storage tier as its provider sells it; `latency_ms` to the first byte, `min_days` billed for every object."""

    name: str
    usd_per_gb_month: float
    latency_ms: float
    retrieval_usd_per_gb: float = 0.0
    min_days: float = 0.0
    read_usd_per_1k: float = 0.0
    write_usd_per_1k: float = 0.0


@dataclass(frozen=True)
class Placement:
    """The cheapest tier of each data set, against everything in the fastest tier on the same terms."""

    tier_by_dataset: dict[str, str]
    tiers: tuple[Tier, ...]  # of the data sets, in their order
    usd_by_dataset: dict[str, float]
    all_hot_usd: float

    @property
    def monthly_usd(self) -> float:
        """What all data sets cost in a month, in their tiers."""
        return math.fsum(self.usd_by_dataset.values())

    @property
    def saving_fraction(self) -> float:
        """1 - monthly / all hot, 0 to 1; nothing is saved where everything is free."""
        return 1 - self.monthly_usd / self.all_hot_usd if self.all_hot_usd else 0.0


def storage_usd_per_month(dataset: Dataset, tier: Tier) -> float:
    """Monthly cost of a data set in a tier.

    size x price x max(1, min_days / kept_days) + reads x retrieval + requests x fee. The factor is the early-deletion
    fee: objects that live shorter than the tier's minimum are billed for the minimum, over and over.
    """
    early_deletion = max(1.0, tier.min_days / dataset.kept_days)
    requests_usd = (
        dataset.read_requests_per_month * tier.read_usd_per_1k
        + dataset.write_requests_per_month * tier.write_usd_per_1k
    ) / REQUESTS_PER_PRICED_UNIT
    return (
        dataset.size_gb * tier.usd_per_gb_month * early_deletion
        + dataset.reads_gb_per_month * tier.retrieval_usd_per_gb
        + requests_usd
    )


def place(datasets: Sequence[Dataset], tiers: Sequence[Tier]) -> Placement:
    """Each data set in the cheapest tier that is fast enough; the faster one at equal cost.

    Raises `storage.no_tier`, `storage.no_tier_fast_enough`.
    """
    if not tiers:
        raise GpudashError("storage.no_tier")
    by_latency = sorted(tiers, key=lambda tier: tier.latency_ms)
    fastest = [tier for tier in by_latency if tier.latency_ms == by_latency[0].latency_ms]
    chosen_tiers, usd_by_dataset, all_hot_usd = [], {}, []
    for dataset in datasets:
        fast_enough = [tier for tier in by_latency if tier.latency_ms <= dataset.max_latency_ms]
        if not fast_enough:
            raise GpudashError(
                "storage.no_tier_fast_enough",
                dataset=dataset.name,
                max_latency_ms=dataset.max_latency_ms,
                fastest=fastest[0].name,
                latency_ms=fastest[0].latency_ms,
            )
        chosen = min(fast_enough, key=lambda tier: storage_usd_per_month(dataset, tier))
        chosen_tiers.append(chosen)
        usd_by_dataset[dataset.name] = storage_usd_per_month(dataset, chosen)
        all_hot_usd.append(min(storage_usd_per_month(dataset, tier) for tier in fastest))
    tier_by_dataset = {dataset.name: tier.name for dataset, tier in zip(datasets, chosen_tiers)}
    return Placement(tier_by_dataset, tuple(chosen_tiers), usd_by_dataset, math.fsum(all_hot_usd))


def tiers(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of the command `tiers`: the placement of the file's `datasets` in its `tiers`.

    Raises a `storage.*` error that names the entry which cannot be meant.
    """
    if not isinstance(request, Mapping) or set(request) != {"datasets", "tiers"}:
        raise GpudashError("storage.not_a_request")
    placed = place(_entries("datasets", Dataset, request["datasets"]), _entries("tiers", Tier, request["tiers"]))
    return {
        "placement": placed.tier_by_dataset,
        "monthly_usd": placed.monthly_usd,
        "all_hot_usd": placed.all_hot_usd,
        "saving_fraction": placed.saving_fraction,
    }


def _entries(group: str, kind: type, entries) -> list:
    if not isinstance(entries, list) or not entries:
        raise GpudashError("storage.not_a_list", group=group)
    made = [_entry(f"{group}[{number}]", kind, entry) for number, entry in enumerate(entries)]
    names = [entry.name for entry in made]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise GpudashError("storage.repeated_name", group=group, name=repeated)
    return made


def _entry(where: str, kind: type, entry):
    """One mapping of the file as a `Dataset` or a `Tier`; null means the default."""
    if not isinstance(entry, Mapping):
        raise GpudashError("storage.not_a_mapping", where=where)
    known = {field.name: field for field in fields(kind)}
    for name in entry:
        if name not in known:
            nearest = difflib.get_close_matches(str(name), known, n=1, cutoff=0)[0]
            raise GpudashError("storage.unknown_field", where=where, name=str(name)[:40], nearest=nearest)
    given = {name: value for name, value in entry.items() if value is not None}
    for name, field in known.items():
        if name not in given and field.default is MISSING:
            raise GpudashError("storage.missing_field", where=where, name=name)
    for name, value in given.items():
        if name == "name":
            if not isinstance(value, str) or not value:
                raise GpudashError("storage.name", where=where)
        elif not _is_amount(value) or (name == "kept_days" and value == 0):
            raise GpudashError("storage.amount", where=where, name=name, value=str(value)[:40])
    return kind(**given)


def _is_amount(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= LARGEST_AMOUNT
