"""GPU memory of a served model: weights, KV cache, state and run-time buffer, with the verdict on a card.

All formulas take numbers or numpy arrays. `_gb` is 10⁹ bytes. Models and precisions may be given by name.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpudash.errors import GpudashError
from gpudash.model import Model, Precision, load_model, load_precision, read_parameters
from gpudash.result import Message
from gpudash.units import BYTES_PER_GB, gib

KV_LAYOUTS = ("latent", "expanded")
BYTES_16_BIT = 2


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


def weights_gb(model: Model | str, precision: Precision | str):
    """Bytes of the stored weights.

    (params - kept) x bits_per_weight / 8 + kept x 2, where kept = token table and output head, which quantised
    formats leave in 16 bit; kept = 0 for formats that quantise everything. Source: data/precisions.csv.
    """
    model, precision = as_model(model), as_precision(precision)
    kept_b = model.embedding_params_b if precision.embeddings_in_16_bit else 0.0
    return (model.params_b - kept_b) * precision.bits_per_weight / 8 + kept_b * BYTES_16_BIT


def kv_bytes_per_token(
    model: Model | str, kv_precision: Precision | str = "bf16", kv_layout: str = "latent", tensor_parallel=1
):
    """Bytes that one token adds to the KV cache, over all layers and all GPUs of one replica.

    2 x layers_with_kv_cache x kv_heads x head_dim x bytes; latent attention stores layers x (latent + rope) values
    once, or, expanded, layers x heads x (key + value) of them. A head is copied where tensor parallelism exceeds the
    number of KV heads; a latent counts as one head. Sources: Ainslie 2023 (grouped heads), DeepSeek-V2 2024 (latent).
    """
    return _kv_bytes_per_layer(as_model(model), kv_precision, kv_layout, tensor_parallel) * cache_layers(
        as_model(model)
    )


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
    model = as_model(model)
    layers = cache_layers(model)
    windowed = layers - model.global_layers if model.attention == "sliding_window" else 0
    window_tokens = np.minimum(context_tokens, model.window_tokens) if windowed else 0
    layer_tokens = (layers - windowed) * np.asarray(context_tokens, dtype=float) + windowed * window_tokens
    per_layer = _kv_bytes_per_layer(model, kv_precision, kv_layout, tensor_parallel)
    return plain(batch_size * per_layer * layer_tokens / BYTES_PER_GB)


def run_time_buffer_gb(
    model: Model | str, context_tokens, batch_size=1, gpu_count=1, *, tensor_parallel=None, prefill_chunk_tokens=None
):
    """What an engine needs beside weights and cache, over all GPUs: context, activations of one prefill step, logits.

    gpus x fixed + min(tokens, chunk) x (a x hidden x tensor_parallel + b x width) x 2 bytes + batch x vocabulary x
    bytes: tensor parallelism splits the feed-forward values, while every GPU holds the hidden ones.
    Numbers and sources: data/memory_parameters.yaml, inference_buffer and vision_activations.
    """
    model, rule = as_model(model), read_parameters()["inference_buffer"]
    tensor_parallel = gpu_count if tensor_parallel is None else tensor_parallel
    fixed = rule["fixed_gb"] * gpu_count
    if model.hidden is None:
        share = read_parameters()["vision_activations"]["inference_fraction"]
        return fixed + batch_size * share * values_per_sample(model) * BYTES_16_BIT / BYTES_PER_GB
    tokens = np.asarray(context_tokens, dtype=float) * batch_size
    if cache_layers(model):  # only generation is cut into chunks: an encoder takes its whole batch at once
        tokens = np.minimum(tokens, prefill_chunk_tokens or rule["prefill_chunk_tokens"])
    hidden_values = rule["hidden_copies"] * model.hidden * tensor_parallel
    activations = tokens * (hidden_values + rule["width_copies"] * active_width(model)) * BYTES_16_BIT
    logits = batch_size * (model.vocabulary or 0) * rule["logits_bytes"] if cache_layers(model) else 0
    return plain(fixed + (activations + logits) / BYTES_PER_GB)


def verdict(per_gpu_gb, usable_gb_per_gpu, share=1.0):
    """`fits` up to 90 % of what may be used of a card, `tight` up to all of it, else `does_not_fit`; None: no card.

    `share` is the part of the card's real bytes that an engine takes (1: all of them).
    """
    if usable_gb_per_gpu is None:
        return None
    limits = read_parameters()["verdict"]
    used = np.asarray(per_gpu_gb) / (usable_gb_per_gpu * share)
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
    model = as_model(model)
    tensor_parallel = gpu_count if tensor_parallel is None else tensor_parallel
    weights = weights_gb(model, weight_precision)
    stored = {"kv_precision": kv_precision, "kv_layout": kv_layout, "tensor_parallel": tensor_parallel}
    cache = kv_cache_gb(model, context_tokens, batch_size, **stored)
    if buffer_gb is None:
        buffer_gb = run_time_buffer_gb(model, context_tokens, batch_size, gpu_count, tensor_parallel=tensor_parallel)
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
    return plain(np.where(np.asarray(room) > 0, requests, 0.0))


def as_model(model: Model | str) -> Model:
    """The model of that name; a model stays as it is."""
    return load_model(model) if isinstance(model, str) else model


def as_precision(precision: Precision | str) -> Precision:
    """The number format of that name; a format stays as it is."""
    return load_precision(precision) if isinstance(precision, str) else precision


def plain(value):
    """A float where numpy made a zero-dimensional array of one."""
    return value.item() if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0 else value


def cache_layers(model: Model) -> int:
    """Layers that hold a KV cache; 0 for models that keep none."""
    return model.layers_with_kv_cache or 0


def _kv_bytes_per_layer(model: Model, kv_precision, kv_layout: str, tensor_parallel):
    if kv_layout not in KV_LAYOUTS:
        raise GpudashError("memory.unknown_option", option="kv_layout", value=kv_layout, allowed=", ".join(KV_LAYOUTS))
    if not cache_layers(model):
        return 0.0
    if model.attention == "latent" and kv_layout == "latent":
        heads, values = 1, model.latent_values
    elif model.attention == "latent":
        heads, values = model.heads, model.expanded_values_per_head
    else:
        heads, values = model.kv_heads, 2 * model.head_dim
    stored_heads = np.ceil(heads / np.asarray(tensor_parallel)) * tensor_parallel
    return plain(stored_heads * values * as_precision(kv_precision).bits / 8)


def active_width(model: Model) -> float:
    """Feed-forward values one token passes through in a layer; four times hidden where it is not known."""
    if model.experts:
        return (model.active_experts or model.experts) * (model.expert_intermediate or model.intermediate)
    return model.intermediate or 4 * model.hidden


def values_per_sample(model: Model) -> float:
    """Activation values of one picture: as published, else from its FLOPs; 0 where neither is known."""
    if model.activations_m is not None:
        return model.activations_m * 1e6
    return (model.forward_gflops or 0) * read_parameters()["vision_activations"]["m_values_per_gflop"] * 1e6


def _inference_warnings(model: Model, context_tokens, tensor_parallel, kv_layout: str) -> tuple[Message, ...]:
    warnings = common_warnings(model, context_tokens)
    if model.attention == "latent" and kv_layout == "latent" and np.max(tensor_parallel) > 1:
        warnings.append(Message.of("memory.latent_replicated", gpus=int(np.max(tensor_parallel))))
    elif model.kv_heads and cache_layers(model) and np.max(tensor_parallel) > model.kv_heads:
        heads, gpus = model.kv_heads, int(np.max(tensor_parallel))
        warnings.append(Message.of("memory.heads_replicated", heads=heads, gpus=gpus))
    return tuple(warnings)


def common_warnings(model: Model, tokens) -> list[Message]:
    """What is unusual about a model, served or trained at so many tokens."""
    warnings = []
    if model.maximum_context_tokens and np.max(tokens) > model.maximum_context_tokens:
        limit = {"maximum": model.maximum_context_tokens, "model": model.title}
        warnings.append(Message.of("memory.context_too_long", tokens=int(np.max(tokens)), **limit))
    if model.estimated:
        warnings.append(Message.of("memory.geometry_estimated", fields=", ".join(model.estimated)))
    if model.family in ("vision", "diffusion"):
        known = values_per_sample(model) > 0
        warnings.append(Message.of("memory.activations_estimated" if known else "memory.activations_unknown"))
    return warnings
