"""What two types of server would save beside the answer, which stands on one: said only where it is worth it."""

from gpudash.figures.mixed_fleet import part_name
from gpudash.figures.money import money_of
from gpudash.figures.table import PageLink
from gpudash.fleets import Fleets, find_fleets, is_worth_saying
from gpudash.mixed_fleet import MixedFleet
from gpudash.prompt_routing import PromptRouting
from gpudash.result import Result
from gpudash.text import Text


def beside_the_answer(result: Result, text: Text) -> list[str]:
    """A sentence for every kind of fleet that is worth saying, and where the details are."""
    lines = worth_saying(result.fleets or find_fleets(result.scenario, result.catalogue), result, text)
    return [text.joined(line, text("fleets.where")) for line in lines]


def worth_saying(found: Fleets, result: Result, text: Text) -> list[str]:
    """The same sentences of fleets already found, or of what of them is found so far."""
    said = []
    if is_worth_saying(found.side_by_side):
        said.append((_side_by_side(found.side_by_side, result, text), found.side_by_side.one_provider))
    if is_worth_saying(found.routed):
        said.append((_routed(found.routed, result, text), found.routed.one_provider))
    two_providers = text("fleets.two_providers")
    return [sentence if one_provider else text.joined(sentence, two_providers) for sentence, one_provider in said]


def details(found: Fleets, _result: Result, text: Text) -> PageLink | None:
    """The page that has the details, where there is something to say."""
    if not (is_worth_saying(found.side_by_side) or is_worth_saying(found.routed)):
        return None
    return PageLink("purchase_mix", text("fleets.details"))


def _side_by_side(fleet: MixedFleet, result: Result, text: Text) -> str:
    money, months = money_of(result, text), result.scenario.purchase.horizon_months
    said = {name: part_name(part, text) for name, part in (("base", fleet.base), ("peak", fleet.peak))}
    said["monthly"] = money(fleet.total_usd / months)
    if fleet.single is None:
        return text("fleets.only", **said)
    said |= {"gain": money(fleet.gain_usd / months), "share": text.percent(fleet.gain_fraction)}
    answer = result.recommendation
    if answer is not None and answer.tco_usd > fleet.single_usd:
        return text("fleets.gain_over_cheapest", single=fleet.single, **said)
    return text("fleets.gain", **said)


def _routed(found: PromptRouting, result: Result, text: Text) -> str:
    money, months = money_of(result, text), result.scenario.purchase.horizon_months
    said = {name: part_name(group, text) for name, group in (("short", found.short), ("long", found.long))}
    if found.single is None:
        return text("fleets.routed_only", monthly=money(found.total_usd / months), **said)
    said |= {"gain": money(found.gain_usd / months), "share": text.percent(found.gain_fraction)}
    return text("fleets.routed", single=found.single, **said)
