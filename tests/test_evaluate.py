"""The main job, end to end: from model, budget and traffic to a recommendation."""

import json
import math
from itertools import pairwise

import pytest

from gpudash.catalogue import load_catalogue
from gpudash.errors import GpudashError
from gpudash.evaluate import evaluate
from gpudash.lower_precision import lower_precision
from gpudash.mixed_fleet import mixed_fleet
from gpudash.result_json import result_json
from gpudash.scenario import Scenario
from gpudash.tables import DATA, read_yaml
from gpudash.text import Text

STARTING_POINTS = sorted(path.stem for path in (DATA / "scenarios").glob("*.yaml"))


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue()


def run(catalogue, **groups):
    return evaluate(Scenario.read(groups), catalogue)


def starting_point(name: str) -> Scenario:
    return Scenario.read(read_yaml(DATA / "scenarios" / f"{name}.yaml"))


CHAT_70B_EU = {
    "workload": {"model": "llama-3.1-70b", "context_tokens": 1000, "output_tokens": 300},
    "traffic": {"peak_requests_per_s": 20, "shape": "office_hours"},
    "requirements": {"countries": ["EU"]},
    "budget": {"amount": 60_000},
}


@pytest.fixture(scope="module")
def chat_70b_eu(catalogue):
    return run(catalogue, **CHAT_70B_EU)


def test_the_question_that_takes_six_tools_is_answered_in_one_call(chat_70b_eu, catalogue):
    winner = chat_70b_eu.recommendation
    assert winner.country in catalogue.country_groups["EU"]
    assert winner.gpu in ("B200", "H200 SXM", "B300", "H100 SXM")
    assert 7_000 <= winner.monthly_usd <= 21_000  # a rough independent estimate for 8-bit weights on H200 or B200
    assert winner.tpot_ms <= 50
    assert winner.within_budget


def test_the_night_hours_are_not_paid_for(chat_70b_eu):
    servers = chat_70b_eu.demand.servers[0]
    assert servers.min() < servers.max() / 2
    hours = sum(winner_hours for winner_hours in chat_70b_eu.purchase_mix.served_hours.values()).sum()
    assert hours < 0.6 * servers.max() * 36 * 730


def test_the_total_is_the_sum_of_the_months_and_of_the_kinds(chat_70b_eu):
    for bill in chat_70b_eu.tco:
        assert bill.total_usd == pytest.approx(math.fsum(month.total_usd for month in bill.months), rel=1e-12)
        for month in bill.months:
            kinds = [value for name, value in vars(month).items() if name not in ("month", "total_usd")]
            assert month.total_usd == pytest.approx(math.fsum(kinds), rel=1e-12, abs=1e-9)
    winner = chat_70b_eu.recommendation
    assert chat_70b_eu.tco[0].total_usd == pytest.approx(winner.tco_usd, rel=1e-12)
    assert winner.monthly_usd == winner.tco_usd / 36


def test_alternatives_are_ranked_and_nothing_cheaper_hides(chat_70b_eu):
    scores = [choice.score for choice in chat_70b_eu.alternatives]
    assert scores == sorted(scores, reverse=True)
    assert chat_70b_eu.alternatives[0] == chat_70b_eu.recommendation
    assert chat_70b_eu.cheapest.tco_usd <= min(choice.tco_usd for choice in chat_70b_eu.alternatives)


def test_every_offer_is_either_a_candidate_or_rejected_with_a_reason(chat_70b_eu, catalogue):
    path = chat_70b_eu.path["gpudash"].steps
    assert path[0].candidates_before == len(catalogue.offers)
    for before, after in pairwise(path):
        assert before.candidates_left == after.candidates_before
    rejected = set(chat_70b_eu.rejected.offer_rows.tolist())
    affordable = next(step for step in path if step.node == "budget").candidates_left
    assert len(rejected) + affordable == len(catalogue.offers)
    text = Text("en")
    assert all(text.say(reason) for reason in chat_70b_eu.rejected.reasons)


def test_a_budget_that_nothing_meets_names_the_cheapest_and_the_gap(catalogue, chat_70b_eu):
    result = run(catalogue, **CHAT_70B_EU | {"budget": {"amount": 5_000}})
    assert result.recommendation is None
    assert result.cheapest.tco_usd == chat_70b_eu.cheapest.tco_usd
    assert result.gap_usd_per_month == pytest.approx(result.cheapest.monthly_usd - 5_000)
    assert any(message.code == "warnings.budget_short" for message in result.warnings)


def test_a_soft_budget_refuses_nobody_but_is_said(catalogue):
    result = run(catalogue, **CHAT_70B_EU | {"budget": {"amount": 5_000, "hard": False}})
    assert not result.recommendation.within_budget
    assert any(message.code == "warnings.over_soft_budget" for message in result.warnings)


