"""The blocks a page is built of: `begin(page)` and what a Page can draw.

Every block takes functions `(result, text)` of gpudash.figures; what they return is kept per scenario and language.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from time import monotonic, sleep

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gpudash import share
from gpudash.brief import Brief, as_read
from gpudash.catalogue import snapshots
from gpudash.errors import GpudashError
from gpudash.figures.compare import Compared
from gpudash.figures.money import text_for
from gpudash.figures.table import Column, PageLink, Table, rows_where, rows_with
from gpudash.newer_prices import newer_prices
from gpudash.result import Result
from gpudash.svg import svg
from gpudash.text import Text
from ui import downloads, observe, searches, state
from ui.actions import actions
from ui.chart import Chart
from ui.comparison import chooser
from ui.fields import PERCENT, field, sentence
from ui.literal import cell, literal
from ui.memo import View
from ui.names import known_names
from ui.offer_filter import offer_filter
from ui.own_prices import own_prices
from ui.rows import rows
from ui.searches import Begin, Search
from ui.weights import scoring, weights
from ui.worked_examples import worked_examples

PAGES = Path(__file__).resolve().parents[1] / "pages"
PRINT_STYLE = Path(__file__).with_name("print.css")
CHART_CONFIG = {"displaylogo": False, "modeBarButtons": [["toImage"]]}
LINE_BREAK = "  \n"  # in Markdown
METRICS_IN_A_ROW = 4
PROSE_CHARACTERS = 80  # a table with longer cells becomes lines on a phone
TABLE_ROW_PX, TABLE_ROWS_SHOWN = 35, 14

ComparedView = Callable[[Compared, Text], object]
Grown = Callable[[object, Result, Text], object]  # a view of what a search has found so far


class Page:
    """One page: its title, then the blocks in the order in which the page calls for them."""

    def __init__(self, name: str):
        self.name = name
        self.text = state.text()
        self.scenario = state.scenario()
        self._inputs = state.desk().page_inputs = []
        self._failed: set[str] = set()
        self._searches: list[tuple[DeltaGenerator, Begin, tuple[Grown, ...]]] = []

    @cached_property
    def result(self) -> Result:
        """The answer; without one the page says why and ends."""
        try:
            return state.desk().answer(self.scenario)
        except GpudashError as error:
            st.error(literal(sentence(error, self.text)), icon=":material/block:")
            st.stop()

    @cached_property
    def answer_text(self) -> Text:
        """The sentences about the answer, their money in the currency of the page."""
        return text_for(self.scenario, self.result.catalogue, self.text.language)

    @property
    def answered(self) -> bool:
        """Whether anything can be recommended."""
        return self.result.recommendation is not None

    def show(self, function: View):
        """What a view has to show; None where it has nothing, and where the program fails in it."""
        scenario = self.result.scenario  # without an answer no part stands, and the page ends
        with self._surviving(function.__name__):
            return state.desk().view(function, scenario, self.text.language)

    @contextmanager
    def _surviving(self, part: str) -> Iterator[None]:
        """A part that fails says so in its place, once; the rest of the page goes on."""
        try:
            yield
        except GpudashError as error:
            st.error(literal(sentence(error, self.text)), icon=":material/block:")
        except Exception as error:
            if part not in self._failed:
                self._failed.add(part)
                observe.fault(f"{self.name}.{part}", error)
                st.error(literal(self.text("frame.part_failed", part=f"{self.name}.{part}")), icon=":material/error:")

    def say(self, name: str, **values) -> None:
        """A sentence of the page's topic."""
        st.markdown(literal(self.text(f"{self.name}.{name}", **values)))

    def section(self, name: str, *views: View) -> None:
        """A heading; where the views under it are named, only if one of them has something to show."""
        if views and not any(self.show(view) for view in views):
            return
        st.subheader(literal(self.text(f"{self.name}.{name}")), anchor=False)

    def title(self) -> None:
        """The page's own title."""
        st.header(literal(self.text(f"{self.name}.title")), anchor=False)

    def headings(self, function: View) -> None:
        """A title made from the answer: the first line large, the others under it."""
        lines = self.show(function) or ()
        for line in lines[:1]:
            st.header(literal(line), anchor=False)
        for line in lines[1:]:
            st.caption(literal(line))

    def opening(self, function: View) -> None:
        """A title made from the answer and, beside it, what one does with the answer."""
        with st.container(horizontal=True, vertical_alignment="center", key=f"{self.name}.opening"):
            with st.container():
                self.headings(function)
            if self.answered:
                actions(self.brief, self.name)

    def explain(self, name: str) -> None:
        """A quiet line on how to read what follows."""
        st.caption(literal(self.text(f"{self.name}.{name}")))

    def fields(self, *paths: str, columns: int = 3) -> None:
        """Inputs side by side, each drawn by its type."""
        self._inputs += paths
        for start, column in enumerate(st.columns(columns)):
            with column:
                for path in paths[start::columns]:
                    field(path)

    def more(self, name: str, *paths: str, columns: int = 3) -> None:
        """Inputs that few need, folded; drawn only when opened."""
        self._inputs += paths
        with self._fold(f"{self.name}.{name}", self.text(f"{self.name}.{name}")) as fold:
            if fold.open:
                self.fields(*paths, columns=columns)

    def rows(self, path: str) -> None:
        """An input that is a list of rows, as an editable table."""
        self._inputs.append(path)
        rows(path)

    def weights(self, function: View) -> None:
        """The choice of a scoring, and its weights, folded, as sliders."""
        self._inputs.append("priorities.framework")
        scoring()
        items = self.show(function)
        if items is None:
            return
        self._inputs.append("priorities.weights")
        with self._fold(f"{self.name}.weights", self.text(f"{self.name}.weights")) as fold:
            if fold.open:
                weights(items, self.text)

    def worked_examples(self) -> None:
        """The calculable claims, with every number to move."""
        worked_examples(self.text)

    @cached_property
    def brief(self) -> Brief:
        """The answer as what management reads."""
        return Brief(self.result, self.answer_text, state.link())

    def newer_prices(self) -> None:
        """Where the answer was made with older prices: what it would be with the newest, and the way there."""
        newest = snapshots()[-1]
        if self.scenario.catalogue.snapshot in (None, newest):
            return
        with suppress(GpudashError):  # without an answer there is nothing to compare
            said = newer_prices(state.desk().answer(self.scenario))
            if said is None:
                return
            st.info(literal(self.text.say(said)), icon=":material/update:")
            label = literal(self.text("newer_prices.take", snapshot=self.text.date(newest)))
            take = state.changer("catalogue.snapshot")
            st.button(label, on_click=take, args=(newest,), key=f"{self.name}.newest", type="tertiary")

    def documents(self) -> None:
        """The answer as files to read."""
        downloads.documents(self.brief)

    def printable(self) -> None:
        """Let the browser print what is to be read, and nothing to operate."""
        st.html(PRINT_STYLE)

    def actions(self) -> None:
        """The answer as files to run, under a heading of their own."""
        with st.container(key=f"{self.name}.actions"):
            self.section("section_actions")
            self.explain("actions_help")
            downloads.actions(self.brief)

    def pass_on(self) -> None:
        """The link to this decision: to copy, as a code, as a mail."""
        self.section("section_link")
        downloads.pass_on(self.brief)

    def tabs(self, **draws: Callable[[], None]) -> None:
        """One tab per name, its label under `tab_<name>`; only the open one is drawn."""
        labels = [literal(self.text(f"{self.name}.tab_{name}")) for name in draws]
        for tab, draw in zip(st.tabs(labels, key=f"{self.name}.tabs", on_change="rerun"), draws.values()):
            if tab.open:
                with tab:
                    draw()

    def _fold(self, key: str, label: str, type: str = "default"):
        """A fold that knows whether it is open, so that what nobody looks at is not made."""
        return st.expander(literal(label), key=key, on_change="rerun", type=type)

    def card(self, function: View, badge: View | None = None) -> None:
        """The answer: one large sentence and the smaller ones under it, in a frame; a badge where one is due."""
        lines, due = self.show(function), badge and self.show(badge)
        if not lines:
            return
        with st.container(border=True, key=f"{self.name}.card"):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.subheader(literal(lines[0]), anchor=False, width="content")
                if due:
                    st.badge(literal(due), icon=":material/schedule:", color="orange")
            st.markdown(LINE_BREAK.join(map(literal, lines[1:])))

    def notice(self, function: View) -> None:
        """The one thing to watch out for, if there is one."""
        said = self.show(function)
        if said:
            st.warning(literal(said), icon=":material/warning:")

    def sentences(self, function: View) -> None:
        """Each sentence as one point of a list."""
        _draw_points(self.show(function))

    def quiet(self, function: View) -> None:
        """Sentences that stand back, as one caption."""
        said = self.show(function)
        if said:
            st.caption(LINE_BREAK.join(map(literal, said)))

    def listed(self, heading: str, function: View) -> None:
        """Sentences under a heading of their own; nothing at all where there are none."""
        self.section(heading, function)
        self.sentences(function)

    def metrics(self, function: View, derived: View | None = None) -> None:
        """Headline numbers; each opens to how it comes about."""
        items = self.show(function) or ()
        columns = st.columns(METRICS_IN_A_ROW)
        for number, (item, column) in enumerate(zip(items, columns)):
            with column.container(border=True, key=f"{self.name}.metric_{number}"):
                st.metric(
                    literal(item.label),
                    literal(item.value),
                    item.note and literal(item.note),
                    delta_color="off",
                    delta_arrow="off",
                    help=literal(item.help),
                )
                if derived is not None:
                    self._formula(derived, number)

    def _formula(self, derived: View, number: int) -> None:
        """How one headline number comes about, made when it is opened."""
        label, key = literal(self.text("frame.formula")), f"{self.name}.formula_{number}"
        icon = ":material/function:"
        with st.popover(label, icon=icon, type="tertiary", key=key, on_change="rerun", help=label) as opened:
            formulas = self.show(derived) if opened.open else None
            if formulas:
                _draw_points(formulas[number])

    def figure(self, function: View, *, on_paper: bool = False) -> None:
        """A chart under its finding, its source, and its numbers as a table on demand.

        `on_paper` adds a drawing that only paper shows: browsers empty the other one while they print.
        """
        chart = self.show(function)
        if chart is not None:
            self._draw_chart(chart, f"{self.name}.{function.__name__}", on_paper)

    def tree(self, function: View, name: str, steps: View, fallen: Callable[[Result, Text, str, int], Table]) -> None:
        """A decision tree; whoever fell at the step that was clicked, or chosen below it, stands in a table."""
        chart, key = self.show(function), f"{self.name}.{name}"
        if chart is None:
            return
        clicked = self._draw_chart(chart, key, on_select="rerun").selection.points
        options, chosen, seen = self.show(steps)[name], f"{key}.step", f"{key}.clicked"
        number = clicked[0]["customdata"] if clicked else None
        if number != st.session_state.get(seen):
            st.session_state[seen] = number
            st.session_state[chosen] = number if number in options else None
        label = literal(self.text(f"{self.name}.who_fell"))
        empty = self.text("frame.not_set")
        step = st.selectbox(label, list(options), index=None, format_func=options.get, key=chosen, placeholder=empty)
        if step is not None:
            self._draw_titled_table(fallen(self.result, self.text, name, step), f"{key}.fallen")

    def _draw_chart(self, chart: Chart, key: str, on_paper: bool = False, on_select: str = "ignore"):
        with st.container(key=f"{key}.block"):
            st.markdown("**" + literal(chart.title) + "**")
            drawn = st.plotly_chart(chart.drawing, key=key, config=CHART_CONFIG, alt=chart.title, on_select=on_select)
            if on_paper:
                with st.container(key=f"{key}.on_paper"):
                    st.image(svg(chart.drawing), width="stretch", alt=chart.title)
            with st.container(horizontal=True):
                st.caption(literal(chart.source))
                self._as_table(chart.numbers, key)
        return drawn

    def _as_table(self, numbers: Table, key: str) -> None:
        """The numbers of a chart, made when they are asked for."""
        label = literal(self.text("frame.as_table"))
        with st.popover(label, type="tertiary", key=f"{key}.numbers", on_change="rerun") as opened:
            if opened.open:
                _draw_table(numbers, f"{key}.table")
                downloads.table(numbers, self.brief, f"{key}.numbers")

    def table(self, function: View) -> None:
        """A table, sortable, with its source and its CSV."""
        shown = self.show(function)
        if shown is not None:
            self._draw_titled_table(shown, f"{self.name}.{function.__name__}")

    def filtered_table(self, function: View, *names: str) -> None:
        """A table to search in, with the columns `column_<name>` to choose values from."""
        shown, key = self.show(function), f"{self.name}.{function.__name__}"
        if shown is None:
            return
        for name in names:
            label = self.text(f"{self.name}.column_{name}")
            values = next(column.values for column in shown.columns if column.label == label)
            distinct = list(dict.fromkeys(values))
            chosen = st.pills(literal(label), distinct, selection_mode="multi", key=f"{key}.{name}")
            shown = rows_where(shown, label, set(chosen or distinct))
        words = st.text_input(literal(self.text(f"{self.name}.search")), key=f"{key}.search", max_chars=80)
        self._draw_titled_table(rows_with(shown, words), key)

    def _draw_titled_table(self, shown: Table, key: str) -> None:
        st.markdown("**" + literal(shown.title) + "**")
        _draw_table(shown, key)
        self._take_along(shown, key)

    def _take_along(self, shown: Table, key: str) -> None:
        """Under a table its source, and the table as a file."""
        with st.container(horizontal=True, vertical_alignment="center"):
            if shown.source:
                st.caption(literal(shown.source))
            downloads.table(shown, self.brief, key)

    def printed(self, function: View) -> None:
        """A short table with every word of it visible, as on paper."""
        shown = self.show(function)
        if shown is not None:
            self._print(shown, f"{self.name}.{function.__name__}")

    def _print(self, shown: Table, key: str) -> None:
        st.markdown("**" + literal(shown.title) + "**")
        cells = {
            literal(column.label): [literal(as_read(value, column.kind, self.text)) for value in column.values]
            for column in shown.columns
        }
        is_prose = any(len(cell) > PROSE_CHARACTERS for column in cells.values() for cell in column)
        with st.container(key=f"{key}.{'prose' if is_prose else 'short'}"):
            st.table(pd.DataFrame(cells), border="horizontal", hide_index=True, alt=shown.title)
        self._take_along(shown, key)

    def folded_table(self, function: View) -> None:
        """A long table, made only when it is opened."""
        key = f"{self.name}.{function.__name__}"
        with self._fold(f"{key}.fold", self.text(f"{self.name}.{function.__name__}")) as fold:
            if fold.open:
                self.table(function)

    def folded(self, name: str, *views: View) -> None:
        """What takes a moment to work out, made only when it is opened; nothing where there is nothing to show."""
        with self._fold(f"{self.name}.{name}.fold", self.text(f"{self.name}.{name}")) as fold:
            if fold.open:
                with st.spinner(literal(self.text("frame.working"))):
                    shown = [(view, self.show(view)) for view in views]
                for view, made in shown:
                    draw = {Chart: self.figure, Table: self.table}.get(type(made), self.sentences)
                    draw(view)

    def gradually(self, begin: Begin, *views: Grown) -> None:
        """The place of a long search on the page; `work` fills it, after all that can be drawn at once."""
        self._searches.append((st.container(), begin, views))

    def work(self) -> None:
        """Take the searches step by step and show what they have found so far; the last thing a page does."""
        found = [state.desk().search(begin, self.result.scenario) for _, begin, _ in self._searches]
        if not all(search.is_done for search in found):
            state.store()  # the address need not wait
            searches.answered()
            _pause()
        for (place, begin, views), search in zip(self._searches, found):
            with place, self._surviving(begin.__name__):
                self._grow(search, f"{self.name}.{begin.__name__}", views)

    def _grow(self, found: Search, key: str, views: tuple[Grown, ...]) -> None:
        """Points while it runs, everything once it is done or held; any click interrupts it, the next run goes on."""
        status, points = st.empty(), st.empty()
        if not found.is_done:
            with status.container():
                goes_on = st.toggle(literal(self.text("frame.search")), value=True, key=f"{key}.on")
                progress = st.progress(0.0)
            while goes_on and not found.is_done:
                before = found.found
                found.step(state.desk)  # using the session is where a new run takes over
                if found.found is not before:
                    progress.progress(found.found.fraction)
                    with points.container():
                        _draw_points(views[0](found.found, self.result, self.answer_text))
        if found.is_done:
            status.empty()
        points.empty()
        for view in views if found.found is not None else ():
            self._draw(view(found.found, self.result, self.answer_text), f"{key}.{view.__name__}")

    def offers(self, *views: Grown) -> None:
        """The filters of the catalogue, and views of the offers that they let through."""
        chosen = offer_filter(self.scenario, self.text)
        for view in views:
            with self._surviving(view.__name__):
                self._draw(view(chosen, self.result, self.answer_text), f"{self.name}.{view.__name__}")

    def why_not(self, view: Grown) -> None:
        """A question about one GPU, and what a view answers."""
        gpus = known_names("requirements.gpus_in", self.scenario.catalogue.snapshot)
        asked = st.selectbox(
            literal(self.text("why_not.ask")),
            gpus,
            index=None,
            key=f"{self.name}.why_not",
            placeholder=literal(self.text("why_not.choose")),
        )
        if asked is not None:
            with self._surviving(view.__name__):
                _draw_points(view(asked, self.result, self.answer_text))

    def own_prices(self) -> None:
        """The way to bring prices of one's own, folded until it is used."""
        desk = state.desk()
        key, is_open = f"{self.name}.own_prices", bool(desk.own or desk.scenario.catalogue.own_sheet)
        with st.expander(literal(self.text("own_prices.title")), expanded=is_open, key=key, on_change="rerun") as fold:
            if fold.open:
                own_prices(desk, self.text, self._draw_titled_table)

    def compared(self, *views: ComparedView) -> None:
        """The chooser of scenarios, and views of those that stand side by side; at the end their common link."""
        compared = chooser(self.result, self.answer_text)
        if len(compared.results) == 1:
            self.explain("nothing_yet")
            return
        for view in views:
            with self._surviving(view.__name__):
                self._draw_compared(view(compared, self.answer_text), f"{self.name}.{view.__name__}")
        self._comparison_link()

    def _draw_compared(self, shown, key: str) -> None:
        if isinstance(shown, Table):
            with st.container(key=f"{key}.stacked"):
                self._print(shown, key)
        elif isinstance(shown, tuple):
            self._multiples(shown, key)
        else:
            self._draw(shown, key)

    def _multiples(self, charts: tuple[go.Figure, ...], key: str) -> None:
        """Several charts on the same axes, beside each other."""
        for number, (chart, column) in enumerate(zip(charts, st.columns(max(len(charts), 1)))):
            with column:
                self._draw_chart(Chart.of(chart), f"{key}.{number}")

    def _comparison_link(self) -> None:
        with self._fold(f"{self.name}.link", self.text(f"{self.name}.link")) as fold:
            if fold.open:
                st.code(state.comparison_link(), language=None, wrap_lines=True)
                is_whole = share.COMPARED in share.encode_compared(self.scenario, state.desk().compared)
                self.explain("link_help" if is_whole else "link_lacks")

    def _draw(self, shown, key: str) -> None:
        if isinstance(shown, go.Figure):
            self._draw_chart(Chart.of(shown), key)
        elif isinstance(shown, Table):
            self._draw_titled_table(shown, key)
        elif isinstance(shown, PageLink):
            st.page_link(PAGES / f"{shown.page}.py", label=literal(shown.label), icon=":material/arrow_forward:")
        else:
            _draw_points(shown)

    def side_by_side(self, *draws: Callable[[], None]) -> None:
        """Blocks beside each other, under each other on a phone."""
        for draw, column in zip(draws, st.columns(len(draws))):
            with column:
                draw()


