"""The answer on one screen: its sentence, four numbers, how it is bought, what it adds up to, who fell where."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from gpudash.derivation import speed_band
from gpudash.figures._theme import CATEGORICAL, MAIN, WAY_COLOURS, figure, marker, plain, whole
from gpudash.figures.choices import headline_order, price_source, role_name, roles, short_name
from gpudash.figures.money import money_of
from gpudash.flips import Progress
from gpudash.freshness import freshness_rules
from gpudash.lower_precision import lower_precision
from gpudash.model import load_precision
from gpudash.purchase_mix import KINDS
from gpudash.result import Choice, Result
from gpudash.text import Text

LOAD_KINDS = ("inference", "batch")
OUR_TREE = "gpudash"
WARNINGS_SHOWN = 3
FLIPS_SHOWN = 3
REASONS_SHOWN = 3
SPLIT_HEIGHT, CUMULATIVE_HEIGHT = 100, 235  # low enough for one screen


@dataclass(frozen=True)
class Metric:
    """One headline number: what it is, as it reads, a smaller line under it, and how it comes about."""

    label: str
    value: str
    note: str
    help: str


def title(result: Result, text: Text) -> list[str]:
    """The name of the decision if it has one, and the question in one sentence."""
    scenario = result.scenario
    work, traffic = scenario.workload, scenario.traffic
    values = {"model": result.sizing.model.title}
    if work.kind in LOAD_KINDS:
        values |= {"rate": _rate(traffic.peak_requests_per_s, text), "during": _during(traffic, text)}
    else:
        values |= {"tokens": text.number(work.training_tokens_b), "runs": text.number(traffic.runs)}
    key = f"overview.title_{work.kind}"
    if scenario.requirements.countries:
        key += "_in"
        values["places"] = text.value([text.country(code) for code in scenario.requirements.countries])
    question = text(key, **values)
    return [scenario.about.name, question] if scenario.about.name else [question]


def _rate(requests_per_s: float, text: Text) -> str:
    return text(
        "overview.one_request" if requests_per_s == 1 else "overview.requests", rate=text.number(requests_per_s)
    )


def _during(traffic, text: Text) -> str:
    """When the load comes, as a phrase."""
    if traffic.hourly_shape:
        return text("overview.during_your_own")
    key = f"overview.during_{traffic.shape}"
    return text(key) if text.has(key) else text("overview.during_other", shape=traffic.shape.replace("_", " "))


def answer(result: Result, text: Text) -> list[str]:
    """The answer in one sentence, and the lines under it; also where nothing meets the wishes."""
    if result.recommendation is None:
        return _nothing(result, text)
    choice, money = result.recommendation, money_of(result, text)
    lines = [described(choice, text), _price_line(choice, result, text)]
    if choice.last_servers != choice.servers:
        lines.append(
            text("overview.growing", servers=text.number(choice.servers), last=text.number(choice.last_servers))
        )
    lines += _reasons(choice, text) + _energy(choice, result, text)
    paid = result.scenario.about.paid_usd_per_month
    if paid is not None:
        key = "overview.cheaper_than_today" if choice.monthly_usd < paid else "overview.dearer_than_today"
        lines.append(text(key, paid=money(paid), difference=money(abs(paid - choice.monthly_usd))))
    return lines


def described(choice: Choice, text: Text) -> str:
    """Servers, cards, provider and place of a choice in one sentence."""
    place = text("overview.place", country=text.country(choice.country), region=choice.region)
    return text(
        "overview.answer_one" if choice.servers == 1 else "overview.answer",
        servers=text.number(choice.servers),
        instance=choice.instance,
        gpus=text.number(choice.gpus_per_server),
        gpu=choice.gpu,
        provider=choice.provider,
        place=place if choice.country else choice.region,
    )


def _reasons(choice: Choice, text: Text) -> list[str]:
    """Why it is this one, in one line."""
    said = [text.say(reason) for reason in choice.reasons]
    return [text.joined(*said)] if said else []


def _energy(choice: Choice, result: Result, text: Text) -> list[str]:
    """What running it draws and emits in a month, or in a run, as far as it is known."""
    if choice.kwh_per_month is None:
        return []
    is_run = choice.cost_per_run_usd is not None
    key = "overview.run_energy" if is_run else "overview.energy"
    months = result.scenario.purchase.horizon_months / result.scenario.traffic.runs if is_run else 1
    kwh = text.number(choice.kwh_per_month * months)
    if choice.kgco2e_per_month is None:
        return [text(f"{key}_without_grid", kwh=kwh)]
    return [text(key, kwh=kwh, co2e=text.number(choice.kgco2e_per_month * months))]


def old_price(result: Result, text: Text) -> str:
    """How old the price of the choice is, where it is no longer fresh."""
    choice = result.leading
    if choice is None or choice.price_age_days <= freshness_rules()["fresh_days"]:
        return ""
    return text("overview.old_price", age=text.number(choice.price_age_days))


def _price_line(choice: Choice, result: Result, text: Text) -> str:
    """What it costs a month, or a run, with what it would be at the ends of the speed's band."""
    money, band = money_of(result, text), speed_band(result)
    months, runs = result.scenario.purchase.horizon_months, result.scenario.traffic.runs
    is_run = choice.cost_per_run_usd is not None
    months_per_unit = months / runs if is_run else 1
    certainty = ""
    if band is not None and money(band.low_usd_per_month) != money(choice.monthly_usd):
        certainty = "_band"
    if band is not None and band.high_usd_per_month is None:
        certainty = "_fast_end"
    line = text(
        f"overview.{'run_price' if is_run else 'price'}{certainty}",
        usd=money(choice.monthly_usd * months_per_unit),
        low=money(band.low_usd_per_month * months_per_unit) if band else "",
        high=money(band.high_usd_per_month * months_per_unit) if band and band.high_usd_per_month else "",
        months=text.number(months),
        date=text.date(choice.price_as_of),
    )
    if not is_run or runs == 1:
        return line
    said = {"runs": text.number(runs), "months": text.number(months), "monthly": money(choice.monthly_usd)}
    return text.joined(line, text("overview.run_many", **said))


