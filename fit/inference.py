"""Fits the speed parameters of every engine class to data/measured/inference.csv.

Least squares on log(measured / predicted) with a soft-L1 loss, so that a few odd rows do not steer a class, and a pull
towards the starting values, so that a parameter no row can tell stays where it was. Run: python -m fit.inference
"""

import csv
from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.optimize import least_squares

from gpudash.bands import SIGMAS
from gpudash.catalogue import load_catalogue
from gpudash.engines import EngineParameters, undated
from gpudash.speed_rows import SetUps, predict, read_set_ups, row_sigma_log
from gpudash.tables import DATA, numbers, read_columns

MEASURED = DATA / "measured" / "inference.csv"
ENGINES = DATA / "engines.csv"
START = DATA.parent / "fit" / "inference_start.csv"
SOFT_FROM_LOG = 0.1  # residuals beyond about 10 % weigh linearly
FOLDS = 5
RANDOM_STATE = 20261130
SOURCE = "fitted by fit/inference.py to data/measured/inference.csv"
AS_OF = "2026-11-30"
ROWS_OF_A_BAND = 50  # our choice: with fewer the band is that of an engine nobody measured
FEWEST_ROWS = 6  # a class with fewer is not fitted by itself
# In rows of a 10 % miss. The starting values are those of vLLM and TensorRT-LLM on NVIDIA: with the strong pull a whole
# source left out is predicted twice as well (10 % instead of 18 % median) for one point on random rows. Others differ.
WEAK_PULL, STRONG_PULL = 20, 330
PRECISE = 1e-6  # the search ends where a step changes the sum of squares by less than this share
NOT_FITTED = ("accumulates_in_16_bit", "sigma_log", "sigma_log_without_link", "sigma_log_new_card")
FITTED = tuple(field.name for field in fields(EngineParameters) if field.name not in NOT_FITTED)


@dataclass(frozen=True)
class EngineClass:
    """One row of data/engines.csv and the measured rows behind it; an empty field takes rows of every kind."""

    engine: str
    vendor: str
    cards: str = ""  # an architecture or one GPU; all cards of the vendor where empty
    of_engines: tuple[str, ...] = ()  # where the rows of several engines stand for an unknown one
    of_vendors: tuple[str, ...] = ()
    pull: float = WEAK_PULL
    accumulates_in_16_bit: bool = False
    seen_with: tuple[str, ...] = ()  # engines whose cards count as measured; the engine itself where empty

    @property
    def key(self) -> tuple[str, str, str]:
        return self.engine, self.vendor, self.cards

    def rows(self, set_ups: SetUps) -> np.ndarray:
        return np.isin(set_ups.engine, self.of_engines or (self.engine,)) & self._of_cards(set_ups)

    def _of_cards(self, set_ups: SetUps) -> np.ndarray:
        chosen = np.isin(set_ups.vendor, self.of_vendors or (self.vendor,))
        if not self.cards:
            return chosen
        return chosen & ((np.array(set_ups.architecture) == self.cards) | (np.array(set_ups.gpu) == self.cards))

    def seen_gpus(self, measured: "Measured", rows: np.ndarray) -> set[str]:
        """Cards that were measured with this very engine; for an unknown engine those of all its rows."""
        if self.engine != "unknown":
            rows = np.isin(measured.labels["engine"], self.seen_with or (self.engine,))
            rows &= self._of_cards(measured.set_ups)
        return set(measured.labels["gpu"][rows])

    def fit(self, measured: "Measured", near: EngineParameters | None = None) -> EngineParameters:
        """The parameters that predict these rows best, searched from those of nearly the same rows where given."""
        return best_parameters(measured, self.pull, float(self.accumulates_in_16_bit), near)


NVIDIA, AMD, INTEL = "NVIDIA", "AMD", "Intel"
TUNED = ("tensorrt-llm", "vllm", "sglang", "lmdeploy", "deepspeed", "unknown")
TUNED_2024 = (*TUNED, "vllm-2024")
CLASSES = (
    # What vLLM reaches differs by year: before its CUDA graphs, before its V1 engine of January 2025, and today.
    EngineClass("vllm-2023", NVIDIA),
    EngineClass("vllm-2024", NVIDIA, pull=STRONG_PULL),
    EngineClass("vllm", NVIDIA, pull=STRONG_PULL, seen_with=("vllm", "vllm-2024")),
    # Tuned submissions to MLPerf in 2025 are three to four times as fast as the independent runs of 2024: both stay.
    EngineClass("vllm", AMD, pull=STRONG_PULL),  # all rows at one load: they tell one figure, not twelve
    EngineClass("vllm-2024", AMD, "CDNA 3"),
    EngineClass("vllm-2024", AMD, "CDNA 2"),
    EngineClass("vllm-2024", AMD),
    EngineClass("tensorrt-llm", NVIDIA, pull=STRONG_PULL),
    # SGLang was measured at batch 1 on H20 only, a card that falls short with every engine: elsewhere it is as vLLM.
    EngineClass("sglang", NVIDIA, "H20"),
    EngineClass("sglang", NVIDIA, of_engines=("vllm",), pull=STRONG_PULL),
    EngineClass("lmdeploy", NVIDIA),
    EngineClass("deepspeed", NVIDIA),
    EngineClass("deepspeed", INTEL),
    EngineClass("llama.cpp", NVIDIA, accumulates_in_16_bit=True),  # cuBLAS in COMPUTE_16F, packed weights by int8
    EngineClass("eager", NVIDIA),
    EngineClass("unknown", NVIDIA, of_engines=TUNED_2024),
    EngineClass("unknown", AMD, of_engines=TUNED),
    EngineClass("unknown", INTEL, of_engines=TUNED),
    EngineClass("unknown", "any", of_engines=TUNED_2024, of_vendors=(NVIDIA, AMD, INTEL)),
)


