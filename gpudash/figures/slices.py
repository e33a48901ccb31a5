"""Parts of a card: what a model needs of a slice, how fast it is there, and what it costs with all slices in use."""

import numpy as np

from gpudash.figures.choices import price_source
from gpudash.figures.money import money_of
from gpudash.figures.table import Table, table
from gpudash.result import Result
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
        (text("slices.column_slice"), [one.slice.profile for one in found]),
        (text("slices.column_per_card"), [one.slice.most_per_card for one in found], "number"),
        (text("slices.column_gb"), [one.slice.usable_gb for one in found], "number"),
        (text("workload.column_batch"), [one.batch_size for one in found], "number"),
        (text("workload.column_speed"), [one.output_tokens_per_s for one in found], "number"),
        (
            text("slices.column_price", currency=money.currency),
            [_price(one.slice, catalogue, money) for one in found],
            "number",
        ),
    ]
    title = text("slices.slices_title", model=result.sizing.model.title, needed=text.number(found[0].needed_gb))
    return table(title, columns, text.joined(text("slices.slices_source"), price_source(result, money, text)))


def _price(slice_, catalogue, money) -> float | None:
    """The cheapest card's hour on demand over its slices; None where nobody offers the card."""
    offers, row = catalogue.offers, catalogue.hardware.index(slice_.gpu)
    prices = offers.on_demand_usd_per_gpu_hour[(offers.gpu_row == row) & (offers.gpu_fraction == 1)]
    return money.amount(float(np.nanmin(prices))) / slice_.most_per_card if np.isfinite(prices).any() else None
