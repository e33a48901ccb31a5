"""Levers: every number that can be moved to see when the answer changes, and the question that each value asks."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from gpudash.assumptions import budget_months
from gpudash.catalogue import Catalogue
from gpudash.hardware import read_only
from gpudash.offers import Offers
from gpudash.purchase_mix import COMMITMENTS, KINDS
from gpudash.scenario import MOST_DISCOUNT_FRACTION, ProviderDiscount, Scenario, bounds
from gpudash.tables import DATA, read_yaml

ABOVE, BELOW = "above", "below"
RATIOS = ("ratio", "far_ratio")  # steps that multiply; the others add
DISCOUNTS = "purchase.negotiated_discounts"


@lru_cache(maxsize=1)
def flip_rules() -> dict:
    """Which numbers are moved, how, and what has to be worked out again: data/flips.yaml."""
    return read_yaml(DATA / "flips.yaml")


@dataclass(frozen=True)
class Question:
    """A scenario with the catalogue that it is asked of."""

    scenario: Scenario
    catalogue: Catalogue


@dataclass(frozen=True)
class Lever:
    """One number: its present value, where the search starts, how far it may go, and the question that a value asks.

    `now` is None where the input is empty; the search then starts at `start`. `subject` names the provider or server
    whose price is moved. `directions` are those in which it can change the answer; `again` says what a new value makes
    it necessary to compute again (data/flips.yaml).
    """

    input: str
    subject: str
    unit: str
    now: float | None
    start: float
    low: float
    high: float
    steps: str
    directions: tuple[str, ...]
    again: str
    ask: Callable[[float], Question]

    @property
    def is_whole(self) -> bool:
        """Whether the number is a whole one."""
        return isinstance(self.start, int)

    def values(self, direction: str) -> list[float]:
        """The values to try one way, nearest first, within the bounds; the search narrows down between two of them."""
        sign = 1 if direction == ABOVE else -1
        found: list[float] = []
        for step in flip_rules()["steps"][self.steps]:
            moved = self.start * step**sign if self.steps in RATIOS else self.start + sign * step
            moved = min(max(moved, self.low), self.high)
            if self.is_whole:
                moved = round(moved)
                moved = max(moved, self.start + 1) if sign > 0 else min(moved, self.start - 1)
            nearest = found[-1] if found else self.start
            if self.low <= moved <= self.high and sign * (moved - nearest) > 0:
                found.append(moved)
        return found


def levers(solved, ranked: np.ndarray) -> tuple[Lever, ...]:
    """The levers of a solved scenario, most telling first; `ranked` are the rows of the offers in order, best first."""
    known, asked = solved.known, Question(solved.known.scenario, solved.known.catalogue)
    kind = known.scenario.workload.kind
    inputs = [
        _input_lever(path, row, asked, solved, ranked)
        for path, row in flip_rules()["inputs"].items()
        if kind in row["kinds"]
    ]
    if len(ranked):  # what a smaller budget leaves is what the answer costs, which is no news
        inputs.sort(key=lambda lever: lever is not None and lever.input == "budget.amount")
    prices = [_price_lever(name, row, asked, solved, ranked) for name, row in flip_rules()["prices"].items()]
    return tuple(
        lever for lever in (*inputs, *prices) if lever is not None and any(map(lever.values, lever.directions))
    )


def _input_lever(path: str, row: dict, asked: Question, solved, ranked) -> Lever | None:
    now, start = asked.scenario.value(path), _start(path, solved, ranked)
    if start is None:
        return None
    low, high = bounds(path)
    return Lever(
        input=path,
        subject="",
        unit=f"money_per_{asked.scenario.budget.per}" if row["unit"] == "money" else row["unit"],
        now=start if path == "workload.params_b" else now,
        start=start,
        low=-np.inf if low is None else low,
        high=np.inf if high is None else high,
        steps=row["steps"],
        directions=(BELOW,) if now is None and path == "budget.amount" else (BELOW, ABOVE),
        again=row["again"],
        ask=lambda value: replace(asked, scenario=asked.scenario.with_value(path, value)),
    )


def _start(path: str, solved, ranked) -> float | None:
    """Where the search starts: the input's value, or what stands in for an empty one; None where it has no effect."""
    known = solved.known
    value = known.scenario.value(path)
    if path == "budget.amount":
        return _budget(solved, ranked) if value is None else value if known.scenario.budget.hard else None
    if path.startswith("purchase.") and path not in ("purchase.horizon_months", "purchase.spot_fraction"):
        return value if known.is_training or known.scenario.purchase.spot_fraction else None
    if path == "purchase.spot_fraction":
        return value if known.catalogue.offers.spot_usd_per_hour[solved.costs.rows].any() else None
    worked = {
        "workload.params_b": known.model.params_b,
        "workload.output_tokens": known.output_tokens or None,
        "workload.context_tokens": None if known.counts_samples else value,
        "workload.ttft_ms": known.ttft_ms,
        "workload.tpot_ms": known.tpot_ms,
    }
    start = worked.get(path, value)
    return None if start == 0 and flip_rules()["inputs"][path]["steps"] in RATIOS else start


