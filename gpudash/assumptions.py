"""What the arithmetic works with: the inputs resolved against the catalogue, and the ledger of their origins."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

import numpy as np

from gpudash.catalogue import Catalogue
from gpudash.demand import Load, requests_load, weekly_shape
from gpudash.engines import engine_name
from gpudash.errors import GpudashError
from gpudash.model import Model, custom_model, load_model, load_precision
from gpudash.offers import named
from gpudash.result import INPUTS, Assumption, Choice, Message
from gpudash.savings_plans import with_savings_plans
from gpudash.scenario import SOURCED_DEFAULTS, Scenario
from gpudash.units import MONTHS_PER_YEAR

CUSTOM = "custom"
GEOMETRY = (
    "params_b", "active_params_fraction", "layers", "hidden", "heads", "kv_heads", "head_dim", "vocabulary",
    "attention", "window_tokens", "global_layers", "latent_values", "layers_with_kv_cache",
)  # fmt: skip
SAMPLE_FAMILIES = ("vision",)


@dataclass(frozen=True)
class Known:
    """A scenario whose names have been looked up: model, precision, budget in USD a month, countries."""

    scenario: Scenario
    catalogue: Catalogue
    model: Model
    weight_precision: str
    engine: str
    output_tokens: int
    ttft_ms: float | None
    tpot_ms: float | None
    units_per_usd: float
    budget_usd_per_month: float | None
    countries: frozenset[str]
    warnings: tuple[Message, ...]

    @property
    def is_training(self) -> bool:
        """Whether the work is training runs, fine-tuning among them."""
        return self.scenario.workload.is_training

    @property
    def training_precision(self) -> str:
        """The format a run computes in: the chosen one if it can be trained in full, else 16 bit."""
        chosen = load_precision(self.weight_precision)
        return chosen.name if chosen.trainable and self.scenario.workload.training_method == "full" else "bf16"

    @property
    def counts_samples(self) -> bool:
        """Whether the work is counted in samples (images) instead of tokens."""
        return self.model.family in SAMPLE_FAMILIES

    @cached_property
    def ways(self) -> tuple[str, ...]:
        """Ways of buying that are allowed."""
        purchase = self.scenario.purchase
        spot = ("spot",) if self.is_training or purchase.spot_fraction > 0 else ()
        return ("on_demand", *purchase.terms, *spot)

    @cached_property
    def weekly_shape(self) -> np.ndarray:
        """The week's 168 hourly shares of the peak."""
        return weekly_shape(self.scenario.traffic, self.catalogue.traffic_shapes)

    @cached_property
    def load(self) -> Load:
        """Requests per second in each hour of the week, month by month."""
        return requests_load(
            self.scenario.traffic, self.catalogue.traffic_shapes, self.scenario.purchase.horizon_months
        )


def _own_sheet_warnings(scenario: Scenario, catalogue: Catalogue) -> Iterator[Message]:
    """Whether prices of an imported sheet are among these, or should be and are not."""
    wanted, used = scenario.catalogue.own_sheet, catalogue.own_sheet
    if used is not None:
        yield Message.of("catalogue_import.used", sheet=used)
    if wanted is not None and wanted != used:
        yield Message.of("catalogue_import.missing", sheet=wanted)


def _struck_out_warnings(scenario: Scenario, catalogue: Catalogue) -> Iterator[Message]:
    """Names of offers struck out that mean nothing here: misspelt, or of a sheet that is not there."""
    for name in scenario.requirements.offers_out:
        if not named(catalogue.offers, name).any():
            nearest = get_close_matches(name, catalogue.offers.id, n=1, cutoff=0) or ("-",)
            yield Message.of("candidates.nothing_struck_out", name=name, nearest=nearest[0])


def assume(scenario: Scenario, catalogue: Catalogue) -> Known:
    """The scenario with every name resolved; an unknown or not modelled one is refused with a sentence."""
    model = resolve_model(scenario.workload)
    work, finance, budget = scenario.workload, scenario.finance, scenario.budget
    latency_counts = work.kind == "inference"
    output_tokens = work.output_tokens if model.family == "language" else 0
    amount_usd = budget.amount and catalogue.rate(budget.currency).usd(budget.amount)
    warnings = [*_own_sheet_warnings(scenario, catalogue), *_struck_out_warnings(scenario, catalogue)]
    if work.output_tokens and model.family == "encoder":
        warnings.append(Message.of("sizing.encoder_output", title=model.title, tokens=work.output_tokens))
    if work.long_context_tokens is not None and scenario.traffic.long_prompts_fraction > 0:
        warnings.append(Message.of("prompt_routing.not_in_answer", tokens=work.context_tokens))
    return Known(
        scenario=scenario,
        catalogue=with_savings_plans(catalogue, scenario),
        model=model,
        weight_precision=load_precision(work.weight_precision or _usual_precision(work, model)).name,
        engine=engine_name(work.engine),
        output_tokens=output_tokens,
        ttft_ms=work.ttft_ms if latency_counts else None,
        tpot_ms=work.tpot_ms if latency_counts and output_tokens else None,
        units_per_usd=finance.units_per_usd or catalogue.rate(finance.currency).units_per_usd,
        budget_usd_per_month=amount_usd and amount_usd / budget_months(scenario),
        countries=_countries(scenario, catalogue),
        warnings=tuple(warnings),
    )


