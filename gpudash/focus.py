"""The bill as cost rows in the columns of FOCUS, the FinOps Open Cost and Usage Specification.

A forecast, not an invoice: accounts, resources and SKUs do not exist yet, so those columns are not there. Amounts are
in the scenario's currency; tax has rows of its own; the list cost of servers is that of the hours used. Source of
columns and values: FOCUS 1.2, 2025.
"""

from typing import Any

import numpy as np

from gpudash.brief import Brief
from gpudash.errors import GpudashError
from gpudash.figures.money import money_of
from gpudash.figures.tco import COSTS, cost_label
from gpudash.purchase_mix import COMMITMENTS, KINDS
from gpudash.roadmap import horizon_starts, months_later
from gpudash.spreadsheet import csv_bytes

COLUMNS = (
    "BilledCost",
    "EffectiveCost",
    "ContractedCost",
    "ListCost",
    "BillingCurrency",
    "BillingPeriodStart",
    "BillingPeriodEnd",
    "ChargePeriodStart",
    "ChargePeriodEnd",
    "ChargeCategory",
    "ChargeFrequency",
    "ChargeDescription",
    "PricingCategory",
    "ConsumedQuantity",
    "ConsumedUnit",
    "CommitmentDiscountType",
    "ServiceCategory",
    "ServiceName",
    "ProviderName",
    "RegionId",
    "x_InstanceType",
    "x_ScenarioLink",
)
SERVICES = {"storage": "Storage", "egress": "Networking", "support": "Management and Governance"}
PRICING = {"on_demand": "Standard", "spot": "Dynamic"} | dict.fromkeys(COMMITMENTS, "Committed")
CATEGORIES = dict.fromkeys(COMMITMENTS, "Purchase") | {"resale": "Credit", "credit": "Credit", "tax": "Tax"}
ONE_TIME = ("one_off", "resale", "credit")


def focus_csv(brief: Brief) -> bytes:
    """One row per month and kind of cost; the rows add up to the bill and its tax."""
    if brief.result.leading_bill is None:
        raise GpudashError("launch.nothing_to_run")
    rows = [[row.get(column) for column in COLUMNS] for row in _rows(brief)]
    return csv_bytes(list(COLUMNS), rows)


def _rows(brief: Brief) -> list[dict[str, Any]]:
    result, bill, money = brief.result, brief.result.leading_bill, money_of(brief.result, brief.text)
    tax_fraction, rows = result.scenario.finance.tax_fraction, []
    for month in bill.months:
        for kind in COSTS:
            usd = getattr(month, f"{kind}_usd")
            if usd:
                rows.append(_row(kind, month.month, money.amount(usd), brief))
        if tax_fraction:
            rows.append(_row("tax", month.month, money.amount(month.total_usd * tax_fraction), brief))
    return rows


def _row(kind: str, month: int, amount: float, brief: Brief) -> dict[str, Any]:
    result, choice, text = brief.result, brief.result.leading, brief.text
    first = horizon_starts(result)
    starts, ends = (f"{months_later(first, count).isoformat()}T00:00:00Z" for count in (month - 1, month))
    is_compute = kind in KINDS
    row = {
        "BilledCost": amount,
        "EffectiveCost": amount,
        "ContractedCost": amount,
        "ListCost": amount,
        "BillingCurrency": result.scenario.finance.currency,
        "BillingPeriodStart": starts,
        "BillingPeriodEnd": ends,
        "ChargePeriodStart": starts,
        "ChargePeriodEnd": ends,
        "ChargeCategory": CATEGORIES.get(kind, "Usage"),
        "ChargeFrequency": "One-Time" if kind in ONE_TIME else "Recurring" if kind in COMMITMENTS else "Usage-Based",
        "ChargeDescription": cost_label(kind, text),
        "ServiceCategory": SERVICES.get(kind, "Other"),
        "ServiceName": cost_label(kind, text),
        "ProviderName": choice.provider,
        "RegionId": choice.region,
        "x_ScenarioLink": brief.link,
    }
    if not is_compute:
        return row
    hours = float(np.asarray(result.purchase_mix.served_hours[kind])[month - 1])
    list_price = choice.on_demand_usd_per_hour
    return row | {
        "ListCost": None if list_price is None else hours * money_of(result, text).amount(list_price),
        "PricingCategory": PRICING[kind],
        "ConsumedQuantity": hours,
        "ConsumedUnit": "Hours",
        "CommitmentDiscountType": cost_label(kind, text) if kind in COMMITMENTS else None,
        "ServiceCategory": "Compute",
        "ServiceName": choice.gpu,
        "x_InstanceType": choice.instance,
    }
