"""The WebSocket: each snapshot, each step of a remedy and each change of settings."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from jupyter_server.auth.decorator import authorized, ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from .. import wire
from .reports import Reports
from .sentences import Sentences

STALL_LIMIT = 20.0
"""Seconds after which a client that takes nothing is hung up on; it may connect again."""
GOING_AWAY = 1001
TRY_AGAIN_LATER = 1013


class Mailbox:
    """What one client still has to get: at most one message of each kind, the newest.

    Parameters
    ----------
    send
        Hands a message to the connection; its future is done when the client's side took it.
    hang_up
        Called once if the client takes nothing for ``STALL_LIMIT`` seconds.
    """

    def __init__(
        self,
        send: Callable[[bytes], asyncio.Future[None]],
        hang_up: Callable[[], None],
    ) -> None:
        self._send = send
        self._hang_up = hang_up
        self._waiting: dict[str, bytes] = {}
        self._sending: asyncio.Task[None] | None = None

    def put(self, kind: str, message: bytes) -> None:
        """Send ``message`` as soon as the client can take it, in place of an older of its kind."""
        self._waiting[kind] = message
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._deliver())

    def close(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
        self._waiting.clear()

    async def _deliver(self) -> None:
        while self._waiting:
            message = self._waiting.pop(next(iter(self._waiting)))
            try:
                await asyncio.wait_for(self._send(message), STALL_LIMIT)
            except asyncio.TimeoutError:
                self._hang_up()
                return
            except WebSocketClosedError:
                return


class Hub:
    """The clients of the stream.

    Parameters
    ----------
    wake
        Called when the first client comes: it waits for a reading.
    """

    def __init__(self, wake: Callable[[], None], log: logging.Logger) -> None:
        self._wake = wake
        self._log = log
        self._clients: dict[StreamHandler, Mailbox] = {}
        self._snapshot: bytes | None = None
        self._reports = Reports()
        self._new: set[StreamHandler] = set()
        """Clients that wait for their first snapshot, before which they get nothing else."""
        self._closed = False

    def __len__(self) -> int:
        return len(self._clients)

    def join(self, client: StreamHandler) -> None:
        """Add a client; it gets the latest snapshot now, or the next as soon as it is there.

        Then it gets the reports of the runs that go on, and the last one of each kernel.
        """
        if self._closed:
            client.close(GOING_AWAY, "The server stops.")
            return

        def hang_up() -> None:
            self._log.info("A browser took no GPU reading for %g s; it may reconnect.", STALL_LIMIT)
            client.close(TRY_AGAIN_LATER)
            self.leave(client)

        mailbox = self._clients[client] = Mailbox(client.write_message, hang_up)
        self._new.add(client)
        if len(self._clients) == 1:
            self._wake()
        elif self._snapshot is not None:
            self._welcome(client, mailbox, self._snapshot)

    def leave(self, client: StreamHandler) -> None:
        mailbox = self._clients.pop(client, None)
        self._new.discard(client)
        if mailbox is not None:
            mailbox.close()

    def snapshot(self, body: bytes) -> None:
        """Send an encoded snapshot."""
        self._snapshot = body
        self._put("snapshot", body)
        for client in tuple(self._new):
            self._welcome(client, self._clients[client], body)

    def report(self, report: wire.Report) -> None:
        """Send a report, also to clients that come later."""
        body = wire.encode(report)
        self._reports.put(report, body)
        self._put(_kind(report.run_id), body)

    def config(self, config: wire.Config) -> None:
        message = wire.ConfigChanged(version=config.version, config=config)
        self._put("config", wire.encode(message))

    def close(self) -> None:
        self._closed = True
        for client in tuple(self._clients):
            client.close(GOING_AWAY, "The server stops.")
            self.leave(client)

    def _put(self, kind: str, message: bytes) -> None:
        for client, mailbox in self._clients.items():
            if client not in self._new:
                mailbox.put(kind, message)

    def _welcome(self, client: StreamHandler, mailbox: Mailbox, snapshot: bytes) -> None:
        self._new.discard(client)
        mailbox.put("snapshot", snapshot)
        for run_id, body in self._reports.latest():
            mailbox.put(_kind(run_id), body)


def _kind(run_id: str) -> str:
    return f"report {run_id}"


class StreamHandler(Sentences, WebSocketMixin, WebSocketHandler, JupyterHandler):
    """``GET stream``: what a client sends is not read."""

    auth_resource = "kernels"

    def initialize(self, hub: Hub) -> None:
        self._hub = hub

    def set_default_headers(self) -> None:
        """JupyterHandler's headers make no sense on a WebSocket."""

    # A handshake is a GET, so that this asks for the right to read.
    @ws_authenticated
    @authorized
    async def get(self, *args: Any, **kwargs: Any) -> None:
        await super().get(*args, **kwargs)

    def open(self, *args: str, **kwargs: str) -> None:
        super().open(*args, **kwargs)
        self._hub.join(self)

    def on_message(self, message: str | bytes) -> None:
        """Nothing that a client may say has a meaning yet."""

    def on_close(self) -> None:
        self._hub.leave(self)
