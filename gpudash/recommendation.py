"""The recommendation: candidates scored, the winner and who stands beside it, the reasons, what to watch out for."""

from dataclasses import dataclass

import numpy as np

from gpudash.candidates import ecosystem_fit
from gpudash.energy import choice_energy
from gpudash.engines import is_measured
from gpudash.extras import reference_egress_usd_per_gb, reference_storage_usd_per_gb_month, stand_in_warnings
from gpudash.finance import npv_usd, tax_usd
from gpudash.frameworks import (
    FrameworkScores,
    custom_framework,
    framework_names,
    load_framework,
    score_candidates,
    sla_level,
)
from gpudash.freshness import certainty, freshness_rules
from gpudash.purchase_mix import KINDS
from gpudash.result import Choice, Country, FrameworkRanking, Message, Share, Usd
from gpudash.scores import ranks, weight_intervals
from gpudash.tco import Costs, bill, mix_plan, monthly_usd
from gpudash.units import HOURS_PER_MONTH, SECONDS_PER_HOUR, TOKENS_PER_MILLION

ALTERNATIVES = 8  # lines shown beside the winner; the rest is in the tables of scores
RANKED_ROWS = 20
ORDERED = 1000  # candidates that are put in order and named; a million offers have no names until they are shown


def candidate_columns(known, shapes, sized, costs: Costs) -> dict[str, np.ndarray]:
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
        "spot_usd_per_gpu_hour": offers.spot_usd_per_hour[rows] / cards,
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
        "certainty": certainty(
            offers.age_days[rows], offers.secondary[rows], offers.date_estimated[rows], sized.speed_low[shape]
        ),
    }


def rank(known, columns: dict[str, np.ndarray], only_chosen: bool = False) -> dict[str, FrameworkScores]:
    """All candidates in every framework (or in the chosen one only); the user's weights apply to the chosen one."""
    priorities = known.scenario.priorities
    weights = {entry.criterion: entry.weight for entry in priorities.weights}
    if priorities.framework == "custom":
        chosen = score_candidates(custom_framework(weights), columns)
    else:
        chosen = score_candidates(load_framework(priorities.framework), columns, weights or None)
    if only_chosen:
        return {priorities.framework: chosen}
    others = {
        name: score_candidates(load_framework(name), columns)
        for name in framework_names()
        if name != priorities.framework
    }
    return {priorities.framework: chosen} | others


@dataclass(frozen=True)
class Order:
    """Candidates best first, one per provider and instance (the best region stands for the others)."""

    candidates: np.ndarray
    other_regions: dict[int, tuple[str, ...]]


def order(known, costs: Costs, scores: FrameworkScores) -> Order:
    """The best candidates by score, then by cost, then by name, so that the catalogue's order never decides."""
    offers, rows = known.catalogue.offers, costs.rows
    score, cost = -np.round(scores.scores, 12), np.round(costs.tco_usd, 6)
    best = np.lexsort((cost, score))[:ORDERED]
    names = offers.take(rows[best]).id.astype(str)
    best = best[np.lexsort((names, cost[best], score[best]))]
    first_of: dict[tuple[str, str], int] = {}
    others: dict[int, list[str]] = {}
    for candidate in best:
        offer = rows[candidate]
        key = (offers.provider[offer], offers.instance[offer])
        leader = first_of.setdefault(key, int(candidate))
        if leader != candidate:
            others.setdefault(leader, []).append(str(offers.region[offer]))
    return Order(np.array(list(first_of.values()), dtype=int), {key: tuple(names) for key, names in others.items()})


