"""What the weights in a lower precision would save or make possible: offered, never chosen unasked."""

from dataclasses import dataclass, replace

import numpy as np

from gpudash.assumptions import Known, assume
from gpudash.evaluate import Fitted, Solved, chosen_scores, fit, limit
from gpudash.model import load_precision
from gpudash.recommendation import order
from gpudash.result import Choice, Result
from gpudash.tables import sourced_values
from gpudash.tco import least_costs, total_costs

PRICED_FIRST = 12  # candidates priced in full before it is known who else could be the cheapest


@dataclass(frozen=True)
class LowerPrecision:
    """The cheapest choice in a lower weight precision, and what it saves."""

    weight_precision: str
    choice: Choice
    saving_usd_per_month: float | None  # None: nothing works in the published precision


def lower_precision(result: Result) -> tuple[LowerPrecision, ...]:
    """The cheapest allowed candidate in each lower weight precision, when serving, beside the answer of `result`.

    Not a part of `evaluate`, which it would take half as long again: asked for by whoever shows it.
    """
    known, winner = assume(result.scenario, result.catalogue), result.recommendation
    bits = load_precision(known.weight_precision).bits
    names = sourced_values("sizing_parameters").get(f"lower_precisions_of_{bits:g}_bit", ())
    if known.is_training or known.counts_samples:
        return ()
    found = []
    for name in names:
        choice = _cheapest_choice(replace(known, weight_precision=name))
        saving = None if winner is None or choice is None else winner.monthly_usd - choice.monthly_usd
        if choice is not None and (saving is None or saving > 0):
            found.append(LowerPrecision(name, choice, saving))
    return tuple(found)


def _cheapest_choice(known: Known) -> Choice | None:
    """The cheapest candidate within the budget.

    Candidates are priced in full in the order of what they cost at least, until nobody left can be cheaper.
    """
    fitted = fit(known)
    rows = np.flatnonzero(fitted.gates.alive)
    least_usd = least_costs(known, fitted.shapes, fitted.sized, rows).tco_usd
    likely = np.argsort(least_usd, kind="stable")[:PRICED_FIRST]
    solved = _priced(known, fitted, rows[likely])
    best_usd = np.where(solved.allowed, solved.costs.tco_usd, np.inf).min(initial=np.inf)
    possible = least_usd <= best_usd
    if possible.sum() > len(likely):
        solved = _priced(known, fitted, rows[possible])
    costs = solved.costs
    if not solved.allowed.any():
        return None
    scores = chosen_scores(solved)
    best = int(np.where(solved.allowed, costs.tco_usd, np.inf).argmin())
    return solved.chooser(scores, order(solved, scores))(best)


def _priced(known: Known, fitted: Fitted, rows: np.ndarray) -> Solved:
    """These candidates priced in full."""
    return limit(known, fitted, total_costs(known, fitted.shapes, fitted.sized, rows))
