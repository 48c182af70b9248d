"""Keeps our messages from counting as somebody's use of a kernel."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from .. import agent


def leave_no_trace(kernel_manager: Any, settings: dict[str, Any]) -> None:
    """Tells the server and the browser that the agent's messages are no activity.

    Args:
        kernel_manager: The server's mapping kernel manager.
        settings: The web application's. JupyterLab keeps a copy of the list in its page config,
            made when it was loaded, which may have been before us.
    """
    lists = [
        getattr(kernel_manager, "untracked_message_types", None),
        settings.get("page_config_data", {}).get("untracked_message_types"),
    ]
    for types in lists:
        if types is not None:
            types.extend(
                name for name in (agent.MESSAGE_TYPE, agent.REPLY_TYPE) if name not in types
            )


class ActivityKept:
    """Puts ``last_activity`` back after a silent execute, if nothing else happened meanwhile.

    jupyter_server counts every message of an execute as activity. A silent one without output has
    exactly two, its busy and its idle status; if more were counted, somebody else is active too.
    """

    def __init__(self, kernel_manager: Any, kernel: Any) -> None:
        self._kernel_manager = kernel_manager
        self._kernel = kernel
        self._before = kernel.last_activity
        self._server_before = kernel_manager.last_kernel_activity
        self._counted: list[Any] = []
        self._idle = asyncio.Event()

    def __enter__(self) -> ActivityKept:
        self._kernel.observe(self._count, "last_activity")
        self._kernel.observe(self._state, "execution_state")
        return self

    def __exit__(self, *_: object) -> None:
        self._kernel.unobserve(self._count, "last_activity")
        self._kernel.unobserve(self._state, "execution_state")
        if len(self._counted) == 2 and self._kernel.last_activity is self._counted[-1]:
            self._kernel.last_activity = self._before
            if self._kernel_manager.last_kernel_activity is self._counted[-1]:
                self._kernel_manager.last_kernel_activity = self._server_before

    async def settled(self) -> None:
        """Waits for the idle status, which comes by another socket than the reply."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._idle.wait(), 1.0)

    def _count(self, change: Any) -> None:
        self._counted.append(change["new"])

    def _state(self, change: Any) -> None:
        if change["new"] == "idle" and len(self._counted) >= 2:
            self._idle.set()
