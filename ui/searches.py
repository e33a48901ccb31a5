"""Long searches that show what they have found so far, go on where they stopped, and are made once for all sessions."""

from collections.abc import Callable, Iterator
from threading import Lock

from gpudash.catalogue import Catalogue
from gpudash.scenario import Scenario

PAUSE_S = 0.8  # how long the inputs must rest before a search begins
GLANCE_S = 0.05  # how often one that waits looks whether it is still wanted

Begin = Callable[[Scenario, Catalogue], Iterator]

_TURN = Lock()  # one step at a time on the whole server: however many search, who moves an input is answered soon


class Search:
    """One search of one scenario; a step is taken by whoever asks first, so that a rerun of the page loses nothing."""

    def __init__(self, steps: Iterator):
        self._steps = steps
        self.found, self.is_done = None, False

    def step(self, glance: Callable[[], object] = lambda: None) -> None:
        """Take one step when it is our turn; until then `glance` is called now and then, and may give up by raising."""
        while not _TURN.acquire(timeout=GLANCE_S):
            glance()
        try:
            if not self.is_done:
                step = next(self._steps, None)
                self.found = step or self.found
                self.is_done = step is None or step.fraction >= 1
        finally:
            _TURN.release()
