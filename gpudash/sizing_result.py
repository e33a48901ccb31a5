"""What is shown of the sizing: memory of one replica or run, how the servers answer, and the verdict on every shape."""

import numpy as np

from gpudash.assumptions import Known
from gpudash.at_load import FleetResponses, response_curve
from gpudash.memory import InferenceMemory, inference_memory, verdict
from gpudash.result import ShapeVerdict, Sizing
from gpudash.sizing import Shapes, Sized
from gpudash.sizing_runs import run_memory


def sizing_result(
    known: Known, shapes: Shapes, sized: Sized, responses: FleetResponses | None, shape: int | None, gpu_count: int
) -> Sizing:
    """The memory of one replica (or of one GPU of a run) on the chosen shape, how it answers, and every verdict."""
    usable_gb = None if shape is None else float(sized.usable_gb[shape])
    answers = {} if shape is None or responses is None else responses.of(shape)
    answers |= {"by_load": response_curve(known, shapes, sized, shape)} if answers else {}
    return Sizing(
        model=known.model,
        weight_precision=known.weight_precision,
        memory=_memory(known, sized, shape, gpu_count, usable_gb),
        gpu=None if shape is None else known.catalogue.hardware.names[shapes.gpu_row[shape]],
        gpu_usable_gb=usable_gb,
        at_peak=answers.get("at_peak"),
        at_mean=answers.get("at_mean"),
        by_load=answers.get("by_load"),
        shapes=_shape_verdicts(known, shapes, sized, responses),
    )


def _memory(known: Known, sized: Sized, shape: int | None, gpu_count: int, usable_gb: float | None):
    if known.is_training:
        return run_memory(known, gpu_count, usable_gb)
    degree, batch = (1, 1) if shape is None else (int(sized.tensor_parallel[shape]), int(sized.batch_size[shape]))
    return _replica_memory(known, degree, batch, usable_gb)


def _replica_memory(known: Known, tensor_parallel, batch_size, usable_gb_per_gpu) -> InferenceMemory:
    """Memory of one replica; numbers or one entry per shape."""
    work = known.scenario.workload
    return inference_memory(
        known.model,
        known.weight_precision,
        work.kv_precision,
        work.context_tokens + known.output_tokens,
        batch_size,
        kv_layout=work.kv_layout,
        gpu_count=tensor_parallel,
        usable_gb_per_gpu=usable_gb_per_gpu,
        buffer_gb=work.buffer_gb,
        state_gb=work.state_gb,
    )


def _shape_verdicts(
    known: Known, shapes: Shapes, sized: Sized, responses: FleetResponses | None
) -> tuple[ShapeVerdict, ...]:
    """One verdict per server shape; the memory of all shapes that serve is asked for at once."""
    works, holds = sized.meets_targets, sized.holds
    per_gpu_gb = np.full(len(shapes), np.nan)
    if works.any() and not known.is_training:
        some = np.flatnonzero(works)
        needed = _replica_memory(known, sized.tensor_parallel[some], sized.batch_size[some], sized.usable_gb[some])
        per_gpu_gb[some] = needed.per_gpu_gb
    words = np.where(
        holds, np.where(np.isnan(per_gpu_gb), "fits", verdict(per_gpu_gb, sized.usable_gb)), "does_not_fit"
    )

    servers = responses.servers if responses else sized.servers_per_run

    def shown(column, row: int) -> float | None:
        return float(column[row]) if works[row] and np.isfinite(column[row]) else None

    return tuple(
        ShapeVerdict(
            gpu=known.catalogue.hardware.names[shapes.gpu_row[row]],
            gpus_per_server=int(shapes.gpus_per_server[row]),
            verdict=str(words[row]),
            tensor_parallel=int(sized.tensor_parallel[row]),
            replicas_per_server=int(sized.replicas_per_server[row]),
            batch_size=int(sized.batch_size[row]),
            per_gpu_gb=shown(per_gpu_gb, row),
            usable_gb=float(sized.usable_gb[row]),
            requests_per_s_per_server=shown(sized.requests_per_s, row),
            ttft_ms=shown(sized.ttft_ms, row),
            tpot_ms=shown(sized.tpot_ms, row),
            at_peak=responses.of(row)["at_peak"] if responses and works[row] else None,
            servers=(int(servers[row]) or None) if works[row] else None,
            because=sized.because[row],
        )
        for row in range(len(shapes))
    )
