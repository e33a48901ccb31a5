"""The triangle of weights: which candidate is first for every share-out of the weight among three dimensions."""

from dataclasses import dataclass

import numpy as np

from gpudash.result import FrameworkRanking
from gpudash.scores import EQUAL

SIDES = 3


@dataclass(frozen=True)
class Region:
    """Where one candidate (row of the table) is first: the corners of a polygon, each as three shares adding to 1."""

    row: int
    corners: np.ndarray


@dataclass(frozen=True)
class Triangle:
    """`dimensions` (or criteria, where there are too few) share `shared_fraction` of all weight; the rest stays.

    `now` are the present three shares, adding to 1. The regions fill the triangle.
    """

    dimensions: tuple[str, str, str]
    are_criteria: bool
    shared_fraction: float
    now: np.ndarray
    regions: tuple[Region, ...]


def weight_triangle(ranking: FrameworkRanking) -> Triangle | None:
    """The triangle of the three heaviest dimensions; within each of them the criteria keep their ratio.

    Exact: a score is linear in the three shares, so the first places are the upper envelope of planes. None where
    there are fewer than three criteria, or nobody to rank.
    """
    weights = np.array([criterion["weight"] for criterion in ranking.criteria])
    names = [criterion["dimension"] for criterion in ranking.criteria]
    are_criteria = len(set(names)) < SIDES
    if are_criteria:
        names = [criterion["key"] for criterion in ranking.criteria]
    groups = list(dict.fromkeys(names))
    if len(groups) < SIDES or not ranking.table.eligible:
        return None
    members = np.array([[name == group for name in names] for group in groups])
    totals = members @ weights
    heaviest = np.sort(np.argsort(-totals, kind="stable")[:SIDES])
    shared = float(totals[heaviest].sum())
    utilities = ranking.table.utilities[: ranking.table.eligible]
    inside = np.where(totals[:, None] > 0, members * weights, members)  # a dimension without weight: equal parts
    corners = inside[heaviest] / inside[heaviest].sum(axis=1, keepdims=True)
    rest = np.where(members[heaviest].any(axis=0), 0.0, weights)
    return Triangle(
        dimensions=tuple(groups[row] for row in heaviest),
        are_criteria=are_criteria,
        shared_fraction=shared,
        now=totals[heaviest] / shared,
        regions=tuple(_regions(utilities @ (shared * corners + rest).T)),
    )


def _regions(scores: np.ndarray) -> list[Region]:
    """Who is first where, from everybody's score at the three corners.

    Candidates join until nobody beats those already in at any corner of their regions: the scores are planes, so nobody
    does in between.
    """
    first = list(dict.fromkeys(scores.argmax(axis=0).tolist()))
    while True:
        polygons = {row: _cut(scores[row] - scores[[other for other in first if other != row]]) for row in first}
        polygons = {row: polygon for row, polygon in polygons.items() if len(polygon) >= SIDES}
        corners = np.vstack(list(polygons.values()))
        reached = scores @ corners.T
        best = reached[list(polygons)].max(axis=0)
        ahead = set(reached.argmax(axis=0)[reached.max(axis=0) > best + EQUAL].tolist()) - set(first)
        if not ahead:
            return [Region(row, polygon) for row, polygon in polygons.items()]
        first += sorted(ahead)


def _cut(leads: np.ndarray) -> np.ndarray:
    """The corners of the part of the triangle in which all leads (linear, given at the corners) are at least 0."""
    polygon = np.eye(SIDES)
    for lead in leads:
        here = polygon @ lead
        kept = []
        for start, end, at_start, at_end in zip(polygon, np.roll(polygon, -1, axis=0), here, np.roll(here, -1)):
            if at_start >= 0:
                kept.append(start)
            if (at_start > EQUAL and at_end < -EQUAL) or (at_start < -EQUAL and at_end > EQUAL):
                kept.append(start + (end - start) * at_start / (at_start - at_end))
        polygon = np.array(kept)
        if len(polygon) < SIDES:
            break
    return polygon
