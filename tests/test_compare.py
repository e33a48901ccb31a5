"""The comparison with other predictors and the plot of the accuracy report: the same rows, the same question."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from fit.compare import COMPARED, COMPARED_MEMORY, PREDICTORS, memory_tables, read_held, read_loads
from fit.memory import read_measured
from fit.plots import Cloud, svg
from gpudash.tables import read_columns

LOADS = read_loads()


def test_a_row_is_answered_by_the_time_of_its_prompts_and_of_a_step():
    load = replace(LOADS[0], batch_size=8, context_tokens=1000, output_tokens=100)
    times = {"prompts_s": 2.0, "step_s": 0.03}
    assert replace(load, phase="end_to_end").figure(**times) == pytest.approx(8 * 100 / (2 + 100 * 0.03))
    assert replace(load, phase="decode").figure(**times) == pytest.approx(8 / 0.03)
    assert replace(load, phase="prefill").figure(**times) == pytest.approx(8 * 1000 / 2)
    assert replace(load, phase="prefill_latency").figure(**times) == pytest.approx(2000)


@pytest.mark.parametrize("path", sorted(COMPARED.glob("*.csv")), ids=lambda path: path.stem)
def test_every_answer_about_speed_is_to_a_row_that_was_asked(path):
    asked = {load.line for load in LOADS}
    columns = read_columns(path)
    assert path.stem in PREDICTORS
    assert {int(line) for line in columns["line"]} <= asked
    assert len(columns["line"]) >= 200


@pytest.mark.parametrize("path", sorted(COMPARED_MEMORY.glob("*.csv")), ids=lambda path: path.stem)
def test_every_answer_about_memory_is_to_a_row_that_was_asked(path):
    assert {int(line) for line in read_columns(path)["line"]} <= {held.line for held in read_held()}


def test_our_own_errors_stand_beside_those_of_every_predictor():
    measured = read_measured()
    is_serving = measured.purpose == "serving"
    nothing = {way: np.zeros(len(is_serving)) for way in ("random", "source")}
    lines = memory_tables(measured.value_gb, is_serving, nothing)
    assert len([line for line in lines if line.startswith("| ") and line.endswith("| 0% / 0% | 0% / 0% |")]) >= 4


def test_the_plot_is_well_formed_and_says_how_many_rows_it_shows():
    values = np.geomspace(1, 1000, 7)
    drawn = svg([Cloud("a <b>", "GB", values, values * 1.1), Cloud("c", "%", values, values)])
    texts = [element.text for element in ElementTree.fromstring(drawn).iter() if element.text]
    assert "a <b>" in texts
    assert "7 rows, GB" in texts
