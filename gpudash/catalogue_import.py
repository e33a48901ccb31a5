"""A user's price sheet as offers: what the file does not say is asked, never guessed; what is wrong is named by line.

Four formats: our own columns, SkyPilot's and gpuhunt's catalogue files, and any vendor's sheet with a column mapping.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from gpudash.catalogue import Catalogue
from gpudash.errors import GpudashError
from gpudash.feeds import Context, gpuhunt, skypilot
from gpudash.import_answers import Answers, Question, answers_of, format_of, mapping_of, questions_of
from gpudash.offer_sheet import CheckedSheet, check_offers
from gpudash.offers import Offers
from gpudash.result import Message
from gpudash.sheets import Refused, Sheet, read_sheet
from gpudash.vendor_sheet import read_ours, read_vendor

NAME_CHARACTERS = 100


@dataclass(frozen=True)
class PriceFile:
    """A price sheet that was opened: its file name, the name that scenarios know it by, and its cells."""

    name: str
    sheet: str
    cells: Sheet


@dataclass(frozen=True)
class FileShape:
    """What a file looks like before it is imported: its format, its headings and what it does not say itself."""

    format: str
    headings: tuple[str, ...]
    rows: int
    asked: tuple[Question, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        """What must still be answered."""
        return _open(self.asked)


@dataclass(frozen=True)
class Totals:
    """How much a catalogue holds; the sum is over one server of each offer that has an on-demand price."""

    offers: int
    gpus: int
    on_demand_usd_per_hour: float


@dataclass(frozen=True)
class ImportReport:
    """What became of a file: the offers kept, the rows left out with line and reason, and the catalogue's totals.

    Every row is kept, refused or one of the `merged`, which say the same or another price of an offer kept. `added` and
    `replaced` count the kept offers by whether the catalogue held the same provider, instance and region. `sheet` is
    the file as scenarios know it. `notes` names rows that were kept though two of their columns disagree. `checked`
    holds the kept rows as cells.
    """

    sheet: str
    format: str
    rows: int
    offers: Offers
    checked: CheckedSheet
    refused: tuple[Refused, ...]
    notes: tuple[Refused, ...]
    merged: int
    added: int
    replaced: int
    unpriced: int
    before: Totals
    after: Totals

    def reasons(self) -> tuple[tuple[str, int], ...]:
        """How many rows were left out for which reason (its text key), the most frequent first."""
        return tuple(Counter(row.because.code for row in self.refused).most_common())

    def left_out(self) -> Message | None:
        """How many rows were left out, with the first reason; None where all were kept."""
        if not self.refused:
            return None
        said = {"count": len(self.refused), "rows": self.rows, "sheet": self.sheet, "because": self.refused[0].because}
        return Message.of("catalogue_import.some_left_out", **said)

    def applied(self, catalogue: Catalogue) -> Catalogue:
        """The catalogue (of any snapshot) with the offers kept."""
        return catalogue.with_sheet(self.sheet, self.checked.offers(catalogue))


def open_file(content: bytes, file_name: str, page: str | None = None) -> PriceFile:
    """The cells of a CSV, XLSX or Parquet file; `page` names one of a workbook that has several. Raises GpudashError.

    The name that scenarios hold ends in the start of the content's SHA-256, so that another file is told from it.
    """
    sheet = f"{file_name[-NAME_CHARACTERS:]} ({sha256(content).hexdigest()[:8]})"
    return PriceFile(file_name, sheet, read_sheet(content, file_name, page))


def inspect_file(file: PriceFile, catalogue: Catalogue, *, mapping=None, **answers) -> FileShape:
    """The format and headings of a file, and what must still be answered; `answers` are those of `Answers`."""
    given, sheet = answers_of(answers, catalogue), file.cells
    kind = format_of(sheet, mapping)
    asked = questions_of(kind, sheet, mapping_of(mapping, kind, sheet, file.name), given, catalogue)
    return FileShape(kind, tuple(sheet.columns), len(sheet) + len(sheet.refused), asked)


def import_offers(content: bytes, file_name: str, catalogue: Catalogue, *, mapping=None, **answers) -> ImportReport:
    """As `import_file`, of a file's bytes."""
    return import_file(open_file(content, file_name, answers.get("sheet")), catalogue, mapping=mapping, **answers)


def import_file(
    file: PriceFile, catalogue: Catalogue, *, mapping: Mapping[str, str] | None = None, **answers
) -> ImportReport:
    """The offers in a file, read against a catalogue (its GPUs, providers and exchange rates).

    `mapping` is for a vendor's sheet: our column (see MAPPED) to the sheet's heading. `price` is one column of amounts
    whose way of buying a mapped `term` column or the answer `term` names; `tier` becomes part of the instance's name;
    `price_per_gpu` is only compared with the price. `answers` are the fields of `Answers`.

    Raises GpudashError if the file cannot be read, or names what must be answered and what is allowed.
    """
    given, sheet = answers_of(answers, catalogue), file.cells
    kind = format_of(sheet, mapping)
    mapping = mapping_of(mapping, kind, sheet, file.name)
    questions = _open(questions_of(kind, sheet, mapping, given, catalogue))
    if questions:
        asked = "; ".join(f"{question.name} ({', '.join(question.allowed) or '…'})" for question in questions)
        raise GpudashError("catalogue_import.asked", file=file.name, questions=asked)
    notes: tuple[Refused, ...] = ()
    context = _context(given, catalogue, file.name)
    if kind == "vendor":
        ours, notes = read_vendor(sheet, mapping, given, context)
    elif kind == "gpudash":
        ours = read_ours(sheet, given, file.name)
    else:
        ours = {"skypilot": skypilot, "gpuhunt": gpuhunt}[kind].offers(sheet, context)
    checked = check_offers(ours, catalogue, file.name)
    kept = set(checked.sheet.lines)
    return _report(file, kind, checked, catalogue, tuple(note for note in notes if note.line in kept))


def _open(asked: tuple[Question, ...]) -> tuple[Question, ...]:
    return tuple(question for question in asked if not question.is_answered)


def _report(file: PriceFile, kind: str, checked: CheckedSheet, catalogue: Catalogue, notes) -> ImportReport:
    offers = checked.offers(catalogue)
    ids = set(offers.id)
    others = catalogue.offers.take([row for row, name in enumerate(catalogue.offers.id) if name not in ids])
    replaced = len(catalogue.offers) - len(others)
    rows, refused = len(file.cells) + len(file.cells.refused), checked.sheet.refused
    return ImportReport(
        sheet=file.sheet,
        format=kind,
        rows=rows,
        offers=offers,
        checked=checked,
        refused=refused,
        notes=notes,
        merged=rows - len(offers) - len(refused),
        added=len(offers) - replaced,
        replaced=replaced,
        unpriced=checked.unpriced,
        before=_totals(catalogue.offers),
        after=_totals(others, offers),
    )


def _totals(*parts: Offers) -> Totals:
    return Totals(
        offers=sum(map(len, parts)),
        gpus=int(sum(part.gpus_per_server.sum() for part in parts)),
        on_demand_usd_per_hour=float(sum(np.nansum(part.on_demand_usd_per_hour) for part in parts)),
    )


def _context(given: Answers, catalogue: Catalogue, file_name: str) -> Context:
    return Context(
        catalogue,
        provider=given.provider or "",
        source=given.source or file_name,
        as_of=given.as_of or "",
        kind=given.kind or "",
    )
