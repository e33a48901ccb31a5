"""evaluate(scenario, catalogue) -> Result: the whole calculation, pure and deterministic."""

from dataclasses import dataclass, replace

import numpy as np

from gpudash import contracts, energy
from gpudash.assumptions import Known, assume, ledger, price_entries
from gpudash.at_load import FleetResponses
from gpudash.candidates import Gates, gate_before_sizing, gate_costs, gate_sizing
from gpudash.catalogue import Catalogue
from gpudash.choice import Chooser
from gpudash.frameworks import FrameworkScores
from gpudash.owned import owned
from gpudash.path import walk_trees
from gpudash.purchase_detail import purchase_detail
from gpudash.reasons import contract_warnings, result_warnings, versus, winner_reasons
from gpudash.recommendation import ALTERNATIVES, Order, candidate_columns, order, pareto_ids, rank, ranking
from gpudash.result import Choice, FrameworkRanking, Result
from gpudash.scenario import Scenario
from gpudash.sizing import Shapes, Sized, size
from gpudash.sizing_result import sizing_result
from gpudash.stages import Stages
from gpudash.tco import Costs, demand_result, peak_usd_per_hour, total_costs


@dataclass(frozen=True)
class Fitted:
    """What can do the work, before any price: server shapes, the gates passed so far, what each shape does."""

    shapes: Shapes
    gates: Gates
    sized: Sized


@dataclass(frozen=True)
class Solved:
    """One pass through sizing, cost and scores; candidates are the offers that can do the work and have a price."""

    known: Known
    shapes: Shapes
    sized: Sized
    gates: Gates
    costs: Costs
    columns: dict[str, np.ndarray]

    @property
    def allowed(self) -> np.ndarray:
        """Candidates within the hourly ceiling and the hard budget."""
        return self.gates.alive[self.costs.rows]

    def candidate_of(self, offer: str) -> int:
        """The candidate that is the offer with this id, which must be one of them."""
        return int(np.flatnonzero(self.costs.rows == self.known.catalogue.offers.row_of(offer))[0])

    def chooser(self, scores: FrameworkScores, ordered: Order) -> Chooser:
        """Who makes the choices that are shown, under these scores."""
        return Chooser(self.known, self.shapes, self.sized, self.costs, scores, ordered)


@dataclass(frozen=True)
class Picked:
    """The candidates that are shown, by the part they play; None where nobody plays it."""

    shown: tuple[int, ...]  # best first: those within the budget, or the cheapest ones where nobody is
    first: int | None
    second: int | None
    cheapest: int | None  # whatever the budget
    fastest: int | None

    @property
    def focus(self) -> int | None:
        """The one that the details are about."""
        return self.cheapest if self.first is None else self.first

    @property
    def billed(self) -> tuple[int, ...]:
        """Those whose bill is shown, each once."""
        return _each_once(self.first, self.second, self.cheapest)

    @property
    def every(self) -> tuple[int, ...]:
        """All of them, each once."""
        return _each_once(*self.shown, self.cheapest, self.fastest)


def _each_once(*candidates: int | None) -> tuple[int, ...]:
    return tuple(dict.fromkeys(candidate for candidate in candidates if candidate is not None))


