"""Hardware of one's own: what it costs to buy and run, and what it saves when the cloud serves only the rest.

Own servers are always on and serve the lowest layers of the demand; what is left is bought on the recommended offer,
again in the cheapest mix. Money bought today stands in month 0; everything else falls due at the end of its month.
"""

from dataclasses import dataclass, replace

import numpy as np

from gpudash.assumptions import Known
from gpudash.candidates import software_reason
from gpudash.contracts import held_servers
from gpudash.demand import Load, inference_servers
from gpudash.demand_layers import run_layers, service_layers
from gpudash.energy import busy_server_hours, kgco2e, server_kwh
from gpudash.finance import npv_usd, payback_months
from gpudash.layers import Layers
from gpudash.owned_terms import CARDS_PER_PRICED_SERVER, Terms, terms_of
from gpudash.result import Assumption, Bill, Choice, Message
from gpudash.sizing import Shapes, Sized, size
from gpudash.tco import bill, costs_of_layers, mix_plan
from gpudash.units import HOURS_PER_MONTH, MONTHS_PER_YEAR


@dataclass(frozen=True)
class OwnedMonth:
    """One month with own servers, USD before tax: `total_usd` sums the parts, `cloud_only_usd` is the bill without.

    Month 0 is the day of the purchase; selling a server makes `residual_usd` negative. `servers` stand in that month,
    are busy for `busy_server_hours` together and draw `kwh`, cooling included.
    """

    month: int
    servers: int
    busy_server_hours: float
    kwh: float
    hardware_usd: float
    residual_usd: float
    electricity_usd: float
    hosting_usd: float
    maintenance_usd: float
    staff_usd: float
    cloud_usd: float
    total_usd: float
    cloud_only_usd: float


@dataclass(frozen=True)
class Owned:
    """Own servers with the cloud for the rest, against the cloud alone.

    `because` says why own servers cannot do this work; then there are no figures.
    """

    gpu: str
    gpus_per_server: int
    servers: int
    country: str
    because: Message | None
    assumptions: tuple[Assumption, ...] = ()
    capex_usd: float | None = None  # of the servers bought today
    residual_usd: float | None = None  # of all sales within the horizon
    rated_kw: float | None = None  # of all servers
    kwh_per_month: float | None = None  # of the months in which they stand
    kgco2e_per_month: float | None = None
    busy_fraction: float | None = None  # of the hours of the own servers
    served_fraction: float | None = None  # share of the work that own servers do
    months: tuple[OwnedMonth, ...] = ()
    cloud_mix: object = None  # gpudash.purchase_mix.Plan of the rest
    cloud_bill: Bill | None = None  # of the rest
    cloud_servers: int | None = None  # still needed in the cloud, at the peak of the horizon
    total_usd: float | None = None
    npv_usd: float | None = None
    cloud_only_usd: float | None = None
    cloud_only_npv_usd: float | None = None
    saving_usd: float | None = None  # negative: own servers cost more
    payback_months: float | None = None  # None: running them saves nothing


@dataclass(frozen=True)
class _Work:
    """What own servers take over: per month whether they stand, their busy hours, and what is left for the cloud."""

    stand: np.ndarray  # [months], 1 while own servers work
    busy_hours: np.ndarray  # [months], of all own servers
    served_fraction: float
    rest: Layers


def owned(solved, candidate: int, choice: Choice, cloud: Bill) -> Owned | None:
    """Own servers as the scenario has them, beside the cloud answer (`candidate`, its choice and bill); None without.

    Raises `catalogue.unknown_gpu`, `owned.unknown_country`.
    """
    known, finance = solved.known, solved.known.scenario.finance
    if not finance.owned_servers:
        return None
    gpu_row = known.catalogue.hardware.index(finance.owned_gpu or choice.gpu)
    usual = choice.gpus_per_server if finance.owned_gpu is None else CARDS_PER_PRICED_SERVER
    gpus = finance.owned_gpus_per_server or usual
    shapes = Shapes(np.array([gpu_row]), np.array([gpus]), np.ones(1), np.zeros(1, dtype=int))
    own, terms = size(known, shapes), terms_of(known, gpu_row, gpus, choice.country)
    because = own.because[0] or software_reason(known, shapes, 0) or terms.missing or _too_few(known, own)
    if because is not None:
        return Owned(terms.gpu, gpus, finance.owned_servers, terms.country, because, terms.assumptions)
    return _beside_cloud(solved, terms, _work(solved, own, candidate, terms), candidate, cloud)


def _too_few(known: Known, own: Sized) -> Message | None:
    """A run is not spread over two places: own servers do it alone or not at all."""
    servers = known.scenario.finance.owned_servers
    if known.is_training and servers < own.servers_per_run[0]:
        return Message.of("owned.too_few_for_a_run", servers=servers, needed=int(own.servers_per_run[0]))
    return None


