"""What other people measured: the results nearest to an estimate, and the speed of models that are not estimated.

Read only when asked (about 50 ms each): an answer without measured rows never loads them.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpudash.catalogue import load_catalogue
from gpudash.engines import engine_name
from gpudash.model import load_precision
from gpudash.speed_rows import predict_rows
from gpudash.tables import DATA, numbers, read_columns, sourced_values

INFERENCE = DATA / "measured" / "inference.csv"
SAMPLES = DATA / "measured" / "vision.csv"


@dataclass(frozen=True)
class MeasuredRow:
    """One published result and how far it is from what was asked (0: the same model, card and load)."""

    distance: float
    model: str
    gpu: str
    gpu_count: int
    engine: str
    weight_precision: str
    batch_size: int | None  # None: as many as fitted, not printed
    context_tokens: int | None
    output_tokens: int | None
    output_tokens_per_s: float | None
    predicted_tokens_per_s: float | None  # what the estimate says of this very row; None where it cannot
    ttft_ms: float | None
    tpot_ms: float | None
    caveat: str
    source: str
    as_of: str


@dataclass(frozen=True)
class _Results:
    """data/measured/inference.csv as columns: the text as it stands, and the numbers that distances need."""

    text: dict[str, list[str]]
    logs: dict[str, np.ndarray]
    gpu: np.ndarray
    engine: np.ndarray


_COMPARED = ("params_b", "active_params_b", "gpu_count", "batch_size", "context_tokens", "output_tokens")


@lru_cache(maxsize=1)
def _results() -> _Results:
    columns = read_columns(INFERENCE)
    usable = [
        index
        for index, (phase, caveat) in enumerate(zip(columns["phase"], columns["caveat"]))
        if phase in ("end_to_end", "decode") and "excluded" not in caveat
    ]
    text = {name: [cells[index] for index in usable] for name, cells in columns.items()}
    logs = {name: np.log(np.maximum(numbers(text[name], INFERENCE, name), 1e-3)) for name in _COMPARED}
    logs["weight_bits"] = np.log([load_precision(name).bits_per_weight for name in text["weight_precision"]])
    return _Results(text, logs, np.array(text["gpu"]), np.array(text["engine"]))


def nearest_measured(
    model,
    gpu: str,
    *,
    weight_precision: str,
    engine: str = "unknown",
    gpu_count: int = 1,
    batch_size: int = 1,
    context_tokens: int = 1024,
    output_tokens: int = 256,
    count: int = 5,
) -> tuple[MeasuredRow, ...]:
    """The published results most like a set-up, nearest first; `gpu` is a name of the catalogue's hardware.

    distance = sum of weight × |log(measured / asked)| over parameters, active parameters, GPU count, bits per weight,
    batch and lengths, plus a fixed weight for another card and for another engine (data/speed_parameters.yaml). A
    figure that the source does not print counts as a ratio of e.
    """
    results, weights = _results(), sourced_values("speed_parameters")["measured_distance_weights"]
    asked = {
        "params_b": model.params_b,
        "active_params_b": model.active_params_b,
        "gpu_count": gpu_count,
        "batch_size": batch_size,
        "context_tokens": max(context_tokens, 1),
        "output_tokens": max(output_tokens, 1),
        "weight_bits": load_precision(weight_precision).bits_per_weight,
    }
    distance = weights["another_gpu"] * (results.gpu != gpu)
    if engine_name(engine) != "unknown":
        distance = distance + weights["another_engine"] * (results.engine != engine_name(engine))
    for name, value in asked.items():
        apart = np.abs(results.logs[name] - np.log(value))
        distance = distance + weights[name] * np.where(np.isnan(apart), 1.0, apart)
    order = np.argsort(distance, kind="stable")[:count]
    cells = {name: [column[index] for index in order] for name, column in results.text.items()}
    predicted = predict_rows(cells, load_catalogue().hardware).predicted
    return tuple(
        _measured_row(results.text, index, float(distance[index]), float(rate)) for index, rate in zip(order, predicted)
    )


def _measured_row(text: dict[str, list[str]], index: int, distance: float, predicted: float) -> MeasuredRow:
    cells = {name: text[name][index] for name in text}
    whole = {name: _number(cells[name], int) for name in ("batch_size", "context_tokens", "output_tokens")}
    rates = {name: _number(cells[name], float) for name in ("output_tokens_per_s", "ttft_ms", "tpot_ms")}
    words = {name: cells[name] for name in ("model", "gpu", "engine", "weight_precision", "caveat", "source", "as_of")}
    return MeasuredRow(
        distance=distance,
        gpu_count=int(cells["gpu_count"]),
        predicted_tokens_per_s=predicted if np.isfinite(predicted) else None,
        **whole,
        **rates,
        **words,
    )


def _number(cell: str, kind):
    return kind(float(cell)) if cell else None


@dataclass(frozen=True)
class SampleSpeed:
    """Samples per second of one GPU in published results: their median, and the range that 90 % of them span.

    `toolkits` names what they ran on: the choice of framework alone is worth a factor of about 2.5.
    """

    samples_per_s: float
    low: float
    high: float
    sample: str  # image, sequence, recording ...
    row_count: int
    toolkits: tuple[str, ...]
    sources: tuple[str, ...]
    newest_as_of: str


def sample_speed(model: str, gpu: str, task: str = "inference", scenario: str = "server") -> SampleSpeed | None:
    """Samples per second and GPU of a vision, encoder or speech model, from measured rows of that very card.

    Inference prefers MLPerf results of the scenario (`server` under a latency limit, `offline` without), else other
    published rates. None where nobody measured the pair: nothing is carried over from another card.
    """
    by_pair = _samples().get((model, gpu, task), ())
    rows = [row for row in by_pair if row["scenario"] == scenario] or [row for row in by_pair if not row["scenario"]]
    if not rows:
        return None
    rates = np.array([float(row["samples_per_s_per_gpu"]) for row in rows])
    low, median, high = np.quantile(rates, (0.05, 0.5, 0.95))
    return SampleSpeed(
        samples_per_s=float(median),
        low=float(low),
        high=float(high),
        sample=rows[0]["sample"],
        row_count=len(rows),
        toolkits=tuple(dict.fromkeys(row["toolkit"] for row in rows)),
        sources=tuple(dict.fromkeys(row["source"] for row in rows)),
        newest_as_of=max(row["as_of"] for row in rows),
    )


@lru_cache(maxsize=1)
def _samples() -> dict[tuple[str, str, str], list[dict[str, str]]]:
    columns = read_columns(SAMPLES)
    found: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in (dict(zip(columns, cells)) for cells in zip(*columns.values())):
        if "excluded" not in row["caveat"]:
            found.setdefault((row["model"], row["gpu"], row["task"]), []).append(row)
    return found
