"""Memory of a table of set-ups, one per row: `fit-batch` (does it fit?) and `memory-batch` (what is measured?)."""

from dataclasses import dataclass

import numpy as np

from gpudash.bands import band_factor
from gpudash.batch_rows import Predictions
from gpudash.errors import GpudashError
from gpudash.memory_setups import SetUp, read_set_ups
from gpudash.model import read_parameters
from gpudash.result import Message
from gpudash.serving_memory import kv_cache_gb, run_time_buffer_gb, weights_gb
from gpudash.training_memory import training_memory
from gpudash.units import BYTES_PER_GB


@dataclass(frozen=True, eq=False)
class Fits:
    """Per row: the verdict, gigabytes needed on each GPU, and the reason in a sentence; empty where not predictable."""

    predicted_verdict: tuple[str, ...]
    predicted_gb: np.ndarray
    because: tuple[Message, ...]


def fit_rows(columns: dict[str, list[str]], hardware) -> Fits:
    """Whether each row (columns of data/measured/deployments.csv, text cells) fits its GPUs.

    Needed: memory of one GPU. Allowed: the card's real bytes times the share that the engine takes of it.
    """
    rows = read_set_ups(columns, hardware, unstated_context_tokens=read_parameters()["unstated"]["context_tokens"])
    needed, because = by_set_up(rows, needed_per_gpu_gb)
    words = [""] * len(needed)
    for index, set_up in enumerate(rows.set_up):
        if because[index] is None:
            words[index], because[index] = _judged(set_up, needed[index], hardware)
    return Fits(tuple(words), needed, tuple(because))


def memory_rows(columns: dict[str, list[str]], hardware, *, level: float = 0.9) -> Predictions:
    """Gigabytes that each row (columns of data/measured/memory.csv, text cells) would measure, with that band."""
    unstated = read_parameters()["unstated"]["measured_context_tokens"]
    rows = read_set_ups(columns, hardware, unstated_context_tokens=unstated)
    predicted, because = by_set_up(rows, measured_gb)
    sigma, _ = by_set_up(rows, lambda set_up, *_: residual_sigma_log(band_class(set_up)))
    return Predictions.of(predicted, band_factor(sigma, level), because)


def needed_per_gpu_gb(set_up: SetUp, context_tokens, batch_size):
    """Memory one GPU needs.

    A paged engine refuses a set-up only if not even one request of full length finds room. Other engines hold the whole
    batch, some of them twice while the cache grows, and lose the allocator's share of the weights.
    """
    if set_up.method is not None:
        return _training(set_up, context_tokens, batch_size).total_gb
    engine, fitted = set_up.engine, read_parameters()["fitted"]
    requests = 1 if engine.is_paged else batch_size
    weights, cache = _serving_lines(set_up, context_tokens, requests)
    lost = 0.0 if engine.is_paged else fitted["allocated_weights_fraction"]
    buffer = run_time_buffer_gb(
        set_up.model,
        context_tokens,
        requests,
        set_up.gpu_count,
        tensor_parallel=set_up.tensor_parallel,
        prefill_chunk_tokens=set_up.prefill_chunk_tokens,
    )
    return (weights * _largest_stage(set_up) * (1 + lost) + cache * engine.cache_copies + buffer) / set_up.gpu_count


def measured_gb(set_up: SetUp, context_tokens, batch_size):
    """The figure a publisher prints: of one GPU in training, of all in serving, unless `memory_kind` says otherwise."""
    if set_up.method is not None:
        total = _training(set_up, context_tokens, batch_size).total_gb
        return total * set_up.gpu_count if "sum" in set_up.memory_kind else total
    kind = kind_of(set_up)
    total = measured_serving_gb(kind, *_serving_lines(set_up, context_tokens, batch_size))
    if kind == "allocated" and set_up.holds_prompt_logits:
        logits = batch_size * context_tokens * (set_up.model.vocabulary or 0)
        total = total + logits * read_parameters()["prompt_logits"]["bytes"] / BYTES_PER_GB
    return total / (set_up.gpu_count if "per GPU" in set_up.memory_kind else 1)


def kind_of(set_up: SetUp) -> str:
    """Which memory a publisher counted, from the words: the process, a cache that was copied as it grew, or tensors."""
    rules = read_parameters()["measured_kinds"]
    return next(kind for kind, rule in rules.items() if any(word in set_up.memory_kind for word in rule["words"]))


