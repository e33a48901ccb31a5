"""How much GPU memory a model needs: weights, KV cache and run-time buffer; training state and activations.

All formulas take numbers or numpy arrays. `_gb` is 10⁹ bytes. Models and precisions may be given by name.
Serving and training are one module because they share weights, verdict and warnings; each has its own section.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpudash.errors import GpudashError
from gpudash.model import Model, Precision, load_model, load_precision, read_parameters
from gpudash.result import Message
from gpudash.units import BYTES_PER_GB, gib

KV_LAYOUTS = ("latent", "expanded")
METHODS = ("full", "lora", "qlora")
RECOMPUTATIONS = ("none", "selective", "full")
OPTIMIZERS = ("adam", "adam_8bit", "adafactor", "sgd")
_BYTES_16_BIT = 2


@dataclass(frozen=True)
class InferenceMemory:
    """Memory of a served model summed over its GPUs; weights, KV cache, state and buffer add up to `total_gb`.

    `verdict` is `fits`, `tight`, `does_not_fit`, or None when no card was given.
    """

    weights_gb: Any
    kv_cache_gb: Any
    state_gb: Any
    buffer_gb: Any
    total_gb: Any
    total_gib: Any
    per_gpu_gb: Any
    kv_bytes_per_token: Any
    verdict: Any
    warnings: tuple[Message, ...]


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


# Inference


def weights_gb(model: Model | str, precision: Precision | str):
    """Bytes of the stored weights.

    (params - kept) x bits_per_weight / 8 + kept x 2, where kept = token table and output head, which quantised
    formats leave in 16 bit; kept = 0 for formats that quantise everything. Source: data/precisions.csv.
    """
    model, precision = _model(model), _precision(precision)
    kept_b = model.embedding_params_b if precision.embeddings_in_16_bit else 0.0
    return (model.params_b - kept_b) * precision.bits_per_weight / 8 + kept_b * _BYTES_16_BIT


def kv_bytes_per_token(
    model: Model | str, kv_precision: Precision | str = "bf16", kv_layout: str = "latent", tensor_parallel=1
):
    """Bytes that one token adds to the KV cache, over all layers and all GPUs of one replica.

    2 x layers_with_kv_cache x kv_heads x head_dim x bytes; latent attention stores layers x (latent + rope) values
    once, or, expanded, layers x heads x (key + value) of them. A head is copied where tensor parallelism exceeds the
    number of KV heads; a latent counts as one head. Sources: Ainslie 2023 (grouped heads), DeepSeek-V2 2024 (latent).
    """
    return _kv_bytes_per_layer(_model(model), kv_precision, kv_layout, tensor_parallel) * _cache_layers(_model(model))


def kv_cache_gb(
    model: Model | str,
    context_tokens,
    batch_size=1,
    *,
    kv_precision: Precision | str = "bf16",
    kv_layout: str = "latent",
    tensor_parallel=1,
):
    """KV cache of `batch_size` requests of `context_tokens` each, over all GPUs of one replica.

    Layers with a sliding window hold at most the window; layers without a cache hold nothing.
    """
    model = _model(model)
    layers = _cache_layers(model)
    windowed = layers - model.global_layers if model.attention == "sliding_window" else 0
    window_tokens = np.minimum(context_tokens, model.window_tokens) if windowed else 0
    layer_tokens = (layers - windowed) * np.asarray(context_tokens, dtype=float) + windowed * window_tokens
    per_layer = _kv_bytes_per_layer(model, kv_precision, kv_layout, tensor_parallel)
    return _plain(batch_size * per_layer * layer_tokens / BYTES_PER_GB)


def run_time_buffer_gb(model: Model | str, context_tokens, batch_size=1, gpu_count=1):
    """What an engine needs beside weights and cache, over all GPUs: context, activations of one prefill step, logits.

    gpus x fixed + min(tokens, chunk) x (2 x hidden + 2 x intermediate) x 2 bytes + batch x vocabulary x bytes.
    Numbers and sources: data/memory_parameters.yaml, inference_buffer and vision_activations.
    """
    model, rule = _model(model), read_parameters()["inference_buffer"]
    fixed = rule["fixed_gb"] * gpu_count
    if model.hidden is None:
        share = read_parameters()["vision_activations"]["inference_fraction"]
        return fixed + batch_size * share * _values_per_sample(model) * _BYTES_16_BIT / BYTES_PER_GB
    tokens = np.asarray(context_tokens, dtype=float) * batch_size
    if _cache_layers(model):  # only generation is cut into chunks: an encoder takes its whole batch at once
        tokens = np.minimum(tokens, rule["prefill_chunk_tokens"])
    width = 2 * model.hidden + 2 * _active_width(model)
    activations = tokens * width * _BYTES_16_BIT * rule["activation_copies"]
    logits = batch_size * (model.vocabulary or 0) * rule["logits_bytes"] if _cache_layers(model) else 0
    return _plain(fixed + (activations + logits) / BYTES_PER_GB)


def verdict(per_gpu_gb, usable_gb_per_gpu):
    """`fits` up to 90 % of the card's real bytes, `tight` up to 100 %, else `does_not_fit`; None without a card."""
    if usable_gb_per_gpu is None:
        return None
    limits = read_parameters()["verdict"]
    used = np.asarray(per_gpu_gb) / usable_gb_per_gpu
    steps = [used <= limits["fits_up_to_fraction"], used <= limits["tight_up_to_fraction"]]
    words = np.select(steps, ["fits", "tight"], "does_not_fit")
    return words.item() if words.ndim == 0 else words


