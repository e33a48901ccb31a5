"""The brief's own tables and sentences: what stands beside the answer, what would change it, the plan, the targets."""

import math

import numpy as np

from gpudash.figures import fleets, overview, what_if
from gpudash.figures.choices import price_source, short_name
from gpudash.figures.evidence import entry_name, entry_source, entry_value
from gpudash.figures.money import money_of
from gpudash.figures.recommendation import OURS
from gpudash.figures.scores import ranking_of
from gpudash.figures.table import Table, table
from gpudash.figures.tco import monthly_table
from gpudash.figures.what_if import by_distance
from gpudash.newer_prices import SMALLEST_SHARE
from gpudash.purchase_mix import KINDS
from gpudash.result import Choice, Result
from gpudash.roadmap import kpis as kpis_of
from gpudash.roadmap import stages
from gpudash.text import Text
from gpudash.units import MONTHS_PER_YEAR

ALTERNATIVES = 3
WORDS_ABOUT = ("about.name", "about.author", "about.notes")
FLIPS_SHOWN = 8


def beside(result: Result) -> dict[str, Choice]:
    """Three other choices by role: runner-up, cheapest, fastest, then the next in rank; fewer where there are fewer."""
    first = result.leading
    if first is None:
        return {}
    named = {"runner_up": result.runner_up, "cheapest": result.cheapest, "fastest": result.fastest}
    named |= {f"rank_{number}": choice for number, choice in enumerate(result.alternatives, start=1)}
    chosen: dict[str, Choice] = {}
    for role, choice in named.items():
        if choice is None or choice.id in {first.id, *(other.id for other in chosen.values())}:
            continue
        if len(chosen) < ALTERNATIVES:
            chosen[role] = choice
    return chosen


def _role(role: str, text: Text) -> str:
    kind, _, rank = role.partition("_")
    return text("brief.role_rank", rank=rank) if kind == "rank" else text(f"overview.role_{role}")


def alternatives(result: Result, text: Text) -> Table | None:
    """The choice and three others with the difference to it."""
    first, money = result.leading, money_of(result, text)
    if first is None:
        return None
    label = text("brief.role_first" if result.recommendation else "brief.role_closest")
    shown = {label: first} | {_role(role, text): choice for role, choice in beside(result).items()}
    choices = shown.values()
    currency = money.currency
    columns = [
        (text("brief.column_role"), list(shown)),
        (text("brief.column_choice"), [short_name(choice) for choice in choices]),
        (text("brief.column_region"), [choice.region for choice in choices]),
        (
            text("brief.column_machines"),
            [f"{choice.servers} × {choice.gpus_per_server} × {choice.gpu}" for choice in choices],
        ),
        (text("brief.column_monthly", currency=currency), [money.amount(c.monthly_usd) for c in choices], "number"),
        (
            text("brief.column_difference", currency=currency),
            [money.amount(choice.monthly_usd - first.monthly_usd) for choice in choices],
            "number",
        ),
        (text("brief.column_total", currency=currency), [money.amount(choice.tco_usd) for choice in choices], "number"),
        (text("brief.column_score"), [100 * choice.score for choice in choices], "number"),
    ]
    return table(text("brief.alternatives_title"), columns, price_source(result, money, text))


def numbers(result: Result, text: Text) -> Table | None:
    """The headline numbers of the choice, in full; for runs, what one costs is the first."""
    choice, money = result.leading, money_of(result, text)
    if choice is None:
        return None
    in_currency = {
        "run": choice.cost_per_run_usd,
        "monthly": choice.monthly_usd,
        "total": choice.tco_usd,
        "npv": choice.npv_usd,
        "tax": choice.tax_usd,
        "million_tokens": choice.cost_per_million_tokens_usd,
        "gpu_hour": choice.cost_per_gpu_hour_usd,
    }
    counts = {"servers": choice.servers, "last_servers": choice.last_servers, "gpus": choice.gpus}
    energy = {"kwh": choice.kwh_per_month, "kgco2e": choice.kgco2e_per_month}
    counts |= {name: value for name, value in energy.items() if value is not None}
    amounts = {name: money.amount(usd) for name, usd in in_currency.items() if usd is not None}
    labels = [text(f"brief.column_{name}", currency=money.currency) for name in (*amounts, *counts)]
    columns = [
        (text("brief.column_number"), labels),
        (text("evidence.column_value"), [*amounts.values(), *counts.values()], "number"),
    ]
    return table(text("brief.numbers_title"), columns, price_source(result, money, text))


