"""The claims of the two source articles, each with its arithmetic and a verdict.

data/claims.csv holds what is the same in every language; the sentences are in the text topic claims
(`<id>.claim`, `<id>.assumption`).
"""

from dataclasses import dataclass
from functools import cache

from gpudash.result import Message
from gpudash.tables import DATA, read_rows
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


def _section(section: str) -> Message:
    if section[0].isdigit():
        return Message.of("claims.section", number=section)
    return Message.of(f"claims.section_{section}")


def _if_written(key: str) -> Message | None:
    return Message.of(key) if Text("en").has(key) else None
