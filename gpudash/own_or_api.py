"""Own GPUs against a hosted model paid per token: what each costs, and from which use on own GPUs are cheaper.

Compared is only what differs: servers, their support and staff against tokens. Storage, traffic and moving are needed
either way. Own GPUs stand for the recommended offer (or the cheapest that works), rented.
"""

from dataclasses import dataclass, replace

import numpy as np

from gpudash.api_prices import ApiPrice, api_prices
from gpudash.assumptions import Known, assume
from gpudash.catalogue import Catalogue
from gpudash.demand import inference_servers
from gpudash.demand_layers import service_layers
from gpudash.energy import busy_server_hours
from gpudash.evaluate import Solved, evaluate, solve
from gpudash.result import Choice
from gpudash.scenario import Scenario, bounds
from gpudash.tco import costs_of_layers, staff_usd_per_month
from gpudash.units import SECONDS_PER_HOUR, TOKENS_PER_MILLION

_VOLUMES = 49  # traffic levels tried, evenly spread in ratio, before the crossing is narrowed down
_NEARBY = 128  # tried again around the crossing found
_FACTOR = 10_000.0  # from the scenario's traffic divided by this to multiplied by it
_HALVINGS = 20


@dataclass(frozen=True)
class ApiOffer:
    """One hosted price against own GPUs, for the mean month of the scenario.

    `break_even_utilisation` is the share of the paid server-hours' capacity from which on own GPUs are cheaper; above 1
    (None) they never are. `break_even_requests_per_month` is the volume above which they stay cheaper, with whole
    servers and the purchase mix bought anew for every volume; None where none was found.
    """

    price: ApiPrice
    usd_per_month: float
    usd_per_request: float
    saving_of_own_usd_per_month: float  # negative: the hosted model is cheaper
    break_even_utilisation: float | None
    break_even_requests_per_month: float | None


@dataclass(frozen=True)
class OwnOrApi:
    """Own GPUs of one offer beside every price at which the same model is hosted, cheapest first."""

    choice: Choice
    requests_per_month: float
    input_tokens_per_month: float  # not found in the cache
    cached_input_tokens_per_month: float
    output_tokens_per_month: float
    own_usd_per_month: float
    own_usd_per_request: float
    utilisation_fraction: float  # work done / capacity of the server-hours used
    offers: tuple[ApiOffer, ...]


def own_or_api(scenario: Scenario, catalogue: Catalogue) -> OwnOrApi | None:
    """Own GPUs against hosted prices; None where the work is not counted in tokens or nothing can serve it.

    `offers` is empty where no provider hosts the model. Raises what `evaluate` and `api_prices` raise.
    """
    result = evaluate(scenario, catalogue)
    choice = result.leading
    known = assume(scenario, catalogue)
    if choice is None or known.is_training or not known.output_tokens:
        return None
    solved = solve(known)
    candidate = solved.candidate_of(choice.id)
    requests = _requests_per_month(known)
    own_usd = _own_usd_per_month(solved, candidate, 1.0)
    hours = sum(float(column[candidate]) for column in solved.costs.served_hours.values())
    busy = float(busy_server_hours(known, choice.requests_per_s_per_server).sum())
    input_tokens, cached_tokens = _input_tokens(scenario)
    prices = api_prices(known.model.name, catalogue.snapshot)
    volumes = _Volumes(solved, candidate) if prices else None
    offers = [_offer(volumes, price, requests, own_usd, busy / hours) for price in prices]
    return OwnOrApi(
        choice=choice,
        requests_per_month=requests,
        input_tokens_per_month=requests * input_tokens,
        cached_input_tokens_per_month=requests * cached_tokens,
        output_tokens_per_month=requests * known.output_tokens,
        own_usd_per_month=own_usd,
        own_usd_per_request=own_usd / requests,
        utilisation_fraction=busy / hours,
        offers=tuple(sorted(offers, key=lambda offer: (offer.usd_per_month, offer.price.provider))),
    )


def request_usd(price: ApiPrice, input_tokens: float, cached_input_tokens: float, output_tokens: float) -> float:
    """What one request costs: each kind of token × its price / 10⁶."""
    return (
        input_tokens * price.input_usd_per_million_tokens
        + cached_input_tokens * price.cached_input_usd_per_million_tokens
        + output_tokens * price.output_usd_per_million_tokens
    ) / TOKENS_PER_MILLION


