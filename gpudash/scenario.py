"""Scenario: all that the user said, each input declared once with type, bounds and default.

The unit of an input is in its name. A default with a fact behind it comes from data/scenario_defaults.yaml, with source
and date. What cannot be read (wrong type, out of bounds, unknown name) becomes one sentence, never a traceback.
"""

import difflib
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo

from gpudash.errors import GpudashError
from gpudash.tables import DATA, read_yaml
from gpudash.units import HOURS_PER_WEEK

SOURCED_DEFAULTS: Mapping[str, Mapping[str, Any]] = read_yaml(DATA / "scenario_defaults.yaml")


def _sourced(path: str):
    return SOURCED_DEFAULTS[path]["value"]


def _split(value):
    """A comma-separated text (command line, link) as a tuple; a single name counts as one."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _pairs(key: str, number: str):
    """A mapping {name: number}, as people write it in YAML, as rows {key: name, number: number}."""

    def read(value):
        return [{key: name, number: item} for name, item in value.items()] if isinstance(value, Mapping) else value

    return BeforeValidator(read)


Name = Annotated[str, Field(max_length=80)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_split), Field(max_length=60)]
Fraction = Annotated[float, Field(ge=0, le=1)]
MOST_DISCOUNT_FRACTION = 0.95  # a slip beyond that, and no price of a server would be left


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)


class Workload(_Group):
    """What is to be run: the model, its precision, and the lengths or tokens."""

    kind: Literal["inference", "training", "fine_tuning", "batch"] = "inference"
    model: Name = "llama-3.1-8b"
    params_b: Annotated[float, Field(gt=0, le=5000)] | None = None
    active_params_fraction: Annotated[float, Field(gt=0, le=1)] | None = None
    layers: Annotated[int, Field(ge=1, le=1000)] | None = None
    hidden: Annotated[int, Field(ge=16, le=200_000)] | None = None
    heads: Annotated[int, Field(ge=1, le=2048)] | None = None
    kv_heads: Annotated[int, Field(ge=1, le=2048)] | None = None
    head_dim: Annotated[int, Field(ge=8, le=2048)] | None = None
    vocabulary: Annotated[int, Field(ge=1, le=2_000_000)] | None = None
    attention: Literal["full", "sliding_window", "latent", "hybrid"] | None = None
    window_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    global_layers: Annotated[int, Field(ge=0, le=1000)] | None = None
    latent_values: Annotated[int, Field(ge=1, le=100_000)] | None = None
    layers_with_kv_cache: Annotated[int, Field(ge=0, le=1000)] | None = None
    weight_precision: Name | None = None
    kv_precision: Name = "bf16"
    kv_layout: Literal["latent", "expanded"] = "latent"
    buffer_gb: Annotated[float, Field(ge=0, le=1000)] | None = None
    state_gb: Annotated[float, Field(ge=0, le=1000)] = 0.0
    engine: Name = "vllm"
    context_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = 1000
    long_context_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    output_tokens: Annotated[int, Field(ge=0, le=1_000_000)] = 300
    ttft_ms: Annotated[float, Field(gt=0, le=600_000)] | None = _sourced("workload.ttft_ms")
    tpot_ms: Annotated[float, Field(gt=0, le=60_000)] | None = _sourced("workload.tpot_ms")
    training_tokens_b: Annotated[float, Field(gt=0, le=1_000_000)] = 0.1
    sequence_tokens: Annotated[int, Field(ge=16, le=1_000_000)] = 2048
    training_method: Literal["full", "lora", "qlora"] = "full"
    optimizer: Literal["adam", "adam_8bit", "adafactor", "sgd"] = "adam"
    zero_stage: Annotated[int, Field(ge=0, le=3)] = 3
    recomputation: Literal["none", "selective", "full"] = "selective"
    micro_batch: Annotated[int, Field(ge=1, le=4096)] = 1
    deadline_days: Annotated[float, Field(gt=0, le=3650)] | None = None

    @property
    def is_training(self) -> bool:
        """Whether it is a run that ends, not a service that answers."""
        return self.kind in ("training", "fine_tuning")


class Traffic(_Group):
    """How much is asked and when; for training, how many runs."""

    peak_requests_per_s: Annotated[float, Field(gt=0, le=1_000_000)] = 1.0
    shape: Name = "office_hours"
    hourly_shape: Annotated[tuple[Fraction, ...], BeforeValidator(_split)] = ()
    burst_factor: Annotated[float, Field(ge=1, le=100)] = 1.0
    growth_fraction_per_month: Annotated[float, Field(ge=-0.5, le=1)] = 0.0
    utc_offset_hours: Annotated[int, Field(ge=-12, le=14)] = 0
    long_prompts_fraction: Fraction = 0.0
    prefix_cache_hit_fraction: Annotated[float, Field(ge=0, le=0.99)] = 0.0
    minimum_replicas: Annotated[int, Field(ge=0, le=1000)] = 1
    target_utilisation_fraction: Annotated[float, Field(ge=0.05, le=1)] = _sourced(
        "traffic.target_utilisation_fraction"
    )
    scaling_delay_minutes: Annotated[float, Field(ge=0, le=240)] = _sourced("traffic.scaling_delay_minutes")
    cold_start_minutes: Annotated[float, Field(ge=0, le=240)] = _sourced("traffic.cold_start_minutes")
    follows_demand: bool = True
    scale_to_zero: bool = False
    runs: Annotated[int, Field(ge=1, le=10_000)] = 1

    @field_validator("hourly_shape")
    @classmethod
    def _one_week(cls, hours):
        if hours and (len(hours) != HOURS_PER_WEEK or max(hours) <= 0):
            raise GpudashError("errors.hourly_shape", expected=HOURS_PER_WEEK, found=len(hours))
        return hours


class Budget(_Group):
    """What may be spent; without an amount nothing is refused for its price."""

    amount: Annotated[float, Field(gt=0, le=1e12)] | None = None
    currency: Annotated[str, Field(min_length=3, max_length=3)] = "USD"
    per: Literal["month", "year", "horizon"] = "month"
    hard: bool = True
    ceiling_usd_per_hour: Annotated[float, Field(gt=0, le=1e8)] | None = None


class ProviderDiscount(_Group):
    """A negotiated discount: the share taken off every compute price of one provider, or of one of its GPUs."""

    provider: Name
    discount_fraction: Annotated[float, Field(ge=0, le=MOST_DISCOUNT_FRACTION)]
    gpu: Name | None = None


class SavingsPlan(_Group):
    """A commitment in money with one provider: what it takes off the on-demand price per term; 0: no such term."""

    provider: Name
    reserved_1y_discount_fraction: Annotated[float, Field(ge=0, le=MOST_DISCOUNT_FRACTION)] = 0.0
    reserved_3y_discount_fraction: Annotated[float, Field(ge=0, le=MOST_DISCOUNT_FRACTION)] = 0.0


class Contract(_Group):
    """Servers bought already: so many of an instance (or cards of a GPU), for so many months more.

    The price is per hour of one of what is counted.
    """

    provider: Name
    instance_or_gpu: Name
    count: Annotated[int, Field(ge=0, le=1_000_000)]
    months_left: Annotated[int, Field(ge=0, le=120)]
    usd_per_hour: Annotated[float, Field(ge=0, le=1e6)]
    region: Name | None = None


class Purchase(_Group):
    """How servers may be bought, and for how long."""

    horizon_months: Annotated[int, Field(ge=1, le=60)] = 36
    terms: Annotated[
        tuple[Literal["monthly", "reserved_1y", "reserved_3y"], ...], BeforeValidator(_split), Field(max_length=3)
    ] = ("monthly", "reserved_1y", "reserved_3y")
    spot_fraction: Fraction = 0.0
    checkpoint_minutes: Annotated[float, Field(ge=0, le=600)] = _sourced("purchase.checkpoint_minutes")
    restart_minutes: Annotated[float, Field(ge=0, le=600)] = _sourced("purchase.restart_minutes")
    interruption_fraction_per_month: Annotated[float, Field(ge=0, le=0.999)] | None = None
    commitment_cap_servers: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    upfront_fraction: Fraction = 0.0
    resale_fraction: Fraction = 0.0
    negotiated_discounts: Annotated[
        tuple[ProviderDiscount, ...], _pairs("provider", "discount_fraction"), Field(max_length=60)
    ] = ()
    savings_plans: Annotated[tuple[SavingsPlan, ...], Field(max_length=60)] = ()
    contracts: Annotated[tuple[Contract, ...], Field(max_length=60)] = ()


class Dataset(_Group):
    """One body of stored data."""

    name: Name
    size_gb: Annotated[float, Field(ge=0, le=1e9)]
    growth_fraction_per_month: Annotated[float, Field(ge=-0.5, le=1)] = 0.0
    reads_gb_per_month: Annotated[float, Field(ge=0, le=1e10)] = 0.0
    read_requests_per_month: Annotated[float, Field(ge=0, le=1e13)] = 0.0
    write_requests_per_month: Annotated[float, Field(ge=0, le=1e13)] = 0.0
    max_latency_ms: Annotated[float, Field(gt=0, le=1e9)] = 1000.0
    kept_days: Annotated[float, Field(gt=0, le=36_500)] = 365.0


class Storage(_Group):
    """What is stored, and what leaves the provider."""

    datasets: Annotated[tuple[Dataset, ...], Field(max_length=40)] = ()
    egress_gb_per_month: Annotated[float, Field(ge=0, le=1e9)] = 0.0


class Finance(_Group):
    """Currency, time value of money, tax, people, support, credits, and hardware of one's own."""

    currency: Annotated[str, Field(min_length=3, max_length=3)] = "USD"
    units_per_usd: Annotated[float, Field(gt=0, le=1e7)] | None = None
    discount_rate_fraction: Fraction = _sourced("finance.discount_rate_fraction")
    tax_fraction: Fraction = 0.0
    support_plan: Name | None = None
    staff_fte: Annotated[float, Field(ge=0, le=1000)] = 0.0
    staff_usd_per_year: Annotated[float, Field(ge=0, le=1e7)] = _sourced("finance.staff_usd_per_year")
    credit_usd: Annotated[float, Field(ge=0, le=1e12)] = 0.0
    credit_share_fraction: Fraction = 1.0
    credit_until_month: Annotated[int, Field(ge=1, le=60)] | None = None
    migration_usd: Annotated[float, Field(ge=0, le=1e12)] = 0.0
    owned_servers: Annotated[int, Field(ge=0, le=100_000)] = 0
    owned_gpu: Name | None = None
    owned_gpus_per_server: Annotated[int, Field(ge=1, le=72)] | None = None
    owned_country: Name | None = None
    owned_server_usd: Annotated[float, Field(ge=0, le=1e8)] | None = None
    residual_fraction: Fraction | None = None
    life_years: Annotated[float, Field(ge=1, le=10)] | None = None
    after_life: Literal["replace", "cloud"] = "replace"
    pue: Annotated[float, Field(ge=1, le=5)] | None = None
    electricity_usd_per_kwh: Annotated[float, Field(ge=0, le=10)] | None = None
    hosting_usd_per_kw_month: Annotated[float, Field(ge=0, le=100_000)] | None = None
    owned_staff_fte: Annotated[float, Field(ge=0, le=1000)] | None = None
    maintenance_fraction_per_year: Fraction | None = None


