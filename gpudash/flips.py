"""What would change the answer: for each number, the value at which another offer is recommended.

The search goes away from the present value in growing steps until the recommendation (provider and instance) is
another one, and narrows down the last step by halving. It asks the same functions as `evaluate`, without what
`evaluate` says about the candidates. A change that is undone again within one step is not seen.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace

import numpy as np

from gpudash.assumptions import Known, assume
from gpudash.catalogue import Catalogue
from gpudash.errors import GpudashError
from gpudash.evaluate import Fitted, chosen_scores, fit, limit, price, ranked_offers
from gpudash.frameworks import FrameworkScores
from gpudash.levers import Lever, Question, flip_rules, levers, server_name
from gpudash.offers import offer_id
from gpudash.result import Message, Share, Usd
from gpudash.scenario import Scenario
from gpudash.tco import least_costs, total_costs

FIRST = 3  # changes after which a short search ends
TRIED = 8  # offers priced in full at a time


@dataclass(frozen=True)
class Flip:
    """The nearest value of one number, in one direction, at which the answer is another.

    `direction` is `above` or `below`: beyond `threshold` the recommendation `becomes` that offer, None if nothing is
    left. A whole number is itself the first with the other answer; any other is exact to 0.1 %, a budget to
    a millionth. `now` is None where the input is empty. `subject` is the provider or server whose price is moved,
    `sentence` says it all in words.
    """

    input: str
    subject: str
    unit: str
    now: float | None
    threshold: float
    direction: str
    becomes: str | None
    sentence: Message


@dataclass(frozen=True)
class Progress:
    """How far the search is, and what it has found."""

    done: int
    total: int
    flips: tuple[Flip, ...]
    unmoved: tuple[Lever, ...]  # searched in both directions, and the answer stays

    @property
    def fraction(self) -> float:
        """How much of the search is done, 0 to 1."""
        return self.done / self.total


def find_flips(
    scenario: Scenario,
    catalogue: Catalogue,
    progress: Callable[[Progress], object] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> tuple[Flip, ...]:
    """All thresholds at which the recommendation changes, one number moved at a time, most telling number first.

    `progress` is called after each number; the search ends early once `should_stop` answers yes.
    """
    found: tuple[Flip, ...] = ()
    for step in filter(None, search_flips(scenario, catalogue)):
        found = step.flips
        if progress is not None:
            progress(step)
        if should_stop is not None and should_stop():
            break
    return found


def search_flips(scenario: Scenario, catalogue: Catalogue) -> Iterator[Progress | None]:
    """The search number by number, and None after every value tried, where it may be held up or left."""
    answers = Answers(Question(scenario, catalogue))
    flips: list[Flip] = []
    unmoved: list[Lever] = []
    for done, lever in enumerate(answers.levers, start=1):
        here = []
        for direction in lever.directions:
            flip = yield from _flip(answers, lever, direction)
            here += [] if flip is None else [flip]
        flips += here
        if not here:
            unmoved.append(lever)
        yield Progress(done, len(answers.levers), tuple(flips), tuple(unmoved))


def search_first_flips(scenario: Scenario, catalogue: Catalogue) -> Iterator[Progress | None]:
    """The same search, ended as soon as it has found a few."""
    for step in search_flips(scenario, catalogue):
        yield step
        if step is not None and len(step.flips) >= FIRST:
            return


class Answers:
    """Who is recommended when one number is moved; what the number does not touch is computed once."""

    def __init__(self, asked: Question):
        self.known = assume(asked.scenario, asked.catalogue)
        self.fitted = fit(self.known)
        self.costs = price(self.known, self.fitted)
        solved = limit(self.known, self.fitted, self.costs)
        ranked = ranked_offers(solved)
        self.first = self._server(ranked)
        self._leading = ranked[:TRIED]
        self.levers = levers(solved, ranked)

    def __call__(self, lever: Lever, value: float) -> int | None:
        """The row of the recommended offer at this value of the lever; None if there is none."""
        asked = lever.ask(value)
        known = assume(asked.scenario, asked.catalogue)
        if lever.again == "limits":
            ranked = ranked_offers(limit(known, self.fitted, self.costs))
            return int(ranked[0]) if len(ranked) else None
        return self._leader(known, fit(known) if lever.again == "all" else self.fitted)

    def _leader(self, known: Known, fitted: Fitted) -> int | None:
        """The recommended offer, with only those priced in full that could be it; the very answer of `evaluate`.

        All others stand at their least possible cost and as sure as their youngest price, which can only raise their
        score. So once the first of the ranking is among those priced in full, and with it one that holds the best value
        of each criterion, which is the measure of all scores, the first is the answer. Those that led for the last
        value asked about are tried first.
        """
        bound = least_costs(known, fitted.shapes, fitted.sized, np.flatnonzero(fitted.gates.alive))
        sure = np.isin(bound.rows, self._leading) | np.isnan(bound.prices.on_demand_usd_per_hour)
        while True:
            exact = total_costs(known, fitted.shapes, fitted.sized, bound.rows[sure])
            tco_usd = bound.tco_usd.copy()
            tco_usd[sure] = exact.tco_usd
            served_hours = {way: hours.copy() for way, hours in bound.served_hours.items()}
            for way, hours in served_hours.items():
                hours[sure] = exact.served_hours[way]
            solved = limit(known, fitted, replace(bound, tco_usd=tco_usd, served_hours=served_hours))
            scores = chosen_scores(solved)
            ranked = ranked_offers(solved, scores)
            best = _best_by_criterion(solved, scores, bound.rows[sure])
            leading = np.concatenate([ranked[:TRIED], *(rows[:TRIED] for rows in best)])
            first_of_each = np.concatenate([ranked[:1], *(rows[:1] for rows in best)])
            if np.isin(first_of_each, bound.rows[sure]).all():
                self._leading = leading
                return int(ranked[0]) if len(ranked) else None
            sure |= np.isin(bound.rows, leading)

    def is_first(self, row: int | None) -> bool:
        """Whether this offer is the same server as today's answer."""
        return self._server([] if row is None else [row]) == self.first

    def server(self, row: int) -> str:
        """An offer's server in words."""
        return server_name(self.known.catalogue.offers, row)

    def name(self, row: int | None) -> str | None:
        """An offer's id; None for none."""
        return None if row is None else offer_id(self.known.catalogue.offers, row)

    def _server(self, ranked: np.ndarray | list) -> tuple[str, str] | None:
        offers = self.known.catalogue.offers
        return (offers.provider[ranked[0]], offers.instance[ranked[0]]) if len(ranked) else None


