"""What own servers cost to buy, house, feed and look after: the user's figures, else those of the card and country."""

from dataclasses import dataclass

import numpy as np

from gpudash.assumptions import Known
from gpudash.energy import rated_server_kw
from gpudash.errors import GpudashError
from gpudash.records import Default, HardwarePrice
from gpudash.result import INPUTS, Assumption, Message
from gpudash.units import MONTHS_PER_YEAR

CARDS_PER_PRICED_SERVER = 8  # staff and host prices are quoted per server of eight cards
RESIDUAL_YEARS = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Terms:
    """Figures of one own server; `missing` says which one nobody publishes and the user has to give."""

    gpu: str
    gpus_per_server: int
    country: str
    server_usd: float
    rated_kw: float | None
    life_months: int
    residual_fraction: float | None  # the user's; None: `residual_curve`
    residual_curve: tuple[float, ...]  # after 0, 1 ... years
    pue: float
    electricity_usd_per_kwh: float
    hosting_usd_per_kw_month: float
    maintenance_fraction_per_year: float
    staff_usd_per_month: float  # of all own servers
    grid_gco2_per_kwh: float
    assumptions: tuple[Assumption, ...]
    missing: Message | None

    def residual_fraction_after(self, months: int) -> float:
        """Share of the price that a sale brings: the user's, else read off the curve of used prices by age."""
        if self.residual_fraction is not None:
            return self.residual_fraction
        return float(np.interp(months / MONTHS_PER_YEAR, np.arange(len(self.residual_curve)), self.residual_curve))


def terms_of(known: Known, gpu_row: int, gpus: int, answer_country: str) -> Terms:
    """The terms of own servers with `gpus` cards each, every figure with its origin; they stand where the answer does
    unless the user names a country.

    Raises `owned.unknown_country`.
    """
    country = _country(known) or answer_country
    defaults, finance = known.catalogue.defaults, known.scenario.finance
    gpu = known.catalogue.hardware.names[gpu_row]
    price = _server_price(known, gpu, gpus)
    cards = gpus * finance.owned_servers
    facts = {
        "owned_server_usd": price,
        "life_years": _default(defaults["server_life_years"]),
        "pue": _default(defaults["pue_colocation"]),
        "electricity_usd_per_kwh": _electricity(known, country),
        "hosting_usd_per_kw_month": _default(defaults["colocation_usd_per_kw_month"]),
        "owned_staff_fte": _default(defaults["staff_fte_per_8_gpu_server"], cards / CARDS_PER_PRICED_SERVER),
        "maintenance_fraction_per_year": _default(defaults["maintenance_fraction_of_hardware_per_year"]),
    }
    facts = {name: _entered(known, name) or fact for name, fact in facts.items()}
    value = {name: fact.value if fact else np.nan for name, fact in facts.items()}
    rated_kw = rated_server_kw(known.catalogue, gpu_row, gpus)
    residual = [defaults[f"residual_fraction_after_{year}_year{'s' if year > 1 else ''}"] for year in RESIDUAL_YEARS]
    missing = Message.of("owned.no_price", gpu=gpu) if facts["owned_server_usd"] is None else None
    if rated_kw is None:
        missing = Message.of("owned.no_power", gpu=gpu)
    return Terms(
        gpu=gpu,
        gpus_per_server=gpus,
        country=country,
        server_usd=value["owned_server_usd"],
        rated_kw=rated_kw,
        life_months=round(value["life_years"] * MONTHS_PER_YEAR),
        residual_fraction=finance.residual_fraction,
        residual_curve=(1.0, *(entry.value for entry in residual)),
        pue=value["pue"],
        electricity_usd_per_kwh=value["electricity_usd_per_kwh"],
        hosting_usd_per_kw_month=value["hosting_usd_per_kw_month"],
        maintenance_fraction_per_year=value["maintenance_fraction_per_year"],
        staff_usd_per_month=value["owned_staff_fte"] * finance.staff_usd_per_year / MONTHS_PER_YEAR,
        grid_gco2_per_kwh=_grid(known, country),
        assumptions=_ledger(facts, () if finance.residual_fraction is not None else residual),
        missing=missing,
    )


def _country(known: Known) -> str | None:
    """The user's country; a typing mistake must not fall back to the world's mean price."""
    country, catalogue = known.scenario.finance.owned_country, known.catalogue
    countries = set(catalogue.electricity) | {region.country for region in catalogue.regions.values()} - {""}
    if country is not None and country not in countries:
        raise GpudashError("owned.unknown_country", country=country, countries=", ".join(sorted(countries)))
    return country


def _entered(known: Known, name: str) -> Assumption | None:
    value = getattr(known.scenario.finance, name)
    author = known.scenario.about.author or INPUTS
    return None if value is None else Assumption(f"finance.{name}", value, "", "entered", author, "")


def _default(entry: Default, factor: float = 1.0) -> Assumption:
    return Assumption("", entry.value * factor, entry.unit, "default", entry.source, entry.as_of)


def _ledger(facts, residual) -> tuple[Assumption, ...]:
    """What the scenario does not hold itself, under the names of its inputs."""
    looked_up = [
        Assumption(f"finance.{name}", fact.value, fact.unit, fact.origin, fact.source, fact.as_of)
        for name, fact in facts.items()
        if fact is not None and fact.origin != "entered"
    ]
    curve = [Assumption(f"owned.{x.name}", x.value, x.unit, "default", x.source, x.as_of) for x in residual]
    return (*looked_up, *curve)


def _server_price(known: Known, gpu: str, gpus: int) -> Assumption | None:
    """A new server with so many of the cards; where none is quoted, cards and a host; None where no card is priced."""
    new = [
        row
        for row in known.catalogue.hardware_prices
        if row.gpu == gpu and row.condition == "new" and row.typical_usd > 0
    ]
    server = next((row for row in new if row.kind != "card" and row.gpu_count == gpus), None)
    if server is not None:
        return _price(server, server.typical_usd, "catalogue", server.source)
    card = next((row for row in new if row.kind == "card"), None)
    if card is None:
        return None
    host = known.catalogue.defaults["server_host_usd_per_8_cards"]
    usd = gpus * (card.typical_usd + host.value / CARDS_PER_PRICED_SERVER)
    return _price(card, usd, "derived", f"{card.source}; {host.source}")


def _price(row: HardwarePrice, usd: float, origin: str, source: str) -> Assumption:
    return Assumption("", usd, "USD", origin, source, row.as_of)


def _electricity(known: Known, country: str) -> Assumption:
    """The country's price for large users before tax, else the mean of the world's businesses."""
    row = known.catalogue.electricity.get(country)
    if row is None:
        return _default(known.catalogue.defaults["electricity_usd_per_kwh_world_business"])
    return Assumption("", row.large_business_usd_per_kwh, "USD/kWh", "catalogue", row.source, row.as_of)


def _grid(known: Known, country: str) -> float:
    """Carbon of the country's grid; NaN where no region of the country is known."""
    regions = known.catalogue.regions.values()
    return next((region.country_gco2_per_kwh for region in regions if country and region.country == country), np.nan)
