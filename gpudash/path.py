"""The path through every decision tree: the facts of a scenario and the candidates' columns, walked tree by tree."""

import numpy as np

from gpudash.assumptions import Known
from gpudash.candidates import GATES
from gpudash.demand import peak_to_mean
from gpudash.records import TERM_MONTHS
from gpudash.tree import Path, load_tree, tree_names, walk


def walk_trees(known: Known, gates, costs, winner_offer: int | None) -> dict[str, Path]:
    """All trees of data/trees on this scenario, over all offers of the catalogue."""
    facts, columns = tree_facts(known), tree_columns(known, gates, costs, winner_offer)
    return {name: walk(load_tree(name), facts, columns) for name in tree_names()}


def tree_facts(known: Known) -> dict[str, float | str | bool]:
    """What the trees may ask about the scenario."""
    scenario, work = known.scenario, known.scenario.workload
    core_metric = "training" if known.is_training else "real_time" if work.kind == "inference" else "inference"
    return {
        "kind": work.kind,
        "params_b": known.model.params_b,
        "has_budget": known.budget_usd_per_month is not None,
        "budget_hard": known.budget_usd_per_month is not None and scenario.budget.hard,
        "budget_usd_per_month": known.budget_usd_per_month or 0.0,
        "peak_to_mean": 1.0 if known.is_training else peak_to_mean(known.weekly_shape),
        "peak_requests_per_s": scenario.traffic.peak_requests_per_s,
        "framework": scenario.requirements.framework,
        "residency": bool(known.countries),
        "horizon_months": float(scenario.purchase.horizon_months),
        "longest_commitment_months": float(max((TERM_MONTHS[term] for term in scenario.purchase.terms), default=0)),
        "core_metric": core_metric,
        "measured_loads": 0.0,  # nobody can enter a benchmark of their own yet
    }


def tree_columns(known: Known, gates, costs, winner_offer: int | None) -> dict[str, np.ndarray]:
    """What the trees may ask about each offer."""
    offers, catalogue = known.catalogue.offers, known.catalogue
    promises = [catalogue.providers.get(name) for name in offers.provider_names]
    sla = np.array([promise.sla_percent if promise else np.nan for promise in promises], float)
    response = np.array([promise.support_response_minutes if promise else np.nan for promise in promises], float)
    tco = np.full(len(offers), np.nan)
    tco[costs.rows] = costs.tco_usd
    first = np.zeros(len(offers), dtype=bool)
    if winner_offer is not None:
        first[winner_offer] = True
    return {f"gate_{gate}": gates.holds[gate] for gate in GATES} | {
        "gpu": np.array(catalogue.hardware.names)[offers.gpu_row],
        "provider": np.array(offers.provider_names)[offers.provider_row],
        "sla_percent": sla[offers.provider_row],
        "support_response_minutes": response[offers.provider_row],
        "tco_usd": tco,
        "first": first,
    }
