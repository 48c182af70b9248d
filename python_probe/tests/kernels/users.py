"""A person at a kernel."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from hearing import heard

TAKE = """
from jupyterlab_vram import simulated
x = simulated.empty({gib} << 30, "uint8")
"""

CACHE = """
y = simulated.empty({gib} << 30, "uint8")
del y
"""


class Person:
    """Runs cells in a kernel of a server."""

    def __init__(self, kernel_manager: Any, kernel_id: str) -> None:
        self.kernel_id = kernel_id
        self._manager = kernel_manager
        self._client: Any = None

    async def sit_down(self) -> None:
        """Connect, also anew after a restart."""
        self.close()
        kernel = self._manager.get_kernel(self.kernel_id)
        self._client = kernel.client()
        self._client.start_channels(stdin=False, hb=False)
        await heard(kernel, self._client)
        await self.until_idle()

    async def run(self, code: str) -> dict[str, Any]:
        """Run a cell to its end."""
        reply = await self._client.execute(code, reply=True, timeout=60)
        await self.until_idle()
        return dict(reply["content"])

    async def begin(self, code: str) -> None:
        """Send a cell and wait until it runs."""
        self._client.execute(code)
        await until(lambda: self.state == "busy")

    @property
    def state(self) -> str:
        return str(self._manager.get_kernel(self.kernel_id).execution_state)

    @property
    def pid(self) -> int:
        return int(self._manager.get_kernel(self.kernel_id).provisioner.pid)

    @property
    def last_activity(self) -> float:
        return float(self._manager.get_kernel(self.kernel_id).last_activity.timestamp())

    async def until_idle(self) -> None:
        await asyncio.sleep(0.1)
        await until(lambda: self.state == "idle")

    def close(self) -> None:
        if self._client is not None:
            self._client.stop_channels()
            self._client = None


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)