class _Volumes:
    """What own GPUs cost a month at other volumes of the same traffic; each volume is priced once."""

    def __init__(self, solved: Solved, candidate: int):
        self.solved, self.candidate = solved, candidate
        low, high = bounds("traffic.peak_requests_per_s")
        peak = solved.known.scenario.traffic.peak_requests_per_s
        factors = np.geomspace(1 / _FACTOR, _FACTOR, _VOLUMES)
        self.factors = factors[(factors * peak > low) & (factors * peak <= high)]
        self.own_usd = np.array([self.usd(factor) for factor in self.factors])

    def usd(self, factor: float) -> float:
        return _own_usd_per_month(self.solved, self.candidate, factor)

    def break_even(self, api_usd_per_month: float) -> float | None:
        """The factor on the traffic above which own GPUs stay cheaper; None if they still are not at the highest."""
        dearer = self.own_usd > api_usd_per_month * self.factors
        if dearer[-1]:
            return None
        if not dearer.any():
            return 0.0
        last = int(np.flatnonzero(dearer)[-1])
        beyond = self.factors[min(last + 2, len(dearer) - 1)]
        low, high = self._last_crossing(api_usd_per_month, self.factors[last], beyond)
        for _ in range(_HALVINGS):
            middle = np.sqrt(low * high)
            low, high = (middle, high) if self.usd(middle) > api_usd_per_month * middle else (low, middle)
        return float(high)

    def _last_crossing(self, api_usd_per_month: float, low: float, high: float) -> tuple[float, float]:
        """Two neighbouring factors around the end of the last dearer stretch found between two others.

        Every server more is a step up, so that own GPUs may be dearer again a little above a first crossing.
        """
        factors = np.geomspace(low, high, _NEARBY)
        last = max(n for n, factor in enumerate(factors[:-1]) if self.usd(factor) > api_usd_per_month * factor)
        return factors[last], factors[last + 1]


def _offer(volumes: _Volumes, price: ApiPrice, requests: float, own_usd: float, utilisation: float) -> ApiOffer:
    known = volumes.solved.known
    per_request = request_usd(price, *_input_tokens(known.scenario), known.output_tokens)
    api_usd = requests * per_request
    break_even = utilisation * own_usd / api_usd if api_usd else np.inf
    factor = volumes.break_even(api_usd)
    return ApiOffer(
        price=price,
        usd_per_month=api_usd,
        usd_per_request=per_request,
        saving_of_own_usd_per_month=api_usd - own_usd,
        break_even_utilisation=break_even if break_even <= 1 else None,
        break_even_requests_per_month=None if factor is None else factor * requests,
    )


def _input_tokens(scenario: Scenario) -> tuple[float, float]:
    """Input tokens of one request outside and inside the prefix cache."""
    cached = scenario.workload.context_tokens * scenario.traffic.prefix_cache_hit_fraction
    return scenario.workload.context_tokens - cached, cached


def _requests_per_month(known: Known) -> float:
    """Requests of the mean month, without the room kept for bursts."""
    return float(busy_server_hours(known, 1.0).mean() * SECONDS_PER_HOUR)


def _own_usd_per_month(solved: Solved, candidate: int, factor: float) -> float:
    """Servers, support and staff of the mean month when the traffic is multiplied by `factor`."""
    scenario, sized = solved.known.scenario, solved.sized
    traffic = scenario.traffic.model_copy(update={"peak_requests_per_s": scenario.traffic.peak_requests_per_s * factor})
    known = replace(solved.known, scenario=scenario.model_copy(update={"traffic": traffic}))
    offer = int(solved.costs.rows[candidate])
    shape = solved.shapes.of_offer[offer]
    servers = inference_servers(traffic, known.load, sized.requests_per_s[shape], sized.replicas_per_server[shape])
    costs = costs_of_layers(known, offer, service_layers(known, servers))
    finance, months = scenario.finance, scenario.purchase.horizon_months
    return float(costs.compute_usd[0] / months + costs.support_usd_per_month[0] + staff_usd_per_month(finance))
