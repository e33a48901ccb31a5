"""Candidates: which offers may be considered at all, gate by gate, each refusal with its reason.

The gates work on columns; a reason is made once per group of offers that share it, never once per offer.
"""

import numpy as np

from gpudash.assumptions import Known
from gpudash.ecosystem import PrecisionSupport, compatibility, precision_support, vendor_support
from gpudash.freshness import outdated_prices
from gpudash.host_memory import least_host_gb
from gpudash.model import load_precision
from gpudash.offers import named
from gpudash.quotas import exceeded, place_of
from gpudash.result import Country, Message, Rejected, Share, Software, Usd
from gpudash.sizing import Shapes, Sized
from gpudash.tables import sourced_values

GATES = ("residency", "provider", "requirements", "memory", "latency", "price", "budget")


class Gates:
    """Takes offers out, gate after gate; an offer keeps the first reason it fell for."""

    def __init__(self, offer_count: int):
        self.alive = np.ones(offer_count, dtype=bool)
        self.holds: dict[str, np.ndarray] = {}  # gate -> offers that meet it, whatever the other gates say
        self._fails = np.zeros(offer_count, dtype=bool)
        self.reason_of = np.full(offer_count, -1)
        self.reasons: list[Message] = []
        self._rows: dict[Message, int] = {}

    def copy(self) -> "Gates":
        """The same state, to go on from more than once."""
        twin = Gates(0)
        twin.alive, twin._fails, twin.reason_of = self.alive.copy(), self._fails.copy(), self.reason_of.copy()
        twin.holds, twin.reasons, twin._rows = dict(self.holds), list(self.reasons), dict(self._rows)
        return twin

    def refuse(self, falls: np.ndarray, reason: Message) -> None:
        """Offers where `falls` is true fall for this reason, if they still stand."""
        self.refuse_each(falls, np.zeros(len(falls), dtype=int), lambda _: reason)

    def refuse_each(self, falls: np.ndarray, group_of: np.ndarray, reason_for) -> None:
        """Like `refuse`, with one reason per group (provider, country, shape); `reason_for(group)` makes it."""
        self._fails = self._fails | falls
        fallen = np.flatnonzero(falls & self.alive)
        groups, group_row = np.unique(group_of[fallen], return_inverse=True)
        reason_rows = np.array([self._row_of(reason_for(group)) for group in groups], dtype=int)
        if len(fallen):
            self.reason_of[fallen] = reason_rows[group_row]
            self.alive = self.alive & ~falls

    def _row_of(self, reason: Message) -> int:
        if reason not in self._rows:
            self._rows[reason] = len(self.reasons)
            self.reasons.append(reason)
        return self._rows[reason]

    def close(self, gate: str) -> None:
        """The end of a gate, or of a part of it: keeps who meets it."""
        self.holds[gate] = self.holds.get(gate, True) & ~self._fails
        self._fails = np.zeros(len(self.alive), dtype=bool)

    def rejected(self) -> Rejected:
        """Every offer that fell, with its reason."""
        rows = np.flatnonzero(self.reason_of >= 0)
        return Rejected(rows, self.reason_of[rows], tuple(self.reasons))


def gate_before_sizing(known: Known, shapes: Shapes) -> Gates:
    """Residency, provider and requirements: what an offer must be, whatever it can do."""
    offers = known.catalogue.offers
    gates = Gates(len(offers))
    _residency(gates, known, offers)
    gates.close("residency")
    _provider(gates, known, offers)
    gates.close("provider")
    _provider_facts(gates, known, offers)
    _hardware_facts(gates, known, offers, shapes)
    gates.close("requirements")
    _outdated_price(gates, offers)
    gates.close("price")
    return gates


