"""Sizing of work that is no request with tokens: training runs, and samples (images) from measured tables."""

from dataclasses import dataclass

import numpy as np

from gpudash.assumptions import Known
from gpudash.demand import longest_run_hours
from gpudash.measured import sample_speed
from gpudash.memory import TrainingMemory, training_memory, weights_gb
from gpudash.result import Message
from gpudash.tables import sourced_values
from gpudash.training_speed import TrainingWork, training_speed
from gpudash.units import PARAMS_PER_B, SECONDS_PER_HOUR

_SHORTEST_RUN_S = 1  # clouds bill by the second; a run of no tokens still starts
_EACH_COUNT_UP_TO = 64  # every number of servers up to here, then steps of about 4 %


@dataclass(frozen=True)
class _Runs:
    """Runs on every number of servers of each shape, [shapes, numbers]."""

    servers: np.ndarray  # [numbers]
    is_joined: np.ndarray  # [shapes], whether the servers have a cluster network
    is_possible: np.ndarray
    gpu_count: np.ndarray
    per_gpu_gb: np.ndarray
    fits: np.ndarray
    tokens_per_s: np.ndarray
    low_factor: np.ndarray
    high_factor: np.ndarray
    hours: np.ndarray


def training_columns(known: Known, shapes, usable_gb: np.ndarray) -> dict:
    """The fewest whole servers of every shape that hold the model and finish a run in time, as columns of `Sized`.

    GPU-hours only rise with the number of servers, so the fewest are also the cheapest. Only servers that are sold with
    a cluster network may be joined; the others must do with one.
    """
    runs, horizon_months = _runs(known, shapes, usable_gb), known.scenario.purchase.horizon_months
    allowed_hours = longest_run_hours(
        known.scenario.workload.deadline_days, known.scenario.traffic.runs, horizon_months
    )
    in_time = runs.fits & (runs.hours <= allowed_hours)
    meets = in_time.any(axis=1)
    fewest = np.arange(len(shapes)), np.where(meets, in_time.argmax(axis=1), 0)
    servers, blank = runs.servers[fewest[1]], np.where(meets, 1.0, np.nan)
    return {
        "holds": runs.fits.any(axis=1),
        "meets_targets": meets,
        "because": tuple(
            None if meets[shape] else _run_reason(known, shapes, usable_gb, runs, allowed_hours, shape)
            for shape in range(len(shapes))
        ),
        "work_per_s": runs.tokens_per_s[fewest] / servers * blank,
        "speed_margin": allowed_hours / runs.hours[fewest] * blank,
        "speed_low": runs.low_factor[fewest],
        "speed_high": runs.high_factor[fewest],
        "servers_per_run": np.where(meets, servers, 0),
        "run_hours": runs.hours[fewest] * blank,
    }


def _runs(known: Known, shapes, usable_gb: np.ndarray) -> _Runs:
    work, hardware, rules = known.scenario.workload, known.catalogue.hardware, sourced_values("sizing_parameters")
    servers = _server_counts(rules["maximum_servers_per_run"])
    is_joined = hardware.link_scope[shapes.gpu_row] == "all"
    is_joined &= shapes.gpus_per_server >= rules["cluster_gpus_per_server"]
    is_possible = is_joined[:, None] | (servers == 1)
    gpu_count = servers[None, :] * shapes.gpus_per_server[:, None]
    per_gpu_gb = np.broadcast_to(run_memory(known, gpu_count).total_gb, gpu_count.shape)
    method = "pretraining" if work.kind == "training" and work.training_method == "full" else work.training_method
    task = TrainingWork.of(
        known.model, method, sequence_tokens=work.sequence_tokens, micro_batch=work.micro_batch,
        recomputation=work.recomputation,
    )  # fmt: skip
    speed = training_speed(
        task, hardware, shapes.gpu_row[:, None], gpu_count=gpu_count, precision=known.training_precision
    )
    tokens_per_s = speed.tokens_per_s * shapes.gpu_fraction[:, None]
    run_s = np.maximum(work.training_tokens_b * PARAMS_PER_B / tokens_per_s, _SHORTEST_RUN_S)
    return _Runs(
        servers=servers,
        is_joined=is_joined,
        is_possible=is_possible,
        gpu_count=gpu_count,
        per_gpu_gb=per_gpu_gb,
        fits=is_possible & (per_gpu_gb <= usable_gb[:, None]),
        tokens_per_s=tokens_per_s,
        low_factor=np.broadcast_to(speed.low / speed.tokens_per_s, gpu_count.shape),
        high_factor=np.broadcast_to(speed.high / speed.tokens_per_s, gpu_count.shape),
        hours=run_s / SECONDS_PER_HOUR,
    )


