"""The claims of the two source articles, each with its arithmetic and a verdict.

data/claims.csv holds what is the same in every language; the sentences are in the text topic claims
(`<id>.claim`, `<id>.assumption`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpudash.finance import payback_months, stacked_saving_fraction
from gpudash.formula import coefficient, dynamic_cost
from gpudash.published import paid_fraction, saving_fraction, slice_cost_fraction
from gpudash.result import Message
from gpudash.tables import DATA, read_rows, read_yaml
from gpudash.text import Text
from gpudash.waits import saved_fraction

# How finely the articles print a figure: whole percents, whole months. Of rules they print none.
PRINTED_TO = {"saves": 0.01, "gains": 0.01, "months": 1}
ROUNDING = 1e-9
VERDICTS = ("reproduces", "needs_assumption", "contradicted", "cannot_be_checked")


@dataclass(frozen=True)
class Claim:
    """One checked claim.

    `assumption` is what has to be added before the claim comes out, or why it cannot; None if nothing need be said.
    `arithmetic` is empty where nothing can be calculated. `checked_against` names the source of the check.
    """

    id: str
    article: str
    section: Message
    claim: Message
    arithmetic: str
    verdict: str
    assumption: Message | None
    checked_against: str


@cache
def claims() -> tuple[Claim, ...]:
    """All claims in the order of the articles."""
    return tuple(
        Claim(
            id=row["id"],
            article=row["article"],
            section=_section(row["section"]),
            claim=Message.of(f"claims.{row['id']}.claim"),
            arithmetic=row["arithmetic"],
            verdict=row["verdict"],
            assumption=_if_written(f"claims.{row['id']}.assumption"),
            checked_against=row["checked_against"],
        )
        for row in read_rows(DATA / "claims.csv")
    )


@dataclass(frozen=True)
class Reading:
    """One way to read a claim's words: the numbers that it puts in, and the figure that it gives."""

    name: str
    inputs: Mapping[str, float | bool]
    value: float


@dataclass(frozen=True)
class WorkedExample:
    """A claim that depends on how its words are read, with the sum behind it.

    `figure` is what comes out: saves and gains (shares), times (a factor), costs (money), months. `article_gives` is
    the printed figure, None for a rule. `bounds` say how far each number may be moved; a switch has none.
    """

    claim: Claim
    calculation: str
    figure: str
    article_gives: float | None
    bounds: Mapping[str, tuple[float, float] | None]
    readings: tuple[Reading, ...]

    def value(self, inputs: Mapping[str, float | bool]) -> float:
        """The figure for any numbers."""
        return float(_CALCULATIONS[self.calculation](**inputs))

    def verdict(self, value: float) -> str | None:
        """Whether a figure is the printed one, as it is rounded there; None where nothing is printed."""
        if self.article_gives is None:
            return None
        near = PRINTED_TO[self.figure] / 2 + ROUNDING
        return "reproduces" if abs(value - self.article_gives) <= near else "contradicted"


@cache
def worked_examples() -> tuple[WorkedExample, ...]:
    """The examples of data/published/worked_examples.yaml, calculated by our own functions."""
    by_id = {claim.id: claim for claim in claims()}
    return tuple(_example(by_id[row["claim"]], row) for row in read_yaml(DATA / "published" / "worked_examples.yaml"))


def _example(claim: Claim, row: dict) -> WorkedExample:
    bounds = {name: (limits["low"], limits["high"]) if limits else None for name, limits in row["inputs"].items()}
    calculate = _CALCULATIONS[row["calculation"]]
    readings = (Reading(name, inputs, float(calculate(**inputs))) for name, inputs in row["readings"].items())
    return WorkedExample(claim, row["calculation"], row["figure"], row["article_gives"], bounds, tuple(readings))


def _reserved_spot_saving(reserved_share_fraction, reserved_pays_fraction, spot_pays_fraction):
    """What is not reserved runs on spot."""
    spot_share = 1 - reserved_share_fraction
    return saving_fraction(
        1, paid_fraction(reserved_share_fraction, reserved_pays_fraction, spot_share, spot_pays_fraction)
    )


def _tier_saving(
    hot_share_fraction, warm_share_of_rest_fraction, hot_usd_per_gb_month, warm_usd_per_gb_month, cold_usd_per_gb_month
):
    """Share saved against everything in the hot tier; what is neither hot nor warm is cold."""
    rest = 1 - hot_share_fraction
    warm = rest * warm_share_of_rest_fraction
    paid_usd = (
        hot_share_fraction * hot_usd_per_gb_month + warm * warm_usd_per_gb_month + (rest - warm) * cold_usd_per_gb_month
    )
    return saving_fraction(hot_usd_per_gb_month, paid_usd)


def _exposed_wait(step_ms, before_ms, left_fraction, as_more_work):
    """What a wait that shrinks to a share of itself brings: less time for the same work, or more work in the time."""
    saved = saved_fraction(step_ms, before_ms, before_ms * left_fraction)
    return saved / (1 - saved) if as_more_work else saved


_CALCULATIONS = {
    "reserved_spot_saving": _reserved_spot_saving,
    "slice_saving": lambda **slices: saving_fraction(1, slice_cost_fraction(**slices)),
    "epoch_saving": lambda price_ratio, speed_ratio: saving_fraction(speed_ratio, price_ratio),
    "tier_saving": _tier_saving,
    "penalty": coefficient,
    "dynamic_cost": lambda **inputs: dynamic_cost(**inputs)["total"],
    "exposed_wait": _exposed_wait,
    "payback": lambda **thousands: payback_months(*thousands.values()),
    "stacked_saving": lambda **shares: stacked_saving_fraction(*shares.values()),
}


def _section(section: str) -> Message:
    if section[0].isdigit():
        return Message.of("claims.section", number=section)
    return Message.of(f"claims.section_{section}")


def _if_written(key: str) -> Message | None:
    return Message.of(key) if Text("en").has(key) else None