def years(result: Result, text: Text) -> Table | None:
    """The bill year by year from the start, one column per kind of cost; the last year may be a part of one."""
    months = monthly_table(result, text)
    if months is None:
        return None
    starts = range(0, len(months), MONTHS_PER_YEAR)
    numbers = [text("brief.year", first=start + 1, last=min(start + MONTHS_PER_YEAR, len(months))) for start in starts]
    columns = [(text("brief.column_year"), numbers)]
    for column in months.columns[1:]:
        sums = [math.fsum(column.values[start : start + MONTHS_PER_YEAR]) for start in starts]
        columns.append((column.label, sums, column.kind))
    return table(text("brief.years_title"), columns, months.source)


def purchase(result: Result, text: Text) -> Table | None:
    """What is bought which way over the whole time: hours used, what they cost, what of it is not used."""
    plan, money = result.purchase_mix, money_of(result, text)
    if plan is None:
        return None
    ways = [kind for kind in KINDS if np.sum(plan.usd[kind]) or np.sum(plan.served_hours[kind])]
    columns = [
        (text("purchase_mix.column_way"), [text(f"common.way.{kind}") for kind in ways]),
        (text("brief.column_hours"), [float(np.sum(plan.served_hours[kind])) for kind in ways], "number"),
        (
            text("brief.column_paid", currency=money.currency),
            [money.amount(plan.paid_usd[kind]) for kind in ways],
            "number",
        ),
        (
            text("brief.column_unused", currency=money.currency),
            [money.amount(plan.unused_usd.get(kind, 0.0)) for kind in ways],
            "number",
        ),
    ]
    return table(text("brief.purchase_title"), columns, price_source(result, money, text))


def owned(result: Result, text: Text) -> Table | None:
    """Own servers with the cloud for the rest against the cloud alone; the reason where own ones cannot do this."""
    own, money = result.owned, money_of(result, text)
    if own is None:
        return None
    if own.because is not None:
        return table(text("brief.section_owned"), [(text("brief.column_sentence"), [text.say(own.because)])])
    in_currency = {
        "capex": own.capex_usd,
        "residual": own.residual_usd,
        "with_own": own.total_usd,
        "cloud_only": own.cloud_only_usd,
        "saving": own.saving_usd,
    }
    values = {name: money.amount(usd) for name, usd in in_currency.items()} | {"payback": own.payback_months}
    columns = [
        (text("brief.column_number"), [text(f"brief.owned_{name}", currency=money.currency) for name in values]),
        (text("evidence.column_value"), list(values.values()), "number"),
    ]
    share = text.percent(own.served_fraction)
    said = {"servers": text.number(own.servers), "gpus": text.number(own.gpus_per_server), "gpu": own.gpu}
    source = text.joined(text("brief.owned_share", share=share, **said), price_source(result, money, text))
    return table(text("brief.section_owned"), columns, source)


def path(result: Result, text: Text) -> Table | None:
    """The way through our tree: question, answer, margin, offers left."""
    walked = result.path.get(OURS)
    if walked is None:
        return None
    margins = [step.margin_words for step in walked.steps]
    columns = [
        (text("recommendation.column_question"), [text(step.question) for step in walked.steps]),
        (text("recommendation.column_answer"), [text(step.branch) for step in walked.steps]),
        (text("recommendation.column_margin"), [text.say(words) if words else "" for words in margins]),
        (text("recommendation.column_left"), [step.candidates_left for step in walked.steps], "number"),
    ]
    return table(text("brief.path_title"), columns, text.say(walked.outcome))


def would_change(result: Result, text: Text) -> list[str]:
    """What would lead to another answer: money, the competitor's price, the weights, a lower precision, two types.

    The nearest thresholds of single inputs come first where they were searched for.
    """
    first = result.leading
    if first is None:
        return []
    lines = [text.say(flip.sentence) for flip in by_distance(result.flips or ())[:FLIPS_SHOWN]]
    if result.gap_usd_per_month is not None:
        lines.append(text("overview.gap", gap=money_of(result, text)(result.gap_usd_per_month)))
    second = result.runner_up
    if second is not None and second.monthly_usd > first.monthly_usd > 0:
        dearer = text.percent(second.monthly_usd / first.monthly_usd - 1)
        lines.append(text("brief.change_price", first=short_name(first), second=short_name(second), share=dearer))
    return lines + _weights(result, text) + overview.less_precise(result, text) + fleets.beside_the_answer(result, text)


