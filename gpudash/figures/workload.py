"""What is to be run: memory against the card, which servers hold it, how fast, and how many over the week."""

import numpy as np
import plotly.graph_objects as go

from gpudash.figures._theme import (
    CATEGORICAL,
    GREY,
    MAIN,
    QUIET,
    WARNING,
    figure,
    marker,
    plain,
    rows_height,
    whole,
    wrapped,
)
from gpudash.figures.choices import price_source, short_name
from gpudash.figures.money import money_of
from gpudash.figures.table import Table, table
from gpudash.measured import nearest_measured
from gpudash.memory import InferenceMemory
from gpudash.model import load_precision
from gpudash.result import Choice, Result, ShapeVerdict
from gpudash.text import Text
from gpudash.units import HOURS_PER_DAY

INFERENCE_PARTS = ("weights_gb", "kv_cache_gb", "state_gb", "buffer_gb")
TRAINING_PARTS = ("weights_gb", "gradients_gb", "optimizer_gb", "activations_gb", "logits_gb", "buffer_gb")
SPEEDS_SHOWN = 10
DAYS = 7
BAND_LINES = {0.8: 5, 0.95: 1.5}  # bands that are drawn, and how thick
BAND_COLOUR = "rgba(74, 143, 208, 0.22)"
LABEL_WIDTH = 22  # characters per line beside a bar; leaves a phone room for the bar


def memory_per_gpu(result: Result, text: Text) -> go.Figure | None:
    """What fills the memory of one card, against what the card holds."""
    sizing = result.sizing
    if sizing.memory is None:
        return None
    parts, total_gb = _parts_per_gpu(sizing.memory)
    precision = load_precision(sizing.weight_precision).title
    values = {"used": text.number(total_gb), "model": sizing.model.title, "precision": precision}
    if sizing.gpu:
        values |= {"gpu": sizing.gpu, "capacity": text.number(sizing.gpu_usable_gb)}
    chart = figure(
        text("figures.memory" if sizing.gpu else "figures.memory_without_card", **values),
        source=text("figures.memory_source"),
        x=text("figures.memory_x"),
        height=190,
    )
    for colour, (part, gb) in zip(CATEGORICAL, parts.items()):
        label = text(f"figures.memory_{part}")
        chart.add_bar(
            x=[gb],
            y=[""],
            orientation="h",
            name=plain(label),
            marker=marker(colour),
            hovertemplate=plain(text("figures.memory_hover", part=label, gb=text.number(gb))) + "<extra></extra>",
        )
    chart.update_layout(barmode="stack")
    if sizing.gpu_usable_gb:
        chart.add_vline(x=sizing.gpu_usable_gb, line={"color": WARNING, "width": 3})
        chart.update_xaxes(range=[0, max(total_gb, sizing.gpu_usable_gb) * 1.05])
    return chart


def _parts_per_gpu(memory) -> tuple[dict[str, float], float]:
    """Gigabytes on one card by part; the memory of a served model is stated over all its cards."""
    if isinstance(memory, InferenceMemory):
        share = memory.per_gpu_gb / memory.total_gb
        return _present(memory, INFERENCE_PARTS, share), float(memory.per_gpu_gb)
    return _present(memory, TRAINING_PARTS, 1.0), float(memory.total_gb)


def _present(memory, names: tuple[str, ...], share: float) -> dict[str, float]:
    return {name: gb for name in names if (gb := float(getattr(memory, name)) * share) > 0}


