"""Energy and CO2e of running servers, from the cards' power, how busy they are, the building and the grid."""

import numpy as np

from gpudash.assumptions import Known
from gpudash.purchase_mix import COMMITMENTS, KINDS, Plan
from gpudash.result import Assumption
from gpudash.units import GRAMS_PER_KG, HOURS_PER_MONTH, W_PER_KW

RATED = "server_power_per_card_power"
IDLE = "server_idle_power_fraction"
ACTIVE = {True: "training_power_fraction", False: "inference_power_fraction"}  # is it training?
PUE = "pue_industry_average"


def rated_server_kw(catalogue, gpu_row: int, cards: float) -> float | None:
    """Rated power of a whole server: its cards' power × a server's share on top; None where the card's is unknown.

    `cards` may be a fraction where a server holds slices of cards.
    """
    tdp_w = catalogue.hardware.tdp_w[gpu_row]
    rated_kw = float(tdp_w * cards * catalogue.defaults[RATED].value / W_PER_KW)
    return rated_kw if np.isfinite(rated_kw) else None


def server_kwh(known: Known, rated_kw, on_hours, busy_hours):
    """Energy of servers that are on for some hours and fully busy in a part of them, before cooling.

    rated × (idle share × on hours + (share at work - idle share) × busy hours): power rises in proportion to work.
    """
    idle, active = power_shares(known)
    return rated_kw * (idle * on_hours + (active - idle) * busy_hours)


def power_shares(known: Known) -> tuple[float, float]:
    """What a server draws of its rated power when it does nothing, and when it is fully busy."""
    defaults = known.catalogue.defaults
    return defaults[IDLE].value, defaults[ACTIVE[known.is_training]].value


def busy_server_hours(known: Known, requests_per_s: float) -> np.ndarray:
    """Hours a month that servers of this capacity would work if they were always full: load / capacity [months].

    The burst factor is room kept free, not work.
    """
    per_month = known.load.requests_per_s.mean(axis=1)[known.load.month_row] * HOURS_PER_MONTH
    return per_month / known.scenario.traffic.burst_factor / requests_per_s


def choice_energy(
    known: Known, costs, candidate: int, mix: Plan, requests_per_s: float
) -> tuple[float | None, float | None]:
    """kWh and kg CO2e of the mean month of one candidate; None where the card's power or the grid is unknown.

    `requests_per_s`: of one full server. Servers that are let go draw nothing; committed ones, those bought
    already among them, that serve nothing idle.
    Work repeated on spot counts. Where a provider publishes no power usage effectiveness, the industry's average stands
    in.
    """
    offers, months = known.catalogue.offers, known.scenario.purchase.horizon_months
    offer = costs.rows[candidate]
    cards = offers.gpus_per_server[offer] * offers.gpu_fraction[offer]
    rated_kw = rated_server_kw(known.catalogue, int(offers.gpu_row[offer]), float(cards))
    if rated_kw is None:
        return None, None
    served = {kind: float(np.sum(mix.served_hours[kind])) for kind in KINDS}
    running = sum(served.values())
    repeated = 1 + served["spot"] / running * float(costs.prices.rework_fraction[candidate]) if running else 1.0
    idle_hours = _held_hours(mix) - sum(served[kind] for kind in COMMITMENTS)
    bought_already = costs.taken.held_hours[candidate]
    in_runs = running + costs.taken.served_hours[candidate]
    busy = in_runs if known.is_training else float(busy_server_hours(known, requests_per_s).sum())
    on_hours = running * repeated + idle_hours + bought_already
    kwh = server_kwh(known, rated_kw, on_hours, busy * repeated) / months
    region = known.catalogue.regions.get((str(offers.provider[offer]), str(offers.region[offer])))
    pue = region.pue if region is not None and np.isfinite(region.pue) else known.catalogue.defaults[PUE].value
    return kwh * pue, None if region is None else kgco2e(kwh * pue, region.grid_gco2_per_kwh)


def kgco2e(kwh: float, grid_gco2_per_kwh: float) -> float | None:
    """Emissions of the grid that delivers the energy, without those of making the hardware; None without a figure."""
    return kwh * grid_gco2_per_kwh / GRAMS_PER_KG if np.isfinite(grid_gco2_per_kwh) else None


def ledger(known: Known) -> tuple[Assumption, ...]:
    """The figures behind the energy of a choice."""
    found = (known.catalogue.defaults[name] for name in (RATED, IDLE, ACTIVE[known.is_training], PUE))
    return tuple(
        Assumption(f"energy.{entry.name}", entry.value, entry.unit, "default", entry.source, entry.as_of)
        for entry in found
    )


def _held_hours(mix: Plan) -> float:
    """Hours of all committed servers within the horizon, used or not."""
    return float(sum(servers.sum() for servers in mix.held_servers.values()) * HOURS_PER_MONTH)