def _nothing(result: Result, text: Text) -> list[str]:
    """Nothing meets the wishes: what comes closest and what it would take."""
    if result.cheapest is None:
        return [text("overview.nothing_works"), *_furthest_reasons(result, text)]
    money, gap = money_of(result, text), result.gap_usd_per_month
    lines = [
        text("overview.nothing_meets_budget"),
        text("overview.closest", choice=described(result.cheapest, text)),
        _price_line(result.cheapest, result, text),
    ]
    if gap is not None:
        lines.append(text("overview.gap", gap=money(gap)))
    return lines


def most_common_reasons(result: Result, text: Text) -> list[str]:
    """The reasons that most offers fell for, each with how many."""
    return _counted(result, text, result.rejected.counts())


def _furthest_reasons(result: Result, text: Text) -> list[str]:
    """Why the offers that came furthest fell: what the others fell for before says nothing about what is missing."""
    steps = result.path[OUR_TREE].steps if OUR_TREE in result.path else ()
    last = next((step.fell for step in reversed(steps) if len(step.fell)), result.rejected.offer_rows)
    return _counted(result, text, result.rejected.counts(np.isin(result.rejected.offer_rows, last)))


def _counted(result: Result, text: Text, counts: list[tuple[int, int]]) -> list[str]:
    """The most frequent of these reasons, each with how many offers fell for it."""
    return [
        text("overview.fell", count=text.number(count), because=text.say(result.rejected.reasons[reason]))
        for reason, count in counts[:REASONS_SHOWN]
    ]


