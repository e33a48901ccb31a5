"""Demand: how many whole servers are needed in each hour of the week and each month.

One server's capacity differs by GPU and layout, so everything here takes one value or one per server shape.
"""

from dataclasses import dataclass

import numpy as np

from gpudash.errors import GpudashError
from gpudash.units import HOURS_PER_DAY, HOURS_PER_MONTH, HOURS_PER_WEEK, MINUTES_PER_HOUR

_ROUNDING = 1e-9  # a load equal to a whole number of servers must not be rounded up by floating point


@dataclass(frozen=True)
class Load:
    """What is asked of the service: requests per second in each hour of the week, month by month.

    `requests_per_s` has one row per distinct month; `month_row[m]` is the row of month m (one row serves all months
    when nothing grows).
    """

    requests_per_s: np.ndarray  # [distinct months, 168]
    month_row: np.ndarray  # [months]


def weekly_shape(traffic, shapes) -> np.ndarray:
    """The 168 hourly shares of the peak, Monday 00:00 local time first: the user's own or a named one.

    A shape recorded in UTC is moved by the scenario's offset.
    Raises `demand.unknown_shape`.
    """
    if traffic.hourly_shape:
        return np.array(traffic.hourly_shape) / max(traffic.hourly_shape)
    if traffic.shape not in shapes:
        raise GpudashError("demand.unknown_shape", shape=traffic.shape, known=", ".join(shapes))
    shape = shapes[traffic.shape]
    hours = shape.fraction_of_peak
    return np.roll(hours, traffic.utc_offset_hours) if shape.time_zone == "utc" else hours


def requests_load(traffic, shapes, horizon_months: int) -> Load:
    """Requests per second over the week and the horizon: peak × burst × (1 + growth)^month × shape."""
    peak = traffic.peak_requests_per_s * traffic.burst_factor * weekly_shape(traffic, shapes)
    if traffic.growth_fraction_per_month == 0:
        return Load(peak[None, :], np.zeros(horizon_months, dtype=int))
    growth = (1 + traffic.growth_fraction_per_month) ** np.arange(horizon_months)
    return Load(growth[:, None] * peak, np.arange(horizon_months))


def provisioned_requests_per_s(load_requests_per_s, delay_minutes: float, follows_demand: bool) -> np.ndarray:
    """The load that running servers must cover, when a new server takes `delay_minutes` to start.

    During the last `delay` of an hour the servers of the next hour must already be starting, so an hour before a rise
    carries that share of the rise; whole hours of delay carry the next hours in full. The week wraps around. Without
    autoscaling the week's highest hour holds all week.
    """
    if not follows_demand:
        return np.broadcast_to(load_requests_per_s.max(axis=-1, keepdims=True), load_requests_per_s.shape)
    whole_hours, minutes = divmod(delay_minutes, MINUTES_PER_HOUR)
    covered = load_requests_per_s
    for ahead in range(1, int(whole_hours) + 1):
        covered = np.maximum(covered, np.roll(load_requests_per_s, -ahead, axis=-1))
    rise = np.roll(covered, -1, axis=-1) - covered
    return covered + np.maximum(rise, 0) * minutes / MINUTES_PER_HOUR


def inference_servers(
    traffic,
    load: Load,
    capacity_requests_per_s,
    replicas_per_server,
    *,
    served_elsewhere_requests_per_s=0.0,
    replicas_elsewhere=0,
) -> np.ndarray:
    """Whole servers needed, [..., distinct months, 168] for one capacity or one per server shape [...].

    ceil(load / (capacity × target utilisation)), at least the minimum replicas; an hour without any load needs none
    when scaling to zero is allowed. What is served elsewhere (one number or one per distinct month, at the target
    utilisation) takes the lowest part of the load, and its replicas count towards the minimum.
    """
    delay_minutes = traffic.scaling_delay_minutes + traffic.cold_start_minutes
    covered = provisioned_requests_per_s(load.requests_per_s, delay_minutes, traffic.follows_demand)
    above = covered - np.asarray(served_elsewhere_requests_per_s)[..., None]
    left = np.where(above > covered * _ROUNDING, above, 0)
    capacity = np.asarray(capacity_requests_per_s, dtype=float)[..., None, None] * traffic.target_utilisation_fraction
    servers = np.ceil(left / capacity * (1 - _ROUNDING))
    missing = np.maximum(traffic.minimum_replicas - np.asarray(replicas_elsewhere), 0)[..., None]
    least = np.ceil(missing / np.asarray(replicas_per_server, dtype=float)[..., None, None])
    if traffic.scale_to_zero:
        least = np.where(covered > 0, least, 0)
    return np.maximum(servers, np.maximum(least, 0)).astype(np.int64)


def run_hours_per_month(run_hours: float, runs: int, horizon_months: int) -> np.ndarray:
    """Hours in each month during which training runs occupy their servers; runs start evenly spread over the horizon.

    [months]; a run longer than the space between two starts is the caller's mistake (the deadline forbids it).
    """
    starts = np.arange(runs) * (horizon_months * HOURS_PER_MONTH / runs)
    months = np.arange(horizon_months)[:, None] * HOURS_PER_MONTH
    overlap = np.minimum(starts + run_hours, months + HOURS_PER_MONTH) - np.maximum(starts, months)
    return np.minimum(np.maximum(overlap, 0).sum(axis=1), HOURS_PER_MONTH)


def longest_run_hours(deadline_days: float | None, runs: int, horizon_months: int) -> float:
    """Time one run may take: its deadline, and never longer than until the next run starts or the horizon ends."""
    spacing_hours = horizon_months * HOURS_PER_MONTH / runs
    return spacing_hours if deadline_days is None else min(deadline_days * HOURS_PER_DAY, spacing_hours)


def firm_servers(servers, spot_fraction: float) -> np.ndarray:
    """The part of the servers that may not run on spot, rounded up to whole servers."""
    return np.ceil(servers * (1 - spot_fraction) * (1 - _ROUNDING)).astype(np.int64)


def peak_to_mean(shape: np.ndarray) -> float:
    """How much the busiest hour of the week exceeds the mean one."""
    return float(shape.max() / shape.mean()) if len(shape) == HOURS_PER_WEEK else 1.0