def gate_costs(gates: Gates, known: Known, costs, peak_usd_per_hour: np.ndarray) -> None:
    """Quotas, price, then the hourly ceiling and the hard budget; only candidates that were priced can fall here."""
    budget, rows = known.scenario.budget, costs.rows
    monthly_usd = costs.tco_usd / known.scenario.purchase.horizon_months

    def spread(values, fill) -> np.ndarray:
        column = np.full(len(gates.alive), fill, dtype=np.asarray(values).dtype)
        column[rows] = values
        return column

    gpus = np.maximum(costs.servers, costs.last_servers) * known.catalogue.offers.gpus_per_server[rows]
    for quota, falls in exceeded(known, rows, gpus):
        limit = {"place": place_of(quota), "allowed": quota.gpus}
        gates.refuse_each(
            spread(falls, False), spread(gpus, 0), lambda n, v=limit: Message.of("candidates.quota", needed=int(n), **v)
        )
    gates.close("requirements")
    unpriced = Message.of("candidates.no_price")
    gates.refuse(spread(~np.isfinite(monthly_usd), False), unpriced)
    gates.close("price")
    if budget.ceiling_usd_per_hour is not None:
        shown = spread(_three_digits(peak_usd_per_hour), 0.0)
        ceiling = Usd(budget.ceiling_usd_per_hour)
        gates.refuse_each(
            spread(peak_usd_per_hour > budget.ceiling_usd_per_hour, False), shown,
            lambda cost: Message.of("candidates.ceiling", cost=Usd(cost), ceiling=ceiling),
        )  # fmt: skip
    if known.budget_usd_per_month is not None and budget.hard:
        shown = spread(_three_digits(monthly_usd), 0.0)
        limit = Usd(known.budget_usd_per_month)
        gates.refuse_each(
            spread(monthly_usd > known.budget_usd_per_month, False), shown,
            lambda cost: Message.of("candidates.budget", cost=Usd(cost), budget=limit),
        )  # fmt: skip
    gates.close("budget")


def _three_digits(values: np.ndarray) -> np.ndarray:
    """Money to three digits, rounded up, so that a million offers share a few thousand reasons."""
    size = 10.0 ** (np.floor(np.log10(np.maximum(np.nan_to_num(values, posinf=1.0), 1.0))) - 2)
    return np.ceil(np.nan_to_num(values, posinf=0.0) / size) * size


def gate_sizing(gates: Gates, known: Known, shapes: Shapes, sized: Sized) -> None:
    """Memory of the cards and of the server, then latency or deadline. A main memory nobody states is not refused."""
    gates.refuse_each(~sized.holds[shapes.of_offer], shapes.of_offer, lambda shape: sized.because[shape])
    host_gb = least_host_gb(known, shapes)
    gates.refuse_each(
        known.catalogue.offers.memory_gb < host_gb[shapes.of_offer],
        shapes.of_offer,
        lambda shape: Message.of(
            "candidates.host_memory", needed=float(host_gb[shape]), gpus=int(shapes.gpus_per_server[shape])
        ),
    )
    gates.close("memory")
    gates.refuse_each(~sized.meets_targets[shapes.of_offer], shapes.of_offer, lambda shape: sized.because[shape])
    gates.close("latency")


def _outdated_price(gates: Gates, offers) -> None:
    """A price that the provider itself has raised since can no longer be had."""
    outdated = outdated_prices(offers)
    newest = outdated.newest_usd_per_gpu_hour
    gates.refuse_each(
        outdated.is_outdated,
        outdated.group_of,
        lambda group: Message.of("candidates.outdated_price", new=Usd(newest[group])),
    )


MAINLAND_CHINA = "CN"


def _residency(gates: Gates, known: Known, offers) -> None:
    if not known.countries:
        if not known.scenario.requirements.mainland_china:
            mainland = np.array([country == MAINLAND_CHINA for _, _, country in offers.places])
            gates.refuse(mainland[offers.place_row], Message.of("candidates.mainland_china"))
        return
    allowed = tuple(Country(name) for name in known.scenario.requirements.countries)
    place_allowed = np.array([country in known.countries for _, _, country in offers.places])
    outside = ~place_allowed[offers.place_row]

    def reason(place: int) -> Message:
        country = offers.places[place][2]
        if not country:
            return Message.of("candidates.residency_unknown", allowed=allowed)
        return Message.of("candidates.residency", country=Country(country), allowed=allowed)

    gates.refuse_each(outside, offers.place_row, reason)


