"""How far a price can be trusted: its age, who quotes it, and whether its own provider has raised it since."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpudash.tables import DATA, read_yaml


@lru_cache(maxsize=1)
def freshness_rules() -> dict[str, float]:
    """Limits and factors of data/certainty.yaml by name."""
    return {name: rule["value"] for name, rule in read_yaml(DATA / "certainty.yaml").items()}


def certainty(age_days, secondary, date_estimated, speed_low):
    """How sure the numbers of an offer are, 0 to 1: fresh days / age, factors for doubtful prices, width of the band.

    Rules and sources: data/certainty.yaml.
    """
    rules = freshness_rules()
    price = rules["fresh_days"] / np.maximum(age_days, rules["fresh_days"])
    doubts = np.where(secondary, rules["secondary_factor"], 1)
    doubts = doubts * np.where(date_estimated, rules["date_estimated_factor"], 1)
    return price * doubts * speed_low


@dataclass(frozen=True)
class OutdatedPrices:
    """Offers whose on-demand price their provider has raised since, by what it asks for the same GPU in that country.

    `group_of` numbers the provider, country and GPU of each offer; `newest_usd_per_gpu_hour` has one entry per group.
    """

    is_outdated: np.ndarray
    group_of: np.ndarray
    newest_usd_per_gpu_hour: np.ndarray


def outdated_prices(offers) -> OutdatedPrices:
    """Offers that are clearly older and clearly cheaper per card than the provider's newest price of that card.

    The newest price of a group is the lowest one of its youngest date. Limits: data/certainty.yaml.
    """
    rules = freshness_rules()
    price = np.nan_to_num(offers.on_demand_usd_per_gpu_hour, nan=np.inf)
    _, country = np.unique([country for _, _, country in offers.places], return_inverse=True)
    key = (offers.provider_row * len(country) + country[offers.place_row]) * 10_000 + offers.gpu_row
    key = key * 2 + (offers.kind == "marketplace")  # one provider may sell its own servers and those of others
    groups, group_of = np.unique(key, return_inverse=True)
    age = np.where(np.isfinite(price), offers.age_days, np.inf)
    youngest = np.full(len(groups), np.inf)
    np.minimum.at(youngest, group_of, age)
    newest = np.full(len(groups), np.inf)
    np.minimum.at(newest, group_of, np.where(age == youngest[group_of], price, np.inf))
    is_older = offers.age_days > youngest[group_of] + rules["outdated_after_days"]
    is_cheaper = price * (1 + rules["outdated_rise_fraction"]) < newest[group_of]
    return OutdatedPrices(is_older & is_cheaper, group_of, newest)


def oldest_used(offers, rows, served_hours) -> tuple[np.ndarray, np.ndarray]:
    """The way of buying with the oldest price among those that serve hours, and its age, for each of the rows.

    `served_hours`: way of buying -> hours of each row. Nothing bought: the row's on-demand price.
    """
    ways = ("on_demand", *(way for way in served_hours if way != "on_demand"))
    ages = np.vstack([np.where(served_hours[way] > 0, offers.age_days_of(way)[rows], -np.inf) for way in ways])
    oldest = ages.argmax(axis=0)
    age_days = ages[oldest, np.arange(len(rows))]
    is_used = np.isfinite(age_days)
    return np.array(ways, object)[oldest], np.where(is_used, age_days, offers.age_days[rows])


def young_enough_usd_per_hour(offers, way: str, oldest_days: float | None) -> np.ndarray:
    """Prices of one way of buying to reckon with: NaN where older than allowed (None: any age will do)."""
    price = usable_spot_usd_per_hour(offers) if way == "spot" else offers.usd_per_hour_of(way)
    return price if oldest_days is None else np.where(offers.age_days_of(way) > oldest_days, np.nan, price)


AGES = ("fresh", "ageing", "stale")


def age_badges(age_days) -> np.ndarray:
    """One of AGES for each age. Limits: data/certainty.yaml."""
    rules = freshness_rules()
    age_days = np.asarray(age_days)
    return np.select([age_days < rules["fresh_days"], age_days <= rules["stale_days"]], AGES[:2], AGES[2])


def price_doubts(offers) -> np.ndarray:
    """Why each price deserves a second look, the strongest reason first; empty where nothing speaks against it.

    `outdated`: its provider asks more today. `outlier`: more than a factor from the median price per card of its GPU.
    `spot_outlier`: a spot price that is too small a share of the on-demand price. Limits: data/certainty.yaml.
    """
    rules = freshness_rules()
    per_card = offers.on_demand_usd_per_gpu_hour
    median = np.full(len(offers), np.nan)
    for gpu in np.unique(offers.gpu_row[~np.isnan(per_card)]):
        of_gpu = offers.gpu_row == gpu
        median[of_gpu] = np.nanmedian(per_card[of_gpu])
    ratio = per_card / median
    is_far = (ratio > rules["outlier_factor"]) | (ratio * rules["outlier_factor"] < 1)
    is_low_spot = np.isnan(usable_spot_usd_per_hour(offers)) & ~np.isnan(offers.spot_usd_per_hour)
    reasons = [outdated_prices(offers).is_outdated, is_far, is_low_spot]
    return np.select(reasons, ("outdated", "outlier", "spot_outlier"), "")


def usable_spot_usd_per_hour(offers) -> np.ndarray:
    """Spot prices to reckon with: NaN where there is none, or where it is too small a share of on-demand to be had.

    Such a price is a bid floor, or the low of one zone on one day. Limit: data/certainty.yaml, `spot_floor_fraction`.
    """
    floor = freshness_rules()["spot_floor_fraction"] * offers.on_demand_usd_per_hour
    return np.where(offers.spot_usd_per_hour <= floor, np.nan, offers.spot_usd_per_hour)
