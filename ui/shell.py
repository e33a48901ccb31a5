"""The frame around every page: navigation, language, starting points, the inputs that matter, the footer."""

from datetime import date
from pathlib import Path

import streamlit as st

import gpudash
from gpudash.catalogue import snapshots
from gpudash.scenario import Scenario, fields
from gpudash.text import LANGUAGES
from ui import observe, searches, sign_in, state
from ui.fields import field, sentence
from ui.literal import literal
from ui.starting_points import standing_at, starting_points

ROOT = Path(__file__).resolve().parents[1]
GROUPS = {
    "decide": ("overview", "recommendation", "compare"),
    "understand": ("workload", "scores", "tco", "purchase_mix", "storage", "what_if"),
    "check": ("catalogue", "evidence", "claims", "brief"),
}
DEFAULT = "overview"
REQUESTS = (
    "traffic.peak_requests_per_s",
    "traffic.shape",
    ("workload.context_tokens", "workload.output_tokens"),
    ("workload.ttft_ms", "workload.tpot_ms"),
)
RUNS = (
    ("workload.training_tokens_b", "workload.sequence_tokens"),
    "workload.training_method",
    ("workload.deadline_days", "traffic.runs"),
)
MONEY_AND_PLACE = (("budget.amount", "budget.per"), "requirements.countries", "purchase.horizon_months")
START = "start"


def main() -> None:
    """One run: the frame, the page in it, and the address at the end."""
    st.set_page_config(page_title="gpudash", page_icon=str(ROOT / "assets/favicon.png"), layout="wide")
    st.html(ROOT / "ui/look.css")
    st.html(ROOT / "ui/history.html", unsafe_allow_javascript=True)
    state.load()
    text = state.text()
    sign_in.require(text)
    page = st.navigation(_pages(text), position="top")
    with st.sidebar:
        with st.container(horizontal=True, vertical_alignment="center", key="tools"):
            _language(text)
            ways_back = st.container(horizontal=True, width="content", gap="small")
        _starting_points(text)
        _inputs()
        sign_in.sign_out(text)
    try:
        with observe.drawing(page.url_path or DEFAULT):
            page.run()
    finally:  # a page may end early with a sentence
        _footer(text)
        with ways_back:
            _ways_back(page, text)
        state.store()


def _pages(text) -> dict[str, list]:
    return {
        text(f"frame.group_{group}"): [
            st.Page(
                ROOT / f"pages/{name}.py",
                title=text(f"frame.page_{name}"),
                url_path=name,
                default=name == DEFAULT,
            )
            for name in names
        ]
        for group, names in GROUPS.items()
    }


def _language(text) -> None:
    st.segmented_control(
        text("frame.language"),
        LANGUAGES,
        key=state.LANGUAGE,
        required=True,
        format_func=lambda language: text(f"frame.language_{language}"),
        label_visibility="collapsed",
    )


def _ways_back(page, text) -> None:
    """Undo the last edit; put the inputs of this page back to their defaults, on the first page all inputs."""
    desk, defaults = state.desk(), Scenario()
    label = literal(text("frame.undo"))
    past = {"on_click": state.undo, "args": (desk,), "disabled": not desk.past}
    st.button(label, icon=":material/undo:", key="icon_undo", help=label, type="tertiary", **past)
    is_first = page.url_path in ("", DEFAULT)
    paths = fields() if is_first else desk.page_inputs
    moved = tuple(path for path in paths if desk.scenario.value(path) != defaults.value(path))
    label = literal(text("frame.reset_all" if is_first else "frame.reset_page"))
    to_defaults = {"on_click": state.reset, "args": (desk, moved), "disabled": not moved}
    st.button(label, icon=":material/restart_alt:", key="icon_reset", help=label, type="tertiary", **to_defaults)
    error = state.refusal(state.RESET)
    if error is not None:
        st.error(literal(sentence(error, text)))


def _starting_points(text) -> None:
    """Named scenarios; the one that the inputs stand at is shown as chosen."""
    points = starting_points()
    desk, standing = state.desk(), standing_at(state.scenario())
    state.fill(START, standing, lambda name: state.start(desk, points.get(name, Scenario())))
    st.selectbox(
        text("frame.start"),
        list(points),
        key=START,
        index=None if standing is None else list(points).index(standing),
        placeholder=text("frame.start_placeholder"),
        help=literal(text("frame.start_help")),
        format_func=lambda name: text(f"scenarios.{name}"),
    )


def _inputs() -> None:
    field("workload.kind")
    field("workload.model")
    field("workload.weight_precision")
    for row in (*(RUNS if state.scenario().workload.is_training else REQUESTS), *MONEY_AND_PLACE):
        if isinstance(row, str):
            field(row)
            continue
        for path, column in zip(row, st.columns(len(row), vertical_alignment="bottom")):
            with column:
                field(path)


def _footer(text) -> None:
    """Whose prices, how old, which version, and the conventions behind every number."""
    snapshot = state.scenario().catalogue.snapshot or snapshots()[-1]
    age_days = (date.today() - date.fromisoformat(snapshot)).days
    st.divider()
    st.caption(
        literal(
            text(
                "frame.footer",
                snapshot=text.date(snapshot),
                age=text("frame.one_day" if age_days == 1 else "frame.days", days=text.number(age_days)),
                version=gpudash.__version__,
            )
        )
    )


with searches.answering():
    main()