def evaluate(scenario: Scenario, catalogue: Catalogue, stages: Stages | None = None) -> Result:
    """Which offer, how many servers, bought how, at what total cost, and what every other offer falls for.

    A part that the answer can do without and in which the program fails is left out, with a warning; `stages` tells
    a caller who passes it in what failed and how long each stage took.
    Raises GpudashError with one sentence where an input names something unknown or not modelled.
    """
    stages = stages or Stages()
    known = stages.required("inputs", assume, scenario, catalogue)
    fitted = stages.required("sizing", fit, known)
    solved = stages.required("limits", limit, known, fitted, stages.required("cost", price, known, fitted))
    scores = stages.optional("frameworks", {}, rank, solved)
    scores = scores or {scenario.priorities.framework: chosen_scores(solved)}
    orders = {name: order(solved, scored) for name, scored in scores.items()}
    ordered = orders[scenario.priorities.framework]
    choose, picked = solved.chooser(scores[scenario.priorities.framework], ordered), _pick(solved, ordered)
    choices = stages.required("choices", _with_reasons, solved, choose, picked)
    focus, winner, cheapest = picked.focus, choices.get(picked.first), choices.get(picked.cheapest)
    alternatives = tuple(choices[candidate] for candidate in picked.shown)
    own = stages.optional("owned", None, _owned, solved, choose, focus)
    return Result(
        scenario=scenario,
        catalogue=catalogue,
        recommendation=winner,
        runner_up=choices.get(picked.second),
        cheapest=cheapest,
        fastest=choices.get(picked.fastest),
        gap_usd_per_month=_gap(known, winner, cheapest),
        alternatives=alternatives,
        pareto=pareto_ids(alternatives),
        rejected=solved.gates.rejected(),
        sizing=_sizing(solved, focus, choose.responses),
        demand=stages.optional("demand", None, _demand, solved, focus),
        purchase_mix=None if focus is None else choose.mix(focus),
        purchase_detail=stages.optional("purchase_detail", None, _purchase_detail, solved, choose, focus),
        storage=None if focus is None else solved.costs.data_of(focus).placement,
        tco=tuple(choose.bill(candidate) for candidate in picked.billed),
        owned=own,
        scores=stages.optional("rankings", {}, _rankings, solved, scores, orders),
        path=stages.optional("path", {}, _path, solved, picked.first),
        uncertainty=None,
        flips=None,
        fleets=None,
        assumptions=(
            *ledger(known),
            *(() if focus is None else price_entries(known, choices[focus])),
            *contracts.ledger(known),
            *stages.optional("energy", (), energy.ledger, known),
            *(own.assumptions if own else ()),
        ),
        warnings=_warnings(solved, winner, cheapest, picked.first, stages),  # last: it says which stages failed
    )


def solve(known: Known) -> Solved:
    """Gates, sizing, and the cheapest purchase mix of every offer that passes; the facts that frameworks score."""
    fitted = fit(known)
    return limit(known, fitted, price(known, fitted))


def fit(known: Known) -> Fitted:
    """Which offers may be considered and can do the work, and with which layout."""
    shapes = Shapes.of(known.catalogue.offers)
    gates = gate_before_sizing(known, shapes)
    sized = size(known, shapes)
    gate_sizing(gates, known, shapes, sized)
    return Fitted(shapes, gates, sized)


def price(known: Known, fitted: Fitted) -> Costs:
    """The cheapest purchase mix of every offer that can do the work."""
    return total_costs(known, fitted.shapes, fitted.sized, np.flatnonzero(fitted.gates.alive))


def limit(known: Known, fitted: Fitted, costs: Costs) -> Solved:
    """Who has a price and stays within the budget; `fitted` may be used again with other prices or limits."""
    shapes, sized, gates = fitted.shapes, fitted.sized, fitted.gates.copy()
    gate_costs(gates, known, costs, peak_usd_per_hour(costs))
    costs = costs.priced()
    return Solved(known, shapes, sized, gates, costs, candidate_columns(known, shapes, sized, costs))


def chosen_scores(solved: Solved) -> FrameworkScores:
    """The candidates scored in the chosen framework only."""
    return rank(solved, only_chosen=True)[solved.known.scenario.priorities.framework]


def ranked_offers(solved: Solved, scores: FrameworkScores | None = None) -> np.ndarray:
    """Rows of the offers that `evaluate` would recommend, best first, one per provider and instance."""
    candidates = order(solved, scores or chosen_scores(solved)).candidates
    return solved.costs.rows[candidates[solved.allowed[candidates]]]


