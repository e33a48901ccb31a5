"""Why this one, why not the others, and what to watch out for: coded messages, the sentences are in data/text."""

import numpy as np

from gpudash import contracts
from gpudash.assumptions import Known
from gpudash.data_costs import stand_in_warnings
from gpudash.demand import longest_run_hours
from gpudash.engines import is_measured
from gpudash.freshness import asked_range_usd_per_hour, freshness_rules
from gpudash.host_memory import loaded_gb
from gpudash.result import Choice, Country, Message, Share, Software, Usd
from gpudash.tco import Costs
from gpudash.units import MS_PER_S


def winner_reasons(known: Known, winner: Choice, cheapest: Choice, feasible_count: int) -> tuple[Message, ...]:
    """Why this one: its place in cost and score, what it meets, how it is bought."""
    said = []
    if feasible_count == 1:
        said.append(Message.of("reasons.only_one"))
    elif winner.id == cheapest.id:
        said.append(Message.of("reasons.cheapest", count=feasible_count))
    else:
        framework = Message.of(f"scores.framework_{known.scenario.priorities.framework}")
        more = Usd(winner.monthly_usd - cheapest.monthly_usd)
        values = {"framework": framework, "count": feasible_count, "more": more, "cheapest": cheapest.id}
        said.append(Message.of("reasons.best_score", **values))
    said.extend(_answer_times(known, winner))
    target = known.scenario.traffic.target_utilisation_fraction
    if winner.utilisation_fraction is not None and winner.utilisation_fraction < target:
        said.append(Message.of("reasons.kept_quiet", share=Share(winner.utilisation_fraction), target=Share(target)))
    if winner.run_hours is not None:
        run = {"hours": winner.run_hours, "servers": winner.servers, "instance": winner.instance}
        said.append(Message.of("reasons.run", **run))
    if known.countries:
        wanted = tuple(Country(name) for name in known.scenario.requirements.countries)
        said.append(Message.of("reasons.residency", country=Country(winner.country), allowed=wanted))
    if winner.contract_servers:
        said.append(Message.of("reasons.bought_already", servers=winner.contract_servers, needed=winner.servers))
    kinds = [(kind, share) for kind, share in winner.purchase_split.items() if share > 0]
    said.extend(Message.of(f"reasons.bought_{kind}", share=Share(share)) for kind, share in kinds)
    if known.budget_usd_per_month is not None and winner.within_budget:
        spare = known.budget_usd_per_month - winner.monthly_usd
        said.append(Message.of("reasons.within_budget", spare=Usd(spare)))
    return tuple(said)


def _answer_times(known: Known, winner: Choice) -> list[Message]:
    """How fast its users are answered, against the targets that are set."""
    said, busiest = [], winner.at_peak
    if busiest is None:
        return said
    if known.tpot_ms is not None:
        said.append(
            Message.of(
                "reasons.meets_tpot", peak=busiest.tpot_ms, mean=winner.at_mean.tpot_ms, full=winner.tpot_ms,
                target=known.tpot_ms,
            )
        )  # fmt: skip
    if known.ttft_ms is not None:
        said.append(Message.of("reasons.meets_ttft", value=busiest.ttft_ms, target=known.ttft_ms))
    return said


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


def contract_warnings(known: Known) -> tuple[Message, ...]:
    """What is paid anyway, and contracts that no offer can use."""
    if not known.scenario.purchase.contracts:
        return ()
    return (Message.of("contracts.sunk", usd=Usd(contracts.sunk_usd(known))), *contracts.warnings(known))


def result_warnings(known: Known, costs: Costs, winner, cheapest, candidate) -> tuple[Message, ...]:
    """What a careful buyer would want to hear about the answer."""
    if winner is not None:
        return _winner_warnings(known, winner, costs, candidate)
    if cheapest is None:
        return (Message.of("warnings.nothing_feasible"),)
    if known.budget_usd_per_month is None:
        return (Message.of("warnings.ceiling_short", cheapest=cheapest.id),)
    gap = Usd(cheapest.monthly_usd - known.budget_usd_per_month)
    return (Message.of("warnings.budget_short", cheapest=cheapest.id, gap=gap),)


