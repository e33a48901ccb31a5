"""Money in the currency that the scenario asks for; the arithmetic behind it is all in US dollars."""

from dataclasses import dataclass

from gpudash.catalogue import Catalogue
from gpudash.result import Result
from gpudash.scenario import Scenario
from gpudash.text import Text

_RATE_DIGITS = 6  # as published, so that an amount can be found again with the rate beside it


@dataclass(frozen=True)
class Money:
    """Amounts in US dollars as amounts or words in another currency, at a dated rate."""

    currency: str
    units_per_usd: float
    as_of: str
    source: str
    text: Text

    def amount(self, usd):
        """US dollars as an amount of the currency."""
        return usd * self.units_per_usd

    def __call__(self, usd: float) -> str:
        return self.text.money(self.amount(usd), self.currency)

    @property
    def rate(self) -> str:
        """Units of the currency per US dollar."""
        return self.text.number(self.units_per_usd, _RATE_DIGITS)

    def signed(self, usd: float) -> str:
        """US dollars in words of the currency, a plus before what is more."""
        return ("+" if usd > 0 else "") + self(usd)


def money_of(result: Result, text: Text) -> Money:
    """The scenario's currency at the user's own rate, else at the snapshot's."""
    finance = result.scenario.finance
    rate = result.catalogue.exchange_rates[finance.currency]
    if finance.units_per_usd is None:
        return Money(finance.currency, rate.units_per_usd, rate.as_of, rate.source, text)
    return Money(finance.currency, finance.units_per_usd, "", text("common.your_own_rate"), text)


def text_for(scenario: Scenario, catalogue: Catalogue, language: str) -> Text:
    """The sentences of a language, with the money in messages as `money_of` shows it."""
    finance = scenario.finance
    return Text(language, finance.currency, finance.units_per_usd or catalogue.rate(finance.currency).units_per_usd)