def _best_by_criterion(solved, scores: FrameworkScores, first: np.ndarray) -> list[np.ndarray]:
    """For each criterion that counts, rows of the offers within the budget, best first; of equals those of `first`."""
    allowed = np.flatnonzero(solved.allowed)
    rows = solved.costs.rows[allowed]
    later = ~np.isin(rows, first)
    return [
        rows[np.lexsort((later, -scores.utilities[allowed, column]))] for column in np.flatnonzero(scores.weights > 0)
    ]


def _flip(answers: Answers, lever: Lever, direction: str) -> Generator[None, None, Flip | None]:
    last = lever.start
    for value in lever.values(direction):
        row = _ask(answers, lever, value)
        yield
        if row is not _REFUSED and not answers.is_first(row):
            threshold, becomes = yield from _narrowed(answers, lever, last, value, row)
            return Flip(
                input=lever.input,
                subject=lever.subject,
                unit=lever.unit,
                now=lever.now,
                threshold=threshold,
                direction=direction,
                becomes=answers.name(becomes),
                sentence=_sentence(answers, lever, direction, threshold, becomes),
            )
        last = value
    return None


def _sentence(answers: Answers, lever: Lever, direction: str, threshold: float, row: int | None) -> Message:
    """When the answer changes, and to what."""
    number = {"fraction": Share, "usd_per_hour": Usd}.get(lever.unit, lambda value: value)(threshold)
    currency = answers.known.scenario.budget.currency
    reached = lever.is_whole or threshold in (lever.low, lever.high)  # nothing lies beyond a bound
    condition = Message.of(
        f"flips.{direction}_whole" if reached else f"flips.{direction}",
        what=Message.of(f"flips.what.{lever.input}", subject=lever.subject),
        value=Message.of(f"flips.value.{lever.unit}", number=number, currency=currency),
    )
    if row is None:
        return Message.of("flips.nothing_left", condition=condition)
    code = "flips.possible" if answers.first is None else "flips.becomes"
    return Message.of(code, offer=answers.server(row), condition=condition)


_REFUSED = object()


def _ask(answers: Answers, lever: Lever, value: float):
    """The row of the recommended offer; a value that the scenario refuses is passed over."""
    try:
        return answers(lever, value)
    except GpudashError:
        return _REFUSED


def _narrowed(
    answers: Answers, lever: Lever, same: float, other: float, row: int | None
) -> Generator[None, None, tuple[float, int | None]]:
    """The first value with another answer, and who is recommended there; it lies after `same` and not after `other`."""
    precision = flip_rules()["precision_fraction_of_limits" if lever.again == "limits" else "precision_fraction"]
    while True:
        middle = round((same + other) / 2) if lever.is_whole else (same + other) / 2
        narrow = abs(other - same) <= (1 if lever.is_whole else precision * abs(other))
        if narrow or middle in (same, other):
            return other, row
        found = answers(lever, middle)
        yield
        if answers.is_first(found):
            same = middle
        else:
            other, row = middle, found
