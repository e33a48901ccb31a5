"""How far the predictions are from what was measured, on rows that the parameters have not seen.

Writes docs/accuracy.md and docs/accuracy.svg and prints the report: python -m fit.accuracy
"""

from dataclasses import dataclass

import numpy as np

from fit import compare, inference, memory, training
from fit.plots import Cloud, svg
from gpudash.bands import SIGMAS
from gpudash.engines import undated
from gpudash.tables import DATA

REPORT = DATA.parent / "docs" / "accuracy.md"
PLOT = REPORT.with_suffix(".svg")
FEWEST_DRAWN = 80  # rows of a panel
HEADER = """| rows | number | median error | 90th percentile | within 25 % | in the 90 % band |
| --- | --- | --- | --- | --- | --- |"""
INTRODUCTION = """# How accurate the predictions are

Written by `make accuracy`. Every row was predicted by parameters fitted without it: "random" leaves out a
random fifth (training: a tenth) at a time, the others a whole card, model or source (all pages of one project). An
error is |log(measured / predicted)|, about the relative error when small. The band is the one the product shows; its
width is set on random held-out rows, so it holds about 90 % there by design and less when a whole card or source is
new: that is what the wider band for cards nobody measured is for.

![Predicted against measured, a dot per held-out row](accuracy.svg)

Predicted (upwards) against measured (to the right) for the kinds of rows with most measurements, each row predicted by
parameters fitted without it (random). On the line both agree; dashed: a quarter more or less.
"""
SOURCE_NOTE = """
Leaving out a source often leaves an engine without any row (SGLang, Gaudi, AMD and most vLLM rows come from one project
each). Such rows are predicted as the product would predict an engine that nobody measured. The starting values that
vLLM and TensorRT-LLM are pulled to came from an earlier fit to much the same rows, so their errors with a whole source
left out are somewhat too good. vLLM is taken by the year of a row (vllm-2023, vllm-2024, and vllm for rows since):
users get today's, whose rows are few and of small cards, which is why its band is wider than that of 2024.
"""


def line(name: str, errors: np.ndarray, sigma: np.ndarray) -> str:
    """One row of a table: number, median and 90th percentile of |log error|, shares within 25 % and in the band."""
    size = np.abs(errors)
    within, inside = np.mean(size <= np.log(1.25)), np.mean(size <= SIGMAS[0.9] * sigma)
    return (
        f"| {name} | {len(size)} | {np.median(size):.1%} | {np.quantile(size, 0.9):.1%} | {within:.0%} | {inside:.0%} |"
    )


@dataclass(frozen=True)
class Section:
    """A part of the report: its lines, and the rows that are drawn."""

    lines: list[str]
    clouds: list[Cloud]


def inference_section() -> Section:
    """Language-model inference: by what was left out, by kind of row, and beside other predictors."""
    measured = inference.read_measured()
    labels = measured.labels
    sigma = inference.shown_sigma(measured.set_ups)
    nvidia = (labels["vendor"] == "NVIDIA") & np.isin(list(map(undated, labels["engine"])), ("tensorrt-llm", "vllm"))
    folds = inference.random_folds(len(measured.value))
    left_out = {"random": folds, "card": labels["gpu"], "model": labels["model"], "source": labels["source"]}
    errors = {name: inference.held_out_log_errors(measured, groups) for name, groups in left_out.items()}
    lines = ["## Language-model inference", HEADER]
    for name, found in errors.items():
        lines.append(line(f"{name}, all", found, sigma))
        lines.append(line(f"{name}, TensorRT-LLM and vLLM on NVIDIA", found[nvidia], sigma[nvidia]))
    lines += [SOURCE_NOTE, "### By engine, vendor and phase (random)", HEADER]
    kinds = np.array([" ".join(key) for key in zip(labels["engine"], labels["vendor"], labels["phase"])])
    for grouping in (kinds, labels["vendor"], labels["gpu"]):
        lines += [
            line(kind, errors["random"][rows], sigma[rows])
            for kind in np.unique(grouping)
            for rows in [grouping == kind]
        ]
    lines += ["", *compare.tables(measured, errors)]
    return Section(lines, _clouds(kinds, measured.value, errors["random"]))


def _clouds(kinds: np.ndarray, value: np.ndarray, errors: np.ndarray) -> list[Cloud]:
    """One panel per kind of row that has enough of them, the commonest first."""
    names, counts = np.unique(kinds, return_counts=True)
    common = [names[i] for i in np.argsort(-counts, kind="stable") if counts[i] >= FEWEST_DRAWN]
    unit = {"prefill": "prompt tokens/s", "prefill_latency": "ms"}
    return [
        Cloud(name, unit.get(name.split()[-1], "output tokens/s"), value[rows], value[rows] / np.exp(errors[rows]))
        for name in common
        for rows in [kinds == name]
    ]


def training_section() -> Section:
    """Training speed: by what was left out, then by card."""
    log_mfu, matrix, _, labels = training.read_measured()
    sigma = np.full(len(log_mfu), training.shown_sigma())
    folds = training.random_folds(len(log_mfu))
    left_out = {"random": folds, "card": labels["gpu"], "model": labels["model"], "source": labels["source"]}
    errors = {name: training.held_out_log_errors(matrix, log_mfu, groups) for name, groups in left_out.items()}
    lines = ["## Training speed", HEADER, *(line(f"{name}, all", found, sigma) for name, found in errors.items())]
    lines += ["\n### By card (random)", HEADER]
    for gpu in np.unique(labels["gpu"]):
        rows = labels["gpu"] == gpu
        lines.append(line(gpu, errors["random"][rows], sigma[rows]))
    percent = 100 * np.exp(log_mfu)
    return Section(lines, [Cloud("training", "% of the peak", percent, percent / np.exp(errors["random"]))])


def memory_section() -> Section:
    """Memory and verdicts: figures in sample and held out, agreement with public statements."""
    measured = memory.read_measured()
    left_out = {"random": memory.random_folds(len(measured.value_gb)), "source": measured.source}
    by_way = {name: memory.held_out_log_errors(measured, groups) for name, groups in left_out.items()}
    errors = by_way["random"]
    clouds = [
        Cloud(f"memory, {purpose}", "GB", measured.value_gb[rows], (measured.value_gb * np.exp(errors))[rows])
        for purpose in memory.PURPOSES
        for rows in [measured.purpose == purpose]
    ]
    beside = compare.memory_tables(measured.value_gb, measured.purpose == "serving", by_way)
    return Section([*memory.tables(), *beside], clouds)


def main():
    sections = [inference_section(), training_section(), memory_section()]
    lines = [INTRODUCTION, *(line for section in sections for line in [*section.lines, ""])]
    report = "\n".join(lines).rstrip() + "\n"
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(report, encoding="utf-8")
    PLOT.write_text(svg([cloud for section in sections for cloud in section.clouds]), encoding="utf-8")
    print(report)


if __name__ == "__main__":
    main()