class Quota(_Group):
    """The most GPUs that a provider lets one have: of one type, in one region, or of all together."""

    provider: Name
    gpus: Annotated[int, Field(ge=0, le=1_000_000)]
    gpu: Name | None = None
    region: Name | None = None


class Requirements(_Group):
    """What an offer must have to be considered at all."""

    countries: Names = ()
    providers_in: Names = ()
    providers_out: Names = ()
    offers_out: Names = ()
    quotas: Annotated[tuple[Quota, ...], Field(max_length=60)] = ()
    gpus_in: Names = ()
    compliance: Names = ()
    minimum_sla_fraction: Annotated[float, Field(ge=0, le=1)] | None = None
    nvlink: bool = False
    minimum_bandwidth_gb_per_s: Annotated[float, Field(ge=0, le=100_000)] | None = None
    minimum_fp16_tflops: Annotated[float, Field(ge=0, le=100_000)] | None = None
    kubernetes: bool = False
    hybrid_cloud: bool = False
    monitoring_api: bool = False
    pretrained_models: Annotated[int, Field(ge=0, le=10_000_000)] | None = None
    green_certification: bool = False
    marketplaces: bool = False
    sold_out_offers: bool = False
    mainland_china: bool = False
    maximum_price_age_days: Annotated[int, Field(ge=0, le=100_000)] | None = None
    framework: Literal["any", "pytorch", "tensorflow", "jax", "onnx"] = "any"
    framework_version: Name | None = None
    cuda_version: Name | None = None


