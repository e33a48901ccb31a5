"""How many own servers are worth having: every number of them beside the cloud alone, and the cheapest."""

from gpudash.figures.money import money_of
from gpudash.figures.table import Table, table
from gpudash.owned_count import OwnedCounts, owned_counts
from gpudash.result import Result
from gpudash.text import Text


def best_count(result: Result, text: Text) -> list[str]:
    """The number of own servers that costs least, or that none saves anything; or why own servers cannot do this."""
    found = _counts(result)
    if found is None:
        return []
    first, last = found.fleets[0], found.fleets[-1]
    if last.because is not None:
        return [text.say(last.because)]
    what = {"gpus": text.number(first.gpus_per_server), "gpu": first.gpu, "country": text.country(first.country)}
    if found.best is None:
        return [text("owned_count.none", most=text.number(last.servers), **what)]
    money, best = money_of(result, text), found.best
    amounts = {"total": money(best.total_usd), "alone": money(best.cloud_only_usd), "saving": money(best.saving_usd)}
    return [text("owned_count.best", servers=text.number(best.servers), **amounts, **what)]


def counts(result: Result, text: Text) -> Table | None:
    """Each number of own servers that can do the work: what it costs with the cloud for the rest, and saves."""
    found = _counts(result)
    able = [fleet for fleet in found.fleets if fleet.because is None] if found else []
    if not able:
        return None
    money = money_of(result, text)
    columns = [
        (text("owned_count.servers"), [fleet.servers for fleet in able], "number"),
        (text("owned_count.share"), [fleet.served_fraction for fleet in able], "percent"),
        (text("owned_count.cloud_servers"), [fleet.cloud_servers for fleet in able], "number"),
    ]
    for name in ("capex", "total", "saving"):
        amounts = [float(money.amount(getattr(fleet, f"{name}_usd"))) for fleet in able]
        columns.append((text(f"owned_count.{name}", currency=money.currency), amounts, "number"))
    return table(text("owned_count.title"), columns, text("owned_page.source"))


def _counts(result: Result) -> OwnedCounts | None:
    return owned_counts(result.scenario, result.catalogue)
