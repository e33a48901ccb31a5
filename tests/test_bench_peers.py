"""What other packages are given to read holds our offers row by row; the run itself compares their answers."""

import csv
import io
import re
import zipfile
from ast import literal_eval

import numpy as np
import pytest

from bench.peers.__main__ import GPUS, PREDICTIONS, SERVER, cheapest_first, prediction_rows
from bench.peers.ask import PEERS
from bench.peers.environments import NotAsked, pins
from bench.peers.inputs import (
    GPUHUNT_OTHERS,
    GPUHUNT_PROVIDERS,
    SKYPILOT_FILE,
    instance_name,
    write_for_gpuhunt,
    write_for_skypilot,
)
from gpudash.catalogue import load_catalogue

CATALOGUE = load_catalogue()
PRICED = CATALOGUE.with_offers(
    CATALOGUE.offers.take(np.flatnonzero(np.isfinite(CATALOGUE.offers.on_demand_usd_per_hour)))
)


def test_gpuhunt_reads_every_offer_once_and_each_provider_by_price(tmp_path):
    write_for_gpuhunt(PRICED, tmp_path, "7")
    prices = {}
    for provider in (*GPUHUNT_PROVIDERS.values(), GPUHUNT_OTHERS):
        with zipfile.ZipFile(tmp_path / provider / "7" / "catalog.zip") as archive:
            rows = list(csv.DictReader(io.StringIO(archive.read(f"{provider}.csv").decode())))
        assert [float(row["price"]) for row in rows] == sorted(float(row["price"]) for row in rows)
        prices |= {row["instance_name"]: float(row["price"]) for row in rows}
    names = [instance_name(PRICED, row) for row in range(len(PRICED.offers))]
    assert prices == dict(zip(names, PRICED.offers.on_demand_usd_per_hour))


def test_skypilot_reads_every_offer_with_the_memory_of_its_card(tmp_path):
    write_for_skypilot(PRICED, tmp_path)
    with open(tmp_path / SKYPILOT_FILE, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["InstanceType"] for row in rows] == [instance_name(PRICED, row) for row in range(len(rows))]
    assert [float(row["Price"]) for row in rows] == PRICED.offers.on_demand_usd_per_hour.tolist()
    card = literal_eval(rows[0]["GpuInfo"])["Gpus"][0]
    gpu = CATALOGUE.hardware.index(rows[0]["AcceleratorName"])
    assert card["MemoryInfo"]["SizeInMiB"] * 2**20 / 1e9 == pytest.approx(CATALOGUE.hardware.memory_gb[gpu])


def test_the_questions_are_about_offers_that_there_are():
    rows = cheapest_first(PRICED, gpus=GPUS)
    prices = PRICED.offers.on_demand_usd_per_hour[rows]
    assert (np.diff(prices) >= 0).all()
    assert {PRICED.hardware.names[gpu] for gpu in PRICED.offers.gpu_row[rows]} == set(GPUS)
    gpu, count = SERVER
    assert (PRICED.offers.gpus_per_server[cheapest_first(PRICED, gpus=(gpu,))] == count).any()


def test_each_set_up_to_predict_has_a_load_of_its_own():
    columns = prediction_rows()
    assert {len(column) for column in columns.values()} == {PREDICTIONS}
    described = set(zip(*(columns[name] for name in ("model", "gpu", "batch_size", "context_tokens", "output_tokens"))))
    assert len(described) > 0.99 * PREDICTIONS


@pytest.mark.parametrize("peer", PEERS)
def test_every_peer_has_an_exact_pin(peer):
    assert all(re.match(r"[\w-]+==[\d.]+", pin) for pin in pins(peer))


def test_a_package_without_a_pin_is_said_not_to_be_asked():
    with pytest.raises(NotAsked, match="nobody has no pin"):
        pins("nobody")