def verdicts(result: Result, text: Text) -> Table:
    """Every server shape of the catalogue: whether it holds the model, how fast it is, or why it is out."""
    shapes = sorted(result.sizing.shapes, key=lambda shape: (shape.because is not None, shape.servers or 0, shape.gpu))
    working = sum(shape.because is None for shape in shapes)
    columns = [
        (text("workload.column_gpu"), [shape.gpu for shape in shapes]),
        (text("workload.column_gpus"), [shape.gpus_per_server for shape in shapes], "number"),
        (text("workload.column_verdict"), [_verdict(shape, text) for shape in shapes]),
        (text("workload.column_servers"), [shape.servers for shape in shapes], "number"),
        (text("workload.column_requests"), [shape.requests_per_s_per_server for shape in shapes], "number"),
        (text("workload.column_ttft_peak"), [shape.at_peak and shape.at_peak.ttft_ms for shape in shapes], "number"),
        (text("workload.column_tpot_peak"), [shape.at_peak and shape.at_peak.tpot_ms for shape in shapes], "number"),
        (text("workload.column_tpot_full"), [shape.tpot_ms for shape in shapes], "number"),
        (text("workload.column_memory"), [shape.per_gpu_gb for shape in shapes], "number"),
        (text("workload.column_because"), [text.say(shape.because) if shape.because else "" for shape in shapes]),
    ]
    shown = [column for column in columns if any(value not in (None, "") for value in column[1])]
    count = {"working": text.number(working), "all": text.number(len(shapes))}
    return table(text("workload.verdicts_title", **count), shown, text("figures.memory_source"))


def _verdict(shape: ShapeVerdict, text: Text) -> str:
    return text(f"common.verdict.{shape.verdict}")


def speed(result: Result, text: Text) -> go.Figure | None:
    """Tokens per second of one server for the best candidates, with the bands of the prediction."""
    choices = [choice for choice in result.alternatives if choice.output_tokens_per_s_per_server][:SPEEDS_SHOWN]
    values = np.array([choice.output_tokens_per_s_per_server for choice in choices])
    return _banded("speed", choices, values, values[:, None, None] * _band_factors(choices), text)


def run_time(result: Result, text: Text) -> go.Figure | None:
    """Hours of one training run for the best candidates; the slow end of the speed's band is the long end here."""
    choices = [choice for choice in result.alternatives if choice.run_hours][:SPEEDS_SHOWN]
    hours = np.array([choice.run_hours for choice in choices])
    return _banded("run_time", choices, hours, hours[:, None, None] / _band_factors(choices)[..., ::-1], text)


def _band_factors(choices: list[Choice]) -> np.ndarray:
    """Ends of the bands as factors on the speed, [choices, levels, 2]."""
    ends = [[choice.speed_bands[level] for level in BAND_LINES] for choice in choices]
    return np.array(ends).reshape(len(choices), len(BAND_LINES), 2)


def _banded(name: str, choices: list[Choice], values: np.ndarray, bands: np.ndarray, text: Text) -> go.Figure | None:
    """One bar per choice with its ranges, the narrower one drawn thicker; `bands` as in `_band_factors`."""
    if not choices:
        return None
    said = [
        {"value": text.number(value), "low": text.number(likely[0]), "high": text.number(likely[1])}
        | {"lower": text.number(almost_sure[0]), "higher": text.number(almost_sure[1])}
        for value, (likely, almost_sure) in zip(values, bands)
    ]
    labels = [
        wrapped(short_name(choice), LABEL_WIDTH) + f"<br>{choice.gpus_per_server} × {plain(choice.gpu)}"
        for choice in choices
    ]
    chart = figure(
        text(f"figures.{name}", name=short_name(choices[0]), **said[0]),
        source=text(f"figures.{name}_source"),
        x=text(f"figures.{name}_x"),
        height=rows_height(labels) + 90,
        legend=False,
    )
    chart.add_bar(
        x=values,
        y=labels,
        orientation="h",
        name=text(f"figures.{name}_x"),
        marker=marker(MAIN) | {"color": [MAIN, *[GREY] * (len(choices) - 1)]},
        hovertext=[plain(text(f"figures.{name}_hover", **words)) for words in said],
        hoverinfo="text",
    )
    for row, thickness in enumerate(BAND_LINES.values()):
        low, high = bands[:, row].T
        ends = {"array": high - values, "arrayminus": values - low, "color": QUIET, "thickness": thickness, "width": 0}
        chart.add_scatter(
            x=values, y=labels, mode="markers", marker={"size": 1, "color": QUIET}, error_x=ends, hoverinfo="skip"
        )
    chart.update_yaxes(autorange="reversed")
    return chart


