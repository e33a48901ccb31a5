"""The same question asked with the prices of other days: what the answer was, and what its offer cost."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpudash.catalogue import load_catalogue
from gpudash.catalogue_diff import PricePoint, price_history
from gpudash.errors import GpudashError
from gpudash.evaluate import evaluate
from gpudash.result import Choice, Message
from gpudash.scenario import Scenario


@dataclass(frozen=True)
class DatedAnswer:
    """The answer with the prices of one snapshot: a choice, or why there is none (both None: nothing meets the limits).

    `price` is what the offer that is followed cost then; None where it was not offered.
    """

    snapshot: str
    choice: Choice | None
    because: Message | None
    price: PricePoint | None


def dated_answers(scenario: Scenario, offer: str | None, days: Iterable[str]) -> Iterator[DatedAnswer]:
    """A scenario answered with the catalogue's own prices of each day; `offer` is the id whose price is followed."""
    for day in days:
        prices = load_catalogue(day)
        choice, because = None, None
        try:
            then = scenario.with_values({"catalogue.snapshot": day, "catalogue.own_sheet": None})
            choice = evaluate(then, prices).recommendation
        except GpudashError as error:
            because = Message.of(error.code, **error.values)
        price = price_history(offer, [prices])[0] if offer in prices.offers.id else None
        yield DatedAnswer(day, choice, because, price)