def inference_memory(
    model: Model | str,
    weight_precision: Precision | str,
    kv_precision: Precision | str = "bf16",
    context_tokens=0,
    batch_size=1,
    *,
    kv_layout: str = "latent",
    gpu_count=1,
    tensor_parallel=None,
    usable_gb_per_gpu=None,
    buffer_gb=None,
    state_gb=0.0,
) -> InferenceMemory:
    """Memory of one replica on `gpu_count` GPUs, split evenly; weights + KV cache + state + buffer.

    `tensor_parallel` defaults to all GPUs. `buffer_gb` (over all GPUs) replaces the estimate; `state_gb` is what
    hybrid models keep beside the KV cache. `usable_gb_per_gpu` is what the driver reports, for the verdict.
    """
    model = _model(model)
    tensor_parallel = gpu_count if tensor_parallel is None else tensor_parallel
    weights = weights_gb(model, weight_precision)
    stored = {"kv_precision": kv_precision, "kv_layout": kv_layout, "tensor_parallel": tensor_parallel}
    cache = kv_cache_gb(model, context_tokens, batch_size, **stored)
    if buffer_gb is None:
        buffer_gb = run_time_buffer_gb(model, context_tokens, batch_size, gpu_count)
    total = weights + cache + state_gb + buffer_gb
    return InferenceMemory(
        weights_gb=weights,
        kv_cache_gb=cache,
        state_gb=state_gb,
        buffer_gb=buffer_gb,
        total_gb=total,
        total_gib=gib(total),
        per_gpu_gb=total / gpu_count,
        kv_bytes_per_token=kv_bytes_per_token(model, **stored),
        verdict=verdict(total / gpu_count, usable_gb_per_gpu),
        warnings=_inference_warnings(model, context_tokens, tensor_parallel, kv_layout),
    )


def measured_inference_gb(
    model: Model | str, weight_precision: Precision | str, kv_precision: Precision | str, context_tokens, batch_size=1,
    *, memory_kind: str,
):  # fmt: skip
    """What a published measurement of that kind would show, with its 90 % band: (expected, low, high).

    weights + cache x copies + overhead; `memory_kind` is the publisher's own words ("nvidia-smi ...", "torch max
    memory allocated"). Overheads are medians of published figures: data/memory_parameters.yaml, measured_kinds.
    """
    precision = _precision(weight_precision)
    rule = next(rule for rule in read_parameters()["measured_kinds"] if rule["contains"] in memory_kind)
    overhead = rule["quantised_overhead_gb" if precision.bits < 16 else "overhead_gb"]
    cache = kv_cache_gb(model, context_tokens, batch_size, kv_precision=kv_precision)
    expected = weights_gb(model, precision) + cache * rule["cache_copies"] + overhead
    return expected, expected * rule["low_factor"], expected * rule["high_factor"]


