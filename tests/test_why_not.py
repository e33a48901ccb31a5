"""Why the answer is not another GPU: its best is set beside the answer, or what its offers fell for is said."""

import pytest

from gpudash import Scenario, evaluate, load_catalogue
from gpudash.text import LANGUAGES, Text
from gpudash.why_not import why_not

CATALOGUE = load_catalogue()
QUESTION = {"workload.model": "llama-2-13b", "traffic.peak_requests_per_s": 5, "budget.amount": 2000}
RESULT = evaluate(Scenario().with_values(QUESTION), CATALOGUE)


def said(gpu, result=RESULT):
    return {message.code: dict(message.values) for message in why_not(result, gpu)}


def test_the_best_of_another_gpu_is_what_the_same_question_gives_with_that_gpu_alone():
    alone = evaluate(Scenario().with_values(QUESTION | {"requirements.gpus_in": "H100 SXM"}), CATALOGUE)
    best = alone.leading
    found = said("H100 SXM")
    assert found["why_not.best"]["offer"] == best.id
    difference = best.monthly_usd - RESULT.recommendation.monthly_usd
    assert found["why_not.dearer"]["usd"] == pytest.approx(difference)
    assert found["why_not.dearer"]["share"] == pytest.approx(difference / RESULT.recommendation.monthly_usd)


def test_a_gpu_that_cannot_do_the_work_is_answered_with_what_most_of_its_offers_fell_for():
    large = evaluate(Scenario().with_value("workload.model", "llama-3.1-70b"), CATALOGUE)
    messages = why_not(large, "T4")
    assert messages[0].code == "why_not.none"
    counts = [dict(message.values)["count"] for message in messages[1:]]
    assert counts == sorted(counts, reverse=True)
    assert 0 < sum(counts) <= dict(messages[0].values)["count"]


def test_the_gpu_of_the_answer_is_said_to_be_it():
    assert list(said(RESULT.recommendation.gpu)) == ["why_not.it_is"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("gpu", ["H100 SXM", "T4", "Gaudi2"])
def test_it_can_be_read_in_both_languages(gpu, language):
    assert all(Text(language).say(message) for message in why_not(RESULT, gpu))
