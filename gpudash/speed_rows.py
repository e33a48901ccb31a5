"""Predictions for a table of set-ups, one per row: `speed-batch`, the fit and the accuracy report read rows alike."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from gpudash.bands import band_factor
from gpudash.batch_rows import (
    Predictions,
    count_refusals,
    named_columns,
    numbers_or,
    reason_of,
    row_gpu,
    row_model,
    speed_reasons,
    where_readable,
)
from gpudash.engines import EngineParameters, engine_name, engine_of_year, engine_parameters
from gpudash.errors import GpudashError
from gpudash.model import load_precision
from gpudash.result import Message
from gpudash.speed import Cards, Transformer, decode_step_s, inference_speed, prefill_s
from gpudash.tables import sourced_values
from gpudash.units import BYTES_PER_GB, MS_PER_S

# Other headings under which the same column is published.
_HEADINGS = {
    "layers": ("n_layers",),
    "heads": ("n_heads",),
    "kv_heads": ("n_kv_heads",),
    "weight_precision": ("precision",),
    "context_tokens": ("input_tokens",),
    "batch_size": ("batch_or_concurrency",),
}
_GEOMETRY = ("params_b", "active_params_b", "layers", "hidden", "heads", "kv_heads", "head_dim")
_DESCRIBED = ("model", *_GEOMETRY, "weight_precision", "kv_precision", "gpu", "engine", "as_of")
# A row's load, with the lowest that can be meant: in some rows only decoding, or only the prompt, was timed.
_LOAD = {"gpu_count": 1, "batch_size": 1, "context_tokens": 0, "output_tokens": 0}
PHASES = ("end_to_end", "decode", "prefill", "prefill_latency")


@dataclass(frozen=True)
class SetUps:
    """Rows of a table as columns that the formulas take; a row that cannot be read says so in `because`."""

    transformer: Transformer
    cards: Cards
    usable_gb: np.ndarray
    engine: tuple[str, ...]
    vendor: tuple[str, ...]
    architecture: tuple[str, ...]
    gpu: tuple[str, ...]
    phase: np.ndarray
    gpu_count: np.ndarray
    tensor_parallel: np.ndarray
    stages: np.ndarray  # pipeline stages working at the same time
    layer_split: np.ndarray  # layers spread over the GPUs, one GPU at work at a time
    batch_size: np.ndarray
    context_tokens: np.ndarray
    output_tokens: np.ndarray
    because: tuple[Message | None, ...]

    def __len__(self) -> int:
        return len(self.because)

    def parameters(self) -> EngineParameters:
        """The engine parameters of every row."""
        distinct, place = _distinct(zip(self.engine, self.vendor, self.architecture, self.gpu))
        return _taken(EngineParameters.stack([engine_parameters(*names) for names in distinct]), place)

    def take(self, chosen: np.ndarray) -> "SetUps":
        """The chosen rows (a mask or indices)."""
        return _map_columns(self, lambda column: _taken(column, chosen))


def predict_rows(columns: dict[str, list[str]], hardware) -> Predictions:
    """Predicted speed of every row of a table with the columns of data/measured/inference.csv (text cells).

    In output tokens/s, in rows of phase `prefill` prompt tokens/s, of phase `prefill_latency` milliseconds.
    """
    set_ups = read_set_ups(columns, hardware)
    parameters = set_ups.parameters()
    with np.errstate(invalid="ignore", over="ignore"):  # rows without a prediction are NaN all the way
        predicted = predict(set_ups, parameters)
    sigma = row_sigma_log(set_ups, parameters)
    return Predictions.of(predicted, band_factor(sigma), speed_reasons(set_ups.because, predicted))


def row_sigma_log(set_ups: SetUps, parameters: EngineParameters) -> np.ndarray:
    """The band of each row as a standard deviation of log(measured / predicted): wider over PCIe."""
    over_pcie = (set_ups.tensor_parallel > 1) & ~set_ups.cards.has_fast_link(set_ups.tensor_parallel)
    return np.where(over_pcie, parameters.sigma_log_without_link, parameters.sigma_log)


def predict(set_ups: SetUps, parameters: EngineParameters) -> np.ndarray:
    """The figure that each row's phase measures.

    A batch that memory cannot hold runs with as many requests as fit. In a pipeline of n stages each stage works on one
    n-th of the batch, so n times the rate of one GPU; a layer split uses one GPU at a time.
    """
    batch = np.minimum(set_ups.batch_size, _largest_batch(set_ups))
    together = np.maximum(batch / set_ups.stages, 1)
    where = (set_ups.transformer, set_ups.cards, parameters)
    load = {"gpu_count": set_ups.tensor_parallel, "batch_size": together, "context_tokens": set_ups.context_tokens}
    speed = inference_speed(*where, **load, output_tokens=set_ups.output_tokens)
    step_s = decode_step_s(*where, **load | {"context_tokens": set_ups.context_tokens + set_ups.output_tokens / 2})
    prompts_s = prefill_s(*where, **load)
    split = np.where(set_ups.layer_split, _layer_split_gain(set_ups), 1.0)
    by_phase = {
        "end_to_end": speed.output_tokens_per_s * np.minimum(set_ups.stages, batch),
        "decode": together / step_s,
        "prefill": together * set_ups.context_tokens / prompts_s * split,
        "prefill_latency": prompts_s * MS_PER_S,
    }
    predicted = np.full(len(set_ups), np.nan)
    for phase, values in by_phase.items():
        predicted = np.where(set_ups.phase == phase, values, predicted)
    return np.where([reason is None for reason in set_ups.because], predicted, np.nan)


def _layer_split_gain(set_ups: SetUps):
    """How much faster n GPUs with a part of the layers each work through one prompt than one GPU.

    (m n / (m + n - 1)) ^ e: a prompt of m steps passes from GPU to GPU like work through a pipeline.
    """
    steps = np.maximum(set_ups.context_tokens / _choice("layer_split_step_tokens"), 1)
    gain = steps * set_ups.gpu_count / (steps + set_ups.gpu_count - 1)
    return gain ** _choice("layer_split_prefill_exponent")


def _largest_batch(set_ups: SetUps):
    """Requests whose cache fits beside the weights: (share × memory × n - W) / (kv × (i + o)), at least one."""
    transformer = set_ups.transformer
    free_gb = _choice("memory_share_fraction") * set_ups.usable_gb * set_ups.gpu_count - transformer.weights_gb
    tokens = transformer.seen_tokens(set_ups.context_tokens + set_ups.output_tokens)
    with np.errstate(divide="ignore"):  # an encoder keeps no cache, so that memory sets no limit
        return np.maximum(free_gb / (transformer.kv_bytes_per_token / BYTES_PER_GB * tokens), 1)


@dataclass(frozen=True)
class _Described:
    """Model, card and engine of a row; stand-ins where they cannot be read, and why."""

    transformer: Transformer
    gpu: int
    engine: str
    because: Message | None = None


def read_set_ups(columns: dict[str, list[str]], hardware) -> SetUps:
    """Rows of text cells as columns of numbers; what is blank is taken from the model's preset, else estimated.

    Model, card and engine are read once for all rows that say the same about them.
    """
    cells = named_columns(columns, (*_DESCRIBED, *_LOAD, "phase", "parallelism"), _HEADINGS)
    distinct, place = _distinct(zip(*(cells[name] for name in _DESCRIBED)))
    described = [_described(dict(zip(_DESCRIBED, row)), hardware) for row in distinct]
    refusals = zip(count_refusals(cells, _LOAD), map(_phase_refusal, cells["phase"]), place)
    because = tuple(count or phase or described[row].because for count, phase, row in refusals)
    loads = {name: where_readable(cells[name], because) for name in _LOAD}
    gpu_count = numbers_or(loads["gpu_count"], 1)
    pipeline = np.array([cell.startswith("PP") for cell in cells["parallelism"]], dtype=bool)
    layer_split = np.array([cell.startswith("layer-split") for cell in cells["parallelism"]], dtype=bool)
    gpus = np.array([one.gpu for one in described], dtype=int)
    compute_bits = np.array([one.transformer.compute_bits for one in described])
    return SetUps(
        transformer=_taken(_stack([one.transformer for one in described]), place),
        cards=_taken(Cards.of(hardware, gpus, compute_bits), place),
        usable_gb=np.asarray(hardware.usable_gb)[gpus][place],
        engine=_taken(tuple(one.engine for one in described), place),
        vendor=_taken(tuple(str(hardware.vendor[gpu]) for gpu in gpus), place),
        architecture=_taken(tuple(str(hardware.architecture[gpu]) for gpu in gpus), place),
        gpu=_taken(tuple(hardware.names[gpu] for gpu in gpus), place),
        phase=np.array([cell or PHASES[0] for cell in cells["phase"]]),
        gpu_count=gpu_count,
        tensor_parallel=np.where(pipeline | layer_split, 1.0, gpu_count),
        stages=np.where(pipeline, gpu_count, 1.0),
        layer_split=layer_split,
        batch_size=numbers_or(loads["batch_size"], _choice("unlimited_batch_requests")),
        context_tokens=numbers_or(loads["context_tokens"], _choice("unstated_context_tokens")),
        output_tokens=numbers_or(loads["output_tokens"], _choice("unstated_output_tokens")),
        because=because,
    )


def _distinct(rows: Iterable[tuple[str, ...]]) -> tuple[list[tuple[str, ...]], np.ndarray]:
    """The different rows in the order of their first appearance, and where each row stands among them."""
    places: dict[tuple[str, ...], int] = {}
    place = np.array([places.setdefault(row, len(places)) for row in rows], dtype=int)
    return list(places), place


def _described(row: dict[str, str], hardware) -> _Described:
    try:
        transformer = _transformer(*(row[name] for name in ("model", *_GEOMETRY, "weight_precision", "kv_precision")))
        gpu = row_gpu(hardware, row["gpu"])
        engine = engine_of_year(engine_name(row["engine"] or "unknown"), str(hardware.vendor[gpu]), row["as_of"])
    except (GpudashError, ValueError) as error:
        return _Described(_BLANK, 0, "unknown", reason_of(error))
    return _Described(transformer, gpu, engine)


def _phase_refusal(phase: str) -> Message | None:
    if not phase or phase in PHASES:
        return None
    return Message.of("speed.unknown_phase", phase=phase, allowed=", ".join(PHASES))


@lru_cache(maxsize=4096)
def _transformer(model: str, *cells: str) -> Transformer:
    *geometry, weight_precision, kv_precision = cells
    known = row_model(model, dict(zip(_GEOMETRY, geometry)))
    weights = weight_precision or known.published_precision or "bf16"
    return Transformer.of(known, load_precision(weights).name, load_precision(kv_precision or "bf16").name)


_BLANK = Transformer(*([np.nan] * 8), compute_bits=16)


def _choice(name: str) -> float:
    return sourced_values("speed_parameters")[name]


def _stack(transformers: list[Transformer]) -> Transformer:
    return Transformer(*(np.array([getattr(t, field.name) for t in transformers]) for field in fields(Transformer)))


def _taken(column, chosen):
    if isinstance(column, np.ndarray):
        return column[chosen]
    if isinstance(column, tuple):
        return tuple(np.array(column, dtype=object)[chosen])
    return _map_columns(column, lambda inner: _taken(inner, chosen))


def _map_columns(record, function):
    return type(record)(*(function(getattr(record, field.name)) for field in fields(record)))
