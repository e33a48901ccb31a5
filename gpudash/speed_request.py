"""The command `speed`: how fast a model answers on some GPUs, with its bands and the nearest published measurements."""

import math

from gpudash.assumptions import Known
from gpudash.bands import at_levels
from gpudash.engines import engine_parameters
from gpudash.measured import nearest_measured
from gpudash.memory import maximum_batch
from gpudash.result import Message
from gpudash.speed import Cards, InferenceSpeed, Transformer, inference_speed


def speed(known: Known, gpu: str, *, gpu_count: int, batch_size: int) -> dict:
    """Speed and bands of the scenario's model; `low` and `high` are the ends of the 90 % band, in tokens/s.

    Raises `catalogue.unknown_gpu`, and what `inference_speed` raises.
    """
    hardware, work = known.catalogue.hardware, known.scenario.workload
    row, load = hardware.index(gpu), {"gpu_count": gpu_count, "batch_size": batch_size}
    lengths = {"context_tokens": work.context_tokens, "output_tokens": known.output_tokens}
    transformer = Transformer.of(known.model, known.weight_precision, work.kv_precision)
    found = inference_speed(
        transformer,
        Cards.of(hardware, row, transformer.compute_bits),
        engine_parameters(work.engine, hardware.vendor[row], hardware.architecture[row], hardware.names[row]),
        **load,
        **lengths,
    )
    most = maximum_batch(
        known.model,
        known.weight_precision,
        work.kv_precision,
        work.context_tokens + known.output_tokens,
        usable_gb=hardware.usable_gb[row],
        gpu_count=gpu_count,
        kv_layout=work.kv_layout,
    )
    nearest = nearest_measured(
        known.model,
        hardware.names[row],
        weight_precision=known.weight_precision,
        engine=work.engine,
        **load,
        **lengths,
    )
    warnings = _warnings(found, most, **load)
    return _rates(found) | {"max_batch": most, "nearest_measured": nearest, "warnings": warnings}


def _rates(found: InferenceSpeed) -> dict:
    rate = found.output_tokens_per_s
    levels = at_levels(found.low_factor, found.high_factor)
    return {
        "output_tokens_per_s": rate,
        "requests_per_s": found.requests_per_s,
        "ttft_ms": found.ttft_ms,
        "tpot_ms": found.tpot_ms,
        "low": rate * found.low_factor,
        "high": rate * found.high_factor,
        "bands": {level: [rate * factor for factor in factors] for level, factors in levels.items()},
    }


def _warnings(found: InferenceSpeed, most: float, *, gpu_count: int, batch_size: int) -> list[Message]:
    """A batch that memory does not hold, and a card whose figures nobody publishes."""
    warnings = []
    if batch_size > most:
        warnings.append(Message.of("cli.batch_too_large", batch=batch_size, gpus=gpu_count, most=int(most)))
    if not math.isfinite(found.output_tokens_per_s):
        warnings.append(Message.of("speed.unpublished_figures_row"))
    return warnings
