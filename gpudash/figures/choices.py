"""Which choices stand beside each other, under which role, and how one is named."""

from gpudash.figures.money import Money
from gpudash.result import Choice, Result
from gpudash.text import Text


def roles(result: Result) -> dict[str, Choice]:
    """The winner, the runner-up and the cheapest, each choice once, by role."""
    named = {"winner": result.recommendation, "runner_up": result.runner_up, "cheapest": result.cheapest}
    distinct: dict[str, Choice] = {}
    for role, choice in named.items():
        if choice is not None and choice.id not in {other.id for other in distinct.values()}:
            distinct[role] = choice
    return distinct


def headline_order(choice: Choice, monthly, total, unit, servers) -> list:
    """The four headline numbers by what is asked first: a run's own cost for training, else the month's."""
    return [monthly, total, unit, servers] if choice.cost_per_run_usd is None else [unit, total, monthly, servers]


def short_name(choice: Choice) -> str:
    """A choice in two words: provider and instance."""
    return f"{choice.provider} {choice.instance}"


def role_name(role: str, choice: Choice, text: Text) -> str:
    """A choice with the part it plays."""
    return text(f"figures.role_{role}", name=short_name(choice))


def place_name(code: str, text: Text) -> str:
    """A country, or a group of countries, in the reader's language."""
    key = f"common.country_group.{code}"
    return text(key) if text.has(key) else text.country(code)


def price_source(result: Result, money: Money, text: Text) -> str:
    """The line under a chart of money: snapshot, currency, tax."""
    snapshot = text.date(result.snapshot)
    if money.currency == "USD":
        first = text("common.prices_of", snapshot=snapshot)
    elif not money.as_of:
        rate = text.number(money.units_per_usd)
        first = text("common.prices_in_own_rate", snapshot=snapshot, currency=money.currency, rate=rate)
    else:
        first = text(
            "common.prices_in",
            snapshot=snapshot,
            currency=money.currency,
            rate=text.number(money.units_per_usd),
            source=money.source,
            as_of=text.date(money.as_of),
        )
    return first + " " + text("common.before_tax")
