"""The command `mix`: the cheapest split for a demand and prices given as a file."""

import difflib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpudash.errors import GpudashError
from gpudash.layers import layers
from gpudash.purchase_mix import KINDS, break_even_utilisation, plan

# Limits of the file; the last two only keep absurd figures from overflowing.
MAX_YEARS = 3
MAX_SERVERS = 10**9
MAX_USD_PER_HOUR = 10**9
_PRICE_KEYS = tuple(f"{kind}_usd_per_hour" for kind in ("on_demand", "spot", "reserved_1y", "reserved_3y"))


def mix(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of the command `mix`: the cheapest split for a demand given per year and slot.

    `request`: `demand` and `firm` (1 to 3 years of equally many slots, whole servers, a slot stands for 8760 / slots
    hours) and the `*_usd_per_hour` prices of `_PRICE_KEYS`, null where not sold; without an on-demand price commitments
    must cover all demand. Raises a `mix.*` error for anything else, and `mix.nothing_covers` where the prices leave an
    hour that cannot be bought.
    """
    demand, firm, prices = _checked(request)
    if math.isnan(prices["on_demand_usd_per_hour"]):
        prices["spot_usd_per_hour"] = math.nan  # nothing as you go: commitments must cover all demand
    chosen = plan(layers(demand, firm, periods_per_year=1), **prices)
    on_demand, *terms = (prices[f"{kind}_usd_per_hour"] for kind in ("on_demand", "reserved_1y", "reserved_3y"))
    break_even = [None if math.isnan(term + on_demand) else break_even_utilisation(term, on_demand) for term in terms]
    return {
        "total_usd": chosen.total_usd,
        "reserved_3y_servers": int(chosen.reserved_3y_servers[0]),
        "reserved_1y_servers": chosen.reserved_1y_servers.tolist(),
        **{f"{kind}_usd": float(chosen.usd[kind].sum()) for kind in KINDS if kind != "monthly"},
        "unused_commitment_usd": chosen.unused_commitment_usd,
        "break_even_utilisation": dict(zip(("reserved_1y", "reserved_3y"), break_even)),
    }


def _checked(request) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """The command's file as arrays and prices, or the error that says what to correct."""
    if not isinstance(request, Mapping):
        raise GpudashError("mix.not_a_mapping")
    allowed = ("demand", "firm", *_PRICE_KEYS)
    for key in request:
        if key not in allowed:
            nearest = difflib.get_close_matches(str(key), allowed, n=1, cutoff=0)[0]
            raise GpudashError("mix.unknown_key", name=_short(key), nearest=nearest)
    demand, firm = (_checked_servers(name, request.get(name)) for name in ("demand", "firm"))
    if demand.shape != firm.shape:
        raise GpudashError("mix.shapes_differ", demand=_size(demand), firm=_size(firm))
    above = np.argwhere(firm > demand)
    if len(above):
        year, slot = above[0]
        asked = {"firm": int(firm[year, slot]), "demand": int(demand[year, slot])}
        raise GpudashError("mix.firm_above_demand", year=int(year) + 1, slot=int(slot) + 1, **asked)
    return demand, firm, {key: _checked_price(key, request.get(key)) for key in _PRICE_KEYS}


def _checked_servers(name: str, years) -> np.ndarray:
    if not isinstance(years, list) or not all(isinstance(slots, list) for slots in years):
        raise GpudashError("mix.not_lists", name=name)
    if not 1 <= len(years) <= MAX_YEARS:
        raise GpudashError("mix.years", name=name, years=len(years), most=MAX_YEARS)
    for year, slots in enumerate(years, start=1):
        if not slots or len(slots) != len(years[0]):
            raise GpudashError("mix.ragged", name=name, year=year, found=len(slots), expected=len(years[0]) or 1)
        for slot, value in enumerate(slots, start=1):
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not is_number or not 0 <= value <= MAX_SERVERS or value != int(value):
                where = {"name": name, "year": year, "slot": slot}
                raise GpudashError("mix.servers", **where, value=_short(value), most=MAX_SERVERS)
    return np.array(years, dtype=np.int64)


def _checked_price(name: str, value) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= MAX_USD_PER_HOUR:
        raise GpudashError("mix.price", name=name, value=_short(value), most=MAX_USD_PER_HOUR)
    return float(value)


def _short(value) -> str:
    return str(value)[:40]


def _size(servers: np.ndarray) -> str:
    return " x ".join(map(str, servers.shape))
