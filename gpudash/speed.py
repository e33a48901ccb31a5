"""How fast a language model answers: prefill, decode, time to first token and time per output token, with a band.

A closed form with few parameters per engine and vendor (`gpudash.engines`). All formulas take floats or numpy arrays
that broadcast, so one call serves one card or a whole catalogue.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpudash.bands import band_factor
from gpudash.engines import EngineParameters
from gpudash.errors import GpudashError
from gpudash.tables import DATA, numbers, read_columns
from gpudash.units import BYTES_PER_GB, FLOPS_PER_TFLOPS, MS_PER_S, PARAMS_PER_B

ALL_REDUCES_PER_LAYER = 2  # one after attention, one after the feed-forward part
ACTIVATION_BYTES = 2  # activations travel between GPUs in 16 bit
FLOPS_PER_MULTIPLY_ADD = 2


def require_transformer(model) -> None:
    """Refuse a `gpudash.model.Model` without layers and heads: of those only measured speeds are known."""
    if model.layers is None:
        raise GpudashError("cli.not_a_language_model", model=model.title)


@dataclass(frozen=True)
class Transformer:
    """What a language model's speed depends on; floats, or one value per row (`of` takes it from a `Model`)."""

    weights_gb: float
    params_b: float
    active_params_b: float
    layers: float
    hidden: float
    attention_values: float  # heads × head_dim, times the share of layers with attention
    kv_heads: float
    kv_bytes_per_token: float  # over all layers
    windowed_fraction: float = 0.0  # share of the layers with a cache that see only a window
    window_tokens: float = np.inf
    compute_bits: int = 16
    is_packed: bool = False  # weights stored narrower than the arithmetic

    @classmethod
    def of(cls, model, weight_precision: str, kv_precision: str) -> "Transformer":
        """The speed-relevant figures of a `gpudash.model.Model` in these precisions; refuses other models."""
        from gpudash.memory import kv_bytes_per_token, weights_gb
        from gpudash.model import load_precision

        require_transformer(model)
        windowed, precision = 0.0, load_precision(weight_precision)
        if model.window_tokens and model.global_layers is not None:
            windowed = 1 - model.global_layers / model.layers
        return cls(
            weights_gb=weights_gb(model, weight_precision),
            params_b=model.params_b,
            active_params_b=model.active_params_b,
            layers=model.layers,
            hidden=model.hidden,
            attention_values=model.heads * model.head_dim * (model.layers_with_kv_cache or model.layers) / model.layers,
            kv_heads=1 if model.latent_values else model.kv_heads,  # every GPU holds the whole latent
            kv_bytes_per_token=kv_bytes_per_token(model, kv_precision),
            windowed_fraction=windowed,
            window_tokens=model.window_tokens if windowed else np.inf,
            compute_bits=precision.compute_bits,
            is_packed=precision.bits < precision.compute_bits,
        )

    def seen_tokens(self, context_tokens):
        """Tokens of the cache that a mean layer reads: all of them, or at most the window in windowed layers."""
        windowed = np.minimum(context_tokens, self.window_tokens)
        return context_tokens + self.windowed_fraction * (windowed - context_tokens)

    def attended_pairs(self, context_tokens):
        """Pairs of a token and an earlier one that a mean layer compares in a prompt: i² / 2, less behind a window."""
        within = np.minimum(context_tokens, self.window_tokens)
        full, windowed = context_tokens**2 / 2, within * (context_tokens - within / 2)
        return full + self.windowed_fraction * (windowed - full)

    def weights_touched_gb(self, batch_size):
        """Weights one decode step reads: all of a dense model; of experts, those that a batch of tokens hits.

        W × (a + (1 - a) × (1 - (1 - a)^(B-1))), a = active / total parameters: the first token reads its share,
        each further token a fresh random share.
        """
        active_fraction = self.active_params_b / self.params_b
        if np.all(active_fraction == 1):
            return self.weights_gb
        missed = (1 - active_fraction) ** np.maximum(batch_size - 1, 0)
        return self.weights_gb * (active_fraction + (1 - active_fraction) * (1 - missed))

    def allreduce_gb_per_token(self, gpu_count):
        """Data each GPU sends per token in tensor parallel.

        Two ring all-reduces per layer, each 2 (n - 1) / n × hidden × 2 bytes.
        """
        ring = 2 * (gpu_count - 1) / gpu_count
        return self.layers * ALL_REDUCES_PER_LAYER * ring * self.hidden * ACTIVATION_BYTES / BYTES_PER_GB

    def kv_gb_per_token_and_gpu(self, gpu_count):
        """Cache per token on one GPU; KV heads are copied when there are more GPUs than heads."""
        return self.kv_bytes_per_token / np.minimum(gpu_count, self.kv_heads) / BYTES_PER_GB


