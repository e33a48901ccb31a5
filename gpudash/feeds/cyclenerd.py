"""Cyclenerd's price file of GCP: YAML, compute.instance.<machine>.cost.<region>: hour, hour_spot, month_1y, month_3y.

Published as pricing.yml in Cyclenerd/google-cloud-pricing-cost-calculator; about.timestamp says when it was made.
"""

from datetime import UTC, datetime

import yaml

from gpudash.errors import GpudashError
from gpudash.feeds import Context, Feed, Fetch, feed_facts, left_out, machine, our_sheet, per_hour
from gpudash.sheets import Sheet
from gpudash.tables import parse_yaml
from gpudash.units import HOURS_PER_MONTH

MEGABYTES = 12  # a limit of our choice; the file has about 3


def feeds() -> tuple[Feed, ...]:
    """The one feed of GCP."""
    return (Feed("Cyclenerd GCP", feed_facts()["cyclenerd"]["provider"], _read),)


def _read(fetch: Fetch, catalogue, today: str) -> Sheet:
    facts = feed_facts()["cyclenerd"]
    prices = _document(fetch(facts["url"]))
    try:
        as_of = datetime.fromtimestamp(prices["about"]["timestamp"], UTC).date().isoformat()
        machines = prices["compute"]["instance"]
        if not isinstance(machines, dict):
            raise TypeError
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        raise _not_the_format() from None
    return offers(machines, Context(catalogue, facts["provider"], facts["source"], as_of=min(as_of, today)))


def _document(content: bytes):
    """The file's values; references are refused, because a few of them unfold to more than memory holds."""
    if len(content) > MEGABYTES * 1_000_000:
        raise GpudashError("catalogue_refresh.too_large", url="pricing.yml", limit=MEGABYTES)
    try:
        text = content.decode("utf-8")
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader)):
            raise _not_the_format()
        return parse_yaml(text)
    except (UnicodeDecodeError, yaml.YAMLError, ValueError, RecursionError):
        raise _not_the_format() from None


def _not_the_format() -> GpudashError:
    return GpudashError("catalogue_refresh.not_the_format", file="pricing.yml", expected="compute.instance")


def offers(machines: dict, context: Context) -> Sheet:
    """Prices of the machines the catalogue knows, per region; a commitment's month has 730 hours.

    The line of a row is its place among the prices of the file, from 1.
    """
    facts = feed_facts()["cyclenerd"]
    rows, refused, line = [], [], 0
    for instance, entry in machines.items():
        costs = entry.get("cost") if isinstance(entry, dict) else None
        known = machine(context, str(instance))
        if not known and not str(instance).startswith(tuple(facts["families"])):
            continue
        for region, cost in costs.items() if isinstance(costs, dict) else ():
            line += 1
            if not known:
                refused.append(left_out(line, "unknown_machine", instance=str(instance)))
            elif isinstance(cost, dict):
                row = {"instance": str(instance), "region": str(region)} | known
                rows.append((line, row | _prices(cost, only_spot=instance in facts["spot_only"])))
    return our_sheet(rows, context, refused)


def _prices(cost: dict, *, only_spot: bool) -> dict[str, str]:
    spot = {"spot_per_hour": per_hour(cost.get("hour_spot"))}
    if only_spot:
        return spot
    return spot | {
        "on_demand_per_hour": per_hour(cost.get("hour")),
        "reserved_1y_per_hour": per_hour(cost.get("month_1y"), HOURS_PER_MONTH),
        "reserved_3y_per_hour": per_hour(cost.get("month_3y"), HOURS_PER_MONTH),
    }
