"""What each candidate pays per server-hour: the listed prices after what was negotiated, spot with its rework."""

from dataclasses import dataclass

import numpy as np

from gpudash.assumptions import Known
from gpudash.freshness import young_enough_usd_per_hour
from gpudash.purchase_mix import COMMITMENTS, KINDS
from gpudash.spot import mean_time_between_interruptions_h, spot_rework_fraction


@dataclass(frozen=True)
class Prices:
    """What each candidate pays per server-hour: negotiated discounts taken off once, spot with its rework, ways of
    buying that are not allowed and prices that are too old blank. One entry per candidate, NaN where not sold."""

    on_demand_usd_per_hour: np.ndarray
    spot_usd_per_hour: np.ndarray
    reserved_1y_usd_per_hour: np.ndarray
    reserved_3y_usd_per_hour: np.ndarray
    monthly_usd_per_hour: np.ndarray
    rework_fraction: np.ndarray

    def mix_arguments(self, rows) -> dict:
        """The prices of these candidates, as arguments of a purchase mix."""
        return {f"{kind}_usd_per_hour": getattr(self, f"{kind}_usd_per_hour")[rows] for kind in KINDS}

    def of(self, candidate: int) -> dict[str, float]:
        """The same of one candidate, as numbers."""
        return {name: float(price[0]) for name, price in self.mix_arguments([candidate]).items()}


def paid_prices(known: Known, rows: np.ndarray) -> Prices:
    """The prices of these offers (rows of the catalogue's), in the ways of buying that the scenario allows."""
    offers, oldest_days = known.catalogue.offers, known.scenario.requirements.maximum_price_age_days
    paid, rework = paid_fraction(known, rows), rework_fraction(known, rows)
    prices = {
        way: young_enough_usd_per_hour(offers, way, oldest_days)[rows] * paid
        if way in known.ways
        else np.full(len(rows), np.nan)
        for way in KINDS
    }
    prices["spot"] = prices["spot"] * (1 + rework)
    return Prices(rework_fraction=rework, **{f"{way}_usd_per_hour": price for way, price in prices.items()})


def paid_fraction(known: Known, rows: np.ndarray) -> np.ndarray:
    """Share of every compute price that is left after the negotiated discount, taken off once.

    One for a GPU stands instead of the one for all that its provider sells.
    """
    offers, left = known.catalogue.offers, np.ones(len(rows))
    for entry in sorted(known.scenario.purchase.negotiated_discounts, key=lambda entry: entry.gpu is not None):
        is_meant = offers.provider[rows] == entry.provider
        if entry.gpu is not None:
            is_meant = is_meant & (offers.gpu_row[rows] == known.catalogue.hardware.index(entry.gpu))
        left[is_meant] = 1 - entry.discount_fraction
    return left


def interruption_fraction(known: Known, rows: np.ndarray) -> np.ndarray:
    """Share of spot servers taken back per month: the user's, else the catalogue's, else the worst known."""
    offers, purchase = known.catalogue.offers, known.scenario.purchase
    monthly = offers.interruption_fraction_per_month
    if purchase.interruption_fraction_per_month is not None:
        monthly = np.full(len(offers), purchase.interruption_fraction_per_month)
    return np.where(np.isnan(monthly), np.nanmax(monthly, initial=0.0), monthly)[rows]


def checkpoint_minutes(known: Known) -> float:
    """Time of one checkpoint; serving keeps none."""
    return 0.0 if known.scenario.workload.kind == "inference" else known.scenario.purchase.checkpoint_minutes


def rework_fraction(known: Known, rows: np.ndarray) -> np.ndarray:
    """Extra hours on spot for what is lost and started again."""
    mean_time_h = mean_time_between_interruptions_h(interruption_fraction(known, rows))
    return spot_rework_fraction(mean_time_h, checkpoint_minutes(known), known.scenario.purchase.restart_minutes)


def dearest_usd_per_hour(prices: Prices) -> np.ndarray:
    """What one server may cost in any hour: on demand, and where that is not sold, the dearest commitment."""
    rates = np.vstack([getattr(prices, f"{kind}_usd_per_hour") for kind in ("on_demand", *COMMITMENTS)])
    return np.where(np.isnan(rates[0]), np.nanmax(np.nan_to_num(rates, nan=0.0), axis=0), rates[0])
