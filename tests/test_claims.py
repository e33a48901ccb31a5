"""The audit of the articles: complete, in both languages, and its arithmetic comes out."""

import ast
import operator
import re
from collections import Counter

import pytest

from gpudash.claims import VERDICTS, claims
from gpudash.text import LANGUAGES, Text

OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
SUM = re.compile(r"(?:.*: )?([\d.,()+−×/ %]+?)(?: [A-Z][A-Za-z/]*)? (?:=|≈) ([\d.,]+)( %)?(?: [A-Za-z][A-Za-z/]*)?")


def calculated(sum_: str) -> float:
    def value(node):
        if isinstance(node, ast.BinOp):
            return OPERATIONS[type(node.op)](value(node.left), value(node.right))
        return node.value

    plain = re.sub(r"([\d.]+) %", r"(\1/100)", sum_.replace(",", "").replace("−", "-").replace("×", "*"))
    return value(ast.parse(plain.strip(), mode="eval").body)


def sums():
    """Every equation of plain numbers in the audit: claim, left side, right side as printed, is it percent."""
    for claim in claims():
        for part in claim.arithmetic.split("; "):
            if found := SUM.fullmatch(part):
                yield pytest.param(*found.groups(), id=f"{claim.id}: {part}")


@pytest.mark.parametrize(("left", "right", "percent"), list(sums()))
def test_the_arithmetic_of_a_claim_comes_out_to_the_digits_printed(left, right, percent):
    digits = len(right.partition(".")[2])
    printed = float(right.replace(",", ""))
    expected = calculated(left) * (100 if percent else 1)
    assert expected == pytest.approx(printed, abs=0.501 * 10**-digits)


def test_most_calculable_claims_are_recalculated_here():
    assert len(list(sums())) >= 60


def test_every_claim_of_both_articles_is_there_once():
    ids = [claim.id for claim in claims()]
    assert ids == [f"S1-{n:02}" for n in range(1, 41)] + [f"S2-{n:02}" for n in range(1, 77)]
    assert {claim.article for claim in claims()} == {"000", "004"}


def test_the_verdicts_are_counted_as_audited():
    count = Counter((claim.article, claim.verdict) for claim in claims())
    assert [count["000", verdict] for verdict in VERDICTS] == [12, 9, 12, 7]
    assert [count["004", verdict] for verdict in VERDICTS] == [12, 23, 18, 23]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_claim_reads_in_both_languages(language):
    text = Text(language)
    for claim in claims():
        assert text.say(claim.claim) and text.say(claim.section) and text.has(f"claims.verdict_{claim.verdict}")
        assert claim.assumption is None or text.say(claim.assumption)
        assert text.has(f"claims.title_article_{claim.article}")


def test_a_claim_that_does_not_simply_reproduce_says_what_is_missing_or_wrong():
    assert all(claim.assumption for claim in claims() if claim.verdict != "reproduces")
