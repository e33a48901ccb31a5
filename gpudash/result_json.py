"""A Result as plain JSON values: nothing rounded, no NaN, messages as sentences of one language."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from typing import Any

import numpy as np

from gpudash.catalogue import Catalogue
from gpudash.lower_precision import lower_precision
from gpudash.purchase_mix import KINDS
from gpudash.result import Bill, Choice, FrameworkRanking, Message, Result
from gpudash.text import Text


def result_json(result: Result, text: Text) -> dict[str, Any]:
    """Everything the Result holds, under stable names; a figure that does not exist is null."""

    def choices(several) -> list[dict]:
        return [choice_json(choice, text) for choice in several]

    def choice(one: Choice | None) -> dict | None:
        return one and choice_json(one, text)

    return {
        "recommendation": choice(result.recommendation),
        "runner_up": choice(result.runner_up),
        "cheapest": choice(result.cheapest),
        "fastest": choice(result.fastest),
        "gap_usd_per_month": plain(result.gap_usd_per_month, text),
        "alternatives": choices(result.alternatives),
        "pareto": list(result.pareto),
        "rejected": _rejected(result, text),
        "sizing": plain(result.sizing, text),
        "demand": plain(result.demand, text),
        "purchase_mix": plain(result.purchase_mix, text),
        "purchase_detail": plain(result.purchase_detail, text),
        "storage": plain(result.storage, text),
        "tco": [_bill(bill, text) for bill in result.tco],
        "owned": plain(result.owned, text),
        "scores": {name: plain(ranking.rows, text) for name, ranking in result.scores.items()},
        "frameworks": {name: _framework(ranking, text) for name, ranking in result.scores.items()},
        "path": {name: [step_json(step, text) for step in path.steps] for name, path in result.path.items()},
        "outcomes": {name: text.say(path.outcome) for name, path in result.path.items()},
        "lower_precision": [
            plain(lower, text) | {"choice": choice_json(lower.choice, text)} for lower in lower_precision(result)
        ],
        "uncertainty": plain(result.uncertainty, text),
        "flips": plain(result.flips, text),
        "fleets": plain(result.fleets, text),
        "assumptions": plain(result.assumptions, text),
        "warnings": plain(result.warnings, text),
        "catalogue": catalogue_json(result.catalogue),
        "scenario": result.scenario.model_dump(mode="json"),
    }


def choice_json(choice: Choice, text: Text) -> dict[str, Any]:
    """One candidate; its purchase split names every way of buying, also those it does not use."""
    values = plain(choice, text)
    split = {kind: values["purchase_split"].get(kind, 0.0) for kind in KINDS}
    return {"offer": values.pop("id"), **values, "purchase_split": split}


def step_json(step, text: Text) -> dict[str, Any]:
    """One step of a decision tree, its question and branches as sentences; who fell is counted, not listed."""
    values = {field.name: plain(getattr(step, field.name), text) for field in fields(step) if field.name != "fell"}
    sentences = {"question": text(step.question), "branch": text(step.branch)}
    return values | sentences | {"not_taken": [text(key) for key in step.not_taken]}


def catalogue_json(catalogue: Catalogue) -> dict[str, Any]:
    """Which prices were used: the snapshot's date, what it holds, how old its prices are, and its exchange rates."""
    ages = catalogue.offers.age_days
    return {
        "snapshot": catalogue.snapshot,
        "offers": len(catalogue.offers),
        "providers": len(set(catalogue.offers.provider.tolist())),
        "gpus": len(set(catalogue.offers.gpu_row.tolist())),
        "newest_price_age_days": float(np.nanmin(ages)),
        "median_price_age_days": float(np.nanmedian(ages)),
        "oldest_price_age_days": float(np.nanmax(ages)),
        "units_per_usd": {name: rate.units_per_usd for name, rate in catalogue.exchange_rates.items()},
    }


def plain(value: Any, text: Text) -> Any:
    """Dataclasses, arrays and messages as dictionaries, lists and sentences; what is not finite becomes null."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Message):
        return text.say(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist(), text)
    if isinstance(value, Mapping):
        return {str(name): plain(item, text) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, text) for item in value]
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name), text) for field in fields(value)}
    raise TypeError(f"{type(value).__name__} has no plain form")


def _rejected(result: Result, text: Text) -> list[dict]:
    sentences = [text.say(reason) for reason in result.rejected.reasons]
    offers = result.catalogue.offers.id[result.rejected.offer_rows].tolist()
    reasons = np.asarray(result.rejected.reason_of).tolist()
    return [{"offer": offer, "because": sentences[reason]} for offer, reason in zip(offers, reasons)]


def _bill(bill: Bill, text: Text) -> dict[str, Any]:
    values = plain(bill, text)
    return {"offer": values.pop("choice_id"), **values}


def _framework(ranking: FrameworkRanking, text: Text) -> dict[str, Any]:
    """What stands behind a framework's scores: criteria, weight intervals, warnings."""
    names = ("criteria", "weight_intervals", "warnings")
    return {name: plain(getattr(ranking, name), text) for name in names}