class Chooser:
    """Makes the full `Choice` (and bill) of the few candidates that are shown; each once."""

    def __init__(self, known, shapes, sized, costs: Costs, scores: FrameworkScores, ordered: Order):
        self.known, self.shapes, self.sized, self.costs = known, shapes, sized, costs
        self.scores, self.ordered = scores, ordered
        self._made: dict[int, Choice] = {}
        self._plans: dict[int, object] = {}

    def mix(self, candidate: int):
        if candidate not in self._plans:
            self._plans[candidate] = mix_plan(self.known, self.costs, candidate)
        return self._plans[candidate]

    def bill(self, candidate: int):
        return bill(self.known, self.costs, candidate, self.mix(candidate), self(candidate).id)

    def __call__(self, candidate: int) -> Choice:
        if candidate not in self._made:
            self._made[candidate] = self._make(int(candidate))
        return self._made[candidate]

    def _make(self, candidate: int) -> Choice:
        known, costs, sized = self.known, self.costs, self.sized
        offers, purchase = known.catalogue.offers, known.scenario.purchase
        offer = costs.rows[candidate]
        shape = self.shapes.of_offer[offer]
        served = {kind: float(costs.served_hours[kind][candidate]) for kind in KINDS}
        hours = sum(served.values())
        tco = float(costs.tco_usd[candidate])
        monthly = tco / purchase.horizon_months
        gpus = int(offers.gpus_per_server[offer])
        servers = int(costs.servers[candidate])
        net = monthly_usd(known, costs, candidate, self.mix(candidate))["total_usd"]
        finance = known.scenario.finance
        budget = known.budget_usd_per_month
        kwh, kgco2e = choice_energy(known, costs, candidate, self.mix(candidate), sized.requests_per_s[shape])
        return Choice(
            id=offer_id(offers, offer),
            provider=str(offers.provider[offer]),
            instance=str(offers.instance[offer]),
            region=str(offers.region[offer]),
            country=str(offers.country[offer]),
            kind=str(offers.kind[offer]),
            gpu=known.catalogue.hardware.names[offers.gpu_row[offer]],
            gpus_per_server=gpus,
            servers=servers,
            last_servers=int(costs.last_servers[candidate]),
            gpus=servers * gpus,
            tensor_parallel=int(sized.tensor_parallel[shape]),
            replicas_per_server=int(sized.replicas_per_server[shape]),
            batch_size=int(sized.batch_size[shape]),
            requests_per_s_per_server=_number(sized.requests_per_s[shape]),
            output_tokens_per_s_per_server=_number(sized.output_tokens_per_s[shape]),
            speed_low=float(sized.speed_low[shape]),
            speed_high=float(sized.speed_high[shape]),
            ttft_ms=_number(sized.ttft_ms[shape]),
            tpot_ms=_number(sized.tpot_ms[shape]),
            run_hours=_number(sized.run_hours[shape]),
            purchase_split={kind: value / hours for kind, value in served.items()} if hours else {},
            monthly_usd=monthly,
            tco_usd=tco,
            npv_usd=float(npv_usd(net, finance.discount_rate_fraction)),
            tax_usd=tax_usd(float(net.sum()), finance.tax_fraction),
            cost_per_million_tokens_usd=_per_million_tokens(known, tco),
            cost_per_run_usd=tco / known.scenario.traffic.runs if known.is_training else None,
            cost_per_gpu_hour_usd=tco / (hours * gpus) if hours else 0.0,
            unused_commitment_usd=float(costs.unused_commitment_usd[candidate]),
            score=float(self.scores.scores[candidate]),
            rank=int(self.scores.ranks[candidate]),
            within_budget=budget is None or monthly <= budget,
            price_as_of=str(offers.as_of[offer]),
            price_age_days=int(offers.age_days[offer]),
            on_demand_usd_per_hour=_number(offers.on_demand_usd_per_hour[offer]),
            spot_usd_per_hour=_number(offers.spot_usd_per_hour[offer]),
            reserved_1y_usd_per_hour=_number(offers.reserved_1y_usd_per_hour[offer]),
            reserved_3y_usd_per_hour=_number(offers.reserved_3y_usd_per_hour[offer]),
            monthly_subscription_usd_per_hour=_number(offers.monthly_usd_per_hour[offer]),
            kwh_per_month=kwh,
            kgco2e_per_month=kgco2e,
            other_regions=self.ordered.other_regions.get(candidate, ()),
        )


def _number(value) -> float | None:
    return float(value) if np.isfinite(value) else None


