"""What two types of server would save is said beside the answer, the same everywhere, and only where it is worth it."""

from dataclasses import replace

import numpy as np
import pytest

from gpudash.assumptions import assume
from gpudash.brief import Brief
from gpudash.catalogue import load_catalogue
from gpudash.data_costs import egress_usd_per_month
from gpudash.evaluate import evaluate, solve
from gpudash.figures import fleets as views
from gpudash.figures.mixed_fleet import side_by_side
from gpudash.figures.money import money_of, text_for
from gpudash.fleets import find_fleets, is_worth_saying, search_fleets
from gpudash.result_json import result_json
from gpudash.scenario import Scenario
from gpudash.text import LANGUAGES

CHAT = {"workload.model": "llama-3.1-70b", "traffic.peak_requests_per_s": 20}
HELD = {"provider": "AWS", "instance_or_gpu": "p4d.24xlarge", "count": 4, "usd_per_hour": 20, "months_left": 18}


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue()


def asked(**changes) -> Scenario:
    return Scenario().with_values(CHAT | {path.replace("__", "."): value for path, value in changes.items()})


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_fleet_worth_having_is_named_beside_the_answer_and_in_the_brief_with_the_same_money(catalogue, language):
    scenario = asked(requirements__countries=["EU"])
    result, text = evaluate(scenario, catalogue), text_for(scenario, catalogue, language)
    fleet = find_fleets(scenario, catalogue).side_by_side
    (line,) = views.beside_the_answer(result, text)
    money = money_of(result, text)
    assert money(fleet.gain_usd / scenario.purchase.horizon_months) in line
    assert money(fleet.gain_usd) in side_by_side(result, text)[0]
    assert fleet.single_usd == result.recommendation.tco_usd
    brief = {part.name: part for part in Brief(result, text).parts}
    assert line in brief["would_change"].table.columns[0].values


def test_what_saves_next_to_nothing_is_said_in_detail_only(catalogue):
    scenario = asked(traffic__growth_fraction_per_month=0.04)
    result, text = evaluate(scenario, catalogue), text_for(scenario, catalogue, "en")
    fleet = find_fleets(scenario, catalogue).side_by_side
    assert 0 < fleet.gain_fraction < 0.01
    assert views.beside_the_answer(result, text) == []
    assert views.details(find_fleets(scenario, catalogue), result, text) is None
    assert money_of(result, text)(fleet.gain_usd) in side_by_side(result, text)[0]


def test_servers_bought_already_serve_beside_new_ones_of_another_type(catalogue):
    scenario = asked(purchase__contracts=[HELD])
    fleet = find_fleets(scenario, catalogue).side_by_side
    assert fleet.base.contract_servers == HELD["count"]
    assert fleet.peak.contract_servers == 0
    assert fleet.gain_usd > find_fleets(asked(), catalogue).side_by_side.gain_usd
    assert fleet.total_usd < evaluate(scenario, catalogue).cheapest.tco_usd


def test_two_types_may_keep_a_budget_that_no_single_one_keeps(catalogue):
    free = find_fleets(asked(), catalogue).side_by_side
    between_usd = (free.total_usd + free.single_usd) / 2
    scenario = asked(budget__amount=between_usd, budget__per="horizon", budget__hard=True)
    result, text = evaluate(scenario, catalogue), text_for(scenario, catalogue, "en")
    fleet = find_fleets(scenario, catalogue).side_by_side
    assert result.recommendation is None
    assert fleet.single is None
    assert fleet.total_usd <= between_usd
    assert is_worth_saying(fleet)
    assert views.beside_the_answer(result, text)


def test_a_fleet_keeps_to_the_hourly_ceiling(catalogue):
    assert find_fleets(asked(), catalogue).side_by_side is not None
    assert find_fleets(asked(budget__ceiling_usd_per_hour=30), catalogue).side_by_side is None


def test_the_search_ends_with_what_is_found_at_once_and_the_json_has_it(catalogue):
    scenario = asked(traffic__long_prompts_fraction=0.1, workload__long_context_tokens=30_000, workload__ttft_ms=8000)
    steps = list(search_fleets(scenario, catalogue))
    assert [step.fraction for step in steps] == [0.5, 1.0]
    assert steps[-1] == find_fleets(scenario, catalogue)
    result = replace(evaluate(scenario, catalogue), fleets=steps[-1])
    told = result_json(result, text_for(scenario, catalogue, "en"))["fleets"]
    assert told["side_by_side"]["gain_usd"] == steps[-1].side_by_side.gain_usd
    assert told["routed"]["short"]["compute_usd"] == steps[-1].routed.short.compute_usd


def test_each_part_pays_for_the_answers_that_it_sends_out(catalogue):
    """Recomputed: servers of both, and traffic of each at its provider's prices by its share of the work."""
    scenario = asked(storage__egress_gb_per_month=2_000, purchase__contracts=[HELD | {"months_left": 36}])
    fleet = find_fleets(scenario, catalogue).side_by_side
    solved = solve(assume(scenario, catalogue))
    known, offers = solved.known, catalogue.offers
    base, peak = (offers.row_of(part.offer) for part in (fleet.base, fleet.peak))
    per_server = solved.sized.requests_per_s[solved.shapes.of_offer[base]]
    taken = fleet.base.servers * per_server * scenario.traffic.target_utilisation_fraction
    share = np.minimum(known.load.requests_per_s, taken).sum() / known.load.requests_per_s.sum()
    assert not fleet.one_provider
    assert 0 < share < 1
    sent = sum(
        egress_usd_per_month(known, offers.provider[row], offers.country[row], part)
        for row, part in ((base, share), (peak, 1 - share))
    )
    months = scenario.purchase.horizon_months
    assert fleet.total_usd == pytest.approx(fleet.base.compute_usd + fleet.peak.compute_usd + months * sent)
