"""Our offers and set-ups as the peers read them: gpuhunt's and SkyPilot's catalogues, and a table of measured rows.

An instance's name ends with the row of its offer, so that answers can be compared row by row.
"""

import csv
import zipfile
from pathlib import Path

import numpy as np

from gpudash.catalogue import Catalogue
from gpudash.units import BYTES_PER_GB, BYTES_PER_MIB

# gpuhunt knows these providers; what others offer stands under the last of them, as it reads no other names.
GPUHUNT_PROVIDERS = {
    "AWS": "aws",
    "Azure": "azure",
    "GCP": "gcp",
    "Lambda": "lambdalabs",
    "Nebius": "nebius",
    "OCI": "oci",
    "RunPod": "runpod",
    "Verda": "verda",
}
GPUHUNT_OTHERS = "cloudrift"
GPUHUNT_VENDORS = ("nvidia", "amd", "google", "intel")  # it takes a blank for NVIDIA
GPUHUNT_HEADING = (
    *("instance_name", "location", "price", "cpu", "memory", "gpu_count", "gpu_name", "gpu_memory", "spot"),
    *("disk_size", "gpu_vendor", "flags", "cpu_arch", "provider_data"),
)
SKYPILOT_CLOUD = "runpod"  # one cloud's file holds all offers, so that it asks no others
SKYPILOT_FILE = Path(".sky") / "catalogs" / "v8" / SKYPILOT_CLOUD / "vms.csv"
SKYPILOT_HEADING = (
    *("InstanceType", "AcceleratorName", "AcceleratorCount", "vCPUs", "MemoryGiB", "Price", "Region", "GpuInfo"),
    "SpotPrice",
)


def write_for_gpuhunt(catalogue: Catalogue, folder: Path, version: str) -> None:
    """A zipped sheet per provider, where gpuhunt looks for that version; each sorted by price, as it expects."""
    offers, rows_of = catalogue.offers, {name: [] for name in (*GPUHUNT_PROVIDERS.values(), GPUHUNT_OTHERS)}
    for row in np.argsort(offers.on_demand_usd_per_hour, kind="stable"):
        rows_of[GPUHUNT_PROVIDERS.get(offers.provider[row], GPUHUNT_OTHERS)].append(row)
    for name, rows in rows_of.items():
        place = folder / name / version
        place.mkdir(parents=True)
        sheet = place / f"{name}.csv"
        _write(sheet, GPUHUNT_HEADING, (_gpuhunt_cells(catalogue, row) for row in rows))
        with zipfile.ZipFile(place / "catalog.zip", "w") as archive:
            archive.write(sheet, sheet.name)


def _gpuhunt_cells(catalogue: Catalogue, row: int) -> tuple:
    offers, hardware, gpu = catalogue.offers, catalogue.hardware, catalogue.offers.gpu_row[row]
    vendor = str(hardware.vendor[gpu]).lower()
    return (
        instance_name(catalogue, row),
        offers.region[row] or "-",
        offers.on_demand_usd_per_hour[row],
        int(np.nan_to_num(offers.vcpus[row])),
        float(np.nan_to_num(offers.memory_gb[row])),
        int(offers.gpus_per_server[row]),
        hardware.names[gpu],
        hardware.memory_gb[gpu],
        False,
        "",
        vendor if vendor in GPUHUNT_VENDORS else "",
        "",
        "x86",
        "{}",
    )


def write_for_skypilot(catalogue: Catalogue, folder: Path) -> None:
    """The sheet of one cloud below the folder that SkyPilot takes for the user's home."""
    sheet = folder / SKYPILOT_FILE
    sheet.parent.mkdir(parents=True)
    _write(sheet, SKYPILOT_HEADING, (_skypilot_cells(catalogue, row) for row in range(len(catalogue.offers))))


def _skypilot_cells(catalogue: Catalogue, row: int) -> tuple:
    offers, hardware, gpu = catalogue.offers, catalogue.hardware, catalogue.offers.gpu_row[row]
    name, count = hardware.names[gpu], int(offers.gpus_per_server[row])
    memory_mib = float(hardware.memory_gb[gpu]) * BYTES_PER_GB / BYTES_PER_MIB
    card = {"Name": name, "Manufacturer": str(hardware.vendor[gpu]), "Count": count}
    info = {"Gpus": [card | {"MemoryInfo": {"SizeInMiB": memory_mib}}], "TotalGpuMemoryInMiB": memory_mib * count}
    return (
        instance_name(catalogue, row),
        name,
        count,
        _blank_or(offers.vcpus[row]),
        _blank_or(offers.memory_gb[row]),
        offers.on_demand_usd_per_hour[row],
        offers.region[row] or "-",
        info,
        "",
    )


def instance_name(catalogue: Catalogue, row: int) -> str:
    """What an offer is called among the peers: no two alike, and its row at the end."""
    return f"{catalogue.offers.provider[row]} {catalogue.offers.instance[row]} #{row}"


def _blank_or(value: float) -> float | str:
    return "" if np.isnan(value) else float(value)


def write_table(columns: dict[str, list], path: Path) -> None:
    """A table with the columns of data/measured/inference.csv."""
    _write(path, tuple(columns), zip(*columns.values()))


def _write(path: Path, heading: tuple[str, ...], rows) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heading)
        writer.writerows(rows)
