"""The recommendation: what is scored, candidates ranked and put in order, and which of them nothing beats."""

from dataclasses import dataclass

import numpy as np

from gpudash.assumptions import Known
from gpudash.data_costs import reference_egress_usd_per_gb, reference_storage_usd_per_gb_month
from gpudash.ecosystem import ecosystem_fit
from gpudash.frameworks import (
    FrameworkScores,
    custom_framework,
    framework_names,
    load_framework,
    score_candidates,
    sla_level,
)
from gpudash.freshness import certainty, usable_spot_usd_per_hour
from gpudash.offers import offer_id
from gpudash.result import Choice, FrameworkRanking, ScoreTable
from gpudash.robustness import linear_weight_intervals
from gpudash.scores import ranks
from gpudash.sizing import Shapes, Sized
from gpudash.tco import Costs

ALTERNATIVES = 8  # lines shown beside the winner; the rest is in the tables of scores
RANKED_ROWS = 20
ORDERED = 1000  # candidates that are put in order and named; a million offers have no names until they are shown


def candidate_columns(known: Known, shapes: Shapes, sized: Sized, costs: Costs) -> dict[str, np.ndarray]:
    """The facts that frameworks score, one entry per candidate; NaN where nobody publishes them."""
    offers, hardware, rows = known.catalogue.offers, known.catalogue.hardware, costs.rows
    gpu, shape = offers.gpu_row[rows], shapes.of_offer[rows]
    cards = offers.gpus_per_server[rows] * offers.gpu_fraction[rows]
    on_demand = costs.prices.on_demand_usd_per_hour
    committed = np.fmin(costs.prices.reserved_1y_usd_per_hour, costs.prices.reserved_3y_usd_per_hour)
    software = ecosystem_fit(known, rows)
    promises = [known.catalogue.providers.get(name) for name in offers.provider_names]
    by_provider = {
        "sla_percent": [p.sla_percent if p else np.nan for p in promises],
        "support_response_minutes": [p.support_response_minutes if p else np.nan for p in promises],
        "network_usd_per_gb": [reference_egress_usd_per_gb(known, name) for name in offers.provider_names],
        "storage_usd_per_gb_month": [reference_storage_usd_per_gb_month(known, name) for name in offers.provider_names],
    }
    columns = {name: np.array(values, float)[offers.provider_row[rows]] for name, values in by_provider.items()}
    work = sized.work_per_s[shape] / cards
    return columns | {
        "tco_usd": costs.tco_usd,
        "monthly_usd": costs.tco_usd / known.scenario.purchase.horizon_months,
        "on_demand_usd_per_gpu_hour": on_demand / cards,
        "reserved_discount_fraction": np.maximum(1 - committed / on_demand, 0.0),
        "spot_usd_per_gpu_hour": usable_spot_usd_per_hour(offers)[rows] / cards,
        "sla_level": np.asarray(sla_level(columns["sla_percent"])),
        "fp16_tflops": hardware.fp16_tflops[gpu],
        "bandwidth_gb_per_s": hardware.bandwidth_gb_per_s[gpu],
        "watts_per_tflops": hardware.tdp_w[gpu] / hardware.fp16_tflops[gpu],
        "output_tokens_per_s": work,
        "speed_margin_fraction": sized.speed_margin[shape],
        "cuda": software.cuda,
        "onnx": software.onnx,
        "kubernetes": software.kubernetes,
        "monitoring": software.monitoring,
        "ecosystem_fit": software.fit,
        "certainty": certainty(offers, rows, costs.served_hours, sized.speed_low[shape]),
    }


def rank(solved, only_chosen: bool = False) -> dict[str, FrameworkScores]:
    """All candidates in every framework (or in the chosen one only); the user's weights apply to the chosen one.

    The best among those within the budget is the measure: what is not to be had must not decide what counts as fast.
    Where nobody is within it, all are compared.
    """
    priorities, columns = solved.known.scenario.priorities, solved.columns
    among = solved.allowed if solved.allowed.any() else None
    weights = {entry.criterion: entry.weight for entry in priorities.weights}
    if priorities.framework == "custom":
        chosen = score_candidates(custom_framework(weights), columns, among=among)
    else:
        chosen = score_candidates(load_framework(priorities.framework), columns, weights or None, among)
    if only_chosen:
        return {priorities.framework: chosen}
    others = {
        name: score_candidates(load_framework(name), columns, among=among)
        for name in framework_names()
        if name != priorities.framework
    }
    return {priorities.framework: chosen} | others


