"""Many visitors at once, without browsers: `make load`, and for memory over time `make soak`. They print.

    python -m bench.load [--sessions 50] [--moves 12] [--idle 200] [--processes 1]
    python -m bench.load soak [--minutes 30] [--sessions 10]

Several processes stand for replicas behind a proxy that keeps a visitor at one of them.

Every visitor has questions of their own, and every move asks for an answer that nobody has asked for before: nothing
of what is measured comes from the caches of answers. At the end each visitor's headline numbers are compared with
those of `evaluate`; a wrong one counts as an error, as a refusal or a broken connection does.
"""

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

import numpy as np
from websockets.exceptions import WebSocketException

from bench.server import Server, running
from bench.sessions import Failure, Session
from gpudash import evaluate, load_catalogue, share
from gpudash.figures.overview import headline
from gpudash.text import Text

MODELS = ("llama-3.1-8b", "llama-3.1-70b", "qwen2.5-32b")
# What is moved, within which bounds; the first changes how many servers are needed, the second what each of them does.
INPUTS = {"traffic.peak_requests_per_s": (1, 40), "workload.context_tokens": (200, 4000), "budget.amount": (2e5, 4e5)}
SESSIONS, SOAK_SESSIONS = 50, 10
EVERY_S = 5
IDLE_S = 30
SAMPLE_S = 15
MOST_SESSIONS, MOST_MOVES, MOST_MINUTES, MOST_PROCESSES = 500, 500, 120, 8
RANDOM_STATE = 20261130
FAULTS = (Failure, WebSocketException, OSError, TimeoutError)


@dataclass
class Crowd:
    """Visitors, in turn of one process of the server and of the next, and what went wrong for them."""

    servers: Sequence[Server]
    every_s: float = EVERY_S
    dice: random.Random = field(default_factory=lambda: random.Random(RANDOM_STATE))
    sessions: list[Session] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    async def come(self, count: int) -> None:
        """So many more visitors, one after the other."""
        for _ in range(count):
            path, value = self._input()
            link = {"v": "1", "lang": "en", "workload.model": self.dice.choice(MODELS), path: value}
            try:
                self.sessions.append(await Session.open(self.servers[len(self.sessions) % len(self.servers)], link))
            except FAULTS as fault:
                self.faults.append(repr(fault))

    async def move(self, moves: int) -> None:
        """Everybody moves an input so many times, each in a rhythm of their own."""
        await asyncio.gather(*(self._moves(session, moves) for session in self.sessions))

    async def leave(self) -> None:
        for outcome in await asyncio.gather(*(session.close() for session in self.sessions), return_exceptions=True):
            if outcome is not None:
                self.faults.append(repr(outcome))

    def cpu_s(self) -> float:
        return sum(server.cpu_s() for server in self.servers)

    def memory_mb(self) -> float:
        return sum(server.memory_mb() for server in self.servers)

    def check(self) -> None:
        """Whether everybody sees the answer to the question in their address."""
        for session in self.sessions:
            if session.metrics() != expected(session):
                self.faults.append(f"wrong answer at {session.query}")

    async def _moves(self, session: Session, moves: int) -> None:
        await asyncio.sleep(self.dice.uniform(0, self.every_s))
        try:
            for _ in range(moves):
                start = time.monotonic()
                await session.move(*self._input())
                await asyncio.sleep(max(self.every_s - (time.monotonic() - start), 0))
        except FAULTS as fault:
            self.faults.append(repr(fault))

    def _input(self) -> tuple[str, float]:
        """One of the inputs and a new value for it."""
        path = self.dice.choice(list(INPUTS))
        value = self.dice.uniform(*INPUTS[path])
        return path, round(value) if path.endswith("_tokens") else round(value, 2)


def expected(session: Session) -> list[str]:
    """The headline numbers of the question in a session's address."""
    scenario = share.decode(dict(parse_qsl(session.query)))
    return [metric.value for metric in headline(evaluate(scenario, load_catalogue()), Text("en"))]