def served_tokens_per_month(known) -> float | None:
    """Output tokens of the mean month: load of every hour of the week × tokens per answer; None if none are made."""
    if known.is_training or not known.output_tokens:
        return None
    load = known.load
    per_month = load.requests_per_s.mean(axis=1)[load.month_row].mean() * SECONDS_PER_HOUR * HOURS_PER_MONTH
    return float(per_month / known.scenario.traffic.burst_factor * known.output_tokens)


def _per_million_tokens(known, tco_usd: float) -> float | None:
    tokens = served_tokens_per_month(known)
    months = known.scenario.purchase.horizon_months
    return tco_usd / (tokens * months / TOKENS_PER_MILLION) if tokens else None


def offer_id(offers, offer: int) -> str:
    """ "provider / instance / region" of one offer."""
    return " / ".join((offers.provider[offer], offers.instance[offer], offers.region[offer]))


def ranking(known, costs: Costs, scores: FrameworkScores, ordered: Order) -> FrameworkRanking:
    """The best candidates in one framework, a line per provider and instance, with what each criterion contributes."""
    offers = known.catalogue.offers
    criteria = scores.framework.criteria
    best = ordered.candidates[:RANKED_ROWS]
    place = ranks(scores.scores[ordered.candidates])[:RANKED_ROWS]
    known_values = scores.values[ordered.candidates]
    intervals = weight_intervals(known_values, scores.objectives, scores.weights) if len(best) else ()
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
                "offer": offer_id(offers, costs.rows[candidate]),
                "score": float(scores.scores[candidate]),
                "rank": int(rank_here),
                "contributions": {c.key: float(v) for c, v in zip(criteria, scores.contributions[candidate])},
                "imputed": tuple(c.key for c, filled in zip(criteria, scores.imputed[candidate]) if filled),
            }
            for candidate, rank_here in zip(best, place)
        ),
        weight_intervals={c.key: (float(low), float(high)) for c, (low, high) in zip(criteria, intervals)},
        warnings=scores.warnings,
    )  # fmt: skip


def pareto_ids(choices: tuple[Choice, ...]) -> tuple[str, ...]:
    """Choices that no other beats in cost and speed at once (token time, else hours of a run, else cost alone)."""

    def slowness(choice: Choice) -> float:
        return next((v for v in (choice.tpot_ms, choice.ttft_ms, choice.run_hours) if v is not None), 0.0)

    points = [(choice.tco_usd, slowness(choice)) for choice in choices]
    return tuple(
        choice.id
        for choice, (cost, slow) in zip(choices, points)
        if not any(c <= cost and s <= slow and (c < cost or s < slow) for c, s in points)
    )


def winner_reasons(known, winner: Choice, cheapest: Choice, feasible_count: int) -> tuple[Message, ...]:
    """Why this one: its place in cost and score, what it meets, how it is bought."""
    said = []
    if winner.id == cheapest.id:
        said.append(Message.of("reasons.cheapest", count=feasible_count))
    else:
        more = winner.monthly_usd - cheapest.monthly_usd
        said.append(
            Message.of(
                "reasons.best_score", framework=known.scenario.priorities.framework, count=feasible_count,
                more=Usd(more), cheapest=cheapest.id,
            )
        )  # fmt: skip
    if winner.tpot_ms is not None and known.tpot_ms is not None:
        said.append(Message.of("reasons.meets_tpot", value=winner.tpot_ms, target=known.tpot_ms))
    if winner.ttft_ms is not None and known.ttft_ms is not None:
        said.append(Message.of("reasons.meets_ttft", value=winner.ttft_ms, target=known.ttft_ms))
    if winner.run_hours is not None:
        said.append(Message.of("reasons.run", servers=winner.servers, hours=winner.run_hours))
    if known.countries:
        wanted = tuple(Country(name) for name in known.scenario.requirements.countries)
        said.append(Message.of("reasons.residency", country=Country(winner.country), allowed=wanted))
    kinds = [(kind, share) for kind, share in winner.purchase_split.items() if share > 0]
    said.extend(Message.of(f"reasons.bought_{kind}", share=Share(share)) for kind, share in kinds)
    if known.budget_usd_per_month is not None and winner.within_budget:
        spare = known.budget_usd_per_month - winner.monthly_usd
        said.append(Message.of("reasons.within_budget", spare=Usd(spare)))
    return tuple(said)


