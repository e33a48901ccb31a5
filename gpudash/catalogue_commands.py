"""What `python -m gpudash catalogue ...` does: the price snapshots listed, shown, checked, compared and made."""

from argparse import Namespace
from dataclasses import fields
from datetime import date
from pathlib import Path

from gpudash.catalogue import Catalogue, load_catalogue, snapshots
from gpudash.documents import read_bytes, write_text
from gpudash.errors import GpudashError
from gpudash.result_json import catalogue_json, plain
from gpudash.text import Text


def list_snapshots(options: Namespace, text: Text) -> dict:
    """The dates of the price snapshots."""
    return {"snapshots": list(snapshots())}


def show(options: Namespace, text: Text) -> dict:
    """What one snapshot holds, how old its prices are, and where they are from."""
    shown = load_catalogue(options.snapshot)
    return catalogue_json(shown) | {"origin": plain(shown.origin, text)}


def check(options: Namespace, text: Text) -> dict:
    """Everything wrong with the shipped data."""
    from gpudash.catalogue_check import check_catalogue

    return {"faults": plain(check_catalogue(), text)}


def compare(options: Namespace, text: Text) -> dict:
    """What changed between two snapshots."""
    from gpudash.catalogue_diff import diff

    changes = diff(load_catalogue(options.snapshot), load_catalogue(options.later))
    return _diff_json(changes, text)


def import_sheet(options: Namespace, text: Text) -> dict:
    """What a price sheet would add; with `--add`, the snapshot of today is written with it."""
    from gpudash.catalogue_refresh import add_to_catalogue

    report = price_sheet(options.file, options, load_catalogue())
    counts = ("format", "rows", "added", "replaced", "unpriced", "before", "after", "refused", "notes")
    found = {name: plain(getattr(report, name), text) for name in counts}
    if not options.add:
        return found
    today = date.today().isoformat()
    faults = add_to_catalogue(report, today)
    return found | {"snapshot": None if faults else today, "faults": plain(faults, text)}


def price_sheet(path: str, options: Namespace, catalogue: Catalogue):
    """The ImportReport of a price sheet, read as the options `--map` and `--answer` say."""
    from gpudash.catalogue_import import import_offers
    from gpudash.import_answers import MAPPED, Answers
    from gpudash.sheet_limits import MEGABYTES

    content = read_bytes(path, MEGABYTES)
    answers = _named("--answer", options.answer, tuple(field.name for field in fields(Answers)))
    mapping = _named("--map", options.map, MAPPED)
    return import_offers(content, Path(path).name, catalogue, mapping=mapping, **answers)


def refresh(options: Namespace, text: Text) -> dict:
    """Read the public price lists and write the snapshot of today, if anything changed and the check passes."""
    from gpudash import catalogue_refresh
    from gpudash.catalogue_report import markdown
    from gpudash.feeds import ecb
    from gpudash.feeds.fetch import fetch

    feeds, today = catalogue_refresh.all_feeds(), date.today().isoformat()
    report = catalogue_refresh.refresh(feeds, fetch, today, read_rates=ecb.read)
    if options.summary is not None:
        write_text(options.summary, markdown(report, text))
    found = {name: plain(getattr(report, name), text) for name in ("base", "snapshot", "feeds", "put_back", "faults")}
    return found | {"diff": report.diff and _diff_json(report.diff, text)}


def _diff_json(changes, text: Text) -> dict:
    return plain(changes, text) | {"counts": plain(changes.counts(), text)}


def _named(option: str, settings: list[str] | None, allowed: tuple[str, ...]) -> dict[str, str]:
    """Repeated NAME=VALUE options as a mapping."""
    found = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals or name not in allowed:
            raise GpudashError("cli.not_named", option=option, found=setting, allowed=allowed)
        found[name] = value
    return found
