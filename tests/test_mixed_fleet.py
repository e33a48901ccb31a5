"""Two types side by side: never dearer than the best single one, and the cheapest of its form whatever bounds skip."""

import numpy as np
import pytest

from gpudash import fleet_costs
from gpudash.assumptions import assume
from gpudash.catalogue import load_catalogue
from gpudash.contracts import held_servers, servers_of
from gpudash.demand import Load, inference_servers
from gpudash.evaluate import evaluate, solve
from gpudash.fleet_costs import FleetCosts
from gpudash.layers import layers
from gpudash.mixed_fleet import mixed_fleet
from gpudash.purchase_mix import best_mix, server_usd
from gpudash.scenario import Scenario

BIG_CLOUDS = {
    "workload": {"model": "llama-3.1-8b"},
    "traffic": {"peak_requests_per_s": 100},
    "requirements": {"providers_in": ["AWS", "Azure", "GCP"]},
}


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue()


def scenario(**changes) -> Scenario:
    return Scenario.read(BIG_CLOUDS).with_values({path.replace("__", "."): value for path, value in changes.items()})


@pytest.fixture(scope="module")
def fleet(catalogue):
    return mixed_fleet(scenario(), catalogue)


def test_two_types_can_be_cheaper_than_one_and_the_gain_is_in_money(fleet, catalogue):
    assert fleet.single_usd == pytest.approx(evaluate(scenario(), catalogue).cheapest.tco_usd)
    assert fleet.gain_usd == pytest.approx(fleet.single_usd - fleet.total_usd)
    assert fleet.gain_usd > 0
    assert fleet.base.gpu != fleet.peak.gpu
    assert fleet.total_usd == pytest.approx(
        fleet.base.compute_usd + fleet.peak.compute_usd
    )  # nothing else is asked for


def test_base_and_peak_together_serve_every_hour(fleet, catalogue):
    """The parts recomputed from the load: what the base cannot take, the peak does."""
    solved = solve(assume(scenario(), catalogue))
    known, sized, offers = solved.known, solved.sized, catalogue.offers

    def shape(part):
        return int(solved.shapes.of_offer[np.flatnonzero(offers.id == part.offer)[0]])

    traffic = known.scenario.traffic
    one, two = shape(fleet.base), shape(fleet.peak)
    alone = inference_servers(traffic, known.load, sized.requests_per_s[one], sized.replicas_per_server[one])
    base = np.minimum(alone, fleet.base.servers)
    taken = fleet.base.servers * sized.requests_per_s[one] * traffic.target_utilisation_fraction
    rest = inference_servers(
        traffic, known.load, sized.requests_per_s[two], sized.replicas_per_server[two],
        served_elsewhere_requests_per_s=taken, replicas_elsewhere=fleet.base.servers,
    )  # fmt: skip
    capacity = taken + rest * sized.requests_per_s[two] * traffic.target_utilisation_fraction
    assert (capacity >= known.load.requests_per_s - 1e-9).all()
    hours = 36 * 730 / 168
    assert fleet.base.served_hours == pytest.approx(base.sum() * hours)
    assert fleet.peak.served_hours == pytest.approx(rest.sum() * hours)
    for part, servers in ((fleet.base, base), (fleet.peak, rest)):
        row = np.flatnonzero(solved.costs.rows == np.flatnonzero(offers.id == part.offer)[0])
        months = np.repeat(servers, 36, axis=0)
        assert part.compute_usd == pytest.approx(
            best_mix(layers(months), **solved.costs.prices.mix_arguments(row)).total_usd[0]
        )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"traffic__growth_fraction_per_month": 0.03},
        {"purchase__spot_fraction": 0.4},
        {"purchase__commitment_cap_servers": 3},
        {"traffic__minimum_replicas": 12},
        {"finance__support_plan": "Business", "finance__credit_usd": 50_000, "finance__credit_share_fraction": 0.4},
        {"traffic__shape": "bursty"},
        {"finance__credit_usd": 50_000, "finance__credit_until_month": 4, "purchase__upfront_fraction": 0.5},
        {"purchase__horizon_months": 30, "purchase__resale_fraction": 0.5},
        {
            "purchase__horizon_months": 18,
            "purchase__resale_fraction": 0.9,
            "purchase__upfront_fraction": 1.0,
            "finance__credit_usd": 2e6,
            "finance__credit_share_fraction": 0.9,
            "finance__credit_until_month": 2,
        },
    ],
)
def test_what_the_bounds_skip_could_not_have_been_cheaper(catalogue, monkeypatch, changes):
    asked = scenario(traffic__peak_requests_per_s=60, **changes)
    quick = mixed_fleet(asked, catalogue)
    monkeypatch.setattr(fleet_costs, "MOST_PRICED", 1_000_000)
    monkeypatch.setattr(FleetCosts, "_least_peak_usd", lambda _, base, numbers, peak: np.full(len(numbers), -1e12))
    slow = mixed_fleet(asked, catalogue)
    assert quick.total_usd == pytest.approx(slow.total_usd, rel=1e-9)
    assert quick.total_usd <= quick.single_usd


