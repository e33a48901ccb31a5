"""How fast a language model trains: the share of the peak that runs reach (MFU), and tokens per second from it.

MFU is a product of few factors fitted to published runs (data/training_speed.csv, written by fit/training.py): the
card, the number format, experts, model size, method, and how much work each GPU gets between two exchanges.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpudash.bands import band_factor
from gpudash.errors import GpudashError
from gpudash.model import load_precision
from gpudash.speed import Cards
from gpudash.tables import DATA, numbers, read_columns, sourced_values
from gpudash.units import FLOPS_PER_TFLOPS, PARAMS_PER_B

# Exact: a forward pass costs 2 FLOPs per parameter, the gradient of the activations 2, that of the weights 2 more.
FLOPS_PER_PARAM = {"pretraining": 6, "full": 6, "lora": 4, "qlora": 4}
METHODS = tuple(FLOPS_PER_PARAM)
# Where the terms below are zero; another choice only moves the intercept.
_SMALLEST_PARAMS_B = 1e-9  # a single parameter
REFERENCE_PARAMS_B = 10
REFERENCE_TOKENS = 4096


def unstated_step_sequences_per_gpu() -> float:
    """Sequences that each GPU works on between two updates of the weights, where a run does not say."""
    return sourced_values("speed_parameters")["unstated_step_sequences_per_gpu"]


@dataclass(frozen=True)
class TrainingWork:
    """What is trained and how; floats, or one value per row."""

    params_b: float
    active_params_b: float
    layers: float
    attention_values: float  # heads × head_dim
    method: str
    sequence_tokens: float
    step_tokens_per_gpu: float  # tokens one GPU works on between two updates of the weights
    micro_batch_tokens: float  # tokens in one pass
    full_recomputation: bool = False

    @classmethod
    def of(
        cls,
        model,
        method: str,
        *,
        sequence_tokens,
        step_sequences_per_gpu=None,
        micro_batch=1,
        recomputation="none",
    ):
        """The figures of a `gpudash.model.Model`; an unknown method raises `speed.unknown_training_method`.

        `step_sequences_per_gpu` None: as many as where a run does not say (`unstated_step_sequences_per_gpu`).
        """
        if method not in METHODS:
            raise GpudashError("speed.unknown_training_method", method=method)
        if step_sequences_per_gpu is None:
            step_sequences_per_gpu = unstated_step_sequences_per_gpu()
        return cls(
            params_b=model.params_b,
            active_params_b=model.active_params_b,
            layers=model.layers,
            attention_values=model.heads * model.head_dim,
            method=method,
            sequence_tokens=sequence_tokens,
            step_tokens_per_gpu=step_sequences_per_gpu * sequence_tokens,
            micro_batch_tokens=micro_batch * sequence_tokens,
            full_recomputation=recomputation == "full",
        )

    def tflop_per_token(self):
        """k × P + k × L × heads × head_dim × s, k = 6 (4 where the base weights are frozen); attention is causal."""
        per_param = _each_method(FLOPS_PER_PARAM, self.method)
        attention = self.layers * self.attention_values * self.sequence_tokens
        return per_param * (self.active_params_b * PARAMS_PER_B + attention) / FLOPS_PER_TFLOPS


@dataclass(frozen=True)
class TrainingSpeed:
    """Speed of a run on all its GPUs together; `low` and `high` tokens per second bound 90 % of what is measured."""

    tokens_per_s: float
    mfu_fraction: float
    low: float
    high: float
    sigma_log: float


def training_speed(work: TrainingWork, hardware, rows, *, gpu_count, precision: str) -> TrainingSpeed:
    """Tokens per second of `gpu_count` cards: n × F × MFU / FLOPs per token.

    `rows` is an index of the catalogue's `hardware` or an array of them. `precision` is that of the arithmetic; a card
    without it computes in the next wider one, and against that peak.
    """
    cards = Cards.of(hardware, rows, load_precision(precision).compute_bits)
    architectures, gpus = np.asarray(hardware.architecture)[rows], np.asarray(hardware.names)[rows]
    mfu = mfu_fraction(work, gpus, architectures, cards.compute_bits, gpu_count)
    tokens_per_s = gpu_count * cards.peak_tflops * mfu / work.tflop_per_token()
    sigma = training_sigma_log(gpus)
    factor = band_factor(sigma)
    return TrainingSpeed(tokens_per_s, mfu, tokens_per_s / factor, tokens_per_s * factor, sigma)


def mfu_fraction(work: TrainingWork, gpus, architectures, compute_bits, gpu_count):
    """Share of the dense peak that the run's useful FLOPs reach (model FLOPs utilisation), at most 1.

    exp(sum of value × term) with the terms of data/training_speed.csv; a value outside what was measured counts as the
    nearest measured one, a card or architecture nobody measured as the mean.
    """
    table = _terms()
    logs = sum(
        table[term].value * np.clip(value, table[term].lowest, table[term].highest)
        for term, value in numeric_terms(work, compute_bits, gpu_count).items()
    )
    for term in category_terms(gpus, architectures, compute_bits):
        logs = logs + _looked_up(table, term)
    return np.minimum(np.exp(logs), 1.0)


def numeric_terms(work: TrainingWork, compute_bits, gpu_count) -> dict:
    """What the logarithm of MFU is linear in, by name."""
    size = np.log(np.maximum(work.params_b, _SMALLEST_PARAMS_B) / REFERENCE_PARAMS_B)
    has_experts = np.less(work.active_params_b, 0.9 * np.asarray(work.params_b))
    method = np.asarray(work.method)
    return {
        "intercept": 1.0,
        "small_model": np.where(has_experts, 0, np.minimum(size, 0)),
        "large_model": np.where(has_experts, 0, np.maximum(size, 0)),
        "experts": np.where(has_experts, 1.0, 0.0),
        "size_with_experts": np.where(has_experts, size, 0),
        "lora": np.where(method == "lora", 1.0, 0.0),
        "qlora": np.where(method == "qlora", 1.0, 0.0),
        # In the measured runs this is what plain scripts do; the 8-bit ones come from tuned toolkits.
        "fine_tuning_in_16_bit": np.where((method != "pretraining") & np.equal(compute_bits, 16), 1.0, 0.0),
        "full_recomputation": np.where(work.full_recomputation, 1.0, 0.0),
        "gpu_doublings": np.log2(gpu_count),
        "step_tokens": np.log(np.asarray(work.step_tokens_per_gpu) / REFERENCE_TOKENS),
        "sequence": np.log(np.asarray(work.sequence_tokens) / REFERENCE_TOKENS),
        "micro_batch": np.log(np.asarray(work.micro_batch_tokens) / REFERENCE_TOKENS),
    }


def category_terms(gpus, architectures, compute_bits) -> tuple:
    """Names of the terms that a card, its architecture and its number format add, one array each."""
    by_format = np.char.add(
        np.char.add(np.asarray(architectures, dtype=str), " at "), np.asarray(compute_bits, dtype=str)
    )
    return np.asarray(architectures, dtype=str), np.char.add(by_format, " bit"), np.asarray(gpus, dtype=str)


def training_sigma_log(gpus):
    """Standard deviation of log(measured / predicted) on unseen runs, wider for cards that no run was measured on."""
    table = _terms()
    seen = np.isin(np.asarray(gpus, dtype=str), list(table))
    return np.where(seen, table["sigma_log"].value, table["sigma_log_new_card"].value)


def _looked_up(table, names):
    found = np.array([table[name].value if name in table else 0.0 for name in np.ravel(names)])
    return found.reshape(np.shape(names))


def _each_method(by_method: dict, method):
    if isinstance(method, str):
        return by_method[method]
    return np.array([by_method[name] for name in method], dtype=float)


@dataclass(frozen=True)
class _Term:
    value: float
    lowest: float
    highest: float


@lru_cache(maxsize=1)
def _terms() -> dict[str, _Term]:
    path = DATA / "training_speed.csv"
    columns = read_columns(path)
    values = (numbers(columns[name], path, name) for name in ("value", "lowest", "highest"))
    return dict(zip(columns["term"], map(_Term, *(map(float, column) for column in values))))
