"""Waiting within a training run: what each network between servers loses, and what shorter waits would save."""

from gpudash.figures.money import money_of
from gpudash.figures.table import Table, table
from gpudash.result import Result
from gpudash.text import Text
from gpudash.training_network import losses_of
from gpudash.waits import waits_of


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


def waits(result: Result, text: Text) -> Table | None:
    """The article's shorter waits, turned into GPU-hours and money of the recommended runs."""
    found, money = waits_of(result), money_of(result, text)
    if not found:
        return None
    columns = [
        (text("waits.column_wait"), [text(f"waits.name_{wait.name}") for wait in found]),
        (text("waits.column_before"), [wait.before_ms for wait in found], "number"),
        (text("waits.column_after"), [wait.after_ms for wait in found], "number"),
        (text("waits.column_saved"), [wait.saved_fraction for wait in found], "percent"),
        (text("waits.column_hours"), [wait.gpu_hours_saved for wait in found], "number"),
        (
            text("waits.column_money", currency=money.currency),
            [money.amount(wait.usd_saved) for wait in found],
            "number",
        ),
        (text("waits.column_assumption"), [text.say(wait.assumption) for wait in found]),
    ]
    return table(text("waits.table_title"), columns, text("waits.table_source", source=found[0].source))
