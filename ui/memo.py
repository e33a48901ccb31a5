"""What was worked out once is kept: for all sessions where the prices are those shipped, else for one session."""

from collections.abc import Callable
from functools import lru_cache

import plotly.graph_objects as go

from gpudash.catalogue import Catalogue
from gpudash.figures.money import text_for
from gpudash.result import Result
from gpudash.scenario import Scenario
from gpudash.text import Text
from ui.chart import Chart
from ui.observe import evaluate_observed
from ui.searches import Search

View = Callable[[Result, Text], object]  # a function of gpudash.figures


class Memo:
    """Answers, views of them and long searches, each made once; all are frozen or never written to again."""

    def __init__(self, answers: int, views: int, searches: int):
        self.answer = lru_cache(answers)(evaluate_observed)
        self.view = lru_cache(views)(self._view)
        self.search = lru_cache(searches)(_search)

    def _view(self, function: View, scenario: Scenario, catalogue: Catalogue, language: str):
        shown = function(self.answer(scenario, catalogue), text_for(scenario, catalogue, language))
        return Chart.of(shown) if isinstance(shown, go.Figure) else shown

    def forget(self) -> None:
        """Work everything out anew from here on."""
        for kept in (self.answer, self.view, self.search):
            kept.cache_clear()


def _search(begin, scenario: Scenario, catalogue: Catalogue) -> Search:
    return Search(begin(scenario, catalogue))


SHARED = Memo(answers=128, views=1024, searches=64)