def begin(name: str) -> Page:
    """A page with its title drawn and, where the link could not be read, the reason."""
    page = Page(name)
    error = state.refusal(state.LINK)
    if error is not None:
        st.error(literal(sentence(error, page.text)), icon=":material/link_off:")
    page.newer_prices()
    return page


def _pause() -> None:
    """Wait before long steps, so that a person who moves an input again is answered at once."""
    rested = monotonic() + searches.PAUSE_S
    while monotonic() < rested:
        sleep(searches.GLANCE_S)
        state.desk()  # using the session is where a new run takes over


def _draw_points(lines) -> None:
    if lines:
        st.markdown("\n".join(f"- {literal(line)}" for line in lines))


def _draw_table(shown: Table, key: str) -> None:
    """A table to scroll and sort in; a column in which nothing stands is left out."""
    columns = [
        column for column in shown.columns if not shown or any(value not in (None, "") for value in column.values)
    ]
    frame = pd.DataFrame({column.label: _cells(column) for column in columns})
    config = {column.label: _column_config(column) for column in columns}
    height = "content" if len(shown) <= TABLE_ROWS_SHOWN else TABLE_ROW_PX * (TABLE_ROWS_SHOWN + 1)
    st.dataframe(frame, hide_index=True, column_config=config, height=height, key=key, placeholder="", alt=shown.title)


def _cells(column: Column) -> list:
    if column.kind == "percent":
        return [value if value is None else PERCENT * value for value in column.values]
    return [cell(value) for value in column.values]


def _column_config(column: Column):
    """A number is rounded as it is printed: a `step` would cut off what lies behind it."""
    if column.kind == "text":
        return st.column_config.TextColumn()
    if column.kind == "percent":
        return st.column_config.NumberColumn(format=f"%.{_percent_digits(column.values)}f%%")
    return st.column_config.NumberColumn(format=f"%,.{_digits(column.values)}f")


def _percent_digits(values: tuple) -> int:
    """As in sentences: one digit where a share below 10 % has one to show, two where 99.95 % stands."""
    known = [abs(value) for value in values if value is not None]
    if any(0.99 < value < 1 for value in known):
        return 2
    return int(any(round(PERCENT * value, 1) % 1 for value in known if value < 0.1))


def _digits(values: tuple) -> int:
    """Digits shown in a column of numbers: none where all are from 100 on, as in sentences."""
    known = [abs(value) for value in values if value]
    least, largest = min(known, default=0), max(known, default=0)
    if least >= 100 or all(float(value).is_integer() for value in known):
        return 0
    return 2 if largest >= 1 else 4
