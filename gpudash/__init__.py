"""gpudash: which GPU server, from whom, how many, bought how, at what total cost.

A Scenario (all that the user said) and a dated Catalogue (all that was looked up) go through one pure function into a
Result: `evaluate(Scenario(), load_catalogue())`.
"""

from gpudash.catalogue import Catalogue, load_catalogue
from gpudash.errors import GpudashError
from gpudash.evaluate import evaluate
from gpudash.result import Result
from gpudash.scenario import Scenario

__version__ = "0.1.0"
__all__ = ["Catalogue", "GpudashError", "Result", "Scenario", "evaluate", "load_catalogue"]
