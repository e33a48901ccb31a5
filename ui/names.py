"""Known names: what may be chosen for an input whose words come from the data."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from gpudash.assumptions import CUSTOM
from gpudash.catalogue import Catalogue, load_catalogue, snapshots
from gpudash.engines import engine_names
from gpudash.model import model_names, precision_names


def _sorted(column) -> tuple[str, ...]:
    return tuple(sorted({str(name) for name in np.unique(column) if name}, key=str.casefold))


def _certificates(catalogue: Catalogue) -> tuple[str, ...]:
    return _sorted([name for provider in catalogue.providers.values() for name in provider.compliance.split(";")])


_KNOWN: dict[str, Callable[[Catalogue], tuple[str, ...]]] = {
    "workload.model": lambda _: (*model_names(), CUSTOM),
    "workload.weight_precision": lambda _: precision_names(),
    "workload.kv_precision": lambda _: precision_names(),
    "workload.engine": lambda _: engine_names(),
    "traffic.shape": lambda catalogue: tuple(catalogue.traffic_shapes),
    "budget.currency": lambda catalogue: tuple(catalogue.exchange_rates),
    "finance.currency": lambda catalogue: tuple(catalogue.exchange_rates),
    "finance.support_plan": lambda catalogue: _sorted([plan.plan for plan in catalogue.support_plans]),
    "finance.owned_gpu": lambda catalogue: _sorted([row.gpu for row in catalogue.hardware_prices]),
    "finance.owned_country": lambda catalogue: tuple(catalogue.electricity),
    "requirements.countries": lambda catalogue: (*catalogue.country_groups, *_sorted(catalogue.offers.country)),
    "requirements.providers_in": lambda catalogue: _sorted(catalogue.offers.provider),
    "requirements.providers_out": lambda catalogue: _sorted(catalogue.offers.provider),
    "requirements.gpus_in": lambda catalogue: _sorted(
        [catalogue.hardware.names[row] for row in catalogue.offers.gpu_row]
    ),
    "requirements.compliance": _certificates,
    "catalogue.snapshot": lambda _: snapshots(),
}


@lru_cache(maxsize=256)
def known_names(path: str, snapshot: str | None) -> tuple[str, ...]:
    """The names to choose from for an input; empty where anything may be typed."""
    return _KNOWN[path](load_catalogue(snapshot)) if path in _KNOWN else ()