def token_time(result: Result, text: Text) -> go.Figure | None:
    """Milliseconds per token by what a server gets, with the mean load, the busiest hour and the full server."""
    choice, curve = result.leading, result.sizing.by_load
    if choice is None or curve is None or choice.tpot_ms is None:
        return None
    points = {"at_mean": choice.at_mean, "at_peak": choice.at_peak}
    chart = figure(
        text(
            "figures.token_time",
            name=short_name(choice),
            peak=text.number(choice.at_peak.tpot_ms),
            mean=text.number(choice.at_mean.tpot_ms),
            full=text.number(choice.tpot_ms),
        ),
        source=text("figures.token_time_source"),
        x=text("figures.token_time_x"),
        y=text("figures.token_time_y"),
    )
    loads = curve.requests_per_s[1]
    slow_ms, times_ms, fast_ms = curve.tpot_ms
    quiet = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    chart.add_scatter(x=loads, y=fast_ms, showlegend=False, **quiet)
    chart.add_scatter(
        x=loads, y=slow_ms, fill="tonexty", fillcolor=BAND_COLOUR, name=plain(text("figures.token_time_band")), **quiet
    )
    chart.add_scatter(
        x=loads,
        y=times_ms,
        mode="lines",
        line={"color": MAIN, "width": 2.5},
        name=plain(text("figures.token_time_predicted")),
        hovertext=[_token_time(row, text) for row in zip(loads, curve.batch_size[1], times_ms)],
        hoverinfo="text",
    )
    for colour, (name, at) in zip(CATEGORICAL[1:], points.items()):
        chart.add_scatter(
            x=[at.requests_per_s],
            y=[at.tpot_ms],
            mode="markers",
            marker={"color": colour, "size": 11},
            name=plain(text(f"figures.token_time_{name}")),
            hovertext=[_token_time((at.requests_per_s, at.batch_size, at.tpot_ms), text)],
            hoverinfo="text",
        )
    target_ms = result.scenario.workload.tpot_ms
    if target_ms is not None:
        label = plain(text("figures.token_time_target"))
        chart.add_hline(y=target_ms, line={"color": WARNING, "width": 1.5, "dash": "dot"}, annotation_text=label)
    chart.update_yaxes(rangemode="tozero")
    return chart


def _token_time(row: tuple[float, float, float], text: Text) -> str:
    load, batch, time_ms = map(text.number, row)
    return plain(text("figures.token_time_hover", load=load, batch=batch, time=time_ms))


def nearest(result: Result, text: Text) -> Table | None:
    """The published measurements most like the chosen set-up, to hold the prediction against."""
    choice, scenario = result.leading, result.scenario
    if choice is None or not choice.output_tokens_per_s_per_server:
        return None
    rows = nearest_measured(
        result.sizing.model,
        choice.gpu,
        weight_precision=result.sizing.weight_precision,
        engine=scenario.workload.engine,
        gpu_count=choice.tensor_parallel,
        batch_size=choice.batch_size,
        context_tokens=scenario.workload.context_tokens,
        output_tokens=scenario.workload.output_tokens,
    )
    columns = [
        (text("workload.column_model"), [row.model for row in rows]),
        (text("workload.column_gpu"), [f"{row.gpu_count} × {row.gpu}" for row in rows]),
        (text("workload.column_engine"), [row.engine for row in rows]),
        (text("workload.column_precision"), [row.weight_precision for row in rows]),
        (text("workload.column_batch"), [row.batch_size for row in rows], "number"),
        (text("workload.column_in"), [row.context_tokens for row in rows], "number"),
        (text("workload.column_out"), [row.output_tokens for row in rows], "number"),
        (text("workload.column_speed"), [row.output_tokens_per_s for row in rows], "number"),
        (text("workload.column_predicted"), [row.predicted_tokens_per_s for row in rows], "number"),
        (text("workload.column_distance"), [row.distance for row in rows], "number"),
        (text("workload.column_tpot"), [row.tpot_ms for row in rows], "number"),
        (text("workload.column_date"), [text.date(row.as_of) if row.as_of else "" for row in rows]),
        (text("workload.column_source"), [row.source for row in rows]),
    ]
    return table(text("workload.nearest_title"), columns, text("workload.nearest_source"))


