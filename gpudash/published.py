"""The small sums behind the articles' headline savings, each with the assumption that makes it come out visible."""

from gpudash.units import HOURS_PER_DAY


def price_performance_index(score, price_per_hour):
    """Score per unit of money: score / price, in whatever currency the price is. Source: article 000, section 2."""
    return score / price_per_hour


def saving_fraction(before_usd, after_usd):
    """Share of a bill that is saved: 1 - after / before."""
    return 1 - after_usd / before_usd


def paid_fraction(reserved_share_fraction, reserved_pays_fraction, spot_share_fraction, spot_pays_fraction):
    """Share of list that a mix of reserved and spot capacity pays: sum of share x share paid.

    `..._pays_fraction` is the share paid, not the share taken off; assumes every reserved hour used and no spot rework.
    Source: article 004, best practice 2.
    """
    return reserved_share_fraction * reserved_pays_fraction + spot_share_fraction * spot_pays_fraction


def slice_cost_fraction(slices, occupancy_fraction, relative_speed_fraction):
    """Cost of a job on a slice against the whole card: 1 / (slices x occupancy) / relative speed.

    Needs a card that can be sliced (MIG). Source: article 000, plan 1.
    """
    return 1 / (slices * occupancy_fraction) / relative_speed_fraction


def hours_billed_per_day(usd_per_day_round_the_clock, usd_per_day):
    """Hours a day that run at an unchanged hourly rate if the day's bill falls: 24 x after / before.

    Source: article 004, section 4.1 (per-second billing).
    """
    return HOURS_PER_DAY * usd_per_day / usd_per_day_round_the_clock