@dataclass(frozen=True)
class Measured:
    """The rows that can be used: set-ups, the figure measured, and what to leave out together."""

    set_ups: SetUps
    value: np.ndarray
    labels: dict[str, np.ndarray]  # model, gpu, source, engine, vendor, phase, line

    def take(self, chosen) -> "Measured":
        return Measured(self.set_ups.take(chosen), self.value[chosen], {k: v[chosen] for k, v in self.labels.items()})


def read_measured() -> Measured:
    """data/measured/inference.csv without the rows that its `caveat` excludes."""
    columns = read_columns(MEASURED)
    set_ups = read_set_ups(columns, load_catalogue().hardware)
    figure = {"prefill": "total_tokens_per_s", "prefill_latency": "ttft_ms"}
    by_column = {name: numbers(columns[name], MEASURED, name) for name in (*figure.values(), "output_tokens_per_s")}
    value = np.array([by_column[figure.get(p, "output_tokens_per_s")][i] for i, p in enumerate(columns["phase"])])
    labels = {name: np.array(columns[name]) for name in ("model", "gpu", "source", "phase")}
    # Pages of one project are one source: its rows share methods and mistakes.
    labels["source"] = np.array([source.split()[0] for source in columns["source"]])
    labels |= {"engine": np.array(set_ups.engine), "vendor": np.array(set_ups.vendor)}
    labels["line"] = np.arange(2, 2 + len(value))  # of the file, after its header
    usable = np.array([not ("excluded" in caveat or "fp32" in caveat) for caveat in columns["caveat"]])
    usable &= np.array([reason is None for reason in set_ups.because])
    return Measured(set_ups, value, labels).take(usable)


def best_parameters(
    measured: Measured, pull_rows: float, accumulates_in_16_bit: float = 0.0, near: EngineParameters | None = None
) -> EngineParameters:
    """Least squares over these rows, pulled to the start as if by so many rows; the search may begin at `near`."""
    table = read_columns(START)
    start, lowest, highest, pull = (numbers(table[n], START, n) for n in ("start", "lowest", "highest", "pull"))
    order = [table["parameter"].index(name) for name in FITTED]
    start, lowest, highest, pull = (np.asarray(values)[order] for values in (start, lowest, highest, pull))
    log_value, strength = np.log(measured.value), pull * pull_rows

    def parameters(logs) -> EngineParameters:
        unknown = dict.fromkeys(NOT_FITTED, np.nan) | {"accumulates_in_16_bit": accumulates_in_16_bit}
        return EngineParameters(**dict(zip(FITTED, np.exp(logs))), **unknown)

    def residuals(logs):
        miss = (np.log(predict(measured.set_ups, parameters(logs))) - log_value) / SOFT_FROM_LOG
        soft = np.sign(miss) * np.sqrt(2 * (np.sqrt(1 + miss**2) - 1))
        return np.concatenate([soft, strength * (logs - np.log(start))])

    low, high = np.log(lowest), np.log(highest)
    first = np.clip(np.log([getattr(near, name) for name in FITTED] if near else start), low, high)
    return parameters(least_squares(residuals, first, bounds=(low, high), ftol=PRECISE).x)


def held_out_log_errors(measured: Measured, groups: np.ndarray) -> np.ndarray:
    """log(measured / predicted) of every row by parameters that saw no row of its group.

    A class is fitted anew without the group; where nothing of a class is left, the row is predicted as the product
    would predict an engine nobody measured.
    """
    whole = {engine_class.key: engine_class.fit(measured.take(rows)) for engine_class, rows in _class_rows(measured)}
    errors = np.full(len(measured.value), np.nan)
    for group in np.unique(groups):
        held, kept = groups == group, {}
        for engine_class, rows in _class_rows(measured):
            if not (rows & held).any():
                kept[engine_class.key] = whole[engine_class.key]
            elif (rows & ~held).sum() >= FEWEST_ROWS:
                kept[engine_class.key] = engine_class.fit(measured.take(rows & ~held), whole[engine_class.key])
        errors[held] = log_errors(measured.take(held), kept)
    return errors


