"""A server that was sold out, has too little main memory or is only a price per card is no plain answer."""

import numpy as np
import pytest

from gpudash.catalogue import load_catalogue
from gpudash.evaluate import evaluate
from gpudash.scenario import Scenario
from gpudash.text import Text

CATALOGUE = load_catalogue()
SAY = Text("en").say
SOLD_OUT = "DigitalOcean / gpu-mi300x1-192gb / any"
SMALLEST = "Cudo Compute / sapphire-rapids-h100_1x4v8gb / no-kristiansand-1"  # an H100 beside 8 GB of main memory
EIGHT_CARDS = "Cudo Compute / sapphire-rapids-h100_8x64v128gb / no-kristiansand-1"


def answered(**groups):
    return evaluate(Scenario.read(groups), CATALOGUE)


def why_rejected(result, offer: str) -> str | None:
    row = CATALOGUE.offers.row_of(offer)
    found = np.flatnonzero(result.rejected.offer_rows == row)
    return SAY(result.rejected.reasons[result.rejected.reason_of[found[0]]]) if len(found) else None


def test_what_could_not_be_had_is_left_out_with_its_reason_unless_it_is_asked_for():
    amd = {"workload": {"model": "llama-3.1-70b"}, "requirements": {"gpus_in": ["MI300X"]}}
    usual = answered(**amd)
    assert usual.recommendation.id != SOLD_OUT
    assert "could not be had" in why_rejected(usual, SOLD_OUT)
    asked = answered(**amd | {"requirements": {"gpus_in": ["MI300X"], "sold_out_offers": True}})
    assert why_rejected(asked, SOLD_OUT) is None
    assert asked.recommendation.id == SOLD_OUT
    assert "warnings.unavailable" in {message.code for message in asked.warnings}


@pytest.mark.parametrize(
    "work",
    [
        {"kind": "inference", "model": "llama-3.1-8b"},
        {"kind": "fine_tuning", "model": "llama-3.1-8b", "training_method": "lora"},
    ],
)
def test_a_server_whose_main_memory_cannot_load_the_model_is_refused(work):
    """vLLM sets aside 4 GB per card, a file of weights has 5 GB, and the program lives there too: 11 GB, not 8."""
    reason = why_rejected(answered(workload=work), SMALLEST)
    assert reason is not None and "11 GB" in reason


def test_a_small_model_runs_beside_little_main_memory():
    embedding = {"model": "bge-large", "output_tokens": 0, "tpot_ms": None}
    assert why_rejected(answered(workload=embedding), SMALLEST) is None


def test_a_main_memory_that_nobody_states_is_not_held_against_an_offer():
    unknown = np.isnan(CATALOGUE.offers.memory_gb)
    assert unknown.any()
    result = answered(workload={"model": "llama-3.1-8b"})
    theirs = np.isin(result.rejected.offer_rows, np.flatnonzero(unknown))
    said = [result.rejected.reasons[row].code for row in result.rejected.reason_of[theirs]]
    assert said and "candidates.host_memory" not in said


def test_weights_larger_than_the_main_memory_are_pointed_out():
    """Llama 3.1 70B in bf16 has 141 GB, the eight H100 of this server stand beside 128 GB."""
    result = answered(
        workload={"model": "llama-3.1-70b"},
        traffic={"peak_requests_per_s": 10, "shape": "flat"},
        requirements={"gpus_in": ["H100 SXM"], "providers_in": ["Cudo Compute"], "countries": ["NO"]},
    )
    assert result.recommendation.id == EIGHT_CARDS
    assert any("128 GB of main memory, less than the 141 GB" in SAY(message) for message in result.warnings)


def test_a_price_per_card_is_called_one():
    result = answered(workload={"model": "qwen2.5-7b"}, requirements={"countries": ["CN"]})
    winner = result.recommendation
    assert CATALOGUE.offers.per_card[CATALOGUE.offers.row_of(winner.id)]
    assert "warnings.price_per_card" in {message.code for message in result.warnings}


def test_one_offer_alone_is_called_the_only_one():
    result = answered(workload={"model": "llama-3.1-8b"}, requirements={"gpus_in": ["Gaudi2"]})
    assert SAY(result.recommendation.reasons[0]) == "It is the only offer that can do this work."


def test_a_queue_that_grows_long_at_the_slow_end_is_told_in_seconds():
    result = answered(
        workload={"model": "qwen3-235b-a22b"},
        traffic={"peak_requests_per_s": 5},
        requirements={"providers_in": ["Seeweb"]},
    )
    said = next(SAY(message) for message in result.warnings if message.code == "warnings.ttft_in_band")
    slow = result.recommendation.slow_at_peak
    assert slow.ttft_ms > 100_000
    assert f"takes {slow.ttft_ms / 1000:.0f} s; the target is 2 s" in said


def test_that_the_data_hold_no_speed_of_a_card_is_not_said_of_the_whole_world():
    """Others have published speeds of vLLM on a B200; these data just do not hold them."""
    result = answered(workload={"model": "llama-3.1-70b"}, requirements={"gpus_in": ["B200"]})
    said = next(SAY(message) for message in result.warnings if message.code == "warnings.speed_not_measured")
    assert said.startswith("No published language-model speed of vLLM on B200 stands behind this prediction")


@pytest.mark.parametrize("spot_fraction", [0, 1])
def test_that_nobody_promises_spot_is_said_where_it_is_used(spot_fraction):
    work = {"kind": "training", "model": "llama-2-7b", "training_tokens_b": 140, "deadline_days": 30}
    purchase = {"spot_fraction": spot_fraction, "horizon_months": 2}
    result = answered(workload=work, purchase=purchase, requirements={"providers_in": ["AWS"]})
    said = {message.code for message in result.warnings}
    assert ("warnings.on_spot" in said) == (result.recommendation.purchase_split["spot"] > 0) == (spot_fraction > 0)


def test_a_card_that_its_name_puts_on_pcie_is_not_joined_by_nvlink():
    """Cudo Compute's A800 is the PCIe card: 1,935 GB/s, and a bridge between two cards only."""
    row = CATALOGUE.offers.row_of("Cudo Compute / intel-ice-lake-a800-pci_8x64v128gb / us-carlsbad-1")
    hardware, gpu = CATALOGUE.hardware, CATALOGUE.offers.gpu_row[row]
    assert hardware.bandwidth_gb_per_s[gpu] == hardware.bandwidth_gb_per_s[hardware.index("A100-80GB PCIe")] == 1935
    assert hardware.link_scope[gpu] == "pair"
    asked = answered(
        workload={"model": "llama-3.1-70b"}, requirements={"nvlink": True, "providers_in": ["Cudo Compute"]}
    )
    assert "not joined by NVLink" in why_rejected(asked, CATALOGUE.offers.id[row])


def test_a_machine_that_its_provider_has_retired_is_not_to_be_had():
    """Azure switched its V100 machines (NCv3) off on 30 September 2025; its price list still has them."""
    offers = CATALOGUE.offers
    retired = [row for row, name in enumerate(offers.id) if name.startswith("Azure / Standard_NC6s_v3")]
    assert retired
    assert all(offers.doubt[row] == "unavailable" for row in retired)


def test_that_all_offers_are_of_one_provider_is_no_warning_to_who_asked_for_it():
    def said(**requirements):
        result = answered(workload={"model": "llama-3.1-8b"}, requirements=requirements)
        return {message.code for message in result.warnings}

    assert "warnings.single_provider" not in said(providers_in=["AWS"])
    assert "warnings.single_provider" in said(gpus_in=["Gaudi2"])