def maximum_batch(
    model: Model | str,
    weight_precision: Precision | str,
    kv_precision: Precision | str = "bf16",
    context_tokens=0,
    *,
    usable_gb,
    gpu_count=1,
    kv_layout: str = "latent",
    tensor_parallel=None,
):
    """Most requests of `context_tokens` that fit at once; 0 if the weights do not; infinite if no cache is kept.

    floor((share x usable x gpus - weights) / cache of one request), the share being what engines may take of a card.
    """
    tensor_parallel = gpu_count if tensor_parallel is None else tensor_parallel
    one = kv_cache_gb(
        model, context_tokens, kv_precision=kv_precision, kv_layout=kv_layout, tensor_parallel=tensor_parallel
    )
    room = read_parameters()["engine_share"]["value"] * usable_gb * gpu_count - weights_gb(model, weight_precision)
    with np.errstate(divide="ignore", invalid="ignore"):
        requests = np.floor(np.divide(room, one))
    return _plain(np.where(np.asarray(room) > 0, requests, 0.0))


# Training


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
    micro_batch=1,
    sequence_tokens=2048,
    recomputation: str = "none",
    usable_gb_per_gpu=None,
) -> TrainingMemory:
    """Memory of one GPU of `gpu_count` = tensor x pipeline x data parallel ranks.

    Weights, gradients and optimizer state are split over tensor and pipeline ranks and then, from ZeRO stage 3, 2 and
    1 on, over the data-parallel ranks. Mixed-precision Adam holds 16 bytes a parameter: weights 2, gradients 2,
    master copy 4, moments 8. LoRA and QLoRA train adapters only; QLoRA holds the base in 4 bit.
    Raises `memory.not_trainable` for full training of a quantised format. Source: Rajbhandari 2020, Korthikanti 2022.
    """
    model, rules = _model(model), read_parameters()["training"]
    precision = _training_precision(_precision(weight_precision), method, rules)
    _check_training(method, optimizer, zero_stage, recomputation)
    ranks = tensor_parallel * pipeline_parallel
    data_parallel = np.asarray(gpu_count) / ranks
    if np.any(data_parallel < 1) or np.any(data_parallel % 1):
        raise GpudashError("memory.layout", tensor=tensor_parallel, pipeline=pipeline_parallel, gpus=gpu_count)

    trained_b = model.params_b * (1 if method == "full" else rules["adapter_fraction"])
    stored = _stored_while_training_gb(model, precision, method, trained_b)
    master_bytes = rules["master_bytes"] if precision.bits < 32 else 0
    gradient_bytes = max(rules["gradient_bytes"], precision.bits / 8 if method == "full" else 0)
    lines = {
        "weights_gb": stored / ranks / (data_parallel if zero_stage >= 3 else 1),
        "gradients_gb": trained_b * gradient_bytes / ranks / (data_parallel if zero_stage >= 2 else 1),
        "optimizer_gb": trained_b
        * (master_bytes + rules["optimizer_bytes"][optimizer])
        / ranks
        / (data_parallel if zero_stage >= 1 else 1),
        "activations_gb": activations_gb(
            model, method, micro_batch, sequence_tokens, recomputation=recomputation, tensor_parallel=tensor_parallel
        ),
        "logits_gb": _logits_gb(model, micro_batch * sequence_tokens, rules) / tensor_parallel,
        "buffer_gb": rules["fixed_gb"],
    }
    total = sum(lines.values())
    return TrainingMemory(
        **{name: _plain(line) for name, line in lines.items()},
        total_gb=_plain(total),
        total_gib=_plain(gib(total)),
        verdict=verdict(total, usable_gb_per_gpu),
        warnings=_training_warnings(model, sequence_tokens),
    )


