"""The choices that are shown: a candidate in full, with its layout, purchase mix, costs and energy."""

import numpy as np

from gpudash.assumptions import Known
from gpudash.at_load import LOADS, fleet_responses
from gpudash.bands import at_levels
from gpudash.contracts import sunk_usd
from gpudash.energy import choice_energy
from gpudash.finance import npv_usd, tax_usd
from gpudash.frameworks import FrameworkScores
from gpudash.freshness import oldest_used
from gpudash.offers import offer_id
from gpudash.purchase_mix import KINDS, Plan
from gpudash.recommendation import Order
from gpudash.result import Bill, Choice
from gpudash.sizing import Shapes, Sized
from gpudash.tco import Costs, bill, mix_plan, monthly_usd
from gpudash.units import HOURS_PER_MONTH, SECONDS_PER_HOUR, TOKENS_PER_MILLION

_NAMES = ("provider", "instance", "region", "country", "kind")


class Chooser:
    """Makes the full `Choice` (and bill) of the few candidates that are shown; each once."""

    def __init__(
        self, known: Known, shapes: Shapes, sized: Sized, costs: Costs, scores: FrameworkScores, ordered: Order
    ):
        self.known, self.shapes, self.sized, self.costs = known, shapes, sized, costs
        self.scores, self.ordered = scores, ordered
        self.responses = fleet_responses(known, shapes, sized)
        self._made: dict[int, Choice] = {}
        self._plans: dict[int, Plan] = {}

    def mix(self, candidate: int) -> Plan:
        """The purchase mix of one candidate in detail."""
        if candidate not in self._plans:
            self._plans[candidate] = mix_plan(self.known, self.costs, candidate)
        return self._plans[candidate]

    def bill(self, candidate: int) -> Bill:
        """What one candidate costs, month by month."""
        return bill(self.known, self.costs, candidate, self.mix(candidate), self(candidate).id)

    def __call__(self, candidate: int) -> Choice:
        if candidate not in self._made:
            self._made[candidate] = self._make(int(candidate))
        return self._made[candidate]

    def _make(self, candidate: int) -> Choice:
        offers, offer = self.known.catalogue.offers, self.costs.rows[candidate]
        servers, gpus = int(self.costs.servers[candidate]), int(offers.gpus_per_server[offer])
        shape = self.shapes.of_offer[offer]
        return Choice(
            id=offer_id(offers, offer),
            **{name: str(getattr(offers, name)[offer]) for name in _NAMES},
            gpu=self.known.catalogue.hardware.names[offers.gpu_row[offer]],
            gpus_per_server=gpus,
            servers=servers,
            last_servers=int(self.costs.last_servers[candidate]),
            gpus=servers * gpus,
            contract_servers=int(self.costs.taken.servers[candidate]),
            **self._layout_and_speed(shape),
            **self._money(candidate),
            **_prices(offers, offer),
            **self._energy(candidate, shape),
            score=float(self.scores.scores[candidate]),
            rank=int(self.scores.ranks[candidate]),
            other_regions=self.ordered.other_regions.get(candidate, ()),
        )

    def _layout_and_speed(self, shape: int) -> dict:
        """What one server of the shape does, and how the servers of the first month answer."""
        sized = self.sized
        low, high = float(sized.speed_low[shape]), float(sized.speed_high[shape])
        return {
            "tensor_parallel": int(sized.tensor_parallel[shape]),
            "replicas_per_server": int(sized.replicas_per_server[shape]),
            "batch_size": int(sized.batch_size[shape]),
            "requests_per_s_per_server": _number(sized.requests_per_s[shape]),
            "output_tokens_per_s_per_server": _number(sized.output_tokens_per_s[shape]),
            "utilisation_fraction": _number(sized.utilisation_fraction[shape]),
            "speed_low": low,
            "speed_high": high,
            "speed_bands": at_levels(low, high),
            "ttft_ms": _number(sized.ttft_ms[shape]),
            "tpot_ms": _number(sized.tpot_ms[shape]),
            "run_hours": _number(sized.run_hours[shape]),
            **(self.responses.of(shape) if self.responses else dict.fromkeys(LOADS)),
        }

    def _money(self, candidate: int) -> dict:
        """Totals and unit costs, how the servers are bought, and the age of the oldest price that is paid."""
        known, costs, offers = self.known, self.costs, self.known.catalogue.offers
        finance, budget = known.scenario.finance, known.budget_usd_per_month
        offer = costs.rows[candidate]
        served = {kind: float(costs.served_hours[kind][candidate]) for kind in KINDS}
        hours = sum(served.values())
        (oldest,), (age_days,) = oldest_used(offers, np.array([offer]), {k: np.array([h]) for k, h in served.items()})
        tco_usd = float(costs.tco_usd[candidate])
        month_usd, with_contracts_usd = tco_usd / known.scenario.purchase.horizon_months, tco_usd + sunk_usd(known)
        net_usd = monthly_usd(known, costs, candidate, self.mix(candidate))["total_usd"]
        return {
            "purchase_split": {kind: value / hours for kind, value in served.items()} if hours else {},
            "monthly_usd": month_usd,
            "tco_usd": tco_usd,
            "npv_usd": float(npv_usd(net_usd, finance.discount_rate_fraction)),
            "tax_usd": tax_usd(float(net_usd.sum()), finance.tax_fraction),
            "cost_per_million_tokens_usd": _per_million_tokens(known, with_contracts_usd),
            "cost_per_run_usd": with_contracts_usd / known.scenario.traffic.runs if known.is_training else None,
            "cost_per_gpu_hour_usd": tco_usd / (hours * int(offers.gpus_per_server[offer])) if hours else 0.0,
            "unused_commitment_usd": self.mix(candidate).unused_commitment_usd,
            "within_budget": budget is None or month_usd <= budget,
            "price_as_of": str(offers.as_of_of(oldest)[offer]),
            "price_age_days": int(age_days),
        }

    def _energy(self, candidate: int, shape: int) -> dict:
        per_server = self.sized.requests_per_s[shape]
        kwh, kgco2e = choice_energy(self.known, self.costs, candidate, self.mix(candidate), per_server)
        return {"kwh_per_month": kwh, "kgco2e_per_month": kgco2e}


def _prices(offers, offer: int) -> dict:
    """The listed prices of a server, by every way of buying it."""
    return {
        "on_demand_usd_per_hour": _number(offers.on_demand_usd_per_hour[offer]),
        "spot_usd_per_hour": _number(offers.spot_usd_per_hour[offer]),
        "reserved_1y_usd_per_hour": _number(offers.reserved_1y_usd_per_hour[offer]),
        "reserved_3y_usd_per_hour": _number(offers.reserved_3y_usd_per_hour[offer]),
        "monthly_subscription_usd_per_hour": _number(offers.monthly_usd_per_hour[offer]),
    }


def _number(value) -> float | None:
    return float(value) if np.isfinite(value) else None


def served_tokens_per_month(known: Known) -> float | None:
    """Output tokens of the mean month: load of every hour of the week × tokens per answer; None if none are made."""
    if known.is_training or not known.output_tokens:
        return None
    load = known.load
    per_month = load.requests_per_s.mean(axis=1)[load.month_row].mean() * SECONDS_PER_HOUR * HOURS_PER_MONTH
    return float(per_month / known.scenario.traffic.burst_factor * known.output_tokens)


def _per_million_tokens(known: Known, tco_usd: float) -> float | None:
    tokens = served_tokens_per_month(known)
    months = known.scenario.purchase.horizon_months
    return tco_usd / (tokens * months / TOKENS_PER_MILLION) if tokens else None