class CriterionWeight(_Group):
    """The weight of one criterion in the user's own framework."""

    criterion: Name
    weight: Annotated[float, Field(ge=0, le=1000)]


class Priorities(_Group):
    """What counts how much when the survivors are ranked."""

    framework: Literal["gpudash", "three_dimension", "four_dimension", "custom"] = "gpudash"
    weights: Annotated[tuple[CriterionWeight, ...], _pairs("criterion", "weight"), Field(max_length=60)] = ()


class CatalogueChoice(_Group):
    """Which dated price snapshot (without one, the newest), and which imported price sheet besides.

    `own_sheet` only names the sheet (see `sheet_name`): its prices stay with whoever imported them.
    """

    snapshot: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] | None = None
    own_sheet: Annotated[str, Field(min_length=1, max_length=120)] | None = None


class About(_Group):
    """What the decision is called, and what is paid today."""

    name: Annotated[str, Field(max_length=200)] = ""
    author: Annotated[str, Field(max_length=200)] = ""
    notes: Annotated[str, Field(max_length=2000)] = ""
    paid_usd_per_month: Annotated[float, Field(ge=0, le=1e12)] | None = None


class Scenario(_Group):
    """One decision, whole. With its dated catalogue it determines the Result."""

    workload: Workload = Workload()
    traffic: Traffic = Traffic()
    budget: Budget = Budget()
    purchase: Purchase = Purchase()
    storage: Storage = Storage()
    finance: Finance = Finance()
    requirements: Requirements = Requirements()
    priorities: Priorities = Priorities()
    catalogue: CatalogueChoice = CatalogueChoice()
    about: About = About()

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> "Scenario":
        """A (partial) nested mapping as a Scenario; absent fields take their defaults.

        Raises GpudashError with one sentence that names the field, what it holds and what is allowed.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise _sentence(error) from None

    def with_value(self, path: str, value: Any) -> "Scenario":
        """The same Scenario with one input changed; text is read as the input's type."""
        return self.with_values({path: value})

    def with_values(self, changes: Mapping[str, Any]) -> "Scenario":
        """The same Scenario with several inputs changed, by their paths."""
        values = self.model_dump()
        for path, value in changes.items():
            group, name = _existing(path)
            values[group][name] = value
        return Scenario.read(values)

    def value(self, path: str) -> Any:
        """The value of one input, by its path."""
        group, name = _existing(path)
        return getattr(getattr(self, group), name)

    def changed(self) -> dict[str, Any]:
        """The inputs that differ from their defaults: path → plain value (as JSON holds it)."""
        plain = self.model_dump(mode="json", exclude_defaults=True)
        return {f"{group}.{name}": value for group, names in plain.items() for name, value in names.items()}


