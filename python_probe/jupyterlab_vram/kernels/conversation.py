"""A few requests to one kernel over a socket of our own."""

from __future__ import annotations

import time
from queue import Empty
from types import TracebackType
from typing import Any, Literal
from uuid import uuid4

import zmq

from .answers import Gone, Silent

LOOK = 0.25
"""Seconds between two looks at whether the kernel that is waited for still runs."""


def pid_of(kernel: Any) -> int | None:
    """Of the process that is the kernel now; None if it isn't a process of this computer's."""
    return getattr(kernel.provisioner, "pid", None)


class Conversation:
    """Opened anew for each errand: that costs a millisecond, and can't outlive a restart's ports.

    IOPub is never opened: a new subscription makes some kernels publish, which counts as activity.
    """

    def __init__(
        self, kernel: Any, context: zmq.Context[Any], channel: Literal["control", "shell"]
    ) -> None:
        self._kernel = kernel
        self._pid = pid_of(kernel)
        # A name of our own: kernels hand a connection over to whoever comes with the same one, and
        # other extensions' clients have the manager's.
        self._session = kernel.session.clone()
        self._session.session = uuid4().hex
        client = kernel.client(context=context, session=self._session)
        # Closed by itself: the client's stop_channels() would first open those that never were.
        self._channel = client.control_channel if channel == "control" else client.shell_channel
        self._awaited: str | None = None

    def __enter__(self) -> Conversation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._channel.close()

    async def ask(
        self, message_type: str, content: dict[str, Any], limit: float
    ) -> dict[str, Any] | Silent | Gone:
        """The content of the reply; Silent if it hasn't come after ``limit`` seconds."""
        message = self._session.msg(message_type, content)
        self._awaited = message["header"]["msg_id"]
        self._channel.send(message)
        return await self.more(limit)

    async def more(self, limit: float) -> dict[str, Any] | Silent | Gone:
        """Waits on for the reply to the last request."""
        end = time.monotonic() + limit
        while (left := end - time.monotonic()) > 0:
            try:
                reply = await self._channel.get_msg(timeout=min(LOOK, left))
            except Empty:
                # It may have been restarted, by a person or because it died.
                if pid_of(self._kernel) != self._pid or not await self._kernel.is_alive():
                    return Gone()
            except (ValueError, TypeError):
                # Not signed with this kernel's key, or not a message: not the awaited one.
                continue
            else:
                if reply["parent_header"].get("msg_id") == self._awaited:
                    return dict(reply["content"])
        return Silent()
