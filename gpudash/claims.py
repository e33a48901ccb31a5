"""The claims of the two source articles, each with its arithmetic and a verdict.

data/claims.csv holds what is the same in every language; the sentences are in the text topic claims
(`<id>.claim`, `<id>.assumption`).
"""

from dataclasses import dataclass
from functools import cache

from gpudash.formula import coefficient
from gpudash.published import paid_fraction, saving_fraction, slice_cost_fraction
from gpudash.result import Message
from gpudash.storage import tiers
from gpudash.tables import DATA, read_rows, read_yaml
from gpudash.text import Text

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
    """One way to read a claim's words, and the figure that it gives."""

    name: str
    value: float


@dataclass(frozen=True)
class WorkedExample:
    """A claim that depends on how its words are read; `is_factor`: the figures are factors, else shares saved."""

    claim: Claim
    readings: tuple[Reading, ...]
    is_factor: bool


@cache
def worked_examples() -> tuple[WorkedExample, ...]:
    """The examples of data/published/worked_examples.yaml, calculated by our own functions."""
    by_id = {claim.id: claim for claim in claims()}
    return tuple(
        WorkedExample(
            by_id[row["claim"]],
            tuple(
                Reading(name, _CALCULATIONS[row["calculation"]](**inputs)) for name, inputs in row["readings"].items()
            ),
            row["calculation"] == "penalty",
        )
        for row in read_yaml(DATA / "published" / "worked_examples.yaml")
    )


def _tier_saving(prices: dict[str, float], shares: dict[str, float]) -> float:
    """Share saved against everything in the first tier; one data set per tier, in the order of their speed."""
    latency_ms = {name: place for place, name in enumerate(prices, start=1)}
    return tiers(
        {
            "datasets": [
                {
                    "name": name, "size_gb": share, "reads_gb_per_month": 0, "kept_days": 365,
                    "max_latency_ms": latency_ms[name],
                }
                for name, share in shares.items()
            ],
            "tiers": [
                {
                    "name": name, "usd_per_gb_month": usd, "retrieval_usd_per_gb": 0, "min_days": 0,
                    "latency_ms": latency_ms[name],
                }
                for name, usd in prices.items()
            ],
        }
    )["saving_fraction"]  # fmt: skip


_CALCULATIONS = {
    "reserved_spot_saving": lambda **shares: saving_fraction(1, paid_fraction(**shares)),
    "slice_saving": lambda **slices: saving_fraction(1, slice_cost_fraction(**slices)),
    "tier_saving": _tier_saving,
    "penalty": lambda **utilisation: float(coefficient(**utilisation)),
}


def _section(section: str) -> Message:
    if section[0].isdigit():
        return Message.of("claims.section", number=section)
    return Message.of(f"claims.section_{section}")


def _if_written(key: str) -> Message | None:
    return Message.of(key) if Text("en").has(key) else None
