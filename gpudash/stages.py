"""The stages of one calculation: how long each took, and which of those that may be missing failed."""

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import TypeVar

from gpudash.errors import GpudashError
from gpudash.result import Message

Made = TypeVar("Made")
_MISSING = "stages.missing"


class Stages:
    """Runs the stages of one `evaluate`.

    `seconds` holds the duration of each stage. `failures` holds what an optional stage raised: a fault of the program,
    which costs its part of the Result and nothing else. A mistake of the user (GpudashError) is never a failure.
    """

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self.failures: dict[str, Exception] = {}

    def required(self, stage: str, make: Callable[..., Made], *arguments) -> Made:
        """What `make` returns; without it there is no answer, so whatever it raises goes on to the caller."""
        began = perf_counter()
        try:
            return make(*arguments)
        finally:
            self.seconds[stage] = perf_counter() - began

    def optional(self, stage: str, otherwise: Made, make: Callable[..., Made], *arguments) -> Made:
        """What `make` returns, or `otherwise` if the program fails in it: the rest of the answer stands without it."""
        try:
            return self.required(stage, make, *arguments)
        except GpudashError:
            raise
        except Exception as error:
            self.failures[stage] = error
            return otherwise

    def missing(self) -> tuple[Message, ...]:
        """What the answer lacks, one warning for each failure."""
        return tuple(
            Message.of(_MISSING, part=Message.of(f"stages.{stage}"), error=type(error).__name__)
            for stage, error in self.failures.items()
        )


def missing_parts(warnings: Iterable[Message]) -> list[Message]:
    """Those of an answer's warnings that say what it lacks because the program failed."""
    return [warning for warning in warnings if warning.code == _MISSING]
