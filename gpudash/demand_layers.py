"""The servers that candidates need and when, as layers; candidates that need the same in the same hours share them."""

from functools import lru_cache

import numpy as np

from gpudash.assumptions import Known
from gpudash.demand import firm_servers, inference_servers, run_hours_per_month
from gpudash.layers import Layers, layers
from gpudash.sizing import Sized
from gpudash.units import HOURS_PER_MONTH, MONTHS_PER_YEAR


def demand_groups(known: Known, sized: Sized, shape_of: np.ndarray):
    """Layers of demand, one per distinct need of servers, and which candidate has which.

    Many shapes need the very same servers in the same hours (one, all week), so there are far fewer groups than shapes.
    """
    shapes, shape_row = np.unique(shape_of, return_inverse=True)
    if known.is_training:
        needs = [(int(sized.servers_per_run[s]), float(sized.run_hours[s])) for s in shapes]
    else:
        servers = inference_servers(
            known.scenario.traffic, known.load, sized.requests_per_s[shapes], sized.replicas_per_server[shapes]
        )
        needs = [profile.tobytes() for profile in servers]
    distinct = {need: row for row, need in enumerate(dict.fromkeys(needs))}
    group_of_shape = np.array([distinct[need] for need in needs], dtype=int)
    if known.is_training:
        groups = tuple(run_layers(known, count, hours) for count, hours in distinct)
        peak = last = np.array([count for count, _ in distinct], dtype=int)
    else:
        first = [needs.index(need) for need in distinct]
        groups = tuple(service_layers(known, servers[row]) for row in first)
        peak = np.array([servers[row][known.load.month_row[0]].max() for row in first], dtype=int)
        last = np.array([servers[row][known.load.month_row[-1]].max() for row in first], dtype=int)
    group_of = group_of_shape[shape_row]
    return groups, group_of, peak[group_of] if len(peak) else peak, last[group_of] if len(last) else last


def needed_hours(known: Known, sized: Sized, shape_of: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Server-hours over the horizon, and the servers at the peak of the first and the last month, per shape."""
    if known.is_training:
        servers, months = sized.servers_per_run[shape_of], known.scenario.purchase.horizon_months
        hours = [
            run_hours_per_month(float(sized.run_hours[shape]), known.scenario.traffic.runs, months).sum()
            for shape in shape_of
        ]
        return servers * np.array(hours, dtype=float), servers, servers
    servers = inference_servers(
        known.scenario.traffic, known.load, sized.requests_per_s[shape_of], sized.replicas_per_server[shape_of]
    )
    month_row = known.load.month_row
    hours = servers.mean(axis=2)[:, month_row].sum(axis=1) * HOURS_PER_MONTH
    peak = servers.max(axis=2)
    return hours, peak[:, month_row[0]], peak[:, month_row[-1]]


def service_layers(known: Known, servers: np.ndarray, month_row: np.ndarray | None = None) -> Layers:
    """Servers per distinct month (the load's, unless `month_row` says otherwise) and hour of the week as layers."""
    rows = known.load.month_row if month_row is None else month_row
    return kept_layers(servers.tobytes(), servers.shape, tuple(rows.tolist()), known.scenario.purchase.spot_fraction)


@lru_cache(maxsize=256)
def kept_layers(profile: bytes, shape: tuple[int, int], month_row: tuple[int, ...], spot_fraction: float) -> Layers:
    """Layers of a profile in bytes.

    Kept, because questions that differ a little (another price, a bit more traffic) need mostly the same servers.
    """
    months = np.frombuffer(profile, dtype=np.int64).reshape(shape)[list(month_row)]
    return layers(months, firm_servers(months, spot_fraction) if spot_fraction else None)


def run_layers(known: Known, servers: int, run_hours: float) -> Layers:
    """Training: all servers of a run are needed in the same hours of each month."""
    purchase = known.scenario.purchase
    hours = run_hours_per_month(run_hours, known.scenario.traffic.runs, purchase.horizon_months)
    months = np.arange(purchase.horizon_months)
    return Layers(
        servers=np.array([servers]),
        hours=hours[:, None],
        firm_hours=hours[:, None] * (1 - purchase.spot_fraction),
        repeats=np.ones(len(months), dtype=int),
        year=months // MONTHS_PER_YEAR,
        periods_per_year=MONTHS_PER_YEAR,
    )
