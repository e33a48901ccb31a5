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
        return Chooser(self.known, self.shapes, self.sized, self.costs, scores, ordered)


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
    costs = solved.costs
    scores = stages.optional("frameworks", {}, rank, solved)
    scores = scores or {scenario.priorities.framework: chosen_scores(solved)}
    orders = {name: order(solved, scored) for name, scored in scores.items()}
    ordered = orders[scenario.priorities.framework]
    choose = solved.chooser(scores[scenario.priorities.framework], ordered)

    within = [int(candidate) for candidate in ordered.candidates if solved.allowed[candidate]]
    first = within[0] if within else None
    shown = (within or ordered.candidates[np.argsort(costs.tco_usd[ordered.candidates])].tolist())[:ALTERNATIVES]
    cheapest = int(np.argmin(costs.tco_usd)) if len(costs) else None
    fastest = _fastest(solved) if len(costs) else None
    focus = first if first is not None else cheapest

    choices = stages.required("choices", _with_reasons, known, choose, shown, first, cheapest, len(costs))
    winner = choices.get(first)
    named = [choices.get(c) or (choose(c) if c is not None else None) for c in (cheapest, fastest)]
    own = stages.optional("owned", None, _owned, solved, choose, focus)
    billed = dict.fromkeys(c for c in (first, *within[1:2], cheapest) if c is not None)
    return Result(
        scenario=scenario,
        catalogue=catalogue,
        recommendation=winner,
        runner_up=choices[within[1]] if len(within) > 1 else None,
        cheapest=named[0],
        fastest=named[1],
        gap_usd_per_month=_gap(known, winner, named[0]),
        alternatives=tuple(choices[candidate] for candidate in shown),
        pareto=pareto_ids(tuple(choices[candidate] for candidate in shown)),
        rejected=solved.gates.rejected(),
        sizing=_sizing(solved, focus, choose.responses),
        demand=stages.optional("demand", None, _demand, solved, focus),
        purchase_mix=None if focus is None else choose.mix(focus),
        purchase_detail=stages.optional("purchase_detail", None, _purchase_detail, solved, choose, focus),
        storage=None if focus is None else costs.data_of(focus).placement,
        tco=tuple(choose.bill(candidate) for candidate in billed),
        owned=own,
        scores=stages.optional("rankings", {}, _rankings, solved, scores, orders),
        path=stages.optional("path", {}, _path, solved, first),
        uncertainty=None,
        flips=None,
        assumptions=(
            *ledger(known),
            *(() if focus is None else price_entries(known, choose(focus))),
            *contracts.ledger(known),
            *stages.optional("energy", (), energy.ledger, known),
            *(own.assumptions if own else ()),
        ),
        warnings=_warnings(solved, winner, named[0], first, stages),  # last: it says which stages failed
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
    """The candidate with the most speed beyond the target, the cheaper one of equals; without targets, the quickest."""
    margin = np.nan_to_num(solved.columns["speed_margin_fraction"], nan=-np.inf)
    per_server = np.nan_to_num(solved.columns["output_tokens_per_s"])
    return int(np.lexsort((solved.costs.tco_usd, -per_server, -margin))[0])


def _with_reasons(known, choose: Chooser, shown, first, cheapest, feasible: int) -> dict[int | None, Choice]:
    """The choices that are shown, each with why it is the one or why it is not."""
    if first is None:
        return {candidate: choose(candidate) for candidate in shown}
    winner = choose(first)
    reasons = {first: winner_reasons(known, winner, choose(cheapest), feasible)}
    for candidate in shown[1:]:
        reasons[candidate] = versus(choose(candidate), winner)
    return {candidate: replace(choose(candidate), reasons=said) for candidate, said in reasons.items()}


def _gap(known, winner: Choice | None, cheapest: Choice | None) -> float | None:
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