@lru_cache(maxsize=1)
def fields() -> Mapping[str, FieldInfo]:
    """Every input by its path ("workload.params_b"), in the order declared."""
    return {
        f"{group}.{name}": info
        for group, outer in Scenario.model_fields.items()
        for name, info in outer.annotation.model_fields.items()
    }


def default(path: str) -> Any:
    """What an input is when the user says nothing."""
    return fields()[path].default


@cache
def bounds(path: str) -> tuple[float | None, float | None]:
    """Lowest and highest allowed number of an input (None: no bound)."""
    low = high = None
    for item in _constraints(fields()[path]):
        low = getattr(item, "ge", None) if getattr(item, "ge", None) is not None else getattr(item, "gt", low)
        high = getattr(item, "le", None) if getattr(item, "le", None) is not None else getattr(item, "lt", high)
    return low, high


@cache
def choices(path: str) -> tuple[str, ...]:
    """The allowed words of an input; empty for numbers and free text."""
    return _literals(fields()[path].annotation)


def is_optional(path: str) -> bool:
    """Whether an input may be left empty."""
    return type(None) in get_args(fields()[path].annotation)


def _constraints(info: FieldInfo):
    found = list(info.metadata)
    pending = list(get_args(info.annotation))
    while pending:
        item = pending.pop()
        if isinstance(item, FieldInfo):
            found.extend(item.metadata)
        elif get_origin(item) is not None:
            pending.extend(get_args(item))
        if get_origin(item) is Annotated:
            found.extend(part for part in get_args(item)[1:] if not isinstance(part, FieldInfo))
    return found