def _run_reason(known: Known, shapes, usable_gb, runs: _Runs, allowed_hours: float, shape: int) -> Message:
    """Why no number of servers of a shape does the run: memory, no published figures, or the deadline."""
    on = {
        "gpus": int(shapes.gpus_per_server[shape]),
        "gpu": known.catalogue.hardware.names[shapes.gpu_row[shape]],
    }
    if not runs.fits[shape].any():
        tried = runs.is_possible[shape]
        needed = {"needed": float(runs.per_gpu_gb[shape][tried].min()), "usable": float(usable_gb[shape])}
        most = int(runs.gpu_count[shape][tried][-1])
        return Message.of("sizing.training_does_not_fit", model=known.model.title, **needed, count=most, **on)
    if not np.isfinite(runs.hours[shape]).any():
        return Message.of("sizing.no_figures", gpu=on["gpu"])
    hours = np.where(runs.fits[shape], runs.hours[shape], np.inf)
    best = {"servers": int(runs.servers[hours.argmin()]), "hours": float(hours.min())}
    code = "sizing.deadline" if runs.is_joined[shape] else "sizing.deadline_one_server"
    return Message.of(code, **best, allowed=float(allowed_hours), **on)


def run_memory(known: Known, gpu_count, usable_gb_per_gpu: float | None = None) -> TrainingMemory:
    """Memory of one GPU of a run on `gpu_count` GPUs (a number or an array), laid out as the scenario says."""
    work = known.scenario.workload
    return training_memory(
        known.model,
        work.training_method,
        known.weight_precision,
        optimizer=work.optimizer,
        zero_stage=work.zero_stage,
        gpu_count=gpu_count,
        micro_batch=work.micro_batch,
        sequence_tokens=work.sequence_tokens,
        recomputation=work.recomputation,
        usable_gb_per_gpu=usable_gb_per_gpu,
    )


def _server_counts(largest: int) -> np.ndarray:
    every = np.arange(1, min(_EACH_COUNT_UP_TO, largest) + 1)
    beyond = np.rint(np.geomspace(_EACH_COUNT_UP_TO, largest, 90)).astype(int) if largest > _EACH_COUNT_UP_TO else every
    return np.unique(np.concatenate((every, beyond)))


def sample_columns(known: Known, shapes, usable_gb: np.ndarray) -> dict:
    """Samples per second of every shape from published measurements of that very card, as columns of `Sized`.

    A card nobody measured with this model is refused: image speed depends too much on the toolkit to be carried over.
    """
    hardware = known.catalogue.hardware
    scenario = "server" if known.ttft_ms is not None else "offline"
    found = {row: sample_speed(known.model.name, hardware.names[row], scenario=scenario) for row in set(shapes.gpu_row)}
    speeds = [found[row] for row in shapes.gpu_row]
    measured = np.array([speed is not None for speed in speeds])
    per_gpu = np.array([speed.samples_per_s if speed else np.nan for speed in speeds])
    holds = weights_gb(known.model, known.weight_precision) <= usable_gb

    def reason(shape: int) -> Message | None:
        gpu = hardware.names[shapes.gpu_row[shape]]
        if not holds[shape]:
            needed = float(weights_gb(known.model, known.weight_precision))
            return Message.of(
                "sizing.does_not_fit", model=known.model.title, precision=known.weight_precision, needed=needed, gpus=1,
                gpu=gpu, usable=float(usable_gb[shape]),
            )  # fmt: skip
        return None if measured[shape] else Message.of("sizing.not_measured", model=known.model.title, gpu=gpu)

    requests = per_gpu * shapes.gpus_per_server * shapes.gpu_fraction
    return {
        "holds": holds,
        "meets_targets": holds & measured,
        "because": tuple(reason(shape) for shape in range(len(shapes))),
        "requests_per_s": requests,
        "work_per_s": requests,
        "replicas_per_server": shapes.gpus_per_server.astype(int),
        "speed_low": np.array([speed.low / speed.samples_per_s if speed else np.nan for speed in speeds]),
        "speed_high": np.array([speed.high / speed.samples_per_s if speed else np.nan for speed in speeds]),
    }