def budget_months(scenario: Scenario) -> int:
    """The months that the budget's amount is for."""
    return {"month": 1, "year": MONTHS_PER_YEAR, "horizon": scenario.purchase.horizon_months}[scenario.budget.per]


def _usual_precision(work, model: Model) -> str:
    """Serving runs in the precision the model was published in; training in 16 bit with its master copy in 32."""
    return "bf16" if work.is_training else model.published_precision or "bf16"


def resolve_model(work) -> Model:
    """The preset with the scenario's own geometry laid over it, or a model from its geometry alone (`custom`)."""
    given = {name: getattr(work, name) for name in GEOMETRY if getattr(work, name) is not None}
    if work.model == CUSTOM:
        return custom_model(**given)
    return load_model(work.model).with_overrides(**given) if given else load_model(work.model)


def _countries(scenario: Scenario, catalogue: Catalogue) -> frozenset[str]:
    """Country codes of the residency requirement, groups opened; an unknown code is refused."""
    known = {region.country for region in catalogue.regions.values()} | set().union(*catalogue.country_groups.values())
    found: set[str] = set()
    for name in scenario.requirements.countries:
        if name in catalogue.country_groups:
            found |= catalogue.country_groups[name]
        elif name in known:
            found.add(name)
        else:
            groups = ", ".join(catalogue.country_groups)
            codes = ", ".join(sorted(known - {""}))
            raise GpudashError("assumptions.unknown_country", name=name, groups=groups, countries=codes)
    return frozenset(found)


# ---- the ledger --------------------------------------------------------------------------------------------------


def ledger(known: Known) -> tuple[Assumption, ...]:
    """Every input and looked-up fact behind the answer, with origin, source and date."""
    scenario, catalogue = known.scenario, known.catalogue
    changed = scenario.changed()
    entries = [
        Assumption(path, value, "", "entered", scenario.about.author or INPUTS, "") for path, value in changed.items()
    ]
    for path, fact in SOURCED_DEFAULTS.items():
        if path not in changed:
            entries.append(Assumption(path, fact["value"], "", "default", fact["source"], str(fact["as_of"])))
    model = known.model
    for name in ("params_b", "active_params_b", "layers", "hidden", "heads", "kv_heads", "head_dim", "vocabulary"):
        if f"workload.{name}" not in changed and getattr(model, name) is not None:
            origin = "derived" if name in model.estimated else "catalogue"
            entries.append(Assumption(f"model.{name}", getattr(model, name), "", origin, model.source, model.as_of))
    precision = load_precision(known.weight_precision)
    entries.append(
        Assumption(
            "model.bits_per_weight", precision.bits_per_weight, "bit", "catalogue", precision.source, precision.as_of
        )
    )
    currency = catalogue.rate(scenario.finance.currency)
    if scenario.finance.units_per_usd is None:
        entries.append(
            Assumption(
                "finance.units_per_usd",
                currency.units_per_usd,
                scenario.finance.currency,
                "catalogue",
                currency.source,
                currency.as_of,
            )
        )
    if not known.is_training and not scenario.traffic.hourly_shape:
        shape = catalogue.traffic_shapes[scenario.traffic.shape]
        entries.append(Assumption("traffic.shape", shape.shape, "", "catalogue", shape.source, shape.as_of))
    return tuple(entries)


def price_entries(known: Known, choice: Choice) -> tuple[Assumption, ...]:
    """The prices that a choice pays, per server and hour before any negotiated discount, each with its own date.

    Where it pays for spot, how often such servers are taken back, too.
    """
    offers = known.catalogue.offers
    offer = offers.row_of(choice.id)
    prices = tuple(
        Assumption(
            f"price.{way}",
            float(offers.usd_per_hour_of(way)[offer]),
            "USD",
            str(offers.origin_of(way)[offer]),
            str(offers.source_of(way)[offer]),
            str(offers.as_of_of(way)[offer]),
        )
        for way, share in choice.purchase_split.items()
        if share > 0
    )
    return prices + (_interruptions(known, offer) if choice.purchase_split.get("spot") else ())


def _interruptions(known: Known, offer: int) -> tuple[Assumption, ...]:
    """The catalogue's share of spot servers taken back, unless the user entered one or none is published."""
    offers, path = known.catalogue.offers, "purchase.interruption_fraction_per_month"
    share = offers.interruption_fraction_per_month[offer]
    if known.scenario.value(path) is not None or np.isnan(share):
        return ()
    source, as_of = str(offers.interruption_source[offer]), str(offers.interruption_as_of[offer])
    return (Assumption(path, float(share), "", "catalogue", source, as_of),)
