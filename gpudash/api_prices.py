"""What hosted models cost per million tokens: input, cached input and output apart, from the prices a package ships.

The package is read only when these prices are asked for, offline; data/hosted_models.csv says which hosted model is
which of our presets.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from gpudash.errors import GpudashError
from gpudash.tables import DATA, read_rows, read_yaml
from gpudash.units import HOURS_PER_DAY


@dataclass(frozen=True)
class ApiPrice:
    """A hosted model's price; cached input costs what plain input does where the provider publishes no price for it."""

    provider: str
    hosted_model: str
    input_usd_per_million_tokens: float
    cached_input_usd_per_million_tokens: float
    output_usd_per_million_tokens: float
    source: str
    as_of: str


@cache
def hosted_models() -> dict[str, tuple[tuple[str, str], ...]]:
    """Our preset -> (provider, hosted model) pairs; empty where no provider hosts it."""
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for row in read_rows(DATA / "hosted_models.csv"):
        pair = ((row["provider"], row["hosted_model"]),) if row["hosted_model"] else ()
        found[row["model"]] = found.get(row["model"], ()) + pair
    return found


def api_prices(model: str, on_day: str) -> tuple[ApiPrice, ...]:
    """Prices of one of our presets at every provider that hosts it, as of a day (ISO date); empty where none does.

    Prices in steps by length of the input count at their base; where the price depends on the hour, the dearest counts.
    Raises `api_prices.not_installed`, and `api_prices.unknown` where the data names what the package does not hold.
    """
    pairs = hosted_models().get(model, ())
    return tuple(_price(provider, hosted, on_day) for provider, hosted in pairs)


@cache
def _packaged() -> dict[tuple[str, str], object]:
    try:
        from genai_prices.data import providers
    except ImportError:
        raise GpudashError("api_prices.not_installed", package=_facts()["package"]) from None
    return {(provider.id, model.id): model for provider in providers for model in provider.models}


@cache
def _facts() -> dict:
    return read_yaml(DATA / "api_prices.yaml")


@cache
def _price(provider: str, hosted: str, on_day: str) -> ApiPrice:
    model = _packaged().get((provider, hosted))
    if model is None:
        raise GpudashError("api_prices.unknown", provider=provider, model=hosted, package=_facts()["package"])
    day = datetime.fromisoformat(on_day).replace(tzinfo=UTC)
    by_hour = [model.get_prices(day.replace(hour=hour)) for hour in range(HOURS_PER_DAY)]

    def dearest(name: str) -> float | None:
        amounts = [getattr(prices, name, None) for prices in by_hour]
        return max((float(getattr(amount, "base", amount)) for amount in amounts if amount is not None), default=None)

    plain_input = dearest("input_mtok")
    cached_input = dearest("cache_read_mtok")
    return ApiPrice(
        provider=provider,
        hosted_model=hosted,
        input_usd_per_million_tokens=plain_input,
        cached_input_usd_per_million_tokens=plain_input if cached_input is None else cached_input,
        output_usd_per_million_tokens=dearest("output_mtok"),
        source=_facts()["source"],
        as_of=str(_facts()["as_of"]),
    )
