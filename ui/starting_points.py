"""The named starting points: whole scenarios that come with the program."""

import streamlit as st

from gpudash.scenario import Scenario
from gpudash.tables import DATA, read_yaml


@st.cache_resource
def starting_points() -> dict[str, Scenario]:
    """The named starting points; read once and never written to."""
    return {path.stem: Scenario.read(read_yaml(path)) for path in sorted((DATA / "scenarios").glob("*.yaml"))}


def standing_at(scenario: Scenario) -> str | None:
    """The starting point that a scenario stands at, whatever its snapshot."""
    for name, point in starting_points().items():
        if point.model_copy(update={"catalogue": scenario.catalogue}) == scenario:
            return name
    return None
