"""The scoring methods against scikit-criteria, where that package is installed (requirements-compare.txt)."""

import numpy as np
import pytest

from gpudash.scores import minmax, ranks, ratio, topsis

skcriteria = pytest.importorskip("skcriteria", reason="scikit-criteria is for this comparison only")


def problem(seed: int):
    random = np.random.default_rng(seed)
    options, criteria = random.integers(3, 12), random.integers(2, 7)
    matrix = random.uniform(1, 100, (options, criteria))
    objectives = random.choice(["min", "max"], criteria)
    weights = random.dirichlet(np.ones(criteria))
    asked = skcriteria.mkdm(matrix, [{"min": min, "max": max}[objective] for objective in objectives], weights=weights)
    return matrix, objectives, weights, asked


@pytest.mark.parametrize("seed", range(50))
def test_topsis_agrees(seed):
    from skcriteria.agg.topsis import TOPSIS
    from skcriteria.pipeline import mkpipe
    from skcriteria.preprocessing.scalers import VectorScaler

    matrix, objectives, weights, asked = problem(seed)
    theirs = mkpipe(VectorScaler(target="matrix"), TOPSIS()).evaluate(asked)
    ours = topsis(matrix, objectives, weights)
    assert ours == pytest.approx(theirs.e_.similarity, rel=1e-9)
    assert ranks(ours).tolist() == theirs.rank_.tolist()


@pytest.mark.parametrize("seed", range(50))
def test_ratio_to_best_agrees_with_inverted_and_max_scaled_sums(seed):
    from skcriteria.agg.simple import WeightedSumModel
    from skcriteria.pipeline import mkpipe
    from skcriteria.preprocessing.invert_objectives import InvertMinimize
    from skcriteria.preprocessing.scalers import MaxAbsScaler

    matrix, objectives, weights, asked = problem(seed)
    theirs = mkpipe(InvertMinimize(), MaxAbsScaler(target="matrix"), WeightedSumModel()).evaluate(asked)
    assert ratio(matrix, objectives, weights) == pytest.approx(theirs.e_.score, rel=1e-9)


@pytest.mark.parametrize("seed", range(50))
def test_min_max_agrees(seed):
    from skcriteria.agg.simple import WeightedSumModel
    from skcriteria.pipeline import mkpipe
    from skcriteria.preprocessing.invert_objectives import NegateMinimize
    from skcriteria.preprocessing.scalers import MinMaxScaler

    matrix, objectives, weights, asked = problem(seed)
    theirs = mkpipe(NegateMinimize(), MinMaxScaler(target="matrix"), WeightedSumModel()).evaluate(asked)
    assert minmax(matrix, objectives, weights) == pytest.approx(theirs.e_.score, rel=1e-9)
