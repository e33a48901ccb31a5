"""The Azure retail price feed: pages of JSON, one item per size, region and way of buying.

Format: Items with armSkuName, armRegionName, productName, skuName, meterName, unitOfMeasure, retailPrice, currencyCode,
type, reservationTerm, isPrimaryMeterRegion, and NextPageLink (Microsoft, "Azure Retail Prices overview").
"""

import json
from urllib.parse import urlsplit

from gpudash.errors import GpudashError
from gpudash.feeds import Context, Feed, Fetch, feed_facts, left_out, machine, our_sheet, per_hour
from gpudash.sheets import Sheet
from gpudash.units import HOURS_PER_YEAR

PAGES = 200  # a limit of our choice; machines with GPUs fill about 20


def feeds() -> tuple[Feed, ...]:
    """The one feed of Azure."""
    facts = feed_facts()["azure"]
    return (Feed("Azure retail prices", facts["provider"], _read),)


def _read(fetch: Fetch, catalogue, today: str) -> Sheet:
    facts = feed_facts()["azure"]
    context = Context(catalogue, facts["provider"], facts["source"], as_of=today)
    host = urlsplit(facts["url"]).hostname
    items, url = [], facts["url"]
    for _ in range(PAGES):
        page = _page(fetch(url))
        items += page["Items"]
        url = page.get("NextPageLink")
        if not url:
            return offers(items, context)
        if not isinstance(url, str) or urlsplit(url).scheme != "https" or urlsplit(url).hostname != host:
            raise GpudashError("catalogue_refresh.not_the_format", file="NextPageLink", expected=host)
    raise GpudashError("catalogue_refresh.too_many_pages", limit=PAGES)


def _page(content: bytes) -> dict:
    try:
        page = json.loads(content)
    except (ValueError, RecursionError):
        page = None
    if not isinstance(page, dict) or not isinstance(page.get("Items"), list):
        raise GpudashError("catalogue_refresh.not_the_format", file="api/retail/prices", expected="Items")
    return page


def offers(items: list, context: Context) -> Sheet:
    """Linux prices of the machines the catalogue knows; a reservation's price is the total of its term.

    The line of a row is its place among the items, from 1.
    """
    rows, refused = [], []
    for line, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            refused.append(left_out(line, "not_an_item"))
            continue
        price = _price(item)
        if price is None:
            continue  # another product: Windows, low priority, another term
        instance = str(item.get("armSkuName", ""))
        known = machine(context, instance)
        if not known:
            refused.append(left_out(line, "unknown_machine", instance=instance))
            continue
        row = {
            "instance": instance,
            "region": str(item.get("armRegionName", "")),
            "currency": str(item.get("currencyCode")),
        }
        rows.append((line, row | known | price))
    return our_sheet(rows, context, refused)


def _price(item: dict) -> dict[str, str] | None:
    facts = feed_facts()["azure"]
    product = " ".join(str(item.get(name)) for name in ("productName", "skuName", "meterName"))
    if any(word in product for word in facts["left_out"]) or item.get("isPrimaryMeterRegion") is False:
        return None
    if item.get("unitOfMeasure") != "1 Hour":
        return None
    if item.get("type") == "Reservation":
        years = facts["years_of_term"].get(str(item.get("reservationTerm")))
        return (
            {f"reserved_{years}y_per_hour": per_hour(item.get("retailPrice"), years * HOURS_PER_YEAR)}
            if years
            else None
        )
    if item.get("type") != "Consumption":
        return None
    return {"spot_per_hour" if "Spot" in product else "on_demand_per_hour": per_hour(item.get("retailPrice"))}
