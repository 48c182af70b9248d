"""Browsers, as far as the server sees them: WebSocket clients that take every message."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tornado.websocket import WebSocketClientConnection, websocket_connect

from .server import JupyterServer


class Received:
    """What the first of them has got."""

    def __init__(self) -> None:
        self.last = ""
        self._changed = threading.Condition()
        self._messages = 0

    def add(self, message: str) -> None:
        with self._changed:
            self.last = message
            self._messages += 1
            self._changed.notify_all()

    def wait(self, messages: int) -> None:
        """Until so many more have come. Raises TimeoutError after a minute."""
        with self._changed:
            wanted = self._messages + messages
            if not self._changed.wait_for(lambda: self._messages >= wanted, 60):
                raise TimeoutError("The server sent no readings.")


@contextmanager
def browsers(server: JupyterServer, count: int) -> Iterator[Received]:
    """So many browsers that look, each of which has got its first message."""
    received = Received()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="browsers")
    thread.start()
    url = f"ws://{server.address}/jupyterlab-vram/stream?token={server.token}"

    async def connect() -> list[asyncio.Task[None]]:
        connections = [await websocket_connect(url) for _ in range(count)]
        for connection in connections:
            received.add(str(await connection.read_message()))
        return [
            loop.create_task(read(connection, received if number == 0 else None))
            for number, connection in enumerate(connections)
        ]

    tasks: list[asyncio.Task[None]] = []
    try:
        tasks = asyncio.run_coroutine_threadsafe(connect(), loop).result(60)
        yield received
    finally:
        asyncio.run_coroutine_threadsafe(end(tasks), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    for task in tasks:
        if not task.cancelled():
            task.result()


async def read(connection: WebSocketClientConnection, received: Received | None) -> None:
    try:
        while True:
            message = await connection.read_message()
            if message is None:
                raise ConnectionError("The server has hung up on a browser.")
            if received is not None:
                received.add(str(message))
    finally:
        connection.close()


async def end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
