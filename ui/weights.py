"""The choice of a scoring framework, and its weights as sliders over the range in which the winner stays first."""

from functools import partial
from pathlib import Path

import streamlit as st

from gpudash.figures.scores import PUBLISHED, Weight
from gpudash.frameworks import criterion_names, load_framework, rebalanced
from gpudash.text import Text
from ui import state
from ui.fields import field, sentence
from ui.literal import literal

CUSTOM, OURS = "custom", "gpudash"
FRAMEWORK, WEIGHTS = "priorities.framework", "priorities.weights"
COLUMNS = 3
RANGE = Path(__file__).with_name("weight_range.html").read_text(encoding="utf-8")


def scoring() -> None:
    """The choice of a framework; weights that were moved in another one end with it."""
    column, _ = st.columns(2)
    with column:
        field(FRAMEWORK, resets=(WEIGHTS,))


def weights(items: list[Weight], text: Text) -> None:
    """One slider per weight with the range in which the winner stays first, and the ways back and on."""
    desk, points = state.desk(), {item.criterion: item.points for item in items}
    framework = desk.scenario.priorities.framework
    is_published = framework in PUBLISHED
    st.caption(literal(text(f"scores_page.weights_help_{'published' if is_published else framework}")))
    if framework == CUSTOM:
        _criteria(desk, points, text)
    for start, column in enumerate(st.columns(COLUMNS)):
        with column:
            for item in items[start::COLUMNS]:
                _slider(desk, points, item)
    refused = state.refusal(WEIGHTS)
    if refused is not None:
        st.error(literal(sentence(refused, text)))
    with st.container(horizontal=True):
        if is_published:
            label = literal(text("scores_page.weights_make_own"))
            st.button(label, on_click=_own, args=(desk, points), key="weights.own")
        st.button(literal(text("scores_page.weights_reset")), on_click=_reset, args=(desk,), key="weights.reset")


def _criteria(desk: state.Desk, points: dict[str, float], text: Text) -> None:
    """What counts at all; a new criterion counts as much as the others do on average."""
    usual, chosen = sum(points.values()) / len(points), list(points)
    key = "weight.criteria"

    def take(names: list[str]) -> None:
        _own(desk, {name: points.get(name, usual) for name in names})

    state.fill(key, chosen, take)
    st.multiselect(
        literal(text("scores_page.weights_criteria")),
        criterion_names(),
        default=chosen,
        format_func=lambda name: text(f"scores.criterion_{name}"),
        key=key,
    )


def _slider(desk: state.Desk, points: dict[str, float], item: Weight) -> None:
    key = f"weight.{item.criterion}"
    state.fill(key, float(item.points), partial(_take, desk, points, item.criterion))
    st.slider(
        literal(item.label),
        0.0,
        float(item.most_points),
        float(item.points),
        step=1.0,
        format="%.4g",
        key=key,
        disabled=item.is_fixed,
    )
    if item.said and not item.is_fixed:
        _range(item)
    st.caption(literal(item.said))


def _range(item: Weight) -> None:
    """A bar under the slider, as long as it: coloured where the winner stays first."""
    left, width = (100 * part / item.most_points for part in (item.low_points, item.high_points - item.low_points))
    st.html(RANGE.format(left=left, width=width))


def _take(desk: state.Desk, points: dict[str, float], criterion: str, weight: float) -> None:
    """One weight moved; those moved in the same run before it are kept."""
    framework = desk.scenario.priorities.framework
    latest = points | {row.criterion: row.weight for row in desk.scenario.priorities.weights}
    if framework in PUBLISHED:
        moved = rebalanced(load_framework(framework), latest, criterion, weight)
        state.change(desk, {WEIGHTS: moved}, blamed=WEIGHTS)
    else:
        _own(desk, latest | {criterion: weight})


def _own(desk: state.Desk, points: dict[str, float]) -> None:
    state.change(desk, {FRAMEWORK: CUSTOM, WEIGHTS: points}, blamed=WEIGHTS)


def _reset(desk: state.Desk) -> None:
    state.change(desk, {FRAMEWORK: OURS, WEIGHTS: ()}, blamed=WEIGHTS)
