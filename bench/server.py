"""The dashboard on a free port of this machine, for measuring and for journeys: started, waited for, stopped again."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START_S = 60
STOP_S = 20
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
MB_PER_KB = 1024 / 1e6


@dataclass(frozen=True)
class Server:
    """A server that runs: where it answers, and what it has used so far."""

    port: int
    process_id: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cpu_s(self) -> float:
        """Processor time since the start, of all threads; nan where the system does not say (only Linux does)."""
        try:
            # the second field, the name, may hold spaces, but no closing bracket after its own
            fields = Path(f"/proc/{self.process_id}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return float("nan")
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S

    def memory_mb(self) -> float:
        """Resident memory now; nan where the system does not say."""
        try:
            lines = Path(f"/proc/{self.process_id}/status").read_text().splitlines()
        except OSError:
            return float("nan")
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) * MB_PER_KB


@contextmanager
def running(
    folder: Path = ROOT, log: Path = Path(os.devnull), port: int | None = None, **environment: str
) -> Iterator[Server]:
    """A server that nobody has visited yet; it is stopped at the end, whatever happened.

    `folder` holds the program, `log` takes what it prints, `environment` is added to that of this process; without a
    `port` it takes a free one.
    """
    port = port or free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    options = ["--server.port", str(port), "--server.address", "127.0.0.1"]
    with log.open("wb") as printed:
        process = subprocess.Popen(
            command + options, cwd=folder, env=os.environ | environment, stdout=printed, stderr=subprocess.DEVNULL
        )
    server = Server(port, process.pid)
    try:
        until_ready(server.address)
        yield server
    finally:
        process.terminate()
        process.wait(timeout=STOP_S)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def until_ready(address: str) -> None:
    """Wait until the dashboard answers there."""
    give_up = time.monotonic() + START_S
    while time.monotonic() < give_up:
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=2) as answer:
                if answer.read() == b"ready":
                    return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(address)