def _budget(solved, ranked) -> float | None:
    """What the winner costs, in the currency and per the time in which a budget would be given."""
    known, budget = solved.known, solved.known.scenario.budget
    if not len(ranked) or not budget.hard:
        return None
    horizon_months = known.scenario.purchase.horizon_months
    usd = solved.costs.tco_usd[solved.costs.rows == ranked[0]][0] / horizon_months * budget_months(known.scenario)
    return float(usd * known.catalogue.rate(budget.currency).units_per_usd)


# ---- prices ------------------------------------------------------------------------------------------------------


def _price_lever(name: str, row: dict, asked: Question, solved, ranked) -> Lever | None:
    place = 0 if name.endswith("winner") else 1
    if len(ranked) <= place:
        return None
    offer, offers = ranked[place], asked.catalogue.offers
    provider, subject, high = str(offers.provider[offer]), server_name(offers, offer), MOST_DISCOUNT_FRACTION
    if name.startswith("price_of"):
        now, high = reference_usd_per_hour(offers, offer), np.inf

        def ask(usd_per_hour):
            return _with_offers(asked, repriced(offers, offer, usd_per_hour / now))

    elif name.startswith("commitment"):
        term = _main_term(solved, offer)
        if term is None:
            return None
        now = float(1 - getattr(offers, term)[offer] / offers.on_demand_usd_per_hour[offer])

        def ask(discount):
            return _with_offers(asked, with_discount(offers, offer, term, discount))

    else:
        if place == 1 and provider == offers.provider[ranked[0]]:
            return None
        entries, subject = asked.scenario.purchase.negotiated_discounts, provider
        others = [entry for entry in entries if entry.provider != provider or entry.gpu is not None]
        now = next((entry.discount_fraction for entry in entries if entry not in others), 0.0)

        def ask(discount):
            rows = [*others, ProviderDiscount(provider=provider, discount_fraction=discount)]
            changed = asked.scenario.with_value(DISCOUNTS, [row.model_dump() for row in rows])
            return replace(asked, scenario=changed)

    directions = tuple(row["directions"])
    return Lever(name, subject, row["unit"], now, now, 0.0, high, row["steps"], directions, "prices", ask)


def server_name(offers: Offers, offer: int) -> str:
    """A server in words: provider and instance."""
    return f"{offers.provider[offer]} {offers.instance[offer]}"


def _with_offers(asked: Question, offers: Offers) -> Question:
    return replace(asked, catalogue=asked.catalogue.with_offers(offers))


def reference_usd_per_hour(offers: Offers, offer: int) -> float:
    """The price by which a server is known: on demand, else the lowest that it is sold at."""
    on_demand = offers.on_demand_usd_per_hour[offer]
    rates = [getattr(offers, f"{kind}_usd_per_hour")[offer] for kind in KINDS]
    return float(on_demand if np.isfinite(on_demand) else np.nanmin(rates))


def repriced(offers: Offers, offer: int, factor: float) -> Offers:
    """All prices of one server, in every region and every way of buying, times a factor."""
    rows = _same_server(offers, offer)
    columns = {}
    for kind in KINDS:
        price = getattr(offers, f"{kind}_usd_per_hour")
        columns[f"{kind}_usd_per_hour"] = read_only(np.where(rows, price * factor, price))
    return replace(offers, **columns)


def with_discount(offers: Offers, offer: int, column: str, discount_fraction: float) -> Offers:
    """One committed price of one server as its on-demand price less a discount, in every region."""
    price = np.where(
        _same_server(offers, offer), offers.on_demand_usd_per_hour * (1 - discount_fraction), getattr(offers, column)
    )
    return replace(offers, **{column: read_only(price)})


def _same_server(offers: Offers, offer: int) -> np.ndarray:
    return (offers.provider == offers.provider[offer]) & (offers.instance == offers.instance[offer])


def _main_term(solved, offer: int) -> str | None:
    """The price column of the commitment that serves most of the winner's hours; None where it has none to compare."""
    candidate = int(np.flatnonzero(solved.costs.rows == offer)[0])
    hours = {kind: solved.costs.served_hours[kind][candidate] for kind in COMMITMENTS}
    term = max(hours, key=hours.get)
    on_demand = solved.known.catalogue.offers.on_demand_usd_per_hour[offer]
    return f"{term}_usd_per_hour" if hours[term] > 0 and np.isfinite(on_demand) else None
