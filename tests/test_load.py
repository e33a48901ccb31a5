"""Several visitors at once, without browsers: nobody meets an error, everybody reads their own answer."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from bench.load import Crowd, expected
from bench.server import running


def test_five_visitors_who_move_an_input_twice_read_the_right_numbers():
    # In a thread of its own: where a browser was driven before, this one has a loop that still runs.
    with running() as server, ThreadPoolExecutor(1) as thread:
        crowd = thread.submit(lambda: asyncio.run(visited(server, sessions=5, moves=2))).result()
    assert crowd.faults == []
    assert [len(session.seconds) for session in crowd.sessions] == [3] * 5
    for session in crowd.sessions:
        assert session.metrics() == expected(session)


async def visited(server, sessions: int, moves: int) -> Crowd:
    crowd = Crowd([server], every_s=0.5)
    await crowd.come(sessions)
    await crowd.move(moves)
    await crowd.leave()
    return crowd
