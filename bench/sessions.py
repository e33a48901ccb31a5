"""A visitor without a browser: one session of the dashboard, held by the framework's own websocket messages."""

import asyncio
import re
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode

import websockets
from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from bench.server import Server

PATIENCE_S = 60
MESSAGE_BYTES = 50_000_000
_ESCAPED = re.compile(r"\\(.)")


# How the browser sends back what each kind of widget holds; one that is empty is sent without a value.
_SENT_AS = {
    "number_input": lambda widget: {"double_value": widget.value} if widget.HasField("value") else {},
    "slider": lambda widget: {"double_array_value": {"data": widget.value}},
    "selectbox": lambda widget: {"string_value": widget.raw_value} if widget.HasField("raw_value") else {},
    "multiselect": lambda widget: {"string_array_value": {"data": widget.raw_values}},
    "button_group": lambda widget: {"string_array_value": {"data": widget.raw_values}},
}


class Failure(Exception):
    """The page shows an error instead of its answer, or lacks what it must have."""


@dataclass
class Session:
    """One visitor of the Overview: its elements by their places, and what its widgets hold by their ids.

    The page has answered when it has written its address, or has finished; then it may go on with a long search, which
    the next move breaks off. `seconds` are the waits for answers, one for the opening and one for each move.
    """

    server: Server
    query: str
    elements: dict[tuple[int, ...], Element] = field(default_factory=dict)
    held: dict[str, WidgetState] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    _page_hash: str = ""
    _is_new_run: bool = False
    _answered: asyncio.Event = field(default_factory=asyncio.Event)
    _socket: websockets.ClientConnection | None = None
    _reading: asyncio.Task | None = None

    @classmethod
    async def open(cls, server: Server, link: dict[str, object]) -> "Session":
        """Visit the Overview by a link and wait for its answer."""
        session = cls(server, urlencode(link))
        session._socket = await websockets.connect(
            server.address.replace("http", "ws", 1) + "/_stcore/stream",
            origin=server.address,
            subprotocols=["streamlit"],
            max_size=MESSAGE_BYTES,
            open_timeout=PATIENCE_S,
        )
        session._reading = asyncio.create_task(session._read())
        await session._run()
        return session

    async def move(self, path: str, value: float) -> None:
        """Set the number of one input, and wait until the page has followed."""
        key = next((key for key in self.held if key.endswith(f"-{path}")), None)
        if key is None:
            raise Failure(f"no input {path} on the page")
        self.held[key] = WidgetState(id=key, double_value=value)
        await self._run()

    async def close(self) -> None:
        """Leave; raises what had broken the page since it was last waited for."""
        await self._socket.close()
        await self._reading

    def metrics(self) -> list[str]:
        """The headline numbers, as the page shows them."""
        found = [element.metric.body for _, element in sorted(self.elements.items()) if element.HasField("metric")]
        return [_ESCAPED.sub(r"\1", body) for body in found]

    async def _run(self) -> None:
        """Ask for a run of the script and wait for its answer; what breaks the page meanwhile is raised."""
        message = BackMsg()
        run = message.rerun_script
        run.query_string, run.page_script_hash, run.context_info.url = self.query, self._page_hash, self.server.address
        run.widget_states.widgets.extend(self.held.values())
        self._is_new_run = False
        self._answered.clear()
        start = time.perf_counter()
        await self._socket.send(message.SerializeToString())
        answered = asyncio.create_task(self._answered.wait())
        await asyncio.wait({answered, self._reading}, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        answered.cancel()
        if self._reading.done():
            self._reading.result()
        if not self._answered.is_set():
            raise Failure(f"no answer within {PATIENCE_S} s")
        self.seconds.append(time.perf_counter() - start)

    async def _read(self) -> None:
        """Take what the server sends, until it or the visitor closes."""
        async for content in self._socket:
            self._take(ForwardMsg.FromString(content))

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._is_new_run, self._page_hash = True, message.new_session.page_script_hash
            self.elements.clear()
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.HasField("new_element"):
            self._show(tuple(message.metadata.delta_path), message.delta.new_element)
        is_finished = kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
        if self._is_new_run and (is_finished or kind == "page_info_changed"):
            self._answered.set()

    def _show(self, place: tuple[int, ...], element: Element) -> None:
        if element.HasField("exception"):
            raise Failure(element.exception.message)
        if element.HasField("alert") and element.alert.format == Alert.ERROR:
            raise Failure(element.alert.body)
        self.elements[place] = element
        kind = element.WhichOneof("type")
        widget = getattr(element, kind)
        if kind in _SENT_AS and widget.set_value:
            self.held[widget.id] = WidgetState(id=widget.id, **_SENT_AS[kind](widget))
