"""Fits the memory parameters to data/measured/memory.csv and reports how far memory and verdicts agree with the world.

`python -m fit.memory` prints the section of docs/accuracy.md; `python -m fit.memory --write` first fits anew and writes
parameters and bands into data/memory_parameters.yaml. Least squares on log(predicted / measured) with a soft-L1 loss. A
prediction below the measured figure costs more: a set-up that does not fit is worse than an idle gigabyte. A source
weighs by the root of its rows, and a weak pull holds parameters that no row can tell at their start.
"""

import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.optimize import least_squares

from gpudash.bands import SIGMAS
from gpudash.catalogue import load_catalogue
from gpudash.memory_rows import band_class, by_set_up, fit_rows, measured_gb
from gpudash.memory_setups import SetUps, read_set_ups
from gpudash.model import read_parameters
from gpudash.tables import DATA, numbers, read_columns

MEASURED = DATA / "measured" / "memory.csv"
DEPLOYMENTS = DATA / "measured" / "deployments.csv"
PARAMETERS = DATA / "memory_parameters.yaml"
START = DATA.parent / "fit" / "memory_start.csv"
PURPOSES = ("serving", "training")
SOFT_FROM_LOG = 0.05  # residuals beyond about 5 % weigh linearly
# Times as much as over; with 5 no more than one serving figure in twenty lies 10 % above its prediction.
UNDER_COSTS = {"serving": 5.0, "training": 2.0}
FOLDS = 5
FEWEST_ROWS = 5  # an engine with fewer statements has no line of its own
VERDICT_CHOICES = {"context_tokens": (512, 1024, 2048, 4096), "fixed_gb": (0.5, 1.0, 1.5, 2.0)}
RANDOM_STATE = 20261130
FIGURES_NOTE = """
Published GPU memory (data/measured/memory.csv) against the prediction; an error is |predicted / measured - 1|. Figures
with a caveat are left out of the fit but counted here. Most of the serving figures that lie more than 10 % above their
prediction are one page's 4, 8 and 32-bit rows of two engines, which show up to twice the weights and follow no rule of
the others. With a source left out nothing is left of how nvidia-smi counts a process (one page prints all of those), so
the starting value stands in. Published training figures seldom say whether activations were recomputed: that, not the
arithmetic of the states, is most of the error, and the band of such rows is wider.
"""
VERDICTS_NOTE = """
Public statements of what runs where (data/measured/deployments.csv, rows that name a GPU). `tight` and a recommended
minimum count as fits. No row of this file was used to fit a parameter. Two choices could be steered by it, the context
of rows that name none and the fixed memory of a serving engine: held out, they are chosen without the rows judged. What
engines do by default comes from their documentation, but was written down with these statements at hand, so statements
collected later may agree somewhat less. Of choices that agree equally often the one that asks for most memory is taken;
with the one that asks for least, two rows fewer agree.
"""
MISSES_NOTE = """
What is missed, and why. Serving: models whose layers were not published (their size is all that is known), refusals
that depend on the version or on pictures (the room an engine keeps for the largest picture is not modelled), set-ups
that a publisher runs with more than nine tenths of the card. Training: the statement names neither the batch, nor the
length, nor how the work was spread. Most set-ups that were refused and are not called impossible are called tight: the
limit lies inside the band. The others are training runs whose settings were not told.

Refused set-ups that are not called impossible, one by one. What would have to be known: the room an engine keeps for
the largest picture (Qwen2.5-VL), the padding of packed weights (gpt-oss on Hopper), how many real bytes a "FP8" file
holds (Laguna), what a pipeline's first and last stage hold beside their layers (DeepSeek-V3 over 32 cards), and the
settings of the training runs. A rule for each would be a rule for one row. Whole gradients with ZeRO-2, which the
estimate in DeepSpeed's documentation counts, would explain two of them, but contradict the measured runs of Qwen-7B on
two cards (69.6 GB each; whole gradients would ask for 7.7 GB more).
"""
WRITTEN_BELOW = "# Everything below is written by fit/memory.py.\n"


