"""Own GPUs against hosted models paid per token: which is cheaper, and from which use on."""

from functools import lru_cache

from gpudash import own_or_api
from gpudash.catalogue import Catalogue
from gpudash.figures.choices import short_name
from gpudash.figures.money import money_of
from gpudash.figures.table import Table, table
from gpudash.own_or_api import OwnOrApi
from gpudash.result import Result
from gpudash.scenario import Scenario
from gpudash.text import Text
from gpudash.units import TOKENS_PER_MILLION


@lru_cache(maxsize=64)
def _compared(scenario: Scenario, catalogue: Catalogue) -> OwnOrApi | None:
    """Both views show the same comparison, which takes a moment."""
    return own_or_api.own_or_api(scenario, catalogue)


def comparison(result: Result, text: Text) -> list[str]:
    """What own GPUs and the cheapest hosted model cost a month, and above which volume own GPUs are cheaper."""
    found, money = _compared(result.scenario, result.catalogue), money_of(result, text)
    if found is None:
        return [text("own_or_api.only_tokens")]
    lines = [
        text(
            "own_or_api.own",
            name=short_name(found.choice),
            own=money(found.own_usd_per_month),
            tokens=text.number(found.output_tokens_per_month / TOKENS_PER_MILLION),
            utilisation=text.percent(found.utilisation_fraction),
        )
    ]
    if not found.offers:
        return [*lines, text("own_or_api.not_hosted")]
    first, saving = found.offers[0], found.offers[0].saving_of_own_usd_per_month
    provider, volume = first.price.provider, first.break_even_requests_per_month
    key = "own_or_api.hosted_dearer" if saving > 0 else "own_or_api.hosted_cheaper"
    lines.append(text(key, provider=provider, hosted=money(first.usd_per_month), difference=money(abs(saving))))
    if volume is None:
        return [*lines, text("own_or_api.never", provider=provider)]
    return [*lines, text("own_or_api.from_volume", provider=provider, requests=text.number(volume))]


def hosted(result: Result, text: Text) -> Table | None:
    """Every hosted price of this model, with what it costs for this work and where own GPUs become cheaper."""
    found, money = _compared(result.scenario, result.catalogue), money_of(result, text)
    if found is None or not found.offers:
        return None
    prices = [offer.price for offer in found.offers]
    in_currency = {
        "column_input": [price.input_usd_per_million_tokens for price in prices],
        "column_cached": [price.cached_input_usd_per_million_tokens for price in prices],
        "column_output": [price.output_usd_per_million_tokens for price in prices],
        "column_month": [offer.usd_per_month for offer in found.offers],
        "column_saving": [offer.saving_of_own_usd_per_month for offer in found.offers],
    }
    columns = [
        (text("own_or_api.column_provider"), [price.provider for price in prices]),
        (text("own_or_api.column_model"), [price.hosted_model for price in prices]),
        *((text(f"own_or_api.{name}"), [money.amount(usd) for usd in column], "number")
          for name, column in in_currency.items()),
        (text("own_or_api.column_use"), [offer.break_even_utilisation for offer in found.offers], "percent"),
        (text("own_or_api.column_volume"), [offer.break_even_requests_per_month for offer in found.offers], "number"),
    ]  # fmt: skip
    return table(text("own_or_api.title", currency=money.currency), columns, prices[0].source)