def week(result: Result, text: Text) -> go.Figure | None:
    """Servers needed in each hour of the week, in the first and in the last month."""
    demand = result.demand
    if demand is None or np.shape(demand.servers)[1] != HOURS_PER_DAY * DAYS:
        return None
    servers = np.asarray(demand.servers)
    months = {0: text("figures.first_month"), len(servers) - 1: text("figures.last_month")}
    if (servers[0] == servers[-1]).all():
        months = {0: text("figures.every_month")}
    least, most = int(servers[0].min()), int(servers[0].max())
    key = "figures.week_same" if least == most else "figures.week"
    chart = figure(
        text(key, least=text.number(least), most=text.number(most)),
        source=text("figures.week_source"),
        x=text("figures.week_x"),
        y=text("figures.servers"),
    )
    hours = np.arange(servers.shape[1])
    for colour, (month, label) in zip((MAIN, CATEGORICAL[1]), months.items()):
        chart.add_scatter(
            x=hours,
            y=servers[month],
            name=plain(label),
            mode="lines",
            line={"color": colour, "shape": "hv", "width": 2},
            fill="tozeroy" if month == 0 else None,
            hovertext=[_hour(int(hour), int(count), text) for hour, count in zip(hours, servers[month])],
            hoverinfo="text",
        )
    chart.update_yaxes(whole(servers[list(months)].max()))
    days = [text(f"figures.day_{day}") for day in range(DAYS)]
    chart.update_xaxes(tickvals=[HOURS_PER_DAY * day + HOURS_PER_DAY // 2 for day in range(DAYS)], ticktext=days)
    return chart


def _hour(hour: int, servers: int, text: Text) -> str:
    day, clock = divmod(hour, HOURS_PER_DAY)
    return plain(
        text("figures.week_hover", day=text(f"figures.day_{day}"), hour=f"{clock:02d}", servers=text.number(servers))
    )


def cost_against_speed(result: Result, text: Text) -> go.Figure | None:
    """Every candidate's monthly cost against the speed of what is bought; the ones that nothing beats stand out."""
    choices = [choice for choice in result.alternatives if choice.at_peak and choice.at_peak.tpot_ms]
    if len(choices) < 2:
        return None
    money = money_of(result, text)
    best = [choice for choice in choices if choice.id in result.pareto]
    chart = figure(
        text("figures.pareto", count=text.number(len(best))),
        source=price_source(result, money, text),
        x=text("figures.pareto_x"),
        y=text("figures.monthly_y", currency=money.currency),
    )
    groups = ((GREY, "figures.pareto_other", [c for c in choices if c.id not in result.pareto]),
              (MAIN, "figures.pareto_best", best))  # fmt: skip
    for colour, label, group in groups:
        chart.add_scatter(
            x=[choice.at_peak.tpot_ms for choice in group],
            y=[money.amount(choice.monthly_usd) for choice in group],
            mode="markers",
            name=plain(text(label)),
            marker={"color": colour, "size": 9, "line": {"color": QUIET, "width": 0.5}},
            hovertext=[plain(f"{short_name(choice)} · {choice.gpu} · {money(choice.monthly_usd)}") for choice in group],
            hoverinfo="text",
        )
    winner = result.leading
    if winner in choices:
        chart.add_scatter(
            x=[winner.at_peak.tpot_ms],
            y=[money.amount(winner.monthly_usd)],
            mode="markers",
            name=plain(text("figures.winner")),
            marker={"color": "rgba(0,0,0,0)", "size": 16, "line": {"color": WARNING, "width": 2.5}},
            hoverinfo="skip",
        )
    return chart