@dataclass(frozen=True)
class Measured:
    """Rows of data/measured/memory.csv: set-ups, the measured figure, and what to leave out together."""

    set_ups: SetUps
    value_gb: np.ndarray
    source: np.ndarray
    purpose: np.ndarray
    is_usable: np.ndarray  # rows whose `caveat` does not exclude them from the fit

    def take(self, chosen: np.ndarray) -> "Measured":
        return Measured(self.set_ups.take(chosen), *(column[chosen] for column in list(vars(self).values())[1:]))


def read_measured() -> Measured:
    columns = read_columns(MEASURED)
    unstated = read_parameters()["unstated"]["measured_context_tokens"]
    set_ups = read_set_ups(columns, load_catalogue().hardware, unstated_context_tokens=unstated)
    return Measured(
        set_ups,
        numbers(columns["measured_gb"], MEASURED, "measured_gb"),
        np.array([source.split()[0] for source in columns["source"]]),
        np.array(["serving" if task == "inference" else "training" for task in columns["task"]]),
        np.array([not caveat.startswith("excluded") for caveat in columns["caveat"]]),
    )


@contextmanager
def trial(section: str, values: dict):
    """The product's formulas with other parameters for a while."""
    parameters = read_parameters()[section]
    kept = dict(parameters)
    parameters.update(values)
    try:
        yield
    finally:
        parameters.clear()
        parameters.update(kept)


def log_errors(measured: Measured, values: dict[str, float]) -> np.ndarray:
    """log(predicted / measured) of every row."""
    with trial("fitted", values):
        predicted, _ = by_set_up(measured.set_ups, measured_gb)
    return np.log(predicted / measured.value_gb)


def fit(measured: Measured) -> dict[str, float]:
    """The parameters that predict the usable rows best, serving and training apart."""
    fitted = {}
    for purpose in PURPOSES:
        fitted |= _fit_purpose(measured.take((measured.purpose == purpose) & measured.is_usable), purpose)
    return fitted


def _fit_purpose(measured: Measured, purpose: str) -> dict[str, float]:
    table = read_columns(START)
    chosen = [index for index, name in enumerate(table["purpose"]) if name == purpose]
    names = [table["parameter"][index] for index in chosen]
    start, lowest, highest, pull = (numbers(table[n], START, n)[chosen] for n in ("start", "lowest", "highest", "pull"))
    _, of_row, rows = np.unique(measured.source, return_inverse=True, return_counts=True)
    weight = rows[of_row] ** -0.25  # squared in the sum: a source of n rows weighs the root of n

    def residuals(logs):
        miss = log_errors(measured, dict(zip(names, np.exp(logs)))) / SOFT_FROM_LOG
        soft = np.sqrt(2 * (np.sqrt(1 + miss**2) - 1)) * np.where(miss < 0, UNDER_COSTS[purpose] ** 0.5, 1) * weight
        return np.concatenate([soft, pull * np.sqrt(len(miss)) * (logs - np.log(start))])

    bounds = (np.log(lowest), np.log(highest))
    found = least_squares(residuals, np.log(start), bounds=bounds, diff_step=1e-3).x
    return dict(zip(names, np.exp(found).tolist()))


def held_out_log_errors(measured: Measured, groups: np.ndarray) -> np.ndarray:
    """log(predicted / measured) of every row by parameters that saw no row of its group."""
    errors = np.full(len(groups), np.nan)
    for group in np.unique(groups):
        held = groups == group
        errors[held] = log_errors(measured.take(held), fit(measured.take(~held)))
    return errors


def random_folds(count: int) -> np.ndarray:
    return np.random.default_rng(RANDOM_STATE).integers(0, FOLDS, count)


def bands(measured: Measured, errors: np.ndarray) -> dict[str, float]:
    """Per class the deviation whose 90 % band holds 90 % of held-out errors; guessed geometry takes the widest."""
    classes = np.array([band_class(set_up) for set_up in measured.set_ups.set_up])
    found = {
        name: float(np.quantile(np.abs(errors[classes == name]), 0.9) / SIGMAS[0.9]) for name in np.unique(classes)
    }
    found["estimated_geometry"] = max(found.values())
    return {f"sigma_log_{name}": sigma for name, sigma in found.items()}


