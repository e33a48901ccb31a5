"""The network between servers: what a training run loses on each."""

from gpudash.figures.money import money_of
from gpudash.figures.table import Table, table
from gpudash.result import Result
from gpudash.text import Text
from gpudash.training_network import losses_of


def networks(result: Result, text: Text) -> Table | None:
    """What each network between the servers would cost the recommended runs, from the better to the worse end."""
    losses, money = losses_of(result), money_of(result, text)
    if not losses:
        return None
    columns = [
        (text("training_network.column_network"), [loss.network.name for loss in losses]),
        (text("training_network.column_better_speed"), [loss.speed_fraction[1] for loss in losses], "percent"),
        (text("training_network.column_worse_speed"), [loss.speed_fraction[0] for loss in losses], "percent"),
        (text("training_network.column_better_hours"), [loss.gpu_hours_lost[1] for loss in losses], "number"),
        (text("training_network.column_worse_hours"), [loss.gpu_hours_lost[0] for loss in losses], "number"),
        (
            text("training_network.column_better_money", currency=money.currency),
            [money.amount(loss.usd_lost[1]) for loss in losses],
            "number",
        ),
        (
            text("training_network.column_worse_money", currency=money.currency),
            [money.amount(loss.usd_lost[0]) for loss in losses],
            "number",
        ),
        (text("training_network.column_assumption"), [text.say(loss.assumption) for loss in losses]),
    ]
    return table(text("training_network.networks_title"), columns, text("training_network.networks_source"))
