"""How many own servers are worth having: the same decision with one, two ... up to as many as the peak needs."""

from dataclasses import dataclass, replace

import numpy as np

from gpudash.assumptions import assume
from gpudash.catalogue import Catalogue
from gpudash.evaluate import evaluate, solve
from gpudash.owned import Owned, owned
from gpudash.scenario import Scenario, bounds

MOST_COUNTS = 16  # numbers of servers priced; all of them up to here, then evenly spread
_COUNT = "finance.owned_servers"


@dataclass(frozen=True)
class OwnedCounts:
    """Own servers by their number, and the cheapest of them; `best` is None where the cloud alone is cheapest."""

    fleets: tuple[Owned, ...]
    best: Owned | None


def owned_counts(scenario: Scenario, catalogue: Catalogue) -> OwnedCounts | None:
    """Own servers of the scenario's kind in rising numbers beside the recommended offer (or the cheapest that works).

    None where nothing is feasible. Where own servers cannot do this work, the only fleet says why. Raises what
    `evaluate` raises.
    """
    result = evaluate(scenario.with_value(_COUNT, 0), catalogue)
    choice = result.leading
    if choice is None:
        return None
    solved = solve(assume(scenario, catalogue))
    candidate = solved.candidate_of(choice.id)

    def fleet(servers: int) -> Owned:
        known = replace(solved.known, scenario=scenario.with_value(_COUNT, servers))
        return owned(replace(solved, known=known), candidate, choice, result.leading_bill)

    most = _enough(fleet)
    counts = np.unique(np.rint(np.linspace(1, most, min(most, MOST_COUNTS))).astype(int))
    fleets = tuple(fleet(int(count)) for count in counts)
    saving = [one for one in fleets if one.because is None and one.saving_usd > 0]
    return OwnedCounts(fleets, max(saving, key=lambda one: one.saving_usd, default=None))


def _enough(fleet) -> int:
    """The fewest own servers that leave nothing to the cloud; 1 where no number of them does."""
    limit = int(bounds(_COUNT)[1])
    if fleet(limit).because is not None:
        return 1
    low, high = 0, 1
    while high < limit and not _serves_all(fleet(high)):
        low, high = high, min(high * 2, limit)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _serves_all(fleet(middle)) else (middle, high)
    return high


def _serves_all(one: Owned) -> bool:
    return one.because is None and one.cloud_servers == 0
