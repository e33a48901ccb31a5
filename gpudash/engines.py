"""What the engines reach of the hardware, per vendor and card: data/engines.csv, fitted by fit/inference.py."""

import difflib
import re
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from gpudash.errors import GpudashError
from gpudash.tables import DATA, numbers, read_columns

UNKNOWN = "unknown"
NVIDIA = "NVIDIA"  # the one vendor on whose cards every engine was measured
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
    prefill_attention_fraction: float  # by attention between the tokens of a prompt, relative to dense operations
    unpacked_fraction: float  # of the compute, with weights stored narrower than the arithmetic
    decode_attention_fraction: float  # of the 16-bit peak, by attention of single tokens
    layer_s: float  # fixed time per layer and step
    layer_doubling_s: float  # more of it per doubling of the GPUs in tensor parallel
    request_s: float  # fixed time per request and step
    link_fraction: float
    accumulates_in_16_bit: float  # 1: sums in 16 bit too, which GeForce cards do at twice the speed; else 0
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
    return tuple(dict.fromkeys(engine for engine, _, _ in _engine_table() if undated(engine) == engine))


_OF_A_YEAR = re.compile(r"-\d{4}$")


def undated(engine: str) -> str:
    """The engine of today behind the name it has with a year."""
    return _OF_A_YEAR.sub("", engine)


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
    the widest of all. An engine that was measured on other vendors' cards only gets the stricter limits of the two: its
    own on NVIDIA and the vendor's. Raises `speed.unknown_engine` with the nearest names.
    """
    row, elsewhere = _row(engine, vendor, architecture, gpu), _engine_table().get((engine_name(engine), NVIDIA, ""))
    parameters = row.parameters
    if elsewhere and not _has_rows(engine, vendor):
        parameters = _stricter(parameters, elsewhere.parameters)
    if not gpu or gpu in row.measured_gpus:
        return parameters
    sigma = parameters.sigma_log_new_card
    without_link = max(sigma, parameters.sigma_log_without_link)
    return replace(parameters, sigma_log=sigma, sigma_log_without_link=without_link)


def _stricter(parameters: EngineParameters, other: EngineParameters) -> EngineParameters:
    """The smaller share and the longer time of each, the pace with faster cards and the bands of the first."""
    values = {field.name: (getattr(parameters, field.name), getattr(other, field.name)) for field in fields(other)}
    shares = {name: min(both) for name, both in values.items() if name.endswith("_fraction")}
    times = {name: max(both) for name, both in values.items() if name.endswith("_s")}
    return replace(parameters, **shares, **times)


def _has_rows(engine: str, vendor: str) -> bool:
    return any(key[:2] == (engine_name(engine), vendor) for key in _engine_table())


def card_parameters(engine: str, hardware, rows) -> EngineParameters:
    """Parameters of an engine on several cards of the catalogue's `hardware`: one value per card in each field."""
    cards = ((str(hardware.vendor[row]), str(hardware.architecture[row]), hardware.names[row]) for row in rows)
    return EngineParameters.stack([engine_parameters(engine, *card) for card in cards])


def is_measured(engine: str, vendor: str, architecture: str, gpu: str) -> bool:
    """Whether the fit saw rows of this very engine on this card; another engine's rows stand in, but do not count."""
    return _has_rows(engine, vendor) and gpu in _row(engine, vendor, architecture, gpu).measured_gpus