def measured_serving_gb(kind: str, weights, cache):
    """weights x (1 + fraction) + cache x copies + overhead, by what was counted."""
    copies, fitted = read_parameters()["measured_kinds"][kind]["cache_copies"], read_parameters()["fitted"]
    fraction = fitted.get(f"{kind}_weights_fraction", 0.0)
    return weights * (1 + fraction) + cache * copies + fitted[f"{kind}_overhead_gb"]


def band_class(set_up: SetUp) -> str:
    """The class of residuals that a row belongs to."""
    if {"layers", "hidden"} & set(set_up.model.estimated):
        return "estimated_geometry"
    if set_up.method is not None:
        return "training" if set_up.recomputation != "unknown" else "training_unstated"
    return kind_of(set_up)


def residual_sigma_log(residuals: str) -> float:
    """The deviation of log(measured / predicted) of a class of residuals."""
    return read_parameters()["fitted"][f"sigma_log_{residuals}"]


def _serving_lines(set_up: SetUp, context_tokens, batch_size):
    cache = kv_cache_gb(
        set_up.model, context_tokens, batch_size,
        kv_precision=set_up.kv_precision, kv_layout=set_up.kv_layout, tensor_parallel=set_up.tensor_parallel,
    )  # fmt: skip
    return weights_gb(set_up.model, set_up.weight_precision), cache


def _largest_stage(set_up: SetUp) -> float:
    """How much more than the mean the fullest pipeline stage holds: layers cannot be cut."""
    stages, layers = set_up.pipeline_parallel, set_up.model.layers or set_up.pipeline_parallel
    return np.ceil(layers / stages) * stages / layers


def _training(set_up: SetUp, context_tokens, batch_size):
    """Memory of a training row; its batch is that of one data-parallel rank, which a pipeline cuts into its stages."""
    return training_memory(
        set_up.model,
        set_up.method,
        set_up.weight_precision,
        optimizer=set_up.optimizer,
        zero_stage=set_up.zero_stage,
        gpu_count=set_up.gpu_count,
        tensor_parallel=set_up.tensor_parallel,
        pipeline_parallel=set_up.pipeline_parallel,
        context_parallel=set_up.context_parallel,
        micro_batch=np.maximum(batch_size / set_up.pipeline_parallel, 1),
        sequence_tokens=context_tokens,
        recomputation=set_up.recomputation,
        offload=set_up.offload,
        loss=set_up.engine.loss,
        trained_b=set_up.trained_b,
    )


def by_set_up(rows, formula) -> tuple[np.ndarray, list[Message | None]]:
    """The formula over all rows, once per set-up; NaN and a reason where it refuses."""
    values, because = np.full(len(rows.set_up), np.nan), list(rows.because)
    groups: dict[SetUp, list[int]] = {}
    for index, set_up in enumerate(rows.set_up):
        if set_up is not None:
            groups.setdefault(set_up, []).append(index)
    for set_up, indices in groups.items():
        try:
            values[indices] = formula(set_up, rows.context_tokens[indices], rows.batch_size[indices])
        except GpudashError as error:
            for index in indices:
                because[index] = Message.of(error.code, **error.values)
    return values, because


def _judged(set_up: SetUp, needed_gb: float, hardware) -> tuple[str, Message]:
    """The verdict of one row and its sentence; no verdict without a card of known memory.

    `tight` where the limit lies inside the 90 % band of the prediction.
    """
    if set_up.gpu is None:
        return "", Message.of("memory.no_card", needed=float(needed_gb))
    usable = float(hardware.usable_gb[set_up.gpu]) * read_parameters()["allocatable_fraction"]["value"] * set_up.share
    gpu = hardware.names[set_up.gpu]
    if not np.isfinite(usable):
        return "", Message.of("memory.card_unknown", gpu=gpu)
    residuals = band_class(set_up) if set_up.method else "allocated"  # weights are known where the geometry is not
    highest_gb = needed_gb * band_factor(residual_sigma_log(residuals))
    word = "does_not_fit" if needed_gb > usable else "tight" if highest_gb > usable else "fits"
    return word, Message.of(f"memory.{word}", needed=float(needed_gb), usable=usable, gpus=set_up.gpu_count, gpu=gpu)