@dataclass(frozen=True)
class Cards:
    """What of a GPU the speed depends on; floats, or one value per card."""

    bandwidth_gb_per_s: float
    peak_tflops: float  # dense, in the precision the arithmetic runs in
    peak_16bit_tflops: float
    compute_bits: int = 16  # that the card really computes in
    narrow_sum_gain: float = 1  # how much faster it computes in 16 bit if sums may be 16 bit wide too
    link_gb_per_s: float = np.nan  # one direction, of the GPU's own link
    linked_gpus: float = 1  # how many GPUs that link joins: 1 none, 2 a bridge, infinite a switch
    pcie_gb_per_s: float = np.nan  # one direction, used beyond that

    @classmethod
    def of(cls, hardware, rows, compute_bits: int) -> "Cards":
        """Columns of the catalogue's `hardware` for an index or an array of indices.

        A card without arithmetic in `compute_bits` computes in the next wider format it has. A figure that nobody
        published stays NaN, and so does every speed that needs it.
        """
        peak, bits = hardware.fp16_tflops[rows], 16
        for narrower, column in ((8, hardware.fp8_tflops), (4, hardware.fp4_tflops)):
            usable = np.isfinite(column[rows]) & (narrower >= compute_bits)
            peak, bits = np.where(usable, column[rows], peak), np.where(usable, narrower, bits)
        linked = {"all": np.inf, "pair": 2}
        pcie = _pcie_gb_per_s()
        architectures = np.asarray(hardware.architecture)[rows]
        return cls(
            bandwidth_gb_per_s=hardware.bandwidth_gb_per_s[rows],
            peak_tflops=peak,
            peak_16bit_tflops=hardware.fp16_tflops[rows],
            compute_bits=bits,
            narrow_sum_gain=np.fmax(hardware.int8_tops[rows] / 2 / hardware.fp16_tflops[rows], 1),
            link_gb_per_s=hardware.link_gb_per_s_both_directions[rows] / 2,
            linked_gpus=_each(lambda scope: linked.get(scope, 1), np.asarray(hardware.link_scope)[rows]),
            pcie_gb_per_s=_each(lambda name: pcie.get(name, pcie["any other"]), architectures),
        )

    def peaks_tflops(self, parameters) -> tuple:
        """The dense peak and the 16-bit peak for how an engine adds up."""
        gain = np.where(np.equal(parameters.accumulates_in_16_bit, 1), self.narrow_sum_gain, 1)
        return self.peak_tflops * np.where(np.equal(self.compute_bits, 16), gain, 1), self.peak_16bit_tflops * gain

    def link(self, gpu_count):
        """One-direction bandwidth between `gpu_count` GPUs of a server: their own link, or PCIe beyond its reach."""
        return np.where(self.has_fast_link(gpu_count), self.link_gb_per_s, self.pcie_gb_per_s)

    def has_fast_link(self, gpu_count):
        """Whether the GPUs' own link joins this many of them."""
        return (gpu_count <= self.linked_gpus) & (self.link_gb_per_s > 0)


def _each(function, values):
    """`function` of every text in an array (or of the only one)."""
    values = np.asarray(values)
    return np.array([function(str(value)) for value in values.flat], dtype=float).reshape(values.shape)


@lru_cache(maxsize=1)
def _pcie_gb_per_s() -> dict[str, float]:
    path = DATA / "pcie.csv"
    columns = read_columns(path)
    rates = numbers(columns["one_direction_gb_per_s"], path, "one_direction_gb_per_s")
    return dict(zip(columns["architecture"], map(float, rates)))


def decode_step_s(transformer: Transformer, cards: Cards, parameters, *, gpu_count, batch_size, context_tokens):
    """Time in which every running request gains one token, in seconds.

    W / (n × BW) + B × (kv × c / (n × BW) + 2 × P / (n × F) + 4 × L × heads × head_dim × c / (n × A) + ts
    + all-reduce / link) + L × (tl + tc × log2 n), with c the tokens in a request's cache and BW, F, A, link the rates
    that the engine reaches.
    Source of the form: fitted on data/measured/inference.csv, see docs/accuracy.md.
    """
    seen = transformer.seen_tokens(context_tokens)
    reached_gb_per_s = parameters.reached_gb_per_s(cards.bandwidth_gb_per_s)
    attention = _attention_tflop(transformer, seen) / gpu_count
    peak_tflops = cards.peaks_tflops(parameters)[1]
    attention_tflops = parameters.reached_tflops(peak_tflops, parameters.decode_attention_fraction)
    per_request_s = (
        seen * transformer.kv_gb_per_token_and_gpu(gpu_count) / reached_gb_per_s
        + _dense_s_per_token(transformer, cards, parameters, gpu_count)
        + attention / attention_tflops
        + parameters.request_s
        + _link_s_per_token(transformer, cards, parameters, gpu_count)
    )
    weights_s = transformer.weights_touched_gb(batch_size) / (gpu_count * reached_gb_per_s)
    return weights_s + batch_size * per_request_s + _layers_s(transformer, parameters, gpu_count)