def test_a_fleet_of_one_provider_stays_with_it(catalogue):
    together = mixed_fleet(scenario(), catalogue, one_provider=True)
    assert together.base.provider == together.peak.provider
    assert together.one_provider
    assert 0 < together.gain_usd <= mixed_fleet(scenario(), catalogue).gain_usd


def test_where_one_type_is_best_nothing_is_gained(catalogue):
    small = mixed_fleet(scenario(traffic__peak_requests_per_s=0.1), catalogue)
    assert small.gain_usd == 0
    assert small.base is None
    assert small.total_usd == small.single_usd


def test_where_credits_pay_for_everything_nothing_is_gained(catalogue):
    paid = mixed_fleet(scenario(finance__credit_usd=1e9, storage__egress_gb_per_month=5000), catalogue)
    assert paid.single_usd == pytest.approx(0, abs=0.01)
    assert (paid.base, paid.gain_usd) == (None, 0)


def test_runs_and_impossible_wishes_have_no_fleet(catalogue):
    assert mixed_fleet(Scenario.read({"workload": {"kind": "training"}}), catalogue) is None
    assert mixed_fleet(scenario(requirements__gpus_in=["T4"], workload__model="llama-3.1-405b"), catalogue) is None


def test_each_server_of_a_stack_pays_its_own_layer_and_together_they_pay_the_mix():
    rng = np.random.default_rng(5)
    for number in range(50):
        demand = rng.integers(0, rng.integers(1, 12) + 1, (24, 20))
        firm = np.floor(demand * rng.uniform()).astype(int)
        prices = {
            "on_demand_usd_per_hour": 10.0, "spot_usd_per_hour": 10 * rng.uniform(0.3, 1.1),
            "reserved_1y_usd_per_hour": 10 * rng.uniform(0.4, 1.0),
            "reserved_3y_usd_per_hour": 10 * rng.uniform(0.2, 0.9),
            "monthly_usd_per_hour": 10 * rng.uniform(0.5, 1.0) if number % 2 else float("nan"),
        }  # fmt: skip
        cap = None if number % 3 else int(rng.integers(0, 12))
        each = server_usd(layers(demand, firm), commitment_cap_servers=cap, **prices)
        assert len(each) == demand.max()
        total = best_mix(layers(demand, firm), commitment_cap_servers=cap, **prices).total_usd[0]
        assert each.sum() == pytest.approx(total)


def test_two_types_together_stay_within_a_quota(catalogue):
    free = mixed_fleet(scenario(), catalogue, one_provider=True)
    provider = free.base.provider
    used = sum(part.servers * part.gpus_per_server for part in (free.base, free.peak))
    quota = {"provider": provider, "gpus": used - 1}
    bound = mixed_fleet(scenario(requirements__quotas=[quota]), catalogue, one_provider=True)
    parts = [part for part in (bound.base, bound.peak) if part and part.provider == provider]
    assert sum(part.servers * part.gpus_per_server for part in parts) < used


FEW = {
    "workload": {"model": "llama-3.1-8b"},
    "requirements": {"providers_in": ["AWS", "GCP"], "gpus_in": ["L4", "A100-40GB SXM"], "countries": ["US"]},
}


