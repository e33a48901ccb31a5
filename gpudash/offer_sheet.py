"""A sheet in our columns, checked row by row: what is kept, and for each row left out its line and the reason."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from gpudash.catalogue import Catalogue
from gpudash.errors import GpudashError
from gpudash.offers import OWN_DATES, Offers, offers_of
from gpudash.records import OfferRow, Price, columns_of, is_dated, read_cell
from gpudash.result import Message
from gpudash.sheets import Refused, Sheet
from gpudash.units import HOURS_PER_MONTH

COLUMNS = tuple(name for name, _, _ in columns_of(OfferRow))
PRICES = tuple(name for name, kind, _ in columns_of(OfferRow) if kind is Price)
KEY = ("provider", "instance", "region")
ORIGIN = ("source", "as_of")
OWN_ORIGINS = tuple(f"{way}_{name}" for way in OWN_DATES for name in ORIGIN)
WAY_OF = {
    "on_demand_per_hour": "on_demand",
    "spot_per_hour": "spot",
    "monthly_subscription_per_month": "monthly",
    "reserved_1y_per_hour": "reserved_1y",
    "reserved_3y_per_hour": "reserved_3y",
    "monthly_subscription_1y_per_month": "reserved_1y",
}
_HARDWARE = ("gpu", "gpus_per_server", "gpu_fraction", "price_unit", "currency")
_NO_PRICE_FROM_USD_PER_HOUR = 1e12  # our choice: beyond all the money there is, so a slip and no price
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069]|^[=+@]")


@dataclass(frozen=True)
class CheckedSheet:
    """Rows that can become offers: `sheet` as text in our columns, `cells` the same as typed columns.

    `unpriced` counts the price cells that held no price (0, text, a bid floor) and are blank now.
    """

    sheet: Sheet
    cells: dict[str, list]
    unpriced: int

    def offers(self, catalogue: Catalogue) -> Offers:
        """The rows as offers, with the catalogue's commitments and interruption records."""
        return offers_of(
            self.cells,
            catalogue.hardware,
            catalogue.exchange_rates,
            snapshot=catalogue.snapshot,
            unpriced_below_usd_per_hour=catalogue.defaults["unpriced_below_usd_per_hour"].value,
            commitments=catalogue.commitments,
            spot=catalogue.spot,
            other_quotes=catalogue.other_quotes,
        )


