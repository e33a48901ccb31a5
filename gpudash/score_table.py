"""A table of the user's own, scored: checked cell by cell, with ranks and the firmness of its winner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpudash.errors import GpudashError
from gpudash.result import Message
from gpudash.robustness import first_share, weight_intervals
from gpudash.scores import METHODS, OBJECTIVES, normalised, ranks
from gpudash.weight_change import smallest_change


@dataclass(frozen=True)
class Scores:
    """What `score` answers; one entry per option or criterion, in the order given."""

    scores: tuple[float, ...]
    ranks: tuple[int, ...]
    weight_intervals: Mapping[str, tuple[float, float]]
    first_share: Mapping[str, float]
    smallest_change: Mapping | None  # {"rival": name, "moved_fraction", "weights": {criterion: weight}}
    warnings: tuple[Message, ...]


def score(options: Sequence, criteria: Sequence[Mapping], matrix, method: str = "ratio") -> Scores:
    """Scores, ranks and the firmness of the winner for a table of the user's.

    `criteria` are mappings with `name`, `objective` ("max" or "min") and `weight`. Refused with a sentence: an unknown
    method or objective, repeated names, a table that does not match the names, a cell that is no finite number
    (a missing value must be filled in visibly by whoever asks), weights that are negative or all 0.
    Weights that do not add to 1 are divided by their sum, with a warning.
    """
    if str(method) not in METHODS:
        raise GpudashError("scores.error_method", method=str(method), allowed=", ".join(METHODS))
    options = _names(options, "options")
    names, objectives, weights = _criteria(criteria)
    values = _cells(options, names, matrix)
    shares = normalised(weights)
    scores = METHODS[method](values, objectives, shares)
    change = smallest_change(values, objectives, shares, method)
    intervals = weight_intervals(values, objectives, shares, method)
    return Scores(
        scores=tuple(scores.tolist()),
        ranks=tuple(ranks(scores).tolist()),
        weight_intervals={name: tuple(pair) for name, pair in zip(names, intervals.tolist())},
        first_share=dict(zip(options, first_share(values, objectives, method).tolist())),
        smallest_change=change
        and {
            "rival": options[change.rival],
            "moved_fraction": change.moved_fraction,
            "weights": dict(zip(names, change.weights.tolist())),
        },
        warnings=_warnings(options, criteria, values, method),
    )


def _warnings(options, criteria, values, method) -> tuple[Message, ...]:
    said = []
    total = float(sum(criterion["weight"] for criterion in criteria))
    if abs(total - 1) > 1e-9:
        said.append(Message.of("scores.weights_renormalised", total=total))
    if len(options) == 1:
        said.append(Message.of("scores.single_option", option=options[0]))
    if method == "price_performance":
        said.append(Message.of("scores.weights_ignored"))
    if method == "ratio":
        for criterion, column in zip(criteria, values.T):
            if criterion["objective"] == "min" and column.min() == 0 < column.max():
                said.append(Message.of("scores.zero_is_best", criterion=str(criterion["name"])))
    return tuple(said)


def _names(names, what: str) -> list[str]:
    names = [str(name) for name in names] if isinstance(names, (list, tuple)) else []
    if not names:
        raise GpudashError(f"scores.error_no_{what}")
    if len(set(names)) < len(names):
        raise GpudashError("scores.error_repeated", name=next(name for name in names if names.count(name) > 1))
    return names


def _criteria(criteria) -> tuple[list[str], list[str], list[float]]:
    wanted = {"name", "objective", "weight"}
    if not isinstance(criteria, (list, tuple)):
        raise GpudashError("scores.error_no_criteria")
    for position, criterion in enumerate(criteria, start=1):
        if not isinstance(criterion, Mapping) or set(criterion) != wanted:
            raise GpudashError("scores.error_criterion_keys", position=position, wanted=", ".join(sorted(wanted)))
        if criterion["objective"] not in OBJECTIVES:
            raise GpudashError("scores.error_objective", name=str(criterion["name"]), value=str(criterion["objective"]))
        if not _is_number(criterion["weight"]):
            raise GpudashError("scores.error_weight", name=str(criterion["name"]), value=str(criterion["weight"]))
    names = _names([criterion["name"] for criterion in criteria], "criteria")
    return names, [c["objective"] for c in criteria], [float(c["weight"]) for c in criteria]


def _cells(options: list[str], names: list[str], matrix) -> np.ndarray:
    rows = _length(matrix)
    if rows != len(options):
        raise GpudashError("scores.error_rows", found=rows, expected=len(options))
    for option, row in zip(options, matrix):
        if _length(row) != len(names):
            raise GpudashError("scores.error_cells", option=option, found=_length(row), expected=len(names))
        for name, cell in zip(names, row):
            if not _is_number(cell) or not np.isfinite(cell):
                raise GpudashError("scores.error_cell", option=option, criterion=name, value=str(cell))
    return np.array(matrix, dtype=float)


def _length(row) -> int:
    return len(row) if isinstance(row, (list, tuple, np.ndarray)) else 0


def _is_number(value) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