def activations_gb(
    model: Model | str, method: str, micro_batch, sequence_tokens, *, recomputation: str = "none", tensor_parallel=1
):
    """Activations one GPU keeps for the backward pass; independent of pipeline stages (1F1B keeps as many batches).

    Per token and layer 2 bytes x (5 hidden + 2 heads x head_dim + 2 kv_heads x head_dim + 4 width), attention scores
    never stored (FlashAttention); full recomputation keeps 2 x hidden and rebuilds one layer at a time; tensor
    parallelism with sequence parallelism divides all of it. Source: Korthikanti 2022, for gated feed-forward layers.
    """
    model, rules = _model(model), read_parameters()["training"]
    tokens = micro_batch * np.asarray(sequence_tokens, dtype=float)
    if model.hidden is None:
        copies = read_parameters()["vision_activations"]["training_copies"]
        return _plain(micro_batch * copies * _values_per_sample(model) * _BYTES_16_BIT / BYTES_PER_GB)
    attention = 2 * model.head_dim * (model.heads + model.kv_heads)
    per_layer = _BYTES_16_BIT * (5 * model.hidden + attention + 4 * _active_width(model))
    if method != "full":
        per_layer *= rules["lora_activation_fraction"]
    if recomputation == "full":
        kept = model.layers * _BYTES_16_BIT * model.hidden + per_layer
    else:
        kept = model.layers * per_layer * (rules["selective_fraction"] if recomputation == "selective" else 1)
    return _plain(tokens * kept / tensor_parallel / BYTES_PER_GB)


# One answer for the command line


def memory(
    model: Model | str,
    *,
    weights: str | None = None,
    kv: str = "bf16",
    context_tokens: int,
    batch_size: int = 1,
    gpu_count: int = 1,
    usable_gb_per_gpu: float | None = None,
    kv_layout: str = "latent",
    method: str | None = None,
    state_gb: float = 0.0,
    buffer_gb: float | None = None,
    **training,
) -> dict:
    """Memory as plain values: of serving the model, or, with a `method`, of training it (`training`: its options).

    The lines are sums over the GPUs and add up to `total_gb`; `weights` defaults to the published precision.
    """
    model = _model(model)
    weights = weights or model.published_precision or "bf16"
    if method is None:
        needed = inference_memory(
            model, weights, kv, context_tokens, batch_size, kv_layout=kv_layout, gpu_count=gpu_count,
            usable_gb_per_gpu=usable_gb_per_gpu, buffer_gb=buffer_gb, state_gb=state_gb,
        )  # fmt: skip
        lines = {"kv_bytes_per_token": needed.kv_bytes_per_token, "weights_gb": needed.weights_gb}
        lines |= {"kv_cache_gb": needed.kv_cache_gb, "state_gb": needed.state_gb, "buffer_gb": needed.buffer_gb}
        total, per_gpu = needed.total_gb, needed.per_gpu_gb
    else:
        needed = training_memory(
            model, method, weights, gpu_count=gpu_count, micro_batch=batch_size, sequence_tokens=context_tokens,
            usable_gb_per_gpu=usable_gb_per_gpu, **training,
        )  # fmt: skip
        names = ("weights_gb", "gradients_gb", "optimizer_gb", "activations_gb", "logits_gb", "buffer_gb")
        lines = {name: getattr(needed, name) * gpu_count for name in names}
        lines |= {"kv_bytes_per_token": kv_bytes_per_token(model, kv, kv_layout), "kv_cache_gb": 0.0}
        total, per_gpu = needed.total_gb * gpu_count, needed.total_gb
    return lines | {
        "total_gb": total,
        "total_gib": gib(total),
        "per_gpu_gb": per_gpu,
        "verdict": needed.verdict,
        "params_b": model.params_b,
        "active_params_b": model.active_params_b,
        "warnings": needed.warnings,
    }


# Parts


def _model(model: Model | str) -> Model:
    return load_model(model) if isinstance(model, str) else model


def _precision(precision: Precision | str) -> Precision:
    return load_precision(precision) if isinstance(precision, str) else precision


def _plain(value):
    """A float where numpy made a zero-dimensional array of one."""
    return value.item() if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0 else value


def _cache_layers(model: Model) -> int:
    return model.layers_with_kv_cache or 0


