"""From the answer to the work: three stages with dates, three targets for the contract, and when commitments end.

Dates count from the price snapshot, not from today, so that the same link gives the same plan next year.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

import numpy as np

from gpudash.records import TERM_MONTHS
from gpudash.result import Choice, Message, Result, Usd
from gpudash.tables import DATA, read_yaml, sourced_values
from gpudash.units import HOURS_PER_DAY, MONTHS_PER_YEAR

STAGES = ("pilot", "migrate", "commit")
_DAYS_PER_WEEK = 7


@dataclass(frozen=True)
class Stage:
    """One stage of the roadmap (`pilot`, `migrate`, `commit`); it ends where the next one starts."""

    name: str
    starts: date
    ends: date
    tasks: tuple[Message, ...]
    done_when: Message


@dataclass(frozen=True)
class Kpi:
    """One target for the contract with the provider; `values` are its numbers, with units in their names.

    `source` is the path of the input it comes from, or whoever published it; blank where it is our prediction.
    """

    name: str
    target: Message
    values: dict[str, float]
    source: str


@dataclass(frozen=True)
class Commitment:
    """Servers bought for a term; a subscription runs on month by month until `ends`."""

    kind: str
    servers: int
    starts: date
    ends: date


def roadmap_rule(name: str):
    """A number of data/brief/roadmap.yaml, its unit in the name."""
    return sourced_values("brief/roadmap")[name]


@cache
def _source(name: str) -> str:
    return read_yaml(DATA / "brief" / "roadmap.yaml")[name]["source"]


def first_day(result: Result) -> date:
    """The Monday after the prices were collected."""
    collected = date.fromisoformat(result.snapshot)
    return collected + timedelta(days=_DAYS_PER_WEEK - collected.weekday())


def horizon_starts(result: Result) -> date:
    """The first day of month 1 of the bill: when the last stage ends and commitments begin."""
    return first_day(result) + timedelta(days=sum(roadmap_rule(f"{name}_days") for name in STAGES))


def stages(result: Result) -> tuple[Stage, ...]:
    """Pilot, migrate, commit; none where nothing can do the work."""
    choice = result.leading
    if choice is None:
        return ()
    tasks = {"pilot": _pilot(choice, result), "migrate": _migrate(choice, result), "commit": _commit(result)}
    made, starts = [], first_day(result)
    for name in STAGES:
        ends = starts + timedelta(days=roadmap_rule(f"{name}_days"))
        made.append(Stage(name, starts, ends, tasks[name], Message.of(f"brief.done_{name}", **_DONE[name]())))
        starts = ends
    return tuple(made)


_DONE = {
    "pilot": lambda: {"loads": roadmap_rule("benchmark_loads")},
    "migrate": dict,
    "commit": lambda: {"days": roadmap_rule("renewal_notice_days")},
}


def _pilot(choice: Choice, result: Result) -> tuple[Message, ...]:
    """The benchmark loads, and the speed that they must show."""
    work = result.scenario.workload
    said = {"instance": choice.instance, "servers": choice.servers}
    if work.is_training:
        tasks = [Message.of("brief.pilot_training", tokens=work.sequence_tokens, **said)]
    else:
        rate = result.scenario.traffic.peak_requests_per_s
        said |= {"context": work.context_tokens, "output": work.output_tokens, "rate": rate}
        tasks = [Message.of("brief.pilot_serving", **said)]
    speed = choice.output_tokens_per_s_per_server
    if speed:
        band = {"low": speed * choice.speed_low, "high": speed * choice.speed_high}
        tasks.append(Message.of("brief.pilot_speed", speed=speed, **band))
    return tuple(tasks)


def _migrate(choice: Choice, result: Result) -> tuple[Message, ...]:
    key = "brief.migrate_training" if result.scenario.workload.is_training else "brief.migrate_serving"
    tasks = [Message.of(key, servers=choice.servers, instance=choice.instance, provider=choice.provider)]
    if result.scenario.finance.migration_usd:
        tasks.append(Message.of("brief.migrate_cost", usd=Usd(result.scenario.finance.migration_usd)))
    return tuple(tasks)


def _commit(result: Result) -> tuple[Message, ...]:
    bought = commitments(result)
    tasks = [
        Message.of(f"brief.commit_{item.kind}", servers=item.servers, starts=item.starts, ends=item.ends)
        for item in bought
    ]
    return tuple(tasks) or (Message.of("brief.commit_nothing"),)


def commitments(result: Result) -> tuple[Commitment, ...]:
    """What the purchase mix commits to, from the end of the last stage on; a term is kept in full."""
    plan = result.purchase_mix
    if plan is None:
        return ()
    begin, found = horizon_starts(result), []
    for kind in ("reserved_3y", "reserved_1y"):
        months = TERM_MONTHS[kind]
        for term, servers in enumerate(np.atleast_1d(getattr(plan, f"{kind}_servers")).tolist()):
            if servers:
                starts = months_later(begin, term * months)
                found.append(Commitment(kind, servers, starts, months_later(starts, months)))
    subscribed = np.flatnonzero(plan.monthly_servers)
    if len(subscribed):
        first, last = int(subscribed[0]), int(subscribed[-1])
        most = int(np.max(plan.monthly_servers))
        found.append(Commitment("monthly", most, months_later(begin, first), months_later(begin, last + 1)))
    return tuple(found)


def months_later(day: date, months: int) -> date:
    """The same day some months later, or the last day of that month."""
    year, month = divmod(day.year * MONTHS_PER_YEAR + day.month - 1 + months, MONTHS_PER_YEAR)
    following = date(year + (month + 1) // MONTHS_PER_YEAR, (month + 1) % MONTHS_PER_YEAR + 1, 1)
    return date(year, month + 1, min(day.day, (following - timedelta(days=1)).day))


def reviews(result: Result) -> tuple[date, ...]:
    """The days of the hardware review, once a year until the horizon ends, at least one."""
    every, horizon = roadmap_rule("hardware_review_months"), result.scenario.purchase.horizon_months
    return tuple(months_later(first_day(result), month) for month in range(every, max(horizon, every) + 1, every))


def kpis(result: Result) -> tuple[Kpi, ...]:
    """Three targets for the contract: availability, speed, support; none where nothing can do the work."""
    choice = result.leading
    if choice is None:
        return ()
    provider = result.catalogue.providers.get(choice.provider)
    return (_availability(result, provider), _speed(choice, result), _support(provider))


def _availability(result: Result, provider) -> Kpi:
    """What the scenario asks for, else what the provider publishes, else what the article asks for."""
    wanted = result.scenario.requirements.minimum_sla_fraction
    if wanted is not None:
        fraction, source = wanted, "requirements.minimum_sla_fraction"
    elif provider is not None and np.isfinite(provider.sla_percent):
        fraction, source = provider.sla_percent / 100, f"{provider.source} ({provider.as_of})"
    else:
        fraction, source = roadmap_rule("availability_fraction"), _source("availability_fraction")
    target = Message.of("brief.kpi_availability", share=f"{100 * fraction:.6g}")
    return Kpi("availability", target, {"availability_fraction": fraction}, source)


def _speed(choice: Choice, result: Result) -> Kpi:
    """The latency targets at peak load; the run time in training; the throughput where there are no targets."""
    work, rate = result.scenario.workload, result.scenario.traffic.peak_requests_per_s
    if work.is_training:
        hours = work.deadline_days * HOURS_PER_DAY if work.deadline_days else choice.run_hours
        source = "workload.deadline_days" if work.deadline_days else ""
        return Kpi("speed", Message.of("brief.kpi_run", hours=hours), {"run_hours": hours}, source)
    limits = {"ttft_ms": work.ttft_ms, "tpot_ms": work.tpot_ms if choice.tpot_ms else None}
    limits = {name: float(limit) for name, limit in limits.items() if limit is not None}
    if work.kind != "inference" or not limits:
        asked = "traffic.peak_requests_per_s"
        return Kpi("speed", Message.of("brief.kpi_rate", rate=rate), {"requests_per_s": rate}, asked)
    percentile = roadmap_rule("latency_percentile")
    said = {"rate": rate, "percentile": percentile, **limits}
    key = f"brief.kpi_{'_and_'.join(name.removesuffix('_ms') for name in limits)}"
    values = {**limits, "requests_per_s": rate, "percentile": percentile}
    return Kpi("speed", Message.of(key, **said), values, "workload.ttft_ms")


def _support(provider) -> Kpi:
    """The answer time that the provider publishes, else the one the article asks for."""
    minutes, source = roadmap_rule("response_minutes"), _source("response_minutes")
    if provider is not None and np.isfinite(provider.support_response_minutes):
        minutes, source = provider.support_response_minutes, f"{provider.source} ({provider.as_of})"
    return Kpi("support", Message.of("brief.kpi_support", minutes=minutes), {"response_minutes": minutes}, source)
