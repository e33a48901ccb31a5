"""The purchase mix as a mixed-integer program for HiGHS: what the closed form must equal, and is timed against."""

import math

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_array

from gpudash.units import HOURS_PER_YEAR


def highs_usd(demand, firm, periods_per_year, prices, cap=None, resale_fraction=0.0, in_money=False):
    """The optimum by mixed-integer programming: counts of commitments, hourly on-demand and spot servers.

    HiGHS answers within its own tolerances, so the whole counts it chose are priced again exactly. `in_money`: the
    1-year commitment is one in money, any part of a server's rate; then the answer is HiGHS' own.
    """
    periods, slots = demand.shape
    years = -(-periods // periods_per_year)
    year = np.arange(periods) // periods_per_year
    period_hours = HOURS_PER_YEAR / periods_per_year
    slot_hours = period_hours / slots
    cost, top, covers, whole = [], [], [], []  # of the commitments: price of the term, most servers, periods covered
    for name, term_hours, parts in (
        ("reserved_3y", 3 * HOURS_PER_YEAR, [np.arange(periods)]),
        ("reserved_1y", HOURS_PER_YEAR, [np.flatnonzero(year == y) for y in range(years)]),
        ("monthly", period_hours, [[p] for p in range(periods)]),
    ):
        rate = prices.get(f"{name}_usd_per_hour", math.nan)
        for part in parts if not math.isnan(rate) else []:
            beyond_hours = term_hours - len(part) * period_hours
            cost.append(rate * (term_hours - resale_fraction * beyond_hours))
            top.append(demand.max())
            whole.append(not (in_money and name == "reserved_1y"))
            covers.append(part)
    commitments, cells = len(cost), periods * slots
    spot, on_demand = prices["spot_usd_per_hour"], prices["on_demand_usd_per_hour"]
    for rate, most in ((on_demand, demand), (spot, demand - firm)):
        cost += [0.0 if math.isnan(rate) else rate * slot_hours] * cells
        top += list((np.zeros_like(most) if math.isnan(rate) else most).ravel())
    rows = lil_array((2 * cells + periods, len(cost)))
    for column, part in enumerate(covers):
        for period in part:
            rows[period * slots : (period + 1) * slots, column] = 1  # serves demand
            rows[cells + period * slots : cells + (period + 1) * slots, column] = 1  # serves firm demand
            rows[2 * cells + period, column] = 1
    for cell in range(cells):
        rows[cell, commitments + cell] = rows[cell, commitments + cells + cell] = 1
        rows[cells + cell, commitments + cell] = 1
    low = np.concatenate([demand.ravel(), firm.ravel(), np.zeros(periods)])
    high = np.full(len(low), np.inf)
    high[2 * cells :] = np.inf if cap is None else cap
    answer = milp(
        cost,
        integrality=np.array(whole + [False] * (len(cost) - commitments)),
        bounds=Bounds(0, np.array(top, dtype=float)),
        constraints=LinearConstraint(rows.tocsr(), low, high),
        options={"mip_rel_gap": 0},
    )
    assert answer.success, answer.message
    if in_money:
        return answer.fun
    counts = np.rint(answer.x[:commitments])
    committed = np.zeros(periods)
    for count, part in zip(counts, covers):
        committed[part] += count
    left = np.maximum(demand - committed[:, None], 0)
    firm_left = np.maximum(firm - committed[:, None], 0)
    assert not (math.isnan(on_demand) and firm_left.any())
    flexible = np.fmin(on_demand, spot)
    hourly = np.nan_to_num(on_demand) * firm_left + np.nan_to_num(flexible) * (left - firm_left)
    return counts @ np.array(cost[:commitments]) + slot_hours * hourly.sum()
