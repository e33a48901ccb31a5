"""How much GPU memory a model needs: the one door to serving and training memory, and one answer for both."""

from gpudash.model import Model
from gpudash.serving_memory import (
    InferenceMemory,
    as_model,
    inference_memory,
    kv_bytes_per_token,
    kv_cache_gb,
    maximum_batch,
    run_time_buffer_gb,
    verdict,
    weights_gb,
)
from gpudash.training_memory import (
    METHODS,
    OPTIMIZERS,
    RECOMPUTATIONS,
    TrainingMemory,
    activations_gb,
    training_memory,
)
from gpudash.units import gib

__all__ = [
    "METHODS",
    "OPTIMIZERS",
    "RECOMPUTATIONS",
    "InferenceMemory",
    "TrainingMemory",
    "activations_gb",
    "inference_memory",
    "kv_bytes_per_token",
    "kv_cache_gb",
    "maximum_batch",
    "memory",
    "run_time_buffer_gb",
    "training_memory",
    "verdict",
    "weights_gb",
]


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
    model = as_model(model)
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
