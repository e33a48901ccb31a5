"""The numbers behind an answer that are least sure, by what is at stake with each of them."""

from dataclasses import dataclass

import numpy as np

from gpudash.derivation import speed_band
from gpudash.freshness import asked_range_usd_per_hour, freshness_rules, reasons_to_doubt
from gpudash.records import WAYS
from gpudash.result import Choice, Message, Result, Share, Usd


@dataclass(frozen=True)
class WeakNumber:
    """One number, why it is weak, what a month would cost more if it is wrong, and how to make it surer.

    `usd_per_month` is None where at the weak end no number of servers would do.
    """

    name: str  # `speed`, `price.<way of buying>` or `price.disputed`
    because: tuple[Message, ...]
    usd_per_month: float | None
    remedy: Message


def weakest_numbers(result: Result) -> tuple[WeakNumber, ...]:
    """The weak numbers of the recommendation (or the cheapest that works), what is most at stake first.

    Speed: the cost at the slow end of its band less the cost predicted. A price: what is paid at it × the certainty it
    lacks (its age and who quotes it; data/certainty.yaml). Sources that disagree: what is paid × (highest / own - 1).
    """
    choice = result.leading
    if choice is None:
        return ()
    found = [*_speed(result, choice), *_prices(result, choice), *_disputed(result, choice)]
    return tuple(sorted(found, key=lambda weak: -np.inf if weak.usd_per_month is None else -weak.usd_per_month))


def _speed(result: Result, choice: Choice):
    band = speed_band(result)
    if band is None or choice.speed_low >= 1:
        return
    at_stake = None if band.high_usd_per_month is None else band.high_usd_per_month - choice.monthly_usd
    because = Message.of("weak_numbers.speed", low=Share(1 - choice.speed_low), high=Share(choice.speed_high - 1))
    yield WeakNumber("speed", (because,), at_stake, Message.of("weak_numbers.measure", gpu=choice.gpu))


def _prices(result: Result, choice: Choice):
    offers, rules, row = result.catalogue.offers, freshness_rules(), result.catalogue.offers.row_of(choice.id)
    for way, usd_per_month in _paid_usd_per_month(result).items():
        age_days = max(float(offers.age_days_of(way)[row]), rules["fresh_days"])
        certainty = rules["fresh_days"] / age_days
        because = [Message.of("weak_numbers.age", age=age_days)] if age_days > rules["fresh_days"] else []
        for reason, holds in reasons_to_doubt(offers, row).items():
            if holds:
                certainty *= rules[f"{reason}_factor"]
                because.append(Message.of(f"weak_numbers.{reason}"))
        if because:
            remedy = Message.of("weak_numbers.ask", provider=choice.provider, instance=choice.instance)
            yield WeakNumber(f"price.{way}", tuple(because), usd_per_month * (1 - certainty), remedy)


def _disputed(result: Result, choice: Choice):
    row = result.catalogue.offers.row_of(choice.id)
    low, high = (float(price[row]) for price in asked_range_usd_per_hour(result.catalogue.offers))
    paid_usd = _paid_usd_per_month(result).get("on_demand", 0.0)
    if low < high and paid_usd:
        because = Message.of("weak_numbers.disputed", low=Usd(low), high=Usd(high))
        at_stake = paid_usd * (high / choice.on_demand_usd_per_hour - 1)
        yield WeakNumber(
            "price.disputed", (because,), at_stake, Message.of("weak_numbers.see", provider=choice.provider)
        )


def _paid_usd_per_month(result: Result) -> dict[str, float]:
    """What a mean month pays for each way of buying that is used."""
    months = result.leading_bill.months
    paid = {way: sum(getattr(month, f"{way}_usd") for month in months) / len(months) for way in WAYS}
    return {way: usd for way, usd in paid.items() if usd > 0}
