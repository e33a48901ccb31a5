"""Uncertainty: what the answer costs, and whether it is the right one, when nobody knows the inputs exactly.

Demand, growth, prices, discounts, exchange rates and speed are drawn together a few hundred times, and each draw goes
through the same sizing, purchase mix and scores as the answer. Only offers that come near the top, or are among the
cheapest, are followed. How far each factor may move is in data/uncertainty.yaml.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from gpudash.assumptions import Known, assume
from gpudash.bands import SIGMAS
from gpudash.catalogue import Catalogue
from gpudash.evaluate import Fitted, Solved, chosen_scores, fit, limit, price, ranked_offers
from gpudash.frameworks import FrameworkScores
from gpudash.hardware import read_only
from gpudash.offers import offer_id
from gpudash.purchase_mix import KINDS
from gpudash.recommendation import order
from gpudash.scenario import Scenario, bounds
from gpudash.sizing import Shapes, Sized, size
from gpudash.tables import DATA, read_yaml
from gpudash.tco import total_costs
from gpudash.units import HOURS_PER_DAY, HOURS_PER_MONTH

RANDOM_STATE = 20261130
P90 = SIGMAS[0.8]  # standard deviations from the middle to where one of ten lies beyond
BAND = SIGMAS[0.9]  # the same for the ends of a band that holds nine of ten
TOGETHER = 25  # draws between two reports of progress
OPTIONS_SHOWN = 5


@dataclass(frozen=True)
class OptionUncertainty:
    """One offer over all draws: its cost where it can do the work at all, and how often it is the one to choose."""

    offer: str
    roles: tuple[str, ...]  # winner, runner_up, cheapest
    p10_usd: float | None
    p50_usd: float | None
    p90_usd: float | None
    feasible_fraction: float
    right_fraction: float


@dataclass(frozen=True)
class TornadoBar:
    """Cost of the winner over the horizon with one factor at its low and its high end, and who would be recommended."""

    factor: str
    low_usd: float | None
    high_usd: float | None
    low_answer: str | None
    high_answer: str | None

    @property
    def width_usd(self) -> float:
        """How far the cost moves; without limit where the winner cannot do the work at one end."""
        if self.low_usd is None or self.high_usd is None:
            return np.inf
        return abs(self.high_usd - self.low_usd)


@dataclass(frozen=True)
class Uncertainty:
    """What `draws` draws say; `total` were asked for, and fewer were made if somebody stopped."""

    draws: int
    total: int
    options: tuple[OptionUncertainty, ...]  # those with a role first, then the ones most often right
    nothing_fraction: float  # draws in which nothing meets the wishes
    tornado: tuple[TornadoBar, ...]  # widest first

    @property
    def fraction(self) -> float:
        """How much of what was asked for is done, 0 to 1."""
        return self.draws / self.total

    def sampling_error(self, share: float) -> float:
        """How far a share of the draws may lie from that of endlessly many, in nine of ten cases.

        z √(p (1 − p) / n) with n draws and p as if z² more had been made, half of them with and half without.
        Source: Agresti and Coull, Approximate is better than exact, 1998.
        """
        draws = self.draws + BAND**2
        middle = (share * self.draws + BAND**2 / 2) / draws
        return float(BAND * np.sqrt(middle * (1 - middle) / draws))


def simulate(
    scenario: Scenario,
    catalogue: Catalogue,
    progress: Callable[[Uncertainty], object] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Uncertainty | None:
    """All draws at once; `progress` is called every few draws. None where nothing can do the work at all."""
    last = None
    for last in draw(scenario, catalogue):
        if progress is not None:
            progress(last)
        if should_stop is not None and should_stop():
            break
    return last


def draw(scenario: Scenario, catalogue: Catalogue) -> Iterator[Uncertainty]:
    """The draws in batches, each report over all draws so far; stop asking and they stop."""
    field = Field(scenario, catalogue)
    if not len(field.rows):
        return
    tornado = _tornado(field)
    total, dice = uncertainty_rules()["draws"], np.random.default_rng(RANDOM_STATE)
    tco, first = [], []
    for number in range(1, total + 1):
        costs, answer = field.outcome(Deviations.drawn(dice, field))
        tco.append(costs)
        first.append(answer)
        if number % TOGETHER == 0 or number == total:
            yield _summary(field, np.array(tco), np.array(first), total, tornado)


@lru_cache(maxsize=1)
def uncertainty_rules() -> dict:
    """How far each factor may move, and how many draws are made: data/uncertainty.yaml."""
    return read_yaml(DATA / "uncertainty.yaml")


@dataclass(frozen=True)
class Deviations:
    """How far everything lies from its middle in one draw, in standard deviations."""

    demand: float
    growth: float
    list_price: np.ndarray  # per provider and GPU
    discount: np.ndarray  # per provider
    spot_price: np.ndarray  # per provider and GPU
    exchange_rate: np.ndarray  # per currency
    speed: np.ndarray  # per GPU

    @classmethod
    def drawn(cls, dice: np.random.Generator, field: "Field") -> "Deviations":
        """One draw for everything that moves."""
        sizes = field.sizes
        alone = {name: float(dice.standard_normal()) for name in ("demand", "growth")}
        return cls(**alone, **{name: dice.standard_normal(count) for name, count in sizes.items()})

    @classmethod
    def of_one(cls, field: "Field", factor: str | None, deviation: float) -> "Deviations":
        """Everything in its middle except one factor, which moves everywhere at once."""
        alone = {name: deviation if name == factor else 0.0 for name in ("demand", "growth")}
        arrays = {name: np.full(count, deviation if name == factor else 0.0) for name, count in field.sizes.items()}
        return cls(**alone, **arrays)


class Field:
    """The offers that are followed, and the answer for any deviations."""

    def __init__(self, scenario: Scenario, catalogue: Catalogue):
        self.known = assume(scenario, catalogue)
        self.fitted = fit(self.known)
        solved = limit(self.known, self.fitted, price(self.known, self.fitted))
        self.scores = chosen_scores(solved)
        ranked = ranked_offers(solved, self.scores)
        self.rows = _followed(self.known, solved, self.scores, ranked)
        self.roles = self._roles(solved, ranked)
        self._imputed = self._filled(solved)
        offers = catalogue.offers
        pairs = offers.provider_row * len(catalogue.hardware) + offers.gpu_row
        _, self.pair_row = np.unique(pairs, return_inverse=True)
        self.currencies, self.currency_row = np.unique(offers.currency.astype(str), return_inverse=True)
        pair_count = int(self.pair_row.max()) + 1
        self.sizes = {
            "list_price": pair_count,
            "discount": len(offers.provider_names),
            "spot_price": pair_count,
            "exchange_rate": len(self.currencies),
            "speed": len(catalogue.hardware),
        }
        self.levels = SpeedLevels(self.known, self.fitted)

    def outcome(self, deviations: Deviations) -> tuple[np.ndarray, int]:
        """Cost of every followed offer (NaN: it cannot do the work) and the row of the one to choose (-1: none)."""
        more = uncertainty_rules()["factors"]["demand"]["p90_factor"] ** (deviations.demand / P90)
        sized = self.levels.at(deviations.speed, more if self.known.is_training else 1.0)
        known = self._known(deviations, more)
        gates = self.fitted.gates.copy()
        able = np.zeros(len(gates.alive), dtype=bool)
        able[self.rows] = sized.meets_targets[self.fitted.shapes.of_offer[self.rows]]
        gates.alive = able
        fitted = Fitted(self.fitted.shapes, gates, sized)
        solved = limit(known, fitted, total_costs(known, fitted.shapes, sized, np.flatnonzero(able)))
        stand_ins = {fact: values[solved.costs.rows] for fact, values in self._imputed.items()}
        columns = {
            fact: np.where(np.isnan(column), stand_ins.get(fact, column), column)
            for fact, column in solved.columns.items()
        }
        solved = replace(solved, columns=columns)
        tco = np.full(len(able), np.nan)
        tco[solved.costs.rows] = solved.costs.tco_usd
        ranked = ranked_offers(solved)
        return tco[self.rows], int(ranked[0]) if len(ranked) else -1

    def _known(self, deviations: Deviations, more: float) -> Known:
        """The inputs of one draw; what a run of training has more to do is in its sizing."""
        catalogue, scenario = self._catalogue(deviations), self.known.scenario
        if self.known.is_training:
            return replace(self.known, catalogue=catalogue)
        peak, growth = "traffic.peak_requests_per_s", "traffic.growth_fraction_per_month"
        points = uncertainty_rules()["factors"]["growth"]["p90_more_per_month"] * deviations.growth / P90
        changes = {
            peak: _within(peak, scenario.value(peak) * more),
            growth: _within(growth, scenario.value(growth) + points),
        }
        return assume(scenario.with_values(changes), catalogue)

    def _catalogue(self, deviations: Deviations) -> Catalogue:
        catalogue, factors = self.known.catalogue, uncertainty_rules()["factors"]
        offers = catalogue.offers
        per_month = factors["list_price"]["log_deviation_per_root_month"]
        drift = np.array([per_month[kind] for kind in offers.kind]) * deviations.list_price[self.pair_row]
        foreign = np.where(self.currencies == "USD", 0.0, deviations.exchange_rate)
        every = factors["discount"]["p90_factor"] ** (deviations.discount[offers.provider_row] / P90)
        every = every * factors["exchange_rate"]["p90_factor"] ** (foreign[self.currency_row] / P90)
        prices = {}
        for way in KINDS:
            months = np.nan_to_num(offers.age_days_of(way)) * HOURS_PER_DAY / HOURS_PER_MONTH
            prices[way] = offers.usd_per_hour_of(way) * np.exp(drift * np.sqrt(months)) * every
        prices["spot"] *= factors["spot_price"]["p90_factor"] ** (deviations.spot_price[self.pair_row] / P90)
        columns = {f"{way}_usd_per_hour": read_only(price) for way, price in prices.items()}
        return catalogue.with_offers(replace(offers, **columns))

    def _roles(self, solved: Solved, ranked: np.ndarray) -> dict[str, int]:
        roles = dict(zip(("winner", "runner_up"), ranked.tolist()))
        if len(solved.costs):
            roles["cheapest"] = int(solved.costs.rows[np.argmin(solved.costs.tco_usd)])
        return roles

    def _filled(self, solved: Solved) -> dict[str, np.ndarray]:
        """What stands in for facts that nobody publishes, by offer: the same in every draw as in the answer."""
        filled = {}
        for position, criterion in enumerate(self.scores.framework.criteria):
            if self.scores.imputed[:, position].any():
                values = np.full(len(self.fitted.gates.alive), np.nan)
                values[solved.costs.rows] = self.scores.values[:, position]
                filled[criterion.fact] = values
        return filled


def _within(path: str, value: float) -> float:
    return float(np.clip(value, *bounds(path)))


def _followed(known: Known, solved: Solved, scores: FrameworkScores, ranked: np.ndarray) -> np.ndarray:
    """Rows of the best offers, the cheapest ones, and those that hold the best value of a criterion."""
    if not len(solved.costs):
        return np.empty(0, dtype=int)
    ordered, count = order(solved, scores).candidates, uncertainty_rules()["shortlist"]
    leaders = np.concatenate([ordered[:count], ordered[~solved.allowed[ordered]][:count]])
    cheapest = np.argsort(solved.costs.tco_usd, kind="stable")[: uncertainty_rules()["cheapest"]]
    within = np.flatnonzero(solved.allowed if solved.allowed.any() else np.isfinite(solved.costs.tco_usd))
    best = within[np.argmax(scores.utilities[within], axis=0)]
    candidates = np.concatenate([leaders, cheapest, best]).astype(int)
    return np.unique(np.concatenate([solved.costs.rows[candidates], ranked[:2]])).astype(int)


class SpeedLevels:
    """Sizing at a range of speeds, so that a draw only has to pick one for every GPU.

    A card that is faster by a factor serves the layout that would meet targets longer by that factor, so the layout is
    chosen anew at every level and not stretched.
    """

    def __init__(self, known: Known, fitted: Fitted):
        level = uncertainty_rules()["speed_levels"]
        end = np.log(level["largest_factor"])
        self.logs = np.linspace(-end, end, level["count"])  # an odd number: the middle is the prediction itself
        self.shapes, self.middle = fitted.shapes, fitted.sized
        self._low, self._high = np.log(fitted.sized.speed_low), np.log(fitted.sized.speed_high)
        self._sized = [sized_at(known, fitted.shapes, float(np.exp(log))) for log in self.logs]

    def at(self, deviation_of_gpu: np.ndarray, work: float) -> Sized:
        """The sizing with every GPU that far from its predicted speed, for so many times the work of a run."""
        deviation = deviation_of_gpu[self.shapes.gpu_row]
        log = np.nan_to_num(np.where(deviation < 0, -self._low, self._high) * deviation / BAND)
        row = np.abs((log - np.log(work))[:, None] - self.logs).argmin(axis=1)
        columns = {
            field.name: np.stack([getattr(sized, field.name) for sized in self._sized])[row, np.arange(len(row))]
            for field in fields(Sized)
            if field.type is np.ndarray
        }
        return replace(self.middle, **columns)


def sized_at(known: Known, shapes: Shapes, factor: float) -> Sized:
    """What the shapes do when everything runs faster by a factor: targets are longer by it, then times are shorter."""
    scenario = known.scenario
    if scenario.workload.deadline_days is not None:
        path = "workload.deadline_days"
        scenario = scenario.with_value(path, _within(path, scenario.value(path) * factor))
    longer = {
        name: target and target * factor for name, target in (("ttft_ms", known.ttft_ms), ("tpot_ms", known.tpot_ms))
    }
    sized = size(replace(known, scenario=scenario, **longer), shapes)
    faster = {name: getattr(sized, name) * factor for name in ("requests_per_s", "output_tokens_per_s", "work_per_s")}
    shorter = {name: getattr(sized, name) / factor for name in ("ttft_ms", "tpot_ms", "run_hours")}
    return replace(sized, **faster, **shorter)


# ---- what is reported ---------------------------------------------------------------------------------------------


def _tornado(field: Field) -> tuple[TornadoBar, ...]:
    winner = field.roles.get("winner", field.roles.get("cheapest"))
    place = int(np.flatnonzero(field.rows == winner)[0])
    bars = []
    for factor in uncertainty_rules()["factors"]:
        ends = [field.outcome(Deviations.of_one(field, factor, deviation)) for deviation in (-P90, P90)]
        (low, low_answer), (high, high_answer) = ((_usd(tco[place]), _name(field, row)) for tco, row in ends)
        bars.append(TornadoBar(factor, low, high, low_answer, high_answer))
    return tuple(sorted(bars, key=lambda bar: -bar.width_usd))


def _summary(field: Field, tco: np.ndarray, first: np.ndarray, total: int, tornado) -> Uncertainty:
    """`tco` has a row per draw and a column per followed offer; `first` is the chosen row of each draw."""
    right = {int(row): float(np.mean(first == row)) for row in field.rows}
    often = sorted(right, key=lambda row: -right[row])[:OPTIONS_SHOWN]
    shown = dict.fromkeys([*field.roles.values(), *(row for row in often if right[row] > 0)])
    options = []
    for row in shown:
        usd = tco[:, field.rows == row]
        known = usd[np.isfinite(usd)]
        p10, p50, p90 = np.percentile(known, (10, 50, 90)) if len(known) else (np.nan,) * 3
        roles = tuple(role for role, holder in field.roles.items() if holder == row)
        share = len(known) / len(tco)
        options.append(OptionUncertainty(_name(field, row), roles, _usd(p10), _usd(p50), _usd(p90), share, right[row]))
    return Uncertainty(len(tco), total, tuple(options), float(np.mean(first < 0)), tornado)


def _usd(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _name(field: Field, row: int) -> str | None:
    return None if row < 0 else offer_id(field.known.catalogue.offers, row)
