"""Scoring frameworks: which criteria count how much, and all candidates scored in one of them.

The frameworks are data (data/frameworks.yaml): the two published ones and ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from gpudash.errors import GpudashError
from gpudash.result import Message, Usd
from gpudash.scores import normalised, ranks, ratio_utilities
from gpudash.tables import DATA, read_yaml


@dataclass(frozen=True)
class Criterion:
    """One line of a framework; `fact` is the candidates' column, `missing` is neutral, worst or refuse."""

    key: str
    dimension: str
    objective: str
    weight: float
    fact: str
    unit: str
    missing: str
    source: str
    ours: bool = False

    @property
    def name(self) -> str:
        """The text key of its name."""
        return f"scores.criterion_{self.key}"

    @property
    def dimension_name(self) -> str:
        """The text key of its dimension's name."""
        return f"scores.dimension_{self.dimension}"


@dataclass(frozen=True)
class Framework:
    """Criteria with weights in points; `dimensions` are the published sums."""

    key: str
    source: str
    as_of: str
    dimensions: Mapping[str, float]
    criteria: tuple[Criterion, ...]

    @property
    def name(self) -> str:
        """The text key of its name."""
        return f"scores.framework_{self.key}"


OURS = "gpudash"


@cache
def _file() -> dict:
    return read_yaml(DATA / "frameworks.yaml")


def framework_names() -> tuple[str, ...]:
    """The frameworks of data/frameworks.yaml, published ones first."""
    return tuple(_file()["frameworks"])


@cache
def load_framework(name: str) -> Framework:
    """A framework by name; an unknown name is refused with the known ones."""
    if name not in framework_names():
        raise GpudashError("scores.error_framework", name=str(name), allowed=", ".join(framework_names()))
    row = _file()["frameworks"][name]
    criteria = tuple(Criterion(key=key, **_file()["criteria"][key], **place) for key, place in row["criteria"].items())
    return Framework(name, row["source"], str(row["as_of"]), row["dimensions"], criteria)


def sla_level(sla_percent):
    """SLA level 1 to 5 of an availability in percent, by the limits in data/frameworks.yaml; NaN stays NaN."""
    percent = np.asarray(sla_percent, dtype=float)
    limits = list(_file()["sla_levels"]["at_least_percent"].values())
    level = np.searchsorted(limits, percent, side="right").astype(float)
    return np.where(np.isnan(percent), np.nan, level)[()]


def criterion_names() -> tuple[str, ...]:
    """All criteria of data/frameworks.yaml."""
    return tuple(_file()["criteria"])


def custom_framework(weights: Mapping[str, float]) -> Framework:
    """The user's own framework: any criteria of data/frameworks.yaml with their points; an unknown one is refused.

    Without weights it starts from ours.
    """
    known = _file()["criteria"]
    weights = weights or {criterion.key: criterion.weight for criterion in load_framework(OURS).criteria}
    unknown = next((key for key in weights if key not in known), None)
    if unknown is not None:
        raise GpudashError("scores.error_unknown_criterion", name=str(unknown), allowed=", ".join(known))
    criteria = tuple(
        Criterion(key=key, dimension="custom", weight=weight, source="entered", **known[key])
        for key, weight in weights.items()
    )
    return Framework("custom", "entered", "", {"custom": sum(weights.values())}, criteria)


def open_criteria(framework: Framework, criterion: str) -> tuple[str, ...]:
    """The criteria of a published dimension whose shares the article leaves open, if `criterion` is one of several."""
    dimension_of = {row.key: row.dimension for row in framework.criteria if row.ours}
    together = tuple(key for key, dimension in dimension_of.items() if dimension == dimension_of.get(criterion))
    return together if len(together) > 1 else ()