def _winner_warnings(known: Known, winner: Choice, costs: Costs, candidate: int) -> tuple[Message, ...]:
    offers, rules = known.catalogue.offers, freshness_rules()
    offer, said = costs.rows[candidate], []
    if winner.price_age_days > rules["stale_days"]:
        said.append(Message.of("warnings.stale_price", provider=winner.provider, age=winner.price_age_days))
    elif winner.price_age_days > rules["fresh_days"]:
        said.append(Message.of("warnings.ageing_price", provider=winner.provider, age=winner.price_age_days))
    if offers.doubt[offer]:
        said.append(Message.of(f"warnings.{offers.doubt[offer]}", provider=winner.provider, instance=winner.instance))
    if offers.per_card[offer]:
        said.append(Message.of("warnings.price_per_card", instance=winner.instance, provider=winner.provider))
    if not known.counts_samples and offers.memory_gb[offer] < loaded_gb(known):
        values = {"host": float(offers.memory_gb[offer]), "weights": loaded_gb(known), "provider": winner.provider}
        said.append(Message.of("warnings.lean_host", instance=winner.instance, **values))
    low, high = (float(price[offer]) for price in asked_range_usd_per_hour(offers))
    if low < high:
        said.append(Message.of("warnings.disputed_price", provider=winner.provider, low=Usd(low), high=Usd(high)))
    if offers.secondary[offer]:
        said.append(Message.of("warnings.secondary_price", provider=winner.provider))
    if offers.date_estimated[offer]:
        said.append(Message.of("warnings.estimated_date", provider=winner.provider))
    said.extend(_slow_warnings(known, winner))
    said.extend(_run_warnings(known, winner))
    if not known.is_training and not known.counts_samples and not _is_measured(known, offer):
        said.append(Message.of("warnings.speed_not_measured", gpu=winner.gpu, engine=Software(known.engine)))
    if on_spot := winner.purchase_split.get("spot"):
        said.append(Message.of("warnings.on_spot", share=Share(on_spot)))
    derived = [
        term for term in ("reserved_1y", "reserved_3y", "monthly")
        if winner.purchase_split.get(term) and getattr(offers, f"{term}_origin")[offer] == "derived"
    ]  # fmt: skip
    said.extend(Message.of(f"warnings.derived_{term}", provider=winner.provider) for term in derived)
    said.extend(stand_in_warnings(costs.data_of(candidate), winner.provider))
    if known.budget_usd_per_month is not None and not winner.within_budget:
        over = winner.monthly_usd - known.budget_usd_per_month
        said.append(Message.of("warnings.over_soft_budget", over=Usd(over)))
    asked_for_one = len(known.scenario.requirements.providers_in) == 1
    if not asked_for_one and len(np.unique(offers.provider_row[costs.rows])) == 1:
        said.append(Message.of("warnings.single_provider", provider=winner.provider))
    return tuple(said)


def _slow_warnings(known: Known, winner: Choice) -> list[Message]:
    """What the busiest hour is like if the cards are as slow as the slow end of the band allows."""
    slow = winner.slow_at_peak
    if slow is None:
        return []
    if slow.ttft_ms is None:
        return [Message.of("warnings.overload_in_band", share=Share(slow.utilisation_fraction))]
    said = []
    if known.tpot_ms is not None and slow.tpot_ms > known.tpot_ms:
        said.append(Message.of("warnings.tpot_in_band", slow=slow.tpot_ms, target=known.tpot_ms))
    if known.ttft_ms is not None and slow.ttft_ms > known.ttft_ms:
        seconds = {"slow": slow.ttft_ms / MS_PER_S, "target": known.ttft_ms / MS_PER_S}  # a long queue near full load
        said.append(Message.of("warnings.ttft_in_band", share=Share(slow.utilisation_fraction), **seconds))
    return said


def _run_warnings(known: Known, winner: Choice) -> tuple[Message, ...]:
    """A deadline inside the band of the run's length, and the network that a run on several servers needs."""
    if winner.run_hours is None:
        return ()
    scenario, said = known.scenario, []
    days = scenario.workload.deadline_days
    allowed_hours = longest_run_hours(days, scenario.traffic.runs, scenario.purchase.horizon_months)
    slow_hours = winner.run_hours / winner.speed_low
    if days is not None and slow_hours > allowed_hours:
        said.append(Message.of("warnings.deadline_in_band", slow=slow_hours, target=allowed_hours))
    if winner.servers > 1:
        said.append(Message.of("warnings.network_assumed", servers=winner.servers, provider=winner.provider))
    return tuple(said)


def _is_measured(known: Known, offer: int) -> bool:
    hardware = known.catalogue.hardware
    row = known.catalogue.offers.gpu_row[offer]
    return is_measured(known.engine, str(hardware.vendor[row]), str(hardware.architecture[row]), hardware.names[row])
