"""The bill as a worksheet that works itself out: quantities, prices and shares are values, all money is a formula.

A reader with a spreadsheet alone can follow any month and change any figure. Above stand the figures, one per line,
then the data sets and the traffic out, then one row per month; at the end the total beside the one calculated here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpudash.assumptions import Known, assume
from gpudash.brief import Brief
from gpudash.data_costs import egress_tiers
from gpudash.figures.money import money_of
from gpudash.figures.tco import cost_label
from gpudash.paid_prices import paid_fraction, rework_fraction
from gpudash.purchase_mix import COMMITMENTS, KINDS, TERM_YEARS, Plan
from gpudash.result import Bill, Choice
from gpudash.storage import REQUESTS_PER_PRICED_UNIT
from gpudash.support import support_fee
from gpudash.tco import credit_months
from gpudash.units import HOURS_PER_MONTH, HOURS_PER_YEAR, MONTHS_PER_YEAR

LIST_PRICES = {
    "on_demand": "on_demand_usd_per_hour",
    "spot": "spot_usd_per_hour",
    "monthly": "monthly_subscription_usd_per_hour",
    "reserved_1y": "reserved_1y_usd_per_hour",
    "reserved_3y": "reserved_3y_usd_per_hour",
}


@dataclass(frozen=True)
class Formula:
    """A cell that the spreadsheet calculates, without its equals sign."""

    words: str


@dataclass
class Worksheet:
    """Rows of cells (text, number, `Formula` or None).

    `headings`: those of the rows that are; `month_totals`: the addresses of what each month comes to.
    """

    title: str
    rows: list[list[Any]] = field(default_factory=list)
    headings: set[int] = field(default_factory=set)
    month_totals: list[str] = field(default_factory=list)

    def add(self, *cells: Any) -> int:
        """Append a row; its number in the sheet, the first is 1."""
        self.rows.append(list(cells))
        return len(self.rows)

    def add_heading(self, *cells: Any) -> int:
        """Append a row of headings; its number in the sheet."""
        self.headings.add(self.add(*cells))
        return len(self.rows)

    def put(self, label: str, value: Any) -> str:
        """A figure with its name; its address."""
        return f"$B${self.add(label, value)}"


def bill_sheet(brief: Brief) -> Worksheet | None:
    """The worksheet of the recommended offer's bill (or of the cheapest one's); None where there is no bill."""
    bill, plan = brief.result.leading_bill, brief.result.purchase_mix
    return None if bill is None else worked_out(brief, brief.text("bill_sheet.title"), bill, plan)


def worked_out(brief: Brief, title: str, bill: Bill, plan: Plan) -> Worksheet:
    """The worksheet of a bill that the leading offer is bought for as planned."""
    return _Maker(brief, title, bill, plan).sheet()


def column_letter(number: int) -> str:
    """The name of a column, the first is 1: A ... Z, AA ..."""
    letters = ""
    while number:
        number, left = divmod(number - 1, 26)
        letters = chr(ord("A") + left) + letters
    return letters


class _Maker:
    def __init__(self, brief: Brief, title: str, bill: Bill, plan: Plan):
        self.brief, self.bill, self.text = brief, bill, brief.text
        self.money = money_of(brief.result, brief.text)
        self.known: Known = assume(brief.result.scenario, brief.result.catalogue)
        self.choice: Choice = brief.result.leading
        self.plan = plan
        self.months = len(bill.months)
        self.page = Worksheet(title)
        self.columns: dict[str, tuple[str, Callable[[int], Any]]] = {}
        self.first_row = 0

    def sheet(self) -> Worksheet:
        self._figures()
        self._data_sets()
        self._traffic_out()
        self._servers()
        self._beside()
        self._sums()
        self._write_months()
        return self.page

    def _say(self, name: str, **values) -> str:
        return self.text(f"bill_sheet.{name}", **values)

    # ---- figures, one per line

    def _figures(self) -> None:
        finance, purchase = self.known.scenario.finance, self.known.scenario.purchase
        put = self.page.put
        self.page.add_heading(self._say("figures"))
        self.usd = put(self._say("units_per_usd", currency=self.money.currency), self.money.units_per_usd)
        self.hours_per_month = put(self._say("hours_per_month"), HOURS_PER_MONTH)
        self.ways = [kind for kind in KINDS if np.any(self.plan.usd[kind]) or np.any(self.plan.served_hours[kind])]
        self.yearly = [kind for kind in self.ways if kind in TERM_YEARS]
        self._rates()
        if self.yearly:
            self.hours_per_year = put(self._say("hours_per_year"), HOURS_PER_YEAR)
            self.upfront = put(self._say("upfront"), purchase.upfront_fraction)
            self.resale = put(self._say("resale"), purchase.resale_fraction)
            self.beyond = {
                kind: put(self._say("beyond", way=self._way(kind)), self._beyond_hours(kind)) for kind in self.yearly
            }
        self.staff = (
            put(self._say("staff_fte"), finance.staff_fte),
            put(self._say("staff_usd"), finance.staff_usd_per_year),
        )
        fee = support_fee(self.known, self.choice.provider)
        self.support = put(self._say("support_minimum"), fee[0]), put(self._say("support_share"), fee[1])
        self.one_off = put(self._say("one_off"), finance.migration_usd)
        self.credit = put(self._say("credit"), finance.credit_usd)
        self.credit_share = put(self._say("credit_share"), finance.credit_share_fraction)
        self.tax = put(self._say("tax"), finance.tax_fraction)
        self.page.add()

    def _rates(self) -> None:
        """List price, what is left of it, and the rate paid in the currency, for every way of buying that is used."""
        offer = np.flatnonzero(self.known.catalogue.offers.id == self.choice.id)[:1]
        put = self.page.put
        discount = put(self._say("discount"), float(1 - paid_fraction(self.known, offer)[0]))
        self.rate = {}
        for kind in self.ways:
            way = self._way(kind)
            listed = put(self._say("list_rate", way=way), getattr(self.choice, LIST_PRICES[kind]))
            rework = ""
            if kind == "spot":
                rework = "*(1+" + put(self._say("rework"), float(rework_fraction(self.known, offer)[0])) + ")"
            paid = Formula(f"{listed}*(1-{discount}){rework}*{self.usd}")
            self.rate[kind] = put(self._say("paid_rate", way=way), paid)

    def _way(self, kind: str) -> str:
        return self.text(f"common.way.{kind}")

    def _bought(self, kind: str) -> np.ndarray:
        return getattr(self.plan, f"{kind}_servers")

    def _beyond_hours(self, kind: str) -> float:
        """Server-hours of the terms that lie after the horizon."""
        term_hours = TERM_YEARS[kind] * HOURS_PER_YEAR
        held_hours = self.plan.held_servers[kind].sum() * HOURS_PER_MONTH
        return float(self._bought(kind).sum() * term_hours - held_hours)

    # ---- what is stored, and what is sent out

    def _data_sets(self) -> None:
        """One line per data set in its tier: what its first month costs."""
        self.stored: list[tuple[str, str, str]] = []  # name, address of the first month's cost, of its growth
        placed = self.brief.result.storage
        if placed is None:
            return
        names = ("size", "billed", "gb_price", "reads", "retrieval", "read_k", "read_price", "write_k", "write_price")
        heading = [self._say(f"stored_{name}") for name in names]
        self.page.add_heading(self._say("stored"), *heading, self._say("growth"), self._say("first_month"))
        for dataset, tier in zip(self.known.scenario.storage.datasets, placed.tiers):
            row = len(self.page.rows) + 1
            cost = Formula(f"(B{row}*C{row}*D{row}+E{row}*F{row}+G{row}*H{row}+I{row}*J{row})*{self.usd}")
            self.page.add(
                f"{dataset.name}: {tier.name}",
                dataset.size_gb,
                max(1.0, tier.min_days / dataset.kept_days),
                tier.usd_per_gb_month,
                dataset.reads_gb_per_month,
                tier.retrieval_usd_per_gb,
                dataset.read_requests_per_month / REQUESTS_PER_PRICED_UNIT,
                tier.read_usd_per_1k,
                dataset.write_requests_per_month / REQUESTS_PER_PRICED_UNIT,
                tier.write_usd_per_1k,
                dataset.growth_fraction_per_month,
                cost,
            )
            self.stored.append((dataset.name, f"$L${row}", f"$K${row}"))
        self.page.add()

    def _traffic_out(self) -> None:
        """One line per price step of the traffic to the internet; the sum is the cost of every month."""
        self.egress = None
        amount = self.known.scenario.storage.egress_gb_per_month
        if not amount:
            return
        heading = [self._say(f"out_{name}") for name in ("from", "to", "price", "gb", "cost")]
        self.page.add_heading(self._say("out"), *heading)
        total = self.page.put(self._say("out_amount"), amount)
        tiers = egress_tiers(self.known, self.choice.provider, self.choice.country)
        first = len(self.page.rows) + 1
        for row, tier in enumerate(tiers, start=first):
            to = tier.to_gb_per_month if np.isfinite(tier.to_gb_per_month) else None
            upper = total if to is None else f"MIN({total},C{row})"
            part = Formula(f"MAX(0,{upper}-B{row})")
            cost = Formula(f"E{row}*D{row}*{self.usd}")
            self.page.add(None, tier.from_gb_per_month, to, tier.usd_per_gb, part, cost)
        self.egress = f"SUM($F${first}:$F${len(self.page.rows)})"
        self.page.add()

    # ---- the columns of a month

    def _column(self, name: str, label: str, cell: Callable[[int], Any]) -> None:
        self.columns[name] = label, cell

    def _amount(self, name: str, label: str, cell: Callable[[int], Any]) -> None:
        self._column(name, self._say("amount", label=label, currency=self.money.currency), cell)

    def _letter(self, name: str) -> str:
        return column_letter(2 + list(self.columns).index(name))

    def _at(self, name: str, month: int) -> str:
        return f"{self._letter(name)}{self.first_row + month}"

    def _all(self, name: str, months: int | None = None) -> str:
        letter, last = self._letter(name), self.first_row + (months or self.months) - 1
        return f"SUM({letter}${self.first_row}:{letter}${last})"

    def _servers(self) -> None:
        """Per way of buying its quantity and its cost."""
        for kind in self.ways:
            way = self._way(kind)
            if kind not in COMMITMENTS:
                hours = np.asarray(self.plan.served_hours[kind], dtype=float).tolist()
                self._column(f"{kind} hours", self._say("hours", way=way), lambda month, hours=hours: hours[month])
                self._amount(kind, way, lambda month, k=kind: self._as_you_go(k, month))
                continue
            held = self.plan.held_servers[kind].tolist()
            self._column(f"{kind} held", self._say("held", way=way), lambda month, held=held: held[month])
            if kind in self.yearly:
                label = self._say("other_hours", way=way)
                self._column(f"{kind} other", label, lambda month, k=kind: self._other_hours(k, month))
            self._amount(kind, way, lambda month, k=kind: self._commitment(k, month))

    def _as_you_go(self, kind: str, month: int) -> Formula:
        return Formula(f"{self._at(f'{kind} hours', month)}*{self.rate[kind]}")

    def _other_hours(self, kind: str, month: int) -> Formula | float:
        """Server-hours due beside the month's own: up front in a term's first month, the rest in the last of all."""
        years, parts = TERM_YEARS[kind], []
        if month % (years * MONTHS_PER_YEAR) == 0:
            started = int(self._bought(kind)[month // (years * MONTHS_PER_YEAR)])
            parts.append(f"{self.upfront}*{started}*{years}*{self.hours_per_year}")
        if month == self.months - 1:
            parts.append(f"(1-{self.upfront})*{self.beyond[kind]}")
        return Formula("+".join(parts)) if parts else 0.0

    def _commitment(self, kind: str, month: int) -> Formula:
        own_hours = f"{self._at(f'{kind} held', month)}*{self.hours_per_month}"
        if kind not in self.yearly:
            return Formula(f"{own_hours}*{self.rate[kind]}")
        return Formula(f"({own_hours}*(1-{self.upfront})+{self._at(f'{kind} other', month)})*{self.rate[kind]}")

    def _beside(self) -> None:
        """Storage, traffic out, support, people, one-off costs."""
        for number, (name, cost, growth) in enumerate(self.stored):
            label = self._say("stored_column", dataset=name)
            self._amount(f"stored {number}", label, lambda month, c=cost, g=growth: Formula(f"{c}*(1+{g})^{month}"))
        if self.egress:
            self._amount("egress", cost_label("egress", self.text), lambda month: Formula(self.egress))
        self.bought = list(self.ways) + [name for name in self.columns if name.startswith("stored ")]
        self.bought += ["egress"] if self.egress else []
        self._amount("support", cost_label("support", self.text), lambda month: self._support())
        fte, salary = self.staff
        staff = Formula(f"{fte}*{salary}/{MONTHS_PER_YEAR}*{self.usd}")
        self._amount("staff", cost_label("staff", self.text), lambda month: staff)
        one_off = cost_label("one_off", self.text)
        self._amount("one_off", one_off, lambda month: 0.0 if month else Formula(f"{self.one_off}*{self.usd}"))

    def _support(self) -> Formula:
        """The larger of the plan's minimum and its share of the mean month's servers, storage and traffic."""
        minimum, share = self.support
        spend = "+".join(self._all(name) for name in (*self.bought, "resale"))
        return Formula(f"MAX({minimum}*{self.usd},{share}*({spend})/{self.months})")

    def _sums(self) -> None:
        """The bill, what comes back, what credits pay, the total and its tax."""
        billed = [*self.bought, "support", "staff", "one_off"]
        self._amount(
            "gross", self._say("gross"), lambda month: Formula("+".join(self._at(name, month) for name in billed))
        )
        self._amount("resale", cost_label("resale", self.text), self._resale)
        self._amount("credit", cost_label("credit", self.text), self._credit)
        parts = ("gross", "resale", "credit")
        self._amount(
            "total", self._say("total"), lambda month: Formula("+".join(self._at(name, month) for name in parts))
        )
        self._amount("tax", self._say("tax_column"), lambda month: Formula(f"{self._at('total', month)}*{self.tax}"))

    def _resale(self, month: int) -> Formula | float:
        if month < self.months - 1 or not self.yearly:
            return 0.0
        sold = "+".join(f"{self.beyond[kind]}*{self.rate[kind]}" for kind in self.yearly)
        return Formula(f"-{self.resale}*({sold})")

    def _credit(self, month: int) -> Formula | float:
        """The share of the month's bill, at most what is left; all months together at most that share of all bills."""
        lasting = credit_months(self.known)
        if month >= (lasting or self.months):
            return 0.0
        whole = f"{self._all('gross')}+{self._all('resale')}"
        billed = self._all("gross", lasting) if lasting else whole
        usable = f"MIN({self.credit}*{self.usd},{self.credit_share}*({billed}),{whole})"
        used = f"+{self._all('credit', month)}" if month else ""
        return Formula(f"-MAX(0,MIN({self.credit_share}*{self._at('gross', month)},{usable}{used}))")

    def _write_months(self) -> None:
        labels = [label for label, _ in self.columns.values()]
        self.first_row = self.page.add_heading(self.text("figures.month"), *labels) + 1
        for month in range(self.months):
            self.page.add(month + 1, *(cell(month) for _, cell in self.columns.values()))
        self.page.month_totals = [self._at("total", month) for month in range(self.months)]
        sums = [Formula(self._all(name)) for name in self.columns]
        self.page.add_heading(self.text("export_files.total"), *sums)
        self.page.add()
        total = self.money.amount(self.bill.total_usd)
        shown = self.page.put(self._say("as_shown"), total)
        self.page.put(self._say("difference"), Formula(f"{self._all('total')}-{shown}"))
