"""The European Central Bank's daily reference rates: a zip of one CSV, units of each currency per euro.

Format: a heading "Date, USD, JPY, ...", then one row "30 November 2026, 1.1172, ..." (eurofxref.zip).
"""

import math
from datetime import datetime

from gpudash.errors import GpudashError
from gpudash.feeds import Fetch, feed_facts
from gpudash.feeds.gpuhunt import unzipped

FILE = "eurofxref.csv"


def read(fetch: Fetch, today: str) -> dict[str, dict[str, str]]:
    """Rows of our exchange rates by currency, as cells: units per euro / US dollars per euro.

    Raises GpudashError if it cannot be reached, is not in this format or is of a later day than today.
    """
    facts = feed_facts()["ecb"]
    try:
        heading, row = unzipped(fetch(facts["url"]), FILE).decode("ascii").strip().splitlines()
        cells = dict(zip(_words(heading), _words(row), strict=True))
        as_of = datetime.strptime(cells.pop("Date"), "%d %B %Y").date().isoformat()
        per_euro = {currency: float(cell) for currency, cell in cells.items() if cell not in ("", "N/A")}
        usd_per_euro = per_euro["USD"]
    except (UnicodeDecodeError, ValueError, KeyError):
        raise _not_the_format() from None
    if as_of > today or not all(0 < rate < math.inf for rate in per_euro.values()):
        raise _not_the_format()
    per_usd = {currency: rate / usd_per_euro for currency, rate in (per_euro | {"EUR": 1.0}).items()}
    return {
        currency: {
            "currency": currency, "units_per_usd": repr(round(rate, 6)), "source": facts["source"], "as_of": as_of,
        }
        for currency, rate in per_usd.items() if currency != "USD"
    }  # fmt: skip


def _words(line: str) -> list[str]:
    return [word.strip() for word in line.rstrip(", ").split(",")]


def _not_the_format() -> GpudashError:
    return GpudashError("catalogue_refresh.not_the_format", file=FILE, expected="Date, USD, JPY, ...")