def _provider(gates: Gates, known: Known, offers) -> None:
    wishes = known.scenario.requirements
    names = offers.provider_names
    for name in wishes.offers_out:
        gates.refuse(named(offers, name), Message.of("candidates.struck_out", name=name))
    out = np.isin(names, wishes.providers_out)[offers.provider_row]
    gates.refuse_each(out, offers.provider_row, lambda row: Message.of("candidates.provider_out", provider=names[row]))
    if wishes.providers_in:
        missing = ~np.isin(names, wishes.providers_in)[offers.provider_row]
        gates.refuse_each(
            missing, offers.provider_row, lambda row: Message.of("candidates.provider_not_in", provider=names[row])
        )
    if not wishes.marketplaces:
        gates.refuse(offers.kind == "marketplace", Message.of("candidates.marketplace"))
        nowhere = np.array([not country for _, _, country in offers.places])[offers.place_row]
        gates.refuse((offers.kind == "reseller") & nowhere, Message.of("candidates.reseller_nowhere"))
    if not wishes.sold_out_offers:
        gates.refuse(offers.doubt == "unavailable", Message.of("candidates.sold_out"))


def _provider_facts(gates: Gates, known: Known, offers) -> None:
    """What a provider must publish; an unknown fact does not count as fulfilled."""
    wishes, names = known.scenario.requirements, offers.provider_names
    facts = [known.catalogue.providers.get(name) for name in names]

    def check(wanted, code: str, holds, **values) -> None:
        if wanted:
            falls = np.array([fact is None or not holds(fact) for fact in facts])[offers.provider_row]
            gates.refuse_each(falls, offers.provider_row, lambda row: Message.of(code, provider=names[row], **values))

    needed = set(wishes.compliance)
    check(
        needed, "candidates.compliance", lambda fact: needed <= set(fact.compliance.split(";")),
        missing=tuple(sorted(needed)),
    )  # fmt: skip
    sla = wishes.minimum_sla_fraction
    check(sla is not None, "candidates.sla", lambda fact: fact.sla_percent / 100 >= sla - 1e-12, needed=Share(sla or 0))
    check(wishes.kubernetes, "candidates.kubernetes", lambda fact: fact.kubernetes_gpu)
    check(wishes.hybrid_cloud, "candidates.hybrid_cloud", lambda fact: bool(fact.hybrid_cloud))
    check(wishes.monitoring_api, "candidates.monitoring_api", lambda fact: fact.gpu_monitoring_api)
    check(wishes.green_certification, "candidates.green_certification", lambda fact: bool(fact.green_certification))
    models = wishes.pretrained_models
    check(
        models is not None, "candidates.pretrained_models", lambda fact: fact.pretrained_models >= models, needed=models
    )
    _price_ages(gates, known, offers)


def _price_ages(gates: Gates, known: Known, offers) -> None:
    """An offer falls if every price of an allowed way of buying is too old; a younger one may still be paid."""
    allowed = known.scenario.requirements.maximum_price_age_days
    if allowed is None:
        return
    ages = np.vstack(
        [np.where(np.isnan(offers.usd_per_hour_of(way)), np.inf, offers.age_days_of(way)) for way in known.ways]
    )
    youngest = ages.min(axis=0)
    gates.refuse_each(
        np.isfinite(youngest) & (youngest > allowed),
        youngest,
        lambda age: Message.of("candidates.price_age", age=int(age), allowed=allowed),
    )


def _hardware_facts(gates: Gates, known: Known, offers, shapes: Shapes) -> None:
    """What a GPU must be, and whether the engine or framework runs on it; checked once per server shape."""
    wishes, hardware = known.scenario.requirements, known.catalogue.hardware
    rows, of_offer = shapes.gpu_row, shapes.of_offer

    def check(wanted, falls, reason_for) -> None:
        if wanted:
            gates.refuse_each(falls[of_offer], of_offer, reason_for)

    def gpu(shape: int) -> str:
        return hardware.names[rows[shape]]

    wanted_rows = [hardware.index(name) for name in wishes.gpus_in]
    check(wanted_rows, ~np.isin(rows, wanted_rows), lambda shape: Message.of("candidates.gpus_in", gpu=gpu(shape)))
    linked = (hardware.link_scope[rows] == "all") | (
        (hardware.link_scope[rows] == "pair") & (shapes.gpus_per_server <= 2)
    )
    check(wishes.nvlink, ~linked, lambda _: Message.of("candidates.nvlink"))
    for wanted, column, code in (
        (wishes.minimum_bandwidth_gb_per_s, hardware.bandwidth_gb_per_s, "candidates.bandwidth"),
        (wishes.minimum_fp16_tflops, hardware.fp16_tflops, "candidates.fp16"),
    ):
        if wanted is not None:
            values = np.nan_to_num(column[rows])
            check(
                True,
                values < wanted,
                lambda shape, v=values, c=code, w=wanted: Message.of(c, value=float(v[shape]), needed=w),
            )
    _software(check, known, shapes, gpu)
    _versions(check, known, shapes)
    _precision(check, known, shapes, gpu)


