"""The published checklist of nine items: for this work, what each would cost if it were insisted on.

Every item is a requirement of the Scenario. It is switched on alone, with everything else as it is, and the same
functions as in `evaluate` say who is left and who would be recommended.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gpudash.assumptions import assume
from gpudash.catalogue import Catalogue
from gpudash.evaluate import Solved, ranked_offers, solve
from gpudash.offers import offer_id
from gpudash.result import Message
from gpudash.scenario import Scenario, default
from gpudash.tables import DATA, read_yaml


@dataclass(frozen=True)
class Item:
    """One line of the checklist: the requirement it stands for, and the kinds of work it makes sense for."""

    key: str
    path: str
    value: Any
    applies_to: tuple[str, ...]

    @property
    def name(self) -> str:
        """The text key of its name."""
        return f"checklist.{self.key}"

    def is_on(self, scenario: Scenario) -> bool:
        """Whether the scenario asks for at least as much."""
        asked = scenario.value(self.path)
        return bool(asked) if isinstance(self.value, bool) else asked is not None and asked >= self.value

    def switched(self, scenario: Scenario, on: bool) -> Scenario:
        """The scenario with this item on, or without it."""
        if on and self.is_on(scenario):
            return scenario
        return scenario.with_value(self.path, self.value if on else default(self.path))


@dataclass(frozen=True)
class Checked:
    """One item for one scenario: who is left if it is insisted on, and who would then be recommended.

    `candidates` are the offers that can do the work and may be bought, with the item and without it. `lost_gpus` are
    cards that only fall because of it. `why` says what speaks against insisting on it, None where it applies.
    """

    item: Item
    is_on: bool
    applies: bool
    why: Message | None
    candidates_without: int
    candidates_with: int
    lost_gpus: tuple[str, ...]
    answer_without: str | None
    answer_with: str | None

    @property
    def changes_answer(self) -> bool:
        """Whether another offer is recommended if the item is insisted on."""
        return self.answer_with != self.answer_without


@lru_cache(maxsize=1)
def items() -> tuple[Item, ...]:
    """The nine items in the article's order."""
    rows = read_yaml(DATA / "checklist.yaml")["items"]
    return tuple(Item(key, row["path"], row["value"], tuple(row["applies_to"])) for key, row in rows.items())


def check(scenario: Scenario, catalogue: Catalogue) -> tuple[Checked, ...]:
    """Every item, switched on alone and off alone."""
    now = _solved(scenario, catalogue)
    return tuple(_checked(item, scenario, catalogue, now) for item in items())


def _solved(scenario: Scenario, catalogue: Catalogue) -> Solved:
    return solve(assume(scenario, catalogue))


def _checked(item: Item, scenario: Scenario, catalogue: Catalogue, now: Solved) -> Checked:
    is_on = item.is_on(scenario)
    other = _solved(item.switched(scenario, not is_on), catalogue)
    without, insisted = (other, now) if is_on else (now, other)
    kind = scenario.workload.kind
    applies = kind in item.applies_to
    return Checked(
        item=item,
        is_on=is_on,
        applies=applies,
        why=None if applies else Message.of(f"checklist.{item.key}_not"),
        candidates_without=int(without.allowed.sum()),
        candidates_with=int(insisted.allowed.sum()),
        lost_gpus=tuple(sorted(_gpus(without) - _gpus(insisted))),
        answer_without=_answer(without),
        answer_with=_answer(insisted),
    )


def _gpus(solved: Solved) -> set[str]:
    catalogue = solved.known.catalogue
    rows = np.unique(catalogue.offers.gpu_row[solved.costs.rows[solved.allowed]])
    return {catalogue.hardware.names[row] for row in rows}


def _answer(solved: Solved) -> str | None:
    ranked = ranked_offers(solved)
    return offer_id(solved.known.catalogue.offers, ranked[0]) if len(ranked) else None