def origins(row: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Source and date of each way of buying that a row has a price for: the price's own, else the row's."""
    return {
        way: tuple(row.get(f"{way}_{name}") or row[name] for name in ORIGIN)
        for price, way in WAY_OF.items()
        if row[price]
    }


def origin_cells(of_prices: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The cells of a row that say where each price was read, and when.

    The row's own are those of the on-demand price, or of the first other price where there is none.
    """
    of_row = of_prices.get("on_demand") or next(iter(of_prices.values()))
    cells = dict(zip(ORIGIN, of_row))
    for way in OWN_DATES:
        own = of_prices.get(way, of_row)
        cells |= {f"{way}_{name}": "" if mine == rows else mine for name, mine, rows in zip(ORIGIN, own, of_row)}
    return cells


def check_offers(sheet: Sheet, catalogue: Catalogue, file: str) -> CheckedSheet:
    """The rows of a sheet in our columns that can become offers.

    A row is left out if a cell is not what its column declares, the GPU or currency is unknown, no price is left, a
    price is implausible (out of the bounds of data/defaults.csv per card, committed or spot above on-demand, a server
    below one of its cards), or two rows of one offer contradict each other.
    """
    rows = _Rows({name: sheet.columns.get(name) or [""] * len(sheet) for name in COLUMNS}, list(sheet.lines))
    rows.refuse(_cell_faults(rows, file))
    rows.refuse(_reference_faults(rows, catalogue, file))
    _name_as_we_do(rows, catalogue)
    unpriced = _blank_what_is_no_price(rows, catalogue)
    rows.refuse(_merge(rows))
    rows.refuse(_unpriced_rows(rows))
    rows.refuse(_implausible(rows, catalogue))
    refused = sorted((*sheet.refused, *rows.refused), key=lambda row: row.line)
    return CheckedSheet(
        sheet=Sheet(rows.columns, rows.lines, tuple(refused)),
        cells={name: _typed(rows.columns[name], kind) for name, kind, _ in columns_of(OfferRow)},
        unpriced=unpriced,
    )


@dataclass
class _Rows:
    """The rows still in, shrinking from check to check."""

    columns: dict[str, list[str]]
    lines: list[int]

    def __post_init__(self):
        self.refused: list[Refused] = []

    def __len__(self) -> int:
        return len(self.lines)

    def each(self, *names: str) -> Iterator[tuple]:
        return zip(*(self.columns[name] for name in names))

    def refuse(self, faults: Iterable[tuple[int, Message | None]]) -> None:
        """Leave out the rows named (None: without a reason of its own, as with a repeated row)."""
        because: dict[int, Message | None] = {}
        for row, message in faults:
            because.setdefault(row, message)
        if not because:
            return
        self.refused += [Refused(self.lines[row], message) for row, message in because.items() if message]
        kept = [row for row in range(len(self)) if row not in because]
        self.columns = {name: [cells[row] for row in kept] for name, cells in self.columns.items()}
        self.lines = [self.lines[row] for row in kept]


def _where(cells: list[str], fault: Callable[[str], tuple[str, dict] | None]) -> Iterator[tuple[int, tuple[str, dict]]]:
    """Rows whose cell has a fault; each distinct cell is judged once."""
    bad = {cell: found for cell in set(cells) if (found := fault(cell))}
    if bad:
        yield from ((row, bad[cell]) for row, cell in enumerate(cells) if cell in bad)


def _cell_faults(rows: _Rows, file: str):
    for name, kind, required in columns_of(OfferRow):

        def fault(cell, name=name, kind=kind, required=required):
            if kind is str and _UNSAFE.search(cell):
                return "catalogue_import.unsafe_text", {}
            _, code, details = read_cell(cell, kind, required, dated=is_dated(name))
            return (code, details) if code else None

        for row, (code, details) in _where(rows.columns[name], fault):
            yield row, Message.of(code, file=file, line=rows.lines[row], column=name, **details)


def _reference_faults(rows: _Rows, catalogue: Catalogue, file: str):
    def unknown_gpu(gpu):
        try:
            catalogue.hardware.index(gpu)
        except GpudashError as error:
            return "catalogue.offer_gpu", error.values
        return None

    def unknown_currency(currency):
        if currency in catalogue.exchange_rates:
            return None
        return "catalogue.currency", {"currency": currency, "known": ", ".join(sorted(catalogue.exchange_rates))}

    def bad_fraction(cell):
        return None if 0 < float(cell or "nan") <= 1 else ("catalogue.gpu_fraction", {"value": cell or "-"})

    for name, fault in (("gpu", unknown_gpu), ("currency", unknown_currency), ("gpu_fraction", bad_fraction)):
        for row, (code, details) in _where(rows.columns[name], fault):
            yield row, Message.of(code, file=file, line=rows.lines[row], **details)


def _name_as_we_do(rows: _Rows, catalogue: Catalogue) -> None:
    """GPUs by the name they have in the hardware table, whole numbers without a point."""
    names = {gpu: catalogue.hardware.names[catalogue.hardware.index(gpu)] for gpu in set(rows.columns["gpu"])}
    rows.columns["gpu"] = [names[gpu] for gpu in rows.columns["gpu"]]
    for name in ("gpus_per_server", "vcpus", "memory_gb"):
        plain = {cell: cell[:-2] if cell.endswith(".0") else cell for cell in set(rows.columns[name])}
        rows.columns[name] = [plain[cell] for cell in rows.columns[name]]


def _usd_per_hour(rows: _Rows, catalogue: Catalogue) -> dict[str, np.ndarray]:
    """The price columns per server and hour in US dollars, NaN where a cell is no number."""
    gpus = np.array([float(cell) for cell in rows.columns["gpus_per_server"]], float)
    per_server = np.where(np.array(rows.columns["price_unit"], object) == "gpu", gpus, 1)
    rates = {currency: rate.units_per_usd for currency, rate in catalogue.exchange_rates.items()}
    factor = per_server / np.array([rates[currency] for currency in rows.columns["currency"]], float)
    hours = {name: HOURS_PER_MONTH if name.endswith("_per_month") else 1 for name in PRICES}
    return {name: np.array(_typed(rows.columns[name], Price), float) * factor / hours[name] for name in PRICES}


def _blank_what_is_no_price(rows: _Rows, catalogue: Catalogue) -> int:
    """Blank every price cell that holds no price; how many there were."""
    floor = catalogue.defaults["unpriced_below_usd_per_hour"].value
    count = 0
    for name, usd_per_hour in _usd_per_hour(rows, catalogue).items():
        cells = rows.columns[name]
        for row in np.flatnonzero(~((usd_per_hour >= floor) & (usd_per_hour < _NO_PRICE_FROM_USD_PER_HOUR))):
            count += cells[row] != ""
            cells[row] = ""
    return count


def _merge(rows: _Rows):
    """Bring the rows of one offer together: each price from the row that has it; rows that contradict are refused."""
    keys = list(rows.each(*KEY))
    if len(set(keys)) == len(keys):
        return
    groups: dict[tuple, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    for key, group in groups.items():
        if len(group) == 1:
            continue
        conflict = _conflict(rows, group)
        if conflict:
            name, first, second = conflict
            lines = ", ".join(str(rows.lines[row]) for row in group[:5])
            details = {"offer": " / ".join(key), "lines": lines, "column": name, "first": first, "second": second}
            yield from ((row, Message.of("catalogue_import.contradiction", **details)) for row in group)
            continue
        _bring_together(rows, group)
        yield from ((row, None) for row in group[1:])


def _bring_together(rows: _Rows, group: list[int]) -> None:
    """Give the first row of an offer each price from the first row that has it, with its source and date."""
    names = (*PRICES, *ORIGIN, *OWN_ORIGINS)
    each = [{name: rows.columns[name][row] for name in names} for row in group]
    prices = {name: next((cells[name] for cells in each if cells[name]), "") for name in PRICES}
    of_prices = {}
    for cells in each:
        of_prices = origins(cells) | of_prices
    for name, cell in (prices | (origin_cells(of_prices) if of_prices else {})).items():
        rows.columns[name][group[0]] = cell


def _conflict(rows: _Rows, group: list[int]) -> tuple[str, str, str] | None:
    for name in (*_HARDWARE, *PRICES):
        distinct = list(dict.fromkeys(rows.columns[name][row] for row in group if rows.columns[name][row]))
        if len(distinct) > 1:
            return name, distinct[0], distinct[1]
    return None


def _unpriced_rows(rows: _Rows):
    for row, prices in enumerate(rows.each(*PRICES)):
        if not any(prices):
            yield row, Message.of("catalogue_import.no_price")


def _implausible(rows: _Rows, catalogue: Catalogue):
    """Prices per whole card outside the bounds, committed or spot above on-demand, a server below one of its cards.

    A spot price beside a plausible on-demand price may be as low as the market takes it.
    """
    low = catalogue.defaults["plausible_usd_per_gpu_hour_minimum"].value
    high = catalogue.defaults["plausible_usd_per_gpu_hour_maximum"].value
    gpus = np.array([float(cell) for cell in rows.columns["gpus_per_server"]])
    fractions = np.array([float(cell) for cell in rows.columns["gpu_fraction"]])
    prices = _usd_per_hour(rows, catalogue)
    on_demand = prices["on_demand_per_hour"]
    for name, usd_per_hour in prices.items():
        per_card = usd_per_hour / (gpus * fractions)
        floor = np.where(np.isnan(on_demand), low, 0) if name == "spot_per_hour" else low
        for row in np.flatnonzero((per_card < floor) | (per_card > high)):
            values = {"column": name, "usd_per_gpu_hour": float(per_card[row]), "low": low, "high": high}
            yield int(row), Message.of("catalogue_import.implausible", **values)
        for row in np.flatnonzero(usd_per_hour > on_demand):
            values = {"usd_per_hour": float(usd_per_hour[row]), "on_demand_usd_per_hour": float(on_demand[row])}
            yield int(row), Message.of("catalogue_import.above_on_demand", column=name, **values)
    yield from _servers_below_their_cards(rows, gpus, fractions, on_demand)


def _servers_below_their_cards(rows: _Rows, gpus, fractions, on_demand):
    """Servers with several cards that cost less than one of these cards alone: a price per GPU in a server's row."""
    places = list(rows.each("provider", "gpu", "region"))
    single: dict[tuple, float] = {}
    for row in np.flatnonzero((gpus == 1) & (fractions == 1) & ~np.isnan(on_demand)):
        single[places[row]] = min(on_demand[row], single.get(places[row], np.inf))
    for row in np.flatnonzero(gpus > 1) if single else ():
        if on_demand[row] < single.get(places[row], -np.inf):
            values = {"usd_per_hour": float(on_demand[row]), "single_usd_per_hour": float(single[places[row]])}
            yield int(row), Message.of("catalogue_import.server_below_card", gpu_count=int(gpus[row]), **values)


def _typed(cells: list[str], kind) -> list:
    """A column as values of its type; cells that were checked before, or prices."""
    if kind not in (Price, float, int, bool):
        return cells
    values = {cell: read_cell(cell, kind, False)[0] for cell in set(cells)}
    return [values[cell] for cell in cells]
