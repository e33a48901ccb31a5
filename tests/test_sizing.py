"""Layouts: what one server of each shape can do within the targets."""

from dataclasses import fields

import numpy as np
import pytest

from gpudash.assumptions import assume
from gpudash.catalogue import load_catalogue
from gpudash.queueing import highest_utilisation, queue_wait_s
from gpudash.scenario import Scenario
from gpudash.sizing import Shapes, size, size_anew
from gpudash.tables import DATA, read_yaml


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue()


@pytest.fixture(scope="module")
def shapes(catalogue):
    return Shapes.of(catalogue.offers)


def sized(catalogue, shapes, traffic=None, **workload):
    return size(assume(Scenario.read({"workload": workload, "traffic": traffic or {}}), catalogue), shapes)


def shape_of(catalogue, shapes, gpu: str, gpus: int) -> int:
    row = catalogue.hardware.index(gpu)
    return int(np.flatnonzero((shapes.gpu_row == row) & (shapes.gpus_per_server == gpus))[0])


def test_every_offer_has_its_shape(catalogue, shapes):
    assert (shapes.gpu_row[shapes.of_offer] == catalogue.offers.gpu_row).all()
    assert (shapes.gpus_per_server[shapes.of_offer] == catalogue.offers.gpus_per_server).all()


def test_a_looser_target_never_serves_less(catalogue, shapes):
    tight, loose = (sized(catalogue, shapes, model="llama-3.1-8b", tpot_ms=ms) for ms in (30, 60))
    both = tight.meets_targets & loose.meets_targets
    assert both.sum() > 20
    assert (loose.requests_per_s[both] >= tight.requests_per_s[both] - 1e-12).all()
    assert not (tight.meets_targets & ~loose.meets_targets).any()


def test_a_looser_wait_never_serves_less_where_the_queue_decides_either(catalogue, shapes):
    served = [
        np.nan_to_num(sized(catalogue, shapes, model="llama-3.1-70b", context_tokens=32_000, ttft_ms=ms).requests_per_s)
        for ms in (1000, 1500, 2000, 3000, 5000, 8000)
    ]
    assert (np.diff(served, axis=0) >= -1e-12).all()
    assert (served[0] > 0).any()


def test_chosen_layouts_meet_the_targets_they_are_chosen_for(catalogue, shapes):
    found = sized(catalogue, shapes, model="llama-3.1-70b", tpot_ms=40, ttft_ms=800)
    works = found.meets_targets
    assert works.any()
    assert (found.tpot_ms[works] <= 40).all()
    assert (found.ttft_ms[works] <= 800).all()
    assert (found.replicas_per_server * found.tensor_parallel <= shapes.gpus_per_server)[works].all()


def test_a_batch_job_knows_no_latency(catalogue, shapes):
    served = sized(catalogue, shapes, model="llama-3.1-70b", tpot_ms=1)
    batch = sized(catalogue, shapes, model="llama-3.1-70b", kind="batch", tpot_ms=1)
    assert not served.meets_targets.any()
    assert batch.meets_targets.any()


def test_a_70b_model_in_16_bit_needs_two_80_gb_cards(catalogue, shapes):
    found = sized(catalogue, shapes, model="llama-3.1-70b")
    one, two = (shape_of(catalogue, shapes, "H100 SXM", gpus) for gpus in (1, 2))
    assert not found.holds[one]
    assert found.because[one].code == "sizing.does_not_fit"
    assert found.holds[two]


def test_a_card_without_published_figures_is_refused_and_not_guessed(catalogue, shapes):
    found = sized(catalogue, shapes, model="qwen2.5-7b")
    blank = np.isnan(catalogue.hardware.bandwidth_gb_per_s[shapes.gpu_row])
    assert not found.meets_targets[blank].any()
    assert {message.code for message, is_blank in zip(found.because, blank) if is_blank and message} <= {
        "sizing.no_figures",
        "sizing.does_not_fit",
        "sizing.no_room_for_a_request",
    }