async def load(servers: Sequence[Server], sessions: int, moves: int, idle: int) -> None:
    """Visitors who move an input every few seconds, then many more who only look."""
    crowd = Crowd(servers)
    await crowd.come(sessions)
    opened_s = [session.seconds[0] for session in crowd.sessions]
    cpu_s, start = crowd.cpu_s(), time.monotonic()
    await crowd.move(moves)
    cpu_s, taken_s = crowd.cpu_s() - cpu_s, time.monotonic() - start
    waits = [wait for session in crowd.sessions for wait in session.seconds[1:]]
    held = f"{len(crowd.sessions):6d}     sessions held by {len(servers)} process(es)"
    print(f"{held}, each moving an input every {EVERY_S} s: {len(waits)} moves")
    print_waits("to open a session", opened_s)
    print_waits("from an input to its result", waits)
    print(f"{cpu_s / max(len(waits), 1) * 1000:6.0f} ms  processor time of the server per move")
    print(f"{cpu_s / taken_s:6.2f}     cores busy on average")
    if idle:
        await hold(crowd, idle)
    await crowd.leave()
    crowd.check()
    print_faults(crowd)


async def hold(crowd: Crowd, idle: int) -> None:
    """So many more visitors, who only look; what memory they take."""
    before_mb = crowd.memory_mb()
    await crowd.come(idle)
    await asyncio.sleep(IDLE_S)
    held_mb = crowd.memory_mb()
    print(f"{len(crowd.sessions):6d}     sessions held, {idle} of them idle for {IDLE_S} s and more")
    print(f"{held_mb:6.0f} MB  memory of the server; {(held_mb - before_mb) / idle:.2f} MB per idle session")


async def soak(servers: Sequence[Server], sessions: int, minutes: float) -> None:
    """Visitors who go on moving; whether the memory of the server goes on growing."""
    crowd = Crowd(servers)
    await crowd.come(sessions)
    moving = asyncio.create_task(crowd.move(int(minutes * 60 / EVERY_S)))
    start, samples = time.monotonic(), []
    while not moving.done():
        await asyncio.wait({moving}, timeout=SAMPLE_S)
        samples.append((time.monotonic() - start, crowd.memory_mb()))
        print(f"{samples[-1][0] / 60:6.1f} min {samples[-1][1]:6.0f} MB", flush=True)
    print_waits("from an input to its result", [wait for session in crowd.sessions for wait in session.seconds[1:]])
    later = samples[len(samples) // 2 :]
    slope_mb_per_s = np.polyfit(*zip(*later), 1)[0] if len(later) > 1 else float("nan")
    print(f"{slope_mb_per_s * 3600:+6.0f} MB  an hour, over the second half")
    await crowd.leave()
    crowd.check()
    print_faults(crowd)


def print_waits(what: str, waits_s: list[float]) -> None:
    if len(waits_s) > 1:
        p95_s = statistics.quantiles(waits_s, n=20)[-1]
        print(f"{statistics.median(waits_s) * 1000:6.0f} ms  {what}, median; 95th percentile {p95_s * 1000:.0f} ms")


def print_faults(crowd: Crowd) -> None:
    print(f"{len(crowd.faults):6d}     errors")
    for fault in crowd.faults[:5]:
        print(f"           {fault}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="?", choices=("load", "soak"), default="load")
    parser.add_argument(
        "--sessions", type=int, help=f"{SESSIONS}, for a soak {SOAK_SESSIONS}: one core keeps up with them"
    )
    parser.add_argument("--moves", type=int, default=12)
    parser.add_argument("--idle", type=int, default=200)
    parser.add_argument("--processes", type=int, default=1, choices=range(1, MOST_PROCESSES + 1))
    parser.add_argument("--minutes", type=float, default=30)
    asked = parser.parse_args()
    sessions = asked.sessions or {"load": SESSIONS, "soak": SOAK_SESSIONS}[asked.kind]
    if max(sessions + asked.idle - MOST_SESSIONS, asked.moves - MOST_MOVES, asked.minutes - MOST_MINUTES) > 0:
        parser.error(f"at most {MOST_SESSIONS} sessions, {MOST_MOVES} moves and {MOST_MINUTES} minutes")
    with ExitStack() as stack:
        servers = [stack.enter_context(running()) for _ in range(asked.processes)]
        if asked.kind == "load":
            asyncio.run(load(servers, sessions, asked.moves, asked.idle))
        else:
            asyncio.run(soak(servers, sessions, asked.minutes))


if __name__ == "__main__":
    main()
