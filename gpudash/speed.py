"""How fast a language model answers: prefill, decode, time to first token and time per output token, with a band.

A closed form with few parameters per engine and vendor (data/engines.csv, fitted by fit/fit_inference.py). All formulas
take floats or numpy arrays that broadcast, so one call serves one card or a whole catalogue.
"""

import difflib
import re
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from gpudash.errors import GpudashError
from gpudash.tables import DATA, numbers, read_columns
from gpudash.units import BYTES_PER_GB, FLOPS_PER_TFLOPS, MS_PER_S, PARAMS_PER_B

UNKNOWN = "unknown"
BAND_90_SIGMAS = 1.6449  # exact: 5 % of a normal distribution lie above it
ALL_REDUCES_PER_LAYER = 2  # one after attention, one after the feed-forward part
ACTIVATION_BYTES = 2  # activations travel between GPUs in 16 bit
FLOPS_PER_MULTIPLY_ADD = 2
# A card of about the median of the measured rows, for which the fractions below hold as they stand. Another choice
# only changes the fractions, not the predictions.
REFERENCE_TFLOPS = 500
REFERENCE_GB_PER_S = 2000


@dataclass(frozen=True)
class EngineParameters:
    """How much of the hardware one engine reaches on one vendor's cards; floats, or one value per card.

    The exponents say how far an engine keeps up with a faster card: 1 means the same fraction of every card.
    `sigma_log` is the standard deviation of log(measured / predicted) on rows the fit has not seen.
    """

    bandwidth_fraction: float
    bandwidth_exponent: float
    compute_16bit_fraction: float
    compute_8bit_fraction: float
    compute_4bit_fraction: float
    compute_exponent: float
    prefill_fraction: float  # compute reached in prefill, relative to decode
    decode_attention_fraction: float  # of the 16-bit peak, by attention of single tokens
    layer_s: float  # fixed time per layer and step
    layer_doubling_s: float  # more of it per doubling of the GPUs in tensor parallel
    request_s: float  # fixed time per request and step
    link_fraction: float
    sigma_log: float
    sigma_log_without_link: float  # several GPUs over PCIe only
    sigma_log_new_card: float  # cards of which the fit saw no row

    @classmethod
    def stack(cls, parameters: "list[EngineParameters]") -> "EngineParameters":
        """Several sets as one with an array in each field."""
        return cls(*(np.array([getattr(p, field.name) for p in parameters]) for field in fields(cls)))

    def compute_fraction(self, compute_bits):
        """Share of the peak reached where the arithmetic runs in 16, 8 or 4 bits."""
        by_bits = np.where(np.equal(compute_bits, 8), self.compute_8bit_fraction, self.compute_16bit_fraction)
        return np.where(np.equal(compute_bits, 4), self.compute_4bit_fraction, by_bits)

    def reached_gb_per_s(self, bandwidth_gb_per_s):
        """Memory bandwidth that reading weights and cache reaches, at most all of it."""
        pace = (bandwidth_gb_per_s / REFERENCE_GB_PER_S) ** (self.bandwidth_exponent - 1)
        return bandwidth_gb_per_s * np.minimum(self.bandwidth_fraction * pace, 1)

    def reached_tflops(self, peak_tflops, fraction):
        """Arithmetic rate that dense or attention operations reach."""
        return peak_tflops * fraction * (peak_tflops / REFERENCE_TFLOPS) ** (self.compute_exponent - 1)


@dataclass(frozen=True)
class _EngineRow:
    parameters: EngineParameters
    measured_gpus: frozenset[str]


@lru_cache(maxsize=1)
def _engine_table() -> dict[tuple[str, str, str], _EngineRow]:
    path = DATA / "engines.csv"
    columns = read_columns(path)
    values = [numbers(columns[field.name], path, field.name) for field in fields(EngineParameters)]
    parameters = [EngineParameters(*map(float, row)) for row in zip(*values)]
    measured = [frozenset(filter(None, cell.split("; "))) for cell in columns["measured_gpus"]]
    keys = zip(columns["engine"], columns["vendor"], columns["cards"])
    return dict(zip(keys, map(_EngineRow, parameters, measured)))


@lru_cache(maxsize=1)
def _engine_spellings() -> dict[str, str]:
    aliases = read_columns(DATA / "engine_aliases.csv")
    spellings = {_spelling(alias): engine for alias, engine in zip(aliases["alias"], aliases["engine"])}
    return spellings | {_spelling(engine): engine for engine in engine_names()}


def _spelling(name: str) -> str:
    """A name without case, spaces, hyphens, and a version at its end: `vLLM (2025-12)` and `vllm` are one."""
    without_version = re.sub(r"[\s(v]*\d[\d.\-]*\)?$", "", name.strip().lower())
    return re.sub(r"[\s_-]", "", without_version or name.lower())


