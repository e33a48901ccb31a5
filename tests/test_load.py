"""Several visitors at once, without browsers: nobody meets an error, everybody reads their own answer."""

import asyncio

from bench.load import Crowd, expected
from bench.server import running


def test_five_visitors_who_move_an_input_twice_read_the_right_numbers():
    with running() as server:
        crowd = asyncio.run(visited(server, sessions=5, moves=2))
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