def _work(solved, own: Sized, candidate: int, terms: Terms) -> _Work:
    """Own servers take the lowest part of every hour's load, or the whole of a run."""
    known, sized, costs = solved.known, solved.sized, solved.costs
    months, servers = known.scenario.purchase.horizon_months, known.scenario.finance.owned_servers
    replaced = known.scenario.finance.after_life == "replace"
    stand = np.where(replaced | (np.arange(months) < terms.life_months), 1.0, 0.0)
    whole = costs.groups[costs.group_of[candidate]]
    if known.is_training:
        share = float(np.average(stand, weights=whole.hours[:, 0]))
        runs = run_layers(known, int(own.servers_per_run[0]), float(own.run_hours[0]))
        left = (1 - stand)[:, None]
        rest = replace(whole, hours=whole.hours * left, firm_hours=whole.firm_hours * left)
        return _Work(stand, runs.hours[:, 0] * runs.servers[0] * stand, share, rest)
    traffic, load = known.scenario.traffic, known.load
    shape = solved.shapes.of_offer[costs.rows[candidate]]
    month_load = Load(load.requests_per_s[load.month_row], np.arange(months))
    elsewhere = servers * own.requests_per_s[0] * traffic.target_utilisation_fraction * stand
    replicas = servers * own.replicas_per_server[0] * stand
    left = inference_servers(
        traffic,
        month_load,
        sized.requests_per_s[shape],
        sized.replicas_per_server[shape],
        served_elsewhere_requests_per_s=elsewhere,
        replicas_elsewhere=replicas,
    )
    taken = np.minimum(month_load.requests_per_s, elsewhere[:, None])
    share = taken.mean(axis=1) / month_load.requests_per_s.mean(axis=1)
    busy = busy_server_hours(known, float(own.requests_per_s[0]))
    held = held_servers(known, costs.rows[[candidate]])[0]
    rest = service_layers(known, left, month_load.month_row).above(held)
    return _Work(stand, busy * share, float(np.average(share, weights=busy)), rest)


def _beside_cloud(solved, terms: Terms, work: _Work, candidate: int, cloud: Bill) -> Owned:
    """Money and energy month by month, with the rest bought anew on the answer's offer."""
    known = solved.known
    finance, months = known.scenario.finance, known.scenario.purchase.horizon_months
    servers = finance.owned_servers
    left = costs_of_layers(known, int(solved.costs.rows[candidate]), work.rest)
    mix = mix_plan(known, left, 0)
    rest = bill(known, left, 0, mix, cloud.choice_id)
    hardware, residual = trades(terms, months, finance.after_life == "replace")
    kwh = server_kwh(known, terms.rated_kw, servers * HOURS_PER_MONTH * work.stand, work.busy_hours) * terms.pue
    purchase_usd = servers * terms.server_usd
    parts = {
        "hardware_usd": purchase_usd * hardware,
        "residual_usd": 0 - purchase_usd * residual,
        "electricity_usd": _from_month_1(kwh * terms.electricity_usd_per_kwh),
        "hosting_usd": _from_month_1(servers * terms.rated_kw * terms.hosting_usd_per_kw_month * work.stand),
        "maintenance_usd": _from_month_1(
            purchase_usd * terms.maintenance_fraction_per_year / MONTHS_PER_YEAR * work.stand
        ),
        "staff_usd": _from_month_1(terms.staff_usd_per_month * work.stand),
        "cloud_usd": _from_month_1([month.total_usd for month in rest.months]),
    }
    total, alone = sum(parts.values()), _from_month_1([month.total_usd for month in cloud.months])
    stands = np.append(0, work.stand)
    running_saving = (alone - total + parts["hardware_usd"] + parts["residual_usd"]) * stands
    payback = payback_months(parts["hardware_usd"][0], running_saving.sum() / stands.sum())
    present_usd = total[0] + npv_usd(total[1:], finance.discount_rate_fraction)
    on_hours = servers * HOURS_PER_MONTH * work.stand.sum()
    kwh_per_month = float(kwh.sum() / work.stand.sum())
    use = {"busy_server_hours": _from_month_1(work.busy_hours), "kwh": _from_month_1(kwh)}
    return Owned(
        gpu=terms.gpu,
        gpus_per_server=terms.gpus_per_server,
        servers=servers,
        country=terms.country,
        because=None,
        assumptions=terms.assumptions,
        capex_usd=float(parts["hardware_usd"][0]),
        residual_usd=float(-parts["residual_usd"].sum()),
        rated_kw=servers * terms.rated_kw,
        kwh_per_month=kwh_per_month,
        kgco2e_per_month=kgco2e(kwh_per_month, terms.grid_gco2_per_kwh),
        busy_fraction=float(work.busy_hours.sum() / on_hours),
        served_fraction=work.served_fraction,
        months=_rows(use | parts | {"total_usd": total, "cloud_only_usd": alone}, servers * stands),
        cloud_mix=mix,
        cloud_bill=rest,
        cloud_servers=int(work.rest.servers[(work.rest.hours > 0).any(axis=0)].sum()),
        total_usd=float(total.sum()),
        npv_usd=float(present_usd),
        cloud_only_usd=cloud.total_usd,
        cloud_only_npv_usd=cloud.npv_usd,
        saving_usd=float(alone.sum() - total.sum()),
        payback_months=float(payback) if np.isfinite(payback) else None,
    )


def trades(terms: Terms, months: int, replaced: bool) -> tuple[np.ndarray, np.ndarray]:
    """Per own server, in the months 0 to the last: how many are bought, and the share of a price that sales bring."""
    bought, brought = np.zeros(months + 1), np.zeros(months + 1)
    for start in range(0, months if replaced else 1, terms.life_months):
        end = min(start + terms.life_months, months)
        bought[start] += 1
        brought[end] += terms.residual_fraction_after(end - start)
    return bought, brought


def _from_month_1(values) -> np.ndarray:
    """Monthly amounts with nothing on the day of the purchase."""
    return np.concatenate(([0.0], values))


def _rows(parts: dict[str, np.ndarray], servers: np.ndarray) -> tuple[OwnedMonth, ...]:
    return tuple(
        OwnedMonth(month, int(standing), **{name: float(values[month]) for name, values in parts.items()})
        for month, standing in enumerate(servers)
    )
