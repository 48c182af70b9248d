"""A user of a kernel, as far as the tests need one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hearing import heard

GENERATIONS = pytest.mark.parametrize(
    "kind",
    [
        "now",
        pytest.param("six", marks=pytest.mark.frameworks),
        pytest.param("python38", marks=pytest.mark.frameworks),
        pytest.param("python313", marks=pytest.mark.frameworks),
    ],
)
"""Kernels that differ inside: today's, the oldest that are supported, and a newer Python's."""

STATE = """dict(
    names=sorted(globals()),
    hidden=sorted(get_ipython().user_ns_hidden),
    inputs=In[:],
    outputs=repr(Out),
    count=get_ipython().execution_count,
    history=[row[2] for row in get_ipython().history_manager.get_range()],
    modules=[name for name in __import__("sys").modules if "vram" in name],
    last=[name for name in dir(__import__("sys")) if name.startswith("last_")],
)"""


class Notebook:
    """A user at a kernel: runs cells, and can look at what anybody else would find there."""

    def __init__(self, kernel_manager: Any, kernel_id: str) -> None:
        self.kernel_id = kernel_id
        self.kernel = kernel_manager.get_kernel(kernel_id)
        self.client = self.kernel.client()
        self.client.start_channels(stdin=False, hb=False)

    async def ready(self) -> None:
        await heard(self.kernel, self.client)
        await self.idle()

    def send(self, code: str) -> str:
        return str(self.client.execute(code))

    async def reply(self, message_id: str) -> dict[str, Any]:
        while True:
            message = await self.client.get_shell_msg(timeout=30)
            if message["parent_header"].get("msg_id") == message_id:
                return dict(message["content"])

    async def run(self, code: str) -> dict[str, Any]:
        reply = await self.reply(self.send(code))
        await self.idle()
        return reply

    async def started(self, code: str) -> str:
        """Sends a cell that runs for a while; returns once it runs."""
        message_id = self.send(code)
        await until(lambda: self.kernel.execution_state == "busy")
        return message_id

    async def evaluate(self, expression: str) -> Any:
        message_id = self.client.execute(
            "", silent=True, user_expressions={"value": f"__import__('json').dumps({expression})"}
        )
        value = (await self.reply(message_id))["user_expressions"]["value"]
        await self.idle()
        assert value["status"] == "ok", value
        return json.loads(eval(value["data"]["text/plain"]))

    async def state(self) -> Any:
        return await self.evaluate(STATE)

    async def idle(self) -> None:
        """The server has counted everything that came of the last message."""
        await asyncio.sleep(0.1)
        await until(lambda: self.kernel.execution_state == "idle")

    def close(self) -> None:
        self.client.stop_channels()


async def until(condition: Callable[[], bool], limit: float = 30) -> None:
    for _ in range(int(limit / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never happened")
