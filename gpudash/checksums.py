"""A snapshot is immutable: its origin.yaml states a checksum of every file, and a file that differs is not used."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import yaml

from gpudash.errors import GpudashError
from gpudash.result import Message
from gpudash.tables import read_yaml


def checksums(folder: Path) -> dict[str, str]:
    """The SHA-256 of every table in a folder, by file name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.csv"))}


def checksum_faults(folder: Path) -> Iterator[Message]:
    """Each file of a snapshot that is missing, not listed, or not what it was when its checksum was written."""
    try:
        stated = dict(read_yaml(folder / "origin.yaml")["files"])
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError):
        yield Message.of("catalogue.origin_unreadable", snapshot=folder.name)
        return
    found = checksums(folder)
    for file in sorted(stated.keys() | found.keys()):
        if file not in stated:
            yield Message.of("catalogue.file_unlisted", file=file, snapshot=folder.name)
        elif file not in found:
            yield Message.of("catalogue.file_missing", file=file)
        elif found[file] != stated[file]:
            yield Message.of("catalogue.checksum", file=file, snapshot=folder.name)


def refuse_changed(folder: Path) -> None:
    """Raises GpudashError with the first fault of a snapshot."""
    for fault in checksum_faults(folder):
        raise GpudashError(fault.code, **dict(fault.values))
