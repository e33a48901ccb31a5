"""How fast a fleet answers at the load it really gets, beside what a full server does."""

import numpy as np
import pytest

from gpudash import Scenario, evaluate, load_catalogue
from gpudash.at_load import requests_found

CATALOGUE = load_catalogue()
SERVING = {"workload": {"model": "llama-3.1-70b"}, "traffic": {"peak_requests_per_s": 20}}


def answered(**changes):
    groups = {name: {**SERVING.get(name, {}), **changes.get(name, {})} for name in SERVING | changes}
    return evaluate(Scenario.read(groups), CATALOGUE).recommendation


def stationary_mean(first_s: float, more_s: float, arrivals_per_s: float) -> float:
    """Mean number in a birth-death chain: one of n requests ends every (first + more × n) / n seconds."""
    numbers = np.arange(1, 2000)
    logs = np.cumsum(np.log(arrivals_per_s * (first_s + more_s * numbers) / numbers))
    weights = np.exp(np.concatenate(([0.0], logs)) - max(logs.max(), 0.0))
    return float((np.arange(2000) * weights).sum() / weights.sum())


@pytest.mark.parametrize("arrivals_per_s", [0.1, 1.0, 4.0, 9.0])
def test_the_number_of_requests_is_that_of_a_server_shared_by_all_who_wait(arrivals_per_s):
    first_s, more_s, numbers = 2.0, 0.1, np.geomspace(1, 600, 32)[None, :] - 1
    found = requests_found(numbers, first_s + more_s * (numbers + 1), np.array([[arrivals_per_s]]))
    assert found[0, 0] == pytest.approx(stationary_mean(first_s, more_s, arrivals_per_s), rel=1e-6)


def test_no_more_requests_run_together_than_there_are_places():
    numbers = np.geomspace(1, 9, 32)[None, :] - 1
    assert requests_found(numbers, 1 + numbers, np.array([[0.0, 50.0]])).tolist() == [[0.0, 8.0]]


def test_a_fleet_with_room_answers_faster_than_a_full_server_and_faster_still_on_average():
    winner = answered()
    full, busiest, mean = winner.tpot_ms, winner.at_peak, winner.at_mean
    assert mean.tpot_ms < busiest.tpot_ms < 0.95 * full
    assert mean.ttft_ms <= busiest.ttft_ms <= winner.ttft_ms
    assert 1 < mean.batch_size < busiest.batch_size < winner.batch_size
    target = Scenario().traffic.target_utilisation_fraction
    assert mean.utilisation_fraction < busiest.utilisation_fraction <= target + 1e-9


def test_requests_at_once_are_arrivals_times_the_time_of_one():
    winner = answered()
    busiest, work = winner.at_peak, winner.replicas_per_server
    residence_s = Scenario.read(SERVING).workload.output_tokens * busiest.tpot_ms / 1000
    others = busiest.requests_per_s / work * residence_s  # without the short prefill of its own
    assert busiest.batch_size - 1 == pytest.approx(others, rel=0.05)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "gemma-3-27b"])
def test_the_more_a_server_gets_the_slower_it_answers(model):
    def busiest(requests_per_s: float):
        scenario = {"workload": {"model": model}, "traffic": {"peak_requests_per_s": requests_per_s}}
        shapes = evaluate(Scenario.read(scenario), CATALOGUE).sizing.shapes
        return [shape.at_peak for shape in shapes]

    pairs = [(one, other) for one, other in zip(busiest(0.5), busiest(0.8)) if one]
    pairs = [sorted(pair, key=lambda at: at.requests_per_s) for pair in pairs]
    assert len(pairs) > 10
    assert all(less.tpot_ms <= more.tpot_ms and less.ttft_ms <= more.ttft_ms for less, more in pairs)


def test_a_server_with_next_to_nothing_to_do_works_on_one_request_at_a_time():
    lonely = answered(traffic={"peak_requests_per_s": 0.001}, requirements={"gpus_in": ["B200"]})
    assert lonely.at_peak.batch_size == pytest.approx(1, abs=0.05)
    assert lonely.at_peak.tpot_ms < lonely.tpot_ms


def test_slow_cards_are_slower_in_the_busiest_hour_than_in_proportion():
    winner = answered()
    slow = winner.slow_at_peak
    assert slow.batch_size > winner.at_peak.batch_size
    assert slow.tpot_ms >= winner.at_peak.tpot_ms / winner.speed_low * (1 - 1e-9)


def test_a_band_whose_slow_end_cannot_keep_up_is_said():
    result = evaluate(Scenario.read(SERVING), CATALOGUE)
    slow = result.recommendation.slow_at_peak
    said = {message.code for message in result.warnings}
    assert (slow.ttft_ms is None) == ("warnings.overload_in_band" in said)
    assert (slow.utilisation_fraction >= 1) == (slow.ttft_ms is None)


def test_work_that_nobody_waits_for_has_no_answer_times():
    assert answered(workload={"kind": "batch"}).at_peak is None
    training = {"kind": "fine_tuning", "model": "llama-3.1-8b", "training_method": "lora", "training_tokens_b": 0.1}
    assert answered(workload=training).at_peak is None


def test_the_curve_by_load_goes_through_the_busiest_hour_and_its_band_lies_around_it():
    result = evaluate(Scenario.read(SERVING), CATALOGUE)
    curve, busiest = result.sizing.by_load, result.recommendation.at_peak
    at = np.interp(busiest.requests_per_s, curve.requests_per_s[1], curve.tpot_ms[1])
    assert at == pytest.approx(busiest.tpot_ms, rel=0.01)
    assert (curve.tpot_ms[0] >= curve.tpot_ms[1]).all() and (curve.tpot_ms[1] >= curve.tpot_ms[2]).all()


def test_bands_of_80_and_95_percent_lie_inside_and_outside_that_of_90():
    winner = answered()
    (low_80, high_80), (low_90, high_90), (low_95, high_95) = winner.speed_bands.values()
    assert (low_90, high_90) == pytest.approx((winner.speed_low, winner.speed_high))
    assert low_95 < low_90 < low_80 < 1 < high_80 < high_90 < high_95
    assert np.log(high_95) / np.log(high_80) == pytest.approx(1.959964 / 1.281552, rel=1e-6)
