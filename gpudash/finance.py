"""The time value of money: present value, annuity, payback; tax and stacked savings, each kept apart."""

import numpy as np

from gpudash.errors import GpudashError
from gpudash.units import MONTHS_PER_YEAR


def monthly_rate_fraction(discount_rate_fraction_per_year):
    """The monthly rate that compounds to a yearly one: (1 + r)^(1/12) - 1."""
    rate = np.asarray(discount_rate_fraction_per_year, dtype=float)
    if not (rate > -1).all():
        raise GpudashError("finance.discount_rate", value=float(rate.min()))
    return np.expm1(np.log1p(rate) / MONTHS_PER_YEAR)[()]


def npv_usd(cash_flows_usd_per_month, discount_rate_fraction_per_year):
    """Present value of monthly cash flows, in their own sign, each falling due at the end of its month.

    Sum of flow[m] / (1 + monthly rate)^m for m = 1, 2 ...; the last axis holds the months, the rate is one number or
    one per row. Something paid today does not belong into the flows: add it as it is.
    """
    flows = np.asarray(cash_flows_usd_per_month, dtype=float)
    rate = np.asarray(monthly_rate_fraction(discount_rate_fraction_per_year))
    months = np.arange(1, flows.shape[-1] + 1)
    return (flows * (1 + rate[..., None]) ** -months).sum(axis=-1)[()]


def annuity_usd_per_year(present_usd, discount_rate_fraction_per_year, years):
    """The equal payment at the end of each year that is worth `present_usd` today.

    present x r / (1 - (1 + r)^-years); present / years at r = 0; present x r for ever (`years` infinite).
    """
    rate, years = np.broadcast_arrays(
        np.asarray(discount_rate_fraction_per_year, dtype=float), np.asarray(years, dtype=float)
    )
    if not (rate > -1).all():
        raise GpudashError("finance.discount_rate", value=float(rate.min()))
    if not (years > 0).all():
        raise GpudashError("finance.years", value=float(years.min()))
    is_free = rate == 0
    safe = np.where(is_free, 1.0, rate)
    share = np.where(is_free, 1 / years, safe / -np.expm1(-years * np.log1p(safe)))
    return (present_usd * share)[()]


def payback_months(investment_usd, saving_usd_per_month):
    """Months until a constant saving has returned the investment: investment / saving; infinite without a saving."""
    investment, saving = np.broadcast_arrays(
        np.asarray(investment_usd, dtype=float), np.asarray(saving_usd_per_month, dtype=float)
    )
    months = np.full(investment.shape, np.inf)
    np.divide(investment, saving, out=months, where=saving > 0)
    return np.where(investment <= 0, 0.0, months)[()]


def tax_usd(net_usd, tax_fraction):
    """Tax on an amount before tax, as an amount of its own: prices and totals stay before tax."""
    return net_usd * tax_fraction


def stacked_saving_fraction(*saving_fractions):
    """What measures save together when each acts on the bill the earlier ones left: 1 - (1 - a)(1 - b) ...

    Stays within 0 and 1 whatever is stacked. Each fraction: 0 to 1, number or array; anything else is refused.
    """
    left = 1.0
    for position, saving in enumerate(saving_fractions, start=1):
        values = np.asarray(saving, dtype=float)
        outside = ~((values >= 0) & (values <= 1))
        if outside.any():
            raise GpudashError("finance.saving_fraction", position=position, value=float(values[outside].flat[0]))
        left = left * (1 - values)
    return (1 - np.asarray(left))[()]
