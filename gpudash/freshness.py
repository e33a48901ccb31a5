"""How far a price can be trusted: its age, who quotes it, and whether its own provider has raised it since."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gpudash.records import WAYS
from gpudash.tables import sourced_values


def freshness_rules() -> Mapping[str, float]:
    """Limits and factors of data/certainty.yaml by name."""
    return sourced_values("certainty")


def certainty(offers, rows, served_hours, speed_low):
    """How sure the numbers of these offers are, 0 to 1: prices × agreement of the sources × speed.

    Prices: fresh days / age, each by its share of the served hours (way of buying -> hours of each row), with factors
    for doubtful prices. Agreement: the lowest over the highest that anybody asks on demand. Speed: the lower end of its
    band over the prediction. Rules and sources: data/certainty.yaml.
    """
    rules = freshness_rules()
    price = _freshness(offers, rows, served_hours)
    for reason, doubted in reasons_to_doubt(offers, rows).items():
        price = price * np.where(doubted, rules[f"{reason}_factor"], 1)
    low, high = asked_range_usd_per_hour(offers)
    return price * np.nan_to_num(low / high, nan=1.0)[rows] * speed_low


def reasons_to_doubt(offers, rows) -> dict[str, np.ndarray]:
    """What speaks against the prices of these rows besides their age; each has a `<reason>_factor` in the rules."""
    return {
        "secondary": offers.secondary[rows],
        "date_estimated": offers.date_estimated[rows],
        "unavailable": offers.doubt[rows] == "unavailable",
        "weak_source": offers.doubt[rows] == "weak_source",
    }


def _freshness(offers, rows, served_hours) -> np.ndarray:
    """Fresh days / age of the prices that are paid, weighted by the hours they pay for.

    Where nothing is bought yet, as fresh as the youngest price: more than that no purchase can be.
    """
    fresh_days = freshness_rules()["fresh_days"]
    total = sum(served_hours.values())
    weighted = sum(
        np.where(hours > 0, hours * fresh_days / np.maximum(_age_days(offers, way)[rows], fresh_days), 0.0)
        for way, hours in served_hours.items()
    )
    ages = np.vstack([np.where(np.isnan(offers.usd_per_hour_of(way)), np.inf, offers.age_days_of(way)) for way in WAYS])
    at_most = fresh_days / np.maximum(ages.min(axis=0)[rows], fresh_days)
    return np.where(total > 0, weighted / np.where(total > 0, total, 1.0), at_most)


def _age_days(offers, way: str) -> np.ndarray:
    """The age of a price; that of the row for a supposed price ("what if 3 years were 40 % off"), which has none."""
    own = offers.age_days_of(way)
    return np.where(np.isnan(own), offers.age_days, own)


def asked_range_usd_per_hour(offers) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and highest on-demand price of each offer that any source asks; NaN where nobody asks one."""
    own = offers.on_demand_usd_per_hour
    return np.fmin(own, offers.other_low_usd_per_hour), np.fmax(own, offers.other_high_usd_per_hour)


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
    ages = np.vstack([np.where(served_hours[way] > 0, _age_days(offers, way)[rows], -np.inf) for way in ways])
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

    `outdated`: its provider asks more today. `unavailable`, `weak_source`: what the catalogue says of it. `outlier`:
    more than a factor from the usual price per card of its GPU. `disputed`: another source asks something else.
    `spot_outlier`: a spot price that is too small a share of the on-demand price. Limits: data/certainty.yaml.
    """
    ratio = offers.on_demand_usd_per_gpu_hour / usual_usd_per_gpu_hour(offers)
    factor = freshness_rules()["outlier_factor"]
    low, high = asked_range_usd_per_hour(offers)
    reasons = {
        "outdated": outdated_prices(offers).is_outdated,
        "unavailable": offers.doubt == "unavailable",
        "weak_source": offers.doubt == "weak_source",
        "outlier": (ratio > factor) | (ratio * factor < 1),
        "disputed": low < high,
        "spot_outlier": np.isnan(usable_spot_usd_per_hour(offers)) & ~np.isnan(offers.spot_usd_per_hour),
    }
    return np.select(list(reasons.values()), list(reasons), "")


def usual_usd_per_gpu_hour(offers) -> np.ndarray:
    """For each offer the median on-demand price per card of its GPU over providers, NaN where nobody lists one.

    A provider counts once, by the median of its offers: otherwise the one with the most regions would be the usual.
    """
    per_card = offers.on_demand_usd_per_gpu_hour
    usual = np.full(len(offers), np.nan)
    priced = np.flatnonzero(~np.isnan(per_card))
    for of_gpu in _groups(offers.gpu_row[priced]):
        rows = priced[of_gpu]
        of_providers = [np.median(per_card[rows[own]]) for own in _groups(offers.provider_row[rows])]
        usual[offers.gpu_row == offers.gpu_row[rows[0]]] = np.median(of_providers)
    return usual


def _groups(keys: np.ndarray) -> list[np.ndarray]:
    """Positions of equal keys, one array for each key."""
    order = np.argsort(keys, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(keys[order])) + 1) if len(keys) else []


def usable_spot_usd_per_hour(offers) -> np.ndarray:
    """Spot prices to reckon with: NaN where there is none, or where it is too small a share of on-demand to be had.

    Such a price is a bid floor, or the low of one zone on one day. Limit: data/certainty.yaml, `spot_floor_fraction`.
    """
    floor = freshness_rules()["spot_floor_fraction"] * offers.on_demand_usd_per_hour
    return np.where(offers.spot_usd_per_hour <= floor, np.nan, offers.spot_usd_per_hour)