def _kv_bytes_per_layer(model: Model, kv_precision, kv_layout: str, tensor_parallel):
    if kv_layout not in KV_LAYOUTS:
        raise GpudashError("memory.unknown_option", option="kv_layout", value=kv_layout, allowed=", ".join(KV_LAYOUTS))
    if not _cache_layers(model):
        return 0.0
    if model.attention == "latent" and kv_layout == "latent":
        heads, values = 1, model.latent_values
    elif model.attention == "latent":
        heads, values = model.heads, model.expanded_values_per_head
    else:
        heads, values = model.kv_heads, 2 * model.head_dim
    stored_heads = np.ceil(heads / np.asarray(tensor_parallel)) * tensor_parallel
    return _plain(stored_heads * values * _precision(kv_precision).bits / 8)


def _active_width(model: Model) -> float:
    """Feed-forward values one token passes through in a layer; four times hidden where it is not known."""
    if model.experts:
        return (model.active_experts or model.experts) * (model.expert_intermediate or model.intermediate)
    return model.intermediate or 4 * model.hidden


def _values_per_sample(model: Model) -> float:
    """Activation values of one picture: as published, else from its FLOPs; 0 where neither is known."""
    if model.activations_m is not None:
        return model.activations_m * 1e6
    return (model.forward_gflops or 0) * read_parameters()["vision_activations"]["m_values_per_gflop"] * 1e6


def _stored_while_training_gb(model: Model, precision: Precision, method: str, trained_b):
    """Weights held while training: at least 16 bit if trained, the stored format plus adapters otherwise."""
    if method == "full":
        return model.params_b * max(precision.bits / 8, _BYTES_16_BIT)
    return weights_gb(model, precision) + trained_b * _BYTES_16_BIT


def _training_precision(precision: Precision, method: str, rules: dict) -> Precision:
    if method == "full" and not precision.trainable:
        raise GpudashError("memory.not_trainable", precision=precision.title)
    if method == "qlora" and precision.trainable:  # QLoRA quantises the published weights as it loads them
        return load_precision(rules["qlora_precision"])
    return precision


def _check_training(method: str, optimizer: str, zero_stage: int, recomputation: str) -> None:
    choices = {
        "method": (method, METHODS),
        "optimizer": (optimizer, OPTIMIZERS),
        "zero_stage": (zero_stage, (0, 1, 2, 3)),
        "recomputation": (recomputation, RECOMPUTATIONS),
    }
    for option, (value, allowed) in choices.items():
        if value not in allowed:
            listed = ", ".join(map(str, allowed))
            raise GpudashError("memory.unknown_option", option=option, value=value, allowed=listed)


def _logits_gb(model: Model, tokens, rules: dict):
    """Logits of one micro-batch with their FP32 copies and gradient; encoders score few positions and are left out."""
    return tokens * (model.vocabulary or 0) * rules["logits_bytes"] / BYTES_PER_GB if _cache_layers(model) else 0.0


def _inference_warnings(model: Model, context_tokens, tensor_parallel, kv_layout: str) -> tuple[Message, ...]:
    warnings = _common_warnings(model, context_tokens)
    if model.attention == "latent" and kv_layout == "latent" and np.max(tensor_parallel) > 1:
        warnings.append(Message.of("memory.latent_replicated", gpus=int(np.max(tensor_parallel))))
    elif model.kv_heads and _cache_layers(model) and np.max(tensor_parallel) > model.kv_heads:
        heads, gpus = model.kv_heads, int(np.max(tensor_parallel))
        warnings.append(Message.of("memory.heads_replicated", heads=heads, gpus=gpus))
    return tuple(warnings)


def _training_warnings(model: Model, sequence_tokens) -> tuple[Message, ...]:
    return (*_common_warnings(model, sequence_tokens), Message.of("memory.training_uncertain"))


def _common_warnings(model: Model, tokens) -> list[Message]:
    warnings = []
    if model.maximum_context_tokens and np.max(tokens) > model.maximum_context_tokens:
        limit = {"maximum": model.maximum_context_tokens, "model": model.title}
        warnings.append(Message.of("memory.context_too_long", tokens=int(np.max(tokens)), **limit))
    if model.estimated:
        warnings.append(Message.of("memory.geometry_estimated", fields=", ".join(model.estimated)))
    if model.family in ("vision", "diffusion"):
        known = _values_per_sample(model) > 0
        warnings.append(Message.of("memory.activations_estimated" if known else "memory.activations_unknown"))
    return warnings