def test_an_impossible_wish_is_an_answer(catalogue):
    result = run(catalogue, workload={"model": "llama-3.1-405b", "tpot_ms": 0.1})
    assert result.recommendation is None
    assert result.cheapest is None
    assert [message.code for message in result.warnings] == ["warnings.nothing_feasible"]
    assert len(result.rejected.offer_rows) == len(catalogue.offers)


def test_an_8b_model_does_not_get_an_h100_server(catalogue):
    winner = run(catalogue, workload={"model": "llama-3.1-8b"}).recommendation
    assert winner.gpu not in ("H100 SXM", "H200 SXM", "B200", "B300", "GB200", "GB300")


def test_a_405b_model_in_16_bit_does_not_fit_on_eight_80_gb_cards(catalogue):
    shapes = run(catalogue, workload={"model": "llama-3.1-405b", "weight_precision": "bf16"}).sizing.shapes
    eight_h100 = next(shape for shape in shapes if (shape.gpu, shape.gpus_per_server) == ("H100 SXM", 8))
    assert eight_h100.verdict == "does_not_fit"
    assert eight_h100.because.code == "sizing.does_not_fit"


@pytest.mark.parametrize("name", STARTING_POINTS)
def test_spot_is_never_chosen_for_what_may_not_be_interrupted(catalogue, name):
    scenario = starting_point(name)
    for choice in evaluate(scenario, catalogue).alternatives:
        if scenario.purchase.spot_fraction == 0:
            assert choice.purchase_split.get("spot", 0) == 0


@pytest.mark.parametrize("name", STARTING_POINTS)
def test_every_starting_point_has_an_answer_in_both_languages(catalogue, name):
    result = evaluate(starting_point(name), catalogue)
    assert result.recommendation is not None
    for language in ("en", "zh"):
        text = Text(language)
        assert all(text.say(reason) for reason in result.recommendation.reasons)
        assert all(text.say(warning) for warning in result.warnings)
        json.dumps(result_json(result, text), allow_nan=False)


def test_data_of_a_bank_in_china_stays_in_china(catalogue):
    result = evaluate(starting_point("bank-in-china"), catalogue)
    assert {choice.country for choice in result.alternatives} == {"CN"}


def test_a_pre_training_run_uses_servers_with_a_cluster_network(catalogue):
    result = evaluate(starting_point("pretrain-13b"), catalogue)
    for choice in result.alternatives:
        assert choice.servers == 1 or choice.gpus_per_server >= 8
        assert choice.run_hours <= 60 * 24


def test_a_lower_precision_is_offered_with_its_saving_but_not_chosen(chat_70b_eu):
    assert chat_70b_eu.sizing.weight_precision == "bf16"
    assert {offer.weight_precision for offer in lower_precision(chat_70b_eu)} >= {"fp8"}
    for offer in lower_precision(chat_70b_eu):
        saving = chat_70b_eu.recommendation.monthly_usd - offer.choice.monthly_usd
        assert offer.saving_usd_per_month == pytest.approx(saving)
        assert saving > 0


def test_fp8_is_not_offered_on_cards_that_cannot_run_it(catalogue):
    result = run(catalogue, workload={"model": "llama-3.1-70b", "weight_precision": "fp8"})
    assert not {choice.gpu for choice in result.alternatives} & {"V100-16GB", "V100-32GB", "T4", "P100", "P40"}


def test_the_same_scenario_always_gives_the_same_answer(catalogue, chat_70b_eu):
    again = run(catalogue, **CHAT_70B_EU)
    text = Text("en")
    assert result_json(again, text) == result_json(chat_70b_eu, text)


def test_a_negotiated_discount_is_taken_off_once(catalogue):
    before = run(catalogue, **CHAT_70B_EU | {"requirements": {"countries": ["EU"], "providers_in": ["Verda"]}})
    discounted = CHAT_70B_EU | {
        "requirements": {"countries": ["EU"], "providers_in": ["Verda"]},
        "purchase": {"negotiated_discounts": {"Verda": 0.1}},
    }
    after = run(catalogue, **discounted)
    assert after.recommendation.tco_usd == pytest.approx(0.9 * before.recommendation.tco_usd)


def test_what_is_not_modelled_is_refused_with_a_sentence(catalogue):
    with pytest.raises(GpudashError) as refused:
        run(catalogue, workload={"model": "sdxl"})
    assert "not modelled" in str(refused.value)


