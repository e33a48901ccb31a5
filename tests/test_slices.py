"""MIG slices: which cards have them, what they hold and reach, and what a job on one costs."""

import numpy as np
import pytest

from gpudash.catalogue import load_catalogue
from gpudash.engines import engine_parameters
from gpudash.errors import GpudashError
from gpudash.evaluate import evaluate
from gpudash.measured import sample_speed
from gpudash.model import load_model
from gpudash.scenario import Scenario
from gpudash.slices import packing, serving_slices, slices_of, smallest_slice
from gpudash.speed import Cards, Transformer, inference_speed
from gpudash.text import Text

CATALOGUE = load_catalogue()
HARDWARE = CATALOGUE.hardware
CUTTABLE = [gpu for gpu, most in zip(HARDWARE.names, HARDWARE.mig_max_instances) if most > 0]


@pytest.mark.parametrize("gpu", ["A10", "T4", "L4", "L40S", "RTX 4090", "MI300X"])
def test_a_card_without_mig_is_refused_with_a_sentence(gpu):
    with pytest.raises(GpudashError) as refused:
        slices_of(gpu, HARDWARE)
    assert refused.value.code == "slices.no_mig"
    assert all(gpu in Text(language)(refused.value.code, **refused.value.values) for language in ("en", "zh"))


@pytest.mark.parametrize("gpu", CUTTABLE)
def test_the_slices_of_a_card_never_add_up_to_more_than_the_card(gpu):
    try:
        slices = slices_of(gpu, HARDWARE)
    except GpudashError as refused:
        assert refused.code == "slices.no_profiles"
        return
    row = HARDWARE.index(gpu)
    assert max(slice_.most_per_card for slice_ in slices) == HARDWARE.mig_max_instances[row]
    for slice_ in slices:
        if HARDWARE.memory_mib[row] > 0:  # else the card's own memory is only its label
            assert slice_.most_per_card * slice_.usable_gb <= HARDWARE.usable_gb[row] * 1.0001
        assert slice_.most_per_card * slice_.compute_fraction <= 1.0001
        assert slice_.most_per_card * slice_.memory_fraction <= 1


def test_an_a30_makes_four_slices_of_about_six_gigabytes():
    smallest = slices_of("A30", HARDWARE)[0]
    assert (smallest.profile, smallest.most_per_card) == ("1g.6gb", 4)
    assert smallest.usable_gb == pytest.approx(5.81 * 1.073741824)


def test_a_job_gets_the_slice_that_leaves_most_jobs_on_the_card():
    assert smallest_slice("H100 SXM", HARDWARE, 9).profile == "1g.10gb"
    assert smallest_slice("H100 SXM", HARDWARE, 15).profile == "1g.20gb"
    assert smallest_slice("H100 SXM", HARDWARE, 40).profile == "3g.40gb"
    with pytest.raises(GpudashError) as refused:
        smallest_slice("H100 SXM", HARDWARE, 50)
    assert refused.value.code == "slices.too_large"


def test_four_slices_in_use_four_fifths_of_the_time_save_62_percent_at_82_percent_of_the_speed():
    quarter = slices_of("A30", HARDWARE)[0]
    job = packing(quarter, occupancy_fraction=0.8, relative_speed=0.82, hours_on_card=10, usd_per_hour=2)
    assert job.cost_fraction == pytest.approx(0.3810975609756098)
    assert job.usd_per_job == pytest.approx(20 * 0.3810975609756098)


def test_a_job_that_keeps_the_whole_card_busy_gains_nothing_from_slices():
    quarter = slices_of("A30", HARDWARE)[0]
    job = packing(quarter, occupancy_fraction=1, relative_speed=0.25, hours_on_card=10, usd_per_hour=2)
    assert job.cost_fraction == pytest.approx(1)


@pytest.mark.parametrize("fractions", [{"occupancy_fraction": 0}, {"occupancy_fraction": 1.2}, {"relative_speed": 0}])
def test_a_fraction_outside_0_to_1_is_refused(fractions):
    with pytest.raises(GpudashError) as refused:
        packing(
            slices_of("A30", HARDWARE)[0],
            hours_on_card=1,
            usd_per_hour=1,
            **{"occupancy_fraction": 1, "relative_speed": 1} | fractions,
        )
    assert refused.value.code == "slices.fraction"


def test_a_language_model_in_a_slice_is_slower_and_the_whole_card_as_one_slice_is_the_card():
    row = HARDWARE.index("A100-80GB SXM")
    model = Transformer.of(load_model("llama-3.2-1b"), "fp16", "fp16")
    card = Cards.of(HARDWARE, row, 16)
    load = {"gpu_count": 1, "batch_size": 4, "context_tokens": 512, "output_tokens": 128}

    def rate(cards):
        return inference_speed(model, cards, engine_parameters("vllm", "NVIDIA"), **load).output_tokens_per_s

    rates = [rate(slice_.cards(card)) for slice_ in slices_of("A100-80GB SXM", HARDWARE)]
    assert rates[-1] == rate(card)
    assert np.all(np.diff([rates[0], rates[2], rates[3], rates[5]]) > 0)


@pytest.mark.parametrize("model", ["bert-large", "rnn-t"])
@pytest.mark.parametrize("gpu", ["A30", "A100-80GB SXM"])
def test_published_slices_reach_about_their_share_of_the_published_card(gpu, model):
    smallest = slices_of(gpu, HARDWARE)[0]
    whole = sample_speed(model, gpu, scenario="offline").samples_per_s
    part = sample_speed(model, f"{gpu} MIG {smallest.profile}", scenario="offline").samples_per_s
    assert part / whole == pytest.approx(smallest.compute_fraction, rel=0.25)


def test_a_small_model_fits_slices_of_many_cards_and_a_large_one_none():
    small = serving_slices(evaluate(Scenario.read({"workload": {"model": "llama-3.2-1b"}}), CATALOGUE), HARDWARE)
    assert {one.slice.gpu for one in small} >= {"A30", "A100-40GB SXM", "H100 SXM", "B200"}
    for one in small:
        assert one.needed_gb <= one.slice.usable_gb
        assert one.slice.most_per_card > 1 and one.output_tokens_per_s > 0
    assert serving_slices(evaluate(Scenario.read({"workload": {"model": "deepseek-v3"}}), CATALOGUE), HARDWARE) == ()
    training = {"workload": {"kind": "fine_tuning", "model": "llama-3.2-1b"}}
    assert serving_slices(evaluate(Scenario.read(training), CATALOGUE), HARDWARE) == ()
