import asyncio

import pytest
from jupyterlab_vram.server import stream
from jupyterlab_vram.server.stream import Mailbox
from tornado.websocket import WebSocketClosedError


class Line:
    """A connection whose other side takes one message each time ``take`` is called."""

    def __init__(self):
        self.offered = []
        self.hung_up = 0
        self._futures = []

    def send(self, message):
        self.offered.append(message)
        self._futures.append(asyncio.get_running_loop().create_future())
        return self._futures[-1]

    async def take(self):
        await asyncio.sleep(0)
        self._futures.pop(0).set_result(None)
        await asyncio.sleep(0.01)

    def hang_up(self):
        self.hung_up += 1


async def test_only_the_newest_of_each_kind_waits():
    line = Line()
    box = Mailbox(line.send, line.hang_up)
    for n in range(1000):
        box.put("snapshot", b"snapshot %d" % n)
        box.put("report 1", b"report %d" % n)
        await asyncio.sleep(0)
    assert len(line.offered) == 1
    assert len(box._waiting) == 2
    for _ in range(3):
        await line.take()
    assert line.offered[1:] == [b"report 999", b"snapshot 999"] or line.offered[1:] == [
        b"snapshot 999",
        b"report 999",
    ]
    assert not box._waiting


async def test_a_client_that_takes_nothing_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(stream, "STALL_LIMIT", 0.05)
    line = Line()
    box = Mailbox(line.send, line.hang_up)
    box.put("snapshot", b"1")
    await asyncio.sleep(0.2)
    assert line.hung_up == 1


async def test_a_slow_client_that_still_takes_is_kept(monkeypatch):
    monkeypatch.setattr(stream, "STALL_LIMIT", 0.2)
    line = Line()
    box = Mailbox(line.send, line.hang_up)
    for n in range(4):
        box.put("snapshot", b"%d" % n)
        await asyncio.sleep(0.1)
        await line.take()
    assert line.hung_up == 0
    assert line.offered == [b"0", b"1", b"2", b"3"]


async def test_a_closed_connection_ends_quietly():
    def send(_message):
        raise WebSocketClosedError

    box = Mailbox(send, lambda: pytest.fail("hung up on a client that is gone"))
    box.put("snapshot", b"1")
    await asyncio.sleep(0.01)
    assert box._sending.done() and box._sending.exception() is None