def by_hand(asked: Scenario, catalogue) -> float:
    """The cheapest pair of this form found hour by hour: every pair, every base, every division of the cap."""
    solved = solve(assume(asked, catalogue))
    known, sized, costs = solved.known, solved.sized, solved.costs
    traffic, cap = known.scenario.traffic, known.scenario.purchase.commitment_cap_servers
    contracts = known.scenario.purchase.contracts
    shape, held = solved.shapes.of_offer[costs.rows], held_servers(known, costs.rows)
    months = Load(known.load.requests_per_s[known.load.month_row], np.arange(held.shape[1]))

    def usd(candidate, needed, most):
        bought = np.maximum(needed - held[candidate][:, None], 0)
        prices = costs.prices.mix_arguments([candidate])
        return float(best_mix(layers(bought), commitment_cap_servers=most, **prices).total_usd[0])

    def alone(candidate):
        row = shape[candidate]
        return inference_servers(traffic, months, sized.requests_per_s[row], sized.replicas_per_server[row])

    cheapest = np.inf
    for base in range(len(costs)):
        for peak in range(len(costs)):
            is_shared = any((servers_of(known, c, costs.rows[[base, peak]]) > 0).all() for c in contracts)
            is_alike = shape[base] == shape[peak] and not held[[base, peak]].any()
            if base == peak or is_shared or is_alike:
                continue
            one, two = shape[base], shape[peak]
            for servers in range(alone(base).max()):
                standing = np.maximum(held[base], servers)
                rest = inference_servers(
                    traffic, months, sized.requests_per_s[two], sized.replicas_per_server[two],
                    served_elsewhere_requests_per_s=standing
                    * sized.requests_per_s[one] * traffic.target_utilisation_fraction,
                    replicas_elsewhere=standing * sized.replicas_per_server[one],
                )  # fmt: skip
                below = np.minimum(alone(base), standing[:, None])
                for to_base in range(cap + 1) if cap is not None else [None]:
                    to_peak = None if cap is None else cap - to_base
                    cheapest = min(cheapest, usd(base, below, to_base) + usd(peak, rest, to_peak))
    return cheapest


@pytest.mark.parametrize("number", range(6))
def test_with_contracts_and_a_cap_the_fleet_is_the_cheapest_there_is(catalogue, number):
    rng = np.random.default_rng(number)
    contracts = [
        {"provider": "AWS", "instance_or_gpu": "p4d.24xlarge", "count": int(rng.integers(1, 3)), "usd_per_hour": 9.0,
         "months_left": int(rng.integers(1, 14))},
        {"provider": "GCP", "instance_or_gpu": "L4", "count": int(rng.integers(4, 13)), "usd_per_hour": 1.0,
         "months_left": int(rng.integers(1, 14))},
    ]  # fmt: skip
    asked = Scenario.read(FEW).with_values(
        {
            "traffic.peak_requests_per_s": float(rng.uniform(5, 20)),
            "traffic.growth_fraction_per_month": float(rng.choice([0.0, 0.05])),
            "traffic.minimum_replicas": int(rng.integers(1, 4)),
            "purchase.horizon_months": 12,
            "purchase.contracts": contracts[: int(rng.integers(0, 3))],
            "purchase.commitment_cap_servers": [None, 1, 3][number % 3],
        }
    )
    found, cheapest = mixed_fleet(asked, catalogue), by_hand(asked, catalogue)
    assert found.total_usd == pytest.approx(min(cheapest, found.single_usd), rel=1e-9)
    assert found.single_usd == pytest.approx(evaluate(asked, catalogue).cheapest.tco_usd, rel=1e-9)


def test_one_savings_plan_pays_for_both_types_where_both_are_bought_by_it(catalogue):
    """A load that never changes keeps all servers of both types busy for three years."""
    plans = [{"provider": "AWS", "reserved_3y_discount_fraction": 0.6}]
    flat = {"traffic__shape": "flat", "traffic__peak_requests_per_s": 37, "requirements__providers_in": ["AWS"]}
    found = mixed_fleet(scenario(**flat, purchase__savings_plans=plans), catalogue)
    row = {offer: row for row, offer in enumerate(catalogue.offers.id)}
    listed = sum(
        part.servers * catalogue.offers.on_demand_usd_per_hour[row[part.offer]] for part in (found.base, found.peak)
    )
    assert found.shared_plan_usd_per_hour == {"reserved_3y": pytest.approx(0.4 * listed)}
    assert found.total_usd == pytest.approx(3 * 8760 * 0.4 * listed)
    without = mixed_fleet(scenario(**flat), catalogue)
    assert without.shared_plan_usd_per_hour == {}
