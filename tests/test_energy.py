"""Energy and emissions: from the cards' power, how busy they are, the building and the grid; unknown where unknown."""

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest

from gpudash.assumptions import assume
from gpudash.catalogue import load_catalogue
from gpudash.energy import busy_server_hours, kgco2e, rated_server_kw, server_kwh
from gpudash.evaluate import evaluate
from gpudash.scenario import Scenario

FLAT_WEEK = (1.0,) * 168


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue()


@pytest.fixture(scope="module")
def known(catalogue):
    return assume(Scenario.read({"traffic": {"hourly_shape": FLAT_WEEK, "peak_requests_per_s": 10}}), catalogue)


def test_a_server_of_eight_h100_is_rated_as_its_data_sheet_says(catalogue):
    rated_kw = rated_server_kw(catalogue, catalogue.hardware.index("H100 SXM"), 8)
    assert rated_kw == pytest.approx(catalogue.defaults["dgx_h100_rated_watts"].value / 1000, rel=0.01)


def test_a_slice_of_a_card_draws_its_share(catalogue):
    row = catalogue.hardware.index("A10")
    assert rated_server_kw(catalogue, row, 1 / 6) == pytest.approx(rated_server_kw(catalogue, row, 1) / 6)


def test_power_rises_from_idle_to_work(known):
    defaults = known.catalogue.defaults
    idle, busy = server_kwh(known, 10.0, 730, 0), server_kwh(known, 10.0, 730, 730)
    assert idle == pytest.approx(7300 * defaults["server_idle_power_fraction"].value)
    assert busy == pytest.approx(7300 * defaults["inference_power_fraction"].value)
    assert server_kwh(known, 10.0, np.array([730, 730]), np.array([0, 730])) == pytest.approx([idle, busy])


def test_a_flat_load_of_half_a_server_keeps_one_half_busy(known):
    assert busy_server_hours(known, 20.0) == pytest.approx(np.full(36, 365))


def test_emissions_are_energy_times_grid_and_unknown_without_a_grid():
    assert kgco2e(1000.0, 400.0) == 400.0
    assert kgco2e(1000.0, float("nan")) is None


def test_more_traffic_takes_more_energy_and_a_cleaner_grid_emits_less(catalogue):
    def winner(country, peak):
        wishes = {"countries": [country], "gpus_in": ["H100 SXM"]}
        groups = {"traffic": {"peak_requests_per_s": peak}, "requirements": wishes}
        return evaluate(Scenario.read(groups), catalogue).recommendation

    little, much = winner("US", 5), winner("US", 500)
    assert much.kwh_per_month > 5 * little.kwh_per_month
    clean = winner("FI", 500)
    assert clean.kgco2e_per_month / clean.kwh_per_month < much.kgco2e_per_month / much.kwh_per_month / 3


def test_without_the_power_of_a_card_there_is_no_energy(catalogue):
    blind = replace(catalogue.hardware, tdp_w=np.full(len(catalogue.hardware), np.nan))
    result = evaluate(Scenario(), replace(catalogue, hardware=blind))
    assert result.recommendation.kwh_per_month is None
    assert result.recommendation.kgco2e_per_month is None


def test_without_a_grid_there_is_energy_but_no_emission(catalogue):
    nowhere = replace(catalogue, regions=MappingProxyType({}))
    result = evaluate(Scenario(), nowhere)
    assert result.recommendation.kwh_per_month > 0
    assert result.recommendation.kgco2e_per_month is None


def test_the_ledger_names_the_figures_behind_the_energy(catalogue):
    names = {entry.name for entry in evaluate(Scenario(), catalogue).assumptions}
    assert {"energy.server_idle_power_fraction", "energy.pue_industry_average"} <= names
