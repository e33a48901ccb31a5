"""GPU memory of training: weights, gradients, optimizer state, activations, logits and buffer of one GPU.

All formulas take numbers or numpy arrays. `_gb` is 10⁹ bytes. Models and precisions may be given by name.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpudash.errors import GpudashError
from gpudash.model import Model, Precision, load_precision, read_parameters
from gpudash.result import Message
from gpudash.serving_memory import (
    BYTES_16_BIT,
    active_width,
    as_model,
    as_precision,
    cache_layers,
    common_warnings,
    plain,
    values_per_sample,
    verdict,
    weights_gb,
)
from gpudash.units import BYTES_PER_GB, PARAMS_PER_B, gib

METHODS = ("full", "lora", "qlora")
RECOMPUTATIONS = ("none", "selective", "full", "unknown")
_FULLY_KEPT = {"none": 1.0, "full": 0.0}  # the others keep a fitted share
OPTIMIZERS = ("adam", "adam_8bit", "adafactor", "sgd")
OFFLOADS = ("none", "optimizer", "all")
LOSSES = ("whole", "chunked")


@dataclass(frozen=True)
class TrainingMemory:
    """Memory of one GPU while training; the six lines add up to `total_gb`."""

    weights_gb: Any
    gradients_gb: Any
    optimizer_gb: Any
    activations_gb: Any
    logits_gb: Any
    buffer_gb: Any
    total_gb: Any
    total_gib: Any
    verdict: Any
    warnings: tuple[Message, ...]


def training_memory(
    model: Model | str,
    method: str = "full",
    weight_precision: Precision | str = "bf16",
    *,
    optimizer: str = "adam",
    zero_stage: int = 0,
    gpu_count=1,
    tensor_parallel=1,
    pipeline_parallel=1,
    context_parallel=1,
    micro_batch=1,
    sequence_tokens=2048,
    recomputation: str = "none",
    offload: str = "none",
    loss: str = "whole",
    trained_b=None,
    usable_gb_per_gpu=None,
) -> TrainingMemory:
    """Memory of one GPU of `gpu_count` = tensor x pipeline x data parallel ranks.

    Weights, gradients and optimizer state are split over tensor and pipeline ranks and then, from ZeRO stage 3, 2 and
    1 on, over the data-parallel ranks (context-parallel ranks are among them and also split the tokens). Mixed-
    precision Adam holds 16 bytes a parameter: weights 2, gradients 2, master copy 4, moments 8. LoRA and QLoRA train
    adapters only (`trained_b` billion parameters, else those of the usual rank); QLoRA holds the base in 4 bit.
    `offload` keeps gradients and optimizer state (`optimizer`), or the weights too (`all`), in the host's memory;
    a `chunked` loss never holds all logits in FP32.
    Raises `memory.not_trainable` for full training of a quantised format. Source: Rajbhandari 2020, Korthikanti 2022.
    """
    model, rules, fitted = as_model(model), read_parameters()["training"], read_parameters()["fitted"]
    precision = _training_precision(as_precision(weight_precision), method, rules)
    _check_training(
        method=method,
        optimizer=optimizer,
        zero_stage=zero_stage,
        recomputation=recomputation,
        offload=offload,
        loss=loss,
    )
    ranks = tensor_parallel * pipeline_parallel
    data_parallel = np.asarray(gpu_count) / ranks
    if np.any(data_parallel < 1) or np.any(data_parallel % 1):
        raise GpudashError("memory.layout", tensor=tensor_parallel, pipeline=pipeline_parallel, gpus=gpu_count)

    if method == "full":
        trained_b = model.params_b
    elif trained_b is None:
        trained_b = adapter_params_b(model)
    stored = _stored_while_training_gb(model, precision, method, trained_b) / ranks
    split = {"recomputation": recomputation, "tensor_parallel": tensor_parallel}
    is_sharded = (data_parallel > 1) & (zero_stage == 3) | (offload == "all")
    tokens = micro_batch * np.asarray(sequence_tokens, dtype=float) / context_parallel
    state_bytes = _state_bytes(precision, method, optimizer, offload)
    lines = {
        "weights_gb": 0.0 if offload == "all" else stored / (data_parallel if zero_stage == 3 else 1),
        **_state_lines_gb(trained_b / ranks, data_parallel, zero_stage, state_bytes),
        "activations_gb": activations_gb(model, micro_batch, sequence_tokens / context_parallel, **split),
        "logits_gb": _logits_gb(model, tokens, loss) / tensor_parallel,
        "buffer_gb": fitted["training_fixed_gb"] + is_sharded * rules["gathered_layers"] * stored / (model.layers or 1),
    }
    total = sum(lines.values())
    return TrainingMemory(
        **{name: plain(line) for name, line in lines.items()},
        total_gb=plain(total),
        total_gib=plain(gib(total)),
        verdict=verdict(total, usable_gb_per_gpu),
        warnings=_training_warnings(model, sequence_tokens),
    )


def activations_gb(model: Model | str, micro_batch, sequence_tokens, *, recomputation: str = "none", tensor_parallel=1):
    """Activations one GPU keeps for the backward pass; independent of pipeline stages (1F1B keeps as many batches).

    Per token and layer 2 bytes x a fitted scale x (5 hidden + 2 heads x head_dim + 2 kv_heads x head_dim + 4 width, and
    2 hidden for each expert that the token is sent to), attention scores never stored (FlashAttention). Full
    recomputation keeps 2 x hidden and rebuilds one layer at a time, other kinds keep a share of what it saves. Tensor
    parallelism with sequence parallelism divides all of it.
    Source: Korthikanti 2022, for gated feed-forward layers.
    """
    model, fitted = as_model(model), read_parameters()["fitted"]
    tokens = micro_batch * np.asarray(sequence_tokens, dtype=float)
    if model.hidden is None:
        copies = read_parameters()["vision_activations"]["training_copies"]
        return plain(micro_batch * copies * values_per_sample(model) * BYTES_16_BIT / BYTES_PER_GB)
    attention = 2 * model.head_dim * (model.heads + model.kv_heads)
    routed = 2 * model.hidden * (model.active_experts or 0)
    values = 5 * model.hidden + attention + 4 * active_width(model) + routed
    per_layer = fitted["activation_scale"] * BYTES_16_BIT * values
    least = model.layers * BYTES_16_BIT * model.hidden + per_layer
    kept_fraction = _FULLY_KEPT.get(recomputation, fitted.get(f"{recomputation}_kept_fraction"))
    kept = least + kept_fraction * (model.layers * per_layer - least)
    return plain(tokens * kept / tensor_parallel / BYTES_PER_GB)


def adapter_params_b(model: Model | str) -> float:
    """Billions of parameters that adapters of the usual rank add to all linear layers of a token's path.

    layers x rank x sum of (inputs + outputs) over query, key, value, output and three feed-forward matrices; a share of
    the parameters for models without such layers. Source: Hu 2021, arXiv 2106.09685.
    """
    model, rules = as_model(model), read_parameters()["training"]
    if model.hidden is None:
        return model.params_b * rules["adapter_fraction"]
    attention = 4 * model.hidden + 2 * model.head_dim * (model.heads + model.kv_heads)
    values = attention + 3 * (model.hidden + active_width(model))
    return model.layers * rules["adapter_rank"] * values / PARAMS_PER_B


def _state_bytes(precision: Precision, method: str, optimizer: str, offload: str) -> tuple[float, float]:
    """Bytes on the GPU of the gradient and of the optimizer state of one trained parameter."""
    rules = read_parameters()["training"]
    if offload != "none":
        return 0.0, 0.0
    gradient = max(rules["gradient_bytes"], precision.bits / 8 if method == "full" else 0)
    return gradient, rules["optimizer_bytes"][optimizer] + (rules["master_bytes"] if precision.bits < 32 else 0)


def _state_lines_gb(trained_b, data_parallel, zero_stage: int, state_bytes: tuple[float, float]) -> dict:
    """Gradients and optimizer state of one GPU that trains `trained_b` billion parameters before data parallelism."""
    gradient_bytes, optimizer_bytes = state_bytes
    return {
        "gradients_gb": trained_b * gradient_bytes / (data_parallel if zero_stage >= 2 else 1),
        "optimizer_gb": trained_b * optimizer_bytes / (data_parallel if zero_stage >= 1 else 1),
    }


def _stored_while_training_gb(model: Model, precision: Precision, method: str, trained_b):
    """Weights held while training: at least 16 bit if trained, the stored format plus adapters otherwise.

    Preparing a quantised base for training turns what is not quantised into FP32: two more bytes than stored.
    Source: Hugging Face PEFT documentation, prepare_model_for_kbit_training.
    """
    if method == "full":
        return model.params_b * max(precision.bits / 8, BYTES_16_BIT)
    kept_in_fp32_b = model.embedding_params_b if method == "qlora" else 0.0
    return weights_gb(model, precision) + (trained_b + kept_in_fp32_b) * BYTES_16_BIT


def _training_precision(precision: Precision, method: str, rules: dict) -> Precision:
    if method == "full" and not precision.trainable:
        raise GpudashError("memory.not_trainable", precision=precision.title)
    if method == "qlora" and precision.trainable:  # QLoRA quantises the published weights as it loads them
        return load_precision(rules["qlora_precision"])
    return precision


def _check_training(**given) -> None:
    allowed_values = {
        "method": METHODS,
        "optimizer": OPTIMIZERS,
        "zero_stage": (0, 1, 2, 3),
        "recomputation": RECOMPUTATIONS,
        "offload": OFFLOADS,
        "loss": LOSSES,
    }
    for option, value in given.items():
        if value not in allowed_values[option]:
            listed = ", ".join(map(str, allowed_values[option]))
            raise GpudashError("memory.unknown_option", option=option, value=value, allowed=listed)


def _logits_gb(model: Model, tokens, loss: str):
    """Logits of one micro-batch with their FP32 copies and gradient; encoders score few positions and are left out."""
    if not cache_layers(model):
        return 0.0
    held = read_parameters()["training"]["chunked_logits_fraction"] if loss == "chunked" else 1.0
    return tokens * (model.vocabulary or 0) * read_parameters()["fitted"]["bytes_per_logit"] * held / BYTES_PER_GB


def _training_warnings(model: Model, sequence_tokens) -> tuple[Message, ...]:
    return (*common_warnings(model, sequence_tokens), Message.of("memory.training_uncertain"))