def rebalanced(framework: Framework, weights: Mapping[str, float], criterion: str, points: float) -> dict[str, float]:
    """The weights with one open share set to `points`; the others of its dimension keep their ratio and its sum."""
    together = open_criteria(framework, criterion)
    others = [key for key in together if key != criterion]
    total, before = sum(weights[key] for key in together), sum(weights[key] for key in others)
    rest = max(total - points, 0.0)
    moved = {key: rest * weights[key] / before if before else rest / len(others) for key in others}
    return {**weights, **moved, criterion: min(points, total)}


@dataclass(frozen=True)
class FrameworkScores:
    """Candidates scored in one framework. Tables have a row per candidate and a column per criterion.

    `values` are the facts with the unknown ones filled in, marked in `imputed`; `utilities` compare them with the best.
    `contributions` are these times `weights`, which add up to 1; they add up to `scores`.
    """

    framework: Framework
    weights: np.ndarray
    values: np.ndarray
    imputed: np.ndarray
    utilities: np.ndarray
    contributions: np.ndarray
    scores: np.ndarray
    ranks: np.ndarray
    warnings: tuple[Message, ...]

    @property
    def objectives(self) -> tuple[str, ...]:
        """`max` or `min` for each criterion."""
        return tuple(criterion.objective for criterion in self.framework.criteria)


def score_candidates(
    framework: Framework,
    columns: Mapping[str, np.ndarray],
    weights: Mapping[str, float] | None = None,
    among: np.ndarray | None = None,
) -> FrameworkScores:
    """Scores of all candidates in a framework, by ratio to the best: of those marked in `among`, or of all.

    `columns` holds one array per fact, NaN where unknown; `weights` replaces the points of the criteria it names.
    A criterion that nobody's facts are known for scores equal for all. No candidates give empty tables.
    """
    criteria = framework.criteria
    unknown = next((key for key in weights or {} if key not in {criterion.key for criterion in criteria}), None)
    if unknown is not None:
        allowed = ", ".join(criterion.key for criterion in criteria)
        raise GpudashError("scores.error_unknown_criterion", name=str(unknown), allowed=allowed)
    points = np.array([(weights or {}).get(criterion.key, criterion.weight) for criterion in criteria], dtype=float)
    shares = normalised(points)
    values = np.column_stack([np.asarray(columns[criterion.fact], dtype=float) for criterion in criteria])
    imputed = np.isnan(values)
    warnings = [
        _fill(criterion, values[:, i], imputed[:, i])
        for i, criterion in enumerate(criteria)
        if imputed[:, i].any() and shares[i] > 0
    ]
    values[:, shares == 0] = np.nan_to_num(values[:, shares == 0])  # counts for nothing, so nothing need be said
    objectives = [criterion.objective for criterion in criteria]
    utilities = ratio_utilities(values, objectives, among) if len(values) else values
    contributions = utilities * shares
    scores = contributions.sum(axis=1)
    published = sum(framework.dimensions.values())
    if abs(points.sum() - published) > 1e-9:
        warnings.append(Message.of("scores.points_renormalised", total=float(points.sum()), published=published))
    return FrameworkScores(
        framework=framework,
        weights=shares,
        values=values,
        imputed=imputed,
        utilities=utilities,
        contributions=contributions,
        scores=scores,
        ranks=ranks(scores),
        warnings=tuple(warnings),
    )


def _fill(criterion: Criterion, values: np.ndarray, missing: np.ndarray) -> Message:
    """Fills the unknown values in place by the criterion's rule and says so."""
    count = {"missing": int(missing.sum()), "candidates": len(missing)}
    if criterion.missing == "refuse":
        raise GpudashError("scores.error_fact_missing", fact=criterion.fact, **count)
    if missing.all():
        values[:] = 1.0
        return Message.of(f"scores.unknown_{criterion.key}", candidates=len(missing))
    known = values[~missing]
    worst = known.min() if criterion.objective == "max" else known.max()
    filled = worst if criterion.missing == "worst" else np.median(known)
    values[missing] = filled
    value = Usd(filled) if criterion.key.endswith("_price") else float(filled)
    return Message.of(f"scores.missing_{criterion.missing}_{criterion.key}", value=value, **count)
