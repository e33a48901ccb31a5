"""SkyPilot's catalogue: vms.csv of one cloud, one row per machine and zone, US dollars per machine and hour.

Clouds whose own currency is passed on without conversion are named in data/feeds.yaml.

Format: InstanceType, AcceleratorName, AcceleratorCount, vCPUs, MemoryGiB, Price, SpotPrice, Region, AvailabilityZone
(the last may be absent), as published in skypilot-org/skypilot-catalog (v5 to v8).
"""

import re
from functools import partial

from gpudash.errors import GpudashError
from gpudash.feeds import Context, Feed, Fetch, cards, feed_facts, left_out, machine, our_sheet, per_hour, with_heading
from gpudash.sheets import Sheet, read_sheet

HEADING = frozenset({"InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "Region"})
# A local zone (us-east-1-atl-2a) is another place with other prices than the region it belongs to (us-east-1).
_LOCAL_ZONE = re.compile(r"[a-z]+-[a-z]+-\d-[a-z]{3}-\d[a-z]")


def feeds() -> tuple[Feed, ...]:
    """One feed per cloud that data/feeds.yaml names."""
    facts = feed_facts()["skypilot"]
    return tuple(
        Feed(f"SkyPilot {name}", provider, partial(_read, name, provider))
        for name, provider in facts["providers"].items()
    )


def _read(name: str, provider: str, fetch: Fetch, catalogue, today: str) -> Sheet:
    facts = feed_facts()["skypilot"]
    file = f"{name}/vms.csv"
    context = Context(catalogue, provider, f"{facts['source']} {file}", as_of=today, date_estimated=True)
    return offers(with_heading(read_sheet(fetch(facts["url"].format(provider=name)), file), HEADING, file), context)


def offers(sheet: Sheet, context: Context) -> Sheet:
    """The machines with GPUs, one row per region: the on-demand price, and the lowest spot price of its zones."""
    cells = sheet.columns
    blank = [""] * len(sheet)
    names = ("InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "Region")
    optional = ("vCPUs", "MemoryGiB", "SpotPrice", "AvailabilityZone")
    found: dict[tuple, tuple[int, dict[str, str]]] = {}
    refused = list(sheet.refused)
    hardware: dict[tuple, dict | str] = {}
    columns = (*(cells[name] for name in names), *(cells.get(name, blank) for name in optional))
    for line, instance, gpu, count, price, region, vcpus, memory, spot, zone in zip(sheet.lines, *columns):
        if not gpu or not instance:
            refused.append(left_out(line, "no_gpu" if instance or not gpu else "gpu_alone"))
            continue
        server = (instance, gpu, count)
        if server not in hardware:
            hardware[server] = _hardware(context, *server)
        if isinstance(hardware[server], str):
            refused.append(left_out(line, hardware[server], gpu=gpu, count=count))
            continue
        place = zone if _LOCAL_ZONE.fullmatch(zone) else region
        row = {
            "instance": instance,
            "region": place,
            "currency": feed_facts()["skypilot"]["currencies"].get(context.provider, "USD"),
            "vcpus": vcpus,
            "memory_gb": memory,
            "on_demand_per_hour": per_hour(price),
            "spot_per_hour": per_hour(spot),
        } | hardware[server]
        key = (instance, place, price, row["gpu"], row["gpus_per_server"])
        if key in found:
            earlier = found[key][1]
            spots = [float(cell) for cell in (earlier["spot_per_hour"], row["spot_per_hour"]) if cell]
            earlier["spot_per_hour"] = per_hour(min(spots)) if spots else ""
        else:
            found[key] = (line, row)
    return our_sheet(found.values(), context, refused)


def _hardware(context: Context, instance: str, gpu: str, count: str) -> dict[str, str] | str:
    """The cards of a machine as cells, or the reason why they are not known."""
    known = machine(context, instance)
    if known:
        return known
    facts = feed_facts()["skypilot"]
    names = facts["gpus"] | facts["gpus_of"].get(context.provider, {})
    try:
        return cards(context.catalogue.hardware, gpu, count, instance=instance, names=names)
    except GpudashError:
        return "unknown_gpu"
    except ValueError:
        return "gpu_count"
