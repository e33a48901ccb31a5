"""Spot servers: how much work is done again because they are taken back, and when that makes them dearer."""

import numpy as np

from gpudash.errors import GpudashError
from gpudash.units import HOURS_PER_MONTH, MINUTES_PER_HOUR


def mean_time_between_interruptions_h(interruption_fraction_per_month):
    """Hours between interruptions of one server, if a given share of servers is interrupted within a month.

    -730 / ln(1 - share), for interruptions that strike independently of age; infinite at 0. Share: 0 to below 1.
    """
    share = np.asarray(interruption_fraction_per_month, dtype=float)
    if ((share < 0) | (share >= 1)).any():
        raise GpudashError("mix.interruption_fraction")
    with np.errstate(divide="ignore"):
        return -HOURS_PER_MONTH / np.log1p(-share) + 0.0


def spot_rework_fraction(mean_time_between_interruptions_h, checkpoint_minutes, restart_minutes):
    """Extra spot hours per useful hour, with checkpoints at the interval that costs least.

    C / interval + interval / (2 M) + R / M at interval = sqrt(2 C M), which is sqrt(2 C / M) + R / M.
    M: mean time between interruptions (infinite: never); C: one checkpoint; R: one restart. Source: Young, A first
    order approximation to the optimum checkpoint interval, CACM 1974; an approximation that holds for C well below M.
    """
    per_hour = 1 / np.asarray(mean_time_between_interruptions_h, dtype=float)
    checkpoint_h, restart_h = (
        np.asarray(minutes, dtype=float) / MINUTES_PER_HOUR for minutes in (checkpoint_minutes, restart_minutes)
    )
    return np.sqrt(2 * checkpoint_h * per_hour) + restart_h * per_hour


def break_even_interruption_h(spot_usd_per_hour, on_demand_usd_per_hour, checkpoint_minutes, restart_minutes):
    """Mean time between interruptions (hours) at which spot with its rework costs as much as on-demand.

    Solves sqrt(2 C / M) + R / M = on_demand / spot - 1 for M. Infinite where spot is not cheaper to begin with;
    0 where interruptions cost nothing. `spot_usd_per_hour` is the price before rework.
    """
    margin = np.asarray(on_demand_usd_per_hour, dtype=float) / np.asarray(spot_usd_per_hour, dtype=float) - 1
    checkpoint_h, restart_h = (
        np.asarray(minutes, dtype=float) / MINUTES_PER_HOUR for minutes in (checkpoint_minutes, restart_minutes)
    )
    # The root of R x^2 + sqrt(2C) x = margin with x = 1 / sqrt(M), written so that R = 0 needs no case of its own.
    half = np.sqrt(2 * checkpoint_h)
    with np.errstate(divide="ignore", invalid="ignore"):
        root_m = (half + np.sqrt(2 * checkpoint_h + 4 * restart_h * np.maximum(margin, 0))) / (2 * margin)
        return np.where(margin > 0, root_m**2, np.inf)[()]
