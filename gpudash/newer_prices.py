"""What an answer would be with newer prices than those it was made with: one sentence, the answer itself stays."""

from datetime import date
from functools import lru_cache

from gpudash.catalogue import load_catalogue, snapshots
from gpudash.errors import GpudashError
from gpudash.evaluate import evaluate
from gpudash.result import Choice, Message, Result, Share
from gpudash.scenario import Scenario

SMALLEST_SHARE = 0.0005  # below it a percentage reads as zero


def newer_prices(result: Result) -> Message | None:
    """The same question asked with the newest prices there are; None where the answer has those already, or a price
    sheet of the user's own.

    The change is that of the monthly cost in the scenario's currency, each at the exchange rate of its own prices.
    """
    newest = snapshots()[-1]
    if newest <= result.snapshot or result.catalogue.own_sheet is not None:
        return None
    said = {"snapshot": date.fromisoformat(newest)}
    try:
        now = _answer(result.scenario.with_value("catalogue.snapshot", newest))
        return _compared(result, now, said)
    except GpudashError as error:
        return Message.of("newer_prices.no_answer", **said, because=Message.of(error.code, **error.values))


@lru_cache(maxsize=64)
def _answer(scenario: Scenario) -> Result:
    return evaluate(scenario, load_catalogue(scenario.catalogue.snapshot))


def _compared(then: Result, now: Result, said: dict) -> Message:
    old, new = then.recommendation, now.recommendation
    if new is None:
        return Message.of("newer_prices.still_nothing" if old is None else "newer_prices.nothing_left", **said)
    if old is None:
        return Message.of("newer_prices.now_possible", **said, choice=_named(new))
    said["change"] = _change(_monthly(old, then), _monthly(new, now))
    if new.id == old.id:
        return Message.of("newer_prices.same_choice", **said)
    return Message.of("newer_prices.other_choice", **said, choice=_named(new))


def _monthly(choice: Choice, result: Result) -> float:
    """The monthly cost in the scenario's currency."""
    finance = result.scenario.finance
    rate = result.catalogue.rate(finance.currency)
    return choice.monthly_usd * (finance.units_per_usd or rate.units_per_usd)


def _named(choice: Choice) -> Message:
    return Message.of("newer_prices.choice", instance=choice.instance, provider=choice.provider, region=choice.region)


def _change(before: float, after: float) -> Message:
    """How much dearer or cheaper, as a share of what it cost before."""
    if abs(after - before) <= SMALLEST_SHARE * before:
        return Message.of("newer_prices.equal")
    if before == 0:
        return Message.of("newer_prices.no_longer_free")
    share = Share(abs(after / before - 1))
    return Message.of("newer_prices.dearer" if after > before else "newer_prices.cheaper", share=share)
