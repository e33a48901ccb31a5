"""The published cost formula at its edges: both readings of the steps, arrays, and what it refuses."""

import math

import numpy as np
import pytest

from gpudash.errors import GpudashError
from gpudash.formula import coefficient, dynamic_cost

INPUTS = {
    "base": 100,
    "reserved_discount_fraction": 0.3,
    "burst": 50,
    "region_premium_fraction": 0.1,
    "utilisation_fraction": 0.45,
}


@pytest.mark.parametrize(
    ("utilisation", "linear", "stepped"),
    [
        (1.0, 1.0, 1.0),
        (0.60, 1.0, 1.0),
        (0.59, 1.015, 1.0),
        (0.50, 1.15, 1.15),
        (0.45, 1.225, 1.15),
        (0.40, 1.30, 1.30),
        (0.30, 1.45, 1.45),
        (0.10, 1.75, 1.75),
        (0.0, 1.9, 1.9),
    ],
)
def test_the_coefficient_rises_by_fifteen_hundredths_per_ten_points(utilisation, linear, stepped):
    assert coefficient(utilisation) == pytest.approx(linear)
    assert coefficient(utilisation, stepped=True) == pytest.approx(stepped)


def test_an_array_gives_the_same_as_its_numbers():
    utilisation = np.linspace(0, 1, 21)
    together = dynamic_cost(**INPUTS | {"utilisation_fraction": utilisation})
    one_by_one = [dynamic_cost(**INPUTS | {"utilisation_fraction": share})["total"] for share in utilisation]
    assert list(together["total"]) == one_by_one


@pytest.mark.parametrize(
    "change",
    [
        {"utilisation_fraction": 45},
        {"utilisation_fraction": -0.01},
        {"utilisation_fraction": math.nan},
        {"reserved_discount_fraction": 1.01},
        {"reserved_discount_fraction": 30},
        {"region_premium_fraction": -1.5},
        {"region_premium_fraction": 10},
        {"base": -1},
        {"burst": math.inf},
    ],
)
def test_an_input_out_of_range_is_refused_with_its_name_and_range(change):
    with pytest.raises(GpudashError, match="it must be from") as error:
        dynamic_cost(**INPUTS | change)
    assert next(iter(change)) in str(error.value)
