"""What a provider's support plan costs."""

import numpy as np

from gpudash.assumptions import Known


def support_usd_per_month(known: Known, provider: str, spend_usd_per_month):
    """Fee of the chosen support plan: the larger of its minimum and its share of the spend; 0 where it is not sold."""
    minimum_usd_per_month, share_fraction = support_fee(known, provider)
    if share_fraction == 0:  # not 0 x infinity where nothing can be bought
        return np.full_like(spend_usd_per_month, minimum_usd_per_month)
    return np.maximum(minimum_usd_per_month, share_fraction * spend_usd_per_month)


def support_fee(known: Known, provider: str) -> tuple[float, float]:
    """The chosen plan's minimum in USD per month and its share of the spend; both 0 where it is not sold."""
    plan = known.scenario.finance.support_plan
    found = [row for row in known.catalogue.support_plans if row.provider == provider and row.plan == plan]
    fees = (found[0].minimum_fee_usd_per_month, found[0].fee_fraction_of_spend) if found else (0.0, 0.0)
    return tuple(np.nan_to_num(fees).tolist())
