"""Long prompts on one type of server and short ones on another: what that would save."""

from gpudash.figures.money import money_of
from gpudash.prompt_routing import MOST_DIVIDED, has_long_prompts, prompt_routing
from gpudash.result import Result
from gpudash.text import Text


def routing(result: Result, text: Text) -> list[str]:
    """The cheapest servers for each length of prompt, and the gain over the best single type; blank if none is long."""
    if not has_long_prompts(result.scenario):
        return []
    found = prompt_routing(result.scenario, result.catalogue)
    if found is None:
        return [text("prompt_routing.not_possible", most=text.number(MOST_DIVIDED))]
    money = money_of(result, text)
    lines = []
    for group in (found.short, found.long):
        cards = {"gpus": text.number(group.gpus_per_server), "gpu": group.gpu}
        said = {"servers": text.number(group.servers), "offer": group.offer, "usd": money(group.compute_usd)}
        line = text("prompt_routing.group", tokens=text.number(group.context_tokens), **cards, **said)
        if group.contract_servers:
            line = text.joined(line, text("mixed_fleet.held", held=text.number(group.contract_servers)))
        lines.append(line)
    if not found.one_provider:
        lines.append(text("mixed_fleet.two_providers"))
    total = money(found.total_usd)
    if found.single is None:
        return [text("prompt_routing.no_single", total=total), *lines]
    said = {"total": total, "single": found.single, "single_usd": money(found.single_usd)}
    if found.gain_usd <= 0:
        return [text("prompt_routing.no_gain", **said)]
    gain, share = money(found.gain_usd), text.percent(found.gain_fraction)
    return [text("prompt_routing.gain", gain=gain, share=share, **said), *lines]