def write(values: dict[str, float]) -> None:
    kept = PARAMETERS.read_text(encoding="utf-8").split(WRITTEN_BELOW)[0]
    lines = [f"  {name}: {value:.4g}\n" for name, value in values.items()]
    lines += ['  source: "fitted by fit/memory.py to data/measured/memory.csv"\n', "  as_of: 2026-11\n"]
    PARAMETERS.write_text(kept + WRITTEN_BELOW + "fitted:\n" + "".join(lines), encoding="utf-8")
    read_parameters.cache_clear()


@dataclass(frozen=True)
class Verdicts:
    """Rows of data/measured/deployments.csv that name a GPU: what was stated and what is predicted."""

    task: np.ndarray
    engine: np.ndarray
    vendor: np.ndarray
    source: np.ndarray
    stated: np.ndarray
    predicted: np.ndarray

    @property
    def is_refused(self) -> np.ndarray:
        return self.stated == "does_not_fit"

    @property
    def agrees(self) -> np.ndarray:
        """`tight` and a recommended minimum count as fits."""
        return (self.predicted == "does_not_fit") == self.is_refused


def read_verdicts() -> Verdicts:
    columns, hardware = read_columns(DEPLOYMENTS), load_catalogue().hardware
    named = np.array([gpu != "" for gpu in columns["gpu"]])
    column = {name: np.array(cells)[named] for name, cells in columns.items()}
    return Verdicts(
        task=column["task"],
        engine=column["engine"],
        vendor=np.array([str(hardware.vendor[hardware.index(gpu)]) for gpu in column["gpu"]]),
        source=np.array([source.split()[0] for source in column["source"]]),
        stated=column["verdict"],
        predicted=np.array(fit_rows(columns, hardware).predicted_verdict)[named],
    )


def held_out_verdicts(groups: np.ndarray) -> Verdicts:
    """Verdicts with the two choices that rows could steer made anew without the rows of each group.

    They are the context of rows that name none and the fixed memory of a serving engine; everything else comes from
    documentation or from data/measured/memory.csv. Of choices that agree equally often the one that asks for most
    memory is taken, as in the fit: a set-up that does not fit is worse than an idle gigabyte.
    """
    tried = []
    for context, fixed in product(VERDICT_CHOICES["context_tokens"], VERDICT_CHOICES["fixed_gb"]):
        with trial("unstated", {"context_tokens": context}), trial("inference_buffer", {"fixed_gb": fixed}):
            tried.append(read_verdicts())
    agrees = np.array([verdicts.agrees for verdicts in tried])
    predicted = tried[0].predicted.copy()
    for group in np.unique(groups):
        held = groups == group
        agreement = agrees[:, ~held].mean(axis=1)
        best = int(np.flatnonzero(agreement == agreement.max())[-1])
        predicted[held] = tried[best].predicted[held]
    return replace(tried[0], predicted=predicted)


def tables() -> list[str]:
    """The memory section of docs/accuracy.md: tables of figures and verdicts, in sample and held out."""
    measured, verdicts = read_measured(), read_verdicts()
    folds, verdict_folds = random_folds(len(measured.value_gb)), random_folds(len(verdicts.stated))
    errors = {
        "in sample": log_errors(measured, {}),
        "random fifths held out": held_out_log_errors(measured, folds),
        "sources held out": held_out_log_errors(measured, measured.source),
    }
    by_way = {
        "in sample": verdicts,
        "random fifths held out": held_out_verdicts(verdict_folds),
        "sources held out": held_out_verdicts(verdicts.source),
    }
    return [
        *("## Memory", FIGURES_NOTE, *_figure_table(measured, errors), "", *_source_table(measured, errors), ""),
        *("## Fits or does not fit", VERDICTS_NOTE, *_verdict_table(by_way), ""),
        *_verdict_group_table(by_way["random fifths held out"]),
        MISSES_NOTE,
        *_refused_table(),
        "",
    ]