def versus(choice: Choice, winner: Choice) -> tuple[Message, ...]:
    """Why not this one: its difference to the winner in cost, speed and score."""
    difference = choice.monthly_usd - winner.monthly_usd
    code = "reasons.dearer" if difference >= 0 else "reasons.cheaper"
    said = [
        Message.of(code, difference=Usd(abs(difference)), share=Share(abs(difference) / max(winner.monthly_usd, 1e-9)))
    ]
    if choice.price_age_days > winner.price_age_days + freshness_rules()["fresh_days"]:
        said.append(Message.of("reasons.older_price", age=choice.price_age_days, winner_age=winner.price_age_days))
    said.append(Message.of("reasons.score_behind", score=choice.score * 100, winner_score=winner.score * 100))
    return tuple(said)


def result_warnings(known, costs: Costs, winner, cheapest, candidate) -> tuple[Message, ...]:
    """What a careful buyer would want to hear about the answer."""
    if winner is not None:
        return _winner_warnings(known, winner, costs, candidate)
    if cheapest is None:
        return (Message.of("warnings.nothing_feasible"),)
    if known.budget_usd_per_month is None:
        return (Message.of("warnings.ceiling_short", cheapest=cheapest.id),)
    gap = Usd(cheapest.monthly_usd - known.budget_usd_per_month)
    return (Message.of("warnings.budget_short", cheapest=cheapest.id, gap=gap),)


def _winner_warnings(known, winner: Choice, costs: Costs, candidate: int) -> tuple[Message, ...]:
    offers, rules = known.catalogue.offers, freshness_rules()
    offer, said = costs.rows[candidate], []
    if winner.price_age_days > rules["stale_days"]:
        said.append(Message.of("warnings.stale_price", provider=winner.provider, age=winner.price_age_days))
    elif winner.price_age_days > rules["fresh_days"]:
        said.append(Message.of("warnings.ageing_price", provider=winner.provider, age=winner.price_age_days))
    if offers.secondary[offer]:
        said.append(Message.of("warnings.secondary_price", provider=winner.provider))
    if offers.date_estimated[offer]:
        said.append(Message.of("warnings.estimated_date", provider=winner.provider))
    if known.tpot_ms is not None and winner.tpot_ms and winner.tpot_ms / winner.speed_low > known.tpot_ms:
        said.append(Message.of("warnings.tpot_in_band", slow=winner.tpot_ms / winner.speed_low, target=known.tpot_ms))
    if known.ttft_ms is not None and winner.ttft_ms and winner.ttft_ms / winner.speed_low > known.ttft_ms:
        said.append(Message.of("warnings.ttft_in_band", slow=winner.ttft_ms / winner.speed_low, target=known.ttft_ms))
    if not known.is_training and not known.counts_samples and not _is_measured(known, offer):
        said.append(Message.of("warnings.speed_not_measured", gpu=winner.gpu, engine=known.engine))
    derived = [
        term for term in ("reserved_1y", "reserved_3y", "monthly")
        if winner.purchase_split.get(term) and getattr(offers, f"{term}_origin")[offer] == "derived"
    ]  # fmt: skip
    said.extend(Message.of(f"warnings.derived_{term}", provider=winner.provider) for term in derived)
    said.extend(stand_in_warnings(costs.extras[costs.extras_of[candidate]], winner.provider))
    if known.budget_usd_per_month is not None and not winner.within_budget:
        over = winner.monthly_usd - known.budget_usd_per_month
        said.append(Message.of("warnings.over_soft_budget", over=Usd(over)))
    if len(np.unique(offers.provider_row[costs.rows])) == 1:
        said.append(Message.of("warnings.single_provider", provider=winner.provider))
    return tuple(said)


def _is_measured(known, offer: int) -> bool:
    hardware = known.catalogue.hardware
    row = known.catalogue.offers.gpu_row[offer]
    return is_measured(known.engine, str(hardware.vendor[row]), str(hardware.architecture[row]), hardware.names[row])
