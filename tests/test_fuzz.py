"""Hostile input: whatever comes in, an answer or a sentence goes out. `make fuzz` is the long search."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.seeds import mutated, seeds, words
from fuzz.targets import TARGETS, check
from tests.test_brief import HOSTILE

FINDS = Path(__file__).parent / "finds"
EXAMPLES = {
    "link": 1000,
    "scenario": 300,
    "answer": 20,
    "sheet": 300,
    "table": 100,
    "request": 500,
    "command": 60,
    "names": 20,
}
EDIT = st.tuples(st.integers(0, 5_000), st.integers(0, 3), st.sampled_from(words()) | st.binary(max_size=4))


def test_every_target_is_searched():
    assert set(EXAMPLES) == set(TARGETS)


@pytest.mark.parametrize("target", TARGETS)
def test_an_honest_input_is_answered(target):
    outcomes = [check(target, seed) for seed in seeds(target)]
    assert outcomes.count("answered") >= len(outcomes) / 3  # price sheets without what must be answered are refused


@pytest.mark.parametrize("target", TARGETS)
def test_a_mutated_input_is_answered_or_refused_with_a_sentence(target):
    @settings(max_examples=EXAMPLES[target])
    @given(st.sampled_from(seeds(target)), st.lists(EDIT, min_size=1, max_size=6))
    def holds(seed, edits):
        check(target, mutated(seed, edits))

    holds()


@pytest.mark.parametrize("name", HOSTILE)
def test_no_file_made_of_a_decision_runs_its_name(name):
    assert check("names", name.encode()) == "answered"


@pytest.mark.parametrize("find", sorted(FINDS.glob("*/*")), ids=lambda find: f"{find.parent.name}/{find.name}")
def test_what_was_found_once_stays_mended(find):
    check(find.parent.name, find.read_bytes())
