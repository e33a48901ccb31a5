"""The weights of the chosen scoring framework as sliders; moving one makes the scoring the user's own."""

import streamlit as st

from ui import state
from ui.literal import literal

CUSTOM, OURS = "custom", "gpudash"
FRAMEWORK, WEIGHTS = "priorities.framework", "priorities.weights"
HEAVIEST = 100.0


def weights(items: list[tuple[str, str, float]], reset_label: str) -> None:
    """One slider per (criterion, its name, weight in points), and the way back."""
    keys = [key for key, _, _ in items]
    for start, column in enumerate(st.columns(3)):
        with column:
            for key, label, weight in items[start::3]:
                widget = _widget_key(key)
                st.session_state[widget] = min(weight, HEAVIEST)
                st.slider(
                    literal(label), 0.0, HEAVIEST, step=1.0, format="%g", key=widget, on_change=_take, args=(keys,)
                )
    st.button(literal(reset_label), on_click=_reset, key="weights.reset")


def _widget_key(criterion: str) -> str:
    return f"weight.{criterion}"


def _take(keys: list[str]) -> None:
    chosen = [{"criterion": key, "weight": st.session_state[_widget_key(key)]} for key in keys]
    state.change_all({FRAMEWORK: CUSTOM, WEIGHTS: chosen}, blamed=WEIGHTS)


def _reset() -> None:
    state.change_all({FRAMEWORK: OURS, WEIGHTS: ()}, blamed=WEIGHTS)
