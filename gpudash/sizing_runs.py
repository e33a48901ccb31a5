"""Sizing of work that is no request with tokens: training runs, and samples (images) from measured tables."""

import numpy as np

from gpudash.demand import longest_run_hours
from gpudash.measured import sample_speed
from gpudash.memory import TrainingMemory, training_memory, weights_gb
from gpudash.result import Message
from gpudash.tables import sourced_values
from gpudash.training_speed import TrainingWork, training_speed
from gpudash.units import PARAMS_PER_B, SECONDS_PER_HOUR

_SHORTEST_RUN_S = 1  # clouds bill by the second; a run of no tokens still starts
_EACH_COUNT_UP_TO = 64  # every number of servers up to here, then steps of about 4 %


def training_columns(known, shapes, usable_gb: np.ndarray) -> dict:
    """The fewest whole servers of every shape that hold the model and finish a run in time, as columns of `Sized`.

    GPU-hours only rise with the number of servers, so the fewest are also the cheapest. Only servers that are sold with
    a cluster network may be joined; the others must do with one.
    """
    work, hardware, rules = known.scenario.workload, known.catalogue.hardware, sourced_values("sizing_parameters")
    servers = _server_counts(rules["maximum_servers_per_run"])
    joined = hardware.link_scope[shapes.gpu_row] == "all"
    joined &= shapes.gpus_per_server >= rules["cluster_gpus_per_server"]
    possible = joined[:, None] | (servers == 1)
    gpu_count = servers[None, :] * shapes.gpus_per_server[:, None]
    per_gpu_gb = np.broadcast_to(run_memory(known, gpu_count).total_gb, gpu_count.shape)
    fits = possible & (per_gpu_gb <= usable_gb[:, None])
    method = "pretraining" if work.kind == "training" and work.training_method == "full" else work.training_method
    task = TrainingWork.of(
        known.model, method, sequence_tokens=work.sequence_tokens, micro_batch=work.micro_batch,
        recomputation=work.recomputation,
    )  # fmt: skip
    speed = training_speed(
        task, hardware, shapes.gpu_row[:, None], gpu_count=gpu_count, precision=known.training_precision
    )
    tokens_per_s = speed.tokens_per_s * shapes.gpu_fraction[:, None]
    hours = np.maximum(work.training_tokens_b * PARAMS_PER_B / tokens_per_s, _SHORTEST_RUN_S) / SECONDS_PER_HOUR
    allowed_hours = longest_run_hours(
        work.deadline_days, known.scenario.traffic.runs, known.scenario.purchase.horizon_months
    )
    in_time = fits & (hours <= allowed_hours)
    chosen = np.where(in_time.any(axis=1), in_time.argmax(axis=1), 0)
    rows = np.arange(len(shapes))
    meets, holds = in_time.any(axis=1), fits.any(axis=1)
    blank = np.where(meets, 1.0, np.nan)

    def reason(shape: int) -> Message | None:
        on = {"gpus": int(shapes.gpus_per_server[shape]), "gpu": hardware.names[shapes.gpu_row[shape]]}
        if meets[shape]:
            return None
        if not holds[shape]:
            tried = gpu_count[shape][possible[shape]]
            return Message.of(
                "sizing.training_does_not_fit", model=known.model.title,
                needed=float(per_gpu_gb[shape][possible[shape]].min()), usable=float(usable_gb[shape]),
                count=int(tried[-1]), **on,
            )  # fmt: skip
        if not np.isfinite(hours[shape]).any():
            return Message.of("sizing.no_figures", gpu=on["gpu"])
        best = np.where(fits[shape], hours[shape], np.inf)
        code = "sizing.deadline" if joined[shape] else "sizing.deadline_one_server"
        return Message.of(
            code, servers=int(servers[best.argmin()]), hours=float(best.min()),
            allowed=float(allowed_hours), **on,
        )  # fmt: skip

    return {
        "holds": holds,
        "meets_targets": meets,
        "because": tuple(reason(shape) for shape in range(len(shapes))),
        "work_per_s": tokens_per_s[rows, chosen] / servers[chosen] * blank,
        "speed_margin": allowed_hours / hours[rows, chosen] * blank,
        "speed_low": np.broadcast_to(speed.low / speed.tokens_per_s, gpu_count.shape)[rows, chosen],
        "speed_high": np.broadcast_to(speed.high / speed.tokens_per_s, gpu_count.shape)[rows, chosen],
        "servers_per_run": np.where(meets, servers[chosen], 0),
        "run_hours": hours[rows, chosen] * blank,
    }


def run_memory(known, gpu_count, usable_gb_per_gpu: float | None = None) -> TrainingMemory:
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


def sample_columns(known, shapes, usable_gb: np.ndarray) -> dict:
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