def _literals(annotation) -> tuple[str, ...]:
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return next((words for part in get_args(annotation) if (words := _literals(part))), ())


def _existing(path: str) -> tuple[str, str]:
    if path not in fields():
        raise GpudashError("errors.unknown_field", path=path, nearest=_nearest(path))
    group, name = path.split(".")
    return group, name


def _nearest(path: str) -> str:
    close = difflib.get_close_matches(path, fields(), n=3, cutoff=0.5)
    ending = [known for known in fields() if known.endswith("." + path.rpartition(".")[2])]
    return ", ".join(dict.fromkeys(ending + close)) or ", ".join(Scenario.model_fields)


_SENTENCES = {
    "literal_error": "errors.must_be_one_of",
    "string_too_short": "errors.text_too_short",
    "string_too_long": "errors.text_too_long",
    "string_pattern_mismatch": "errors.must_be_date",
    "too_long": "errors.list_too_long",
    "missing": "errors.missing_field",
    "int_from_float": "errors.must_be_whole_number",
    "finite_number": "errors.must_be_number",
    "float": "errors.must_be_number",
    "int": "errors.must_be_whole_number",
    "bool": "errors.must_be_yes_or_no",
    "string": "errors.must_be_text",
    "tuple": "errors.must_be_list",
    "model": "errors.must_be_group",
    "dict": "errors.must_be_group",
}


def _sentence(error: ValidationError) -> GpudashError:
    """The first complaint of pydantic as our own sentence."""
    first = error.errors(include_url=False)[0]
    context = first.get("ctx") or {}
    words = [str(part) for part in first["loc"] if not str(part).startswith(("constrained-", "function-"))]
    path = ".".join(words[:2]) + "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in words[2:])
    shown = str(first["input"])
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    kind = first["type"]
    if kind in ("extra_forbidden", "invalid_key"):
        return GpudashError("errors.unknown_field", path=path, nearest=_nearest(path))
    if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal"):
        return _out_of_bounds(path, shown, words)
    code = _SENTENCES.get(kind) or _SENTENCES[kind.partition("_")[0]]
    limit = context.get("max_length", context.get("min_length"))
    if kind == "literal_error":
        limit = context["expected"].replace("'", "").replace(" or ", ", ")
    return GpudashError(code, path=path or "scenario", value=shown, limit=limit)


def _out_of_bounds(path: str, shown: str, words: list[str]) -> GpudashError:
    """Both ends of what is allowed, whichever of them was crossed."""
    info, model = None, Scenario
    for word in words:
        if not word.isdigit():
            info = model.model_fields[word]
            model = next((part for part in (info.annotation, *get_args(info.annotation)) if _is_model(part)), None)
    limits = {
        end: getattr(item, end) for item in _constraints(info) for end in ("gt", "ge", "le") if hasattr(item, end)
    }
    code = "errors.must_be_above_and_at_most" if "gt" in limits else "errors.must_be_between"
    low = limits["gt"] if "gt" in limits else limits["ge"]
    return GpudashError(code, path=path, value=shown, low=f"{low:.15g}", high=f"{limits['le']:.15g}")


def _is_model(part) -> bool:
    return isinstance(part, type) and issubclass(part, BaseModel)
