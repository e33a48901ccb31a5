"""Servers bought already: they serve first, and cost the same whatever else is decided."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpudash.assumptions import Known
from gpudash.errors import GpudashError
from gpudash.layers import Layers
from gpudash.result import Assumption, Message
from gpudash.scenario import Contract
from gpudash.units import HOURS_PER_MONTH


@dataclass(frozen=True)
class Taken:
    """What servers bought already take over, one entry per candidate."""

    servers: np.ndarray  # that work at the peak of the first month
    served_hours: np.ndarray
    held_hours: np.ndarray  # within the horizon, whether they serve or not

    @classmethod
    def nothing(cls, count: int) -> "Taken":
        """Nothing taken over, for so many candidates."""
        return cls(np.zeros(count, dtype=int), np.zeros(count), np.zeros(count))


def servers_of(known: Known, contract: Contract, rows: np.ndarray) -> np.ndarray:
    """Servers that a contract gives to each of these offers; 0 where it is about something else.

    It counts servers where it names an instance, and cards where it names a GPU: whole servers of them are used.
    """
    offers = known.catalogue.offers
    is_meant = offers.provider[rows] == contract.provider
    if contract.region is not None:
        is_meant = is_meant & (offers.region[rows] == contract.region)
    of_provider = offers.instance[offers.provider == contract.provider]
    if contract.instance_or_gpu in of_provider:
        return np.where(is_meant & (offers.instance[rows] == contract.instance_or_gpu), contract.count, 0)
    try:
        gpu = known.catalogue.hardware.index(contract.instance_or_gpu)
    except GpudashError:
        return np.zeros(len(rows), dtype=int)
    return np.where(is_meant & (offers.gpu_row[rows] == gpu), contract.count // offers.gpus_per_server[rows], 0)


def held_servers(known: Known, rows: np.ndarray) -> np.ndarray:
    """Servers bought already that each of these offers may use, month by month [rows, months]."""
    purchase = known.scenario.purchase
    month = np.arange(purchase.horizon_months)
    held = np.zeros((len(rows), len(month)), dtype=int)
    for contract in purchase.contracts:
        held += servers_of(known, contract, rows)[:, None] * (month < contract.months_left)
    return held


def still_needed(known: Known, rows: np.ndarray, groups: tuple[Layers, ...], group_of: np.ndarray):
    """What each candidate has to serve above the servers bought already: groups, who has which, what is taken.

    Candidates with the same demand and the same contracts share a group.
    """
    taken = Taken.nothing(len(rows))
    if not known.scenario.purchase.contracts:
        return groups, group_of, taken
    held, groups, group_of = held_servers(known, rows), list(groups), group_of.copy()
    made: dict[tuple[int, bytes], int] = {}
    for row in np.flatnonzero(held.any(axis=1)):
        before = groups[group_of[row]]
        key = (int(group_of[row]), held[row].tobytes())
        if key not in made:
            made[key] = len(groups)
            groups.append(before.above(held[row]))
        group_of[row] = made[key]
        needed = before.stacked_servers[1:][before.hours[0] > 0].max(initial=0)
        taken.servers[row] = min(held[row][0], needed)
        taken.served_hours[row] = before.server_hours - groups[made[key]].server_hours
        taken.held_hours[row] = held[row].sum() * HOURS_PER_MONTH
    return tuple(groups), group_of, taken


def sunk_usd(known: Known) -> float:
    """What the contracts cost within the horizon: count × price × 730 h × months left."""
    purchase = known.scenario.purchase
    return sum(
        contract.count * contract.usd_per_hour * HOURS_PER_MONTH * min(contract.months_left, purchase.horizon_months)
        for contract in purchase.contracts
    )


def ledger(known: Known) -> tuple[Assumption, ...]:
    """What is paid anyway, as one number."""
    if not known.scenario.purchase.contracts:
        return ()
    return (Assumption("contracts.sunk_usd", sunk_usd(known), "USD", "derived", "purchase.contracts", ""),)


def warnings(known: Known) -> Iterator[Message]:
    """Contracts that no offer can use: misspelt, or of a machine that this catalogue does not know."""
    every = np.arange(len(known.catalogue.offers))
    for contract in known.scenario.purchase.contracts:
        if contract.count and not servers_of(known, contract, every).any():
            yield Message.of("contracts.of_nothing", provider=contract.provider, item=contract.instance_or_gpu)
