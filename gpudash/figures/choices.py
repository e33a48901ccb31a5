"""Which choices stand beside each other, under which role, and how one is named."""

from gpudash.figures.money import Money
from gpudash.model import load_model, load_precision, model_names, precision_names
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


def name_label(path: str, name: str, text: Text) -> str:
    """A choice in words; names without a translation (products, providers) stand as they are."""
    key = f"fields.{path}.{name}"
    if text.has(key):
        return text(key)
    if path == "workload.model" and name in model_names():
        return load_model(name).title
    if path.endswith("_precision") and name in precision_names():
        return load_precision(name).title
    if path == "catalogue.snapshot":
        return text.date(name)
    if path == "workload.engine":
        return text.software(name)
    if path.endswith(".currency"):
        return _currency_label(name, text)
    return text.country(name) if path in ("requirements.countries", "finance.owned_country") else name


def _currency_label(code: str, text: Text) -> str:
    from babel import Locale

    return text("frame.currency_and_name", code=code, name=Locale.parse(text.locale).currencies.get(code, code))


def price_source(result: Result, money: Money, text: Text) -> str:
    """The line under a chart of money: snapshot, currency, tax."""
    snapshot = text.date(result.snapshot)
    if money.currency == "USD":
        first = text("common.prices_of", snapshot=snapshot)
    elif not money.as_of:
        rate = money.rate
        first = text("common.prices_in_own_rate", snapshot=snapshot, currency=money.currency, rate=rate)
    else:
        first = text(
            "common.prices_in",
            snapshot=snapshot,
            currency=money.currency,
            rate=money.rate,
            source=money.source,
            as_of=text.date(money.as_of),
        )
    return text.joined(first, text("common.before_tax"))
