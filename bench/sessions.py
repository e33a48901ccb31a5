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
    """One visitor on one page: its elements by their places, and what its widgets hold by their ids.

    `seconds` are the waits, one for the opening and one for each move.
    """

    server: Server
    query: str
    page: str = ""
    elements: dict[tuple[int, ...], Element] = field(default_factory=dict)
    held: dict[str, WidgetState] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    received_bytes: int = 0
    _page_hash: str = ""
    _socket: websockets.ClientConnection | None = None

    @classmethod
    async def open(cls, server: Server, link: dict[str, str], page: str = "") -> "Session":
        """Visit a page by a link and wait until it is drawn."""
        session = cls(server, urlencode(link), page)
        session._socket = await websockets.connect(
            server.address.replace("http", "ws", 1) + "/_stcore/stream",
            origin=server.address,
            subprotocols=["streamlit"],
            max_size=MESSAGE_BYTES,
            open_timeout=PATIENCE_S,
        )
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
        await self._socket.close()

    def metrics(self) -> list[str]:
        """The headline numbers, as the page shows them."""
        found = [element.metric.body for _, element in sorted(self.elements.items()) if element.HasField("metric")]
        return [_ESCAPED.sub(r"\1", body) for body in found]

    async def _run(self) -> None:
        """Ask for a run of the script, and take what it sends until it has finished."""
        message = BackMsg()
        run = message.rerun_script
        run.query_string, run.page_name, run.page_script_hash = self.query, self.page, self._page_hash
        run.context_info.url = f"{self.server.address}/{self.page}"
        run.widget_states.widgets.extend(self.held.values())
        start = time.perf_counter()
        await self._socket.send(message.SerializeToString())
        async with asyncio.timeout(PATIENCE_S):
            while not self._is_last(await self._socket.recv()):
                pass
        self.seconds.append(time.perf_counter() - start)

    def _is_last(self, content: bytes) -> bool:
        """Take one message of the server; whether the run ends with it."""
        message = ForwardMsg.FromString(content)
        self.received_bytes += len(content)
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._page_hash = message.new_session.page_script_hash
            self.elements.clear()
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.HasField("new_element"):
            self._take(tuple(message.metadata.delta_path), message.delta.new_element)
        return kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY

    def _take(self, place: tuple[int, ...], element: Element) -> None:
        if element.HasField("exception"):
            raise Failure(element.exception.message)
        if element.HasField("alert") and element.alert.format == Alert.ERROR:
            raise Failure(element.alert.body)
        self.elements[place] = element
        kind = element.WhichOneof("type")
        widget = getattr(element, kind)
        if kind in _SENT_AS and widget.set_value:
            self.held[widget.id] = WidgetState(id=widget.id, **_SENT_AS[kind](widget))