def software_reason(known: Known, shapes: Shapes, shape: int) -> Message | None:
    """Why the engine, framework or weight format does not run on a server shape; None where it does."""
    found = []

    def check(wanted, falls, reason_for) -> None:
        if wanted and falls[shape]:
            found.append(reason_for(shape))

    for rule in (_software, _precision):
        rule(check, known, shapes, lambda row: known.catalogue.hardware.names[shapes.gpu_row[row]])
    return found[0] if found else None


def _software(check, known: Known, shapes: Shapes, gpu) -> None:
    hardware, rows = known.catalogue.hardware, shapes.gpu_row
    vendors, capability = hardware.vendor[rows], np.nan_to_num(hardware.compute_capability[rows])
    framework = known.scenario.requirements.framework
    software = [("candidates.framework", "framework", framework)] if framework != "any" else []
    if known.is_training:
        software.append(("candidates.framework", "framework", "pytorch"))
    elif known.engine != "unknown" and not known.counts_samples:
        software.append(("candidates.engine", "engine", known.engine))
    for code, role, item in software:
        support = [vendor_support().get((vendor, item), (False, 0.0)) for vendor in vendors]
        runs = np.array([supported for supported, _ in support])
        least = np.array([minimum for _, minimum in support])
        said = {role: Software(item)}
        check(True, ~runs, lambda shape, c=code, said=said: Message.of(c, vendor=str(vendors[shape]), **said))
        check(
            True,
            (capability > 0) & (capability < least),
            lambda shape, i=item, m=least: Message.of(
                "candidates.engine_generation",
                engine=Software(i),
                needed=float(m[shape]),
                value=float(capability[shape]),
                gpu=gpu(shape),
            ),
        )


def _versions(check, known: Known, shapes: Shapes) -> None:
    """Whether the asked-for version of the framework, or of CUDA, is built for the card."""
    wishes = known.scenario.requirements
    version, cuda = wishes.framework_version, wishes.cuda_version
    if version is None and cuda is None:
        return
    framework = "pytorch" if wishes.framework == "any" and known.is_training else wishes.framework
    answers = compatibility(known.catalogue.hardware, shapes.gpu_row, framework, version, cuda)
    check(True, np.array([not answer.runs for answer in answers]), lambda shape: answers[shape].because)


def _precision(check, known: Known, shapes: Shapes, gpu) -> None:
    """Whether the card runs the weight format; one that nobody lists for a vendor's cards is not known to run there."""
    hardware, rows, name = known.catalogue.hardware, shapes.gpu_row, known.weight_precision
    if known.counts_samples:
        return
    if known.is_training:
        _bf16_training(check, known, shapes, gpu)
        return
    listed = any(precision == name for precision, _ in precision_support())
    unknown = PrecisionSupport(not listed or load_precision(name).bits >= 16, 0.0, "")
    support = [precision_support().get((name, vendor), unknown) for vendor in hardware.vendor[rows]]
    capability = hardware.compute_capability[rows]
    lacks = np.array(
        [
            not one.supported
            or (np.isfinite(value) and value < one.minimum_compute_capability)
            or bool(one.hardware_column and np.isnan(getattr(hardware, one.hardware_column)[row]))
            for one, value, row in zip(support, capability, rows)
        ]
    )
    title = load_precision(name).title
    check(True, lacks, lambda shape: Message.of("candidates.precision", precision=title, gpu=gpu(shape)))


def _bf16_training(check, known: Known, shapes: Shapes, gpu) -> None:
    """Runs in bf16 need bf16 arithmetic: a run, unlike serving, does not fall back to fp16 by itself."""
    least = sourced_values("sizing_parameters")["bf16_training_compute_capability"]
    too_old = known.catalogue.hardware.compute_capability[shapes.gpu_row] < least
    title = load_precision(known.training_precision).title
    check(
        known.training_precision == "bf16", too_old,
        lambda shape: Message.of("candidates.precision_training", precision=title, gpu=gpu(shape)),
    )  # fmt: skip
