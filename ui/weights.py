"""The weights of the chosen scoring framework as sliders; moving one makes the scoring the user's own."""

from functools import partial

import streamlit as st

from ui import state
from ui.literal import literal

CUSTOM, OURS = "custom", "gpudash"
FRAMEWORK, WEIGHTS = "priorities.framework", "priorities.weights"
HEAVIEST = 100.0


def weights(items: list[tuple[str, str, float]], reset_label: str) -> None:
    """One slider per (criterion, its name, weight in points), and the way back."""
    desk, given = state.desk(), {key: weight for key, _, weight in items}
    for start, column in enumerate(st.columns(3)):
        with column:
            for key, label, weight in items[start::3]:
                shown = min(weight, HEAVIEST)
                state.fill(f"weight.{key}", shown, partial(_take, desk, given, key))
                st.slider(literal(label), 0.0, HEAVIEST, shown, step=1.0, format="%g", key=f"weight.{key}")
    st.button(literal(reset_label), on_click=_reset, args=(desk,), key="weights.reset")


def _take(desk: state.Desk, given: dict[str, float], key: str, weight: float) -> None:
    """One weight moved; those moved in the same run before it are kept."""
    latest = {row.criterion: row.weight for row in desk.scenario.priorities.weights} or given
    chosen = [{"criterion": name, "weight": value} for name, value in (latest | {key: weight}).items()]
    state.change(desk, {FRAMEWORK: CUSTOM, WEIGHTS: chosen}, blamed=WEIGHTS)


def _reset(desk: state.Desk) -> None:
    state.change(desk, {FRAMEWORK: OURS, WEIGHTS: ()}, blamed=WEIGHTS)
