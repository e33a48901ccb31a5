"""The shapes of what `evaluate` answers: frozen, coded, without sentences and without rounding.

Plain frozen dataclasses instead of pydantic models: nothing here comes from outside, so there is nothing to
validate, and building hundreds of rows must not cost milliseconds. Large parts stay columns (numpy arrays).
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np


class Usd(float):
    """Money inside a message; shown in the reader's currency format."""


class Share(float):
    """A fraction from 0 to 1 inside a message; shown as percent."""


class Country(str):
    """An ISO country code or a group like EU inside a message; shown by its name."""


class Software(str):
    """An inference engine or a framework inside a message; shown as its makers write it."""


@dataclass(frozen=True)
class Message:
    """A sentence by its text key and the values that fill it; the language is chosen by who shows it."""

    code: str
    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, code: str, /, **values) -> "Message":
        """A message from its values by name."""
        return cls(code, tuple(values.items()))


INPUTS = "scenario"  # the source of what was entered where no author gave a name


@dataclass(frozen=True)
class Assumption:
    """One number behind the answer and where it came from.

    `origin` is `entered`, `measured`, `catalogue`, `default` or `derived`.
    """

    name: str
    value: Any
    unit: str
    origin: str
    source: str
    as_of: str


@dataclass(frozen=True)
class Response:
    """How a server answers at some load (numbers, or arrays of many servers): the mean over the requests.

    `ttft_ms` is None where more arrives than the server can do, `tpot_ms` where nothing is written token by token.
    """

    requests_per_s: Any  # that one server gets
    utilisation_fraction: Any  # of what it does with full batches
    batch_size: Any  # requests that run together on one copy of the model while one is served, that one included
    ttft_ms: Any
    tpot_ms: Any


@dataclass(frozen=True)
class Choice:
    """One candidate in full: an offer with its layout, servers and purchase mix.

    Money is in USD before tax unless the name says otherwise; `tco_usd` covers the whole horizon.
    """

    id: str
    provider: str
    instance: str
    region: str
    country: str
    kind: str  # hyperscaler, specialist, marketplace, reseller
    gpu: str
    gpus_per_server: int
    servers: int  # at the peak of month 1
    last_servers: int  # at the peak of the last month
    gpus: int
    tensor_parallel: int
    replicas_per_server: int
    batch_size: int
    requests_per_s_per_server: float | None
    output_tokens_per_s_per_server: float | None
    utilisation_fraction: float | None  # most of its time that a server may be busy
    speed_low: float  # factor on speed at the lower end of the 90 % band
    speed_high: float
    speed_bands: dict[float, tuple[float, float]]  # 0.8, 0.9, 0.95 -> both ends of the band that holds that share
    ttft_ms: float | None  # of a server filled to its targets
    tpot_ms: float | None
    at_peak: Response | None  # busiest hour of the first month; None where nobody waits for an answer
    at_mean: Response | None
    slow_at_peak: Response | None  # the same hour, if the cards are as slow as the slow end of the band
    run_hours: float | None
    purchase_split: dict[str, float]  # way of buying -> share of served server-hours
    monthly_usd: float
    tco_usd: float
    npv_usd: float
    tax_usd: float
    cost_per_million_tokens_usd: float | None
    cost_per_run_usd: float | None
    cost_per_gpu_hour_usd: float
    unused_commitment_usd: float
    score: float
    rank: int
    within_budget: bool
    price_as_of: str  # of the oldest of the prices that are paid
    price_age_days: int
    on_demand_usd_per_hour: float | None
    spot_usd_per_hour: float | None
    reserved_1y_usd_per_hour: float | None
    reserved_3y_usd_per_hour: float | None
    monthly_subscription_usd_per_hour: float | None
    kwh_per_month: float | None  # of the mean month; None where the card's power is unknown
    kgco2e_per_month: float | None  # None where the grid is unknown too
    contract_servers: int = 0  # of the servers at the peak of month 1, those bought already
    other_regions: tuple[str, ...] = ()  # feasible offers of the same instance, dearer or equal
    reasons: tuple[Message, ...] = ()


@dataclass(frozen=True)
class ShapeVerdict:
    """What one GPU type in one server size can do for this workload (the Workload page and `rejected` read it)."""

    gpu: str
    gpus_per_server: int
    verdict: str  # fits, tight, does_not_fit
    tensor_parallel: int
    replicas_per_server: int
    batch_size: int
    per_gpu_gb: float | None
    usable_gb: float | None
    requests_per_s_per_server: float | None
    ttft_ms: float | None  # of a server filled to its targets
    tpot_ms: float | None
    at_peak: Response | None  # of the servers below, in the busiest hour of the first month
    servers: int | None  # at the peak of the first month, or of one training run
    because: Message | None  # None: it works


