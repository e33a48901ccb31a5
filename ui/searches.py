"""Long searches that show what they have found so far, go on where they stopped, and are made once for all sessions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, get_ident
from time import sleep

from gpudash.catalogue import Catalogue
from gpudash.scenario import Scenario

PAUSE_S = 0.8  # how long the inputs must rest before a search begins
GLANCE_S = 0.05  # how often one that waits looks whether it is still wanted

Begin = Callable[[Scenario, Catalogue], Iterator]

# One step at a time on the whole server, and none is begun while somebody waits for an answer.
_TURN = Lock()
_ANSWERING: set[int] = set()  # the threads that somebody waits for
_END = object()


@contextmanager
def answering() -> Iterator[None]:
    """Somebody waits for this thread, until the end or until it has `answered`."""
    _ANSWERING.add(get_ident())
    try:
        yield
    finally:
        answered()


def answered() -> None:
    """Whoever waited for this thread has got their answer."""
    _ANSWERING.discard(get_ident())


class Search:
    """One search of one scenario; a step is taken by whoever asks first, so that a rerun of the page loses nothing."""

    def __init__(self, steps: Iterator):
        self._steps = steps
        self.found, self.is_done = None, False

    def step(self, glance: Callable[[], object] = lambda: None) -> None:
        """Take one step when it is our turn; until then `glance` is called now and then, and may give up by raising."""
        while _ANSWERING or not _TURN.acquire(blocking=False):
            sleep(GLANCE_S)
            glance()
        try:
            if not self.is_done:
                step = next(self._steps, _END)
                if step is _END:
                    self.is_done = True
                elif step is not None:  # something new
                    self.found, self.is_done = step, step.fraction >= 1
        finally:
            _TURN.release()
