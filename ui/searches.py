"""Long searches that show what they have found so far, go on where they stopped, and are made once for all sessions."""

from collections.abc import Callable, Iterator
from threading import Lock

from gpudash.catalogue import Catalogue
from gpudash.scenario import Scenario

PAUSE_S, GLANCES = 0.8, 16  # how long the inputs must rest before a search begins, how often that is looked at

Begin = Callable[[Scenario, Catalogue], Iterator]


class Search:
    """One search of one scenario; a step is taken by whoever asks first, so that a rerun of the page loses nothing."""

    def __init__(self, steps: Iterator):
        self._steps, self._lock = steps, Lock()
        self.found, self.is_done = None, False

    def step(self) -> None:
        with self._lock:
            if not self.is_done:
                step = next(self._steps, None)
                self.found = step or self.found
                self.is_done = step is None or step.fraction >= 1
