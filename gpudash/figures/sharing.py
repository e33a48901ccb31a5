"""Parts of a card and the network between servers: what a model needs of a slice, what a run loses on a network."""

import numpy as np

from gpudash.figures._choices import price_source
from gpudash.figures._money import money_of
from gpudash.figures._table import Table, table
from gpudash.result import Result
from gpudash.scaling import losses_of
from gpudash.slices import serving_slices
from gpudash.text import Text


def slices(result: Result, text: Text) -> Table | None:
    """The smallest MIG slice of every card that holds the model, how fast it is and what it costs with all in use."""
    catalogue, money = result.catalogue, money_of(result, text)
    found = serving_slices(result, catalogue.hardware)
    if not found:
        return None
    columns = [
        (text("workload.column_gpu"), [one.slice.gpu for one in found]),
        (text("sharing.column_slice"), [one.slice.profile for one in found]),
        (text("sharing.column_per_card"), [one.slice.most_per_card for one in found], "number"),
        (text("sharing.column_gb"), [one.slice.usable_gb for one in found], "number"),
        (text("workload.column_batch"), [one.batch_size for one in found], "number"),
        (text("workload.column_speed"), [one.output_tokens_per_s for one in found], "number"),
        (
            text("sharing.column_price", currency=money.currency),
            [_price(one.slice, catalogue, money) for one in found],
            "number",
        ),
    ]
    title = text("sharing.slices_title", model=result.sizing.model.title, needed=text.number(found[0].needed_gb))
    return table(title, columns, text("sharing.slices_source") + " " + price_source(result, money, text))


def _price(slice_, catalogue, money) -> float | None:
    """The cheapest card's hour on demand over its slices; None where nobody offers the card."""
    offers, row = catalogue.offers, catalogue.hardware.index(slice_.gpu)
    prices = offers.on_demand_usd_per_gpu_hour[(offers.gpu_row == row) & (offers.gpu_fraction == 1)]
    return money.amount(float(np.nanmin(prices))) / slice_.most_per_card if np.isfinite(prices).any() else None


def networks(result: Result, text: Text) -> Table | None:
    """What each network between the servers would cost the recommended runs, from the better to the worse end."""
    losses, money = losses_of(result), money_of(result, text)
    if not losses:
        return None
    columns = [
        (text("sharing.column_network"), [loss.network.name for loss in losses]),
        (text("sharing.column_better_speed"), [loss.speed_fraction[1] for loss in losses], "percent"),
        (text("sharing.column_worse_speed"), [loss.speed_fraction[0] for loss in losses], "percent"),
        (text("sharing.column_better_hours"), [loss.gpu_hours_lost[1] for loss in losses], "number"),
        (text("sharing.column_worse_hours"), [loss.gpu_hours_lost[0] for loss in losses], "number"),
        (
            text("sharing.column_better_money", currency=money.currency),
            [money.amount(loss.usd_lost[1]) for loss in losses],
            "number",
        ),
        (
            text("sharing.column_worse_money", currency=money.currency),
            [money.amount(loss.usd_lost[0]) for loss in losses],
            "number",
        ),
        (text("sharing.column_assumption"), [text.say(loss.assumption) for loss in losses]),
    ]
    return table(text("sharing.networks_title"), columns, text("sharing.networks_source"))
