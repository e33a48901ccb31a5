"""Two types of server side by side: whether a base on one and the peak on another is cheaper than one type alone."""

from gpudash.figures.money import money_of
from gpudash.mixed_fleet import FleetPart, mixed_fleet
from gpudash.prompt_routing import PromptGroup
from gpudash.result import Result
from gpudash.text import Text


def side_by_side(result: Result, text: Text) -> list[str]:
    """The cheapest pair with its gain over the cheapest single type, or that no pair is cheaper."""
    found = mixed_fleet(result.scenario, result.catalogue)
    if found is None:
        return [text("mixed_fleet.none")]
    if found.base is None:
        return [text("mixed_fleet.no_gain", pairs=text.number(found.pairs_tried), single=found.single)]
    money, total = money_of(result, text), money_of(result, text)(found.total_usd)
    if found.single is None:
        first = text("mixed_fleet.only", total=total)
    else:
        said = {"gain": money(found.gain_usd), "share": text.percent(found.gain_fraction)}
        first = text("mixed_fleet.gain", single=found.single, total=total, **said)
    lines = [first, *(_part(name, part, result, text) for name, part in (("base", found.base), ("peak", found.peak)))]
    for term, usd_per_hour in found.shared_plan_usd_per_hour.items():
        way, usd = text(f"common.way.{term}"), money_of(result, text)(usd_per_hour)
        lines.append(text("mixed_fleet.shared_plan", term=way, usd=usd, provider=found.base.provider))
    if found.one_provider:
        return lines
    return [*lines, text("mixed_fleet.two_providers"), _at_one_provider(result, text)]


def part_name(part: FleetPart | PromptGroup, text: Text) -> str:
    """Servers, cards and provider of one type."""
    said = {"servers": text.number(part.servers), "gpus": text.number(part.gpus_per_server), "gpu": part.gpu}
    key = "mixed_fleet.part_held" if part.contract_servers else "mixed_fleet.part"
    return text(key, held=text.number(part.contract_servers), provider=part.provider, **said)


def _at_one_provider(result: Result, text: Text) -> str:
    """The cheapest pair for whom two providers are one too many."""
    found = mixed_fleet(result.scenario, result.catalogue, one_provider=True)
    if found is None or found.base is None:
        return text("mixed_fleet.one_provider_none")
    said = {name: part_name(part, text) for name, part in (("base", found.base), ("peak", found.peak))}
    return text("mixed_fleet.one_provider", total=money_of(result, text)(found.total_usd), **said)


def _part(name: str, part: FleetPart, result: Result, text: Text) -> str:
    """What one type does, how many of it there are, what the bought ones cost and how they are bought."""
    cards = {
        "gpus": text.number(part.gpus_per_server),
        "gpu": part.gpu,
        "usd": money_of(result, text)(part.compute_usd),
    }
    said = [text(f"mixed_fleet.{name}", servers=text.number(part.servers), offer=part.offer, **cards)]
    if part.contract_servers:
        said.append(text("mixed_fleet.held", held=text.number(part.contract_servers)))
    ways = {text(f"common.way.{way}"): share for way, share in part.purchase_split.items() if share > 0}
    if ways:
        each = [text("mixed_fleet.way", way=way, share=text.percent(share)) for way, share in ways.items()]
        said.append(text("mixed_fleet.bought", ways=text("mixed_fleet.separator").join(each)))
    return text.joined(*said)