def test_training_takes_the_fewest_servers_that_finish_in_time(catalogue, shapes):
    run = {"kind": "training", "model": "llama-2-13b", "training_tokens_b": 300, "sequence_tokens": 4096}
    month, two_months = (sized(catalogue, shapes, traffic={"runs": 1}, deadline_days=days, **run) for days in (30, 60))
    eight_h100 = shape_of(catalogue, shapes, "H100 SXM", 8)
    assert month.servers_per_run[eight_h100] > two_months.servers_per_run[eight_h100] >= 1
    assert month.run_hours[eight_h100] <= 30 * 24
    assert two_months.run_hours[eight_h100] <= 60 * 24


def test_image_services_are_sized_from_measurements_of_the_very_card(catalogue, shapes):
    found = sized(catalogue, shapes, model="resnet-50", weight_precision="int8", output_tokens=0, tpot_ms=None)
    t4 = shape_of(catalogue, shapes, "T4", 1)
    assert 1_000 < found.requests_per_s[t4] < 10_000  # MLPerf inference ResNet-50 on T4: about 5,000 images/s
    unmeasured = [message.code for message in found.because if message]
    assert "sizing.not_measured" in unmeasured


def test_waiting_grows_with_use_and_shrinks_with_places():
    assert queue_wait_s(8, 1.0, 0.9) > queue_wait_s(8, 1.0, 0.5) > 0
    assert queue_wait_s(64, 1.0, 0.9) < queue_wait_s(8, 1.0, 0.9)
    assert np.isinf(queue_wait_s(8, 1.0, 1.0)).all()


def test_one_place_waits_as_long_as_theory_says():
    """M/M/1: mean wait = u / (1 - u) x service time; the approximation is exact there."""
    assert queue_wait_s(1, 2.0, 0.5) == pytest.approx(2.0)
    assert queue_wait_s(1, 1.0, 0.8) == pytest.approx(4.0)


def test_the_highest_utilisation_is_where_the_wait_is_as_long_as_allowed():
    slots, wait_s = np.array([1, 8, 64]), np.array([0.5, 0.1, 0.01])
    found = highest_utilisation(slots, 1.0, wait_s, 1.0)
    assert queue_wait_s(slots, 1.0, found) == pytest.approx(wait_s, rel=1e-6)
    assert highest_utilisation(slots, 1.0, wait_s, 0.05) == pytest.approx(np.full(3, 0.05))
    assert highest_utilisation(np.array([1]), 1.0, np.array([0.0]), 0.7) == 0


def test_a_server_that_only_the_queue_would_slow_is_kept_less_busy_instead_of_refused(catalogue, shapes):
    long = {"model": "llama-3.1-70b", "context_tokens": 32_000}
    found, patient = sized(catalogue, shapes, **long), sized(catalogue, shapes, **long, ttft_ms=4000)
    b200 = shape_of(catalogue, shapes, "B200", 8)
    assert found.utilisation_fraction[b200] < 0.7 == patient.utilisation_fraction[b200]
    assert found.ttft_ms[b200] == pytest.approx(2000)
    assert 0 < found.requests_per_s[b200] < patient.requests_per_s[b200]
    assert found.meets_targets[b200]


@pytest.mark.parametrize("path", sorted((DATA / "scenarios").glob("*.yaml")), ids=lambda path: path.stem)
def test_what_was_sized_before_for_another_question_is_what_would_be_sized_now(path, catalogue, shapes):
    scenario = Scenario.read(read_yaml(path))
    size(assume(scenario, catalogue), shapes)
    other = scenario.with_values(
        {
            "traffic.peak_requests_per_s": 77.0,
            "traffic.burst_factor": 2.0,
            "traffic.target_utilisation_fraction": 0.55,
            "traffic.prefix_cache_hit_fraction": 0.3,
            "traffic.runs": 3,
            "purchase.horizon_months": 7,
            "purchase.checkpoint_minutes": 11.0,
            "budget.amount": 12_345.0,
            "requirements.countries": ["EU"],
        }
    )
    known = assume(other, catalogue)
    kept, anew = size(known, shapes), size_anew(known, shapes)
    for field in fields(kept):
        np.testing.assert_array_equal(getattr(kept, field.name), getattr(anew, field.name))
