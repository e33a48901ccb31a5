"""How fast a language model answers: prefill, decode, time to first token and time per output token, with a band.

A closed form with few parameters per engine and vendor (data/engines.csv, fitted by fit/fit_inference.py). All formulas
take floats or numpy arrays that broadcast, so one call serves one card or a whole catalogue.
"""

import difflib
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from gpudash.errors import GpudashError
from gpudash.result import Message
from gpudash.tables import DATA, numbers, read_columns
from gpudash.units import BYTES_PER_GB, FLOPS_PER_TFLOPS, MS_PER_S, PARAMS_PER_B

UNKNOWN = "unknown"
BAND_90_SIGMAS = 1.6449  # exact: 5 % of a normal distribution lie above it
ALL_REDUCES_PER_LAYER = 2  # one after attention, one after the feed-forward part
ACTIVATION_BYTES = 2  # activations travel between GPUs in 16 bit
FLOPS_PER_MULTIPLY_ADD = 2


@dataclass(frozen=True)
class EngineParameters:
    """How much of the hardware one engine reaches on one vendor's cards; floats, or one value per card.

    `sigma_log` is the standard deviation of log(measured / predicted) on rows the fit has not seen.
    """

    bandwidth_fraction: float
    compute_16bit_fraction: float
    compute_8bit_fraction: float
    compute_4bit_fraction: float
    layer_s: float  # fixed time per layer and step
    layer_doubling_s: float  # more of it per doubling of the GPUs in tensor parallel
    request_s: float  # fixed time per request and step
    prefill_fraction: float  # compute reached in prefill, relative to decode
    link_fraction: float
    sigma_log: float
    sigma_log_without_link: float  # several GPUs over PCIe only

    @classmethod
    def stack(cls, parameters: "list[EngineParameters]") -> "EngineParameters":
        """Several sets as one with an array in each field."""
        return cls(*(np.array([getattr(p, field.name) for p in parameters]) for field in fields(cls)))

    def compute_fraction(self, compute_bits):
        """Share of the peak reached where the arithmetic runs in 16, 8 or 4 bits."""
        by_bits = np.where(np.equal(compute_bits, 8), self.compute_8bit_fraction, self.compute_16bit_fraction)
        return np.where(np.equal(compute_bits, 4), self.compute_4bit_fraction, by_bits)


@lru_cache(maxsize=1)
def _engine_table() -> dict[tuple[str, str], tuple[EngineParameters, frozenset[str]]]:
    path = DATA / "engines.csv"
    columns = read_columns(path)
    values = [numbers(columns[field.name], path, field.name) for field in fields(EngineParameters)]
    parameters = [EngineParameters(*map(float, row)) for row in zip(*values)]
    measured = [frozenset(filter(None, cell.split("; "))) for cell in columns["measured_gpus"]]
    return dict(zip(zip(columns["engine"], columns["vendor"]), zip(parameters, measured)))


def engine_names() -> tuple[str, ...]:
    """Engines that a user may name, in the order of data/engines.csv."""
    return tuple(dict.fromkeys(engine for engine, _ in _engine_table()))


def _row_for(engine: str, vendor: str):
    table = _engine_table()
    if engine not in engine_names():
        known = difflib.get_close_matches(engine, engine_names(), cutoff=0) or engine_names()
        raise GpudashError("speed.unknown_engine", engine=engine, nearest=", ".join(known))
    return next(table[key] for key in ((engine, vendor), (UNKNOWN, vendor), (UNKNOWN, "any")) if key in table)


def engine_parameters(engine: str, vendor) -> EngineParameters:
    """Parameters of an engine on a vendor's cards; with a sequence of vendors, one value per card in each field.

    An engine nobody measured on that vendor falls back to the vendor's `unknown` row, then to the widest row of all.
    Raises `speed.unknown_engine` with the nearest names.
    """
    if isinstance(vendor, str):
        return _row_for(engine, vendor)[0]
    return EngineParameters.stack([_row_for(engine, name)[0] for name in vendor])


def is_measured(engine: str, vendor: str, gpu: str) -> bool:
    """Whether the fit of this engine saw rows of this card."""
    return gpu in _row_for(engine, vendor)[1]