def headline(result: Result, text: Text) -> list[Metric] | None:
    """Four numbers: a month, the whole time, a unit of work, servers and GPUs; for runs what one costs is first."""
    choice = result.leading
    if choice is None:
        return None
    money, months = money_of(result, text), text.number(result.scenario.purchase.horizon_months)
    tax = text("overview.tax_note", tax=money(choice.tax_usd)) if choice.tax_usd else text("overview.before_tax")
    return headline_order(
        choice,
        Metric(text("overview.monthly"), money(choice.monthly_usd), tax, text("overview.monthly_help")),
        Metric(
            text("overview.horizon", months=months),
            money(choice.tco_usd),
            text("overview.present_value", npv=money(choice.npv_usd)),
            text("overview.horizon_help"),
        ),
        _unit_metric(choice, result, text),
        Metric(
            text("overview.servers_gpus"),
            text("overview.servers_gpus_value", servers=text.number(choice.servers), gpus=text.number(choice.gpus)),
            text("overview.gpu_hour", usd=money(choice.cost_per_gpu_hour_usd)),
            text("overview.servers_gpus_help"),
        ),
    )


def _unit_metric(choice: Choice, result: Result, text: Text) -> Metric:
    """What one million tokens, or one run, costs."""
    money = money_of(result, text)
    if choice.cost_per_run_usd is not None:
        note = text("overview.run_note", hours=text.number(choice.run_hours))
        return Metric(text("overview.per_run"), money(choice.cost_per_run_usd), note, text("overview.per_run_help"))
    if choice.cost_per_million_tokens_usd is not None:
        value = money(choice.cost_per_million_tokens_usd)
        note = text("overview.speed_note", tokens=text.number(choice.output_tokens_per_s_per_server))
        return Metric(text("overview.per_million"), value, note, text("overview.per_million_help"))
    requests = text.number(choice.requests_per_s_per_server)
    value = text("overview.requests_value", requests=requests)
    return Metric(text("overview.per_server"), value, "", text("overview.per_server_help"))


def purchase_split(result: Result, text: Text) -> go.Figure | None:
    """One bar: which share of the served hours is bought which way."""
    choice = result.leading
    if choice is None:
        return None
    shares = {way: share for way in KINDS if (share := choice.purchase_split.get(way, 0)) > 0}
    most = max(shares, key=shares.get)
    chart = figure(
        text(f"figures.split_{most}", share=text.percent(shares[most])),
        source=_unused_line(choice, result, text),
        x=text("figures.split_x"),
        height=SPLIT_HEIGHT,
    )
    for way, share in shares.items():
        label, percent = text(f"common.way.{way}"), text.percent(share)
        hover = plain(text("figures.split_hover", way=label, share=percent))
        chart.add_bar(
            x=[share * 100],
            y=[""],
            orientation="h",
            name=plain(text("figures.split_part", way=label, share=percent)),
            marker=marker(WAY_COLOURS[way]),
            hovertemplate=hover + "<extra></extra>",
        )
    chart.update_layout(barmode="stack", bargap=0, legend={"y": 1, "yanchor": "top"})
    chart.update_yaxes(visible=False, domain=[0, 0.5])  # the legend stands above the bar
    chart.update_xaxes(range=[0, 100], showticklabels=False, showgrid=False)
    return chart


def _unused_line(choice: Choice, result: Result, text: Text) -> str:
    money = money_of(result, text)
    if choice.unused_commitment_usd > 0:
        return text("figures.split_unused", unused=money(choice.unused_commitment_usd))
    return text("figures.split_all_used")


def cumulative_cost(result: Result, text: Text) -> go.Figure | None:
    """What winner, runner-up and cheapest have cost by the end of each month."""
    if not result.tco:
        return None
    money, bills = money_of(result, text), {bill.choice_id: bill for bill in result.tco}
    lines = {role: choice for role, choice in roles(result).items() if choice.id in bills}
    chart = figure(
        _cumulative_title(result, text),
        source=price_source(result, money, text),
        x=text("figures.month"),
        y=text("figures.cumulative_y", currency=money.currency),
        height=CUMULATIVE_HEIGHT,
    )
    chart.update_layout(legend={"y": 1.02, "yanchor": "bottom"})
    chart.update_xaxes(whole(result.scenario.purchase.horizon_months))
    for colour, (role, choice) in zip((MAIN, CATEGORICAL[1], CATEGORICAL[2]), lines.items()):
        months = bills[choice.id].months
        total = money.amount(np.cumsum([month.total_usd for month in months]))
        name = plain(role_name(role, choice, text))
        chart.add_scatter(
            x=[month.month for month in months],
            y=total,
            name=name,
            mode="lines" if len(months) > 1 else "markers",
            line={
                "color": colour,
                "width": 3 if role == "winner" else 2,
                "dash": "solid" if role == "winner" else "dot",
            },
            hovertext=[
                plain(text("figures.cumulative_hover", name=short_name(choice), month=month.month, paid=money(usd)))
                for month, usd in zip(months, np.cumsum([month.total_usd for month in months]))
            ],
            hoverinfo="text",
        )
    return chart


