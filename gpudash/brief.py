"""The brief for management: one Result as a few titled parts, the same on the page, in the PDF and in the tables."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gpudash
from gpudash import share
from gpudash.errors import GpudashError
from gpudash.figures import brief as views
from gpudash.figures import overview, tco
from gpudash.figures.choices import price_source
from gpudash.figures.money import money_of
from gpudash.figures.recommendation import OURS
from gpudash.figures.table import Column, Table, table
from gpudash.newer_prices import newer_prices
from gpudash.result import Result
from gpudash.result_json import choice_json, plain, result_json, step_json
from gpudash.roadmap import commitments, kpis, reviews, stages
from gpudash.text import Text

# Part -> its table or sentences, in the order of reading.
PARTS: dict[str, Callable[[Result, Text], Table | list[str] | None]] = {
    "numbers": views.numbers,
    "years": views.years,
    "months": tco.monthly_table,
    "purchase": views.purchase,
    "alternatives": views.alternatives,
    "owned": views.owned,
    "path": views.path,
    "would_change": views.would_change,
    "sureness": views.sureness,
    "risks": views.risks,
    "roadmap": views.roadmap,
    "kpis": views.kpis,
    "assumptions": views.assumptions,
}
SUMMED = ("years", "months", "purchase")  # their columns of numbers can be added up
FILES_ONLY = ("months",)  # too long to read, wanted in a spreadsheet


@dataclass(frozen=True)
class Part:
    """One part of a brief: a title, a table, and whether its columns of numbers can be added up."""

    name: str
    title: str
    table: Table
    summed: bool = False

    def totals(self, text: Text) -> list[Any]:
        """The last line of a summed table: its name and the sum of every column of numbers."""
        sums = [math.fsum(column.values) if column.kind == "number" else "" for column in self.table.columns[1:]]
        return [text("export_files.total"), *sums]


@dataclass(frozen=True)
class Brief:
    """What management reads about one Result in one language; `address` is where this dashboard is found, if known."""

    result: Result
    text: Text
    address: str = ""

    @cached_property
    def title(self) -> str:
        """The name of the decision, else its question."""
        return overview.title(self.result, self.text)[0]

    @cached_property
    def question(self) -> str:
        """What was asked, as one sentence."""
        return overview.title(self.result, self.text)[-1]

    @cached_property
    def answer(self) -> list[str]:
        """What is recommended: one large sentence and the smaller ones under it."""
        return overview.answer(self.result, self.text)

    @cached_property
    def link(self) -> str:
        """The link to this decision; blank where the inputs are too many for one."""
        try:
            query = share.url(self.result.scenario)
        except GpudashError:
            return ""
        return self.address.partition("?")[0].rstrip("/") + "/" + query if self.address else query

    @cached_property
    def prices(self) -> str:
        """Which prices, in which currency, before tax."""
        return price_source(self.result, money_of(self.result, self.text), self.text)

    @cached_property
    def newer(self) -> str:
        """What the answer would be with newer prices; blank where there are none."""
        said = newer_prices(self.result)
        return "" if said is None else self.text.say(said)

    @cached_property
    def made(self) -> str:
        """Which version made it."""
        return self.text("brief.made", version=gpudash.__version__)

    @cached_property
    def about(self) -> Part:
        """The decision itself: what was asked, what was answered, by whom, at which prices, and its link."""
        about = self.result.scenario.about
        rows = [
            ("question", self.question),
            *(("answer", line) for line in self.answer),
            ("name", about.name),
            ("author", about.author),
            ("notes", about.notes),
            ("prices", self.prices),
            ("newer", self.newer),
            ("link", self.link),
            ("version", self.made),
        ]
        rows = [(self.text(f"brief.about_{name}"), words) for name, words in rows if words]
        names, words = zip(*rows)
        columns = [(self.text("brief.section_about"), names), (self.text("brief.column_sentence"), words)]
        return Part("about", self.text("brief.section_about"), table(self.question, columns))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Every part that has something to show; sentences as a table of one column."""
        made = []
        for name, view in PARTS.items():
            shown, title = view(self.result, self.text), self.text(f"brief.section_{name}")
            if isinstance(shown, list):
                shown = Table(title, (Column(self.text("brief.column_sentence"), tuple(shown)),))
            if shown is not None and len(shown):
                made.append(Part(name, title, shown, name in SUMMED))
        return tuple(made)

    @cached_property
    def read(self) -> tuple[Part, ...]:
        """The parts that a reader sees; the others are for spreadsheets only."""
        return tuple(part for part in self.parts if part.name not in FILES_ONLY)


def as_read(value: Any, kind: str, text: Text) -> str:
    """A cell of a table as it reads: numbers with the digits of the pages."""
    if value is None:
        return ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return text.percent(value) if kind == "percent" else text.number(value)
    return str(value)


def brief_json(brief: Brief) -> dict[str, Any]:
    """The brief as plain JSON values: sentences of its language, numbers in full, money in US dollars."""
    result, text = brief.result, brief.text
    first, money, whole = result.leading, money_of(result, text), result_json(result, text)
    bill = result.leading_bill
    return {
        "title": brief.title,
        "question": brief.question,
        "answer": brief.answer,
        "with_newer_prices": brief.newer or None,
        "language": text.language,
        "link": brief.link or None,
        "currency": money.currency,
        "units_per_usd": money.units_per_usd,
        "recommendation": whole["recommendation"],
        "cheapest": whole["cheapest"],
        "gap_usd_per_month": whole["gap_usd_per_month"],
        "cost": next((row for row in whole["tco"] if bill is not None and row["offer"] == bill.choice_id), None),
        "purchase_mix": whole["purchase_mix"],
        "alternatives": [
            {"role": role, "difference_usd_per_month": choice.monthly_usd - first.monthly_usd}
            | choice_json(choice, text)
            for role, choice in views.beside(result).items()
        ],
        "path": [step_json(step, text) for step in result.path[OURS].steps] if OURS in result.path else [],
        "owned": whole["owned"],
        "would_change": views.would_change(result, text),
        "flips": whole["flips"],
        "uncertainty": whole["uncertainty"],
        "risks": views.risks(result, text),
        "roadmap": plain(stages(result), text),
        "commitments": plain(commitments(result), text),
        "hardware_reviews": plain(reviews(result), text),
        "kpis": plain(kpis(result), text),
        "assumptions": whole["assumptions"],
        "catalogue": whole["catalogue"],
        "made_with": f"gpudash {gpudash.__version__}",
        "scenario": whole["scenario"],
    }