def prefill_s(
    transformer: Transformer, cards: Cards, parameters, *, gpu_count, batch_size, context_tokens, cached_fraction=0.0
):
    """Time to process the prompts of a batch, in seconds; `cached_fraction` of each lies in the prefix cache.

    W / (n × BW) + B × ((2 × P × i / (n × F) + attention) / ep + i × all-reduce / link) + L × (tl + tc × log2 n);
    causal attention costs 2 × L × heads × head_dim × i² FLOPs, of which the cached part squared is saved. The weights
    are read once: it is what a short prompt waits for.
    """
    tokens = context_tokens * (1 - cached_fraction)
    pairs = transformer.attended_pairs(context_tokens) - transformer.attended_pairs(context_tokens * cached_fraction)
    attention = _attention_tflop(transformer, pairs) / gpu_count
    attention_fraction = parameters.compute_16bit_fraction * parameters.prefill_attention_fraction
    attention_tflops = parameters.reached_tflops(cards.peaks_tflops(parameters)[1], attention_fraction)
    compute_s = tokens * _dense_s_per_token(transformer, cards, parameters, gpu_count) + attention / attention_tflops
    link_s = tokens * _link_s_per_token(transformer, cards, parameters, gpu_count)
    touched_gb = transformer.weights_touched_gb(batch_size * tokens) / gpu_count
    weights_s = touched_gb / parameters.reached_gb_per_s(cards.bandwidth_gb_per_s)
    per_request_s = compute_s / parameters.prefill_fraction + link_s
    return weights_s + batch_size * per_request_s + _layers_s(transformer, parameters, gpu_count)


def _dense_s_per_token(transformer, cards, parameters, gpu_count):
    tflop = FLOPS_PER_MULTIPLY_ADD * transformer.active_params_b * PARAMS_PER_B / FLOPS_PER_TFLOPS
    fraction = parameters.compute_fraction(cards.compute_bits)
    fraction = fraction * np.where(transformer.is_packed, parameters.unpacked_fraction, 1)
    return tflop / (gpu_count * parameters.reached_tflops(cards.peaks_tflops(parameters)[0], fraction))


def _attention_tflop(transformer, pairs):
    """Scores and weighted sum, one multiply-add each per pair of tokens and value of the heads."""
    flops = 2 * FLOPS_PER_MULTIPLY_ADD * transformer.layers * transformer.attention_values * pairs
    return flops / FLOPS_PER_TFLOPS


def _layers_s(transformer, parameters, gpu_count):
    return transformer.layers * (parameters.layer_s + parameters.layer_doubling_s * np.log2(gpu_count))


def _link_s_per_token(transformer, cards, parameters, gpu_count):
    return transformer.allreduce_gb_per_token(gpu_count) / (cards.link(gpu_count) * parameters.link_fraction)


@dataclass(frozen=True)
class InferenceSpeed:
    """Speed of one engine on one set of GPUs; floats or arrays of the shape that the inputs broadcast to.

    `low_factor` and `high_factor` bound 90 % of what is measured: multiply a rate by them, divide a time by them.
    """

    prefill_s: float  # of all prompts of a batch
    step_s: float
    ttft_ms: float
    tpot_ms: float
    output_tokens_per_s: float  # of all GPUs together
    requests_per_s: float
    sigma_log: float
    low_factor: float
    high_factor: float


def inference_speed(
    transformer: Transformer,
    cards: Cards,
    parameters: EngineParameters,
    *,
    gpu_count,
    batch_size,
    context_tokens,
    output_tokens,
    prefix_cache_hit_fraction=0.0,
) -> InferenceSpeed:
    """Speed with `batch_size` requests running together under continuous batching, tensor parallel over `gpu_count`.

    output_tokens_per_s = B × o / (prefill + o × step), the step taken at the mean cache of i + o / 2 tokens;
    tpot = (prefill of the other B - 1 requests + o × step) / o: the mean time between two tokens of a user while other
    requests' prompts are worked on in between; ttft = own prefill + one step to wait for. Without output tokens (an
    encoder) only the prefill counts, and tpot is 0.
    """
    where = (transformer, cards, parameters)
    prompts = {
        "gpu_count": gpu_count,
        "context_tokens": context_tokens,
        "cached_fraction": prefix_cache_hit_fraction,
    }
    own_s = prefill_s(*where, batch_size=1, **prompts)
    all_s = prefill_s(*where, batch_size=batch_size, **prompts)
    mean_cache_tokens = context_tokens + output_tokens / 2
    step_s = decode_step_s(*where, gpu_count=gpu_count, batch_size=batch_size, context_tokens=mean_cache_tokens)
    step_s = np.where(np.equal(output_tokens, 0), 0.0, step_s)
    others_s = all_s * (1 - 1 / batch_size)
    round_s = all_s + output_tokens * step_s
    sigma = np.where(
        (gpu_count > 1) & ~cards.has_fast_link(gpu_count), parameters.sigma_log_without_link, parameters.sigma_log
    )
    return InferenceSpeed(
        prefill_s=all_s,
        step_s=step_s,
        ttft_ms=(own_s + step_s) * MS_PER_S,
        tpot_ms=(others_s / np.maximum(output_tokens, 1) + step_s) * MS_PER_S * np.not_equal(output_tokens, 0),
        output_tokens_per_s=batch_size * output_tokens / round_s,
        requests_per_s=batch_size / round_s,
        sigma_log=sigma,
        low_factor=1 / band_factor(sigma),
        high_factor=band_factor(sigma),
    )