def _fastest(solved: Solved) -> int:
    """The candidate with the most speed beyond the target, the cheaper one of equals; without targets, the quickest.

    Among those within the budget; among all where nobody is.
    """
    margin = np.nan_to_num(solved.columns["speed_margin_fraction"], nan=-np.inf)
    per_server = np.nan_to_num(solved.columns["output_tokens_per_s"])
    above_budget = ~solved.allowed
    return int(np.lexsort((solved.costs.tco_usd, -per_server, -margin, above_budget))[0])


def _pick(solved: Solved, ordered: Order) -> Picked:
    costs = solved.costs
    within = ordered.candidates[solved.allowed[ordered.candidates]].tolist()
    by_cost = ordered.candidates[np.argsort(costs.tco_usd[ordered.candidates])].tolist()
    return Picked(
        shown=tuple((within or by_cost)[:ALTERNATIVES]),
        first=within[0] if within else None,
        second=within[1] if len(within) > 1 else None,
        cheapest=int(np.argmin(costs.tco_usd)) if len(costs) else None,
        fastest=_fastest(solved) if len(costs) else None,
    )


def _with_reasons(solved: Solved, choose: Chooser, picked: Picked) -> dict[int | None, Choice]:
    """The choices that are shown, by candidate, each with why it is the one or why it is not."""
    choices = {candidate: choose(candidate) for candidate in picked.every}
    if picked.first is None:
        return choices
    winner, cheapest = choices[picked.first], choices[picked.cheapest]
    reasons = {picked.first: winner_reasons(solved.known, winner, cheapest, len(solved.costs))}
    reasons |= {candidate: versus(choices[candidate], winner) for candidate in picked.shown[1:]}
    return choices | {candidate: replace(choices[candidate], reasons=said) for candidate, said in reasons.items()}


def _gap(known: Known, winner: Choice | None, cheapest: Choice | None) -> float | None:
    """How much a month the budget is short of the cheapest that works."""
    if winner is not None or cheapest is None or known.budget_usd_per_month is None:
        return None
    return max(cheapest.monthly_usd - known.budget_usd_per_month, 0.0)


def _sizing(solved: Solved, focus: int | None, responses: FleetResponses | None):
    known, shapes, sized = solved.known, solved.shapes, solved.sized
    if focus is None:
        return sizing_result(known, shapes, sized, responses, None, 1)
    offer = solved.costs.rows[focus]
    gpus = int(solved.costs.servers[focus] * known.catalogue.offers.gpus_per_server[offer])
    return sizing_result(known, shapes, sized, responses, int(shapes.of_offer[offer]), gpus)


def _owned(solved: Solved, choose: Chooser, focus: int | None):
    return None if focus is None else owned(solved, focus, choose(focus), choose.bill(focus))


def _demand(solved: Solved, focus: int | None):
    return None if focus is None else demand_result(solved.known, solved.shapes, solved.sized, solved.costs, focus)


def _purchase_detail(solved: Solved, choose: Chooser, focus: int | None):
    if focus is None:
        return None
    return purchase_detail(solved.known, solved.costs, focus, choose.mix(focus), choose.bill(focus))


def _rankings(solved: Solved, scores: dict, orders: dict[str, Order]) -> dict[str, FrameworkRanking]:
    return {name: ranking(solved, scored, orders[name]) for name, scored in scores.items()}


def _path(solved: Solved, first: int | None) -> dict:
    return walk_trees(solved.known, solved.gates, solved.costs, None if first is None else solved.costs.rows[first])


def _warnings(solved: Solved, winner: Choice | None, cheapest: Choice | None, first: int | None, stages: Stages):
    """The strongest first: what the answer lacks, what was assumed, what the choice itself asks to watch."""
    said = stages.optional("warnings", (), result_warnings, solved.known, solved.costs, winner, cheapest, first)
    return stages.missing() + solved.known.warnings + contract_warnings(solved.known) + said
