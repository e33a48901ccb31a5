"""Training speed for a table of runs, one per row: `training-batch` and the fit read rows alike."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpudash.bands import band_factor
from gpudash.batch_rows import (
    Predictions,
    count_refusals,
    named_columns,
    numbers_or,
    reason_of,
    row_count,
    row_gpu,
    row_model,
    speed_reasons,
    where_readable,
)
from gpudash.errors import GpudashError
from gpudash.model import load_precision
from gpudash.result import Message
from gpudash.speed import Cards, require_transformer
from gpudash.tables import sourced_values
from gpudash.training_speed import (
    TrainingWork,
    mfu_fraction,
    training_sigma_log,
    unstated_step_sequences_per_gpu,
)

_HEADINGS = {"sequence_tokens": ("seq_len",), "method": ("task",), "recomputation": ("activation_checkpointing",)}
_METHODS = {"full fine-tune": "full", "sft": "full", "full": "full", "lora": "lora", "qlora": "qlora"}
_RECOMPUTED = ("full", "true")
_NEEDED = (
    *("model", "params_b", "active_params_b", "method", "sequence_tokens", "global_batch_tokens", "micro_batch"),
    *("gpu", "gpu_count", "precision", "recomputation"),
)
_COUNTS = ("sequence_tokens", "global_batch_tokens", "micro_batch", "gpu_count")
UNSTATED_8_BIT = ("unstated", "unstated_8bit")


@dataclass(frozen=True)
class Runs:
    """Rows of a table as columns; a row that cannot be read says so in `because`."""

    work: TrainingWork
    gpu: np.ndarray
    architecture: np.ndarray
    vendor: np.ndarray
    compute_bits: np.ndarray
    peak_tflops: np.ndarray
    gpu_count: np.ndarray
    because: tuple[Message | None, ...]


def predict_training_rows(columns: dict[str, list[str]], hardware) -> Predictions:
    """Predicted tokens per second and GPU of every row, with the 90 % band."""
    runs = read_runs(columns, hardware)
    mfu = mfu_fraction(runs.work, runs.gpu, runs.architecture, runs.compute_bits, runs.gpu_count)
    predicted = runs.peak_tflops * mfu / runs.work.tflop_per_token()
    predicted = np.where([reason is None for reason in runs.because], predicted, np.nan)
    factor = band_factor(training_sigma_log(runs.gpu))
    return Predictions.of(predicted, factor, speed_reasons(runs.because, predicted))


def read_runs(columns: dict[str, list[str]], hardware) -> Runs:
    """Rows of text cells as columns of numbers; geometry comes from the preset, else from the parameter count."""
    cells = named_columns(columns, _NEEDED, _HEADINGS)
    because = count_refusals(cells, dict.fromkeys(_COUNTS, 1))
    models, rows, bits = [], [], []
    for index in range(row_count(columns)):
        row = {name: column[index] for name, column in cells.items()}
        try:
            read = _geometry(row["model"], row["params_b"], row["active_params_b"]), row_gpu(hardware, row["gpu"])
            read = (*read, _compute_bits(row["precision"]))
        except (GpudashError, ValueError) as error:
            read = (np.nan,) * 4, 0, 16
            because[index] = because[index] or reason_of(error)
        models.append(read[0])
        rows.append(read[1])
        bits.append(read[2])
    params_b, active_params_b, layers, attention_values = np.array(models, dtype=float).reshape(-1, 4).T
    rows = np.array(rows, dtype=int)
    cards = Cards.of(hardware, rows, np.array(bits))
    counts = {name: where_readable(cells[name], because) for name in _COUNTS}
    gpu_count = numbers_or(counts["gpu_count"], 1)
    sequence = numbers_or(counts["sequence_tokens"], sourced_values("speed_parameters")["unstated_sequence_tokens"])
    step = numbers_or(counts["global_batch_tokens"], np.nan) / gpu_count
    work = TrainingWork(
        params_b=params_b,
        active_params_b=active_params_b,
        layers=layers,
        attention_values=attention_values,
        method=np.array([_METHODS.get(cell.lower(), _peft(cell)) for cell in cells["method"]]),
        sequence_tokens=sequence,
        step_tokens_per_gpu=np.where(np.isnan(step), unstated_step_sequences_per_gpu() * sequence, step),
        micro_batch_tokens=numbers_or(counts["micro_batch"], 1) * sequence,
        full_recomputation=np.array([cell.lower() in _RECOMPUTED for cell in cells["recomputation"]]),
    )
    return Runs(
        work=work,
        gpu=np.asarray(hardware.names)[rows],
        architecture=np.asarray(hardware.architecture)[rows],
        vendor=np.asarray(hardware.vendor)[rows],
        compute_bits=cards.compute_bits,
        peak_tflops=cards.peak_tflops,
        gpu_count=gpu_count,
        because=tuple(because),
    )


def _peft(cell: str) -> str:
    """Other adapters cost what LoRA costs; everything else trains all weights from the start."""
    return "lora" if cell.lower().startswith("peft") else "pretraining"


def _compute_bits(precision: str) -> int:
    """Rows that state only "8-bit or lower" are held against the 8-bit peak; 4-bit bases compute in 16 bits."""
    if precision.startswith(UNSTATED_8_BIT):
        return 8
    return load_precision(precision or "bf16").compute_bits


@lru_cache(maxsize=4096)
def _geometry(name: str, params_b: str, active_params_b: str) -> tuple[float, float, float, float]:
    """Total and active parameters (billions), layers, and heads × head_dim of a row's model."""
    model = row_model(name, {"params_b": params_b, "active_params_b": active_params_b})
    require_transformer(model)
    return model.params_b, model.active_params_b, model.layers, model.heads * model.head_dim