def engine_names() -> tuple[str, ...]:
    """Engines that a user may name, in the order of data/engines.csv: those of today."""
    return tuple(dict.fromkeys(engine for engine, _, _ in _engine_table() if not _OF_A_YEAR.search(engine)))


_OF_A_YEAR = re.compile(r"-\d{4}$")


def engine_of_year(engine: str, vendor: str, as_of: str) -> str:
    """The engine as it was when measured: `vllm-2024` where that year has parameters of its own, else today's."""
    dated = f"{engine}-{as_of[:4]}"
    return dated if (dated, vendor, "") in _engine_table() else engine


def engine_name(name: str) -> str:
    """The engine behind a spelling; raises `speed.unknown_engine` with the nearest names."""
    spellings = _engine_spellings()
    if any(name == engine for engine, _, _ in _engine_table()):
        return name
    if _spelling(name) not in spellings:
        known = difflib.get_close_matches(name.lower(), engine_names(), cutoff=0.4) or engine_names()
        raise GpudashError("speed.unknown_engine", engine=name, nearest=", ".join(known))
    return spellings[_spelling(name)]


def _row(engine: str, vendor: str, architecture: str, gpu: str) -> _EngineRow:
    table, engine = _engine_table(), engine_name(engine)
    rows = ((engine, vendor, gpu), (engine, vendor, architecture), (engine, vendor, ""), (UNKNOWN, vendor, ""))
    return next((table[row] for row in rows if row in table), table[UNKNOWN, "any", ""])


def engine_parameters(engine: str, vendor: str, architecture: str = "", gpu: str = "") -> EngineParameters:
    """Parameters of an engine on a card, the band widened where no row of that card was seen.

    The row of the GPU itself comes first, then that of its architecture, its vendor, the vendor's `unknown` engine, and
    the widest of all. Raises `speed.unknown_engine` with the nearest names.
    """
    row = _row(engine, vendor, architecture, gpu)
    if not gpu or gpu in row.measured_gpus:
        return row.parameters
    sigma = row.parameters.sigma_log_new_card
    without_link = max(sigma, row.parameters.sigma_log_without_link)
    return replace(row.parameters, sigma_log=sigma, sigma_log_without_link=without_link)


def card_parameters(engine: str, hardware, rows) -> EngineParameters:
    """Parameters of an engine on several cards of the catalogue's `hardware`: one value per card in each field."""
    cards = ((str(hardware.vendor[row]), str(hardware.architecture[row]), hardware.names[row]) for row in rows)
    return EngineParameters.stack([engine_parameters(engine, *card) for card in cards])


def is_measured(engine: str, vendor: str, architecture: str, gpu: str) -> bool:
    """Whether the fit of this engine saw rows of this card."""
    return gpu in _row(engine, vendor, architecture, gpu).measured_gpus


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

    @classmethod
    def of(cls, model, weight_precision: str, kv_precision: str) -> "Transformer":
        """The speed-relevant figures of a `gpudash.model.Model` in these precisions."""
        from gpudash.memory import kv_bytes_per_token, weights_gb
        from gpudash.model import load_precision

        windowed = 0.0
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
            compute_bits=load_precision(weight_precision).compute_bits,
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
            link_gb_per_s=hardware.link_gb_per_s_both_directions[rows] / 2,
            linked_gpus=_each(lambda scope: linked.get(scope, 1), np.asarray(hardware.link_scope)[rows]),
            pcie_gb_per_s=_each(lambda name: pcie.get(name, pcie["any other"]), architectures),
        )

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
    attention_tflops = parameters.reached_tflops(cards.peak_16bit_tflops, parameters.decode_attention_fraction)
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
    attention_tflops = parameters.reached_tflops(cards.peak_16bit_tflops, parameters.compute_16bit_fraction)
    compute_s = tokens * _dense_s_per_token(transformer, cards, parameters, gpu_count) + attention / attention_tflops
    link_s = tokens * _link_s_per_token(transformer, cards, parameters, gpu_count)
    touched_gb = transformer.weights_touched_gb(batch_size * tokens) / gpu_count
    weights_s = touched_gb / parameters.reached_gb_per_s(cards.bandwidth_gb_per_s)
    per_request_s = compute_s / parameters.prefill_fraction + link_s
    return weights_s + batch_size * per_request_s + _layers_s(transformer, parameters, gpu_count)


def _dense_s_per_token(transformer, cards, parameters, gpu_count):
    tflop = FLOPS_PER_MULTIPLY_ADD * transformer.active_params_b * PARAMS_PER_B / FLOPS_PER_TFLOPS
    fraction = parameters.compute_fraction(cards.compute_bits)
    return tflop / (gpu_count * parameters.reached_tflops(cards.peak_tflops, fraction))


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
        low_factor=np.exp(-BAND_90_SIGMAS * sigma),
        high_factor=np.exp(BAND_90_SIGMAS * sigma),
    )
