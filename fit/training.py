"""Fits the terms of data/training_speed.csv to data/measured/training.csv: python -m fit.training

Ridge regression of log(MFU) with weights that keep odd runs from steering it: cards and architectures are drawn to the
mean unless several runs speak for a difference.
"""

import csv

import numpy as np

from fit.inference import sigma_of
from gpudash.catalogue import load_catalogue
from gpudash.tables import DATA, numbers, read_columns
from gpudash.training_rows import read_runs
from gpudash.training_speed import category_terms, numeric_terms

MEASURED = DATA / "measured" / "training.csv"
TERMS = DATA / "training_speed.csv"
PULL_TO_MEAN = 0.3  # our choice: about a third of a run's weight, by random held-out error
SOFT_FROM_LOG = 0.15  # residuals beyond about 15 % weigh linearly
ROUNDS = 20  # of re-weighting; the values stand still after about ten
FOLDS = 10
RANDOM_STATE = 20261130
SOURCE = "fitted by fit/training.py to data/measured/training.csv"
AS_OF = "2026-11-30"


def read_measured():
    """log(MFU), the matrix of terms with their names, and labels of each usable run."""
    columns = read_columns(MEASURED)
    runs = read_runs(columns, load_catalogue().hardware)
    tokens_per_s = numbers(columns["tokens_per_s_per_gpu"], MEASURED, "tokens_per_s_per_gpu")
    log_mfu = np.log(tokens_per_s * runs.work.tflop_per_token() / runs.peak_tflops)
    # Tables of TPUs print the MFU and no tokens.
    printed = numbers(columns["printed_mfu_fraction"], MEASURED, "printed_mfu_fraction")
    log_mfu = np.where(np.isnan(log_mfu), np.log(printed), log_mfu)
    usable = np.isfinite(log_mfu) & np.array(["excluded" not in caveat for caveat in columns["caveat"]])
    values = numeric_terms(runs.work, runs.compute_bits, runs.gpu_count)
    matrix = [np.broadcast_to(value, log_mfu.shape) for value in values.values()]
    names = list(values)
    for category in category_terms(runs.gpu, runs.architecture, runs.compute_bits):
        for name in np.unique(category[usable]):
            matrix.append((category == name).astype(float))
            names.append(str(name))
    labels = {name: np.array(columns[name])[usable] for name in ("model", "gpu", "source")}
    labels["source"] = np.array([source.split()[0] for source in labels["source"]])
    labels["vendor"] = runs.vendor[usable]
    return log_mfu[usable], np.array(matrix).T[usable], names, labels


def fit_terms(matrix: np.ndarray, log_mfu: np.ndarray) -> np.ndarray:
    """One coefficient per column of the matrix; the first, the intercept, is free."""
    pull = np.diag([0.0] + [PULL_TO_MEAN] * (matrix.shape[1] - 1))
    weights = np.ones(len(log_mfu))
    for _ in range(ROUNDS):
        weighted = matrix * weights[:, None]
        terms = np.linalg.lstsq(matrix.T @ weighted + pull, weighted.T @ log_mfu, rcond=None)[0]
        weights = 1 / np.sqrt(1 + ((log_mfu - matrix @ terms) / SOFT_FROM_LOG) ** 2)
    return terms


def held_out_log_errors(matrix: np.ndarray, log_mfu: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """log(measured / predicted) of every run by terms that saw no run of its group."""
    errors = np.full(len(log_mfu), np.nan)
    for group in np.unique(groups):
        held = groups == group
        errors[held] = log_mfu[held] - matrix[held] @ fit_terms(matrix[~held], log_mfu[~held])
    return errors


def shown_sigma() -> float:
    """The band that the product shows for measured cards, as a standard deviation of the logarithm."""
    columns = read_columns(TERMS)
    return float(columns["value"][columns["term"].index("sigma_log")])


def random_folds(count: int) -> np.ndarray:
    return np.random.default_rng(RANDOM_STATE).integers(0, FOLDS, count)


def main():
    log_mfu, matrix, names, labels = read_measured()
    sigma = sigma_of(held_out_log_errors(matrix, log_mfu, random_folds(len(log_mfu))))
    new_card = sigma_of(held_out_log_errors(matrix, log_mfu, labels["gpu"]))
    rows = list(zip(names, fit_terms(matrix, log_mfu), matrix.min(axis=0), matrix.max(axis=0)))
    rows += [("sigma_log", sigma, sigma, sigma), ("sigma_log_new_card", new_card, new_card, new_card)]
    with open(TERMS, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("term", "value", "lowest", "highest", "source", "as_of"))
        for name, *values in rows:
            writer.writerow((name, *(f"{value:.4g}" for value in values), SOURCE, AS_OF))


if __name__ == "__main__":
    main()