@pytest.mark.parametrize(
    ("amount", "share", "last"),
    [(1e9, 0.3, None), (9_000, 0.3, None), (9_000, 1.0, 60), (9_000, 0.0, 5), (1e9, 0.3, 5), (1e9, 1.0, 1)],
)
def test_a_voucher_pays_its_share_of_every_bill_until_it_is_used_up_or_ends(catalogue, amount, share, last):
    plain = run(catalogue, **CHAT_70B_EU)
    finance = {"credit_usd": amount, "credit_share_fraction": share, "credit_until_month": last}
    paid = run(catalogue, **CHAT_70B_EU | {"finance": finance})
    full, reduced = plain.tco[0], next(bill for bill in paid.tco if bill.choice_id == plain.tco[0].choice_id)
    credits = [-month.credit_usd for month in reduced.months]
    billed = sum(month.total_usd for month in full.months[:last])
    assert sum(credits) == pytest.approx(min(amount, share * billed))
    assert not any(credits[last:] if last else ())
    for credit, before in zip(credits, full.months):
        assert credit <= share * before.total_usd + 1e-6
    assert reduced.total_usd == pytest.approx(full.total_usd - sum(credits))


def test_credits_never_pay_more_than_the_bill_though_a_term_that_they_paid_is_sold_again(catalogue):
    """Terms paid up front by credits of three months, the rest of them sold in month 13: no cost is negative."""
    finance = {"credit_usd": 1e6, "credit_until_month": 3}
    terms = {"horizon_months": 13, "upfront_fraction": 1, "resale_fraction": 1}
    asked = {"traffic": {"peak_requests_per_s": 80, "shape": "flat"}, "purchase": terms, "finance": finance}
    result = run(catalogue, **asked)
    assert min(choice.tco_usd for choice in result.alternatives) >= 0
    for bill in result.tco:
        assert sum(month.total_usd for month in bill.months) == pytest.approx(bill.total_usd, abs=1e-6)
        assert bill.total_usd >= 0
    pair = mixed_fleet(result.scenario, catalogue)
    assert pair.total_usd == pytest.approx(pair.single_usd, abs=1e-6) == pytest.approx(0, abs=1e-6)


def test_what_is_left_of_a_term_can_be_sold_in_the_last_month(catalogue):
    asked = {"workload.model": "llama-3.1-70b", "requirements.providers_in": ("AWS",), "purchase.horizon_months": 30}
    kept, sold = (
        evaluate(Scenario().with_values(asked | {"purchase.resale_fraction": share}), catalogue) for share in (0.0, 0.6)
    )
    last = sold.tco[0].months[-1]
    assert last.resale_usd == pytest.approx(-0.6 * sum(sold.purchase_mix.beyond_horizon_usd.values()))
    assert last.resale_usd < 0 and all(month.resale_usd == 0 for month in sold.tco[0].months[:-1])
    assert sold.cheapest.tco_usd < kept.cheapest.tco_usd


def test_a_target_utilisation_of_one_is_lowered_to_what_the_queue_allows(catalogue):
    asked = Scenario().with_values({"traffic.target_utilisation_fraction": 1.0})
    winner = evaluate(asked, catalogue).recommendation
    assert 0.5 < winner.utilisation_fraction < 1
    assert "reasons.kept_quiet" in [message.code for message in winner.reasons]


def test_a_run_on_several_servers_near_its_deadline_says_what_could_go_wrong(catalogue):
    pretraining = {
        "workload.kind": "training", "workload.model": "llama-3.1-70b",
        "workload.training_tokens_b": 1000, "workload.deadline_days": 90,
    }  # fmt: skip
    result = evaluate(Scenario().with_values(pretraining), catalogue)
    said = {message.code: dict(message.values) for message in result.warnings}
    winner = result.recommendation
    assert said["warnings.network_assumed"]["servers"] == winner.servers > 1
    assert said["warnings.deadline_in_band"]["slow"] == pytest.approx(winner.run_hours / winner.speed_low)
    assert winner.run_hours <= said["warnings.deadline_in_band"]["target"] == 90 * 24
    patient = evaluate(Scenario().with_values(pretraining | {"workload.deadline_days": 3650}), catalogue)
    assert "warnings.deadline_in_band" not in [message.code for message in patient.warnings]


@pytest.mark.parametrize("name", ["nightly-embedding", "chat-70b-around-the-clock"])
def test_a_lower_precision_is_offered_at_the_least_cost_there_is(catalogue, name):
    scenario = starting_point(name)
    for offer in lower_precision(evaluate(scenario, catalogue)):
        in_full = evaluate(scenario.with_value("workload.weight_precision", offer.weight_precision), catalogue)
        assert offer.choice.tco_usd == pytest.approx(in_full.cheapest.tco_usd, rel=1e-12)


def test_the_fastest_is_one_that_may_be_bought(catalogue):
    """A start-up with 3,000 USD a month is not shown eight of the newest cards for 50,000."""
    result = evaluate(starting_point("startup-3000-usd"), catalogue)
    assert result.fastest.within_budget
    assert result.fastest.monthly_usd <= 3000
    too_little = run(catalogue, budget={"amount": 1})
    assert too_little.recommendation is None
    assert too_little.fastest is not None
