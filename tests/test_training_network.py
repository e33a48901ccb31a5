"""The network under a training run: published scaling lies between the two ends, and more network never costs more."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gpudash.catalogue import load_catalogue
from gpudash.errors import GpudashError
from gpudash.evaluate import evaluate
from gpudash.scenario import Scenario
from gpudash.tables import read_yaml
from gpudash.text import Text
from gpudash.training_network import gradient_gb, losses_of, network, network_losses, networks, speed_fraction

CATALOGUE = load_catalogue()
CASES = read_yaml(Path(__file__).parent / "golden" / "training_network.yaml")
FP32_BYTES = 4
RUN = {"params_b": 8, "step_s": 10, "gpu_hours": 10_000, "usd_per_gpu_hour": 2}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_published_scaling_lies_between_the_two_ends(case):
    inputs = case["inputs"]
    worse, better = speed_fraction(
        network(inputs["network"]),
        gradients_gb=gradient_gb(inputs["params_b"], FP32_BYTES),
        step_s=inputs["images"] / inputs["images_per_s"],
        servers=inputs["servers"],
    )
    assert worse <= case["expected"]["speed_fraction"] <= better


def test_one_server_loses_nothing_on_any_network():
    for loss in network_losses(servers=1, **RUN):
        assert loss.speed_fraction == (1, 1)
        assert loss.usd_lost == (0, 0)


def test_more_servers_lose_more_and_never_twice_the_exchange_of_two():
    servers = np.array([2, 4, 8, 64, 1024])
    worse, better = speed_fraction(network("RoCE 25 Gb/s"), gradients_gb=16, step_s=10, servers=servers)
    assert np.all(np.diff(worse) < 0) and np.all(np.diff(better) <= 0)
    assert 1 / worse[-1] - 1 < 2 * (1 / worse[0] - 1)


def test_a_faster_network_of_a_kind_never_costs_more():
    found = network_losses(servers=8, **RUN)
    by_kind = {}
    for loss in sorted(found, key=lambda loss: loss.network.gb_per_s_per_server):
        by_kind.setdefault(loss.network.kind, []).append(loss.usd_lost)
    for losses in by_kind.values():
        assert all(a >= b for slow, fast in pairwise(losses) for a, b in zip(slow, fast))


def test_plain_ethernet_is_the_widest_and_the_dearest():
    losses = {loss.network.name: loss for loss in network_losses(servers=8, **RUN)}
    ethernet, roce = losses["Ethernet 100 Gb/s"], losses["RoCE 100 Gb/s"]
    assert ethernet.usd_lost[0] > roce.usd_lost[0] > losses["InfiniBand 8 x 400 Gb/s"].usd_lost[0]
    assert ethernet.speed_fraction[1] - ethernet.speed_fraction[0] > roce.speed_fraction[1] - roce.speed_fraction[0]


def test_lost_hours_and_money_follow_from_the_speed_left():
    loss = network_losses(servers=8, **RUN)[0]
    assert loss.gpu_hours_lost[0] == pytest.approx(10_000 * (1 / loss.speed_fraction[0] - 1))
    assert loss.usd_lost[0] == pytest.approx(2 * loss.gpu_hours_lost[0])
    assert all(Text(language).say(loss.assumption) for language in ("en", "zh"))


def test_an_unknown_network_and_no_server_are_refused():
    with pytest.raises(GpudashError) as refused:
        network("token ring")
    assert refused.value.code == "training_network.unknown_network"
    assert "RoCE 100 Gb/s" in str(refused.value)
    with pytest.raises(GpudashError) as refused:
        speed_fraction(networks()[0], gradients_gb=1, step_s=1, servers=0)
    assert refused.value.code == "training_network.servers"


def test_a_run_on_several_servers_says_what_each_network_would_cost_and_one_on_a_single_server_nothing():
    large = {"kind": "training", "model": "llama-3.1-8b", "training_tokens_b": 200, "deadline_days": 20}
    result = evaluate(Scenario.read({"workload": large}), CATALOGUE)
    assert result.recommendation.servers > 1
    assert [loss.network.name for loss in losses_of(result)] == [one.name for one in networks()]
    assert all(0 <= better <= worse for loss in losses_of(result) for worse, better in [loss.usd_lost])
    small = evaluate(Scenario.read({"workload": {"kind": "inference", "model": "llama-3.1-8b"}}), CATALOGUE)
    assert losses_of(small) == ()
