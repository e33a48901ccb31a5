"""Each headline number opened: its formula with the numbers put in, and the sources of those numbers."""

from gpudash import derivation
from gpudash.derivation import Derivation
from gpudash.figures.choices import headline_order, short_name
from gpudash.figures.evidence import entry_name, entry_value
from gpudash.figures.money import money_of
from gpudash.finance import annuity_usd_per_year
from gpudash.purchase_mix import KINDS
from gpudash.result import Choice, Result
from gpudash.text import Text
from gpudash.units import MONTHS_PER_YEAR

OF_SERVERS = (
    "workload.ttft_ms",
    "workload.tpot_ms",
    "traffic.target_utilisation_fraction",
    "workload.deadline_days",
)
OF_TOTAL = ("finance.discount_rate_fraction", "finance.staff_usd_per_year")


def headline(result: Result, text: Text) -> list[list[str]] | None:
    """How each of the four headline numbers comes about, in their order."""
    parts = derivation.derivation(result)
    if parts is None:
        return None
    return headline_order(
        result.leading,
        _monthly(parts, result, text),
        _total(parts, result, text),
        _unit(parts, result, text),
        _servers(parts, result, text),
    )


def _monthly(parts: Derivation, result: Result, text: Text) -> list[str]:
    choice, money = result.leading, money_of(result, text)
    months = text.number(result.scenario.purchase.horizon_months)
    total, monthly = money(choice.tco_usd), money(choice.monthly_usd)
    formula = text("derivation.monthly", total=total, months=months, monthly=monthly)
    return [_sum(parts, result, text), formula, _rates(parts, choice, result, text)]


def _sum(parts: Derivation, result: Result, text: Text) -> str:
    """What the whole time costs, kind by kind."""
    money = money_of(result, text)
    said = [
        text("derivation.part", kind=text(f"common.{'way' if kind in KINDS else 'cost'}.{kind}"), usd=money(usd))
        for kind, usd in parts.usd_by_kind.items()
    ]
    months = text.number(result.scenario.purchase.horizon_months)
    return text("derivation.sum", parts=text.value(said), total=money(result.leading.tco_usd), months=months)


def _rates(parts: Derivation, choice: Choice, result: Result, text: Text) -> str:
    money = money_of(result, text)
    rates = [
        text(
            "derivation.rate",
            rate=money(price.value),
            way=text(f"common.way.{price.name.removeprefix('price.')}"),
            date=text.date(price.as_of),
            source=price.source,
        )
        for price in parts.prices
    ]
    return text("derivation.rates", name=short_name(choice), rates=text.value(rates))


def _total(parts: Derivation, result: Result, text: Text) -> list[str]:
    choice, money, finance = result.leading, money_of(result, text), result.scenario.finance
    rate, years = finance.discount_rate_fraction, result.scenario.purchase.horizon_months / MONTHS_PER_YEAR
    lines = [
        _sum(parts, result, text),
        text("derivation.npv", rate=text.percent(rate), npv=money(choice.npv_usd)),
    ]
    if years > 1:
        annuity = money(annuity_usd_per_year(choice.npv_usd, rate, years))
        lines.append(text("derivation.annuity", years=text.number(years), rate=text.percent(rate), annuity=annuity))
    if choice.tax_usd:
        rate = text.percent(finance.tax_fraction)
        lines.append(text("derivation.tax", rate=rate, total=money(choice.tco_usd), tax=money(choice.tax_usd)))
    return [*lines, _rates(parts, choice, result, text), *_assumed(OF_TOTAL, result, text)]