def log_errors(measured: Measured, by_class: dict) -> np.ndarray:
    """log(measured / predicted), each row by the class that the product would look up."""
    set_ups = measured.set_ups
    cards = zip(set_ups.engine, set_ups.vendor, set_ups.architecture, set_ups.gpu)
    chosen = EngineParameters.stack([_looked_up(by_class, *card) for card in cards])
    return np.log(measured.value / predict(set_ups, chosen))


def _looked_up(by_class, engine, vendor, architecture, gpu):
    keys = [(engine, vendor, cards) for engine in (engine, undated(engine)) for cards in (gpu, architecture, "")]
    keys += [("unknown", vendor, ""), ("unknown", "any", "")]
    return next(by_class[key] for key in keys if key in by_class)


def _class_rows(measured: Measured):
    for engine_class in CLASSES:
        rows = engine_class.rows(measured.set_ups)
        if rows.sum() >= FEWEST_ROWS:
            yield engine_class, rows


def random_folds(count: int) -> np.ndarray:
    return np.random.default_rng(RANDOM_STATE).integers(0, FOLDS, count)


def sigma_of(log_errors_held_out: np.ndarray) -> float:
    """The standard deviation whose 90 % band holds 90 % of these errors."""
    return float(np.quantile(np.abs(log_errors_held_out), 0.9) / SIGMAS[0.9])


def shown_sigma(set_ups: SetUps) -> np.ndarray:
    """The band that the product shows for each row, as a standard deviation of the logarithm."""
    return row_sigma_log(set_ups, set_ups.parameters())


def bands(measured: Measured) -> dict[tuple, dict[str, float]]:
    """The three bands of every class, from rows that the fit did not see.

    An engine that was measured: random held-out rows, all and those without a link; whole cards left out for new cards.
    An engine that was not, or by few rows: whole engines left out of the NVIDIA rows (only there several were
    measured), and whole cards. The last row of all carries the widest band of any.
    """
    labels, set_ups = measured.labels, measured.set_ups
    by_fold = held_out_log_errors(measured, random_folds(len(measured.value)))
    by_gpu = held_out_log_errors(measured, labels["gpu"])
    over_pcie = (set_ups.tensor_parallel > 1) & ~set_ups.cards.has_fast_link(set_ups.tensor_parallel)
    tuned_nvidia = np.isin(labels["engine"], TUNED_2024) & (labels["vendor"] == NVIDIA)
    new_engine = sigma_of(_left_out_log_errors(measured.take(tuned_nvidia), "engine"))
    new_card = {vendor: sigma_of(by_gpu[labels["vendor"] == vendor]) for vendor in np.unique(labels["vendor"])}
    found = {}
    for engine_class, rows in _class_rows(measured):
        of_new_card, linkless = new_card[labels["vendor"][rows][0]], rows & over_pcie
        sigma = max(new_engine, of_new_card) if engine_class.of_engines else sigma_of(by_fold[rows])
        if rows.sum() < ROWS_OF_A_BAND:
            sigma = max(sigma, new_engine)
        without_link = sigma_of(by_fold[linkless if linkless.sum() >= FEWEST_ROWS else over_pcie])
        found[engine_class.key] = {
            "sigma_log": sigma,
            "sigma_log_without_link": max(sigma, without_link),
            "sigma_log_new_card": max(sigma, of_new_card),
        }
    widest = max(value for band in found.values() for value in band.values())
    return found | {("unknown", "any", ""): dict.fromkeys(found["unknown", "any", ""], widest)}


def _left_out_log_errors(measured: Measured, label: str) -> np.ndarray:
    """Errors of each group of rows by parameters fitted to all other groups."""
    groups = measured.labels[label]
    errors = np.full(len(groups), np.nan)
    for group in np.unique(groups):
        held = groups == group
        part = measured.take(held)
        errors[held] = np.log(part.value / predict(part.set_ups, best_parameters(measured.take(~held), WEAK_PULL)))
    return errors


def main():
    measured = read_measured()
    band = bands(measured)
    header = ("engine", "vendor", "cards", *(field.name for field in fields(EngineParameters)))
    with open(ENGINES, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*header, "row_count", "measured_gpus", "source", "as_of"))
        for engine_class, rows in _class_rows(measured):
            fitted = replace(engine_class.fit(measured.take(rows)), **band[engine_class.key])
            seen = "; ".join(sorted(engine_class.seen_gpus(measured, rows)))
            values = (f"{getattr(fitted, field.name):.4g}" for field in fields(EngineParameters))
            writer.writerow((*engine_class.key, *values, rows.sum(), seen, SOURCE, AS_OF))


if __name__ == "__main__":
    main()
