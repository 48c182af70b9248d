"""Waiting until a server hears a kernel."""

from __future__ import annotations

import asyncio
from typing import Any


async def heard(kernel: Any, client: Any) -> None:
    """The kernel is ready, and the server knows its state from here on.

    The server may have begun to listen after the kernel's first words; it then calls the kernel
    "starting" until it says something again.

    Args:
        kernel: the server's own manager of it.
        client: a client of it whose channels are started.
    """
    await client.wait_for_ready(timeout=60)
    while kernel.execution_state == "starting":
        await client.kernel_info(reply=True, timeout=60)
        await asyncio.sleep(0.1)
