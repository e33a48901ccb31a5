"""How long a price sheet of 200,000 rows takes to import: `python -m bench.import_offers`. It only prints."""

import csv
import io
import time

from gpudash.catalogue import load_catalogue
from gpudash.catalogue_import import import_offers
from gpudash.tables import DATA

ROWS = 200_000


def main() -> None:
    catalogue = load_catalogue()
    with open(DATA / "prices" / catalogue.snapshot / "offers.csv", encoding="utf-8", newline="") as file:
        heading, *rows = csv.reader(file)
    larger = [
        [provider, f"{instance} {row}", *rest]
        for row in range(ROWS)
        for provider, instance, *rest in [rows[row % len(rows)]]
    ]
    files = {"CSV": as_csv(heading, larger), "XLSX": as_xlsx(heading, larger), "Parquet": as_parquet(heading, larger)}
    del larger
    for kind, content in files.items():
        start, computed = time.perf_counter(), time.process_time()
        offers = import_offers(content, f"prices.{kind.lower()}", catalogue).offers
        taken, computed = time.perf_counter() - start, time.process_time() - computed
        print(
            f"{taken:8.2f} s   {kind}, {len(offers):,} offers, {len(content) / 1e6:.0f} MB ({computed:.2f} s computing)"
        )


def as_csv(heading: list[str], rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([heading, *rows])
    return text.getvalue().encode()


def as_xlsx(heading: list[str], rows: list[list[str]]) -> bytes:
    from openpyxl import Workbook

    book, content = Workbook(write_only=True), io.BytesIO()
    page = book.create_sheet()
    for row in (heading, *rows):
        page.append([cell or None for cell in row])
    book.save(content)
    return content.getvalue()


def as_parquet(heading: list[str], rows: list[list[str]]) -> bytes:
    import pyarrow
    from pyarrow import parquet

    content = io.BytesIO()
    parquet.write_table(pyarrow.table(dict(zip(heading, zip(*rows)))), content)
    return content.getvalue()


if __name__ == "__main__":
    main()
