"""Fleets of two types of server beside the answer, which stands on one: looked for by whoever shows them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from gpudash.catalogue import Catalogue
from gpudash.mixed_fleet import MixedFleet, mixed_fleet
from gpudash.prompt_routing import PromptRouting, prompt_routing
from gpudash.scenario import Scenario
from gpudash.tables import DATA, read_yaml


@dataclass(frozen=True)
class Fleets:
    """Two types side by side, and long prompts on servers of their own; `fraction` of the search is done."""

    side_by_side: MixedFleet | None
    routed: PromptRouting | None
    fraction: float


def search_fleets(scenario: Scenario, catalogue: Catalogue) -> Iterator[Fleets]:
    """The one kind of fleet, then the other; together about as long as a few answers take."""
    side_by_side = mixed_fleet(scenario, catalogue)
    yield Fleets(side_by_side, None, fraction=0.5)
    yield Fleets(side_by_side, prompt_routing(scenario, catalogue), fraction=1.0)


def find_fleets(scenario: Scenario, catalogue: Catalogue) -> Fleets:
    """Both kinds of fleet at once."""
    return list(search_fleets(scenario, catalogue))[-1]


def is_worth_saying(found: MixedFleet | PromptRouting | None) -> bool:
    """Whether a fleet of two types saves enough to be named beside the answer, or is all that works."""
    if found is None:
        return False
    return found.gain_fraction is None or found.gain_fraction >= _worth_saying_fraction()


@lru_cache(maxsize=1)
def _worth_saying_fraction() -> float:
    return read_yaml(DATA / "fleets.yaml")["worth_saying_fraction"]["value"]
