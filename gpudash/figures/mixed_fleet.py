"""Two types of server side by side: whether a base on one and the peak on another is cheaper than one type alone."""

from gpudash.figures.money import money_of
from gpudash.mixed_fleet import mixed_fleet
from gpudash.result import Result
from gpudash.text import Text


def side_by_side(result: Result, text: Text) -> list[str]:
    """The cheapest pair with its gain over the cheapest single type, or that no pair is cheaper."""
    found = mixed_fleet(result.scenario, result.catalogue)
    if found is None:
        return [text("mixed_fleet.only_serving")]
    if found.base is None:
        return [text("mixed_fleet.no_gain", pairs=text.number(found.pairs_tried), single=found.single)]
    money = money_of(result, text)
    said = {"total": money(found.total_usd), "gain": money(found.gain_usd), "share": text.percent(found.gain_fraction)}
    lines = [text("mixed_fleet.gain", single=found.single, **said)]
    for name, part in (("base", found.base), ("peak", found.peak)):
        cards = {"gpus": text.number(part.gpus_per_server), "gpu": part.gpu}
        words = {"servers": text.number(part.servers), "offer": part.offer, "usd": money(part.compute_usd)}
        lines.append(text(f"mixed_fleet.{name}", **cards, **words))
    return lines if found.one_provider else [*lines, text("mixed_fleet.two_providers")]
