"""gpuhunt's catalogue: one CSV per provider, one row per machine, place and kind, US dollars per machine and hour.

Format: instance_name, location, price, cpu, memory, gpu_count, gpu_name, gpu_memory, spot (and more that is not used),
in a zip of one file, as the package gpuhunt 0.1.34 reads it.
"""

import io
import re
import zipfile
from functools import partial

from gpudash.errors import GpudashError
from gpudash.feeds import Context, Feed, Fetch, cards, feed_facts, left_out, machine, our_sheet, per_hour, with_heading
from gpudash.sheet_limits import UNPACKED_MEGABYTES
from gpudash.sheets import Sheet, read_sheet
from gpudash.workbook import ARCHIVE_ERRORS

HEADING = frozenset({"instance_name", "location", "price", "gpu_count", "gpu_name", "spot"})
_SPOT = {"true": True, "false": False}


def feeds() -> tuple[Feed, ...]:
    """One feed per provider that data/feeds.yaml names."""
    facts = feed_facts()["gpuhunt"]
    return tuple(
        Feed(f"gpuhunt {name}", provider, partial(_read, name, provider))
        for name, provider in facts["providers"].items()
    )


def _read(name: str, provider: str, fetch: Fetch, catalogue, today: str) -> Sheet:
    facts = feed_facts()["gpuhunt"]
    version = fetch(facts["version_url"].format(provider=name)).decode("ascii", errors="replace").strip()
    if not re.fullmatch(r"[\w.-]{1,40}", version):
        raise GpudashError("catalogue_refresh.not_the_format", file=f"{name}/version", expected="YYYYMMDD")
    content = unzipped(fetch(facts["url"].format(provider=name, version=version)), f"{name}.csv")
    dated = re.match(r"(20\d\d)(\d\d)(\d\d)", version)
    context = Context(
        catalogue,
        provider,
        f"{facts['source']} {name} {version}",
        as_of="-".join(dated.groups()) if dated else today,
        date_estimated=not dated,
    )
    return offers(with_heading(read_sheet(content, f"{name}.csv"), HEADING, f"{name}.csv"), context)


def unzipped(content: bytes, member: str) -> bytes:
    """One file of a zip, bounded in its unpacked size."""
    limit = UNPACKED_MEGABYTES * 1_000_000
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open(member) as file:
            unpacked = file.read(limit + 1)
    except (KeyError, *ARCHIVE_ERRORS):
        raise GpudashError("catalogue_refresh.not_the_format", file=member, expected="ZIP") from None
    if len(unpacked) > limit:
        raise GpudashError("catalogue_import.unpacked", file=member, limit=UNPACKED_MEGABYTES)
    return unpacked


def offers(sheet: Sheet, context: Context) -> Sheet:
    """The machines with GPUs; a row is an on-demand or a spot price, as its own `spot` says."""
    cells = sheet.columns
    blank = [""] * len(sheet)
    names = ("instance_name", "location", "price", "gpu_count", "gpu_name", "spot")
    columns = (
        *(cells[name] for name in names),
        *(cells.get(name, blank) for name in ("gpu_memory", "cpu", "memory")),
    )
    rows, refused = [], list(sheet.refused)
    hardware: dict[tuple, dict | str] = {}
    for line, instance, region, price, count, gpu, spot, gpu_memory, vcpus, memory in zip(sheet.lines, *columns):
        is_spot = _SPOT.get(spot.lower())
        if not gpu or count in ("", "0"):
            refused.append(left_out(line, "no_gpu"))
            continue
        if is_spot is None:
            refused.append(left_out(line, "spot_unclear", value=spot))
            continue
        server = (instance, gpu, count, gpu_memory)
        if server not in hardware:
            hardware[server] = _hardware(context, *server)
        if isinstance(hardware[server], str):
            refused.append(left_out(line, hardware[server], gpu=gpu, count=count, memory_gb=gpu_memory))
            continue
        price_column = "spot_per_hour" if is_spot else "on_demand_per_hour"
        row = {"instance": instance, "region": region, "vcpus": vcpus, "memory_gb": memory}
        rows.append((line, row | {price_column: per_hour(price)} | hardware[server]))
    return our_sheet(rows, context, refused)


def _hardware(context: Context, instance: str, gpu: str, count: str, memory_gb: str) -> dict[str, str] | str:
    """The cards of a machine as cells, or the reason why they are not known."""
    known = machine(context, instance)
    if known:
        return known
    try:
        names = feed_facts()["gpuhunt"]["gpus"]
        return cards(context.catalogue.hardware, gpu, count, instance=instance, memory_gb=memory_gb, names=names)
    except GpudashError:
        return "unknown_gpu"
    except ValueError:
        return "gpu_memory"