@dataclass(frozen=True)
class Sizing:
    """Memory and speed of the recommended layout (or of the nearest one), and the verdict on every server shape."""

    model: Any  # gpudash.model.Model
    weight_precision: str
    memory: Any  # InferenceMemory or TrainingMemory of one replica on the chosen GPU
    gpu: str | None
    gpu_usable_gb: float | None
    at_peak: Response | None  # how the recommended servers answer in the busiest hour of the first month
    at_mean: Response | None
    by_load: Response | None  # from no load to the most a server may get: arrays [slow end, predicted, fast end; loads]
    shapes: tuple[ShapeVerdict, ...]


@dataclass(frozen=True)
class Demand:
    """Whole servers of the recommended offer, needed in each hour of the week, month by month."""

    servers: Any  # int array [months, 168]; for training [months, 1] with `hours_per_slot`
    hours_per_slot: Any  # hours of a month that one slot stands for, array [months, slots]
    load_requests_per_s: Any  # float array [168], month 1; empty for training
    capacity_requests_per_s: float | None  # of one server at the target utilisation


@dataclass(frozen=True)
class TcoMonth:
    """One month of the bill of one choice, USD, before tax; `total_usd` is the sum of the kinds."""

    month: int
    reserved_3y_usd: float
    reserved_1y_usd: float
    monthly_usd: float
    on_demand_usd: float
    spot_usd: float
    storage_usd: float
    egress_usd: float
    support_usd: float
    staff_usd: float
    one_off_usd: float
    resale_usd: float  # below zero: what the rest of a commitment brings
    credit_usd: float  # below zero
    total_usd: float


@dataclass(frozen=True)
class Bill:
    """The whole bill of one choice."""

    choice_id: str
    months: tuple[TcoMonth, ...]
    list_price_usd: float  # the same server-hours, all on demand at list price
    total_usd: float
    tax_usd: float
    npv_usd: float


@dataclass(frozen=True)
class ScoreTable:
    """What was scored, as columns: a row per candidate, best first, the `eligible` ones within the budget at the top.

    `values` are the facts, `utilities` what the framework makes of them: 0 to 1, their weighted sum is the score.
    """

    offer_rows: Any
    values: Any
    utilities: Any
    eligible: int


@dataclass(frozen=True)
class FrameworkRanking:
    """The best candidates in one scoring framework, with what each criterion contributes."""

    framework: str
    criteria: tuple[dict, ...]  # key, dimension, weight, objective
    rows: tuple[dict, ...]  # offer, score, rank, contributions {criterion: points}, imputed (criteria)
    weight_intervals: dict[str, tuple[float, float]]
    warnings: tuple[Message, ...]
    table: ScoreTable


@dataclass(frozen=True)
class Rejected:
    """Every offer that fell, as columns: its row in the catalogue and the reason's row in `reasons`."""

    offer_rows: Any
    reason_of: Any
    reasons: tuple[Message, ...]

    def counts(self, among=slice(None)) -> list[tuple[int, int]]:
        """How many offers fell for which reason (its row in `reasons`), the most frequent first; of those `among`."""
        return Counter(np.asarray(self.reason_of, dtype=int)[among].tolist()).most_common()


@dataclass(frozen=True)
class Result:
    """All that a page, the command line, a link or a file shows about one Scenario."""

    scenario: Any
    catalogue: Any  # gpudash.catalogue.Catalogue that the answer was made with
    recommendation: Choice | None
    runner_up: Choice | None
    cheapest: Choice | None  # cheapest feasible, ignoring the budget
    fastest: Choice | None  # within the budget, if anything is
    gap_usd_per_month: float | None  # how far the budget is short of `cheapest`; None when something meets it
    alternatives: tuple[Choice, ...]  # best first, the winner included, one line per provider and instance
    pareto: tuple[str, ...]  # ids of alternatives that nothing beats in cost and speed at once
    rejected: Rejected
    sizing: Sizing
    demand: Demand | None
    purchase_mix: Any  # gpudash.purchase_mix detail of the winner
    purchase_detail: Any  # gpudash.purchase_detail.PurchaseDetail of the winner
    storage: Any  # gpudash.storage placement of the winner
    tco: tuple[Bill, ...]  # winner, runner-up, cheapest (distinct)
    owned: Any  # gpudash.owned.Owned beside the winner; None without own servers
    scores: dict[str, FrameworkRanking]
    path: dict[str, Any]  # tree name -> gpudash.tree.Path
    uncertainty: Any  # gpudash.uncertainty.Uncertainty; None until it is asked for
    flips: Any  # of gpudash.flips.Flip; None until they are asked for
    fleets: Any  # gpudash.fleets.Fleets, of two types of server; None until they are asked for
    assumptions: tuple[Assumption, ...]
    warnings: tuple[Message, ...]

    @property
    def snapshot(self) -> str:
        """Date of the price snapshot."""
        return self.catalogue.snapshot

    @property
    def leading(self) -> Choice | None:
        """The choice that everything shown is about: the recommendation, else the cheapest that works at any price."""
        return self.recommendation or self.cheapest

    @property
    def leading_bill(self) -> Bill | None:
        """The bill of the leading choice; None where nothing can do the work."""
        choice = self.leading
        return next((bill for bill in self.tco if choice is not None and bill.choice_id == choice.id), None)