def sureness(result: Result, text: Text) -> list[str]:
    """How far the cost may vary and how often the choice is the right one, where that was drawn."""
    return what_if.sureness(result.uncertainty, result, text) if result.uncertainty is not None else []


def _weights(result: Result, text: Text) -> list[str]:
    """The weights that cannot move freely, each with the range in which the choice stays first."""
    ranking = ranking_of(result)
    if ranking is None or result.recommendation is None:
        return []
    bound = {key: ends for key, ends in ranking.weight_intervals.items() if tuple(ends) != (0.0, 1.0)}
    if not bound:
        return [text("brief.change_no_weight")]
    return [_weight(key, low, high, text) for key, (low, high) in bound.items()]


def _weight(criterion: str, low: float, high: float, text: Text) -> str:
    """The range of one weight in words; an end that no weight can cross is not said."""
    said = {"criterion": text(f"scores.criterion_{criterion}"), "low": text.percent(low), "high": text.percent(high)}
    key = "at_most" if low < SMALLEST_SHARE else "at_least" if high > 1 - SMALLEST_SHARE else "between"
    return text(f"brief.change_weight_{key}", **said)


def risks(result: Result, text: Text) -> list[str]:
    """The warnings, and what is paid for commitments that nobody uses."""
    lines, first = overview.warnings(result, text), result.leading
    if first is not None and first.unused_commitment_usd > 0:
        unused = money_of(result, text)(first.unused_commitment_usd)
        lines.append(text("figures.split_unused", unused=unused))
    return lines


def assumptions(result: Result, text: Text) -> Table:
    """Every number behind the answer as it reads and in full, with source and date.

    Who asked and what the decision is called stand elsewhere in a brief; the answer does not rest on them.
    """
    entries = [entry for entry in result.assumptions if entry.name not in WORDS_ABOUT]
    exact = [entry.value if isinstance(entry.value, (int, float)) else None for entry in entries]
    columns = [
        (text("evidence.column_name"), [entry_name(entry, text) for entry in entries]),
        (text("evidence.column_value"), [entry_value(entry, text) for entry in entries]),
        (text("brief.column_exact"), exact, "number"),
        (text("evidence.column_origin"), [text(f"common.origin.{entry.origin}") for entry in entries]),
        (text("evidence.column_source"), [entry_source(entry, text) for entry in entries]),
        (text("evidence.column_date"), [str(entry.as_of or "") for entry in entries]),
    ]
    return table(text("evidence.ledger_title", count=text.number(len(entries))), columns)


def roadmap(result: Result, text: Text) -> Table | None:
    """Three stages with dates, what is done in each, and when it is done."""
    plan = stages(result)
    if not plan:
        return None
    columns = [
        (text("brief.column_stage"), [text(f"brief.stage_{stage.name}") for stage in plan]),
        (text("brief.column_from"), [stage.starts.isoformat() for stage in plan]),
        (text("brief.column_until"), [stage.ends.isoformat() for stage in plan]),
        (
            text("brief.column_tasks"),
            [text.joined(*map(text.say, stage.tasks)) for stage in plan],
        ),
        (text("brief.column_done"), [text.say(stage.done_when) for stage in plan]),
    ]
    return table(text("brief.roadmap_title"), columns, text("brief.roadmap_source"))


def kpis(result: Result, text: Text) -> Table | None:
    """Three targets for the contract."""
    targets = kpis_of(result)
    if not targets:
        return None
    columns = [
        (text("brief.column_kpi"), [text(f"brief.kpi_name_{kpi.name}") for kpi in targets]),
        (text("brief.column_target"), [text.say(kpi.target) for kpi in targets]),
        (text("brief.column_from_where"), [_source(kpi.source, text) for kpi in targets]),
    ]
    return table(text("brief.kpis_title"), columns)


def _source(source: str, text: Text) -> str:
    """An input by its label, our own prediction, or whoever published the figure."""
    if not source:
        return text("brief.source_predicted")
    label = f"fields.{source}.label"
    return text("brief.source_entered", label=text(label)) if text.has(label) else source
