"""Own servers beside the cloud as worksheets that work themselves out: the cloud's bill for the rest, then the months.

As on the bill's sheet, quantities, prices and shares are values and all money is a formula.
"""

from gpudash.assumptions import assume
from gpudash.bill_sheet import Formula, Worksheet, column_letter, worked_out
from gpudash.brief import Brief
from gpudash.energy import power_shares
from gpudash.figures.money import money_of
from gpudash.figures.owned import AMOUNTS
from gpudash.owned import Owned, trades
from gpudash.owned_terms import Terms, terms_of
from gpudash.units import HOURS_PER_MONTH, MONTHS_PER_YEAR


def own_sheets(brief: Brief, alone: Worksheet) -> list[Worksheet]:
    """The bill of the rest and the months of the hybrid; none without own servers that can do this work.

    `alone`: the bill of the cloud alone.
    """
    own: Owned | None = brief.result.owned
    if own is None or own.because is not None:
        return []
    rest = worked_out(brief, brief.text("owned_sheet.rest_title"), own.cloud_bill, own.cloud_mix)
    return [rest, _hybrid(brief, own, alone, rest)]


def _hybrid(brief: Brief, own: Owned, alone: Worksheet, rest: Worksheet) -> Worksheet:
    """Figures, one per line; then one row per month, the first the day of the purchase."""
    page = Worksheet(brief.text("owned_sheet.title"))
    known = assume(brief.result.scenario, brief.result.catalogue)
    terms = terms_of(known, known.catalogue.hardware.index(own.gpu), own.gpus_per_server, own.country)
    money = money_of(brief.result, brief.text)
    at = _figures(page, brief, terms, power_shares(known), money)
    last = len(own.months) - 1
    bought, brought = trades(terms, last, known.scenario.finance.after_life == "replace")
    names = ("bought", "sold", "servers", "busy", "kwh")
    labels = [brief.text(f"owned_sheet.{name}") for name in names]
    labels += [brief.text(f"owned_page.{name}", currency=money.currency) for name in AMOUNTS]
    first = page.add_heading(brief.text("owned_page.month"), *labels) + 1
    for month in own.months:
        row = first + month.month
        cloud = [Formula(_elsewhere(sheet, month.month)) for sheet in (rest, alone)]
        page.add(
            month.month,
            own.servers * bought[month.month],
            own.servers * brought[month.month],
            month.servers,
            month.busy_server_hours,
            Formula(f"{at['kw']}*({at['idle']}*D{row}*{at['hours']}+({at['busy']}-{at['idle']})*E{row})*{at['pue']}"),
            Formula(f"B{row}*{at['price']}*{at['usd']}"),
            Formula(f"-C{row}*{at['price']}*{at['usd']}"),
            Formula(f"F{row}*{at['kwh']}*{at['usd']}"),
            Formula(f"D{row}*{at['kw']}*{at['hosting']}*{at['usd']}"),
            Formula(f"D{row}*{at['price']}*{at['maintenance']}/{MONTHS_PER_YEAR}*{at['usd']}"),
            Formula(f"MIN(1,D{row})*{at['staff']}*{at['usd']}"),
            cloud[0],
            Formula(f"SUM(G{row}:M{row})"),
            cloud[1],
        )
    columns = [column_letter(number) for number in range(2, len(labels) + 2)]
    sums = [Formula(f"SUM({letter}{first}:{letter}{first + last})") for letter in columns]
    page.add_heading(brief.text("export_files.total"), *sums)
    page.add()
    shown = page.put(brief.text("bill_sheet.as_shown"), money.amount(own.total_usd))
    summed = sums[list(AMOUNTS).index("total") + len(names)].words
    page.put(brief.text("bill_sheet.difference"), Formula(f"{summed}-{shown}"))
    return page


def _figures(page: Worksheet, brief: Brief, terms: Terms, shares: tuple[float, float], money) -> dict[str, str]:
    """The addresses of the figures by their short names."""
    page.add_heading(brief.text("bill_sheet.figures"))
    idle, busy = shares
    figures = {
        "usd": (brief.text("bill_sheet.units_per_usd", currency=money.currency), money.units_per_usd),
        "hours": (brief.text("bill_sheet.hours_per_month"), HOURS_PER_MONTH),
    }
    values = {
        "price": terms.server_usd,
        "kw": terms.rated_kw,
        "idle": idle,
        "busy": busy,
        "pue": terms.pue,
        "kwh": terms.electricity_usd_per_kwh,
        "hosting": terms.hosting_usd_per_kw_month,
        "maintenance": terms.maintenance_fraction_per_year,
        "staff": terms.staff_usd_per_month,
    }
    figures |= {name: (brief.text(f"owned_sheet.figure_{name}"), value) for name, value in values.items()}
    addresses = {name: page.put(*figure) for name, figure in figures.items()}
    page.add()
    return addresses


def _elsewhere(sheet: Worksheet, month: int) -> str:
    """The total of a month on another sheet; nothing is billed on the day of the purchase."""
    return f"'{sheet.title}'!{sheet.month_totals[month - 1]}" if month else "0"
