"""The dynamic cost formula of the second article, as published.

A policy penalty on poor utilisation, not a bill: a bill already pays for idle hours, so the two are never added.
"""

from functools import cache

import numpy as np

from gpudash.errors import GpudashError
from gpudash.tables import DATA, read_yaml

# Steps are counted to this many decimals, so that 60 % - 50 % is one full step in binary numbers too.
_STEP_DECIMALS = 9


@cache
def published() -> dict:
    """The formula's parameters, their source and the limits of its inputs."""
    return read_yaml(DATA / "published" / "dynamic_cost.yaml")


def coefficient(utilisation_fraction, stepped: bool = False):
    """Utilisation coefficient: 1 from 60 % on, else 1 + 0.15 per 10 points below it.

    Linear between the steps, or only full steps if `stepped`. Source: data/published/dynamic_cost.yaml.
    """
    utilisation = _within("utilisation_fraction", utilisation_fraction)
    steps = np.maximum(0, (_parameter("threshold_utilisation_fraction") - utilisation) / _parameter("step_fraction"))
    if stepped:
        steps = np.floor(np.round(steps, _STEP_DECIMALS))
    return (1 + _parameter("penalty_fraction_per_step") * steps)[()]


def useful_hour_cost_factor(utilisation_fraction):
    """How much more a useful hour costs than at the formula's threshold, if every hour is paid: 60 % / utilisation.

    Infinite at no use; 1 from the threshold on, as in the formula. This is what `coefficient` stands in for.
    """
    utilisation = _within("utilisation_fraction", utilisation_fraction)
    with np.errstate(divide="ignore"):
        return np.maximum(1.0, _parameter("threshold_utilisation_fraction") / utilisation)[()]


def dynamic_cost(
    base, reserved_discount_fraction, burst, region_premium_fraction, utilisation_fraction, *, stepped: bool = False
) -> dict:
    """`coefficient` and `total` of the published formula, in the currency of `base` and `burst`.

    total = (base x (1 - reserved discount) + burst x 0.8) x (1 + region premium) x coefficient. The discount is the
    share taken off the base. Raises `formula.out_of_range`.
    """
    base = _within("base", base)
    burst = _within("burst", burst)
    paid = 1 - _within("reserved_discount_fraction", reserved_discount_fraction)
    region = 1 + _within("region_premium_fraction", region_premium_fraction)
    penalty = coefficient(utilisation_fraction, stepped)
    total = (base * paid + burst * _parameter("burst_multiplier")) * region * penalty
    return {"coefficient": penalty, "total": total[()]}


def _parameter(name: str) -> float:
    return published()["parameters"][name]["value"]


def _within(name: str, value) -> np.ndarray:
    limits = published()["allowed"][name]
    values = np.asarray(value, dtype=float)
    outside = ~((values >= limits["low"]) & (values <= limits["high"]))
    if outside.any():
        wrong = float(values[outside].flat[0])
        raise GpudashError("formula.out_of_range", name=name, value=wrong, low=limits["low"], high=limits["high"])
    return values