def _unit(parts: Derivation, result: Result, text: Text) -> list[str]:
    """What a million tokens or a run costs, or what a server serves where neither is counted."""
    choice, money, months = result.leading, money_of(result, text), result.scenario.purchase.horizon_months
    total = money(choice.tco_usd)
    if parts.contracts_usd:
        total = text("derivation.with_contracts", total=total, contracts=money(parts.contracts_usd))
    if choice.cost_per_run_usd is not None:
        runs, usd = text.number(result.scenario.traffic.runs), money(choice.cost_per_run_usd)
        return [_sum(parts, result, text), text("derivation.runs", total=total, runs=runs, usd=usd)]
    if parts.output_tokens_m is None:
        said = {"low": text.percent(choice.speed_low), "high": text.percent(choice.speed_high)}
        requests = text.number(choice.requests_per_s_per_server)
        return [text("derivation.per_server", name=short_name(choice), requests=requests, **said)]
    tokens, usd = text.number(parts.output_tokens_m), money(choice.cost_per_million_tokens_usd)
    served = text(
        "derivation.tokens",
        mean=text.number(parts.mean_requests_per_s),
        output=text.number(result.scenario.workload.output_tokens),
        seconds=text.number(parts.seconds),
        months=text.number(months),
        tokens=tokens,
    )
    return [served, _sum(parts, result, text), text("derivation.per_million", total=total, tokens=tokens, usd=usd)]


def _servers(parts: Derivation, result: Result, text: Text) -> list[str]:
    choice, traffic, money = result.leading, result.scenario.traffic, money_of(result, text)
    counts = {"servers": text.number(choice.servers), "gpus": text.number(choice.gpus)}
    if choice.run_hours is not None:
        each, hours = text.number(choice.gpus_per_server), text.number(choice.run_hours)
        said = {"servers": counts["servers"], "gpus": each, "gpu": choice.gpu, "hours": hours}
        lines = [text("derivation.run_servers", **said)]
    else:
        lines = _from_load(parts, choice, traffic, text)
    lines.append(text("derivation.gpus", per_server=text.number(choice.gpus_per_server), **counts))
    if parts.gpu_hours:
        said = {"hours": text.number(parts.gpu_hours), "usd": money(choice.cost_per_gpu_hour_usd)}
        lines.append(text("derivation.gpu_hour", total=money(choice.tco_usd), **said))
    return lines + _assumed(OF_SERVERS, result, text)


def _from_load(parts: Derivation, choice: Choice, traffic, text: Text) -> list[str]:
    load, capacity = text.number(parts.peak_requests_per_s), text.number(parts.capacity_requests_per_s)
    peak, burst = text.number(traffic.peak_requests_per_s), text.number(traffic.burst_factor)
    requests = text.number(choice.requests_per_s_per_server)
    share = text.percent(traffic.target_utilisation_fraction)
    replicas, servers = text.number(traffic.minimum_replicas), text.number(choice.servers)
    return [
        text("derivation.load", peak=peak, burst=burst, load=load),
        text("derivation.capacity", requests=requests, share=share, capacity=capacity),
        text("derivation.servers", load=load, capacity=capacity, replicas=replicas, servers=servers),
        *_answers(choice, text),
    ]


def _answers(choice: Choice, text: Text) -> list[str]:
    """How fast those servers answer in the busiest hour; nothing where nobody waits for tokens."""
    busiest = choice.at_peak
    if busiest is None or busiest.tpot_ms is None:
        return []
    said = {"requests": text.number(busiest.requests_per_s), "share": text.percent(busiest.utilisation_fraction)}
    said |= {"batch": text.number(busiest.batch_size), "most": text.number(choice.batch_size)}
    times = {"time": text.number(busiest.tpot_ms), "mean": text.number(choice.at_mean.tpot_ms)}
    return [text("derivation.answers", **said, **times, full=text.number(choice.tpot_ms))]


def _assumed(names: tuple[str, ...], result: Result, text: Text) -> list[str]:
    """The numbers that nobody entered, each with its source and date."""
    return [
        text(
            "derivation.assumed",
            name=entry_name(entry, text),
            value=entry_value(entry, text),
            source=entry.source,
            date=text.date(entry.as_of),
        )
        for entry in result.assumptions
        if entry.name in names and entry.source and entry.as_of
    ]
