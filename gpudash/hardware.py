"""The GPUs: what a card can do, in read-only columns, and every spelling under which it is known."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from gpudash.errors import GpudashError
from gpudash.records import GpuAlias, HardwareRow, parse_columns, read_records, refuse
from gpudash.units import gb_of_mib


def read_only(values, dtype=None) -> np.ndarray:
    """A column that nobody can change by accident."""
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Hardware:
    """One entry per GPU; columns are named as in data/hardware.csv, NaN or blank where no source was found.

    `usable_gb` is the memory a program can get: what the driver reports where that is known, else the label
    (both as 10⁹ bytes). `link_scope` says whom the link reaches: `all` cards of a server, a `pair`, or nobody.
    """

    names: tuple[str, ...]
    usable_gb: np.ndarray
    vendor: np.ndarray
    architecture: np.ndarray
    compute_capability: np.ndarray
    memory_gb: np.ndarray
    memory_mib: np.ndarray
    memory_mib_source: np.ndarray
    bandwidth_gb_per_s: np.ndarray
    fp32_tflops: np.ndarray
    tf32_tflops: np.ndarray
    fp16_tflops: np.ndarray
    fp8_tflops: np.ndarray
    int8_tops: np.ndarray
    fp4_tflops: np.ndarray
    link_gb_per_s_both_directions: np.ndarray
    interconnect: np.ndarray
    link_scope: np.ndarray
    mig_max_instances: np.ndarray
    tdp_w: np.ndarray
    launch_year: np.ndarray
    source: np.ndarray
    as_of: np.ndarray
    notes: np.ndarray
    rows: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """The row of a GPU; case, spaces and hyphens are forgiven, an unknown name is answered with the nearest."""
        row = self.rows.get(_plain(name))
        if row is None:
            nearest = get_close_matches(_plain(name), self.rows, n=3, cutoff=0.4)
            known = dict.fromkeys(self.names[self.rows[key]] for key in nearest)
            raise GpudashError("catalogue.unknown_gpu", gpu=name, nearest=", ".join(known or self.names[:3]))
        return row


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def read_hardware(data: Path) -> Hardware:
    """Hardware of data/hardware.csv with the aliases of data/gpu_aliases.csv."""
    columns, faults = parse_columns(data / "hardware.csv", HardwareRow)
    refuse(faults)
    names = tuple(columns.pop("gpu"))
    rows = {_plain(name): row for row, name in enumerate(names)}
    for line, alias in enumerate(read_records(data / "gpu_aliases.csv", GpuAlias), start=2):
        if _plain(alias.gpu) not in rows:
            raise GpudashError("catalogue.alias", file="gpu_aliases.csv", line=line, alias=alias.alias, gpu=alias.gpu)
        rows.setdefault(_plain(alias.alias), rows[_plain(alias.gpu)])
    number = {field.name for field in fields(HardwareRow) if field.type is float}
    arrays = {name: read_only(cells, float if name in number else object) for name, cells in columns.items()}
    mib = arrays["memory_mib"]
    usable_gb = np.where(np.isnan(mib), arrays["memory_gb"], gb_of_mib(mib))
    return Hardware(names=names, usable_gb=read_only(usable_gb), rows=rows, **arrays)