def _figure_table(measured: Measured, errors: dict) -> list[str]:
    header = "rows | median error | 90th percentile | within 25 % | more than 10 % under | 80 / 90 / 95 % band holds"
    lines = [f"| memory | judged | {header} |", "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"]
    classes = [band_class(set_up) for set_up in measured.set_ups.set_up]
    sigma = np.array([read_parameters()["fitted"][f"sigma_log_{name}"] for name in classes])
    for purpose, (judged, error) in product(PURPOSES, errors.items()):
        rows = measured.purpose == purpose
        held = [np.mean(np.abs(error[rows]) <= z * sigma[rows]) for z in SIGMAS.values()]
        lines.append(f"| {purpose} | {judged} | {_figures(error[rows])} | {' / '.join(map(_percent, held))} |")
    return lines


def _source_table(measured: Measured, errors: dict) -> list[str]:
    judged = "random fifths held out"
    header = "rows | median error | 90th percentile | within 25 % | more than 10 % under"
    lines = [f"| source ({judged}) | memory | {header} |", "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    for source, purpose in product(np.unique(measured.source), PURPOSES):
        rows = (measured.source == source) & (measured.purpose == purpose)
        if rows.any():
            lines.append(f"| {source} | {purpose} | {_figures(errors[judged][rows])} |")
    return lines


def _figures(log_error: np.ndarray) -> str:
    ratio = np.exp(log_error)
    miss = np.abs(ratio - 1)
    shares = [np.median(miss), np.quantile(miss, 0.9), np.mean(miss <= 0.25), np.mean(ratio < 0.9)]
    return " | ".join([str(len(ratio)), *map(_percent, shares)])


def _verdict_table(by_way: dict[str, Verdicts]) -> list[str]:
    header = "rows | agree | refused rows | of them called fits | called fits or tight"
    lines = [f"| rows of | judged | {header} |", "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    for judged, verdicts in by_way.items():
        is_serving = verdicts.task == "inference"
        for name, rows in (("all", is_serving | True), ("serving", is_serving), ("training", ~is_serving)):
            lines.append(f"| {name} | {judged} | {_agreement(verdicts, rows)} |")
    return lines


def _verdict_group_table(held_out: Verdicts) -> list[str]:
    engines, counts = np.unique(held_out.engine, return_counts=True)
    groups = {f"engine {name}": held_out.engine == name for name in engines[counts >= FEWEST_ROWS]}
    groups |= {f"vendor {name}": held_out.vendor == name for name in np.unique(held_out.vendor)}
    header = "rows | agree | refused rows | of them called fits | called fits or tight"
    lines = [f"| rows of (random fifths held out) | {header} |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    return lines + [f"| {name} | {_agreement(held_out, rows)} |" for name, rows in groups.items()]


def _refused_table() -> list[str]:
    """The rows that somebody refused and that are called fits or tight."""
    columns, hardware = read_columns(DEPLOYMENTS), load_catalogue().hardware
    fits = fit_rows(columns, hardware)
    header = "task | model | weights | cards | engine | called | GB of a card needed | stated"
    lines = [f"| {header} |", "| --- | --- | --- | --- | --- | --- | ---: | --- |"]
    for index, word in enumerate(fits.predicted_verdict):
        row = {name: cells[index] for name, cells in columns.items()}
        if row["verdict"] == "does_not_fit" and word in ("fits", "tight"):
            usable = hardware.usable_gb[hardware.index(row["gpu"])]
            cells = [row["task"], row["model"], row["weights_precision"], f"{row['gpu_count']} x {row['gpu']}"]
            cells += [row["engine"], word, f"{fits.predicted_gb[index]:.1f} of {usable:.1f}"]
            lines.append(f"| {' | '.join([*cells, row['statement_in_our_words']])} |")
    return lines


def _agreement(verdicts: Verdicts, rows: np.ndarray) -> str:
    refused = rows & verdicts.is_refused
    called_fits, not_refused = verdicts.predicted == "fits", verdicts.predicted != "does_not_fit"
    counts = [(refused & called_fits).sum(), (refused & not_refused).sum()]
    return " | ".join(map(str, [rows.sum(), _percent(verdicts.agrees[rows].mean()), refused.sum(), *counts]))


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"


def main() -> None:
    if "--write" in sys.argv:
        measured = read_measured()
        errors = held_out_log_errors(measured, random_folds(len(measured.value_gb)))
        write(fit(measured) | bands(measured, errors))
    print("\n".join(tables()))


if __name__ == "__main__":
    main()
