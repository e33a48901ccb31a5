"""Writing a price snapshot: whole, checked and durable, or not at all."""

import csv
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import date
from pathlib import Path

import yaml

from gpudash.catalogue import snapshots
from gpudash.catalogue_check import check_catalogue
from gpudash.checksums import checksums
from gpudash.errors import GpudashError
from gpudash.offer_sheet import COLUMNS, KEY
from gpudash.records import ExchangeRate
from gpudash.result import Message
from gpudash.tables import DATA, read_rows, read_yaml

_STAGING = ".new-snapshot-"


def offer_rows(snapshot: str, data: Path = DATA) -> dict[tuple[str, ...], dict[str, str]]:
    """The price sheet of a snapshot as text, by provider, instance and region, in the file's order."""
    rows = read_rows(data / "prices" / snapshot / "offers.csv")
    return {tuple(row[name] for name in KEY): row for row in rows}


def write_snapshot(
    offers: Sequence[Mapping[str, str]],
    day: str,
    *,
    base: str,
    title: str,
    what_we_did: Sequence[str],
    rates: Sequence[Mapping[str, str]] = (),
    data: Path = DATA,
) -> tuple[Message, ...]:
    """Write the snapshot of a day: these offers and exchange rates, and storage, network, ... of the snapshot `base`.

    Without `rates`, those of the base stay.

    Everything is written beside the catalogue, checked, forced to the disk, and then renamed into place in one step;
    killed at any moment, the catalogue holds the new snapshot whole or not at all. What the check finds is returned,
    and then nothing was written. Raises GpudashError if `day` is no date or its snapshot exists (it is never changed).
    """
    _check_day(day, data)
    try:
        return _write(offers, rates, day, data / "prices" / base, title, what_we_did)
    except OSError as error:
        raise GpudashError("catalogue_refresh.not_written", snapshot=day, problem=str(error)[:200]) from None


def _write(offers, rates, day: str, base: Path, title: str, what_we_did: Sequence[str]) -> tuple[Message, ...]:
    data = base.parents[1]
    _remove_leftovers(data)
    staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=data))
    try:
        folder = staging / "prices" / day
        shutil.copytree(base, folder)
        for path in (*data.glob("*.csv"), data / "country_groups.yaml"):
            shutil.copy(path, staging)
        _write_rows(folder / "offers.csv", COLUMNS, offers)
        if rates:
            _write_rows(folder / "exchange_rates.csv", [field.name for field in fields(ExchangeRate)], rates)
        _write_origin(folder, day, title, what_we_did)
        faults = check_catalogue(staging)
        if not faults:
            _publish(folder, data / "prices" / day)
        return tuple(faults)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _remove_leftovers(data: Path) -> None:
    """Remove what killed runs left beside the catalogue; what is younger than a day may still be running."""
    for folder in data.glob(f"{_STAGING}*"):
        if time.time() - folder.stat().st_mtime > 24 * 3600:
            shutil.rmtree(folder, ignore_errors=True)


def _check_day(day: str, data: Path) -> None:
    try:
        known = date.fromisoformat(day).isoformat() == day
    except ValueError:
        known = False
    if not known:
        raise GpudashError("catalogue_refresh.day", day=day)
    if day in snapshots(data):
        raise GpudashError("catalogue_refresh.snapshot_exists", snapshot=day)


def _write_rows(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([row.get(name, "") for name in columns] for row in rows)


def _write_origin(folder: Path, day: str, title: str, what_we_did: Sequence[str]) -> None:
    """The base's origin with the new date and title, what was done added, and the files' checksums."""
    origin = read_yaml(folder / "origin.yaml")
    origin |= {"title": title, "published_on": date.fromisoformat(day), "accessed_on": date.fromisoformat(day)}
    origin["what_we_did"] = [*origin.get("what_we_did", ()), *what_we_did]
    origin["files"] = checksums(folder)
    text = yaml.safe_dump(origin, sort_keys=False, allow_unicode=True, width=120)
    (folder / "origin.yaml").write_text(text, encoding="utf-8")


def _publish(folder: Path, target: Path) -> None:
    """Force the files to the disk, then give the folder its name in one step."""
    for path in folder.iterdir():
        with open(path, "rb+") as file:
            os.fsync(file.fileno())
    _sync_folder(folder)
    os.rename(folder, target)
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return  # only there can a folder be opened
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
