"""What a price sheet does not say itself, and the questions that must be answered before it can be read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from gpudash.catalogue import Catalogue
from gpudash.errors import GpudashError
from gpudash.feeds import gpuhunt, skypilot
from gpudash.offer_sheet import COLUMNS, PRICES
from gpudash.records import WAYS, OfferKind, OfferRow, may_be_absent
from gpudash.sheet_amounts import DECIMALS
from gpudash.sheets import Sheet

FORMATS = ("gpudash", "skypilot", "gpuhunt", "vendor")
TERMS = WAYS
PERIODS = ("hour", "month", "year", "term")
PRICE_UNITS = ("server", "gpu")
KINDS = get_args(OfferKind)
MAPPED = ("price", "term", "tier", "price_per_gpu", *COLUMNS)
_OPTIONAL = (
    *("gpu_fraction", "vcpus", "memory_gb", "country", "secondary", "date_estimated", "source"),
    *PRICES,
    *may_be_absent(OfferRow),
)


@dataclass(frozen=True)
class Answers:
    """What a file does not say itself; None is "not answered", and what is needed is then asked."""

    price_unit: str | None = None  # PRICE_UNITS: what one amount buys
    term: str | None = None  # TERMS: the way of buying of the mapped column `price`
    period: str | None = None  # PERIODS: what the amounts are for
    currency: str | None = None
    provider: str | None = None
    kind: str | None = None
    region: str | None = None
    as_of: str | None = None
    source: str | None = None  # the file's name if not given
    decimal: str | None = None  # "." or ",", only if the amounts leave it open
    sheet: str | None = None  # of a workbook with several


@dataclass(frozen=True)
class Question:
    """Something that must be known before the file can be read; `allowed` is empty where any text is."""

    name: str
    allowed: tuple[str, ...]
    is_answered: bool = False


def answers_of(answers: Mapping[str, str | None], catalogue: Catalogue) -> Answers:
    """Answers by name (those of `Answers`), each among what is allowed, else GpudashError."""
    given = Answers(**{name: value or None for name, value in answers.items()})
    allowed = {
        "price_unit": PRICE_UNITS,
        "term": TERMS,
        "period": PERIODS,
        "currency": tuple(sorted(catalogue.exchange_rates)),
        "kind": KINDS,
        "decimal": DECIMALS,
    }
    for name, choices in allowed.items():
        value = getattr(given, name)
        if value is not None and value not in choices:
            raise GpudashError("catalogue_import.answer", name=name, value=value, allowed=", ".join(choices))
    return given


def format_of(sheet: Sheet, mapping: Mapping[str, str] | None = None) -> str:
    """Which of FORMATS the headings are; a mapping makes any sheet a vendor's."""
    if mapping:
        return "vendor"
    headings = sheet.columns.keys()
    if {"provider", "instance", "gpu", "gpus_per_server"} <= headings and any(name in headings for name in PRICES):
        return "gpudash"
    if headings >= skypilot.HEADING:
        return "skypilot"
    return "gpuhunt" if headings >= gpuhunt.HEADING else "vendor"


def mapping_of(mapping: Mapping[str, str] | None, kind: str, sheet: Sheet, file_name: str) -> dict[str, str]:
    """The mapping of a vendor's sheet, checked; for our own columns, each to itself."""
    if kind == "gpudash":
        unknown = [name for name in sheet.columns if name not in COLUMNS]
        if unknown:
            raise GpudashError("catalogue.columns", file=file_name, missing="-", unknown=", ".join(unknown))
        return {name: name for name in sheet.columns}
    mapping = {name: heading for name, heading in (mapping or {}).items() if heading}
    unknown = sorted(set(mapping) - set(MAPPED))
    if unknown:
        raise GpudashError("catalogue_import.mapped_unknown", name=unknown[0], allowed=", ".join(MAPPED))
    for name, heading in mapping.items():
        if heading not in sheet.columns:
            known = ", ".join(sheet.columns)
            raise GpudashError(
                "catalogue_import.mapped_heading", file=file_name, name=name, heading=heading, known=known
            )
    return mapping


def questions_of(
    kind: str, sheet: Sheet, mapping: Mapping[str, str], given: Answers, catalogue: Catalogue
) -> tuple[Question, ...]:
    """What format and mapping do not say, answered or not, in a fixed order; the kind only of an unknown provider."""
    if kind == "vendor":
        asked = _asked_of_a_vendor(sheet, mapping, given, catalogue)
    elif kind == "gpudash":
        asked = {name: () for name in COLUMNS if name not in _OPTIONAL}
        asked |= {"price_unit": PRICE_UNITS, "kind": KINDS, "currency": tuple(sorted(catalogue.exchange_rates))}
    else:
        asked = {"provider": (), "as_of": ()}
    providers = set(sheet.columns[mapping["provider"]]) if "provider" in mapping else {given.provider} - {None}
    if providers - set(catalogue.providers):
        asked["kind"] = KINDS
    return tuple(
        Question(name, allowed, bool(getattr(given, name, None)))
        for name, allowed in asked.items()
        if name not in mapping
    )


def _asked_of_a_vendor(sheet: Sheet, mapping, given: Answers, catalogue: Catalogue) -> dict[str, tuple[str, ...]]:
    headings = tuple(sheet.columns)
    asked: dict[str, tuple[str, ...]] = {
        f"mapping.{name}": headings for name in ("instance", "gpu", "gpus_per_server") if name not in mapping
    }
    if "price" not in mapping and (given.period == "term" or not any(name in mapping for name in PRICES)):
        asked["mapping.price"] = headings
    asked |= {"price_unit": PRICE_UNITS, "period": PERIODS, "currency": tuple(sorted(catalogue.exchange_rates))}
    if "price" in mapping:
        asked["term"] = TERMS
    return asked | {"provider": (), "region": (), "as_of": ()}