@dataclass(frozen=True)
class Order:
    """Candidates best first, one per provider and instance (the best region stands for the others)."""

    candidates: np.ndarray
    other_regions: dict[int, tuple[str, ...]]


def order(solved, scores: FrameworkScores) -> Order:
    """The best candidates by score, then by cost, then by name, so that the catalogue's order never decides.

    Those within the budget stand before all others, and a region within it stands for one that is not.
    """
    offers, rows, costs = solved.known.catalogue.offers, solved.costs.rows, solved.costs
    score, cost, above_budget = -np.round(scores.scores, 12), np.round(costs.tco_usd, 6), ~solved.allowed
    best = np.lexsort((cost, score, above_budget))[:ORDERED]
    names = offers.take(rows[best]).id.astype(str)
    best = best[np.lexsort((names, cost[best], score[best], above_budget[best]))]
    first_of: dict[tuple[str, str], int] = {}
    others: dict[int, list[str]] = {}
    for candidate in best:
        offer = rows[candidate]
        key = (offers.provider[offer], offers.instance[offer])
        leader = first_of.setdefault(key, int(candidate))
        if leader != candidate:
            others.setdefault(leader, []).append(str(offers.region[offer]))
    return Order(np.array(list(first_of.values()), dtype=int), {key: tuple(names) for key, names in others.items()})


def ranking(solved, scores: FrameworkScores, ordered: Order) -> FrameworkRanking:
    """The best candidates in one framework, a line per provider and instance, with what each criterion contributes.

    Only those within the budget: nobody else can win, whatever the weights.
    """
    offers, criteria = solved.known.catalogue.offers, scores.framework.criteria
    within = ordered.candidates[solved.allowed[ordered.candidates]]
    place = ranks(scores.scores[within])
    utilities = scores.utilities[within]
    intervals = linear_weight_intervals(utilities, scores.weights) if len(within) else ()
    return FrameworkRanking(
        framework=scores.framework.key,
        criteria=tuple(
            {
                "key": criterion.key, "dimension": criterion.dimension, "weight": float(weight),
                "objective": criterion.objective, "unit": criterion.unit, "ours": criterion.ours,
                "source": criterion.source,
            }
            for criterion, weight in zip(criteria, scores.weights)
        ),
        rows=tuple(
            {
                "offer": offer_id(offers, solved.costs.rows[candidate]),
                "score": float(scores.scores[candidate]),
                "rank": int(rank_here),
                "contributions": {c.key: float(v) for c, v in zip(criteria, scores.contributions[candidate])},
                "imputed": tuple(c.key for c, filled in zip(criteria, scores.imputed[candidate]) if filled),
            }
            for candidate, rank_here in zip(within[:RANKED_ROWS], place)
        ),
        weight_intervals={c.key: (float(low), float(high)) for c, (low, high) in zip(criteria, intervals)},
        warnings=scores.warnings,
        table=ScoreTable(
            solved.costs.rows[ordered.candidates],
            scores.values[ordered.candidates],
            scores.utilities[ordered.candidates],
            len(within),
        ),
    )  # fmt: skip


def pareto_ids(choices: tuple[Choice, ...]) -> tuple[str, ...]:
    """Choices that no other beats in cost and speed at once.

    Speed is the time per token in the busiest hour, else that to the answer, else the hours of a run, else none.
    """

    def slowness(choice: Choice) -> float:
        busiest = choice.at_peak
        times = (busiest.tpot_ms, busiest.ttft_ms) if busiest else (choice.run_hours,)
        return next((time for time in times if time is not None), 0.0)

    points = [(choice.tco_usd, slowness(choice)) for choice in choices]
    return tuple(
        choice.id
        for choice, (cost, slow) in zip(choices, points)
        if not any(c <= cost and s <= slow and (c < cost or s < slow) for c, s in points)
    )