def _cumulative_title(result: Result, text: Text) -> str:
    """Who is dearer than whom after the whole time."""
    money, months = money_of(result, text), text.number(result.scenario.purchase.horizon_months)
    choice, cheapest = result.leading, result.cheapest
    if cheapest is None or choice.id == cheapest.id:
        return text("figures.cumulative_cheapest", months=months, total=money(choice.tco_usd))
    more = money(choice.tco_usd - cheapest.tco_usd)
    return text("figures.cumulative_dearer", months=months, total=money(choice.tco_usd), more=more)


def sieve(result: Result, text: Text) -> list[str]:
    """How many offers are left after each question of our tree at which some fell, in one line."""
    path = result.path.get(OUR_TREE)
    if path is None or not path.steps:
        return []
    steps = [text("overview.sieve_all", count=text.number(path.steps[0].candidates_before))]
    for step in path.steps:
        if step.candidates_left != step.candidates_before:
            what = text(f"figures.step_{step.node}")
            steps.append(text("overview.sieve_step", count=text.number(step.candidates_left), what=what))
    return [text("overview.sieve_arrow").join(steps)]


def less_precise(result: Result, text: Text) -> list[str]:
    """What a lower precision would save or make possible, and at what risk; never chosen unasked."""
    money, lines = money_of(result, text), []
    for offer in lower_precision(result):
        said = {"precision": load_precision(offer.weight_precision).title, "choice": described(offer.choice, text)}
        if offer.saving_usd_per_month is None:
            lines.append(text("overview.lower_precision_works", monthly=money(offer.choice.monthly_usd), **said))
        else:
            lines.append(text("overview.lower_precision", saving=money(offer.saving_usd_per_month), **said))
    return lines


def runner_up(result: Result, text: Text) -> list[str]:
    """What comes second, what is cheapest and what is fastest, and the difference to the winner."""
    winner = result.recommendation
    if winner is None:
        return []
    money, lines, seen = money_of(result, text), [], {winner.id}
    for role, choice in (("runner_up", result.runner_up), ("cheapest", result.cheapest), ("fastest", result.fastest)):
        if choice is None or choice.id in seen:
            continue
        seen.add(choice.id)
        difference = choice.monthly_usd - winner.monthly_usd
        key = "overview.beside_more" if difference >= 0 else "overview.beside_less"
        lines.append(
            text(
                key,
                role=text(f"overview.role_{role}"),
                choice=described(choice, text),
                monthly=money(choice.monthly_usd),
                difference=money(abs(difference)),
            )
        )
    return lines


def warnings(result: Result, text: Text) -> list[str]:
    """What to watch out for, the strongest first."""
    return [text.say(message) for message in result.warnings]


def strongest_warning(result: Result, text: Text) -> str:
    """`evaluate` puts the strongest first."""
    return next(iter(warnings(result, text)), "")


def more_warnings(result: Result, text: Text) -> list[str]:
    """The next few; the Recommendation page has them all."""
    return warnings(result, text)[1:WARNINGS_SHOWN]


def nearest_flips(found: Progress, result: Result, text: Text) -> list[str]:
    """The first changes of the answer that were found; the What if page has them all."""
    if found.done == found.total and not found.flips:
        return [text("overview.no_flips")]
    return [text.say(flip.sentence) for flip in found.flips[:FLIPS_SHOWN]]
