"""How far the speed predictions are from what was measured, on rows that the parameters have not seen.

Writes docs/accuracy.md and prints it: python -m fit.accuracy
"""

import numpy as np

from fit import inference, training
from gpudash.speed import BAND_90_SIGMAS
from gpudash.tables import DATA

REPORT = DATA.parent / "docs" / "accuracy.md"
HEADER = """| rows | number | median error | 90th percentile | within 25 % | in the 90 % band |
| --- | --- | --- | --- | --- | --- |"""
INTRODUCTION = """# How accurate the speed predictions are

Written by `python -m fit.accuracy`. Every row was predicted by parameters fitted without it: "random" leaves out a
random fifth (training: a tenth) at a time, the others a whole card, model or source (all pages of one project). An
error is |log(measured / predicted)|, about the relative error when small. The band is the one the product shows; its
width is set on random held-out rows, so it holds about 90 % there by design and less when a whole card or source is
new: that is what the wider band for cards nobody measured is for.
"""
SOURCE_NOTE = """
Leaving out a source often leaves an engine without any row (SGLang, Gaudi, AMD and most vLLM rows come from one project
each). Such rows are predicted as the product would predict an engine that nobody measured. The starting values that
vLLM and TensorRT-LLM are pulled to came from an earlier fit to much the same rows, so their errors with a whole source
left out are somewhat too good.
"""


def line(name: str, errors: np.ndarray, sigma: np.ndarray) -> str:
    """One row of a table: number, median and 90th percentile of |log error|, shares within 25 % and in the band."""
    size = np.abs(errors)
    within, inside = np.mean(size <= np.log(1.25)), np.mean(size <= BAND_90_SIGMAS * sigma)
    return (
        f"| {name} | {len(size)} | {np.median(size):.1%} | {np.quantile(size, 0.9):.1%} | {within:.0%} | {inside:.0%} |"
    )


def inference_tables() -> list[str]:
    """Tables of language-model inference: by what was left out, then by engine, vendor and kind of row."""
    measured = inference.read_measured()
    labels = measured.labels
    sigma = inference.shown_sigma(measured.set_ups)
    nvidia = (labels["vendor"] == "NVIDIA") & np.isin(labels["engine"], ("tensorrt-llm", "vllm"))
    folds = inference.random_folds(len(measured.value))
    left_out = {"random": folds, "card": labels["gpu"], "model": labels["model"], "source": labels["source"]}
    lines, random_errors = ["## Language-model inference", HEADER], None
    for name, groups in left_out.items():
        errors = inference.held_out_log_errors(measured, groups)
        random_errors = errors if random_errors is None else random_errors
        lines.append(line(f"{name}, all", errors, sigma))
        lines.append(line(f"{name}, TensorRT-LLM and vLLM on NVIDIA", errors[nvidia], sigma[nvidia]))
    lines += [SOURCE_NOTE, "### By engine, vendor and phase (random)", HEADER]
    kinds = np.array([" ".join(key) for key in zip(labels["engine"], labels["vendor"], labels["phase"])])
    for grouping in (kinds, labels["vendor"], labels["gpu"]):
        lines += [
            line(kind, random_errors[rows], sigma[rows]) for kind in np.unique(grouping) for rows in [grouping == kind]
        ]
    return lines


def training_tables() -> list[str]:
    """Tables of training speed: by what was left out, then by card."""
    log_mfu, matrix, _, labels = training.read_measured()
    sigma = np.full(len(log_mfu), training.shown_sigma())
    folds = training.random_folds(len(log_mfu))
    left_out = {"random": folds, "card": labels["gpu"], "model": labels["model"], "source": labels["source"]}
    errors = {name: training.held_out_log_errors(matrix, log_mfu, groups) for name, groups in left_out.items()}
    lines = ["## Training", HEADER, *(line(f"{name}, all", found, sigma) for name, found in errors.items())]
    lines += ["\n### By card (random)", HEADER]
    for gpu in np.unique(labels["gpu"]):
        rows = labels["gpu"] == gpu
        lines.append(line(gpu, errors["random"][rows], sigma[rows]))
    return lines


def main():
    report = "\n".join([INTRODUCTION, *inference_tables(), "", *training_tables(), ""])
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(report, encoding="utf-8")
    print(report)


if __name__ == "__main__":
    main()
